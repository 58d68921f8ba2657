/**
 * What a checkout is in the middle of, which checkouts a repository has, and what is changed in one. All but `trackedChanges`
 * is read from files.
 */
import { dirname, join } from "node:path";

import { exists, listNames, readText } from "../files.ts";
import { backLinkOf, headOf, isWithin, physical } from "./native.ts";
import { parseConfig, parseStatus, type StatusEntry } from "./parse.ts";
import type { Repo } from "./repo.ts";
import { git, type GitCtx } from "./run.ts";

/** Marks in a git dir, in the order in which they decide: a cherry-pick inside a rebase is a rebase. */
const MARKS = [
  ["rebase-apply/applying", "am"],
  ["rebase-apply", "rebase"],
  ["rebase-merge", "rebase"],
  ["MERGE_HEAD", "merge"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
  ["BISECT_LOG", "bisect"],
] as const;

/** What git may be in the middle of in a checkout. */
export type GitOperation = (typeof MARKS)[number][1];

/** What was begun in a checkout and not ended, by the files that git keeps meanwhile; null when nothing. */
export function operationInProgress(gitDir: string): GitOperation | null {
  const mark = MARKS.find(([file]) => exists(join(gitDir, file)))?.[1];
  if (mark !== undefined) return mark;
  // What is left between two commits of a series, with the verb of those that are still to come.
  if (!exists(join(gitDir, "sequencer"))) return null;
  return readText(join(gitDir, "sequencer/todo"))?.startsWith("revert ") === true ? "revert" : "cherry-pick";
}

/** A checkout that a repository has, or has had: `present` tells. */
export interface Checkout {
  /** Physical where it's present. */
  readonly path: string;
  readonly gitDir: string;
  readonly main: boolean;
  readonly present: boolean;
}

/** The checkouts of a repository, the main one first, linked ones by name; a bare repository's main isn't one. */
export function checkoutsOf(repo: Pick<Repo, "commonDir" | "mainRoot" | "kind">, bare: boolean): Checkout[] {
  const main = bare ? [] : [{ path: repo.mainRoot, gitDir: repo.commonDir, main: true, present: true }];
  const folder = join(repo.commonDir, "worktrees");
  const linked = (listNames(folder) ?? []).toSorted().flatMap((id): Checkout[] => {
    const gitDir = join(folder, id);
    const link = backLinkOf(gitDir);
    if (link === null) return [];
    const path = physical(dirname(link));
    return [{ path: path ?? dirname(link), gitDir, main: false, present: path !== null && exists(link) }];
  });
  return [...main, ...linked];
}

/** Whether the repository's main folder has no checkout: a bare repository, whatever one stands in. */
export function isBare(repo: Pick<Repo, "commonDir" | "kind"> & Partial<Pick<Repo, "resolvedBy">>): boolean {
  if (repo.kind === "bare") return true;
  // It was looked at on the way.
  if (repo.resolvedBy === "native") return false;
  // The one key that tells, in its usual form; where it is written in another, one more checkout is counted.
  return /^\s*bare\s*=\s*true\s*$/im.test(readText(join(repo.commonDir, "config")) ?? "");
}

/** Where a branch is in use: the checkouts that have it checked out, or are rebasing or bisecting it. Missing ones count. */
export function usersOf(repo: Pick<Repo, "commonDir" | "mainRoot" | "kind">, branch: string): string[] {
  const ref = `refs/heads/${branch}`;
  // A bare repository's own HEAD names a branch as well, which git counts as nobody's.
  return checkoutsOf(repo, isBare(repo)).flatMap(({ path, gitDir }) => {
    const line = (name: string): string => (readText(join(gitDir, name)) ?? "").trim();
    const used =
      headOf(gitDir, repo.commonDir)?.branch === branch ||
      line("HEAD") === `ref: ${ref}` ||
      line("rebase-merge/head-name") === ref ||
      line("rebase-apply/head-name") === ref ||
      line("BISECT_START") === branch;
    return used ? [path] : [];
  });
}

/**
 * Tracked files that are modified, staged or unmerged; a submodule only when its commit is another one. With `untracked`,
 * files that aren't tracked nor ignored as well. `foreign`: no filter that the repository configures is run, at the price of
 * calling a filtered file modified that was only touched.
 */
export async function trackedChanges(
  ctx: GitCtx,
  workRoot: string,
  options: { foreign: boolean; untracked?: boolean },
): Promise<readonly StatusEntry[]> {
  const env = options.foreign ? await withoutFilters(ctx, workRoot) : {};
  const args = [
    "status",
    "--porcelain=v2",
    "-z",
    options.untracked === true ? "--untracked-files=all" : "--untracked-files=no",
    "--ignore-submodules=dirty",
    "--no-renames",
  ];
  const { stdout } = await git(ctx, args, { cwd: workRoot, probe: true, okStatus: [0], env });
  return parseStatus(stdout).entries;
}

/**
 * Environment for a git call that switches every configured filter and merge driver off. By environment and not by `-c`, which
 * would split a name that holds an equals sign at the wrong place.
 */
export async function withoutFilters(ctx: GitCtx, workRoot: string): Promise<Record<string, string>> {
  const args = [
    "config",
    "-z",
    "--get-regexp",
    String.raw`^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$`,
  ];
  const { stdout } = await git(ctx, args, { cwd: workRoot, probe: true, okStatus: [0, 1] });
  const keys = [...parseConfig(stdout).keys()];
  const pairs = keys.flatMap((key, i) => [
    [`GIT_CONFIG_KEY_${i}`, key] as const,
    // Git runs no filter whose command is empty; a driver has to be a command, and `false` means: a conflict.
    [`GIT_CONFIG_VALUE_${i}`, key.startsWith("merge.") || key.endsWith(".required") ? "false" : ""] as const,
  ]);
  return keys.length === 0 ? {} : { GIT_CONFIG_COUNT: String(keys.length), ...Object.fromEntries(pairs) };
}

/** Whether a path of the tree, in git's spelling, belongs to the queue: its files travel with no branch. */
export function isQueuePath(path: string): boolean {
  return QUEUE_PATHS.some((folder) => path === folder || isWithin(`/${path}`, `/${folder}`));
}

export const QUEUE_PATHS = [".bot/workspace/tasks", ".bot/.control"] as const;
