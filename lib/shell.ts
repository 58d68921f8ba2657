/**
 * Runs what the project's own people wrote: command strings of the settings (`runShell`) and executables such as verify
 * scripts (`runProgram`). The only importer of zx, which is loaded when a command string is run for the first time.
 *
 * Invariants:
 * - A command that fails or is killed is a result, not an error.
 * - Each runs in a process group of its own. When it has to end (time, abort) the whole group is told to, and what is left
 *   of it after a grace is killed.
 * - It gets no variable by which a hook or an alias redirects git: git in it means the repository of its `cwd`.
 * - Output is captured up to a bound, the middle left out; stdin is what is given, or nothing.
 */
import { constants } from "node:os";
import type { Readable } from "node:stream";

import { DotbotError } from "./error.ts";
import { errno, exists, isDirectory, readBytes } from "./files.ts";
import { gitEnv, type GitCtx } from "./git/run.ts";
import { quote, shellWord } from "./text.ts";

export interface RunOptions {
  /** An existing folder, absolute. */
  readonly cwd: string;
  /** What it reads on stdin; without it stdin is empty. */
  readonly stdin?: string;
  /** Set on top of the caller's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds until it is ended; no limit by default. */
  readonly timeoutMs?: number;
  /** Milliseconds between the request to end and the kill. Default 3,000. */
  readonly graceMs?: number;
  /** Most bytes kept of stdout, and of stderr. Default 65,536. */
  readonly maxBytes?: number;
}

export interface RunResult {
  /** Exit status; 128+n when it died of signal n. */
  readonly status: number;
  /** `SIGTERM`, when it died of a signal. */
  readonly signal: string | null;
  /** As UTF-8. Where it was over the bound, a line in the middle says how much is left out. */
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  readonly truncated: boolean;
}

const GRACE_MS = 3_000;
const MAX_BYTES = 65_536;
/** How long output is awaited after the command itself has ended: what it left in the background may hold the pipe open. */
const DRAIN_MS = 500;
/** How often a group that was told to end is looked at. */
const LOOK_MS = 20;

/**
 * Runs a command string in the user's shell (`findShell`). Throws NOT_FOUND (no shell, no such `cwd`), and the reason of an
 * abort once the command has ended.
 */
export async function runShell(ctx: GitCtx, command: string, options: RunOptions): Promise<RunResult> {
  ctx.signal.throwIfAborted();
  requireFolder(options.cwd);
  const shell = findShell(ctx.env);
  const { $, quote: quoteWord } = await import("zx/core");
  const out = new Capture(options.maxBytes ?? MAX_BYTES);
  const err = new Capture(options.maxBytes ?? MAX_BYTES);
  // Every option is set: zx takes defaults from ZX_ variables and from a shell that it looks for itself.
  const run = $({
    cwd: options.cwd,
    env: childEnv(ctx.env, options.env),
    shell: shell.path,
    prefix: "",
    postfix: shell.postfix,
    quote: quoteWord,
    // zx gives an empty input a pipe that never ends.
    ...(hasInput(options)
      ? { input: options.stdin, stdio: ["pipe", "pipe", "pipe"] }
      : { stdio: ["ignore", "pipe", "pipe"] }),
    store: { stdout: new Nothing(), stderr: new Nothing(), stdall: new Nothing() },
    detached: process.platform !== "win32",
    preferLocal: false,
    nothrow: true,
    quiet: true,
    verbose: false,
  })(Object.assign([command], { raw: [command] }));
  const { child } = run;
  if (child?.pid === undefined) {
    const output = await run;
    throw cantStart(shell.path, output.cause ?? output);
  }
  // A command that doesn't read its stdin is no failure.
  child.stdin?.on("error", () => undefined);
  const exited = new Promise<Ended>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  return await supervise(ctx, options, {
    pid: child.pid,
    exited,
    out,
    err,
    streams: [fromReadable(child.stdout, out), fromReadable(child.stderr, err)],
  });
}

/**
 * Runs an executable with arguments, no shell between. Throws NOT_FOUND when it, its interpreter or `cwd` isn't there, REFUSED
 * when it may not be executed, and the reason of an abort once it has ended.
 */
export async function runProgram(ctx: GitCtx, argv: readonly string[], options: RunOptions): Promise<RunResult> {
  ctx.signal.throwIfAborted();
  requireFolder(options.cwd);
  const [program = ""] = argv;
  let child: Bun.Subprocess<"ignore" | Uint8Array, "pipe", "pipe">;
  try {
    child = Bun.spawn([...argv], {
      cwd: options.cwd,
      env: childEnv(ctx.env, options.env),
      stdin: hasInput(options) ? new TextEncoder().encode(options.stdin) : "ignore",
      stdout: "pipe",
      stderr: "pipe",
      windowsHide: true,
      detached: process.platform !== "win32",
    });
  } catch (error) {
    throw cantStart(program, error);
  }
  const out = new Capture(options.maxBytes ?? MAX_BYTES);
  const err = new Capture(options.maxBytes ?? MAX_BYTES);
  return await supervise(ctx, options, {
    pid: child.pid,
    exited: child.exited.then((code) => ({
      code,
      signal: child.signalCode === null ? null : String(child.signalCode),
    })),
    out,
    err,
    streams: [fromWeb(child.stdout, out), fromWeb(child.stderr, err)],
  });
}

/**
 * Runs an executable as if the caller had: it has the caller's stdin, stdout and stderr. A signal that ends the call is passed
 * on, and the program's own end awaited. Throws as `runProgram` does; an abort isn't thrown, its status says it.
 */
export async function runForeground(
  ctx: GitCtx,
  argv: readonly string[],
  options: Pick<RunOptions, "cwd" | "env">,
): Promise<Pick<RunResult, "status" | "signal">> {
  ctx.signal.throwIfAborted();
  requireFolder(options.cwd);
  const [program = ""] = argv;
  let child: Bun.Subprocess<"inherit", "inherit", "inherit">;
  try {
    child = Bun.spawn([...argv], {
      cwd: options.cwd,
      env: childEnv(ctx.env, options.env),
      stdin: "inherit",
      stdout: "inherit",
      stderr: "inherit",
    });
  } catch (error) {
    throw cantStart(program, error);
  }
  // At a terminal the program has had the signal itself: it is in our process group.
  const pass = (): void => child.kill(signalOf(ctx.signal.reason));
  ctx.signal.addEventListener("abort", pass, { once: true });
  try {
    const code = await child.exited;
    const signal = child.signalCode === null ? null : String(child.signalCode);
    return { status: signal === null ? code : 128 + signalNumber(signal), signal };
  } finally {
    ctx.signal.removeEventListener("abort", pass);
  }
}

/** The signal that an abort stands for. */
function signalOf(reason: unknown): NodeJS.Signals {
  const number = typeof reason === "object" && reason !== null && "signal" in reason ? reason.signal : undefined;
  const names: readonly NodeJS.Signals[] = ["SIGINT", "SIGHUP", "SIGTERM"];
  return names.find((name) => constants.signals[name] === number) ?? "SIGTERM";
}

export interface Shell {
  /** Absolute. */
  readonly path: string;
  /** Appended to a command, so that its status is the shell's. */
  readonly postfix: string;
}

/** The shell that command strings are written for: bash, else sh; on Windows also PowerShell. Throws NOT_FOUND. */
export function findShell(
  env: GitCtx["env"],
  names: readonly string[] = process.platform === "win32"
    ? ["bash", "sh", "pwsh", "powershell"]
    : ["bash", "sh", "/bin/sh"],
): Shell {
  for (const name of names) {
    const path = Bun.which(name, { PATH: env["PATH"] ?? env["Path"] ?? "" });
    if (path !== null) {
      return { path, postfix: /(?:pwsh|powershell)(?:\.exe)?$/i.test(path) ? "; exit $LastExitCode" : "" };
    }
  }
  throw new DotbotError("NOT_FOUND", `there is no shell to run a command in: none of ${names.join(", ")} is on PATH`, {
    hint: "install one, put its folder on PATH, or take the command out of the settings",
    example: "dotbot config show --origin",
    details: { path: env["PATH"] ?? null },
  });
}

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
}

interface Stream {
  /** Settles when the last holder of the pipe has closed it. */
  readonly done: Promise<void>;
  cancel(): void;
}

interface Running {
  readonly pid: number;
  readonly exited: Promise<Ended>;
  readonly out: Capture;
  readonly err: Capture;
  readonly streams: readonly Stream[];
}

async function supervise(
  ctx: GitCtx,
  { timeoutMs, graceMs = GRACE_MS }: RunOptions,
  { pid, exited, out, err, streams }: Running,
): Promise<RunResult> {
  let told: "abort" | "timeout" | null = null;
  let ending: Promise<void> | undefined;
  const end = (why: "abort" | "timeout"): void => {
    told ??= why;
    ending ??= endGroup(pid, graceMs);
  };
  const onAbort = (): void => end("abort");
  ctx.signal.addEventListener("abort", onAbort, { once: true });
  if (ctx.signal.aborted) onAbort();
  const deadline = timeoutMs === undefined ? undefined : setTimeout(() => end("timeout"), timeoutMs);
  try {
    const { code, signal } = await exited;
    clearTimeout(deadline);
    await ending;
    await drained(streams);
    if (told === "abort") throw ctx.signal.reason;
    return {
      status: code ?? 128 + signalNumber(signal),
      signal,
      stdout: out.text(),
      stderr: err.text(),
      timedOut: told === "timeout",
      truncated: out.truncated || err.truncated,
    };
  } finally {
    clearTimeout(deadline);
    ctx.signal.removeEventListener("abort", onAbort);
  }
}

/** Tells a process group to end and kills what is left of it after the grace; resolves when it is gone or killed. */
async function endGroup(pid: number, graceMs: number): Promise<void> {
  if (!signalGroup(pid, "SIGTERM")) return;
  const last = performance.now() + graceMs;
  while (performance.now() < last) {
    await Bun.sleep(LOOK_MS);
    if (!signalGroup(pid, 0)) return;
  }
  signalGroup(pid, "SIGKILL");
}

/** False when there is nobody left to signal. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
    return true;
  } catch {
    return false;
  }
}

async function drained(streams: readonly Stream[]): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      for (const stream of streams) stream.cancel();
      resolve();
    }, DRAIN_MS);
  });
  await Promise.race([Promise.all(streams.map((stream) => stream.done)), late]);
  clearTimeout(timer);
}

function fromReadable(stream: Readable | null, capture: Capture): Stream {
  if (stream === null) return { done: Promise.resolve(), cancel: () => undefined };
  stream.on("data", (chunk: Uint8Array) => capture.push(chunk));
  return {
    done: new Promise((resolve) => {
      stream.once("close", resolve).once("error", () => resolve());
    }),
    cancel: () => void stream.destroy(),
  };
}

function fromWeb(stream: ReadableStream<Uint8Array>, capture: Capture): Stream {
  const reader = stream.getReader();
  const read = async (): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) capture.push(next.value);
  };
  return {
    done: read().catch(() => undefined),
    cancel: () => void reader.cancel().catch(() => undefined),
  };
}

/** Keeps the first and the last half of what fits: a failure tells its cause at one of the ends. */
class Capture {
  private readonly half: number;
  private readonly head: Uint8Array[] = [];
  private tail: Uint8Array[] = [];
  private headSize = 0;
  private tailSize = 0;
  private dropped = 0;

  constructor(maxBytes: number) {
    this.half = Math.max(1, Math.floor(maxBytes / 2));
  }

  get truncated(): boolean {
    return this.dropped > 0;
  }

  push(chunk: Uint8Array): void {
    const room = this.half - this.headSize;
    if (room > 0) {
      this.head.push(chunk.subarray(0, room));
      this.headSize += Math.min(room, chunk.length);
    }
    if (chunk.length <= room) return;
    const rest = chunk.subarray(Math.max(0, room));
    this.tail.push(rest);
    this.tailSize += rest.length;
    // Joined only once in a while, so that a chatty command doesn't cost the square of its output.
    if (this.tailSize > 2 * this.half + 65_536) this.shorten();
  }

  text(): string {
    this.shorten();
    const parts = [...this.head, ...this.tail];
    if (this.dropped === 0) return new TextDecoder().decode(Buffer.concat(parts));
    const [head, tail] = [this.head, this.tail].map((chunks) => new TextDecoder().decode(Buffer.concat(chunks)));
    return `${head}\n… ${this.dropped} bytes left out …\n${tail}`;
  }

  private shorten(): void {
    const surplus = this.tailSize - this.half;
    if (surplus <= 0) return;
    this.tail = [Buffer.concat(this.tail).subarray(surplus)];
    this.tailSize = this.half;
    this.dropped += surplus;
  }
}

/** Takes what zx would keep of the output, which is unbounded. */
class Nothing extends Array<string | Buffer> {
  override push(): number {
    return 0;
  }
}

function hasInput(options: RunOptions): options is RunOptions & { readonly stdin: string } {
  return options.stdin !== undefined && options.stdin !== "";
}

/** The caller's own values, of the variables that git's children may have. */
function childEnv(env: GitCtx["env"], extra: RunOptions["env"]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of Object.keys(gitEnv(env))) {
    const value = env[name];
    if (value !== undefined) kept[name] = value;
  }
  // Without a level, bash takes a stdin that is a socket for a remote login and reads ~/.bashrc.
  kept["SHLVL"] ??= "1";
  return { ...kept, ...extra };
}

function requireFolder(cwd: string): void {
  if (isDirectory(cwd)) return;
  throw new DotbotError("NOT_FOUND", `the folder ${quote(cwd, 200)} doesn't exist or can't be entered`);
}

function cantStart(program: string, error: unknown): DotbotError {
  const code = errno(error);
  if (code === "EACCES" || code === "EPERM") {
    return new DotbotError("REFUSED", `${quote(program, 200)} may not be executed: permission is denied`, {
      hint: "make it executable",
      example: `chmod +x ${shellWord(program)}`,
      details: { program, errno: code },
    });
  }
  if (code !== "ENOENT") {
    const why = error instanceof Error ? error.message : String(error);
    return new DotbotError("NOT_FOUND", `${quote(program, 200)} can't be started: ${why}`, {
      details: { program, errno: code },
    });
  }
  const interpreter = exists(program) ? interpreterOf(program) : undefined;
  if (interpreter !== undefined) {
    return new DotbotError("NOT_FOUND", `${quote(program, 200)} needs ${quote(interpreter)}, which isn't there`, {
      hint: "install that interpreter, or name another one in the script's first line",
      details: { program, interpreter },
    });
  }
  return new DotbotError("NOT_FOUND", `the program ${quote(program, 200)} isn't installed, or isn't on PATH`, {
    hint: "install it, or put its folder on PATH",
    details: { program },
  });
}

/** What the first line of a script names: `#!/usr/bin/env python3` → `/usr/bin/env python3`. */
function interpreterOf(path: string): string | undefined {
  const bytes = readBytes(path)?.subarray(0, 256);
  return /^#! *([^\r\n]+)/.exec(new TextDecoder().decode(bytes))?.[1]?.trim();
}

function signalNumber(signal: string | null): number {
  return Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0;
}
