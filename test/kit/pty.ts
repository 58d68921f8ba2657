/**
 * A program at a terminal: what a person types, and what they see. Waits for what is to be seen, never for time.
 *
 *     await using zsh = await openShell("zsh", { cwd: world.main });
 *     await zsh.runs("dotbot task st\t");
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { binary, cleanEnv } from "./binary.ts";
import { tempDir } from "./git.ts";

export interface Pty extends AsyncDisposable {
  readonly type: (text: string) => void;
  /** Everything shown since `mark`, without colours and cursor movements. */
  readonly shown: () => string;
  /** What comes from now on is another look. */
  readonly mark: () => void;
  /** Waits until the pattern is shown, and returns what it matched; fails with all that was shown otherwise. */
  readonly sees: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** Closes the terminal: its window is shut, the connection is cut. */
  readonly hangUp: () => void;
  /** The exit status, once the program has ended. */
  readonly exited: Promise<number>;
}

export interface PtyOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

const PATIENCE_MS = 20_000;

export function openPty(command: readonly string[], { cwd, env = {} }: PtyOptions): Pty {
  let screen = "";
  const decoder = new TextDecoder();
  let look = (): void => {};
  const child = Bun.spawn([...command], {
    cwd,
    env: cleanEnv({ TERM: "xterm", LC_ALL: "C.UTF-8", COLUMNS: "200", LINES: "60", ...env }),
    terminal: {
      cols: 200,
      rows: 60,
      data: (_, bytes) => {
        screen += decoder.decode(bytes, { stream: true });
        look();
      },
    },
  });
  const shown = (): string => plain(screen);
  return {
    type: (text) => void child.terminal?.write(text),
    shown,
    mark: () => {
      screen = "";
    },
    sees: async (pattern) =>
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          look = () => {};
          reject(new Error(`never saw ${pattern}; the terminal shows:\n${shown()}`));
        }, PATIENCE_MS);
        look = () => {
          const match = pattern.exec(shown());
          if (match === null) return;
          clearTimeout(timer);
          look = () => {};
          resolve(match);
        };
        look();
      }),
    hangUp: () => child.terminal?.close(),
    exited: child.exited,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await child.exited;
      child.terminal?.close();
    },
  };
}

/** Without escape sequences, and with what a carriage return or a backspace took back left standing. */
function plain(text: string): string {
  return text
    .replace(/\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[()][A-Z0-9]|[=>78cM])/g, "")
    .replace(/\r+\n/g, "\n")
    .replace(/^\r/gm, "");
}

export type ShellName = "bash" | "zsh" | "fish";

export interface Shell extends AsyncDisposable {
  readonly pty: Pty;
  readonly home: string;
  /** Types a line as given, Tabs and all, and Enter; returns the words that `dotbot` is then called with. */
  readonly runs: (keys: string) => Promise<readonly string[]>;
  /** Types keys and waits for what they show; then the line is thrown away. */
  readonly shows: (keys: string, pattern: RegExp) => Promise<string>;
  /** Runs a command line of the shell to its end; returns what it printed. */
  readonly does: (line: string) => Promise<string>;
}

/**
 * An interactive shell in which completing is the program's own, and every other call of `dotbot` shows its words instead.
 * `setup` runs in it first: what a user would have in a start-up file. `real`: other calls are the program's as well.
 */
export async function openShell(
  name: ShellName,
  { cwd, setup, env = {}, real = false }: PtyOptions & { readonly setup: readonly string[]; readonly real?: boolean },
): Promise<Shell> {
  const dir = await tempDir("dotbot-shell-");
  const home = dir.path("home");
  const bin = dir.path("bin");
  for (const folder of [home, bin]) mkdirSync(folder);
  const program = await binary();
  const script = real
    ? `exec ${program} "$@"`
    : `case $1 in __complete | completion | shell-init) exec ${program} "$@" ;; esac\nprintf 'CALLED'\nprintf '<%s>' "$@"\nprintf '|\\n'`;
  writeFileSync(join(bin, "dotbot"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const pty = openPty(COMMANDS[name], {
    cwd,
    env: {
      HOME: home,
      XDG_CONFIG_HOME: join(home, ".config"),
      XDG_DATA_HOME: join(home, ".local/share"),
      ZDOTDIR: home,
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
      ...env,
    },
  });
  let count = 0;
  const does = async (line: string): Promise<string> => {
    pty.mark();
    count += 1;
    // The quotes keep the line, as the terminal echoes it, from being taken for what it prints.
    pty.type(`echo BE''GIN${count}; ${line === "" ? "true" : line}; echo E''ND${count}\r`);
    const [, output = ""] = await pty.sees(new RegExp(`^BEGIN${count}\n([^]*)^END${count}$`, "m"));
    return output;
  };
  await does(QUIET[name]);
  for (const line of setup) await does(line);
  return {
    pty,
    home,
    does,
    runs: async (keys) => {
      pty.mark();
      pty.type(`${keys}\r`);
      const [, words = ""] = await pty.sees(/CALLED<([^]*?)>\|/);
      return words.split("><");
    },
    shows: async (keys, pattern) => {
      pty.mark();
      pty.type(keys);
      await pty.sees(pattern);
      const shown = pty.shown();
      // Ctrl-U.
      pty.type("\u0015");
      await does("");
      return shown;
    },
    [Symbol.asyncDispose]: async () => {
      await pty[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const COMMANDS: Readonly<Record<ShellName, readonly string[]>> = {
  bash: ["bash", "--norc", "--noprofile", "-i"],
  zsh: ["zsh", "-f", "-i"],
  // With its configuration, which is the home folder's: nothing; without it, fish wouldn't look for completions there either.
  fish: ["fish", "-i"],
};

/** Turns off what would only be in the way of reading the screen. */
const QUIET: Readonly<Record<ShellName, string>> = {
  bash: "PS1='> '; bind 'set enable-bracketed-paste off' 'set bell-style none' 'set show-all-if-ambiguous on'",
  zsh: "PS1='> '; unset zle_bracketed_paste; unsetopt prompt_sp; setopt interactive_comments no_auto_remove_slash",
  fish: "function fish_prompt; echo '> '; end; function fish_greeting; end; set -g fish_autosuggestion_enabled 0",
};
