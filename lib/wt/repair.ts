/** Mends what a move broke: registration and folder name each other again, the lock and the links are there. */
import { join, resolve } from "node:path";

import { DotbotError } from "../error.ts";
import { isDirectory, removeFile } from "../files.ts";
import { gitDirAt, linkedBothWays, listCheckouts } from "../git/checkouts.ts";
import { backLinkOf, gitDirOf, gitFileTarget, physical, samePath } from "../git/native.ts";
import { branchRef } from "../git/refs.ts";
import { git, gitText } from "../git/run.ts";
import { QUEUE_PATHS } from "../task/queue-paths.ts";
import { quote, shellWord } from "../text.ts";
import type { Bench } from "./bench.ts";
import { linkState, makeLinks } from "./links.ts";
import { lockReason, type TaskWorktree } from "./model.ts";
import { putWorktree, worktrees } from "./records.ts";

export interface Repaired {
  readonly taskId: string;
  readonly path: string;
  /** What was mended; empty when all was well. */
  readonly mended: readonly string[];
  /** What couldn't be; null when all is well now. */
  readonly problem: string | null;
}

/** Repairs the worktree of one task, which may have been moved to `path`, or those of all. The caller holds the lock. */
export async function repair(bench: Bench, taskId: string | null, path: string | undefined): Promise<Repaired[]> {
  const known = worktrees(bench.queue);
  const chosen = [...known].filter(([id]) => taskId === null || id === taskId);
  const results: Repaired[] = [];
  for (const [id, worktree] of chosen) {
    const moved = path === undefined ? null : physical(resolve(bench.call.cwd, path));
    if (path !== undefined && (moved === null || !isDirectory(moved))) {
      throw new DotbotError("NOT_FOUND", `there is no folder ${quote(path, 300)}`, {
        hint: "name the folder where the worktree is now",
      });
    }
    results.push(await repairOne(bench, id, worktree, moved ?? worktree.path));
  }
  return results;
}

async function repairOne(bench: Bench, id: string, worktree: TaskWorktree, path: string): Promise<Repaired> {
  const { call, place, queue } = bench;
  const mended: string[] = [];
  const problem = (why: string): Repaired => ({ taskId: id, path, mended, problem: why });
  if (!isDirectory(path)) return problem("its folder isn't there; if it was moved, say where to with --path");
  if (!isLinked(path)) {
    const why = await relink(bench, path, worktree);
    if (why !== null) return problem(why);
    mended.push("registration");
  }
  const record = (await listCheckouts(call, place.mainRoot)).find((it) => samePath(physical(it.path) ?? it.path, path));
  if (record === undefined) return problem("git has no worktree registered there");
  if (record.branch !== branchRef(worktree.branch))
    return problem(`it is on ${record.branch ?? "no branch"}, not on ${worktree.branch}`);
  const row = queue.ledger.task(id);
  if (record.locked === null && row !== undefined) {
    await git(call, ["worktree", "lock", "--reason", lockReason(row), "--", path], {
      cwd: place.mainRoot,
      okStatus: [0],
    });
    mended.push("lock");
  }
  // Links of ours to where the main checkout was.
  for (const link of worktree.links) {
    const at = join(path, link);
    if (linkState(path, queue.stateRoot, link) === "foreign" && physical(at) === null) removeFile(at);
  }
  const before = QUEUE_PATHS.filter((link) => linkState(path, queue.stateRoot, link) === "ours");
  const links = await makeLinks(call, path, queue.stateRoot);
  const fresh = links.filter((link) => !before.some((it) => it === link));
  mended.push(...fresh);
  const physicalPath = physical(path) ?? path;
  if (physicalPath !== worktree.path || fresh.length > 0) {
    if (physicalPath !== worktree.path) mended.push("record");
    await putWorktree(queue, id, { ...worktree, path: physicalPath, links });
  }
  return { taskId: id, path: physicalPath, mended, problem: null };
}

function isLinked(path: string): boolean {
  const gitDir = gitDirAt(path);
  return gitDir !== null && linkedBothWays(path, gitDir);
}

/** Makes folder and registration name each other again; why not, when that can't be done without guessing. */
async function relink(bench: Bench, path: string, worktree: TaskWorktree): Promise<string | null> {
  const target = gitFileTarget(join(path, ".git"));
  if (target === null) return "it lost its .git file: what it is a checkout of can't be known";
  const gitDir = gitDirOf(join(path, ".git"));
  if (gitDir !== null) {
    const elsewhere = backLinkOf(gitDir);
    const other = elsewhere === null ? null : physical(elsewhere);
    if (other !== null && gitDirOf(other) === gitDir && !samePath(other, physical(join(path, ".git")) ?? "")) {
      return `it is a copy of ${quote(elsewhere ?? "", 300)}, which has the same registration; remove one of them (${shellWord(worktree.path)} is the recorded one)`;
    }
  }
  await gitText(bench.call, ["worktree", "repair", "--", path], { cwd: bench.place.mainRoot });
  return isLinked(path) ? null : "git couldn't repair it";
}
