/**
 * One lock per repository, for whatever changes its branches and checkouts. It dies with its holder, in whichever container
 * that runs; it isn't held while a project's own commands run.
 */
import { join } from "node:path";

import type { Ctx } from "./ctx.ts";
import { DotbotError } from "./error.ts";
import { readText, writeHint } from "./files.ts";
import { quote } from "./text.ts";
import { tryLock } from "./sqlite.ts";
import { ledgerFolder } from "./task/ledger.ts";

type LockCtx = Pick<Ctx, "lockWaitMs" | "signal" | "pid">;

const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 100;

/**
 * Does the work while no other process can do such work in this repository. `purpose` is what others are told who wait.
 * Errors: LOCKED after `lockWaitMs`, naming the holder's command; READ_ONLY.
 */
export async function withRepositoryLock<T>(
  ctx: LockCtx,
  commonDir: string,
  purpose: string,
  work: () => Promise<T>,
): Promise<T> {
  const folder = ledgerFolder(commonDir);
  const path = join(folder, "lock.db");
  const holder = join(folder, "lock-holder");
  const deadline = performance.now() + ctx.lockWaitMs;
  let pause = FIRST_LOOK_MS;
  for (;;) {
    ctx.signal.throwIfAborted();
    const lock = tryLock(path);
    if (lock !== null) {
      try {
        writeHint(holder, `${ctx.pid} ${purpose}\n`);
        return await work();
      } finally {
        lock.release();
      }
    }
    const left = deadline - performance.now();
    if (left <= 0) throw locked(path, readText(holder), ctx.lockWaitMs);
    // Not in step with the others who wait.
    await Bun.sleep(Math.min(left, pause * (0.75 + (ctx.pid % 16) / 32)));
    pause = Math.min(LAST_LOOK_MS, pause * 2);
  }
}

function locked(path: string, hint: string | null, waitedMs: number): DotbotError {
  const [pid = "", ...words] = (hint ?? "").trim().split(" ");
  const command = words.join(" ");
  const who = command === "" ? "another process" : `process ${pid} (${quote(command)})`;
  return new DotbotError("LOCKED", `${who} is changing this repository's worktrees; waited ${waitedMs} ms`, {
    hint: "try again, or wait longer with --lock-wait 60s",
    details: { path, holder: command === "" ? null : { pid: Number(pid), command } },
  });
}
