/**
 * Operations in process, as a surface calls them: validated, on a real repository, with a context in which nothing is left
 * to chance.
 *
 *     await using world = await inProcess();
 *     const { result } = await world.call(add, { name: "Add a login page" });
 */
import { mkdirSync } from "node:fs";

import type { Ctx } from "../../lib/ctx.ts";
import { DotbotError, type ErrorFacts } from "../../lib/error.ts";
import { invoke, type Answer } from "../../lib/invoke.ts";
import type { AnyOperation } from "../../lib/op.ts";
import { resolveTarget } from "../../lib/target.ts";
import { gitEnv, makeRepo, tempDir, type TempDir } from "./git.ts";

export interface InProcess extends AsyncDisposable {
  readonly dir: TempDir;
  /** The main checkout; it has a `.bot` folder. */
  readonly repo: string;
  /** What was said on stderr so far. */
  readonly notes: string[];
  ctx(changes?: Partial<Ctx>): Ctx;
  /** Runs an operation; rejects with the DotbotError that a surface would show. */
  call(
    op: AnyOperation,
    input?: Readonly<Record<string, unknown>>,
    changes?: Partial<Ctx>,
  ): Promise<Answer & { readonly result: Loose }>;
  /** What a person at a terminal reads. */
  text(op: AnyOperation, input?: Readonly<Record<string, unknown>>, changes?: Partial<Ctx>): Promise<string>;
}

/** A result whose members a test looks at. */
export type Loose = Record<string, unknown>;

export async function inProcess(files?: Readonly<Record<string, string>>): Promise<InProcess> {
  const dir = await tempDir();
  const repo = await makeRepo(dir.path("main"), files === undefined ? {} : { files });
  mkdirSync(`${repo}/.bot`, { recursive: true });
  const notes: string[] = [];
  // Each look at the clock is a second later, so that order is visible and no test waits.
  let clock = Date.parse("2024-05-06T07:08:09Z");
  const ctx = (changes: Partial<Ctx> = {}): Ctx => ({
    surface: "cli",
    caller: { kind: "cli" },
    cwd: repo,
    env: { ...gitEnv(), USER: "ada" },
    now: () => new Date((clock += 1000)),
    uuid: () => crypto.randomUUID(),
    pid: process.pid,
    hostname: "here",
    signal: new AbortController().signal,
    note: (line) => void notes.push(line),
    progress: () => {},
    readStdin: async () => "",
    prompt: undefined,
    style: { color: false, width: 100 },
    lockWaitMs: 5000,
    yes: false,
    executable: "/usr/bin/dotbot",
    ...changes,
  });
  const call: InProcess["call"] = async (op, input = {}, changes = {}) => {
    const answer = await invoke(
      {
        op,
        ctx: ctx(changes),
        resolve: resolveTarget,
        wording: { nameOf: (path) => path.join("."), correct: () => undefined },
      },
      input,
    );
    return { ...answer, result: { ...answer.result } };
  };
  return {
    dir,
    repo,
    notes,
    ctx,
    call,
    text: async (op, input, changes) => {
      const answer = await call(op, input, { answer: { as: "text", update: async () => {} }, ...changes });
      return op.text(answer.result, ctx(changes).style);
    },
    [Symbol.asyncDispose]: async () => await dir[Symbol.asyncDispose](),
  };
}

/** What an operation refuses with; fails when it doesn't. */
export async function refusal(promise: Promise<unknown>): Promise<ErrorFacts> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof DotbotError) return error.facts();
    throw error;
  }
  throw new Error("expected a refusal");
}
