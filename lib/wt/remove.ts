/**
 * Taking a worktree away: one way, for complete, remove, prune and doctor. The folder is moved into a trash, looked at again
 * there, and only then its registration goes, its own and no other.
 *
 * Invariants: nothing is deleted; what changed between the look and the move is put back; a tip that is nowhere else is kept
 * under refs/dotbot/lost.
 */
import { basename, dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import {
  exists,
  isDirectory,
  listNames,
  lstatOrNull,
  makeDirectory,
  moveAside,
  removeEmptyDirectory,
  removeTree,
  syncDirectory,
} from "../files.ts";
import { gitDirAt } from "../git/checkouts.ts";
import { headOf } from "../git/native.ts";
import { commitOf, deleteRef, listRefs, moveRef, readRef } from "../git/refs.ts";
import { git, gitText } from "../git/run.ts";
import { ledgerFolder } from "../task/ledger.ts";
import { quote } from "../text.ts";
import { hasQueue, nowStamp, type Ground } from "./bench.ts";
import { inspect } from "./inspect.ts";
import { forget, record, type RemoveEntry } from "./journal.ts";
import { removeLinks, restoreLinks } from "./links.ts";
import { lostRef, type Made } from "./model.ts";
import { refusal, removalBlockers, type Blocker, type Permissions, type WorktreeFacts } from "./plan.ts";
import { dropWorktree } from "./records.ts";

export const TRASH_DAYS = 7;
const BESIDE = ".dotbot-trash";

export interface Removal {
  readonly taskId: string | null;
  readonly id8: string | null;
  readonly path: string;
  /** The branch that the worktree has to be on (full name), or null. */
  readonly expected: string | null;
  readonly base: string | null;
  readonly made: readonly Made[];
  readonly may: Permissions;
  /** The branch that goes as well, at the tip that it was seen at. */
  readonly branch: { readonly ref: string; readonly tip: string } | null;
  /** Tips that are nowhere else, to be kept under refs/dotbot/lost. */
  readonly keep: readonly string[];
}

export interface Removed {
  /** Where the folder is kept for a while; null when there was none. */
  readonly trash: string | null;
  readonly branchDeleted: boolean;
  /** The ref that keeps the first of the tips to keep. */
  readonly keptRef: string | null;
}

/** What stands against it; empty when it may go. */
export async function removalFacts(
  bench: Ground,
  removal: Removal,
): Promise<{ facts: WorktreeFacts; blockers: Blocker[] }> {
  const facts = await inspect(bench, { path: removal.path, base: removal.base, made: removal.made });
  return { facts, blockers: removalBlockers(facts, removal.expected, removal.id8, removal.may) };
}

/**
 * Removes, or refuses with everything that stands against it. The caller holds the repository's lock. `seen` are facts that were
 * found out under that lock already: what has changed since shows when it is looked at again, in the trash.
 */
export async function removeWorktree(
  bench: Ground,
  removal: Removal,
  what: string,
  seen?: WorktreeFacts,
): Promise<Removed> {
  const { facts, blockers } =
    seen === undefined
      ? await removalFacts(bench, removal)
      : { facts: seen, blockers: removalBlockers(seen, removal.expected, removal.id8, removal.may) };
  if (blockers.length > 0) throw refusal(what, blockers);
  const kept: string[] = [];
  const gitDir = gitDirAt(facts.path);
  const tips = [...removal.keep, ...(gitDir === null ? [] : await ownRefs(bench, gitDir))];
  for (const tip of tips) kept.push(await keepTip(bench, removal.id8 ?? basename(removal.path), tip));
  const [keptRef = null] = kept;
  const entry: RemoveEntry = {
    op: "remove",
    at: nowStamp(bench.call),
    taskId: removal.taskId,
    path: facts.path,
    trash: trashFor(bench, facts.path),
    gitDir,
    links: Object.entries(facts.links)
      .filter(([, state]) => state === "ours")
      .map(([path]) => path),
    branch: removal.branch,
    head: facts.head,
    dirtyAllowed: removal.may.dirty,
    ignoredAllowed: removal.may.ignored,
  };
  const name = entryName(entry);
  record(bench.place.commonDir, name, entry);
  const branchDeleted = await carryOut(bench, name, entry, removal);
  emptyTrash(bench, dirname(facts.path));
  return { trash: entry.trash, branchDeleted, keptRef };
}

/** Commits under names that only this worktree has, and that go with its registration. */
async function ownRefs({ call, place }: Ground, gitDir: string): Promise<string[]> {
  if (!isDirectory(join(gitDir, "refs", "worktree"))) return [];
  // By the git dir: the folder may be gone.
  const args = [`--git-dir=${gitDir}`, "for-each-ref", "--format=%(objectname)", "refs/worktree/"];
  const text = await gitText(call, args, { cwd: place.mainRoot, probe: true });
  return [...new Set(text.split("\n").filter((oid) => oid !== ""))];
}

function entryName(entry: RemoveEntry): string {
  return `remove-${basename(entry.trash)}`;
}

/** From the entry alone, from wherever it was cut short. */
export async function finishRemoval(bench: Ground, name: string, entry: RemoveEntry): Promise<void> {
  if (isDirectory(join(entry.trash, "tree"))) {
    await carryOut(bench, name, entry, null);
    return;
  }
  // It never left its place: it stays there, whole.
  putBackLinks(bench, entry);
  removeEmptyDirectory(entry.trash);
  forget(bench.place.commonDir, name);
}

function putBackLinks({ queue }: Ground, entry: RemoveEntry): void {
  if (queue !== null) restoreLinks(entry.path, queue.stateRoot, entry.links);
}

async function carryOut(bench: Ground, name: string, entry: RemoveEntry, removal: Removal | null): Promise<boolean> {
  const tree = join(entry.trash, "tree");
  const admin = join(entry.trash, "registration");
  const { commonDir, mainRoot } = bench.place;
  if (!isDirectory(tree)) moveToTrash(bench, entry, tree);
  if (entry.gitDir !== null && isDirectory(entry.gitDir)) {
    await lookAgain(bench, name, entry, tree, removal);
    // It is never on another mount than the common dir, and holds the git dirs of submodules.
    if (!moveAside(entry.gitDir, admin)) toTrash(bench, entry.gitDir, "registration");
    removeEmptyDirectory(dirname(entry.gitDir));
    syncDirectory(commonDir);
  }
  const deleted =
    entry.branch === null ? false : await deleteRef(bench.call, mainRoot, entry.branch.ref, entry.branch.tip);
  if (entry.taskId !== null && hasQueue(bench)) await dropWorktree(bench.queue, entry.taskId);
  forget(commonDir, name);
  return deleted;
}

function moveToTrash(bench: Ground, entry: RemoveEntry, tree: string): void {
  makeDirectory(entry.trash);
  if (bench.queue !== null) removeLinks(entry.path, bench.queue.stateRoot);
  try {
    if (!moveAside(entry.path, tree)) {
      throw new DotbotError(
        "REFUSED",
        `${quote(entry.path, 300)} can't be moved into ${quote(entry.trash, 300)}: it is a mount of its own`,
        {
          hint: "unmount it first",
        },
      );
    }
  } catch (error) {
    putBackLinks(bench, entry);
    removeEmptyDirectory(entry.trash);
    forget(bench.place.commonDir, entryName(entry));
    throw error;
  }
  syncDirectory(dirname(entry.path));
}

/** Nobody can work in it any more by its old name: what is there now is what goes. Changed meanwhile: back with it. */
async function lookAgain(
  bench: Ground,
  name: string,
  entry: RemoveEntry,
  tree: string,
  removal: Removal | null,
): Promise<void> {
  const facts = await inspect(bench, { path: tree, base: null, made: removal?.made ?? [], movedFrom: entry.path });
  const blockers = removalBlockers({ ...facts, callerIsIn: false, isBase: false, locked: null }, null, null, {
    dirty: entry.dirtyAllowed,
    // What the set-up made isn't in the entry; a recovery can't tell it from other ignored files, and the trash keeps all.
    ignored: entry.ignoredAllowed || removal === null,
  });
  const changed = facts.head !== entry.head;
  if (blockers.length === 0 && !changed) return;
  if (lstatOrNull(entry.path) !== null || !moveAside(tree, entry.path)) {
    throw new DotbotError(
      "CONFLICT",
      `${quote(entry.path, 300)} changed while it was removed, and can't be put back: its place is taken`,
      {
        hint: `it is whole in ${quote(tree, 300)}; move what is in its place away, and run it again`,
        details: { path: entry.path, tree, blockers },
      },
    );
  }
  putBackLinks(bench, entry);
  removeEmptyDirectory(entry.trash);
  forget(bench.place.commonDir, name);
  if (blockers.length > 0)
    throw refusal(`${quote(entry.path, 300)} changed while it was removed, and was put back`, blockers);
  throw new DotbotError("REFUSED", `${quote(entry.path, 300)} got a commit while it was removed, and was put back`, {
    hint: "run it again",
  });
}

/** Where worktrees at that place are kept: in the common dir, or beside the worktree where that is another file system. */
export function trashOf(bench: Ground, path: string): string {
  const own = join(ledgerFolder(bench.place.commonDir), "trash");
  makeDirectory(own);
  return lstatOrNull(own)?.dev === lstatOrNull(path)?.dev ? own : join(dirname(path), BESIDE);
}

function trashFor(bench: Ground, path: string): string {
  const stamp = bench.call.now().toISOString().replace(/[:.]/g, "-");
  return join(trashOf(bench, path), `${stamp}-${basename(path)}`);
}

/** Moves a folder or a registration into the trash of the common dir; returns its place there. */
export function toTrash(ground: Ground, path: string, what: "tree" | "registration"): string {
  const stamp = ground.call.now().toISOString().replace(/[:.]/g, "-");
  let folder = join(ledgerFolder(ground.place.commonDir), "trash", `${stamp}-${basename(path)}`);
  while (exists(join(folder, what))) folder += "_";
  makeDirectory(folder);
  if (!moveAside(path, join(folder, what))) removeTree(path);
  return folder;
}

/**
 * Drops the registration of a folder that is gone. Its HEAD may be the only name of what was committed there while it was
 * detached, or in the middle of a rebase: that tip is kept, as are those that only the worktree had a name for. Returns the ref
 * that keeps the tip.
 */
export async function dropRegistration(bench: Ground, admin: string, key: string): Promise<string | null> {
  const { call, place } = bench;
  const head = headOf(admin, place.commonDir);
  const sha = head === null || head.branch !== null ? null : head.sha;
  let keptRef: string | null = null;
  if (sha !== null && (await commitOf(call, place.mainRoot, sha)) !== null) {
    const args = ["for-each-ref", "--count=1", "--format=%(refname)", `--contains=${sha}`];
    const { stdout } = await git(call, args, { cwd: place.mainRoot, probe: true, okStatus: [0] });
    if (stdout.trim() === "") keptRef = await keepTip(bench, key, sha);
  }
  for (const tip of await ownRefs(bench, admin)) await keepTip(bench, key, tip);
  toTrash(bench, admin, "registration");
  return keptRef;
}

export interface TrashEntry {
  readonly path: string;
  readonly at: Date;
}

export function trashEntries(bench: Ground, parents: readonly string[] = []): TrashEntry[] {
  const folders = [
    join(ledgerFolder(bench.place.commonDir), "trash"),
    ...parents.map((parent) => join(parent, BESIDE)),
  ];
  return folders.flatMap((folder) =>
    (listNames(folder) ?? []).flatMap((name) => {
      const match = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)-/.exec(name);
      if (match === null) return [];
      return [{ path: join(folder, name), at: new Date(`${match[1]}:${match[2]}:${match[3]}.${match[4]}`) }];
    }),
  );
}

/** Lets go of what has been in the trash for long enough, and in that beside worktrees in `parent`. */
export function emptyTrash(bench: Ground, parent: string): void {
  const oldest = bench.call.now().getTime() - TRASH_DAYS * 86_400_000;
  for (const { path, at } of trashEntries(bench, [parent])) if (at.getTime() < oldest) removeTree(path);
}

/** Keeps a tip from being collected; the ref that keeps it already, when there is one. */
export async function keepTip(bench: Ground, key: string, tip: string): Promise<string> {
  const { mainRoot } = bench.place;
  const kept = await listRefs(bench.call, mainRoot, "refs/dotbot/");
  const safe = key.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 80);
  const names = [`refs/dotbot/lost/${safe}-`, `refs/dotbot/done/${safe}-`];
  for (const [ref, oid] of kept) if (oid === tip && names.some((name) => ref.startsWith(name))) return ref;
  for (let n = 1; ; n++) {
    const ref = lostRef(safe, n);
    if (kept.has(ref) || (await readRef(bench.call, mainRoot, ref)) !== null) continue;
    if (await moveRef(bench.call, mainRoot, { ref, to: tip, old: null, why: "dotbot: keep" })) return ref;
  }
}
