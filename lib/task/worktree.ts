/** What verbs of the queue do with worktrees. The work itself is loaded when it is asked for: most calls don't. */
import { DotbotError, type ErrorFacts } from "../error.ts";
import type { Call } from "../op.ts";
import { quote } from "../text.ts";
import type { Moved, MoveInput } from "./ops/move.ts";

/** How a completion that followed a `done` went. A refusal leaves the task done. */
export type Completion = { readonly ok: true } | { readonly ok: false; readonly error: ErrorFacts };

/** Completes a task that has just become done. */
export async function completeAfterDone(call: Call, taskId: string): Promise<Completion & Record<string, unknown>> {
  const { completeAll } = await import("../wt/finish.ts");
  try {
    return { ok: true, ...(await completeAll(call, { task_id: taskId })) };
  } catch (error) {
    if (!(error instanceof DotbotError)) throw error;
    call.note(`it is done, but not completed: ${error.message}`);
    return { ok: false, error: error.facts() };
  }
}

type StartInput = MoveInput & { readonly ttl?: string | undefined; readonly pid?: number | undefined };

/** Starts a task in a worktree of its own; `started` when it was picked and started already, and then goes back on failure. */
export async function startInWorktree(
  call: Call,
  input: StartInput,
  started: Moved | null,
): Promise<Moved & { worktree: Worktree }> {
  const { createAndSetUp } = await import("../wt/begin.ts");
  const { task_id, session_id, branch, commit, by, owner, claim_token, steal, ttl, pid } = input;
  const made = await createAndSetUp(call, {
    task_id,
    session_id,
    branch,
    commit,
    by,
    owner,
    claim_token: claim_token ?? started?.claim?.token,
    steal,
    ttl,
    pid,
    ...(started === null ? {} : { started }),
  });
  if (made.setup.state === "failed")
    call.note(
      `setting up ${made.path} failed at ${quote(made.setup.command ?? "")}: \`dotbot wt status\` shows its output`,
    );
  const moved = started ?? made.started;
  if (moved === null) throw new TypeError("the task wasn't started");
  return { ...moved, worktree: { path: made.path, branch: made.branch, base: made.base, baseSha: made.baseSha } };
}

interface Worktree {
  path: string;
  branch: string | null;
  base: string;
  baseSha: string;
}

/** Takes the worktree of a task that has been reset away; its tip is kept. */
export async function discardWorktree(call: Call, taskId: string, input: MoveInput) {
  const { withLockedBench } = await import("../wt/bench.ts");
  const { removeTask } = await import("../wt/discard.ts");
  const { owner, claim_token, session_id, steal } = input;
  return await withLockedBench(
    call,
    "task reset --discard-worktree",
    async (bench) =>
      await removeTask(bench, {
        task_id: taskId,
        force_unmerged: true,
        force_dirty: true,
        owner,
        claim_token,
        session_id,
        steal,
      }),
  );
}
