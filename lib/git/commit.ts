/**
 * A commit of exactly the paths that were named, made by git itself, so that the repository's hooks, filters and signing run.
 *
 * Invariants:
 * - Whatever else is staged stays staged and out of the commit; whatever else is changed stays as it is.
 * - Paths are literal. Git gets a list of the changed files alone, never a folder: what appears in one meanwhile stays out.
 * - A failed commit leaves the index as it was; a lock of somebody else's is waited for, never removed.
 * - What was committed is read back and compared with what was declared.
 */
import { join } from "node:path";

import { DotbotError } from "../error.ts";
import { lstatOrNull } from "../files.ts";
import { quote } from "../text.ts";
import { retryLocked, withIndexLock, type IndexCtx } from "./index-lock.ts";
import { isDeclared } from "./paths.ts";
import { errorLines, oneLine, parseNul, parseStatus, type Status, type StatusEntry } from "./parse.ts";
import { git, gitFailure, gitText, type GitResult } from "./run.ts";
import { operationInProgress } from "./state.ts";

export type CommitCtx = IndexCtx;

export interface Checkout {
  /** The toplevel, physical. */
  readonly workRoot: string;
  readonly gitDir: string;
}

export interface CommitRequest {
  /** Paths of the tree as `declaredPath` gives them, folders too; null: what is staged. */
  readonly paths: readonly string[] | null;
  readonly message: string;
  /** Throws for a path that mustn't be in the commit. Called with all that will be, before anything is changed. */
  readonly check?: (paths: readonly string[]) => void;
}

export interface Committed {
  readonly sha: string;
  /** The paths that the commit changes, read back from it. */
  readonly paths: readonly string[];
  /** Files of which only a part was staged: all of them was committed, since they were named. */
  readonly whole: readonly string[];
}

/**
 * Commits; null when there is nothing to commit. Throws NOT_FOUND (a path that is neither there nor tracked), INVALID_INPUT
 * (empty message or list, an ignored path, a repository of its own), REFUSED (half of a rename, a conflict, a merge that has to
 * be committed whole), REJECTED (hook, signing), LOCKED, SWEPT_IN (the commit stands, with more in it than was declared; in
 * `details` what), UNVERIFIED (it stands, and couldn't be read back).
 */
export async function commitPaths(ctx: CommitCtx, tree: Checkout, request: CommitRequest): Promise<Committed | null> {
  if (request.message.trim() === "") {
    throw new DotbotError("INVALID_INPUT", "the commit message is empty", { hint: "say what the commit does" });
  }
  const { entries: before, branch } = await statusOf(ctx, tree);
  const plan = request.paths === null ? stagedPlan(before) : await namedPlan(ctx, tree, before, request.paths);
  if (plan.paths.length === 0 && !plan.concludes(tree)) return null;
  request.check?.(plan.paths);

  return await withIndexLock(
    ctx,
    tree.gitDir,
    async (env) => await commitPlan(ctx, tree, request.message, plan, { before, head: branch?.oid ?? null, env }),
  );
}

async function commitPlan(
  ctx: CommitCtx,
  tree: Checkout,
  message: string,
  plan: Plan,
  { before, head, env }: { before: readonly StatusEntry[]; head: string | null; env: Readonly<Record<string, string>> },
): Promise<Committed | null> {
  let made = false;
  try {
    if (plan.fresh.length > 0) await stage(ctx, tree, plan.fresh, ["--intent-to-add"]);
    const result = await retryLocked(ctx, async () => await git(ctx, ...commitCall(tree, message, plan, env)));
    made = result.status === 0;
    if (made) return await verified(ctx, tree, result, plan, before);
    if (/^(?:nothing to commit|nothing added to commit|no changes added to commit)/m.test(result.stdout)) return null;
    made = await wasMade(ctx, tree, head, plan);
    throw made ? unverified(errorLines(result.stderr)) : commitFailure(result);
  } finally {
    // After an abort as well, so with a signal of its own.
    if (!made && plan.fresh.length > 0)
      await unstage(
        { env: ctx.env, signal: new AbortController().signal, lockWaitMs: ctx.lockWaitMs, uuid: ctx.uuid },
        tree,
        plan.fresh,
      );
  }
}

/** Stages declared paths as they are in the tree. Throws like `commitPaths`; a conflict that is staged counts as resolved. */
export async function addPaths(
  ctx: CommitCtx,
  tree: Checkout,
  paths: readonly string[],
  check?: (paths: readonly string[]) => void,
): Promise<readonly string[]> {
  const { entries: before } = await statusOf(ctx, tree);
  const found = await changedIn(ctx, tree, before, paths);
  const changed = found.filter((entry) => entry.tree !== "." || entry.kind === "unmerged").map(({ path }) => path);
  check?.(found.map(({ path }) => path));
  if (changed.length > 0) await withIndexLock(ctx, tree.gitDir, async () => await stage(ctx, tree, changed, []));
  return changed;
}

// ── what goes in ─────────────────────────────────────────────────────────────────────────────────────────────────────

interface Plan {
  /** Files and submodules that the commit will change. */
  readonly paths: readonly string[];
  /** Those of them that git doesn't track yet. */
  readonly fresh: readonly string[];
  readonly whole: readonly string[];
  /** Git gets the paths by name; otherwise it commits the index. */
  readonly named: boolean;
  /** Whether a commit without changes has a meaning: it ends a merge. */
  readonly concludes: (tree: Checkout) => boolean;
}

function stagedPlan(before: readonly StatusEntry[]): Plan {
  const staged = before.filter(({ index, kind }) => index !== "." && kind !== "untracked");
  const unmerged = staged.filter(({ kind }) => kind === "unmerged");
  if (unmerged.length > 0) throw conflicts(unmerged);
  return {
    paths: staged.flatMap(bothPaths),
    fresh: [],
    whole: [],
    named: false,
    concludes: ({ gitDir }) => operationInProgress(gitDir) === "merge",
  };
}

async function namedPlan(
  ctx: CommitCtx,
  tree: Checkout,
  before: readonly StatusEntry[],
  declared: readonly string[],
): Promise<Plan> {
  if (declared.length === 0) {
    throw new DotbotError("INVALID_INPUT", "no path is named, and git would commit all that is staged", {
      hint: "name the files",
    });
  }
  const found = await changedIn(ctx, tree, before, declared);
  const unmerged = found.filter(({ kind }) => kind === "unmerged");
  if (unmerged.length > 0) throw conflicts(unmerged);
  const operation = operationInProgress(tree.gitDir);
  // What a pick between two commits of a series leaves doesn't stop git, and its head does, in a rebase as well.
  if (operation !== null && HEADS.some((head) => lstatOrNull(join(tree.gitDir, head)) !== null)) {
    throw new DotbotError("REFUSED", `a ${operation} is in progress, and git commits all of it or nothing`, {
      hint: `stage what is resolved, and end the ${operation} by committing without naming files`,
    });
  }
  const halves = found.flatMap(({ path, from }) =>
    from === undefined || (isDeclared(path, declared) && isDeclared(from, declared)) ? [] : [{ path, from }],
  );
  const [half] = halves;
  if (half !== undefined) {
    const { path, from } = half;
    throw new DotbotError(
      "REFUSED",
      `${quote(from, 200)} was renamed to ${quote(path, 200)}, and only one of the two is named`,
      {
        hint: "name both: the commit would otherwise hold the file twice, or not at all",
        details: { missing: halves.map((it) => (isDeclared(it.path, declared) ? it.from : it.path)) },
      },
    );
  }
  return {
    paths: found.flatMap(bothPaths),
    fresh: found.filter(({ kind }) => kind === "untracked").map(({ path }) => path),
    whole: found
      .filter(({ kind, index, tree: work }) => kind !== "untracked" && index !== "." && work !== ".")
      .map(({ path }) => path),
    named: true,
    concludes: () => false,
  };
}

/** Files in a git dir with which git makes no commit of named paths alone. */
const HEADS = ["MERGE_HEAD", "CHERRY_PICK_HEAD"] as const;

function bothPaths({ path, from }: StatusEntry): string[] {
  return from === undefined ? [path] : [path, from];
}

/** What is changed at the declared paths. Throws for a path at which there is nothing that a commit could hold. */
async function changedIn(
  ctx: CommitCtx,
  tree: Checkout,
  status: readonly StatusEntry[],
  declared: readonly string[],
): Promise<readonly StatusEntry[]> {
  const found = status.filter((entry) =>
    bothPaths(entry).some((path) => isDeclared(path.replace(/\/$/, ""), declared)),
  );
  for (const { path, kind } of found) {
    if (path.includes("\uFFFD")) {
      throw new DotbotError("INVALID_INPUT", `the name of ${quote(path, 200)} isn't valid UTF-8`, {
        hint: "rename it",
      });
    }
    // Git lists a repository inside the tree as a folder, and would record its commit without a way to fetch it.
    if (kind === "untracked" && path.endsWith("/")) {
      throw new DotbotError(
        "INVALID_INPUT",
        `${quote(path.slice(0, -1), 200)} is a repository of its own, and no submodule of this one`,
        {
          hint: "name the files beside it",
        },
      );
    }
  }
  const idle = declared.filter(
    (path) => path !== "" && !found.some((entry) => bothPaths(entry).some((it) => isDeclared(it, [path]))),
  );
  if (idle.length > 0) await explainIdle(ctx, tree, idle);
  return found;
}

/** Nothing is changed at these paths: fine where git tracks something there, a mistake where it doesn't. */
async function explainIdle(ctx: CommitCtx, { workRoot }: Checkout, paths: readonly string[]): Promise<void> {
  const lost: string[] = [];
  for (const path of paths) {
    const listed = await gitText(ctx, ["--literal-pathspecs", "ls-files", "-z", "--", path], {
      cwd: workRoot,
      probe: true,
    });
    if (listed === "") lost.push(path);
  }
  for (const path of lost) {
    const args = ["check-ignore", "-q", "--no-index", "--", path];
    if (lstatOrNull(join(workRoot, path)) === null) throw await nothingThere(ctx, workRoot, path);
    if ((await git(ctx, args, { cwd: workRoot, probe: true })).status === 0) {
      throw new DotbotError("INVALID_INPUT", `${quote(path, 200)} is ignored, and ignored files aren't committed`, {
        hint: "change .gitignore where it should be tracked",
        details: { path },
      });
    }
  }
}

async function nothingThere(ctx: CommitCtx, workRoot: string, path: string): Promise<DotbotError> {
  const tracked = parseNul(
    await gitText(ctx, ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: workRoot,
      probe: true,
    }),
  );
  // Two spellings of one accented name look alike and are different names.
  const like = tracked.find((it) => it !== path && it.normalize("NFC") === path.normalize("NFC"));
  const folded = like ?? tracked.find((it) => it.toLowerCase() === path.toLowerCase());
  return new DotbotError("NOT_FOUND", `${quote(path, 200)} is neither there nor tracked`, {
    ...(folded === undefined
      ? { hint: "paths are relative to the folder that dir names, and literal: no globs" }
      : { hint: `there is ${JSON.stringify(folded)}, which is written differently` }),
    details: { path, workRoot, ...(folded === undefined ? {} : { similar: folded }) },
  });
}

function conflicts(entries: readonly StatusEntry[]): DotbotError {
  const paths = entries.map(({ path }) => path);
  return new DotbotError(
    "REFUSED",
    `there are conflicts in ${paths
      .slice(0, 5)
      .map((path) => quote(path))
      .join(", ")}`,
    {
      hint: "resolve them, and stage each file to say so",
      details: { paths },
    },
  );
}

// ── git's part ───────────────────────────────────────────────────────────────────────────────────────────────────────

async function statusOf(ctx: CommitCtx, { workRoot }: Checkout): Promise<Status> {
  const args = [
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",
    "--no-ahead-behind",
    "--untracked-files=all",
    "--find-renames",
    "--ignore-submodules=dirty",
  ];
  return parseStatus(await gitText(ctx, args, { cwd: workRoot, probe: true }));
}

/** User's configuration that would change what a commit means is set aside; what is the repository's policy stays. */
function commitCall(
  { workRoot }: Checkout,
  message: string,
  plan: Plan,
  env: Readonly<Record<string, string>>,
): [string[], Parameters<typeof git>[2]] {
  const args = [
    "-c",
    // The summary is read for the commit's id: the next commit of another process may come before any other question.
    "core.abbrev=no",
    "--literal-pathspecs",
    "commit",
    "--cleanup=whitespace",
    "--no-status",
    "-m",
    message,
  ];
  if (!plan.named) return [args, { cwd: workRoot, env }];
  return [
    [...args, "--only", "--pathspec-from-file=-", "--pathspec-file-nul"],
    { cwd: workRoot, env, input: nulList(plan.paths) },
  ];
}

async function stage(
  ctx: CommitCtx,
  tree: Checkout,
  paths: readonly string[],
  flags: readonly string[],
): Promise<void> {
  const args = ["--literal-pathspecs", "add", ...flags, "--pathspec-from-file=-", "--pathspec-file-nul"];
  const options = { cwd: tree.workRoot, input: nulList(paths) };
  const result = await retryLocked(ctx, async () => await git(ctx, args, options));
  if (result.status !== 0) throw gitFailure(["add"], result);
}

/** Takes the index back to HEAD for these paths; the tree isn't touched. */
async function unstage(ctx: CommitCtx, tree: Checkout, paths: readonly string[]): Promise<void> {
  const args = ["--literal-pathspecs", "reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul"];
  await retryLocked(ctx, async () => await git(ctx, args, { cwd: tree.workRoot, input: nulList(paths) }));
}

function nulList(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0`).join("");
}

function commitFailure(result: GitResult): DotbotError {
  const words = errorLines(result.stderr) || errorLines(result.stdout) || `it ended with status ${result.status}`;
  if (/Please tell me who you are|empty ident name|unable to auto-detect email/.test(result.stderr)) {
    return new DotbotError("GIT_FAILED", `git knows nobody to commit as: ${words}`, {
      hint: "set user.name and user.email in git's configuration",
      example: 'git config user.name "Ada Lovelace" && git config user.email ada@example.com',
    });
  }
  const known = gitFailure(["commit"], result);
  // Git itself dies of what it can't do; with 1 ends what a hook stopped, whatever the words that it left.
  if (known.code !== "GIT_FAILED" && (result.status !== 1 || known.code === "READ_ONLY")) return known;
  return new DotbotError("REJECTED", `the commit was rejected: ${words}`, {
    hint: "a hook or signing stopped it; nothing was committed, and what was staged still is",
    details: { status: result.status },
  });
}

// ── reading back ─────────────────────────────────────────────────────────────────────────────────────────────────────

async function verified(
  ctx: CommitCtx,
  tree: Checkout,
  result: GitResult,
  plan: Plan,
  before: readonly StatusEntry[],
): Promise<Committed> {
  let sha: string;
  let paths: string[];
  let extra: string[];
  try {
    sha = await committedSha(ctx, tree, result);
    paths = await pathsOf(ctx, tree, sha);
    const declared = new Set(plan.paths);
    extra = paths.filter((path) => !declared.has(path));
    // A hook that added or changed files did so in a temporary index: the real one would take them back with the next commit.
    const staged = new Set(
      before.filter(({ index, kind }) => index !== "." && kind !== "untracked").flatMap(bothPaths),
    );
    const lagging = plan.named
      ? await laggingIn(
          ctx,
          tree,
          paths.filter((path) => declared.has(path) || !staged.has(path)),
        )
      : [];
    if (lagging.length > 0) await unstage(ctx, tree, lagging);
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    throw unverified(error instanceof Error ? error.message : String(error));
  }
  if (extra.length > 0) {
    throw new DotbotError(
      "SWEPT_IN",
      `commit ${sha.slice(0, 12)} holds ${extra
        .slice(0, 5)
        .map((path) => quote(path))
        .join(
          ", ",
        )}, which ${extra.length === 1 ? "wasn't" : "weren't"} declared: a hook put ${extra.length === 1 ? "it" : "them"} in`,
      {
        hint: "the commit stands: keep it if that is wanted, or undo it and mend the hook",
        details: { sha, sweptIn: extra, paths },
      },
    );
  }
  return { sha, paths, whole: plan.whole };
}

function unverified(why: string): DotbotError {
  return new DotbotError("UNVERIFIED", `the commit was made, but reading it back failed: ${why}`, {
    hint: "look at the last commit before going on",
    example: "git show --stat",
  });
}

/** Whether git made the commit although it ended badly: a hook that runs after it, or what git prints then, may fail. */
async function wasMade(ctx: CommitCtx, tree: Checkout, before: string | null, plan: Plan): Promise<boolean> {
  try {
    const now = await git(ctx, ["rev-parse", "-q", "--verify", "HEAD"], { cwd: tree.workRoot, probe: true });
    const sha = oneLine(now.stdout);
    if (now.status === 1 || sha === before) return false;
    const declared = new Set(plan.paths);
    // Somebody else may have committed meanwhile, and then it is other paths that changed.
    return now.status !== 0 || (await pathsOf(ctx, tree, sha)).every((path) => declared.has(path));
  } catch {
    return true;
  }
}

async function committedSha(ctx: CommitCtx, { workRoot }: Checkout, result: GitResult): Promise<string> {
  const told = /^\[.* ([0-9a-f]{40}|[0-9a-f]{64})\] /m.exec(result.stdout)?.[1];
  return (
    told ?? oneLine(await gitText(ctx, ["rev-parse", "--verify", "HEAD^{commit}"], { cwd: workRoot, probe: true }))
  );
}

/** The paths in which a commit differs from its first parent. */
async function pathsOf(ctx: CommitCtx, { workRoot }: Checkout, sha: string): Promise<string[]> {
  const at = { cwd: workRoot, probe: true };
  const [, parent] = oneLine(await gitText(ctx, ["rev-list", "--parents", "-n1", sha], at)).split(" ");
  const range = parent === undefined ? ["--root", sha] : [parent, sha];
  const args = ["diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", "--name-only", ...range];
  return parseNul(await gitText(ctx, args, at));
}

/** Those of the paths at which the index differs from HEAD. */
async function laggingIn(ctx: CommitCtx, { workRoot }: Checkout, paths: readonly string[]): Promise<string[]> {
  const args = ["diff-index", "--cached", "-z", "--no-renames", "--name-only", "--ignore-submodules=none", "HEAD"];
  const differing = new Set(parseNul(await gitText(ctx, args, { cwd: workRoot, probe: true })));
  return paths.filter((path) => differing.has(path));
}
