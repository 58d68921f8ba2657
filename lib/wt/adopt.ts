/** Taking over a worktree that something else made. Nothing in it changes but the lock and the links. */
import { resolve } from "node:path";

import { DotbotError } from "../error.ts";
import { gitDirAt, linkedBothWays, listCheckouts } from "../git/checkouts.ts";
import { commonDirOf, physical, samePath } from "../git/native.ts";
import { branchRef, mergeBase, readRef } from "../git/refs.ts";
import { git } from "../git/run.ts";
import type { TaskRow } from "../task/ledger.ts";
import { namedTask } from "../task/ops/common.ts";
import { quote, shellWord } from "../text.ts";
import { resolveBase } from "./base.ts";
import { nowStamp, type Bench } from "./bench.ts";
import { makeLinks } from "./links.ts";
import { lockReason, namedFor, type TaskWorktree } from "./model.ts";
import { freeSlot, putWorktree, worktreeOf, worktrees } from "./records.ts";

export interface AdoptInput {
  readonly path: string;
  readonly task_id?: string | undefined;
  readonly base?: string | undefined;
}

/** The caller holds the repository's lock. Errors: NOT_FOUND, REFUSED, INVALID_INPUT, with what would do instead. */
export async function adoptWorktree(
  bench: Bench,
  input: AdoptInput,
): Promise<{ row: TaskRow; worktree: TaskWorktree; changed: boolean }> {
  const { call, place, queue } = bench;
  const path = physical(resolve(call.cwd, input.path));
  const refuse = (why: string, hint: string, example?: string): DotbotError =>
    new DotbotError("REFUSED", `${quote(path ?? input.path, 300)} ${why}`, {
      hint,
      ...(example === undefined ? {} : { example }),
    });
  const gitDir = path === null ? null : gitDirAt(path);
  if (path === null || gitDir === null) {
    throw new DotbotError("NOT_FOUND", `there is no worktree at ${quote(input.path, 300)}`, {
      hint: "`git worktree list` shows them",
      example: "git worktree list",
    });
  }
  const commonDir = commonDirOf(gitDir);
  if (commonDir === null || !samePath(commonDir, place.commonDir))
    throw refuse("is a checkout of another repository", "only this repository's worktrees can be adopted");
  if (samePath(gitDir, commonDir))
    throw refuse("is the main checkout", "a task's worktree is one beside it", "dotbot wt create <task>");
  if (!linkedBothWays(path, gitDir))
    throw refuse(
      "and its registration don't name each other",
      "repair it first",
      `git worktree repair ${shellWord(path)}`,
    );
  const record = (await listCheckouts(call, place.mainRoot)).find((it) => samePath(physical(it.path) ?? it.path, path));
  const branch = record?.branch?.replace(/^refs\/heads\//, "") ?? null;
  if (record === undefined || branch === null)
    throw refuse("is on no branch", "put it on one first", `git -C ${shellWord(path)} switch -c my-branch`);

  const named = input.task_id ?? namedFor(branch) ?? undefined;
  if (named === undefined) {
    throw new DotbotError(
      "INVALID_INPUT",
      `which task's is ${quote(path, 300)}? Its branch ${quote(branch)} doesn't say`,
      {
        hint: "name the task",
        example: `dotbot wt adopt ${shellWord(input.path)} --task <task>`,
        details: { missing: ["task_id"] },
      },
    );
  }
  const row = await namedTask(call, queue, named, "show");
  const base = await resolveBase(bench, input.base);
  if (base.branch === branch)
    throw refuse(
      `is on the base branch ${quote(branch)}`,
      "a task's work is on a branch of its own",
      `git -C ${shellWord(path)} switch -c my-branch`,
    );
  const known = worktreeOf(queue, row.id);
  if (known !== null && samePath(physical(known.path) ?? known.path, path) && known.branch === branch)
    return { row, worktree: known, changed: false };
  if (known !== null && physical(known.path) !== null)
    throw refuse(
      `can't be the worktree of ${quote(row.name)}: it has one at ${quote(known.path, 300)}`,
      "remove that first",
      `dotbot wt remove ${row.id8}`,
    );
  for (const [id, other] of worktrees(queue)) {
    if (samePath(physical(other.path) ?? other.path, path))
      throw refuse(
        `is the worktree of ${quote(queue.ledger.task(id)?.name ?? id)} already`,
        "one worktree has one task",
      );
  }
  if (record.locked !== null && record.locked !== lockReason(row))
    throw refuse(
      `is locked: ${quote(record.locked)}`,
      "whoever locked it has to unlock it",
      `git worktree unlock ${shellWord(path)}`,
    );

  const tip = await readRef(call, place.mainRoot, branchRef(branch));
  const fork = tip === null ? null : await mergeBase(call, place.mainRoot, base.sha, tip);
  if (fork === null) throw refuse(`has no common history with ${quote(base.branch)}`, "name its base with --base");
  if (record.locked === null) {
    await git(call, ["worktree", "lock", "--reason", lockReason(row), "--", path], {
      cwd: place.mainRoot,
      okStatus: [0],
    });
  }
  const links = await makeLinks(call, path, queue.stateRoot);
  const worktree: TaskWorktree = {
    path,
    branch,
    base: base.branch,
    baseSha: fork,
    createdAt: nowStamp(call),
    slot: freeSlot(worktrees(queue).values()),
    adopted: true,
    links,
    setup: { state: "none" },
    made: [],
  };
  await putWorktree(queue, row.id, worktree);
  return { row, worktree, changed: true };
}
