/**
 * The only spawner of git. Every call gets an argv array, a scrubbed environment, a closed (or given) stdin and a way to
 * end. Nothing here decides anything; which command may run where is the caller's business.
 *
 * Invariants:
 * - No variable by which a hook, an alias or a shell redirects git ever reaches a child: `cwd` alone names the repository.
 * - A probe executes nothing that the repository's configuration names and writes nothing, not even a refreshed index.
 * - No child waits for an answer: no prompt, no editor, no pager, no stdin of ours.
 */
import { appendFileSync, statSync } from "node:fs";

import { DotbotError } from "../error.ts";
import { quote, stripControlKeepLines } from "../text.ts";
import { atLeast, errorLines, parseGitVersion, type GitVersion } from "./parse.ts";

/** What a git call needs of its caller's context; `Ctx` satisfies it. */
export interface GitCtx {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface GitOptions {
  /** Where git runs: an existing folder, never one inside a git dir. */
  readonly cwd: string;
  /** What git reads on stdin; nothing by default. */
  readonly input?: string | Uint8Array;
  /** Set on top of the scrubbed environment, so this may set what the scrubbing drops. */
  readonly env?: Readonly<Record<string, string>>;
  /** The call only looks: no hooks, no locks, no implicit bare repository, and a deadline of its own. */
  readonly probe?: boolean;
  /** Milliseconds until the child and its children are ended. Default: 30,000 for a probe, otherwise none. */
  readonly timeoutMs?: number;
  /** Most bytes of stdout. Default: 256 MiB. */
  readonly maxBytes?: number;
  /** Exit statuses that are an answer; any other throws. Without it `git` returns every status, `gitText` only 0. */
  readonly okStatus?: readonly number[];
}

export interface GitResult {
  /** Exit status; 128+n when git died of signal n. */
  readonly status: number;
  /** stdout as it came. */
  readonly bytes: Uint8Array;
  /** stdout as UTF-8; an ill-formed sequence shows as U+FFFD. */
  readonly stdout: string;
  readonly stderr: string;
}

const PROBE_TIMEOUT_MS = 30_000;
const MAX_BYTES = 256 * 1024 * 1024;
/** How long a child that was told to end may take to clean up its lock files. */
const KILL_AFTER_MS = 3_000;
/** How long output is awaited after git itself has ended: a hook's background child may hold the pipe open for ever. */
const DRAIN_MS = 500;

const ALWAYS = ["core.fsmonitor=false", "core.quotepath=false", "protocol.ext.allow=never"];
const ON_PROBES = ["core.hooksPath=/dev/null", "safe.bareRepository=explicit"];

/** Dropped before every call: where the repository is, what its config says, how paths and messages are read. */
const DROPPED = new Set([
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_ATTR_SOURCE",
  "GIT_AUTHOR_DATE",
  "GIT_CEILING_DIRECTORIES",
  "GIT_COMMITTER_DATE",
  "GIT_COMMON_DIR",
  "GIT_CONFIG",
  "GIT_CONFIG_COUNT",
  "GIT_CONFIG_PARAMETERS",
  "GIT_DIFF_OPTS",
  "GIT_DIR",
  "GIT_DISCOVERY_ACROSS_FILESYSTEM",
  "GIT_EDITOR",
  "GIT_EXTERNAL_DIFF",
  "GIT_GLOB_PATHSPECS",
  "GIT_GRAFT_FILE",
  "GIT_ICASE_PATHSPECS",
  "GIT_IMPLICIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_LITERAL_PATHSPECS",
  "GIT_NAMESPACE",
  "GIT_NOGLOB_PATHSPECS",
  "GIT_NO_REPLACE_OBJECTS",
  "GIT_OBJECT_DIRECTORY",
  "GIT_OPTIONAL_LOCKS",
  "GIT_PREFIX",
  "GIT_REFLOG_ACTION",
  "GIT_REPLACE_REF_BASE",
  "GIT_SEQUENCE_EDITOR",
  "GIT_SHALLOW_FILE",
  "GIT_WORK_TREE",
]);
const DROPPED_PREFIX = /^GIT_(?:CONFIG_(?:KEY|VALUE)_|TRACE|INTERNAL_)/;
const IDENTITY = new Set(["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]);

/** The environment of a git child. Pure. */
export function gitEnv(env: GitCtx["env"], probe = false): Record<string, string> {
  // A hook exports the identity of the commit that it runs for; anywhere else an identity was set on purpose (CI).
  const inHook = env["GIT_INDEX_FILE"] !== undefined || env["GIT_PREFIX"] !== undefined;
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    // Windows compares names of variables without case, so a child would see `git_dir` as well.
    const upper = name.toUpperCase();
    if (DROPPED.has(upper) || DROPPED_PREFIX.test(upper) || (inHook && IDENTITY.has(upper))) continue;
    clean[name] = value;
  }
  clean["LC_ALL"] = "C";
  clean["GIT_TERMINAL_PROMPT"] = "0";
  clean["GIT_PAGER"] = "cat";
  clean["GIT_EDITOR"] = "false";
  clean["GIT_SEQUENCE_EDITOR"] = "false";
  if (probe) clean["GIT_OPTIONAL_LOCKS"] = "0";
  return clean;
}

/**
 * Runs git once. Throws NO_GIT, NOT_FOUND (no such cwd), NETWORK or GIT_FAILED (over time), GIT_FAILED (too much output),
 * what `gitFailure` says for a status outside `okStatus`, and the reason of an abort.
 */
export async function git(ctx: GitCtx, args: readonly string[], options: GitOptions): Promise<GitResult> {
  ctx.signal.throwIfAborted();
  const probe = options.probe === true;
  const settings = (probe ? [...ALWAYS, ...ON_PROBES] : ALWAYS).flatMap((setting) => ["-c", setting]);
  const started = performance.now();
  const child = spawn(["git", ...settings, ...args], options, { ...gitEnv(ctx.env, probe), ...options.env });

  let ended: "abort" | "timeout" | "size" | null = null;
  let killTimer: ReturnType<typeof setTimeout> | undefined;
  const end = (why: "abort" | "timeout" | "size"): void => {
    if (ended !== null) return;
    ended = why;
    signalGroup(child, "SIGTERM");
    killTimer = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_AFTER_MS);
  };
  const onAbort = (): void => end("abort");
  ctx.signal.addEventListener("abort", onAbort, { once: true });
  const timeoutMs = options.timeoutMs ?? (probe ? PROBE_TIMEOUT_MS : undefined);
  const deadline = timeoutMs === undefined ? undefined : setTimeout(() => end("timeout"), timeoutMs);

  const maxBytes = options.maxBytes ?? MAX_BYTES;
  const out = collect(child.stdout, maxBytes, () => end("size"));
  const err = collect(child.stderr, MAX_BYTES, () => end("size"));
  let status: number;
  try {
    status = await child.exited;
    await Promise.all([drained(out), drained(err)]);
    // Git has ended; whoever is left of its group had the time of the drain to end as well.
    if (ended !== null) signalGroup(child, "SIGKILL");
  } finally {
    clearTimeout(deadline);
    clearTimeout(killTimer);
    ctx.signal.removeEventListener("abort", onAbort);
  }
  trace(ctx, { args, cwd: options.cwd, ms: Math.round((performance.now() - started) * 100) / 100, status });

  if (ended !== null) throw endedError(ended, ctx, args, timeoutMs ?? 0, maxBytes);
  const result = makeResult(status, out.bytes(), new TextDecoder().decode(err.bytes()));
  if (options.okStatus !== undefined && !options.okStatus.includes(status)) throw gitFailure(args, result);
  return result;
}

/** stdout of a call that has to succeed, as it came: the last newline is the caller's to remove (`oneLine`). */
export async function gitText(ctx: GitCtx, args: readonly string[], options: GitOptions): Promise<string> {
  const result = await git(ctx, args, { ...options, okStatus: options.okStatus ?? [0] });
  return result.stdout;
}

/** Failures of git that have a code of their own. Read in this order; LC_ALL=C keeps the wording. */
const KNOWN: readonly (readonly [RegExp, DotbotError["code"], hint?: string])[] = [
  [
    /detected dubious ownership|unsafe repository/,
    "REFUSED",
    "check who owns that folder; only its owner can say that it is safe",
  ],
  [
    /unknown repository extension|Expected git repo version/,
    "GIT_TOO_OLD",
    "update git: the repository uses a newer format",
  ],
  [/not a git repository|must be run in a work tree/, "NOT_A_REPOSITORY"],
  [/Unable to read current working directory|cannot change to /, "NOT_FOUND"],
  [
    /cannot lock ref '[^\n]*(?:' exists; cannot create '|there is a non-empty directory ')/,
    "REFUSED",
    "git keeps branches like files: there can't be both x and x/y; rename or delete one of them",
  ],
  [
    /Unable to create '.*\.lock': File exists|cannot lock ref/s,
    "LOCKED",
    "another git command is running there, or one was killed",
  ],
  [/Read-only file system|insufficient permission for adding|No space left on device|Disk quota exceeded/, "READ_ONLY"],
  [
    /Could not resolve host|Could not read from remote|unable to access '|Connection (?:refused|reset|timed out)|early EOF/,
    "NETWORK",
  ],
];

/** What a failed call means, in git's own words. Pure. */
export function gitFailure(
  args: readonly string[],
  result: Pick<GitResult, "status" | "stderr" | "stdout">,
): DotbotError {
  const words = errorLines(result.stderr) || errorLines(result.stdout) || `it ended with status ${result.status}`;
  const command = commandName(args);
  const details = { command, status: result.status };
  for (const [pattern, code, hint] of KNOWN) {
    if (pattern.test(result.stderr)) {
      return new DotbotError(code, `git ${command}: ${words}`, { details, ...(hint === undefined ? {} : { hint }) });
    }
  }
  return new DotbotError("GIT_FAILED", `git ${command}: ${words}`, { details });
}

/** Refuses a value that git could take for an option or that can't be a name; returns it otherwise. */
export function refuseOption(value: string, what: string): string {
  const fault =
    value === ""
      ? "is empty"
      : value.startsWith("-")
        ? "begins with a dash, so git would take it for an option"
        : /[\u0000-\u001F\u007F]/.test(value)
          ? "contains a control character"
          : null;
  if (fault === null) return value;
  throw new DotbotError("INVALID_INPUT", `the ${what} ${quote(value)} ${fault}`, {
    hint: `give the plain name of a ${what}, such as ${EXAMPLES[what] ?? '"main"'}`,
  });
}

const EXAMPLES: Readonly<Record<string, string>> = { remote: '"origin"', sha: '"4f2a91c"', ref: '"refs/heads/main"' };

/** One environment object means one caller, for whom git doesn't change; a server makes a new one per call. */
const versions = new WeakMap<GitCtx["env"], Promise<GitVersion>>();

/** The version of the git on PATH. Throws NO_GIT. */
export function gitVersion(ctx: GitCtx & { readonly cwd: string }): Promise<GitVersion> {
  let version = versions.get(ctx.env);
  if (version === undefined) {
    version = gitText(ctx, ["version"], { cwd: ctx.cwd, probe: true }).then((text) => parseGitVersion(text));
    versions.set(ctx.env, version);
    version.catch(() => versions.delete(ctx.env));
  }
  return version;
}

/** Refuses a git older than `minimum` (`"2.38"`) with the name of the verb that needs it. */
export async function requireGit(ctx: GitCtx & { readonly cwd: string }, minimum: string, verb: string): Promise<void> {
  const version = await gitVersion(ctx);
  if (atLeast(version, minimum)) return;
  throw new DotbotError("GIT_TOO_OLD", `dotbot ${verb} needs git ${minimum} or newer; this is ${version.text}`, {
    hint: "update git, or put a newer one first on PATH",
    details: { minimum, found: version.text },
  });
}

type Child = Bun.Subprocess<"ignore" | Uint8Array, "pipe", "pipe">;

function spawn(argv: string[], options: GitOptions, env: Record<string, string>): Child {
  const input = typeof options.input === "string" ? new TextEncoder().encode(options.input) : options.input;
  try {
    return Bun.spawn(argv, {
      cwd: options.cwd,
      env,
      stdin: input ?? "ignore",
      stdout: "pipe",
      stderr: "pipe",
      windowsHide: true,
      // A process group of its own, so that ending git ends its hooks, its filters and its ssh as well.
      detached: process.platform !== "win32",
    });
  } catch (error) {
    // ENOENT is what a missing git and a missing cwd look like alike.
    if (!isFolder(options.cwd)) {
      throw new DotbotError("NOT_FOUND", `the folder ${quote(options.cwd, 200)} doesn't exist or can't be entered`);
    }
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new DotbotError("NO_GIT", "git isn't installed, or isn't on PATH", {
        hint: "install git 2.38 or newer: https://git-scm.com/downloads",
      });
    }
    const why = error instanceof Error ? error.message : String(error);
    throw new DotbotError("GIT_FAILED", `git can't be started: ${stripControlKeepLines(why)}`);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function signalGroup(child: Child, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The group is gone already, which is what was wanted.
  }
}

interface Collector {
  readonly done: Promise<void>;
  cancel(): void;
  bytes(): Uint8Array;
}

function collect(stream: ReadableStream<Uint8Array>, max: number, tooMuch: () => void): Collector {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const read = async (): Promise<void> => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      size += value.byteLength;
      // Still read to the end, or the child would block on a full pipe instead of ending.
      if (size > max) tooMuch();
      else chunks.push(value);
    }
  };
  return {
    done: read().catch(() => undefined),
    cancel: () => void reader.cancel().catch(() => undefined),
    bytes: () => (chunks.length === 1 ? (chunks[0] ?? new Uint8Array()) : Buffer.concat(chunks)),
  };
}

async function drained(collector: Collector): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      collector.cancel();
      resolve();
    }, DRAIN_MS);
  });
  await Promise.race([collector.done, late]);
  clearTimeout(timer);
}

function makeResult(status: number, bytes: Uint8Array, stderr: string): GitResult {
  let text: string | undefined;
  return {
    status,
    bytes,
    stderr,
    get stdout() {
      return (text ??= new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
    },
  };
}

const NETWORKED = new Set(["fetch", "push", "pull", "clone", "ls-remote", "remote"]);

function endedError(
  why: "abort" | "timeout" | "size",
  ctx: GitCtx,
  args: readonly string[],
  timeoutMs: number,
  maxBytes: number,
): unknown {
  const command = commandName(args);
  if (why === "abort") return ctx.signal.reason;
  if (why === "size") {
    return new DotbotError("GIT_FAILED", `git ${command} printed more than ${maxBytes} bytes`, {
      details: { command, maxBytes },
    });
  }
  const networked = NETWORKED.has(command);
  return new DotbotError(
    networked ? "NETWORK" : "GIT_FAILED",
    `git ${command} didn't end within ${timeoutMs / 1000} s`,
    {
      hint: networked
        ? "check the network and the credentials for that remote"
        : "check that the disk and the git hooks respond",
      details: { command, timeoutMs },
    },
  );
}

/** The subcommand of an argv, past options of git itself. */
function commandName(args: readonly string[]): string {
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? "";
    if (word === "-c" || word === "-C") i++;
    else if (!word.startsWith("-")) return word;
  }
  return args[0] ?? "";
}

/** With DOTBOT_TRACE_GIT naming a file: one JSON line per spawn, for benchmarks and tests. */
function trace(ctx: GitCtx, record: { args: readonly string[]; cwd: string; ms: number; status: number }): void {
  const file = ctx.env["DOTBOT_TRACE_GIT"];
  if (file === undefined || file === "") return;
  try {
    appendFileSync(file, JSON.stringify(record) + "\n");
  } catch {
    // A trace that can't be written mustn't change what is traced.
  }
}
