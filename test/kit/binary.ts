/**
 * The compiled program in a real process: what it prints and how it ends, compared whole.
 *
 * Which program: `DOTBOT_TEST_BINARY` where the test runner has built one for all suites, else one that is compiled here,
 * from the sources as they are, at the first call of the process.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";

import { compile } from "../../scripts/compile.ts";
import { gitEnv } from "./git.ts";

export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Options {
  readonly cwd: string;
  /** Nothing by default: an empty stdin. */
  readonly stdin?: string | Uint8Array;
  /** On top of the hermetic environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Runs the program under this one: `["strace", …]`. */
  readonly under?: readonly string[];
}

let built: Promise<string> | undefined;

/** Absolute path of the program under test. */
export function binary(): Promise<string> {
  return (built ??= build());
}

async function build(): Promise<string> {
  const given = process.env["DOTBOT_TEST_BINARY"];
  if (given !== undefined && given !== "") return given;
  const folder = mkdtempSync(join(tmpdir(), "dotbot-binary-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, "dotbot");
  await compile({ entry: join(import.meta.dir, "..", "..", "cmd", "dotbot.ts"), outfile });
  return outfile;
}

/** The environment of a call: git's hermetic one, and nothing that says who calls. */
export function cleanEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return gitEnv({ USER: "ada", ...extra });
}

export type Running = Bun.Subprocess<Uint8Array | "ignore", "pipe", "pipe">;

/** Starts the program and doesn't wait for it. */
export async function start(args: readonly string[], { cwd, stdin, env, under = [] }: Options): Promise<Running> {
  return Bun.spawn([...under, await binary(), ...args], {
    cwd,
    env: cleanEnv(env),
    stdin: stdin === undefined ? "ignore" : typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin,
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** How a started program ended. Status 128+n when it died of signal n. */
export async function outcome(child: Running): Promise<Outcome> {
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  await child.exited;
  const died = child.signalCode;
  const status = child.exitCode ?? 128 + (typeof died === "string" ? constants.signals[died] : (died ?? 0));
  return { status, stdout, stderr };
}

/** Runs the program to its end. */
export async function dotbot(args: readonly string[], options: Options): Promise<Outcome> {
  return await outcome(await start(args, options));
}

/**
 * An outcome with what differs from run to run replaced: each pattern by its word, in the order given, e.g.
 * `[[world.main, "MAIN"], ID, TIME]`.
 */
export function normalised(result: Outcome, replacements: readonly Replacement[]): Outcome {
  const replace = (text: string): string =>
    replacements.reduce(
      (changed, [pattern, word]) =>
        typeof pattern === "string" ? changed.replaceAll(pattern, word) : changed.replace(pattern, word),
      text,
    );
  return { status: result.status, stdout: replace(result.stdout), stderr: replace(result.stderr) };
}

export type Replacement = readonly [pattern: RegExp | string, word: string];

/** A whole UUID. */
export const ID: Replacement = [/\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/g, "ID"];
/** The first eight digits of an id, as lists and file names show it. */
export const ID8: Replacement = [/\b[0-9a-f]{8}\b/g, "ID8"];
/** RFC 3339 in UTC, with or without a fraction. */
export const TIME: Replacement = [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "TIME"];
/** A commit. */
export const SHA: Replacement = [/\b[0-9a-f]{40}\b/g, "SHA"];
