/**
 * What is left of worktrees that nobody needs any more, found and, when told to, taken away by the same function as always.
 * Git's own prune is never used: it judges by what this machine sees just now, for the whole repository.
 */
import { basename, dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import { isDirectory, listNames, removeFile, removeTree, TEMP_PREFIX } from "../files.ts";
import { listCheckouts } from "../git/checkouts.ts";
import { physical, samePath } from "../git/native.ts";
import type { WorktreeRecord } from "../git/parse.ts";
import { branchRef, deleteRef, listRefs, readRef } from "../git/refs.ts";
import { git, gitText } from "../git/run.ts";
import { journalFolder } from "../journal.ts";
import { count, printable, quote } from "../text.ts";
import { mergedBy, resolveBase } from "./base.ts";
import type { Bench } from "./bench.ts";
import { adminOf } from "./create.ts";
import { lockedFor, namedFor, type TaskWorktree } from "./model.ts";
import { dropWorktree, worktrees } from "./records.ts";
import { dropRegistration, removalFacts, removeWorktree, trashEntries, type Removal } from "./remove.ts";

const TRASH_MS = 7 * 86_400_000;

export interface Orphan {
  readonly kind:
    | "folder-without-task"
    | "task-without-folder"
    | "registration-without-folder"
    | "branch-without-worktree"
    | "leftover"
    | "trash"
    | "kept-ref";
  /** A path, a branch or a ref. */
  readonly what: string;
  readonly why: string;
  /** Why it stays; null when it may go. */
  readonly keeps: string | null;
}

interface Found extends Orphan {
  /** Takes it away. */
  readonly act: () => Promise<void>;
}

/** Everything that could go, in the order in which it would. */
export async function orphans(bench: Bench, olderThanMs: number | null): Promise<readonly Found[]> {
  const records = (await listCheckouts(bench.call, bench.place.mainRoot)).slice(1).filter((record) => !record.bare);
  const known = worktrees(bench.queue);
  const found = [
    ...(await foldersWithoutTask(bench, records, known)),
    ...(await tasksWithoutFolder(bench, known)),
    ...registrationsWithoutFolder(bench, records, known),
    ...(await branchesWithoutWorktree(bench, records, known)),
    ...leftovers(bench, known),
    ...(olderThanMs === null ? [] : await keptRefs(bench, olderThanMs)),
  ];
  bench.call.progress(null);
  return found;
}

/** Takes away what may go. Error: REFUSED when that is more than half of the worktrees. */
export async function prune(bench: Bench, found: readonly Found[]): Promise<Orphan[]> {
  refuseMostOf(bench, found);
  const gone: Orphan[] = [];
  for (const { act, ...orphan } of found) {
    if (orphan.keeps !== null) continue;
    bench.call.progress(`removing ${printable(orphan.what)}`);
    await act();
    gone.push(orphan);
  }
  bench.call.progress(null);
  return gone;
}

/** Many worktrees that look orphaned at once are one folder that isn't mounted, more often than not. */
function refuseMostOf(bench: Bench, found: readonly Found[]): void {
  const going = found.filter((it) => it.keeps === null && /folder/.test(it.kind));
  const all = new Set([...[...worktrees(bench.queue).values()].map((it) => it.path), ...going.map((it) => it.what)]);
  if (going.length < 2 || going.length * 2 <= all.size) return;
  throw new DotbotError(
    "REFUSED",
    `${going.length} of ${count(all.size, "worktree")} would go, which is more than half`,
    {
      hint: "is a disk not mounted, or is this another machine? If they are to go, take them away one by one",
      example: "dotbot wt remove <task>",
      details: { going: going.map((it) => it.what) },
    },
  );
}

function isOurs(record: WorktreeRecord): string | null {
  return lockedFor(record.locked) ?? (record.locked === null ? namedFor(record.branch ?? "") : null);
}

async function foldersWithoutTask(
  bench: Bench,
  records: readonly WorktreeRecord[],
  known: ReadonlyMap<string, TaskWorktree>,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const record of records) {
    bench.call.progress(`looking at ${printable(record.path)}`);
    const id8 = isOurs(record);
    const path = physical(record.path) ?? record.path;
    if (id8 === null || !isDirectory(path)) continue;
    const row = bench.queue.ledger.taskById8(id8);
    if (row !== undefined && row.place !== "removed") continue;
    // A file that can't be read may be that very task.
    if (bench.queue.broken.length > 0) {
      found.push({
        kind: "folder-without-task",
        what: path,
        why: "no task in the queue has it",
        keeps: "the queue has files that can't be read",
        act: async () => {},
      });
      continue;
    }
    const owner = [...known].find(([, it]) => samePath(it.path, path))?.[0] ?? null;
    const base = owner === null ? (await resolveBase(bench, undefined)).branch : (known.get(owner)?.base ?? null);
    const merged =
      record.head === null || base === null
        ? null
        : await mergedBy(bench, {
            tip: record.head,
            base,
            baseSha: owner === null ? "" : (known.get(owner)?.baseSha ?? ""),
            taskId: owner,
          });
    const removal: Removal = {
      taskId: owner,
      id8,
      path,
      expected: null,
      base,
      made: owner === null ? [] : (known.get(owner)?.made ?? []),
      may: { dirty: false, ignored: false },
      branch: record.branch === null || record.head === null ? null : { ref: record.branch, tip: record.head },
      keep: [],
    };
    const { blockers } = await removalFacts(bench, removal);
    const keeps =
      blockers.length > 0
        ? blockers.map((it) => it.message).join("; ")
        : merged === null
          ? "it has commits that are nowhere else"
          : null;
    found.push({
      kind: "folder-without-task",
      what: path,
      why: "no task in the queue has it",
      keeps,
      act: async () => void (await removeWorktree(bench, removal, `${quote(path, 300)} stays`)),
    });
  }
  return found;
}

async function tasksWithoutFolder(bench: Bench, known: ReadonlyMap<string, TaskWorktree>): Promise<Found[]> {
  const found: Found[] = [];
  for (const [id, worktree] of known) {
    if (isDirectory(worktree.path)) continue;
    const name = bench.queue.ledger.task(id)?.name ?? id;
    const tip = await readRef(bench.call, bench.place.mainRoot, branchRef(worktree.branch));
    const merged =
      tip === null || worktree.base === ""
        ? null
        : await mergedBy(bench, { tip, base: worktree.base, baseSha: worktree.baseSha, taskId: id });
    found.push({
      kind: "task-without-folder",
      what: worktree.path,
      why: `the worktree of ${quote(name)} isn't there`,
      keeps: parentMissing(worktree.path),
      act: async () => {
        const admin = adminOf(bench.place.commonDir, worktree.path);
        if (admin !== null) await dropRegistration(bench, admin, id.slice(0, 8));
        if (tip !== null && merged !== null)
          await deleteRef(bench.call, bench.place.mainRoot, branchRef(worktree.branch), tip);
        await dropWorktree(bench.queue, id);
      },
    });
  }
  return found;
}

function parentMissing(path: string): string | null {
  return isDirectory(dirname(path))
    ? null
    : `${quote(dirname(path), 300)} isn't there either: a disk may not be mounted, or this is another machine or container`;
}

function registrationsWithoutFolder(
  bench: Bench,
  records: readonly WorktreeRecord[],
  known: ReadonlyMap<string, TaskWorktree>,
): Found[] {
  return records.flatMap((record) => {
    if (
      isDirectory(record.path) ||
      isOurs(record) === null ||
      [...known.values()].some((it) => samePath(it.path, record.path))
    )
      return [];
    const admin = adminOf(bench.place.commonDir, record.path);
    return admin === null
      ? []
      : [
          {
            kind: "registration-without-folder" as const,
            what: record.path,
            why: "git has it registered, and it isn't there",
            keeps: parentMissing(record.path),
            act: async () => void (await dropRegistration(bench, admin, isOurs(record) ?? basename(record.path))),
          },
        ];
  });
}

async function branchesWithoutWorktree(
  bench: Bench,
  records: readonly WorktreeRecord[],
  known: ReadonlyMap<string, TaskWorktree>,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const [ref, tip] of await listRefs(bench.call, bench.place.mainRoot, "refs/heads/task/")) {
    const branch = ref.slice("refs/heads/".length);
    if (records.some((it) => it.branch === ref) || [...known.values()].some((it) => it.branch === branch)) continue;
    bench.call.progress(`looking at ${printable(branch)}`);
    const id8 = namedFor(branch);
    const row = id8 === null ? undefined : bench.queue.ledger.taskById8(id8);
    const base = (await resolveBase(bench, undefined)).branch;
    const merged = await mergedBy(bench, { tip, base, baseSha: "", taskId: row?.id ?? null });
    found.push({
      kind: "branch-without-worktree",
      what: branch,
      why: row === undefined ? "no task has it" : `${quote(row.name)} is ${row.status}`,
      keeps: merged === null ? "it has commits that are nowhere else" : null,
      act: async () => void (await deleteRef(bench.call, bench.place.mainRoot, ref, tip)),
    });
  }
  return found;
}

function leftovers(bench: Bench, known: ReadonlyMap<string, TaskWorktree>): Found[] {
  const folder = journalFolder(bench.place.commonDir);
  const temps = (listNames(folder) ?? [])
    .filter((name) => name.startsWith(TEMP_PREFIX))
    .map((name) => join(folder, name));
  const parents = [...new Set([...known.values()].map((it) => dirname(it.path)))];
  const oldest = bench.call.now().getTime() - TRASH_MS;
  return [
    ...temps.map((path): Found => ({
      kind: "leftover",
      what: path,
      why: "a write was cut short",
      keeps: null,
      act: async () => removeFile(path),
    })),
    ...trashEntries(bench, parents)
      .filter(({ at }) => at.getTime() < oldest)
      .map(({ path }): Found => ({
        kind: "trash",
        what: path,
        why: "it has been in the trash for more than seven days",
        keeps: null,
        act: async () => removeTree(path),
      })),
  ];
}

async function keptRefs(bench: Bench, olderThanMs: number): Promise<Found[]> {
  const text = await gitText(
    bench.call,
    ["for-each-ref", "--format=%(objectname) %(creatordate:unix) %(refname)", "refs/dotbot/done/", "refs/dotbot/lost/"],
    { cwd: bench.place.mainRoot, probe: true },
  );
  const oldest = (bench.call.now().getTime() - olderThanMs) / 1000;
  const found: Found[] = [];
  for (const line of text.split("\n").filter((it) => it !== "")) {
    const [oid = "", date = "", ref = ""] = line.split(" ");
    // A commit is kept for as long as it has been kept, however old it was then.
    if (Number(date) > oldest || ((await keptSince(bench, ref)) ?? 0) > oldest) continue;
    found.push({
      kind: "kept-ref",
      what: ref,
      why: `it keeps ${oid.slice(0, 12)}, for that long`,
      keeps: null,
      act: async () => void (await deleteRef(bench.call, bench.place.mainRoot, ref, oid)),
    });
  }
  return found;
}

/** When a ref was written last, in seconds; null where its log has been let go, as it is after months. */
async function keptSince(bench: Bench, ref: string): Promise<number | null> {
  const args = ["reflog", "show", "-n", "1", "--date=unix", "--format=%gd", ref, "--"];
  const { stdout, status } = await git(bench.call, args, { cwd: bench.place.mainRoot, probe: true });
  const at = /@\{(\d+)\}/.exec(stdout)?.[1];
  return status !== 0 || at === undefined ? null : Number(at);
}
