/** Bringing the base into a task's branch, in the task's own worktree. The queue's files stay as the base has them. */
import { DotbotError } from "../error.ts";
import { advance } from "../git/advance.ts";
import { gitDirAt } from "../git/checkouts.ts";
import { operationInProgress } from "../git/state.ts";
import { forkPoint, workOf } from "../git/land.ts";
import { commitTree, mergeCommits } from "../git/merge.ts";
import { errorLines, parseNul } from "../git/parse.ts";
import { branchRef, isAncestor, readRef, upstreamOf } from "../git/refs.ts";
import { git, gitFailure, gitText } from "../git/run.ts";
import type { TaskRow } from "../task/ledger.ts";
import { isQueuePath, queueChanges } from "../task/queue-paths.ts";
import { quote } from "../text.ts";
import { goalOf } from "./base.ts";
import { noWorktree, nowStamp, wtExample, type Bench } from "./bench.ts";
import { inspect } from "./inspect.ts";
import { forget, record } from "./journal.ts";
import type { TaskWorktree } from "./model.ts";
import { refusal } from "./plan.ts";
import { changeWorktree, worktreeOf } from "./records.ts";

export interface SyncInput {
  readonly rebase?: boolean | undefined;
  readonly abort?: boolean | undefined;
  readonly fetch?: boolean | undefined;
  readonly dry_run?: boolean | undefined;
}

export interface Synced {
  readonly path: string;
  readonly base: string;
  readonly outcome: "synced" | "up-to-date" | "conflict" | "aborted" | "planned";
  readonly old: string;
  readonly commit: string;
  readonly conflicts: readonly string[];
}

/** The caller holds the repository's lock. */
export async function syncTask(bench: Bench, row: TaskRow, input: SyncInput): Promise<Synced> {
  const worktree = worktreeOf(bench.queue, row.id);
  if (worktree === null) throw noWorktree(bench.call, row);
  const { call, place } = bench;
  const { base } = await goalOf(bench, worktree.base);
  const tip = await readRef(call, place.mainRoot, branchRef(worktree.branch));
  const facts = await inspect(bench, { path: worktree.path, base, made: worktree.made });
  if (!facts.exists || !facts.linked) {
    throw refusal(`${quote(row.name)} (${row.id8}) can't be synced`, [
      {
        code: "REFUSED",
        kind: "missing",
        message: `its worktree ${quote(worktree.path, 300)} isn't there, or isn't sound`,
        hint: "mend it with `dotbot wt repair`",
      },
    ]);
  }
  if (tip === null) throw new DotbotError("NOT_FOUND", `the branch ${quote(worktree.branch)} doesn't exist`);
  const here = { path: worktree.path, base, old: tip, conflicts: [] };
  if (input.abort === true) return { ...here, ...(await abort(bench, worktree)) };
  if (facts.operation !== null || facts.dirty.length > 0 || facts.branch !== branchRef(worktree.branch)) {
    const why =
      facts.operation !== null
        ? `a ${facts.operation} goes on in it`
        : facts.dirty.length > 0
          ? `it has uncommitted changes: ${facts.dirty
              .slice(0, 8)
              .map((it) => quote(it))
              .join(", ")}`
          : `it isn't on ${quote(worktree.branch)}`;
    throw new DotbotError(
      facts.dirty.length > 0 ? "DIRTY" : "REFUSED",
      `${quote(row.name)} (${row.id8}) can't be synced: ${why}`,
      {
        hint: facts.operation === null ? "commit them first" : "finish it, or take it back",
        example:
          facts.operation === null
            ? `git -C ${worktree.path} status`
            : wtExample(call, "sync", row.id8, { abort: true }),
        details: { path: worktree.path, files: facts.dirty, operation: facts.operation },
      },
    );
  }
  const source = await sourceOf(bench, base, input);
  if (await isAncestor(call, place.mainRoot, source, tip)) return { ...here, outcome: "up-to-date", commit: tip };
  if (input.rebase === true && input.dry_run !== true)
    return { ...here, ...(await rebase(bench, row, worktree, source)) };
  return { ...here, ...(await mergeIn(bench, row, worktree, { tip, source, base }, input)) };
}

/** The base's tip; with fetch, that of its remote when it is further. */
async function sourceOf(bench: Bench, base: string, input: SyncInput): Promise<string> {
  const cwd = bench.place.mainRoot;
  const local = await readRef(bench.call, cwd, branchRef(base));
  if (local === null)
    throw new DotbotError("NOT_FOUND", `the base branch ${quote(base)} doesn't exist`, {
      hint: "bring it back, or adopt the worktree again with another --base",
    });
  const upstream = input.fetch === true ? await upstreamOf(bench.call, cwd, base) : null;
  if (upstream === null) return local;
  await gitText(
    bench.call,
    ["fetch", "--quiet", "--no-tags", "--end-of-options", upstream.remote, `+${upstream.remoteRef}:${upstream.ref}`],
    { cwd },
  );
  const fetched = (await readRef(bench.call, cwd, upstream.ref)) ?? local;
  return (await isAncestor(bench.call, cwd, local, fetched)) ? fetched : local;
}

type Outcome = Pick<Synced, "outcome" | "commit" | "conflicts">;

async function mergeIn(
  bench: Bench,
  row: TaskRow,
  worktree: TaskWorktree,
  at: { readonly tip: string; readonly source: string; readonly base: string },
  input: SyncInput,
): Promise<Outcome> {
  const { call, place } = bench;
  const { tip, source, base } = at;
  const from = await forkPoint(call, place, source, tip);
  const work = await workOf(call, place, { tip, from }, (changes) => queueChanges(changes).undo);
  const merged = await mergeCommits(call, place.mainRoot, work.commit, source);
  if (input.dry_run === true) return { outcome: "planned", commit: tip, conflicts: merged.clean ? [] : merged.files };
  if (!merged.clean) return await mergeByHand(bench, worktree, source, base);
  const message = `Merge branch '${base}' into ${worktree.branch}\n`;
  const commit = await commitTree(call, place.mainRoot, { tree: merged.tree, parents: [tip, source], message });
  const move = { ref: branchRef(worktree.branch), old: tip, to: commit, checkout: worktree.path };
  const name = `sync-${row.id8}`;
  record(place.commonDir, name, { op: "land", at: nowStamp(call), next: { is: "advance" }, move });
  const done = await advance(call, place, move);
  if (done !== "done") {
    forget(place.commonDir, name);
    throw typeof done === "object"
      ? done
      : new DotbotError("REFUSED", "the branch moved meanwhile", { hint: "run it again" });
  }
  await rebased(bench, row, source);
  forget(place.commonDir, name);
  return { outcome: "synced", commit, conflicts: [] };
}

/** Git's own merge, which leaves the conflicts to be resolved; those of the queue's files are the base's to win. */
async function mergeByHand(bench: Bench, worktree: TaskWorktree, source: string, base: string): Promise<Outcome> {
  const { call } = bench;
  const cwd = worktree.path;
  const args = [
    "-c",
    "merge.autoStash=false",
    "-c",
    "merge.verifySignatures=false",
    "-c",
    "rerere.autoupdate=false",
    "merge",
    "--no-ff",
    "--no-squash",
    "--commit",
    "--no-edit",
    "--no-stat",
    "--no-autostash",
    "--no-overwrite-ignore",
    "-m",
    `Merge branch '${base}' into ${worktree.branch}`,
    "--end-of-options",
    source,
  ];
  const result = await git(call, args, { cwd });
  const unmerged = async (): Promise<string[]> => {
    const list = await gitText(call, ["diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff"], {
      cwd,
      probe: true,
    });
    return [...new Set(parseNul(list))];
  };
  const queue = (await unmerged()).filter((path) => isQueuePath(path));
  for (const path of queue) {
    const kept = await git(call, ["--literal-pathspecs", "checkout", "--theirs", "--", path], { cwd });
    await git(
      call,
      ["--literal-pathspecs", ...(kept.status === 0 ? ["add", "--"] : ["rm", "--quiet", "--force", "--"]), path],
      { cwd },
    );
  }
  const conflicts = await unmerged();
  const commit = (await readRef(call, cwd, "HEAD")) ?? "";
  if (conflicts.length > 0) return { outcome: "conflict", commit, conflicts };
  if (result.status === 0) return { outcome: "synced", commit, conflicts: [] };
  if (queue.length === 0) throw mergeFailed(result, worktree);
  await gitText(call, ["commit", "--quiet", "--no-edit"], { cwd });
  return { outcome: "synced", commit: (await readRef(call, cwd, "HEAD")) ?? commit, conflicts: [] };
}

function mergeFailed(result: { status: number; stderr: string; stdout: string }, worktree: TaskWorktree): DotbotError {
  if (/would be overwritten|untracked working tree/.test(result.stderr)) {
    return new DotbotError("DIRTY", `${quote(worktree.path, 300)} has work in the way: ${errorLines(result.stderr)}`, {
      hint: "commit it, or move it away",
    });
  }
  return gitFailure(["merge"], result);
}

async function rebase(bench: Bench, row: TaskRow, worktree: TaskWorktree, source: string): Promise<Outcome> {
  const { call } = bench;
  const cwd = worktree.path;
  const args = [
    "-c",
    "rebase.autoStash=false",
    "-c",
    "rebase.autoSquash=false",
    "-c",
    "rebase.updateRefs=false",
    "rebase",
    "--quiet",
    "--no-autostash",
    "--end-of-options",
    source,
  ];
  const result = await git(call, args, { cwd });
  const commit = (await readRef(call, cwd, "HEAD")) ?? "";
  if (result.status === 0) {
    await rebased(bench, row, source);
    return { outcome: "synced", commit, conflicts: [] };
  }
  const list = await gitText(call, ["diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff"], {
    cwd,
    probe: true,
  });
  const gitDir = gitDirAt(cwd);
  if (gitDir === null || operationInProgress(gitDir) === null) throw gitFailure(["rebase"], result);
  return { outcome: "conflict", commit, conflicts: [...new Set(parseNul(list))] };
}

/** What the branch's own work is measured from is now the commit that was brought in. */
async function rebased(bench: Bench, row: TaskRow, source: string): Promise<void> {
  await changeWorktree(bench.queue, row.id, (it) => ({ ...it, baseSha: source }));
}

async function abort(bench: Bench, worktree: TaskWorktree): Promise<Outcome> {
  const { call } = bench;
  const cwd = worktree.path;
  const gitDir = gitDirAt(cwd);
  const operation = gitDir === null ? null : operationInProgress(gitDir);
  if (operation === "merge" || operation === "rebase") await gitText(call, [operation, "--abort"], { cwd });
  else if (operation !== null)
    throw new DotbotError("REFUSED", `a ${operation} goes on in ${quote(cwd, 300)}, which no sync began`, {
      hint: `git ${operation} --abort ends it`,
    });
  const commit = (await readRef(call, cwd, "HEAD")) ?? "";
  return { outcome: operation === null ? "up-to-date" : "aborted", commit, conflicts: [] };
}
