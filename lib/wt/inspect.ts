/** Finds out what is at a worktree's place: the facts that plan.ts decides on. Changes nothing, not even git's index. */
import { join } from "node:path";

import { DotbotError } from "../error.ts";
import { foldersWith, isDirectory, listNames, lstatOrNull } from "../files.ts";
import {
  gitDirAt,
  hiddenEdits,
  indexOf,
  linkedBothWays,
  listCheckouts,
  statusOf,
  type IndexEntry,
} from "../git/checkouts.ts";
import { operationInProgress } from "../git/state.ts";
import { commonDirOf, headOf, isWithin, physical, samePath } from "../git/native.ts";
import type { StatusEntry, WorktreeRecord } from "../git/parse.ts";
import { branchRef, readRef } from "../git/refs.ts";
import { git, type GitCtx } from "../git/run.ts";
import { QUEUE_PATHS } from "../task/queue-paths.ts";
import { callerIsIn, type Bench, type Ground } from "./bench.ts";
import { linkState, type LinkState } from "./links.ts";
import type { Made } from "./model.ts";
import { isDisposable, type WorktreeFacts } from "./plan.ts";

export interface Place {
  /** Where the worktree is, or is said to be. */
  readonly path: string;
  /** The branch whose checkout mustn't go. */
  readonly base: string | null;
  readonly made: readonly Made[];
  /** It was moved into the trash: its registration still names the place where it was. */
  readonly movedFrom?: string;
}

export async function inspect(bench: Ground, place: Place): Promise<WorktreeFacts> {
  const { call, queue } = bench;
  const records = await listCheckouts(call, bench.place.mainRoot);
  const path = physical(place.path) ?? place.path;
  const named = physical(place.movedFrom ?? "") ?? place.movedFrom ?? path;
  const record = records.find((it) => samePath(physical(it.path) ?? it.path, named)) ?? null;
  const gitDir = isDirectory(path) ? gitDirAt(path) : null;
  const commonDir = gitDir === null ? null : commonDirOf(gitDir);
  const nothing = {
    path,
    exists: isDirectory(path),
    registered: record !== null,
    linked: false,
    sameRepository: false,
    locked: record?.locked ?? null,
    branch: null,
    head: null,
    branchTip: null,
    operation: null,
    dirty: [],
    hidden: [],
    untracked: [],
    ignored: [],
    links: {},
    inLinkPlace: [],
    below: [],
    submodules: [],
    callerIsIn: callerIsIn(call, path),
    isBase: false,
  };
  // A folder that lost its .git file, or whose registration is gone, is nothing that git may be asked about.
  if (gitDir === null || commonDir === null) return { ...nothing, sameRepository: record !== null };
  if (!samePath(commonDir, bench.place.commonDir)) return nothing;
  const linked = place.movedFrom !== undefined || linkedBothWays(path, gitDir);
  const isBase =
    samePath(gitDir, commonDir) || (record !== null && place.base !== null && record.branch === branchRef(place.base));
  if (!linked) return { ...nothing, sameRepository: true, isBase };

  const head = await headAt(call, path, gitDir, commonDir);
  const ref = head.branch === null ? null : branchRef(head.branch);
  const [status, index, branchTip] = await Promise.all([
    // Submodules find their git dirs by relative paths: moved, nothing in them can be asked any more.
    statusOf(call, path, {
      untracked: "all",
      ignored: true,
      submodules: place.movedFrom === undefined ? "none" : "all",
    }),
    indexOf(call, path),
    ref === null ? null : readRef(call, bench.place.mainRoot, ref),
  ]);
  const gitlinks = index.filter((entry) => entry.mode === "160000").map((entry) => entry.path);
  const links: Record<string, LinkState> = {};
  if (queue !== null) {
    for (const it of QUEUE_PATHS) {
      const state = linkState(path, queue.stateRoot, it);
      // A link that the branch has committed is its own content: it goes nowhere with the folder.
      links[it] = state === "foreign" && untrackedBelow(status.entries, it).length === 0 ? "real" : state;
    }
  }
  const isLink = (name: string): boolean => {
    const bare = name.replace(/\/$/, "");
    return links[bare] === "ours" || links[bare] === "foreign";
  };
  const inLinkPlace = QUEUE_PATHS.filter((it) => links[it] === "real").flatMap((it) =>
    untrackedBelow(status.entries, it),
  );
  const inPlace = new Set(inLinkPlace);
  const of = (kind: StatusEntry["kind"]): string[] =>
    status.entries
      .filter((entry) => entry.kind === kind && !isLink(entry.path) && !inPlace.has(entry.path))
      .map((entry) => entry.path)
      .sort();
  const disposable = disposableIn(bench);
  const ignored = of("ignored");
  return {
    ...nothing,
    linked: true,
    sameRepository: true,
    isBase,
    branch: ref,
    head: head.sha,
    branchTip,
    operation: operationInProgress(gitDir),
    dirty: [...of("changed"), ...of("renamed"), ...of("unmerged")].sort(),
    hidden: await hiddenEdits(call, path, index),
    untracked: of("untracked"),
    ignored: ignored.filter((it) => !disposable(it) && !isMade(path, it, place.made)),
    links,
    inLinkPlace: [...inLinkPlace].sort(),
    below: repositoriesBelow(path, records, (at) => {
      if (gitlinks.includes(at)) return true;
      if (!gitlinks.some((it) => at.startsWith(`${it}/`))) return false;
      // A submodule's own submodules; moved, none of them finds its git dir any more.
      const own = gitDirAt(join(path, at));
      return place.movedFrom !== undefined || (own !== null && isWithin(own, join(gitDir, "modules")));
    }),
    submodules: place.movedFrom === undefined ? await submodulesWithWork(call, path, gitDir, index) : [],
  };
}

/** HEAD of a checkout, from files or, where they aren't plain, from git. */
async function headAt(
  ctx: GitCtx,
  path: string,
  gitDir: string,
  commonDir: string,
): Promise<{ branch: string | null; sha: string | null }> {
  const plain = headOf(gitDir, commonDir);
  if (plain !== null) return plain;
  const { stdout, status } = await git(ctx, ["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"], {
    cwd: path,
    probe: true,
  });
  const [sha = "", name = ""] = stdout.split("\n");
  if (status !== 0) return { branch: null, sha: null };
  return { sha, branch: name.startsWith("refs/heads/") ? name.slice("refs/heads/".length) : null };
}

function untrackedBelow(entries: readonly StatusEntry[], folder: string): string[] {
  const found = entries
    .filter((entry) => entry.kind === "ignored" || entry.kind === "untracked")
    .map((entry) => entry.path)
    .filter((path) => path === folder || path === `${folder}/` || path.startsWith(`${folder}/`));
  return found;
}

/** Whether a path, or a folder above it, is what `worktree.disposable` says never counts. */
export function disposableIn(bench: Pick<Bench, "settings">): (path: string) => boolean {
  const globs = bench.settings.worktree.disposable.map((text) => new Bun.Glob(text));
  const matches = globs.map(
    (glob) =>
      (name: string): boolean =>
        glob.match(name),
  );
  return (path) => isDisposable(path, matches);
}

/** Brought there by the set-up, and still as it was then. */
function isMade(tree: string, path: string, made: readonly Made[]): boolean {
  return made.some((it) => {
    if (it.path !== path && !(it.path.endsWith("/") && path.startsWith(it.path))) return false;
    const now = sizeAndTime(join(tree, it.path));
    return it.size !== null && now.size === it.size && now.mtimeMs === it.mtimeMs;
  });
}

/** The ignored files and folders of a worktree as they are now, for comparing later; without those that never count. */
export async function ignoredNow(
  ctx: GitCtx,
  tree: string,
  isDisposablePath: (path: string) => boolean,
): Promise<Made[]> {
  const status = await statusOf(ctx, tree, { untracked: "normal", ignored: true });
  return status.entries
    .filter((entry) => entry.kind === "ignored" && !isDisposablePath(entry.path))
    .map(({ path }) => ({ path, ...sizeAndTime(join(tree, path)) }));
}

/** Bytes, and the newest time, of a file or of all below a folder: whatever is added, removed or written there shows. */
function sizeAndTime(path: string): { size: number | null; mtimeMs: number | null } {
  const stat = lstatOrNull(path);
  if (stat === null) return { size: null, mtimeMs: null };
  if (!stat.isDirectory()) return { size: stat.size, mtimeMs: stat.mtimeMs };
  return (listNames(path) ?? [])
    .map((name) => sizeAndTime(join(path, name)))
    .reduce<{ size: number; mtimeMs: number }>(
      (sum, it) => ({ size: sum.size + (it.size ?? 0), mtimeMs: Math.max(sum.mtimeMs, it.mtimeMs ?? 0) }),
      { size: 0, mtimeMs: stat.mtimeMs },
    );
}

/** Registered worktrees below the path, and whatever else has a `.git` there: in a folder that is tracked no status shows it. */
function repositoriesBelow(
  path: string,
  records: readonly WorktreeRecord[],
  isSubmodule: (path: string) => boolean,
): string[] {
  const registered = records
    .map((record) => physical(record.path) ?? record.path)
    .filter((it) => !samePath(it, path) && isWithin(it, path))
    .map((it) => it.slice(path.length + 1));
  const clones = foldersWith(path, ".git", Infinity)
    .filter((it) => it !== path)
    .map((it) => it.slice(path.length + 1))
    .filter((it) => !isSubmodule(it));
  return [...new Set([...registered, ...clones])].sort();
}

/**
 * Repositories in the index's gitlinks, and those of submodules that aren't there any more, which hold commits or edits that
 * are nowhere else: their git dirs would go with the worktree.
 */
async function submodulesWithWork(
  ctx: GitCtx,
  tree: string,
  gitDir: string,
  index: readonly IndexEntry[],
): Promise<{ path: string; why: string }[]> {
  const found: { path: string; why: string }[] = [];
  const populated = new Set<string>();
  for (const { path } of index.filter((entry) => entry.mode === "160000")) {
    const at = join(tree, path);
    const own = gitDirAt(at);
    if (lstatOrNull(join(at, ".git")) === null) continue;
    if (own !== null) populated.add(own);
    const why = await readable(async () => (await editsIn(ctx, at)) ?? (await commitsIn(ctx, at, [])));
    if (why !== null) found.push({ path, why });
  }
  for (const at of gitDirsBelow(join(gitDir, "modules"))) {
    if (populated.has(physical(at) ?? at)) continue;
    const why = await readable(async () => await commitsIn(ctx, tree, [`--git-dir=${at}`, "--work-tree=."]));
    if (why !== null) found.push({ path: at.slice(join(gitDir, "modules").length + 1), why });
  }
  return found;
}

/** A submodule's name may have slashes: its git dir lies that deep. */
function gitDirsBelow(folder: string): string[] {
  return (listNames(folder) ?? [])
    .map((name) => join(folder, name))
    .filter((path) => isDirectory(path))
    .flatMap((path) =>
      lstatOrNull(join(path, "HEAD")) === null ? gitDirsBelow(path) : [path, ...gitDirsBelow(join(path, "modules"))],
    );
}

async function editsIn(ctx: GitCtx, submodule: string): Promise<string | null> {
  const status = await statusOf(ctx, submodule, { untracked: "normal" });
  const hidden = status.entries.length > 0 ? [] : await hiddenEdits(ctx, submodule, await indexOf(ctx, submodule));
  return status.entries.length + hidden.length > 0 ? "uncommitted work" : null;
}

/** What no remote has: on HEAD, on a branch, or stashed. Tags may be the remote's, for all that can be known here. */
async function commitsIn(ctx: GitCtx, cwd: string, gitDir: readonly string[]): Promise<string | null> {
  const refs = ["HEAD", "--branches", "--glob=refs/stas[h]", "--not", "--remotes", "--tags"];
  const args = [...gitDir, "rev-list", "-n", "1", ...refs];
  const { stdout } = await git(ctx, args, { cwd, probe: true, okStatus: [0] });
  return stdout.trim() === "" ? null : "commits that aren't on any remote";
}

async function readable(look: () => Promise<string | null>): Promise<string | null> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof DotbotError) return "a state that can't be read";
    throw error;
  }
}
