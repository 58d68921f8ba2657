/**
 * Moves a branch forward from one commit to the next, in the checkout that has it, or by its ref alone when none does.
 *
 * Invariants: the user's staged, unstaged and untracked work stays as it is, byte for byte, or the move is refused before
 * anything changes. Never a checkout of another branch, a stash, a reset or a clean. The ref moves last; from (OLD, NEW,
 * checkout) alone any half state can be told, and taken back or finished.
 */
import { dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import { lstatOrNull, readBytes, readLink, removeEmptyDirectory, removeFile } from "../files.ts";
import { count, quote, shellWord } from "../text.ts";
import { gitDirAt, hiddenEdits, indexOf, statusOf } from "./checkouts.ts";
import { changesBetween, type Change } from "./merge.ts";
import { headOf, isWithin } from "./native.ts";
import { errorLines } from "./parse.ts";
import { isAncestor, moveRef, readRef } from "./refs.ts";
import { git, gitFailure, gitText, type GitCtx } from "./run.ts";
import { clearLockFiles, workMark } from "./stale.ts";

export interface Advance {
  /** Full name, `refs/heads/main`. */
  readonly ref: string;
  readonly old: string;
  readonly to: string;
  /** The checkout that has the branch, or null. */
  readonly checkout: string | null;
}

export interface AdvancePlace {
  /** Where git runs for the repository as a whole. */
  readonly mainRoot: string;
  readonly commonDir: string;
}

const BUSY_TRIES = 20;
const BUSY_PAUSE_MS = 100;

/**
 * Does it. `moved`: the branch wasn't at `old` any more. An error that is returned is a refusal: DIRTY (work of the user's is in
 * the way, by name), REJECTED (a hook, a filter), LOCKED, READ_ONLY, GIT_FAILED. After each of these everything is as it was.
 * An error that is thrown says nothing of the kind: the journal is still needed, and `settleAdvance` has to look.
 */
export async function advance(
  ctx: GitCtx,
  place: AdvancePlace,
  move: Advance,
): Promise<"done" | "moved" | DotbotError> {
  return move.checkout === null
    ? await advanceRef(ctx, place, move)
    : await advanceCheckout(ctx, place, { ...move, checkout: move.checkout });
}

async function advanceRef(ctx: GitCtx, place: AdvancePlace, move: Advance): Promise<"done" | "moved" | DotbotError> {
  const refused = await orRefusal(async () => {
    const done = await moveRef(ctx, place.mainRoot, {
      ref: move.ref,
      to: move.to,
      old: move.old,
      why: "dotbot: complete",
    });
    return done ? ("done" as const) : ("moved" as const);
  });
  // A git that was killed may have done it all the same.
  const now = typeof refused === "object" ? await readRef(ctx, place.mainRoot, move.ref) : null;
  return now === move.to ? "done" : refused;
}

async function advanceCheckout(
  ctx: GitCtx,
  place: AdvancePlace,
  move: Advance & { readonly checkout: string },
): Promise<"done" | "moved" | DotbotError> {
  const { checkout } = move;
  const since = new Date();
  for (let attempt = 1; ; attempt++) {
    const refused = await orRefusal(async () => {
      await refuseOverlap(ctx, checkout, await changesBetween(ctx, place.mainRoot, move.old, move.to));
      // Right before: a fast-forward moves whatever branch is checked out.
      requireBranch(checkout, place.commonDir, move.ref);
      return null;
    });
    if (refused !== null) return refused;
    const result = await git(ctx, [...FAST_FORWARD, "--end-of-options", move.to], {
      cwd: checkout,
      env: { ...workMark(place.commonDir), ...withoutMergeOptions(move.ref) },
    });
    if (result.status === 0 && (await readRef(ctx, place.mainRoot, move.ref)) === move.to) return "done";
    const busy = /index\.lock': File exists|HEAD\.lock': File exists/.test(result.stderr);
    if (busy && attempt < BUSY_TRIES) {
      ctx.signal.throwIfAborted();
      await Bun.sleep(BUSY_PAUSE_MS);
      continue;
    }
    if (busy) return gitFailure(["merge"], result);
    // Refused before it began, cut short, or failed half-way: the same question, the same answer.
    const settled = await settleAdvance(ctx, place, move, since, 5_000);
    if (settled === "done") return "done";
    return settled === "elsewhere" ? "moved" : mergeRefusal(result, checkout);
  }
}

/** For steps that change nothing when they fail. */
async function orRefusal<T>(step: () => Promise<T>): Promise<T | DotbotError> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof DotbotError) return error;
    throw error;
  }
}

/** Whatever the user's configuration says: only a fast-forward, nothing stashed, nothing overwritten, nobody asked. */
export const FAST_FORWARD = [
  "-c",
  "merge.autoStash=false",
  "-c",
  "merge.verifySignatures=false",
  "-c",
  "submodule.recurse=false",
  "-c",
  "advice.diverging=false",
  "merge",
  "--quiet",
  "--ff-only",
  // Another one may be set for all merges, and some (ours, subtree) never fast-forward.
  "--strategy=ort",
  "--no-squash",
  "--commit",
  "--no-edit",
  "--no-stat",
  "--no-autostash",
  "--no-verify-signatures",
  "--no-overwrite-ignore",
] as const;

/** `branch.<name>.mergeOptions` stand before the options given. In variables: a branch's name may have "=" in it. */
export function withoutMergeOptions(ref: string): Record<string, string> {
  return {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `branch.${ref.slice("refs/heads/".length)}.mergeOptions`,
    GIT_CONFIG_VALUE_0: "",
  };
}

function requireBranch(checkout: string, commonDir: string, ref: string): void {
  const gitDir = gitDirAt(checkout);
  const head = gitDir === null ? null : headOf(gitDir, commonDir);
  if (head !== null && (head.branch === null || `refs/heads/${head.branch}` !== ref)) {
    throw new DotbotError("REFUSED", `${quote(checkout, 300)} isn't on ${quote(ref)} any more`, {
      hint: "run it again",
    });
  }
}

/** Refuses when what would change overlaps with anything of the user's in that checkout. */
export async function refuseOverlap(ctx: GitCtx, checkout: string, changes: readonly Change[]): Promise<void> {
  const status = await statusOf(ctx, checkout, { untracked: "no" });
  const changed = new Set(changes.map((change) => change.path));
  const folders = new Set(changes.flatMap((change) => foldersOf(change.path)));
  const touches = (path: string): boolean =>
    changed.has(path) || folders.has(path) || foldersOf(path).some((folder) => changed.has(folder));
  const concerned = (await indexOf(ctx, checkout)).filter((entry) => touches(entry.path));
  const hidden = await hiddenEdits(ctx, checkout, concerned);
  const overlapping = [
    ...status.entries
      .flatMap((entry) => [entry.path, ...(entry.from === undefined ? [] : [entry.from])])
      .filter((path) => touches(path)),
    ...hidden,
  ];
  const going = new Set(changes.filter((change) => change.new === null).map((change) => change.path.toLowerCase()));
  const inTheWay = changes
    .filter((change) => change.old === null)
    .flatMap((change) => blocker(checkout, change.path, going));
  const files = [...new Set([...overlapping, ...inTheWay])].sort();
  if (files.length === 0) return;
  const [first = ""] = files;
  throw new DotbotError(
    "DIRTY",
    `${quote(checkout, 300)} has uncommitted work in ${count(files.length, "path")} that this changes: ${listed(files)}`,
    {
      ...(hidden.includes(first)
        ? {
            hint: "git was told not to look at it: undo that, then commit it there or discard it; nothing was changed",
            example: `git -C ${shellWord(checkout)} update-index --no-assume-unchanged -- ${shellWord(first)} && git -C ${shellWord(checkout)} update-index --no-skip-worktree -- ${shellWord(first)}`,
          }
        : {
            hint: "commit it there, or move it out of the way; nothing was changed",
            example: `git -C ${shellWord(checkout)} commit -- ${shellWord(first)}`,
          }),
      details: { checkout, files },
    },
  );
}

/** An untracked file at the path of a new one, or in place of a folder above it. */
function blocker(checkout: string, path: string, going: ReadonlySet<string>): string[] {
  for (const at of [...foldersOf(path), path]) {
    const stat = lstatOrNull(join(checkout, at));
    if (stat === null) return [];
    if (!stat.isDirectory()) return going.has(at.toLowerCase()) ? [] : [at];
  }
  return [];
}

/** `a/b/c` → `a`, `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
}

export function listed(names: readonly string[], max = 8): string {
  const shown = names.slice(0, max).map((name) => quote(name, 120));
  return names.length > max ? `${shown.join(", ")} and ${names.length - max} more` : shown.join(", ");
}

function mergeRefusal(result: { status: number; stderr: string; stdout: string }, checkout: string): DotbotError {
  const words = errorLines(result.stderr);
  if (/would be overwritten|not uptodate|untracked working tree files|would lose untracked files/.test(result.stderr)) {
    return new DotbotError("DIRTY", `${quote(checkout, 300)} has work in the way: ${words}`, {
      hint: "commit it there, or move it out of the way; nothing was changed",
      details: { checkout },
    });
  }
  if (/filter|hook/.test(result.stderr)) {
    return new DotbotError("REJECTED", `git couldn't update ${quote(checkout, 300)}: ${words}`, {
      hint: "make that filter or hook work there, then run it again; what was half-written has been put back",
      details: { checkout },
    });
  }
  return gitFailure(["merge"], result);
}

// ── after a kill or a failure ────────────────────────────────────────────────────────────────────────────────────────

/**
 * Brings an advance that was cut short to one of its ends. `done`: the branch is at NEW, or further. `undone`: it is at OLD and
 * the checkout shows OLD in every path concerned. `elsewhere`: somebody moved the branch to something that NEW isn't in, so
 * NEW never was on it. Error: CONFLICT with the paths that hold neither, which nobody may touch; LOCKED.
 */
export async function settleAdvance(
  ctx: GitCtx,
  place: AdvancePlace,
  move: Advance,
  since: Date,
  waitMs: number,
): Promise<"done" | "undone" | "elsewhere"> {
  const gitDir = move.checkout === null ? null : gitDirAt(move.checkout);
  const folders = [place.mainRoot, ...(move.checkout === null ? [] : [move.checkout])];
  await clearLockFiles(ctx.signal, {
    paths: [
      join(place.commonDir, `${move.ref}.lock`),
      ...(gitDir === null ? [] : ["index.lock", "HEAD.lock", "ORIG_HEAD.lock"].map((name) => join(gitDir, name))),
    ],
    folders: gitDir === null ? [] : folders,
    commonDir: place.commonDir,
    since,
    waitMs,
  });
  const now = await readRef(ctx, place.mainRoot, move.ref);
  if (now !== move.old) {
    return now !== null && (await isAncestor(ctx, place.mainRoot, move.to, now)) ? "done" : "elsewhere";
  }
  const head = gitDir === null ? null : headOf(gitDir, place.commonDir);
  if (move.checkout === null || head === null || `refs/heads/${head.branch ?? ""}` !== move.ref) return "undone";
  return await settleTree(ctx, place, { ...move, checkout: move.checkout });
}

/** What one path of the change looks like in the checkout. */
interface Seen {
  readonly change: Change;
  readonly index: "old" | "new" | "absent" | "other";
  readonly tree: "old" | "new" | "absent" | "partial" | "other";
}

async function settleTree(
  ctx: GitCtx,
  place: AdvancePlace,
  move: Advance & { readonly checkout: string },
): Promise<"done" | "undone"> {
  const { checkout } = move;
  const seen = await look(ctx, checkout, await changesBetween(ctx, place.mainRoot, move.old, move.to));
  if (seen.every((it) => it.index === "old" && isAs(it, "old"))) return "undone";
  if (seen.every((it) => it.index === "new" && isAs(it, "new"))) {
    // Everything but the last step, and that one is a compare-and-swap.
    const last = { ref: move.ref, to: move.to, old: move.old, why: "dotbot: complete" };
    if (await moveRef(ctx, place.mainRoot, last).catch(toFalse)) return "done";
  }
  const unknown = seen.filter((it) => it.index === "other" || it.tree === "other").map((it) => it.change.path);
  if (unknown.length > 0) {
    throw new DotbotError(
      "CONFLICT",
      `an update of ${quote(checkout, 300)} was cut short, and ${count(unknown.length, "path")} there ${unknown.length === 1 ? "holds" : "hold"} something else since: ${listed(unknown)}`,
      {
        hint: `put these back as they are in ${move.old.slice(0, 12)}, or commit them, then run it again`,
        example: `git -C ${shellWord(checkout)} diff ${move.old.slice(0, 12)} -- ${shellWord(unknown[0] ?? "")}`,
        details: { checkout, old: move.old, new: move.to, files: unknown },
      },
    );
  }
  await putBack(
    ctx,
    checkout,
    move.old,
    seen.filter((it) => it.index !== "old" || !isAs(it, "old")),
  );
  return "undone";
}

/** A ref that may not move (a hook) is one that didn't: what was done before it is taken back then. */
function toFalse(error: unknown): false {
  if (error instanceof DotbotError) return false;
  throw error;
}

/** A path that one side doesn't have is as that side has it when it isn't there. */
function isAs(seen: Seen, side: "old" | "new"): boolean {
  return seen.change[side] === null ? seen.tree === "absent" : seen.tree === side;
}

async function look(ctx: GitCtx, checkout: string, changes: readonly Change[]): Promise<Seen[]> {
  const staged = new Map<string, string>();
  const skipped = new Set<string>();
  for (const entry of await indexOf(ctx, checkout)) {
    staged.set(entry.path, entry.stage === "0" ? `${entry.mode} ${entry.oid}` : "unmerged");
    if (entry.skipped) skipped.add(entry.path);
  }
  const seen: Seen[] = [];
  for (const change of changes) {
    const entry = staged.get(change.path);
    const side = (it: Change["old"]): string | undefined => (it === null ? undefined : `${it.mode} ${it.oid}`);
    const index =
      entry === side(change.old)
        ? "old"
        : entry === side(change.new)
          ? "new"
          : entry === undefined
            ? "absent"
            : "other";
    // Outside a sparse checkout there is nothing to be half-written.
    const tree = skipped.has(change.path) ? index : await lookAt(ctx, checkout, change);
    seen.push({ change, index, tree });
  }
  return seen;
}

async function lookAt(ctx: GitCtx, checkout: string, change: Change): Promise<Seen["tree"]> {
  const path = join(checkout, change.path);
  const stat = lstatOrNull(path);
  if (stat === null) return "absent";
  if (stat.isDirectory())
    return change.old?.mode === "160000" ? "old" : change.new?.mode === "160000" ? "new" : "absent";
  const link = stat.isSymbolicLink() ? readLink(path) : null;
  const bytes = link === null ? readBytes(path) : new TextEncoder().encode(link);
  if (bytes === null) return "other";
  const args = link === null ? ["hash-object", "--stdin", `--path=${change.path}`] : ["hash-object", "--stdin"];
  const hashed = await git(ctx, args, { cwd: checkout, probe: true, input: bytes });
  const oid = hashed.status === 0 ? hashed.stdout.trim() : "";
  if (oid === change.old?.oid) return "old";
  if (oid === change.new?.oid) return "new";
  for (const side of [change.new, change.old]) {
    if (side === null || side.mode === "160000") continue;
    for (const form of [
      ["cat-file", "blob", side.oid],
      ["cat-file", "--filters", `--path=${change.path}`, side.oid],
    ]) {
      const whole = await git(ctx, form, { cwd: checkout, probe: true });
      if (whole.status === 0 && startsWith(whole.bytes, bytes)) return "partial";
    }
  }
  return "other";
}

function startsWith(whole: Uint8Array, part: Uint8Array): boolean {
  return part.length <= whole.length && Buffer.compare(whole.subarray(0, part.length), part) === 0;
}

/** Puts paths, all of whose content is explained, back as OLD has them, in the index and in the tree. */
async function putBack(ctx: GitCtx, checkout: string, old: string, seen: readonly Seen[]): Promise<void> {
  const added = seen.filter((it) => it.change.old === null).map((it) => it.change.path);
  for (const path of added) {
    const at = join(checkout, path);
    if (lstatOrNull(at)?.isDirectory() === false) removeFile(at);
    for (let folder = dirname(at); folder !== checkout && isWithin(folder, checkout); folder = dirname(folder)) {
      if (!removeEmptyDirectory(folder)) break;
    }
  }
  const options = { cwd: checkout };
  if (added.length > 0) {
    await gitText(ctx, ["update-index", "-z", "--force-remove", "--stdin"], {
      ...options,
      input: `${added.join("\0")}\0`,
    });
  }
  const there = seen.filter((it) => it.change.old !== null).map((it) => it.change.path);
  if (there.length > 0) {
    await gitText(
      ctx,
      [
        "--literal-pathspecs",
        "restore",
        "--quiet",
        `--source=${old}`,
        "--staged",
        "--worktree",
        "--no-overlay",
        "--pathspec-from-file=-",
        "--pathspec-file-nul",
      ],
      { ...options, input: `${there.join("\0")}\0` },
    );
  }
}
