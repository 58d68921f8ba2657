/** Removing one task's worktree: what may go by whose leave, and what keeps it. */
import { DotbotError } from "../error.ts";
import { branchRef, readRef } from "../git/refs.ts";
import { guardClaim, holderOf, namedTask } from "../task/ops/common.ts";
import { quote } from "../text.ts";
import { mergedBy } from "./base.ts";
import { wtExample, type Bench } from "./bench.ts";
import type { RemoveInput, RemoveResult } from "./ops/remove.ts";
import { refusal } from "./plan.ts";
import { worktreeOf } from "./records.ts";
import { removalFacts, removeWorktree, type Removal } from "./remove.ts";

/** Removes one task's worktree, by the caller's permissions. */
export async function removeTask(bench: Bench, input: RemoveInput): Promise<RemoveResult> {
  const { call, place, queue } = bench;
  const row = await namedTask(call, queue, input.task_id, "show");
  if (input.dry_run !== true) {
    await queue.write(`wt remove ${row.id8}`, (tx) =>
      guardClaim(call, tx, tx.row(row.id), holderOf(call, input), input.steal, "reset"),
    );
  }
  const worktree = worktreeOf(queue, row.id);
  const nothing = {
    taskId: row.id,
    path: null,
    taskBranch: null,
    changed: false,
    trash: null,
    branchDeleted: false,
    keptRef: null,
    merged: null,
  };
  if (worktree === null) return nothing;
  const ref = branchRef(worktree.branch);
  const tip = await readRef(call, place.mainRoot, ref);
  const base = worktree.base;
  const merged =
    tip === null || base === ""
      ? null
      : await mergedBy(bench, { tip, base, baseSha: worktree.baseSha, taskId: row.id });
  const removal: Removal = {
    taskId: row.id,
    id8: row.id8,
    path: worktree.path,
    expected: ref,
    base,
    made: worktree.made,
    may: { dirty: input.force_dirty === true, ignored: input.discard_ignored === true || input.force_dirty === true },
    branch: tip === null || input.keep_branch === true ? null : { ref, tip },
    keep: [],
  };
  const { facts, blockers } = await removalFacts(bench, removal);
  const what = `the worktree of ${quote(row.name)} (${row.id8}) can't be removed`;
  if (blockers.length > 0) {
    const force = blockers.every((it) => it.kind === "ignored") ? { discard_ignored: true } : { force_dirty: true };
    const helps = blockers.every((it) =>
      ["dirty", "hidden", "untracked", "ignored", "submodule", "link"].includes(it.kind),
    );
    throw refusal(what, blockers, helps ? wtExample(call, "remove", row.id8, force) : undefined);
  }
  const detached = facts.branch === null && facts.head !== null && facts.head !== tip ? facts.head : null;
  const unmerged = merged === null && tip !== null && input.keep_branch !== true;
  if ((unmerged || detached !== null) && input.force_unmerged !== true) {
    const lost = detached ?? tip ?? "";
    throw new DotbotError(
      "UNMERGED",
      `${what}: ${detached === null ? `its branch ${quote(worktree.branch)} has` : "its detached HEAD has"} commits that are nowhere else (tip ${lost.slice(0, 12)})`,
      {
        hint: `complete it, or let them go with --force-unmerged: the tip is kept under refs/dotbot/lost${detached === null ? "; --keep-branch leaves the branch" : ""}`,
        example: wtExample(call, "remove", row.id8, { force_unmerged: true }),
        details: { task: row.id, tip: lost, branch: worktree.branch },
      },
    );
  }
  const facts2 = { taskId: row.id, path: worktree.path, taskBranch: worktree.branch, merged };
  if (input.dry_run === true)
    return { ...facts2, changed: false, trash: null, branchDeleted: false, keptRef: null, dryRun: true };
  // Both may be there: a branch with work, and a detached HEAD with other work.
  const keep = [detached, unmerged ? tip : null].filter((it) => it !== null);
  const removed = await removeWorktree(bench, { ...removal, keep }, what);
  return { ...facts2, changed: true, ...removed };
}
