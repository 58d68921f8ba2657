/**
 * Merging without a checkout: trees in, a tree or the list of conflicts out. Writes objects and nothing else, so that
 * nothing has to be taken back when it ends badly. Needs git 2.38.
 */
import { DotbotError } from "../error.ts";
import { errorLines, oneLine, parseNul } from "./parse.ts";
import { isOid, treeOf } from "./refs.ts";
import { git, gitFailure, gitText, type GitCtx } from "./run.ts";

export type Merged =
  | { readonly clean: true; readonly tree: string }
  | { readonly clean: false; readonly files: readonly string[] };

/** Merges two commits by their own common ancestors. */
export async function mergeCommits(ctx: GitCtx, cwd: string, ours: string, theirs: string): Promise<Merged> {
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--end-of-options", ours, theirs];
  const result = await git(ctx, args, { cwd });
  const [tree = "", ...files] = parseNul(result.stdout);
  if (result.status === 0 && isOid(tree)) return { clean: true, tree };
  // Status 1 is also what an unknown commit gives: only a tree before the names makes it a conflict.
  if (result.status === 1 && isOid(tree))
    return { clean: false, files: [...new Set(files.filter((file) => file !== ""))] };
  throw gitFailure(args, result);
}

/** Merges what lies between `base` and `theirs` into `ours`, whatever the commits' own history: three trees, that is all. */
export async function mergeTrees(
  ctx: GitCtx,
  cwd: string,
  commits: { readonly base: string; readonly ours: string; readonly theirs: string },
): Promise<Merged> {
  const synthetic = async (commit: string, parent: string | null): Promise<string> =>
    await commitTree(ctx, cwd, {
      tree: await treeOf(ctx, cwd, commit),
      parents: parent === null ? [] : [parent],
      message: "merge\n",
      identity: SYNTHETIC,
    });
  const base = await synthetic(commits.base, null);
  const [ours, theirs] = [await synthetic(commits.ours, base), await synthetic(commits.theirs, base)];
  return await mergeCommits(ctx, cwd, ours, theirs);
}

/** For commits that only carry a tree into a merge: the same trees give the same commits, and no identity is needed. */
const SYNTHETIC: Readonly<Record<string, string>> = Object.fromEntries(
  ["AUTHOR", "COMMITTER"].flatMap((who) => [
    [`GIT_${who}_NAME`, "dotbot"],
    [`GIT_${who}_EMAIL`, "dotbot@localhost"],
    [`GIT_${who}_DATE`, "1000000000 +0000"],
  ]),
);

export interface NewCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly sign?: boolean;
  /** Variables that name author or committer. */
  readonly identity?: Readonly<Record<string, string>>;
}

/** A commit object; no ref moves. Throws REJECTED when signing fails, GIT_FAILED without an identity. */
export async function commitTree(ctx: GitCtx, cwd: string, commit: NewCommit): Promise<string> {
  const args = [
    // The message is UTF-8, whatever encoding the user's commits are labelled with.
    "-c",
    "i18n.commitEncoding=UTF-8",
    "commit-tree",
    commit.tree,
    ...commit.parents.flatMap((parent) => ["-p", parent]),
    ...(commit.sign === true ? ["-S"] : []),
    "-F",
    "-",
  ];
  const result = await git(ctx, args, {
    cwd,
    input: commit.message,
    ...(commit.identity === undefined ? {} : { env: commit.identity }),
  });
  if (result.status === 0) return oneLine(result.stdout);
  if (commit.sign === true) {
    throw new DotbotError("REJECTED", `the commit couldn't be signed: ${errorLines(result.stderr)}`, {
      hint: "commit.gpgSign is set: make its key usable, or unset it; nothing was changed",
    });
  }
  throw gitFailure(args, result);
}

/** One path in which two trees differ. */
export interface Change {
  readonly path: string;
  readonly status: string;
  readonly old: Entry | null;
  readonly new: Entry | null;
}

/** A mode such as `100644`, and the object's id. */
export interface Entry {
  readonly mode: string;
  readonly oid: string;
}

/** What differs between two commits or trees, file by file. */
export async function changesBetween(ctx: GitCtx, cwd: string, from: string, to: string): Promise<Change[]> {
  const args = [
    "diff-tree",
    "-r",
    "-z",
    "--raw",
    "--no-renames",
    "--no-abbrev",
    "--ignore-submodules=none",
    "--end-of-options",
    from,
    to,
  ];
  const fields = parseNul(await gitText(ctx, args, { cwd, probe: true }));
  const changes: Change[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [oldMode = "", newMode = "", oldOid = "", newOid = "", status = ""] = (fields[i] ?? "").slice(1).split(" ");
    changes.push({ path: fields[i + 1] ?? "", status, old: entry(oldMode, oldOid), new: entry(newMode, newOid) });
  }
  return changes;
}

function entry(mode: string, oid: string): Entry | null {
  return /^0+$/.test(mode) ? null : { mode, oid };
}

/** The tree of `commit` (an id) with these entries in it (null: removed), built in an index of its own at `indexFile`. */
export async function treeWith(
  ctx: GitCtx,
  cwd: string,
  commit: string,
  entries: ReadonlyMap<string, Entry | null>,
  indexFile: string,
): Promise<string> {
  const options = { cwd, env: { GIT_INDEX_FILE: indexFile } };
  await gitText(ctx, ["read-tree", "--end-of-options", `${commit}^{tree}`], options);
  const lines = [...entries]
    // Removals first: what takes the place of a folder has to go before what was in it comes back.
    .sort(([, a], [, b]) => Number(a !== null) - Number(b !== null))
    .map(([path, it]) => `${it?.mode ?? "0"} ${it?.oid ?? "0".repeat(commit.length)}\t${path}\0`);
  await gitText(ctx, ["update-index", "-z", "--replace", "--index-info"], { ...options, input: lines.join("") });
  return oneLine(await gitText(ctx, ["write-tree"], options));
}
