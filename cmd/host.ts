/**
 * The process, as the rest of dotbot sees it: the one place that reads the clock, the environment, the working directory, the
 * terminal and stdio. Everything else gets a `Ctx`.
 *
 * It is careful about start-up: the first touch of process.stdout or process.stderr, or loading node:tty, costs as much as
 * all the rest of a command, so a descriptor's kind is found with a stat and the terminal modules load only at a terminal.
 */
import type { Answering, Caller, Ctx, Prompter } from "../lib/ctx.ts";
import { DotbotError } from "../lib/error.ts";
import { truncate, type Style } from "../lib/text.ts";

export type SignalName = "SIGINT" | "SIGTERM" | "SIGHUP";

const SIGNALS: Readonly<Record<SignalName, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

/** The person, or the system, wants this to end: exit status 128 + signal, and nothing more to say. */
export class Interrupted extends Error {
  readonly signal: number;

  constructor(name: SignalName = "SIGINT") {
    super(`ended by ${name}`);
    this.name = "Interrupted";
    this.signal = SIGNALS[name];
  }
}

export type Stream = "stdin" | "stdout" | "stderr";

export interface Host {
  /** The words after the program's name. */
  readonly argv: readonly string[];
  readonly env: Ctx["env"];
  readonly cwd: string;
  readonly pid: number;
  readonly hostname: string;
  readonly executable: string;
  readonly now: () => Date;
  readonly uuid: () => string;
  readonly isTerminal: (stream: Stream) => Promise<boolean>;
  /** Of the terminal; only worth asking at one. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  /** Writes all of it, however slow the reader. A reader that went away is no error; a full disk is. */
  readonly write: (to: Exclude<Stream, "stdin">, text: string) => Promise<void>;
  readonly readStdin: () => Promise<string>;
  readonly prompter: (signal: AbortSignal) => Prompter;
  /** Aborts with `Interrupted` at the first signal; the second one ends the process at once. */
  readonly interruption: () => AbortSignal;
}

/** The global flags that shape a context. */
export interface ContextOptions {
  readonly json: boolean;
  readonly yes: boolean;
  readonly quiet: boolean;
  /** null: as environment and terminal say. */
  readonly color: boolean | null;
  /** null: as the repository's settings say. */
  readonly lockWaitMs: number | null;
}

export const DEFAULT_LOCK_WAIT_MS = 10_000;

export function realHost(): Host {
  return {
    argv: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    pid: process.pid,
    get hostname() {
      // Loading node:os costs a tenth of a short command, and only claims ask.
      return process.getBuiltinModule("node:os").hostname();
    },
    executable: process.execPath,
    now: () => new Date(),
    uuid: () => crypto.randomUUID(),
    isTerminal,
    size: () => ({ columns: process.stdout.columns || process.stderr.columns || 80, rows: process.stdout.rows || 24 }),
    write,
    readStdin: async () => utf8(await Bun.stdin.bytes()),
    prompter: lazyPrompter,
    interruption,
  };
}

/** What an operation gets. Costly members are getters: asked for only by those who need them. */
export async function contextOf(
  host: Host,
  options: ContextOptions,
  signal: AbortSignal,
  answer?: Answering,
): Promise<ContextAndFlush> {
  const { env } = host;
  const color = options.color ?? colorWish(env);
  const wantsStyle = !options.json && color === null;
  const dumb = env["TERM"] === "dumb";
  // A question moves the cursor, which such a terminal would show as signs.
  const mayAsk = !options.json && !options.yes && !isSet(env["CI"]) && !dumb;
  const talks = !options.quiet && !options.json;
  const stdout = wantsStyle && (await host.isTerminal("stdout"));
  const stderr = (mayAsk || talks) && (await host.isTerminal("stderr"));
  // Only where somebody could read the question: behind pipes stdin is often /dev/null, which takes a closer look.
  const stdin = mayAsk && stderr && (await host.isTerminal("stdin"));

  // Notes are written one after the other; `flush` waits for the last.
  let narration = Promise.resolve();
  const say = (text: string): void => {
    narration = narration.then(() => host.write("stderr", text));
  };
  const showsProgress = talks && stderr && !dumb;
  let progressShown = false;
  const clear = (): string => (progressShown ? "\r\u001B[2K" : "");
  const caller: Caller = { kind: "cli" };
  let stdinTaken = false;

  const style: Style = {
    color: color ?? stdout,
    get width() {
      // Where nobody sees columns nothing is cut: a pipe gets whole names.
      return Number(env["COLUMNS"]) || (stdout ? host.size().columns : Infinity);
    },
  };
  const ctx: Ctx = {
    surface: "cli",
    caller,
    cwd: host.cwd,
    env,
    now: host.now,
    uuid: host.uuid,
    pid: host.pid,
    get hostname() {
      return host.hostname;
    },
    signal,
    ...(answer === undefined ? {} : { answer }),
    note: (line) => {
      if (options.quiet) return;
      say(`${clear()}${line}\n`);
      progressShown = false;
    },
    progress: (line) => {
      if (!showsProgress || (line === null && !progressShown)) return;
      say(`\r\u001B[2K${line === null ? "" : truncate(line, host.size().columns - 1)}`);
      progressShown = line !== null;
    },
    readStdin: async () => {
      if (await host.isTerminal("stdin")) {
        throw new DotbotError("USAGE", "stdin is a terminal, and the call reads it", {
          hint: "pipe the text in, or name a file",
        });
      }
      if (stdinTaken) throw new DotbotError("USAGE", "two values say - for stdin, which can be read once");
      stdinTaken = true;
      return await abortable(host.readStdin(), signal);
    },
    prompt: stdin ? host.prompter(signal) : undefined,
    style,
    lockWaitMs: options.lockWaitMs ?? DEFAULT_LOCK_WAIT_MS,
    lockWaitOpen: options.lockWaitMs === null,
    yes: options.yes,
    executable: host.executable,
  };
  const flush = async (): Promise<void> => {
    ctx.progress(null);
    await narration;
  };
  return { ctx, flush };
}

export interface ContextAndFlush {
  readonly ctx: Ctx;
  /** Clears the progress line and waits until all notes are written: before the answer. */
  readonly flush: () => Promise<void>;
}

/** What the environment says about colour; null when it leaves it to the terminal. */
function colorWish(env: Ctx["env"]): boolean | null {
  if (env["NO_COLOR"]) return false;
  const force = env["FORCE_COLOR"];
  if (force !== undefined && force !== "") return force !== "0" && force !== "false";
  return env["TERM"] === "dumb" ? false : null;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false"].includes(value);
}

async function isTerminal(stream: Stream): Promise<boolean> {
  const fd = { stdin: 0, stdout: 1, stderr: 2 }[stream];
  try {
    if (process.platform !== "win32") {
      // Bun's own stat would start a thread for it; node:fs is loaded by whatever operation comes next.
      const { fstatSync, statSync } = process.getBuiltinModule("node:fs");
      const stat = fstatSync(fd);
      // The null device is a character device as well, and in scripts by far the more frequent one.
      if (!stat.isCharacterDevice() || stat.rdev === statSync("/dev/null").rdev) return false;
    }
  } catch {
    return false; // closed
  }
  const { isatty } = await import("node:tty");
  return isatty(fd);
}

/** Text that was damaged on its way in would be stored for good: refused instead. */
function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new DotbotError("INVALID_INPUT", "stdin isn't valid UTF-8", { hint: "pipe the text in as UTF-8" });
  }
}

async function write(to: Exclude<Stream, "stdin">, text: string): Promise<void> {
  if (text === "") return;
  try {
    await Bun.write(to === "stdout" ? Bun.stdout : Bun.stderr, text);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // The reader has seen enough (`| head -1`), and there is nobody to tell when stderr is gone.
    if (code === "EPIPE" || to === "stderr") return;
    throw new DotbotError("READ_ONLY", `the answer can't be written to stdout: ${code}`, {
      hint: "what was asked for is done; only its answer is lost",
    });
  }
}

function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        process.removeAllListeners(name);
        process.kill(process.pid, name);
      }
      controller.abort(new Interrupted(name));
    });
  }
  return controller.signal;
}

/** The work, or the abort's reason, whichever comes first. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return await new Promise<T>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

/** The terminal library loads at the first question. */
function lazyPrompter(signal: AbortSignal): Prompter {
  let loaded: Promise<Prompter> | undefined;
  const load = async (): Promise<Prompter> =>
    await (loaded ??= import("./prompt.ts").then(({ prompter }) => prompter(signal)));
  return {
    text: async (question) => await (await load()).text(question),
    confirm: async (question) => await (await load()).confirm(question),
    select: async (question) => await (await load()).select(question),
    multiselect: async (question) => await (await load()).multiselect(question),
  };
}
