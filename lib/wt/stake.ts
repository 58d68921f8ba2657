/** What would be lost with a worktree, for a person who is asked whether it may: in words, and as a mark to know it again by. */
import { join } from "node:path";

import { listNames, lstatOrNull } from "../files.ts";
import { gitDirAt } from "../git/checkouts.ts";
import { parseNul } from "../git/parse.ts";
import { branchRef, readRef } from "../git/refs.ts";
import { gitText } from "../git/run.ts";
import { count, printable, quote } from "../text.ts";
import type { Bench } from "./bench.ts";
import type { TaskWorktree } from "./model.ts";
import { removalBlockers, type WorktreeFacts } from "./plan.ts";
import { TRASH_DAYS, trashOf, type Removal } from "./remove.ts";

/** How much of a list is shown: the rest is counted, and the person asked can still see the question. */
const SHOWN = 20;

/** What a removal found that isn't allowed. */
export interface AtStake {
  readonly task: { readonly id: string; readonly id8: string; readonly name: string };
  readonly worktree: TaskWorktree;
  readonly removal: Removal;
  readonly facts: WorktreeFacts;
  /** Tips whose commits would be on no branch any more, and that no flag lets go. */
  readonly tips: readonly string[];
}

export interface Stake {
  readonly taskId: string;
  readonly path: string;
  readonly taskBranch: string;
  /** Everything that would go and that no flag lets go, and where it would be kept. */
  readonly lines: readonly string[];
  /** Equal for the same commits and the same files, untouched since; for nothing else. */
  readonly mark: string;
  /** There is uncommitted work among it; there are ignored files. */
  readonly dirty: boolean;
  readonly ignored: boolean;
}

/** Null where it isn't leave to lose something that is missing. */
export async function stakeOf(bench: Bench, { task, worktree, removal, facts, tips }: AtStake): Promise<Stake | null> {
  const { path, may } = removal;
  if (removalBlockers(facts, removal.expected, removal.id8, { dirty: true, ignored: true }).length > 0) return null;
  const submodules = facts.submodules.map((it) => it.path);
  const dirty = may.dirty
    ? []
    : [
        { paths: facts.dirty, one: "uncommitted change", many: "uncommitted changes" },
        { paths: facts.hidden, one: "change that git doesn't show", many: "changes that git doesn't show" },
        { paths: facts.untracked, one: "untracked file", many: "untracked files" },
        { paths: facts.inLinkPlace, one: "file where the queue's link was", many: "files where the queue's link was" },
        { paths: submodules, one: "submodule with work of its own", many: "submodules with work of their own" },
      ];
  const ignored = may.ignored
    ? []
    : [{ paths: facts.ignored, one: "ignored file or folder", many: "ignored files and folders" }];
  const files = [...dirty, ...ignored].flatMap((it) => it.paths);
  const lines = [`${quote(task.name)} (${task.id8}) has in ${quote(path, 300)}:`];
  for (const tip of tips) {
    const detached = tip === facts.head && facts.branch === null;
    const where = detached ? "a detached HEAD" : worktree.branch;
    const commits = await commitsOf(bench, worktree, tip, detached);
    lines.push(...listed(commits, `commit on ${where}`, `commits on ${where}`));
  }
  for (const { paths, one, many } of [...dirty, ...ignored]) lines.push(...listed(paths, one, many));
  if (tips.length > 0) lines.push("the commits would be kept under refs/dotbot/lost");
  if (files.length > 0)
    lines.push(`the files would be kept for ${TRASH_DAYS} days in ${quote(trashOf(bench, path), 300)}`);
  const gitDir = gitDirAt(path);
  return {
    taskId: task.id,
    path,
    taskBranch: worktree.branch,
    lines,
    mark: JSON.stringify([
      path,
      tips,
      files.map((file) => [file, stateOf(join(path, file))]),
      // A commit in a submodule changes none of its files.
      submodules.length === 0 || gitDir === null ? null : stateOf(join(gitDir, "modules")),
    ]),
    dirty: dirty.some((it) => it.paths.length > 0),
    ignored: ignored.some((it) => it.paths.length > 0),
  };
}

function listed(rows: readonly string[], one: string, many: string): string[] {
  if (rows.length === 0) return [];
  const more = rows.length - SHOWN;
  return [
    `  ${count(rows.length, one, many)}`,
    ...rows.slice(0, SHOWN).map((row) => `    ${printable(row.replaceAll("\n", " "))}`),
    ...(more > 0 ? [`    and ${more} more`] : []),
  ];
}

/** What the base doesn't have, nor, where the tip is that of a detached HEAD, the branch; newest first. */
async function commitsOf(
  bench: Bench,
  { base, branch }: TaskWorktree,
  tip: string,
  detached: boolean,
): Promise<string[]> {
  const cwd = bench.place.mainRoot;
  const there = async (name: string): Promise<boolean> => (await readRef(bench.call, cwd, branchRef(name))) !== null;
  const without =
    base !== "" && (await there(base))
      ? [branchRef(base)]
      : // With its base gone, what no other branch has.
        [`--exclude=${branch}`, "--branches", "--remotes"];
  const own = detached && (await there(branch)) ? [branchRef(branch)] : [];
  const args = ["log", "-z", "--no-show-signature", "--format=%h %s", tip, "--not", ...without, ...own, "--"];
  return parseNul(await gitText(bench.call, args, { cwd, probe: true }));
}

/** Files below, bytes, and when something was last done to one of them, which no program can set back. */
function stateOf(path: string): readonly [files: number, size: number, changedMs: number] {
  const stat = lstatOrNull(path);
  if (stat === null) return [0, 0, 0];
  if (!stat.isDirectory()) return [1, stat.size, stat.ctimeMs];
  return (listNames(path) ?? [])
    .map((name) => stateOf(join(path, name)))
    .reduce((all, one) => [all[0] + one[0], all[1] + one[1], Math.max(all[2], one[2])], [0, 0, stat.ctimeMs]);
}
