/**
 * Names and commits, read and moved by plumbing. A ref only ever moves by compare-and-swap. `cwd` is any checkout of the
 * repository, or the folder beside a bare one; never inside a git dir.
 */
import { dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import { listNames } from "../files.ts";
import { quote } from "../text.ts";
import { backLinkOf, commonDirOf, gitDirOf } from "./native.ts";
import { errorLines, oneLine, parseNul } from "./parse.ts";
import { git, gitFailure, gitText, refuseOption, type GitCtx } from "./run.ts";
import { clearLockFiles } from "./stale.ts";

const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export function isOid(text: string): boolean {
  return OID.test(text);
}

export function branchRef(branch: string): string {
  return `refs/heads/${branch}`;
}

/** The commit that a name leads to, or null when there is none of that name. */
export async function commitOf(ctx: GitCtx, cwd: string, name: string): Promise<string | null> {
  const args = ["rev-parse", "-q", "--verify", "--end-of-options", `${name}^{commit}`];
  const { stdout, status } = await git(ctx, args, { cwd, probe: true });
  const oid = oneLine(stdout);
  return status === 0 && isOid(oid) ? oid : null;
}

/** The branch that a name stands for: another one's, where it is but a second name for that (a symbolic ref). */
export async function realBranch(ctx: GitCtx, cwd: string, branch: string): Promise<string> {
  const { stdout, status } = await git(ctx, ["symbolic-ref", "--quiet", "--", branchRef(branch)], { cwd, probe: true });
  const target = oneLine(stdout);
  return status === 0 && target.startsWith("refs/heads/") ? target.slice("refs/heads/".length) : branch;
}

/** Where a full ref name stands, or null when it doesn't exist. */
export async function readRef(ctx: GitCtx, cwd: string, ref: string): Promise<string | null> {
  return await commitOf(ctx, cwd, ref);
}

export async function treeOf(ctx: GitCtx, cwd: string, commit: string): Promise<string> {
  return oneLine(
    await gitText(ctx, ["rev-parse", "--verify", "--end-of-options", `${commit}^{tree}`], { cwd, probe: true }),
  );
}

/**
 * Moves a ref from `old` (null: it doesn't exist yet) to `to`, or says false when it wasn't at `old` any more. Throws what git
 * says for any other failure (a hook, a full disk, a name that can't be).
 */
export async function moveRef(
  ctx: GitCtx,
  cwd: string,
  move: { readonly ref: string; readonly to: string; readonly old: string | null; readonly why: string },
): Promise<boolean> {
  const old = move.old ?? "0".repeat(move.to.length);
  const args = [
    "update-ref",
    "--no-deref",
    "--create-reflog",
    "-m",
    move.why,
    "--end-of-options",
    move.ref,
    move.to,
    old,
  ];
  return await swapped(ctx, cwd, args, async () => (await readRef(ctx, cwd, move.ref)) === move.to);
}

/** Removes a ref that stands at `old`; false when it has moved, or is gone. */
export async function deleteRef(ctx: GitCtx, cwd: string, ref: string, old: string): Promise<boolean> {
  const args = ["update-ref", "--no-deref", "-d", "--end-of-options", ref, old];
  return await swapped(ctx, cwd, args, async () => (await readRef(ctx, cwd, ref)) === null);
}

const LOCK_TRIES = 3;
const LOCK_WAIT_MS = 5_000;

const KILLED = 128 + 9;

async function swapped(
  ctx: GitCtx,
  cwd: string,
  args: readonly string[],
  isDone: () => Promise<boolean>,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const since = new Date();
    const result = await git(ctx, args, { cwd });
    if (result.status === 0) return true;
    if (result.status === KILLED) {
      await clearRefLocks(
        ctx,
        cwd,
        args.filter((arg) => arg.startsWith("refs/")),
        since,
      );
      if (await isDone()) return true;
    }
    if (/but expected|unable to resolve reference|reference already exists|reference is missing/.test(result.stderr))
      return false;
    if (/in 'prepared' phase|update aborted by hook|ref updates aborted by hook/.test(result.stderr)) {
      throw new DotbotError("REJECTED", `a reference-transaction hook rejected it: ${errorLines(result.stderr)}`);
    }
    const lock = /Unable to create '(.+\.lock)': File exists/.exec(result.stderr)?.[1];
    if (lock === undefined || attempt === LOCK_TRIES) throw gitFailure(args, result);
    // Git holds it for an instant only: one that stays, with no git around, was left by a kill.
    await clearLockFiles(ctx.signal, {
      paths: [lock],
      folders: foldersOf(lock, cwd),
      since: new Date(0),
      waitMs: LOCK_WAIT_MS,
    });
  }
}

/** Removes what a killed git left of its locks on these refs, and on those that go with them. */
export async function clearRefLocks(ctx: GitCtx, cwd: string, refs: readonly string[], since: Date): Promise<void> {
  const gitDir = gitDirOf(join(cwd, ".git"));
  const commonDir = gitDir === null ? null : commonDirOf(gitDir);
  if (commonDir === null) return;
  const paths = ["packed-refs", "HEAD", ...refs].map((name) => join(commonDir, `${name}.lock`));
  await clearLockFiles(ctx.signal, { paths, folders: foldersOf(paths[0] ?? "", cwd), since, waitMs: LOCK_WAIT_MS });
}

/** Where a git stands that may hold a lock on a ref: in any checkout. */
function foldersOf(lock: string, cwd: string): string[] {
  const at = lock.search(/[\\/](?:refs[\\/]|packed-refs\.lock$|HEAD\.lock$|worktrees[\\/])/);
  const worktrees = join(at === -1 ? cwd : lock.slice(0, at), "worktrees");
  const linked = (listNames(worktrees) ?? [])
    .map((id) => backLinkOf(join(worktrees, id)))
    .filter((link) => link !== null);
  return [cwd, ...linked.map((link) => dirname(link))];
}

/** Whether everything in `a` is in `b` as well. */
export async function isAncestor(ctx: GitCtx, cwd: string, a: string, b: string): Promise<boolean> {
  if (a === b) return true;
  const args = ["merge-base", "--is-ancestor", "--end-of-options", a, b];
  const { status } = await git(ctx, args, { cwd, probe: true, okStatus: [0, 1] });
  return status === 0;
}

/** The best common ancestor; null when the histories are unrelated. */
export async function mergeBase(ctx: GitCtx, cwd: string, a: string, b: string): Promise<string | null> {
  const { stdout, status } = await git(ctx, ["merge-base", "--end-of-options", a, b], {
    cwd,
    probe: true,
    okStatus: [0, 1],
  });
  return status === 0 ? oneLine(stdout) : null;
}

/** How many commits each has that the other hasn't. */
export async function distance(
  ctx: GitCtx,
  cwd: string,
  a: string,
  b: string,
): Promise<{ ahead: number; behind: number }> {
  const args = ["rev-list", "--left-right", "--count", "--end-of-options", `${a}...${b}`];
  const [ahead = 0, behind = 0] = oneLine(await gitText(ctx, args, { cwd, probe: true }))
    .split("\t")
    .map(Number);
  return { ahead, behind };
}

/** Full names below a prefix, or exactly of that name, with what they point to. */
export async function listRefs(ctx: GitCtx, cwd: string, ...patterns: readonly string[]): Promise<Map<string, string>> {
  const args = ["for-each-ref", "--format=%(objectname) %(refname)", "--", ...patterns];
  const text = await gitText(ctx, args, { cwd, probe: true });
  return new Map(
    parseNul(text.replaceAll("\n", "\0")).map((line) => {
      const at = line.indexOf(" ");
      return [line.slice(at + 1), line.slice(0, at)];
    }),
  );
}

/** Refuses what git wouldn't take for a branch's name, or would take for something else. */
export async function checkBranchName(ctx: GitCtx, cwd: string, name: string): Promise<string> {
  refuseOption(name, "branch");
  const odd = name === "@" || name === "HEAD" || name.startsWith("refs/") || name.startsWith("+") || isOid(name);
  const { status } = odd ? { status: 1 } : await git(ctx, ["check-ref-format", "--branch", name], { cwd, probe: true });
  if (status === 0) return name;
  throw new DotbotError("INVALID_INPUT", `${quote(name)} can't be a branch`, {
    hint: 'give a branch\'s plain name, such as "main"',
  });
}

/** What a branch follows: its configured upstream, else the branch of its name at the only remote, or at origin. */
export interface Upstream {
  /** Full name, `refs/remotes/origin/main`. */
  readonly ref: string;
  readonly oid: string;
  readonly remote: string;
  /** The branch's full name there. */
  readonly remoteRef: string;
}

export async function upstreamOf(ctx: GitCtx, cwd: string, branch: string): Promise<Upstream | null> {
  const format = "--format=%(refname)%00%(upstream)%00%(upstream:remotename)%00%(upstream:remoteref)";
  const [line = ""] = (
    await gitText(ctx, ["for-each-ref", format, "--", branchRef(branch)], { cwd, probe: true })
  ).split("\n");
  const [name = "", ref = "", remote = "", remoteRef = ""] = line.split("\0");
  if (name === branchRef(branch) && ref !== "") {
    const oid = await readRef(ctx, cwd, ref);
    // A branch that follows a local one has "." for its remote: there is nothing to fetch.
    return oid === null || remote === "." || remote === "" ? null : { ref, oid, remote, remoteRef };
  }
  const remotes = (await gitText(ctx, ["remote"], { cwd, probe: true })).split("\n").filter((it) => it !== "");
  const only = remotes.length === 1 ? remotes[0] : remotes.find((it) => it === "origin");
  if (only === undefined) return null;
  const guess = `refs/remotes/${only}/${branch}`;
  const oid = await readRef(ctx, cwd, guess);
  return oid === null ? null : { ref: guess, oid, remote: only, remoteRef: branchRef(branch) };
}
