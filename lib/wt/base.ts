/** Which branch a worktree is cut from, and which one its work goes back to. */
import { DotbotError } from "../error.ts";
import { mergeCommits } from "../git/merge.ts";
import {
  branchRef,
  checkBranchName,
  commitOf,
  isAncestor,
  listRefs,
  moveRef,
  readRef,
  realBranch,
  treeOf,
} from "../git/refs.ts";
import { oneLine } from "../git/parse.ts";
import { git } from "../git/run.ts";
import { nearest, quote } from "../text.ts";
import type { Bench } from "./bench.ts";
import type { Completion } from "./model.ts";
import { completions } from "./records.ts";

export interface Base {
  readonly branch: string;
  readonly sha: string;
  /** The remote's ref from which the branch has to be made first, or null. */
  readonly from: string | null;
}

/**
 * The base: as given, else the setting, else the remote's default branch, else main or master. Errors: NOT_FOUND when what was
 * named doesn't exist (nothing else is tried), REFUSED for a repository without commits, INVALID_INPUT.
 */
export async function resolveBase(bench: Bench, given: string | undefined): Promise<Base> {
  const { call, settings, place } = bench;
  const cwd = place.mainRoot;
  const named = given ?? settings.git.base_branch ?? undefined;
  if (named !== undefined) {
    await checkBranchName(call, cwd, named);
    const found = await findBranch(bench, named);
    if (found !== null) return found;
    throw await missing(bench, named, given === undefined ? "git.base_branch" : "--base");
  }
  const head = await git(call, ["symbolic-ref", "-q", "refs/remotes/origin/HEAD"], { cwd, probe: true });
  const remoteDefault = head.status === 0 ? oneLine(head.stdout).replace("refs/remotes/origin/", "") : null;
  for (const candidate of [remoteDefault, "main", "master"]) {
    const found = candidate === null ? null : await findBranch(bench, candidate);
    if (found !== null) return found;
  }
  throw await missing(bench, null, null);
}

/** A branch by its name: local, or else on exactly one remote. */
export async function findBranch(bench: Bench, branch: string): Promise<Base | null> {
  const cwd = bench.place.mainRoot;
  const sha = await readRef(bench.call, cwd, branchRef(branch));
  if (sha !== null) return { branch: await realBranch(bench.call, cwd, branch), sha, from: null };
  const remotes = [...(await listRefs(bench.call, cwd, `refs/remotes/*/${branch}`))];
  const [only] = remotes.length > 1 ? remotes.filter(([ref]) => ref === `refs/remotes/origin/${branch}`) : remotes;
  return only === undefined ? null : { branch, sha: only[1], from: only[0] };
}

/** Makes the local branch of a base that is only on a remote. */
export async function makeLocal(bench: Bench, base: Base): Promise<void> {
  if (base.from === null) return;
  const move = { ref: branchRef(base.branch), to: base.sha, old: null, why: `branch: Created from ${base.from}` };
  await moveRef(bench.call, bench.place.mainRoot, move);
}

async function missing(
  bench: Bench,
  name: string | null,
  source: "--base" | "git.base_branch" | null,
): Promise<DotbotError> {
  const { call, place } = bench;
  const branches = [...(await listRefs(call, place.mainRoot, "refs/heads/"))].map(([ref]) =>
    ref.slice("refs/heads/".length),
  );
  if (branches.length === 0 && (await commitOf(call, place.mainRoot, "HEAD")) === null) {
    return new DotbotError("REFUSED", "the repository has no commit yet, so there is nothing to cut a worktree from", {
      hint: "make the first commit",
      example: "git commit --allow-empty -m 'first commit'",
    });
  }
  if (name === null) {
    return new DotbotError("NOT_FOUND", "which branch is the base? There is no main or master, and no remote says", {
      hint: "name it once and for all, or with --base",
      example: `dotbot config set git.base_branch ${branches[0] ?? "main"}`,
      details: { branches },
    });
  }
  const near = nearest(name, branches);
  return new DotbotError("NOT_FOUND", `there is no branch ${quote(name)}, neither here nor on a remote (${source})`, {
    hint:
      near === undefined
        ? "make it, or name one that exists; nothing else is tried in its place"
        : `did you mean ${quote(near)}?`,
    details: { base: name, branches },
  });
}

/**
 * Where a worktree's work goes: its recorded base, or, when that was the branch of a task that has landed, that task's base.
 * `from` is set where what landed already has to be left out: the tip that was landed.
 */
export interface Goal {
  readonly base: string;
  /** The base as it was recorded. */
  readonly recorded: string;
  readonly from: string | null;
}

export async function goalOf(bench: Bench, recorded: string): Promise<Goal> {
  const all = completions(bench.queue.ledger).filter((it) => it.undone === null);
  let base = recorded;
  let from: string | null = null;
  const seen = new Set<string>();
  for (;;) {
    if (seen.has(base)) return { base, recorded, from };
    seen.add(base);
    const landed = all.findLast((it) => it.branch === base);
    if (landed === undefined || (await readRef(bench.call, bench.place.mainRoot, branchRef(base))) !== null)
      return { base: await realBranch(bench.call, bench.place.mainRoot, base), recorded, from };
    from = landed.tip;
    base = landed.base;
  }
}

/**
 * What a tip's changes are counted from, when some of it has landed on the base already as a commit of another name: the last
 * tip that did. Null: nothing of it has.
 */
export async function landedPart(bench: Bench, base: string, tip: string): Promise<Completion | null> {
  const cwd = bench.place.mainRoot;
  const baseTip = await readRef(bench.call, cwd, branchRef(base));
  if (baseTip === null) return null;
  let best: Completion | null = null;
  for (const it of completions(bench.queue.ledger)) {
    if (it.undone !== null || it.commit === it.old) continue;
    if ((await commitOf(bench.call, cwd, it.tip)) === null || !(await isAncestor(bench.call, cwd, it.tip, tip)))
      continue;
    if (!(await isAncestor(bench.call, cwd, it.commit, baseTip)) || (await isAncestor(bench.call, cwd, it.commit, tip)))
      continue;
    if (best === null || (await isAncestor(bench.call, cwd, best.tip, it.tip))) best = it;
  }
  return best;
}

/** How a branch's work is in its base already; null when it isn't. `fresh`: there is no work of its own on it. */
export type MergedBy = "ancestry" | "completion" | "adds-nothing" | "fresh";

export async function mergedBy(
  bench: Bench,
  branch: { readonly tip: string; readonly base: string; readonly baseSha: string; readonly taskId: string | null },
): Promise<MergedBy | null> {
  const cwd = bench.place.mainRoot;
  const { call } = bench;
  const baseTip = await readRef(call, cwd, branchRef(branch.base));
  const done = completions(bench.queue.ledger).filter(
    (it) => it.tip === branch.tip && (branch.taskId === null || it.taskId === branch.taskId),
  );
  if (baseTip === null) return null;
  if (await isAncestor(call, cwd, branch.tip, baseTip)) {
    const own = branch.baseSha !== "" && !(await isAncestor(call, cwd, branch.tip, branch.baseSha));
    return own ? "ancestry" : "fresh";
  }
  for (const it of done) {
    if (
      it.undone === null &&
      (await isAncestor(call, cwd, it.commit, baseTip)) &&
      !(await wasReverted(bench, it.commit, baseTip))
    )
      return "completion";
  }
  try {
    const merged = await mergeCommits(call, cwd, baseTip, branch.tip);
    return merged.clean && merged.tree === (await treeOf(call, cwd, baseTip)) ? "adds-nothing" : null;
  } catch (error) {
    // Unrelated histories: nothing says that it is merged.
    if (error instanceof DotbotError) return null;
    throw error;
  }
}

/** Whether somebody took a commit back with git's own words for it. */
async function wasReverted(bench: Bench, commit: string, tip: string): Promise<boolean> {
  const args = [
    "log",
    "-n",
    "1",
    "--format=%H",
    "-F",
    `--grep=This reverts commit ${commit}`,
    "--end-of-options",
    `${commit}..${tip}`,
  ];
  const { stdout } = await git(bench.call, args, { cwd: bench.place.mainRoot, probe: true, okStatus: [0] });
  return stdout.trim() !== "";
}
