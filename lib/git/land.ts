/**
 * Brings a branch's work onto another branch as exactly one commit, or not at all. The branch itself is never rewritten, and
 * nothing moves before the journal says what is about to move.
 *
 * Whoever lands holds the repository's lock.
 */
import { join } from "node:path";

import { DotbotError } from "../error.ts";
import { listNames, lstatOrNull, makeDirectory, readText, removeFile, writeAtomic } from "../files.ts";
import { quote, shellWord } from "../text.ts";
import { ledgerFolder } from "../task/ledger.ts";
import { advance, refuseOverlap, type Advance, type AdvancePlace } from "./advance.ts";
import { branchInOperation, checkoutsOn, gitDirAt, listCheckouts } from "./checkouts.ts";
import { operationInProgress } from "./state.ts";
import {
  changesBetween,
  commitTree,
  mergeCommits,
  mergeTrees,
  treeWith,
  type Change,
  type Entry,
  type Merged,
} from "./merge.ts";
import { configBool, errorLines, oneLine, parseNul } from "./parse.ts";
import { branchRef, distance, isAncestor, mergeBase, readRef, treeOf, upstreamOf } from "./refs.ts";
import { git, gitText, type GitCtx } from "./run.ts";

/** Tries when the base moves between the merge and its landing. */
const TRIES = 8;

export interface LandRequest {
  readonly place: AdvancePlace;
  /** The branch that gains a commit, by its short name. */
  readonly base: string;
  /** What is merged into the base as it is at that moment. */
  readonly merge: (old: string) => Promise<Merged>;
  /** The commit of that tree on `old`; no ref moves. */
  readonly commit: (tree: string, old: string) => Promise<string>;
  /** Fast-forwards the base to what its remote has, first. */
  readonly fetch: boolean;
  /** Called before each move with what it will be; on disk when it returns. */
  readonly journal: (move: Advance, why: "fetch" | "land") => void;
  /** The move that was announced isn't going to happen. */
  readonly forget: () => void;
  /** Stop before anything changes. */
  readonly dryRun?: boolean;
}

export type Landed =
  | {
      readonly is: "landed" | "planned";
      readonly old: string;
      readonly commit: string | null;
      readonly tree: string;
      readonly checkout: string | null;
      readonly changes: readonly Change[];
    }
  | { readonly is: "nothing"; readonly old: string }
  | { readonly is: "conflict"; readonly old: string; readonly files: readonly string[] };

/**
 * Lands. Errors: NOT_FOUND (no such base), REFUSED (base behind its remote, mid-operation, checked out twice or out of reach,
 * or moving too fast), DIRTY, REJECTED, and what git says.
 */
export async function land(ctx: GitCtx, request: LandRequest): Promise<Landed> {
  const { place, base } = request;
  const ref = branchRef(base);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const checkout = await checkoutOf(ctx, place, base);
    const old = await upToDate(ctx, request, checkout);
    const merged = await request.merge(old);
    if (!merged.clean) return { is: "conflict", old, files: merged.files };
    if (merged.tree === (await treeOf(ctx, place.mainRoot, old))) return { is: "nothing", old };
    const changes = await changesBetween(ctx, place.mainRoot, old, merged.tree);
    if (request.dryRun === true) {
      if (checkout !== null) await refuseOverlap(ctx, checkout, changes);
      return { is: "planned", old, commit: null, tree: merged.tree, checkout, changes };
    }
    const commit = await request.commit(merged.tree, old);
    const move = { ref, old, to: commit, checkout };
    request.journal(move, "land");
    const done = await advance(ctx, place, move);
    if (done === "done") return { is: "landed", old, commit, tree: merged.tree, checkout, changes };
    request.forget();
    if (typeof done === "object") throw done;
  }
  throw new DotbotError("REFUSED", `${quote(base)} moved ${TRIES} times while the merge was made`, {
    hint: "run it again",
  });
}

/** The one checkout that has the branch, or null. Errors: REFUSED when it can't be moved there. */
export async function checkoutOf(ctx: GitCtx, place: AdvancePlace, base: string): Promise<string | null> {
  const ref = branchRef(base);
  const records = await listCheckouts(ctx, place.mainRoot);
  const refuse = (why: string, hint: string, example?: string): never => {
    throw new DotbotError("REFUSED", `${quote(base)} ${why}`, {
      hint,
      ...(example === undefined ? {} : { example }),
      details: { base },
    });
  };
  for (const record of records) {
    const gitDir = record.bare ? null : gitDirAt(record.path);
    const operation = gitDir === null ? null : operationInProgress(gitDir);
    if (gitDir === null || operation === null) continue;
    if (record.branch === ref || branchInOperation(gitDir) === ref) {
      refuse(
        `is in the middle of a ${operation} in ${quote(record.path, 300)}`,
        "finish or abort it first",
        `git -C ${shellWord(record.path)} status`,
      );
    }
  }
  const [found, second] = checkoutsOn(records, ref);
  if (found === undefined) return null;
  if (second !== undefined) {
    refuse(
      `is checked out twice: ${quote(found.path, 300)} and ${quote(second.path, 300)}`,
      "switch one of them to another branch",
    );
  }
  if (found.prunable !== null || gitDirAt(found.path) === null) {
    refuse(
      `is checked out in ${quote(found.path, 300)}, which can't be reached`,
      "make that folder reachable, or remove its registration: moving the branch behind its back would show there as a revert",
      `git worktree remove ${shellWord(found.path)}`,
    );
  }
  return found.path;
}

/** The base's tip, once it isn't behind its remote. */
async function upToDate(ctx: GitCtx, request: LandRequest, checkout: string | null): Promise<string> {
  const { place, base } = request;
  const cwd = place.mainRoot;
  const ref = branchRef(base);
  const old = await readRef(ctx, cwd, ref);
  if (old === null) {
    throw new DotbotError("NOT_FOUND", `the base branch ${quote(base)} doesn't exist`, {
      hint: "it was deleted or renamed: bring it back, or name another one",
      details: { base },
    });
  }
  let upstream = await upstreamOf(ctx, cwd, base);
  if (upstream !== null && request.fetch) {
    await gitText(
      ctx,
      ["fetch", "--quiet", "--no-tags", "--end-of-options", upstream.remote, `+${upstream.remoteRef}:${upstream.ref}`],
      { cwd },
    );
    upstream = await upstreamOf(ctx, cwd, base);
  }
  if (upstream === null || upstream.oid === old) return old;
  const { ahead, behind } = await distance(ctx, cwd, old, upstream.oid);
  if (behind === 0) return old;
  const remote = upstream.ref.replace("refs/remotes/", "");
  const details = { base, upstream: remote, ahead, behind };
  if (ahead > 0) {
    throw new DotbotError(
      "REFUSED",
      `${quote(base)} and ${quote(remote)} have diverged: ${ahead} and ${behind} commits`,
      {
        hint: "bring them together first",
        example: `git -C ${shellWord(checkout ?? cwd)} pull --rebase`,
        details,
      },
    );
  }
  if (!request.fetch) {
    throw new DotbotError(
      "REFUSED",
      `${quote(base)} is ${behind} ${behind === 1 ? "commit" : "commits"} behind ${quote(remote)}`,
      {
        hint: "pull first, or let it be fast-forwarded with --fetch",
        details,
      },
    );
  }
  if (request.dryRun === true) return upstream.oid;
  const move = { ref, old, to: upstream.oid, checkout };
  request.journal(move, "fetch");
  const done = await advance(ctx, place, move);
  request.forget();
  if (typeof done === "object") throw done;
  return done === "done" ? upstream.oid : await upToDate(ctx, request, checkout);
}

// ── what is merged ───────────────────────────────────────────────────────────────────────────────────────────────────

/** A branch's tip, with some of its changes left out. */
export interface Work {
  /** The commit that carries the rest. */
  readonly commit: string;
  /** What its changes are counted from. */
  readonly from: string;
}

/**
 * The tip of a branch without some of its changes since `from`: `undo` chooses them and says what stands there instead.
 * The same commit when there are none.
 */
export async function workOf(
  ctx: GitCtx,
  place: AdvancePlace,
  branch: { readonly tip: string; readonly from: string },
  undo: (changes: readonly Change[]) => ReadonlyMap<string, Entry | null>,
): Promise<Work> {
  const { tip, from } = branch;
  const entries = undo(await changesBetween(ctx, place.mainRoot, from, tip));
  if (entries.size === 0) return { commit: tip, from };
  const folder = ledgerFolder(place.commonDir);
  makeDirectory(folder);
  const index = join(folder, "merge-index");
  try {
    const tree = await treeWith(ctx, place.mainRoot, tip, entries, index);
    return {
      commit: await commitTree(ctx, place.mainRoot, { tree, parents: [from], message: "without the queue\n" }),
      from,
    };
  } finally {
    removeFile(index);
    removeFile(`${index}.lock`);
  }
}

/** Where a branch's own changes begin: its common ancestor with `base`. Error: REFUSED for unrelated histories. */
export async function forkPoint(ctx: GitCtx, place: AdvancePlace, base: string, tip: string): Promise<string> {
  const from = await mergeBase(ctx, place.mainRoot, base, tip);
  if (from !== null) return from;
  throw new DotbotError(
    "REFUSED",
    `${quote(base.slice(0, 12))} and ${quote(tip.slice(0, 12))} have no common history`,
    {
      hint: "a branch can only be completed onto the branch that it was cut from",
    },
  );
}

/** Merges work into `old`: by the commits' own history, unless its changes are counted from elsewhere. */
export async function mergeWork(ctx: GitCtx, place: AdvancePlace, old: string, work: Work): Promise<Merged> {
  const cwd = place.mainRoot;
  const natural = await mergeBase(ctx, cwd, old, work.commit);
  if (natural === work.from || (natural !== null && (await isAncestor(ctx, cwd, work.from, natural)))) {
    return await mergeCommits(ctx, cwd, old, work.commit);
  }
  return await mergeTrees(ctx, cwd, { base: work.from, ours: old, theirs: work.commit });
}

// ── the commit ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Author {
  readonly name: string;
  readonly email: string;
}

/** Who wrote the commits of a branch: most commits first, then the earlier. */
export async function authorsOf(ctx: GitCtx, cwd: string, from: string, tip: string): Promise<Author[]> {
  const args = [
    "log",
    "-z",
    "--reverse",
    "--no-merges",
    "--no-show-signature",
    "--format=%an%n%ae",
    "--end-of-options",
    `${from}..${tip}`,
  ];
  const counts = new Map<string, number>();
  for (const line of parseNul(await gitText(ctx, args, { cwd, probe: true })))
    counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([line]) => ({ name: line.split("\n")[0] ?? "", email: line.split("\n")[1] ?? "" }));
}

/** A message's trailers for those who aren't its author. */
export function coAuthors(authors: readonly Author[]): string {
  const lines = authors.slice(1).map((author) => `Co-authored-by: ${author.name} <${author.email}>\n`);
  return lines.length === 0 ? "" : `\n${lines.join("")}`;
}

/**
 * The commit that lands: message passed through the commit-msg hook, the first author its author, signed where the user signs.
 * Errors: REJECTED.
 */
export async function landingCommit(
  ctx: GitCtx,
  place: AdvancePlace,
  commit: {
    readonly tree: string;
    readonly parent: string;
    readonly message: string;
    readonly authors: readonly Author[];
    readonly hookIn: string;
  },
): Promise<string> {
  const message = await throughCommitMsg(ctx, place, commit.message, commit.hookIn);
  const signing = await git(ctx, ["config", "--type=bool", "--get", "commit.gpgSign"], {
    cwd: place.mainRoot,
    probe: true,
  });
  const [author] = commit.authors;
  return await commitTree(ctx, place.mainRoot, {
    tree: commit.tree,
    parents: [commit.parent],
    message,
    sign: signing.status === 0 && configBool(oneLine(signing.stdout)) === true,
    ...(author === undefined || author.name === ""
      ? {}
      : { identity: { GIT_AUTHOR_NAME: author.name, GIT_AUTHOR_EMAIL: author.email } }),
  });
}

async function throughCommitMsg(ctx: GitCtx, place: AdvancePlace, message: string, cwd: string): Promise<string> {
  const folder = ledgerFolder(place.commonDir);
  makeDirectory(folder);
  const file = join(folder, "COMMIT_EDITMSG");
  try {
    writeAtomic(file, message, { durable: false });
    const result = await git(ctx, ["hook", "run", "--ignore-missing", "commit-msg", "--", file], { cwd });
    if (result.status !== 0) {
      const words = errorLines(result.stderr) || errorLines(result.stdout) || `status ${result.status}`;
      throw new DotbotError(
        "REJECTED",
        `the commit-msg hook rejected ${quote(message.split("\n")[0] ?? "")}: ${words}`,
        {
          hint: "the subject is set by commit.format; nothing was changed",
          example: "dotbot config show commit.format",
          details: { hook: "commit-msg", status: result.status },
        },
      );
    }
    const changed = readText(file) ?? message;
    if (changed.trim() === "")
      throw new DotbotError("REJECTED", "the commit-msg hook left an empty message", {
        details: { hook: "commit-msg" },
      });
    return changed;
  } finally {
    removeFile(file);
  }
}

/** Hooks of the repository that a commit by hand would have run and that can't run for a commit without a checkout. */
export async function hooksNotRun(ctx: GitCtx, cwd: string): Promise<string[]> {
  // Not a probe: those look away from the hooks.
  const found = await git(ctx, ["rev-parse", "--path-format=absolute", "--git-path", "hooks"], { cwd });
  const folder = found.status === 0 ? oneLine(found.stdout) : null;
  if (folder === null) return [];
  const names = new Set(listNames(folder) ?? []);
  return ["pre-commit", "pre-merge-commit", "prepare-commit-msg", "post-commit"].filter((name) => {
    const stat = names.has(name) ? lstatOrNull(join(folder, name)) : null;
    return stat !== null && (process.platform === "win32" || stat.isSymbolicLink() || (stat.mode & 0o111) !== 0);
  });
}
