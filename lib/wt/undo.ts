/**
 * Taking a completion back: a new commit that is the inverse of the one that landed, merged onto the base as it is today. The
 * base never moves back, and the branch returns as it was.
 */
import { DotbotError } from "../error.ts";
import { hooksNotRun, land, landingCommit } from "../git/land.ts";
import { mergeTrees } from "../git/merge.ts";
import { branchRef, moveRef, readRef } from "../git/refs.ts";
import { gitText } from "../git/run.ts";
import type { TaskRow } from "../task/ledger.ts";
import { quote } from "../text.ts";
import { nowStamp, type Bench } from "./bench.ts";
import { createWorktree } from "./create.ts";
import { forget, record, type LandEntry } from "./journal.ts";
import { doneRef, type Completion } from "./model.ts";
import { completions, putCompletion } from "./records.ts";
import { followUp } from "./restore.ts";

export interface UndoInput {
  readonly worktree?: boolean | undefined;
  readonly reset?: boolean | undefined;
  readonly fetch?: boolean | undefined;
  readonly dry_run?: boolean | undefined;
}

export interface Undone {
  readonly changed: boolean;
  readonly base: string;
  readonly branch: string;
  /** Where the branch is again; null when it couldn't return under its name. */
  readonly tip: string | null;
  /** The commit that was taken back, and the one that does it. */
  readonly reverted: string;
  readonly commit: string | null;
  readonly files: readonly string[];
  readonly worktree: string | null;
  readonly hooksNotRun: readonly string[];
}

/** Undoes the task's last completion. The caller holds the repository's lock. */
export async function undoTask(bench: Bench, row: TaskRow, input: UndoInput): Promise<Undone> {
  const { call, place } = bench;
  const all = completions(bench.queue.ledger, row.id);
  // One that had nothing to merge put nothing there that could be taken back.
  const landings = all.filter((it) => it.commit !== it.old);
  const last = landings.findLast((it) => it.undone === null);
  const undone = landings.at(-1);
  if (last === undefined) {
    if (undone === undefined) {
      throw new DotbotError(
        "NOT_FOUND",
        all.length === 0
          ? `${quote(row.name)} (${row.id8}) was never completed, so there is nothing to undo`
          : `completing ${quote(row.name)} (${row.id8}) had nothing to merge, so there is nothing to undo`,
        {
          hint: "only what `dotbot wt complete` landed can be undone",
          details: { task: row.id },
        },
      );
    }
    const worktree = input.dry_run === true ? null : await follow(bench, undone, input);
    return {
      changed: false,
      base: undone.base,
      branch: undone.branch,
      tip: undone.tip,
      reverted: undone.commit,
      commit: undone.undone,
      files: [],
      worktree,
      hooksNotRun: [],
    };
  }
  const name = `undo-${row.id8}`;
  const entry = (move: LandEntry["move"], why: "fetch" | "land"): LandEntry => ({
    op: "land",
    at: nowStamp(call),
    move,
    next:
      why === "fetch"
        ? { is: "advance" }
        : { is: "undo", taskId: row.id, n: last.n, worktree: input.worktree === true, reset: input.reset === true },
  });
  const subject = (
    await gitText(call, ["log", "-1", "--no-show-signature", "--format=%s", "--end-of-options", last.commit], {
      cwd: place.mainRoot,
      probe: true,
    })
  ).trim();
  const landed = await land(call, {
    place,
    base: last.base,
    fetch: input.fetch === true,
    dryRun: input.dry_run === true,
    merge: async (old) => await mergeTrees(call, place.mainRoot, { base: last.commit, ours: old, theirs: last.old }),
    commit: async (tree, old) =>
      await landingCommit(call, place, {
        tree,
        parent: old,
        message: `revert: ${subject}\n\nThis reverts commit ${last.commit}.\n`,
        authors: [],
        hookIn: place.mainRoot,
      }),
    journal: (move, why) => record(place.commonDir, name, entry(move, why)),
    forget: () => forget(place.commonDir, name),
  });
  if (landed.is === "conflict") {
    throw new DotbotError(
      "MERGE_CONFLICT",
      `${quote(last.base)} has changed since in ${landed.files.map((it) => quote(it)).join(", ")}: undoing ${last.commit.slice(0, 12)} conflicts`,
      {
        hint: "nothing was changed; revert it by hand and resolve",
        example: `git revert ${last.commit.slice(0, 12)}`,
        details: { files: landed.files, base: last.base },
      },
    );
  }
  const facts = {
    base: last.base,
    branch: last.branch,
    reverted: last.commit,
    hooksNotRun: landed.is === "nothing" ? [] : await hooksNotRun(call, place.mainRoot),
  };
  const files = landed.is === "nothing" ? [] : landed.changes.map((change) => change.path);
  if (input.dry_run === true) return { ...facts, changed: false, tip: last.tip, commit: null, files, worktree: null };
  const commit = landed.is === "nothing" ? landed.old : (landed.commit ?? landed.old);
  const after = entry(
    {
      ref: branchRef(last.base),
      old: landed.old,
      to: commit,
      checkout: landed.is === "nothing" ? null : landed.checkout,
    },
    "land",
  );
  if (landed.is === "nothing") record(place.commonDir, name, after);
  const worktree = await finishUndo(bench, name, after);
  const tip = await readRef(call, place.mainRoot, branchRef(last.branch));
  return { ...facts, changed: true, tip, commit: landed.is === "nothing" ? null : commit, files, worktree };
}

/** What follows once the inverse has landed, from the entry alone. Returns the worktree's path when it was asked for. */
export async function finishUndo(bench: Bench, name: string, entry: LandEntry): Promise<string | null> {
  const { next } = entry;
  if (next.is !== "undo") throw new TypeError("not an undo");
  const done = completions(bench.queue.ledger, next.taskId).find((it) => it.n === next.n);
  if (done === undefined) {
    bench.call.note(
      `the completion ${next.n} of ${next.taskId} isn't in the ledger any more; its commit is undone all the same`,
    );
    forget(bench.place.commonDir, name);
    return null;
  }
  await bench.queue.write(`wt undo ${next.taskId.slice(0, 8)}`, (tx) => {
    putCompletion(tx, { ...done, undone: entry.move.to });
    // What had nothing to merge since has something again.
    for (const it of completions(bench.queue.ledger, next.taskId))
      if (it.n > done.n && it.commit === it.old && it.undone === null)
        putCompletion(tx, { ...it, undone: entry.move.to });
    const row = tx.ledger.task(next.taskId);
    if (row === undefined || row.place === "removed") return;
    const doc = tx.document(row);
    if (doc["commit_sha"] !== done.commit) return;
    const at = nowStamp(bench.call);
    tx.save(row, { ...doc, commit_sha: null, updated_at: at }, { at, by: "dotbot" });
  });
  const path = await follow(bench, done, next);
  forget(bench.place.commonDir, name);
  return path;
}

/** The branch comes back, then status and worktree as asked. */
async function follow(
  bench: Bench,
  done: Completion,
  wish: Pick<UndoInput, "worktree" | "reset">,
): Promise<string | null> {
  const { call, place, queue } = bench;
  const ref = branchRef(done.branch);
  const now = await readRef(call, place.mainRoot, ref);
  if (now === null) await moveRef(call, place.mainRoot, { ref, to: done.tip, old: null, why: "dotbot: undo" });
  else if (now !== done.tip)
    call.note(
      `${done.branch} exists and is somewhere else; the tip that was undone is kept as ${doneRef(done.taskId, done.n)}`,
    );
  if (wish.reset === true) {
    await followUp(bench, done.taskId, {
      to: "todo",
      from: ["done", "needs-review"],
      reason: "its completion was undone",
      branch: done.branch,
      commit: done.tip,
    });
  }
  const row = queue.ledger.task(done.taskId);
  if (wish.worktree !== true || row === undefined || row.place === "removed") return null;
  const created = await createWorktree(bench, row, { no_start: true, base: done.base });
  return created.worktree.path;
}
