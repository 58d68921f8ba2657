/**
 * Removing one task's worktree: what may go by whose leave, and what keeps it.
 *
 * Invariant: leave that a person gives covers what they were shown. They are asked while no lock is held, and their yes counts
 * only where the same is found again under the lock.
 */
import { DotbotError } from "../error.ts";
import { branchRef, readRef } from "../git/refs.ts";
import { guardClaim, holderOf, namedTask } from "../task/ops/common.ts";
import { quote } from "../text.ts";
import { mergedBy, type MergedBy } from "./base.ts";
import { wtExample, type Bench } from "./bench.ts";
import type { TaskWorktree } from "./model.ts";
import type { RemoveInput, RemoveResult } from "./ops/remove.ts";
import { refusal, type Blocker } from "./plan.ts";
import { worktreeOf } from "./records.ts";
import { removalFacts, removeWorktree, type Removal } from "./remove.ts";
import { stakeOf, type AtStake, type Stake } from "./stake.ts";

/** Removes one task's worktree, by the caller's permissions. */
export async function removeTask(bench: Bench, input: RemoveInput): Promise<RemoveResult> {
  const plan = await planned(bench, input);
  if (plan.refused !== null) throw plan.refused;
  return await carriedOut(bench, input, plan);
}

/**
 * The same where somebody can be asked: instead of a refusal that their leave would lift, what is at stake comes back. Given again
 * as `agreed`, it is their leave.
 */
export async function removeOrAsk(
  bench: Bench,
  input: RemoveInput,
  agreed: Stake | null,
): Promise<RemoveResult | Stake> {
  const plan = await planned(bench, input);
  if (plan.refused === null) return await carriedOut(bench, input, plan);
  const stake = plan.atStake === null ? null : await stakeOf(bench, plan.atStake);
  if (plan.removal === null || stake === null) throw plan.refused;
  if (stake.mark !== agreed?.mark) return stake;
  const { may } = plan.removal;
  const leave = { dirty: may.dirty || stake.dirty, ignored: may.ignored || stake.ignored };
  return await carriedOut(bench, input, { ...plan, removal: { ...plan.removal, may: leave } });
}

interface Plan {
  readonly taskId: string;
  readonly id8: string;
  /** Null when the task has no worktree. */
  readonly removal: Removal | null;
  /** Short name of the task's branch; null as well. */
  readonly branch: string | null;
  readonly merged: MergedBy | null;
  /** The beginning of a refusal. */
  readonly what: string;
  /** Why the caller's permissions don't suffice; null when they do. */
  readonly refused: DotbotError | null;
  readonly atStake: AtStake | null;
}

/** Looks, and decides whether the caller's permissions suffice. Error: NOT_HOLDER. */
async function planned(bench: Bench, input: RemoveInput): Promise<Plan> {
  const { call, place, queue } = bench;
  const row = await namedTask(call, queue, input.task_id, "show");
  // A claim is taken over only with the removal: one that is refused, or thought better of, leaves it where it is.
  if (input.dry_run !== true && input.steal === undefined) await checkClaim(bench, input, row);
  const worktree = worktreeOf(queue, row.id);
  const what = `the worktree of ${quote(row.name)} (${row.id8}) can't be removed`;
  const task = { taskId: row.id, id8: row.id8, what };
  if (worktree === null) return { ...task, removal: null, branch: null, merged: null, refused: null, atStake: null };
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
  const detached = facts.branch === null && facts.head !== null && facts.head !== tip ? facts.head : null;
  const unmerged = merged === null && input.keep_branch !== true ? tip : null;
  // Both may be there: a branch with work, and a detached HEAD with other work.
  const tips = [detached, unmerged].filter((it) => it !== null);
  const allowed = tips.length === 0 || input.force_unmerged === true;
  return {
    ...task,
    removal: { ...removal, keep: tips },
    branch: worktree.branch,
    merged,
    refused:
      blockers.length > 0
        ? blocked(bench, row.id8, what, blockers)
        : allowed
          ? null
          : unmergedRefusal(bench, task, worktree, detached, tip),
    atStake: { task: row, worktree, removal, facts, tips: allowed ? [] : tips },
  };
}

async function checkClaim(bench: Bench, input: RemoveInput, row: { readonly id: string; readonly id8: string }) {
  const { call, queue } = bench;
  await queue.write(`wt remove ${row.id8}`, (tx) =>
    guardClaim(call, tx, tx.row(row.id), holderOf(call, input), input.steal, "reset"),
  );
}

function blocked(bench: Bench, id8: string, what: string, blockers: readonly Blocker[]): DotbotError {
  const force = blockers.every((it) => it.kind === "ignored") ? { discard_ignored: true } : { force_dirty: true };
  const helps = blockers.every((it) =>
    ["dirty", "hidden", "untracked", "ignored", "submodule", "link"].includes(it.kind),
  );
  return refusal(what, blockers, helps ? wtExample(bench.call, "remove", id8, force) : undefined);
}

function unmergedRefusal(
  bench: Bench,
  { taskId, id8, what }: { readonly taskId: string; readonly id8: string; readonly what: string },
  { branch }: TaskWorktree,
  detached: string | null,
  tip: string | null,
): DotbotError {
  const lost = detached ?? tip ?? "";
  return new DotbotError(
    "UNMERGED",
    `${what}: ${detached === null ? `its branch ${quote(branch)} has` : "its detached HEAD has"} commits that are nowhere else (tip ${lost.slice(0, 12)})`,
    {
      hint: `complete it, or let them go with --force-unmerged: the tip is kept under refs/dotbot/lost${detached === null ? "; --keep-branch leaves the branch" : ""}`,
      example: wtExample(bench.call, "remove", id8, { force_unmerged: true }),
      details: { task: taskId, tip: lost, branch },
    },
  );
}

async function carriedOut(bench: Bench, input: RemoveInput, plan: Plan): Promise<RemoveResult> {
  const { taskId, id8, removal, branch, merged } = plan;
  const result = {
    taskId,
    path: removal?.path ?? null,
    taskBranch: branch,
    merged,
    changed: false,
    trash: null,
    branchDeleted: false,
    keptRef: null,
  };
  if (removal === null) return result;
  if (input.dry_run === true) return { ...result, dryRun: true };
  if (input.steal !== undefined) await checkClaim(bench, input, { id: taskId, id8 });
  return { ...result, changed: true, ...(await removeWorktree(bench, removal, plan.what)) };
}
