/** Where each shell looks for completions. Pure. */
import { join } from "node:path";

import { DotbotError } from "../lib/error.ts";
import { shellWord } from "../lib/text.ts";
import type { Shell } from "./complete-shell.ts";

export interface Installation {
  /** Where the stub goes, absolute. */
  readonly file: string;
  /** The start-up file that has to read it, and the line that does; null where the shell finds the stub by itself. */
  readonly startup: { readonly file: string; readonly line: string } | null;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Ends the line in a start-up file, so that it is found again. */
const MARK = "# dotbot";

/** @throws DotbotError USAGE where the environment names no home folder */
export function installation(shell: Shell, env: Env): Installation {
  const home = env["HOME"] ?? env["USERPROFILE"] ?? "";
  if (home === "") {
    throw new DotbotError("USAGE", "HOME isn't set, so there is no place to install to", {
      example: `dotbot completion ${shell} > FILE`,
    });
  }
  const base = (variable: string, fallback: string): string => {
    const given = env[variable] ?? "";
    return given === "" ? join(home, fallback) : given;
  };
  const data = base("XDG_DATA_HOME", ".local/share");
  const config = base("XDG_CONFIG_HOME", ".config");
  switch (shell) {
    case "bash": {
      const folder = env["BASH_COMPLETION_USER_DIR"] ?? "";
      const file = join(folder === "" ? join(data, "bash-completion") : folder, "completions", "dotbot");
      // The bash-completion package finds the stub by itself; a machine may have the package and not load it.
      return { file, startup: { file: join(home, ".bashrc"), line: `. ${shellWord(file)} ${MARK}` } };
    }
    case "zsh": {
      const file = join(data, "zsh", "site-functions", "_dotbot");
      return { file, startup: { file: join(base("ZDOTDIR", ""), ".zshrc"), line: `. ${shellWord(file)} ${MARK}` } };
    }
    case "fish":
      return { file: join(config, "fish", "completions", "dotbot.fish"), startup: null };
    case "powershell": {
      const folder = env["OS"] === "Windows_NT" ? join(home, "Documents", "PowerShell") : join(config, "powershell");
      const file = join(folder, "dotbot-completion.ps1");
      const profile = join(folder, "Microsoft.PowerShell_profile.ps1");
      return { file, startup: { file: profile, line: `. '${file.replaceAll("'", "''")}' ${MARK}` } };
    }
  }
}

/** A start-up file with the line at its end, once; an older line of ours is replaced. */
export function withLine(text: string, line: string): string {
  const lines = text.split("\n");
  if (lines.includes(line)) return text;
  const old = lines.findIndex((it) => it.endsWith(` ${MARK}`));
  if (old >= 0) return lines.with(old, line).join("\n");
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`;
}
