/**
 * Links from a worktree to the queue's folders at the state root: a view for tools that read files. dotbot itself never
 * follows them. They are made only where git ignores them, so that no commit, stash or clean of the branch can take them.
 */
import { dirname, join } from "node:path";

import { isDirectory, listNames, lstatOrNull, makeDirectory, removeFile, symlink } from "../files.ts";
import { isFolder, physical, samePath } from "../git/native.ts";
import { git, type GitCtx } from "../git/run.ts";
import { QUEUE_PATHS } from "../task/queue-paths.ts";

/** `ours`: a link to the state root's folder · `absent` · `foreign`: another link · `real`: a folder or file of its own. */
export type LinkState = "ours" | "absent" | "foreign" | "real";

export function linkState(tree: string, stateRoot: string, path: string): LinkState {
  const at = join(tree, path);
  const stat = lstatOrNull(at);
  if (stat === null) return "absent";
  if (!stat.isSymbolicLink()) return stat.isDirectory() && (listNames(at)?.length ?? 1) === 0 ? "absent" : "real";
  const [theirs, ours] = [physical(at), physical(join(stateRoot, path))];
  return theirs !== null && ours !== null && samePath(theirs, ours) ? "ours" : "foreign";
}

/** Makes what is missing of the links, where git ignores them in that worktree; returns those that are there then. */
export async function makeLinks(ctx: GitCtx, tree: string, stateRoot: string): Promise<string[]> {
  const made: string[] = [];
  for (const path of QUEUE_PATHS) {
    if (!(await isIgnored(ctx, tree, path)) || (await isTracked(ctx, tree, path))) continue;
    const target = join(stateRoot, path);
    const state = linkState(tree, stateRoot, path);
    if (state === "absent" && lstatOrNull(join(tree, path)) === null) {
      if (!isFolder(target)) makeDirectory(target);
      makeDirectory(dirname(join(tree, path)));
      symlink(target, join(tree, path));
      made.push(path);
    } else if (state === "ours") made.push(path);
  }
  return made;
}

/** Takes our links away, and nothing else. */
export function removeLinks(tree: string, stateRoot: string): string[] {
  const ours = QUEUE_PATHS.filter((path) => linkState(tree, stateRoot, path) === "ours");
  for (const path of ours) removeFile(join(tree, path));
  return ours;
}

/** Puts links back that were taken away. */
export function restoreLinks(tree: string, stateRoot: string, paths: readonly string[]): void {
  for (const path of paths) {
    if (lstatOrNull(join(tree, path)) === null && isDirectory(dirname(join(tree, path))))
      symlink(join(stateRoot, path), join(tree, path));
  }
}

async function isIgnored(ctx: GitCtx, tree: string, path: string): Promise<boolean> {
  const { status } = await git(ctx, ["check-ignore", "--quiet", "--no-index", "--", path], { cwd: tree, probe: true });
  // 128: beyond a link of the branch's own, where nothing of ours goes.
  return status === 0;
}

async function isTracked(ctx: GitCtx, tree: string, path: string): Promise<boolean> {
  const { bytes } = await git(ctx, ["--literal-pathspecs", "ls-files", "-z", "--", path], {
    cwd: tree,
    probe: true,
    okStatus: [0],
  });
  return bytes.length > 0;
}
