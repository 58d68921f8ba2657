/** The checkouts of a repository, and what state one is in. Reads only. */
import { join } from "node:path";

import { lstatOrNull, readLink, readText } from "../files.ts";
import { backLinkOf, gitDirOf, physical, samePath } from "./native.ts";
import { oneLine, parseNul, parseStatus, parseWorktrees, type Status, type WorktreeRecord } from "./parse.ts";
import { gitText, type GitCtx } from "./run.ts";

/**
 * All registered checkouts, the main one first. For a submodule, a separate git dir or a linked `.git` git names the git dir
 * in place of the main checkout: `mainRoot` is what it should be.
 */
export async function listCheckouts(ctx: GitCtx, mainRoot: string): Promise<WorktreeRecord[]> {
  const text = await gitText(ctx, ["worktree", "list", "--porcelain", "-z"], { cwd: mainRoot, probe: true });
  return parseWorktrees(text).map((record, i) => (i === 0 && !record.bare ? { ...record, path: mainRoot } : record));
}

/** Checkouts in which a branch is checked out, or would be again after the operation that goes on there. */
export function checkoutsOn(records: readonly WorktreeRecord[], ref: string): WorktreeRecord[] {
  return records.filter((record) => record.branch === ref && !record.bare);
}

/** The branch that a rebase or bisect will return to (full name), or null. */
export function branchInOperation(gitDir: string): string | null {
  for (const file of ["rebase-merge/head-name", "rebase-apply/head-name"]) {
    const name = readText(join(gitDir, file))?.trim();
    if (name !== undefined && name.startsWith("refs/")) return name;
  }
  const start = readText(join(gitDir, "BISECT_START"))?.trim();
  return start === undefined || start === "" ? null : `refs/heads/${start}`;
}

/** The git dir of a checkout's folder, or null where it leads nowhere. */
export function gitDirAt(path: string): string | null {
  return gitDirOf(join(path, ".git"));
}

/** Whether a linked worktree's folder and its registration name each other. */
export function linkedBothWays(path: string, gitDir: string): boolean {
  const named = backLinkOf(gitDir);
  const [theirs, ours] = [named === null ? null : physical(named), physical(join(path, ".git"))];
  return theirs !== null && ours !== null && samePath(theirs, ours);
}

/** The checkout's state, whatever the user's status settings say; untracked folders are opened up. */
export async function statusOf(
  ctx: GitCtx,
  cwd: string,
  wanted: {
    readonly untracked: "no" | "normal" | "all";
    readonly ignored?: boolean;
    readonly submodules?: "none" | "all";
  },
): Promise<Status> {
  const args = [
    "status",
    "--porcelain=v2",
    "-z",
    "--no-renames",
    "--no-ahead-behind",
    `--ignore-submodules=${wanted.submodules ?? "none"}`,
    `--untracked-files=${wanted.untracked}`,
    ...(wanted.ignored === true ? ["--ignored=matching"] : []),
  ];
  return parseStatus(await gitText(ctx, args, { cwd, probe: true, timeoutMs: 300_000 }));
}

/** An entry of a checkout's index. */
export interface IndexEntry {
  readonly path: string;
  readonly mode: string;
  readonly oid: string;
  /** `0` unless a merge left the path unresolved. */
  readonly stage: string;
  /** It isn't part of a sparse checkout, or is said not to be. */
  readonly skipped: boolean;
  /** Git was told to take it for unchanged, and doesn't look. */
  readonly assumed: boolean;
}

export async function indexOf(ctx: GitCtx, cwd: string): Promise<IndexEntry[]> {
  const text = await gitText(ctx, ["ls-files", "-v", "--stage", "-z"], { cwd, probe: true });
  return parseNul(text).map((line) => {
    const tab = line.indexOf("\t");
    const [tag = "", mode = "", oid = "", stage = ""] = line.slice(0, tab).split(" ");
    const skipped = tag.toUpperCase() === "S";
    return { path: line.slice(tab + 1), mode, oid, stage, skipped, assumed: tag !== tag.toUpperCase() };
  });
}

/**
 * Paths that differ from the index and that no status shows, because git was told not to look (assume-unchanged,
 * skip-worktree). Outside a sparse checkout a path that isn't there is as it should be.
 */
export async function hiddenEdits(ctx: GitCtx, cwd: string, index: readonly IndexEntry[]): Promise<string[]> {
  const edited: string[] = [];
  const plain: IndexEntry[] = [];
  for (const entry of index) {
    if ((!entry.skipped && !entry.assumed) || entry.mode === "160000") continue;
    const path = join(cwd, entry.path);
    const stat = lstatOrNull(path);
    if (stat === null) {
      if (!entry.skipped) edited.push(entry.path);
    } else if (stat.isSymbolicLink() !== (entry.mode === "120000") || stat.isDirectory()) edited.push(entry.path);
    else if (!stat.isSymbolicLink()) plain.push(entry);
    else {
      const args = ["hash-object", "--stdin"];
      const oid = oneLine(await gitText(ctx, args, { cwd, probe: true, input: readLink(path) ?? "" }));
      if (oid !== entry.oid) edited.push(entry.path);
    }
  }
  // A path with a line break can't be in a list of lines.
  const lists = [
    plain.filter((entry) => !entry.path.includes("\n")),
    ...plain.filter((entry) => entry.path.includes("\n")).map((entry) => [entry]),
  ];
  for (const list of lists) {
    const [first] = list;
    if (first === undefined) continue;
    const named = first.path.includes("\n");
    const oids = await gitText(ctx, named ? ["hash-object", "--", first.path] : ["hash-object", "--stdin-paths"], {
      cwd,
      probe: true,
      ...(named ? {} : { input: list.map((entry) => `${entry.path}\n`).join("") }),
    });
    for (const [i, oid] of oids.trimEnd().split("\n").entries()) {
      const entry = list[i];
      if (entry !== undefined && oid !== entry.oid) edited.push(entry.path);
    }
  }
  return edited.sort();
}
