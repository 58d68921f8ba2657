/**
 * Git's layout on disk, read without git: what is needed to find a repository's place in the common case at no spawn, and to
 * see what git doesn't report (back links, broken registrations, a `.git` that git walked past).
 *
 * Invariants: reads only; never guesses. Whatever isn't the plainest form answers null, and the caller asks git. Paths that
 * go out are physical (symlinks resolved).
 */
import { lstatSync, readdirSync, readFileSync, realpathSync, statSync, type Stats } from "node:fs";
import { basename, dirname, join, relative, resolve, sep, isAbsolute } from "node:path";

import { plainFormat } from "./parse.ts";

/** What names the repository at some place: the nearest `.git` entry above it, or the git dir that it lies in. */
export type Anchor =
  | { readonly kind: "entry"; readonly tree: string; readonly entry: string }
  | { readonly kind: "git-dir"; readonly dir: string };

/** Where a checkout and its git dirs are; all physical. */
export interface Place {
  readonly gitDir: string;
  readonly commonDir: string;
  readonly workRoot: string;
  /** The folder of the repository's main checkout. */
  readonly mainRoot: string;
}

/** The physical path, or null when it doesn't exist or can't be reached. */
export function physical(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}

/** Whether two physical paths are one place. Spelling decides, except where file systems ignore case. */
export function samePath(a: string, b: string): boolean {
  if (a === b) return true;
  if (process.platform === "win32") return a.toLowerCase() === b.toLowerCase();
  if (process.platform !== "darwin") return false;
  const first = statOf(a);
  const second = statOf(b);
  return first !== null && second !== null && first.dev === second.dev && first.ino === second.ino;
}

/** Whether a physical path is `folder` or lies in it. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

export function exists(path: string): boolean {
  return lstatOf(path) !== null;
}

export function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() === true;
}

/** The anchor of a physical folder, found by walking up as git does; null when there is none up to the file system's root. */
export function findAnchor(start: string): Anchor | null {
  for (let at = start; ; at = dirname(at)) {
    if (lstatOf(join(at, ".git")) !== null) return { kind: "entry", tree: at, entry: join(at, ".git") };
    if (isGitDir(at)) return { kind: "git-dir", dir: at };
    if (dirname(at) === at) return null;
  }
}

/** The git dir that a `.git` entry leads to, physical; null when it leads nowhere. */
export function gitDirOf(entry: string): string | null {
  const target = isFolder(entry) ? null : gitFileTarget(entry);
  const dir = physical(target ?? entry);
  return dir !== null && isGitDir(dir) ? dir : null;
}

/** Where a `.git` file points, absolute, existing or not; null when it isn't such a file. */
export function gitFileTarget(entry: string): string | null {
  const text = readText(entry);
  if (text === null || !text.startsWith("gitdir: ")) return null;
  // Git removes line ends and nothing else: a folder's name may end in a blank.
  return resolve(dirname(entry), text.slice("gitdir: ".length).replace(/[\r\n]+$/, ""));
}

/** The common dir of a git dir, physical; null when it doesn't exist. */
export function commonDirOf(gitDir: string): string | null {
  const file = join(gitDir, "commondir");
  const link = lstatOf(file) === null ? null : readText(file);
  return link === null ? gitDir : physical(resolve(gitDir, link.replace(/[\r\n]+$/, "")));
}

/** The `.git` file that a linked worktree's git dir names as its own, absolute, existing or not; null when it names none. */
export function backLinkOf(gitDir: string): string | null {
  // Empty where a git was killed that was about to write it: as good as none.
  const link = readText(join(gitDir, "gitdir"))?.replace(/[\r\n]+$/, "") ?? "";
  return link === "" ? null : resolve(gitDir, link);
}

/**
 * A registered worktree that holds `start` below `workRoot` although its own `.git` file is gone: git then answers for the
 * checkout around it. Its path, or null.
 */
export function brokenWorktreeAround(start: string, workRoot: string, commonDir: string): string | null {
  if (samePath(start, workRoot)) return null;
  for (const id of namesIn(join(commonDir, "worktrees"))) {
    const link = backLinkOf(join(commonDir, "worktrees", id));
    const tree = link === null ? null : physical(dirname(link));
    if (tree !== null && !samePath(tree, workRoot) && isWithin(tree, workRoot) && isWithin(start, tree)) return tree;
  }
  return null;
}

/**
 * Resolves a main checkout with a real `.git` folder, or a linked worktree of one, from files alone. Null, and git has to be
 * asked, for any other layout, for configuration beyond the plainest, for a repository inside another, and where a user
 * other than the running one owns a part of it.
 */
export function placeOf(start: string): Place | null {
  const anchor = findAnchor(start);
  if (anchor?.kind !== "entry") return null;
  const entry = lstatOf(anchor.entry);
  const gitDir = gitDirOf(anchor.entry);
  if (entry === null || entry.isSymbolicLink() || gitDir === null) return null;
  const commonDir = commonDirOf(gitDir);
  if (commonDir === null || basename(commonDir) !== ".git") return null;
  const mainRoot = dirname(commonDir);

  const main = gitDir === commonDir;
  if (main !== entry.isDirectory() || (main && mainRoot !== anchor.tree)) return null;
  if (!main && dirname(gitDir) !== join(commonDir, "worktrees")) return null;

  if (start !== anchor.tree && !oneDevice(start, anchor.tree)) return null;
  if (![...new Set([anchor.tree, anchor.entry, gitDir, mainRoot, commonDir])].every(isMine)) return null;
  const config = readText(join(commonDir, "config"));
  const format = config === null ? null : plainFormat(config);
  if (format === null || format.bare === true) return null;
  // Inside another repository it may be a submodule, and only that one's index knows.
  if (dirname(mainRoot) !== mainRoot && findAnchor(dirname(mainRoot)) !== null) return null;
  return { gitDir, commonDir, workRoot: anchor.tree, mainRoot };
}

/** Where HEAD stands. `branch` is the short name, null when detached; `sha` is null when unborn. */
export interface Head {
  readonly branch: string | null;
  readonly sha: string | null;
}

/** HEAD from files: a branch (loose or packed) or a commit; null when git has to be asked. */
export function headOf(gitDir: string, commonDir: string): Head | null {
  if (lstatOf(join(gitDir, "HEAD"))?.isFile() !== true) return null;
  const head = (readText(join(gitDir, "HEAD")) ?? "").trimEnd();
  if (OID.test(head)) return { branch: null, sha: head };
  const ref = /^ref: (refs\/heads\/(.+))$/.exec(head);
  // A ref store other than files leaves `refs/heads/.invalid` here; a name that isn't UTF-8 can't be looked up.
  if (ref === null || ref[1] === undefined || ref[2] === undefined || ref[2].startsWith(".")) return null;
  if (ref[2].includes("\uFFFD")) return null;
  const loose = readText(join(commonDir, ref[1]));
  if (loose !== null) {
    const sha = loose.trimEnd();
    return OID.test(sha) ? { branch: ref[2], sha } : null;
  }
  return { branch: ref[2], sha: packedRef(readText(join(commonDir, "packed-refs")) ?? "", ref[1]) };
}

const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

function packedRef(packed: string, ref: string): string | null {
  const at = packed.indexOf(` ${ref}\n`);
  if (at === -1) return null;
  const sha = packed.slice(packed.lastIndexOf("\n", at) + 1, at);
  return OID.test(sha) ? sha : null;
}

/** Git's own test, as far as files show it: a valid HEAD, and the objects and refs of the common dir. */
function isGitDir(dir: string): boolean {
  const head = lstatOf(join(dir, "HEAD"));
  if (head === null) return false;
  if (!head.isSymbolicLink() && !/^(?:ref:\s*refs\/|[0-9a-f]{40})/.test(readText(join(dir, "HEAD")) ?? ""))
    return false;
  const common = commonDirOf(dir);
  return common !== null && isFolder(join(common, "objects")) && isFolder(join(common, "refs"));
}

/** Git doesn't walk up across file systems. */
function oneDevice(start: string, top: string): boolean {
  const device = statOf(start)?.dev;
  for (let at = start; ; at = dirname(at)) {
    if (statOf(at)?.dev !== device) return false;
    if (at === top || dirname(at) === at) return true;
  }
}

/** Owned by the running user, which is when git trusts a path without asking its configuration. Unknown on Windows. */
function isMine(path: string): boolean {
  const uid = process.geteuid?.();
  return uid !== undefined && lstatOf(path)?.uid === uid;
}

/** What isn't there is asked for at every step up; as an error each answer would cost more than the question. */
const ABSENT = { throwIfNoEntry: false } as const;

function statOf(path: string): Stats | null {
  try {
    return statSync(path, ABSENT) ?? null;
  } catch {
    return null;
  }
}

function lstatOf(path: string): Stats | null {
  try {
    return lstatSync(path, ABSENT) ?? null;
  } catch {
    return null;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
