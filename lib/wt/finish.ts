/** The whole of `wt complete`, from its arguments to its answer: `task done --complete` and `wt run` come here as well. */
import { DotbotError } from "../error.ts";
import { checkoutOf } from "../git/land.ts";
import { branchRef, upstreamOf } from "../git/refs.ts";
import { git, gitText } from "../git/run.ts";
import type { Call } from "../op.ts";
import { namedTask } from "../task/ops/common.ts";
import { quote } from "../text.ts";
import { locked, noWorktree, withBench, withLockedBench } from "./bench.ts";
import { completeTask, type Completed } from "./complete.ts";
import { inspect } from "./inspect.ts";
import type { CompleteAll, CompleteResult } from "./ops/complete.ts";
import { echoHere } from "./ops/shapes.ts";
import { worktreeOf } from "./records.ts";
import { runVerb } from "./verbs.ts";

/** The whole of `wt complete`; `task done --complete` and `wt run` come here as well. */
export async function completeAll(call: Call, input: CompleteAll): Promise<CompleteResult> {
  if (input.commit_leftovers === true && input.dry_run !== true) await commitLeftovers(call, input);
  const result = await withBench(call, "wt complete", async (bench) => {
    const row = await namedTask(call, bench.queue, input.task_id, "done");
    const work = async (): Promise<Completed> => await completeTask(bench, row, input);
    const completed = input.dry_run === true ? await work() : await locked(bench, `wt complete ${row.id8}`, work);
    const checkout = await checkoutOf(call, bench.place, completed.base).catch(() => null);
    const echo = await echoHere(bench, checkout, "the task is completed");
    const { branch, queueChangesIgnored, files, leftovers, hooksNotRun, ...rest } = completed;
    return {
      ...echo,
      ...rest,
      taskId: row.id,
      taskBranch: branch,
      files: [...files],
      leftovers: [...leftovers],
      queueChangesIgnored: [...queueChangesIgnored],
      hooksNotRun: [...hooksNotRun],
    };
  });
  if (input.dry_run === true) return result;
  const pushed = input.push === true ? { pushed: await push(call, result.base) } : {};
  const saved = input.save === true ? { saved: (await runVerb(call, "task", "task save", {})) !== null } : {};
  return { ...result, ...pushed, ...saved };
}

/** Commits everything in the worktree on its branch, with the branch's own hooks, and says again that the task is done. */
async function commitLeftovers(call: Call, input: CompleteAll): Promise<void> {
  const committed = await withLockedBench(call, "wt complete", async (bench) => {
    const row = await namedTask(call, bench.queue, input.task_id, "done");
    const worktree = worktreeOf(bench.queue, row.id);
    if (worktree === null) throw noWorktree(call, row);
    const facts = await inspect(bench, { path: worktree.path, base: worktree.base, made: worktree.made });
    if (
      facts.dirty.length + facts.untracked.length === 0 ||
      facts.branch !== branchRef(worktree.branch) ||
      facts.operation !== null
    )
      return null;
    await gitText(call, ["add", "--all"], { cwd: worktree.path });
    const result = await git(call, ["commit", "--quiet", "--cleanup=whitespace", "-F", "-"], {
      cwd: worktree.path,
      input: `what was left of ${row.name}\n`,
    });
    if (result.status !== 0) {
      throw new DotbotError(
        "REJECTED",
        `the leftovers couldn't be committed: ${result.stderr.trim() || result.stdout.trim()}`,
        { hint: "commit them by hand" },
      );
    }
    return row;
  });
  if (committed === null || committed.status !== "done") return;
  await runVerb(call, "task", "task done", { task_id: committed.id });
}

async function push(call: Call, base: string): Promise<string> {
  const cwd = call.target.repo.mainRoot;
  const upstream = await upstreamOf(call, cwd, base);
  const remotes = (await gitText(call, ["remote"], { cwd, probe: true })).split("\n").filter((it) => it !== "");
  const remote = upstream?.remote ?? (remotes.length === 1 ? remotes[0] : remotes.find((it) => it === "origin"));
  if (remote === undefined)
    throw new DotbotError("NOT_FOUND", `${quote(base)} has no remote to be pushed to; it has landed here`, {
      hint: "add one, or leave --push out",
    });
  const to = upstream?.remoteRef ?? branchRef(base);
  const result = await git(call, ["push", "--quiet", "--end-of-options", remote, `${branchRef(base)}:${to}`], { cwd });
  if (result.status !== 0) {
    throw new DotbotError(
      "REJECTED",
      `${quote(base)} has landed here, but the push to ${quote(remote)} failed: ${result.stderr.trim()}`,
      {
        hint: "the commit stands; push again when that is settled",
        example: `git push ${remote} ${base}`,
      },
    );
  }
  return `${remote}/${to.replace("refs/heads/", "")}`;
}
