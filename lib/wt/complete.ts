/**
 * Bringing a task's branch back: exactly one commit on its base, or nothing. The branch and the base are never rewritten, and
 * what the branch did to the queue's files stays behind.
 */
import { DotbotError } from "../error.ts";
import type { Advance } from "../git/advance.ts";
import {
  authorsOf,
  coAuthors,
  forkPoint,
  hooksNotRun,
  land,
  landingCommit,
  mergeWork,
  workOf,
  type Landed,
} from "../git/land.ts";
import { branchRef, deleteRef, listRefs, moveRef, readRef } from "../git/refs.ts";
import { gitText } from "../git/run.ts";
import type { TaskRow } from "../task/ledger.ts";
import { queueChanges, type QueueChanges } from "../task/queue-paths.ts";
import { readVerified } from "../task/verified.ts";
import { quote, shellWord } from "../text.ts";
import { goalOf, landedPart, resolveBase, type Goal } from "./base.ts";
import { callerIsIn, noWorktree, nowStamp, wtExample, type Bench } from "./bench.ts";
import { askAboutConflict } from "./conflict.ts";
import { inspect } from "./inspect.ts";
import { forget, record, type LandEntry } from "./journal.ts";
import { branchName, doneRef, subjectOf, type Completion, type TaskWorktree } from "./model.ts";
import { completionBlockers, refusal, type WorktreeFacts } from "./plan.ts";
import { completions, putCompletion, worktreeOf } from "./records.ts";
import { keepTip, removeWorktree } from "./remove.ts";

export interface CompleteInput {
  readonly task_status?: "done" | "needs-review" | undefined;
  readonly fetch?: boolean | undefined;
  readonly discard_ignored?: boolean | undefined;
  readonly ignore_queue_changes?: boolean | undefined;
  readonly dry_run?: boolean | undefined;
}

export interface Completed {
  /** `landed` · `nothing`: merging adds nothing to the base · `planned`: a dry run · `already`: it had landed before. */
  readonly outcome: "landed" | "nothing" | "planned" | "already";
  readonly base: string;
  /** The base as recorded, where that was another task's branch. */
  readonly retargeted: string | null;
  readonly branch: string;
  readonly tip: string;
  readonly old: string | null;
  readonly commit: string | null;
  readonly files: readonly string[];
  readonly keptRef: string | null;
  readonly removed: boolean;
  readonly branchDeleted: boolean;
  /** What couldn't be cleared away, and why. The merge stands. */
  readonly leftovers: readonly string[];
  readonly queueChangesIgnored: readonly string[];
  readonly hooksNotRun: readonly string[];
}

/** A branch that is ready, and where it goes. */
interface Ready {
  readonly row: TaskRow;
  readonly worktree: TaskWorktree | null;
  readonly branch: string;
  readonly goal: Goal;
  readonly tip: string;
  /** What was found at the worktree's place. */
  readonly facts: WorktreeFacts | undefined;
}

/** Completes. The caller holds the repository's lock. */
export async function completeTask(bench: Bench, named: TaskRow, input: CompleteInput): Promise<Completed> {
  // As it is now: whoever had the lock before, or the recovery from a kill, may have moved it.
  const row = bench.queue.ledger.task(named.id) ?? named;
  requireStatus(row, input);
  const worktree = worktreeOf(bench.queue, row.id);
  const branch = worktree?.branch ?? branchName(row);
  const tip = await readRef(bench.call, bench.place.mainRoot, branchRef(branch));
  const before = completions(bench.queue.ledger, row.id).findLast(
    (it) => it.undone === null && (tip === null || it.tip === tip),
  );
  if (before !== undefined && (tip === null || before.branch === branch))
    return await clearAway(bench, row, before, input);
  if (tip === null) {
    if (worktree === null) throw noWorktree(bench.call, row);
    const now = await branchIn(bench, worktree);
    throw new DotbotError(
      "NOT_FOUND",
      `the branch ${quote(branch)} of ${quote(row.name)} doesn't exist`,
      now === null || worktree === null
        ? { hint: "its commits may be among the kept ones", example: "git for-each-ref refs/dotbot" }
        : {
            hint: `its worktree is on ${quote(now)}: if that is the branch, give it its name back`,
            example: `git -C ${shellWord(worktree.path)} branch -m ${shellWord(now)} ${shellWord(branch)}`,
          },
    );
  }
  const facts = worktree === null ? undefined : await requireReady(bench, row, worktree, input);
  requireVerified(bench, row, tip, input);
  const goal = await goalOf(
    bench,
    worktree === null || worktree.base === "" ? await defaultBase(bench) : worktree.base,
  );
  return await landWork(bench, { row, worktree, branch, goal, tip, facts }, input);
}

/** The branch that is checked out in a task's worktree; null when there is none. */
async function branchIn(bench: Bench, worktree: TaskWorktree | null): Promise<string | null> {
  if (worktree === null) return null;
  const facts = await inspect(bench, { path: worktree.path, base: worktree.base, made: [] });
  return facts.branch === null ? null : facts.branch.replace(/^refs\/heads\//, "");
}

async function defaultBase(bench: Bench): Promise<string> {
  return (await resolveBase(bench, undefined)).branch;
}

function requireStatus(row: TaskRow, input: CompleteInput): void {
  if (row.status === "done" || row.status === input.task_status) return;
  const review = row.status === "needs-review";
  throw new DotbotError("REFUSED", `${quote(row.name)} (${row.id8}) is ${row.status}, not done`, {
    hint: review
      ? "say that it is done, or complete it from review with --task-status needs-review"
      : "say that it is done first",
    example: `dotbot task done ${row.id8} --complete`,
    details: { task: row.id, status: row.status },
  });
}

async function requireReady(
  bench: Bench,
  row: TaskRow,
  worktree: TaskWorktree,
  input: CompleteInput,
): Promise<WorktreeFacts> {
  const facts = await inspect(bench, { path: worktree.path, base: worktree.base, made: worktree.made });
  const blockers = completionBlockers(facts, branchRef(worktree.branch), {
    dirty: false,
    ignored: input.discard_ignored === true,
  });
  if (blockers.length === 0) return facts;
  const onlyIgnored = blockers.every((it) => it.kind === "ignored");
  const uncommitted = blockers.every((it) => ["dirty", "untracked", "ignored"].includes(it.kind));
  const example = onlyIgnored
    ? wtExample(bench.call, "complete", row.id8, { discard_ignored: true })
    : uncommitted
      ? wtExample(bench.call, "complete", row.id8, { commit_leftovers: true })
      : `git -C ${shellWord(worktree.path)} status`;
  throw refusal(
    `${quote(row.name)} (${row.id8}) can't be completed from ${quote(worktree.path, 300)}`,
    blockers,
    example,
  );
}

/** The tip that was verified is the one that lands; a tip that nothing verified doesn't. */
function requireVerified(bench: Bench, row: TaskRow, tip: string, input: CompleteInput): void {
  if (row.status !== "done" && input.task_status === row.status) return;
  const verified = readVerified(bench.queue.ledger, row.id);
  if (verified?.head === tip) return;
  const why =
    verified === null
      ? "nothing says that its branch was verified when it was done"
      : `its branch is at ${tip.slice(0, 12)}, and what was done and verified is ${verified.head.slice(0, 12)}`;
  throw new DotbotError("REFUSED", `${quote(row.name)} (${row.id8}): ${why}`, {
    hint: "say again that it is done: that verifies what is there now",
    example: `dotbot task done ${row.id8}`,
    details: { task: row.id, tip, verified: verified?.head ?? null },
  });
}

async function landWork(bench: Bench, ready: Ready, input: CompleteInput): Promise<Completed> {
  const { call, place } = bench;
  const { row, goal, tip, branch } = ready;
  const n = await nextNumber(bench, row);
  const name = `complete-${row.id8}`;
  const hookIn = ready.worktree?.path ?? place.mainRoot;
  let ignored: QueueChanges = queueChanges([]);
  const workOn = async (old: string) => {
    const landed = await landedPart(bench, goal.base, tip);
    const from =
      goal.from !== null && landed === null ? goal.from : (landed?.tip ?? (await forkPoint(call, place, old, tip)));
    return await workOf(call, place, { tip, from }, (changes) => {
      ignored = queueChanges(changes);
      refuseTransitions(bench, row, ignored, input);
      return ignored.undo;
    });
  };
  const entry = (move: Advance, why: "fetch" | "land"): LandEntry => ({
    op: "land",
    at: nowStamp(call),
    move,
    next:
      why === "fetch"
        ? { is: "advance" }
        : {
            is: "complete",
            taskId: row.id,
            branch,
            path: ready.worktree?.path ?? null,
            base: goal.base,
            baseSha: ready.worktree?.baseSha ?? move.old,
            tip,
            n,
            discardIgnored: input.discard_ignored === true,
          },
  });
  const landed = await land(call, {
    place,
    base: goal.base,
    fetch: input.fetch === true,
    dryRun: input.dry_run === true,
    merge: async (old) => await mergeWork(call, place, old, await workOn(old)),
    commit: async (tree, old) => {
      const authors = await authorsOf(call, place.mainRoot, await forkPoint(call, place, old, tip), tip);
      const message = `${subjectOf(bench.settings.commit.format, row)}\n${coAuthors(authors)}`;
      return await landingCommit(call, place, { tree, parent: old, message, authors, hookIn });
    },
    journal: (move, why) => record(place.commonDir, name, entry(move, why)),
    forget: () => forget(place.commonDir, name),
  });
  if (landed.is === "conflict") throw await askAboutConflict(bench, ready, landed.files, input.dry_run === true);
  const common = {
    base: goal.base,
    retargeted: goal.base === goal.recorded ? null : goal.recorded,
    branch,
    tip,
    queueChangesIgnored: ignored.paths,
    hooksNotRun: landed.is === "nothing" ? [] : await hooksNotRun(call, hookIn),
  };
  if (input.dry_run === true) {
    return {
      ...common,
      outcome: landed.is === "nothing" ? "nothing" : "planned",
      ...factsOf(landed),
      keptRef: null,
      removed: false,
      branchDeleted: false,
      leftovers: [],
    };
  }
  const commit = landed.is === "nothing" ? landed.old : (landed.commit ?? landed.old);
  const move: Advance = {
    ref: branchRef(goal.base),
    old: landed.old,
    to: commit,
    checkout: landed.is === "nothing" ? null : landed.checkout,
  };
  const after = entry(move, "land");
  // Nothing moved, so nothing is journalled yet; what follows is the same.
  if (landed.is === "nothing") record(place.commonDir, name, after);
  const cleared = await finishComplete(bench, name, after, ready.facts);
  return { ...common, outcome: landed.is === "nothing" ? "nothing" : "landed", ...factsOf(landed), ...cleared };
}

/** The number of a task's next completion: beyond those that a lost ledger forgot, whose tips are kept all the same. */
async function nextNumber(bench: Bench, row: TaskRow): Promise<number> {
  const prefix = doneRef(row.id, 0).slice(0, -1);
  const kept = [...(await listRefs(bench.call, bench.place.mainRoot, "refs/dotbot/done/")).keys()];
  const numbers = kept.filter((ref) => ref.startsWith(prefix)).map((ref) => Number(ref.slice(prefix.length)));
  return (
    Math.max(
      0,
      ...completions(bench.queue.ledger, row.id).map((it) => it.n),
      ...numbers.filter((it) => Number.isSafeInteger(it)),
    ) + 1
  );
}

function factsOf(landed: Exclude<Landed, { is: "conflict" }>): Pick<Completed, "old" | "commit" | "files"> {
  if (landed.is === "nothing") return { old: landed.old, commit: null, files: [] };
  return { old: landed.old, commit: landed.commit, files: landed.changes.map((change) => change.path) };
}

/** A task file that the branch puts into another status than the queue has it in is a transition made behind its back. */
function refuseTransitions(bench: Bench, row: TaskRow, changes: QueueChanges, input: CompleteInput): void {
  if (input.ignore_queue_changes === true) return;
  const smuggled = changes.statuses.flatMap((it) => {
    const known = bench.queue.ledger.taskById8(it.id8);
    return known !== undefined && known.status !== it.status ? [{ ...it, now: known.status }] : [];
  });
  const [first] = smuggled;
  if (first === undefined) return;
  throw new DotbotError(
    "REFUSED",
    `the branch has ${quote(first.path)} as ${first.status}, and the queue has that task as ${first.now}`,
    {
      hint: "a branch can't move tasks: make the move with `dotbot task`, or leave the branch's version behind",
      example: wtExample(bench.call, "complete", row.id8, { ignore_queue_changes: true }),
      details: { statuses: smuggled, queueChanges: changes.paths },
    },
  );
}

// ── after the merge ──────────────────────────────────────────────────────────────────────────────────────────────────

export type Cleared = Pick<Completed, "keptRef" | "removed" | "branchDeleted" | "leftovers">;

type CompleteFacts = Extract<LandEntry["next"], { is: "complete" }>;

/** What follows a merge that stands: each step can be taken again, and none reopens it. From the entry alone. */
export async function finishComplete(
  bench: Bench,
  name: string,
  entry: LandEntry,
  seen?: WorktreeFacts,
): Promise<Cleared> {
  const { call, place } = bench;
  const { next } = entry;
  if (next.is !== "complete") throw new TypeError("not a completion");
  const own = doneRef(next.taskId, next.n);
  await moveRef(call, place.mainRoot, { ref: own, to: next.tip, old: null, why: "dotbot: done" });
  // Somebody else's tip may be there by that name.
  const is = await readRef(call, place.mainRoot, own);
  const keptRef = is === next.tip ? own : await keepTip(bench, next.taskId.slice(0, 8), next.tip);
  await bench.queue.write(`wt complete ${next.taskId.slice(0, 8)}`, (tx) => {
    putCompletion(tx, {
      taskId: next.taskId,
      n: next.n,
      branch: next.branch,
      path: next.path,
      base: next.base,
      baseSha: next.baseSha,
      tip: next.tip,
      old: entry.move.old,
      commit: entry.move.to,
      at: entry.at,
      undone: null,
    });
    const row = tx.ledger.task(next.taskId);
    if (row === undefined || row.place === "removed" || entry.move.to === entry.move.old) return;
    const doc = tx.document(row);
    const commits = Array.isArray(doc["commits"]) ? doc["commits"] : [];
    if (doc["commit_sha"] === entry.move.to && commits.includes(entry.move.to)) return;
    const at = nowStamp(call);
    tx.save(
      row,
      {
        ...doc,
        commit_sha: entry.move.to,
        commits: commits.includes(entry.move.to) ? commits : [...commits, entry.move.to],
        updated_at: at,
      },
      { at, by: "dotbot" },
    );
  });
  const cleared = await clear(bench, next, seen);
  forget(place.commonDir, name);
  return { keptRef, ...cleared };
}

/** Takes worktree and branch away; what can't go is named, and stays for `wt remove`. */
async function clear(bench: Bench, done: CompleteFacts, seen?: WorktreeFacts): Promise<Omit<Cleared, "keptRef">> {
  const { call, place, queue } = bench;
  const worktree = worktreeOf(queue, done.taskId);
  const ref = branchRef(done.branch);
  const later = `dotbot wt remove ${done.taskId.slice(0, 8)}`;
  if (worktree !== null && worktree.branch === done.branch) {
    if (callerIsIn(call, worktree.path)) {
      return {
        removed: false,
        branchDeleted: false,
        leftovers: [`${worktree.path}: you stand in it; from elsewhere, \`${later}\` takes it away`],
      };
    }
    try {
      const removed = await removeWorktree(
        bench,
        {
          taskId: done.taskId,
          id8: done.taskId.slice(0, 8),
          path: worktree.path,
          expected: ref,
          base: done.base,
          made: worktree.made,
          may: { dirty: false, ignored: done.discardIgnored },
          branch: { ref, tip: done.tip },
          keep: [],
        },
        `the worktree at ${quote(worktree.path, 300)} stays`,
        seen,
      );
      return {
        removed: true,
        branchDeleted: removed.branchDeleted,
        leftovers: removed.branchDeleted ? [] : [`the branch ${done.branch} has moved on and stays`],
      };
    } catch (error) {
      if (!(error instanceof DotbotError) || error.code === "CONFLICT" || error.code === "INTERNAL") throw error;
      return {
        removed: false,
        branchDeleted: false,
        leftovers: [`${error.message}; \`${later}\` when that is settled`],
      };
    }
  }
  const checkedOut = (
    await gitText(call, ["worktree", "list", "--porcelain", "-z"], { cwd: place.mainRoot, probe: true })
  )
    .split("\0")
    .includes(`branch ${ref}`);
  const branchDeleted = !checkedOut && (await deleteRef(call, place.mainRoot, ref, done.tip));
  return {
    removed: true,
    branchDeleted,
    leftovers: checkedOut ? [`the branch ${done.branch} is checked out elsewhere and stays`] : [],
  };
}

/** A completion that stands already: what is left of it to clear away. */
async function clearAway(bench: Bench, row: TaskRow, done: Completion, input: CompleteInput): Promise<Completed> {
  const facts = {
    base: done.base,
    retargeted: null,
    branch: done.branch,
    tip: done.tip,
    old: done.old,
    commit: done.commit === done.old ? null : done.commit,
    files: [],
    queueChangesIgnored: [],
    hooksNotRun: [],
    keptRef: doneRef(row.id, done.n),
  } as const;
  if (input.dry_run === true)
    return { ...facts, outcome: "already", removed: false, branchDeleted: false, leftovers: [] };
  const cleared = await clear(bench, { is: "complete", ...done, discardIgnored: input.discard_ignored === true });
  return { ...facts, outcome: "already", ...cleared };
}
