/**
 * One writer of a checkout's index at a time. Git's own index.lock isn't enough: a commit of named paths reads the index before
 * it takes that lock, and so undoes in the index what another process wrote in between; a later commit would then revert it.
 */
import { join } from "node:path";

import { DotbotError } from "../error.ts";
import { quote } from "../text.ts";
import { tryLock } from "../sqlite.ts";
import { git, gitFailure, type GitCtx, type GitResult } from "./run.ts";

export interface IndexCtx extends GitCtx {
  /** Milliseconds to wait for somebody else. */
  readonly lockWaitMs: number;
  readonly uuid: () => string;
}

/** Names the index that a process above holds: a hook that calls dotbot again waits for nobody but itself. */
const HELD = "DOTBOT_INDEX_HELD";

/**
 * Does the work while no other dotbot writes the index of the checkout with this git dir. `env` is for the calls in it that run
 * hooks. Throws LOCKED after the wait, READ_ONLY.
 */
export async function withIndexLock<T>(
  ctx: IndexCtx,
  gitDir: string,
  work: (env: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const env = { [HELD]: gitDir };
  if (ctx.env[HELD] === gitDir) return await work(env);
  // Beside the index it is about; the ledger's folder is only where there is a ledger.
  const path = join(gitDir, "dotbot-index-lock");
  const until = performance.now() + ctx.lockWaitMs;
  for (let round = 0; ; round++) {
    const lock = tryLock(path);
    if (lock !== null) {
      try {
        return await work(env);
      } finally {
        lock.release();
      }
    }
    if (performance.now() >= until) {
      throw new DotbotError(
        "LOCKED",
        `another dotbot is changing the index of ${quote(gitDir, 200)}; waited ${ctx.lockWaitMs} ms`,
        {
          hint: "try again, or wait longer with --lock-wait 60s",
          details: { path },
        },
      );
    }
    await pause(ctx, round);
  }
}

/** Runs one command of git that writes the index and the tree of a checkout, alone and with its hooks; `set`: environment for it. */
export async function writeTree(
  ctx: IndexCtx,
  tree: { readonly workRoot: string; readonly gitDir: string },
  args: readonly string[],
  set: Readonly<Record<string, string>> = {},
): Promise<GitResult> {
  return await withIndexLock(
    ctx,
    tree.gitDir,
    async (env) =>
      await retryLocked(ctx, async () => await git(ctx, args, { cwd: tree.workRoot, env: { ...set, ...env } })),
  );
}

/** Runs a call of git again, after a little while, as long as somebody else holds a lock of git's. Throws LOCKED after the wait. */
export async function retryLocked(ctx: IndexCtx, call: () => Promise<GitResult>): Promise<GitResult> {
  const until = performance.now() + ctx.lockWaitMs;
  for (let round = 0; ; round++) {
    const result = await call();
    if (!isLocked(result)) return result;
    if (performance.now() >= until) throw gitFailure(["commit"], result);
    await pause(ctx, round);
  }
}

/**
 * Whether git itself found a lock, and not a hook that it ran: a commit that its hook stops ends with 1, and to run it again
 * would run the hook again, with all that it does. Pure.
 */
export function isLocked({ status, stderr }: Pick<GitResult, "status" | "stderr">): boolean {
  const found = /^(fatal|error): (?:.*: )?Unable to create '[^]*?\.lock': File exists/m.exec(stderr);
  // A merge reports the lock and ends with 1; everything else dies of it.
  return found !== null && (status === 128 || found[1] === "error");
}

/** Spread out, so that those who wait don't all come back at once. */
async function pause(ctx: IndexCtx, round: number): Promise<void> {
  ctx.signal.throwIfAborted();
  const spread = Number.parseInt(ctx.uuid().slice(0, 4), 16) / 0xff_ff;
  await Bun.sleep(10 + spread * Math.min(300, 30 * (round + 1)));
}
