/**
 * After a kill: finishes what had come so far that it stands, takes back what hadn't. Run by whoever takes the repository's
 * lock next, and by doctor; safe to be killed itself and run again.
 */
import { DotbotError } from "../error.ts";
import { settleAdvance } from "../git/advance.ts";
import { samePath } from "../git/native.ts";
import { clearRefLocks } from "../git/refs.ts";
import { quote } from "../text.ts";
import { hasQueue, type Bench, type Ground } from "./bench.ts";
import { finishComplete } from "./complete.ts";
import { settleCreate } from "./create.ts";
import { PLAIN_PREFIX } from "./hook.ts";
import { forget, pending, type CreateEntry, type Entry, type LandEntry } from "./journal.ts";
import { worktreeOf } from "./records.ts";
import { finishRemoval, TRASH_DAYS } from "./remove.ts";
import { finishUndo } from "./undo.ts";

/** How long a git that outlived its dotbot may go on. */
const ORPHAN_MS = 10_000;

export interface Recovered {
  readonly name: string;
  /** `kept`: it had never ended, but somebody works in what there is of it. */
  readonly outcome: "finished" | "taken back" | "kept";
}

type Outcome = { readonly outcome: Recovered["outcome"]; readonly where?: string };

/**
 * Settles every entry of the journal, and without a queue those that no task has to do with; the caller holds the repository's
 * lock. Errors: CONFLICT where what is there can't be explained, with a list: nothing is touched then; LOCKED where a git is
 * still at work.
 */
export async function recover(bench: Ground): Promise<Recovered[]> {
  const settled: Recovered[] = [];
  const entries = pending(bench.place.commonDir).filter(({ entry }) => hasQueue(bench) || isOfNoTask(entry));
  const [first] = entries.map(({ entry }) => entry.at).sort();
  if (first !== undefined) await clearRefLocks(bench.call, bench.place.mainRoot, [], new Date(first));
  // Innermost first: a completion takes a worktree away, an undo makes one, each with an entry of its own.
  for (const { name, entry } of entries.toSorted((a, b) => order(a.entry) - order(b.entry))) {
    const words = what(bench, entry);
    const { outcome, where } = await settle(bench, name, entry);
    bench.call.note(`${words} was cut short: ${outcome}${where === undefined ? "" : `; ${where}`}`);
    settled.push({ name, outcome });
  }
  return settled;
}

function order(entry: Entry): number {
  return entry.op === "land" ? 1 : 0;
}

function isOfNoTask(entry: Entry): boolean {
  if (entry.op === "create") return entry.branch === PLAIN_PREFIX + entry.taskId;
  return entry.op === "remove" && entry.taskId === null;
}

async function settle(bench: Ground, name: string, entry: Entry): Promise<Outcome> {
  switch (entry.op) {
    case "create":
      return await settleMaking(bench, name, entry);
    case "land":
      if (!hasQueue(bench)) throw new TypeError("only what no task has to do with is settled without a queue");
      return { outcome: await settleLanding(bench, name, entry) };
    case "remove":
      await finishRemoval(bench, name, entry);
      return { outcome: "finished" };
  }
}

async function settleMaking(bench: Ground, name: string, entry: CreateEntry): Promise<Outcome> {
  const known = hasQueue(bench) ? worktreeOf(bench.queue, entry.taskId) : null;
  if (known !== null && samePath(known.path, entry.path) && known.createdAt >= entry.at) {
    forget(bench.place.commonDir, name);
    return { outcome: "finished" };
  }
  const { kept, trash } = await settleCreate(bench, name, entry, ORPHAN_MS);
  if (kept) return { outcome: "kept", where: `there is work in ${quote(entry.path, 300)}` };
  if (trash === null) return { outcome: "taken back" };
  return { outcome: "taken back", where: `its folder is in ${quote(trash, 300)} for ${TRASH_DAYS} days` };
}

async function settleLanding(bench: Bench, name: string, entry: LandEntry): Promise<Recovered["outcome"]> {
  const { move, next } = entry;
  const moved =
    move.old === move.to ? "done" : await settleAdvance(bench.call, bench.place, move, new Date(entry.at), ORPHAN_MS);
  if (moved !== "done") {
    forget(bench.place.commonDir, name);
    return "taken back";
  }
  if (next.is === "complete") await finishComplete(bench, name, entry);
  else if (next.is === "undo") await finishUndo(bench, name, entry);
  else forget(bench.place.commonDir, name);
  return "finished";
}

function what(bench: Ground, entry: Entry): string {
  if (entry.op === "remove") return `the removal of ${quote(entry.path, 200)}`;
  const id = entry.op === "create" ? entry.taskId : entry.next.is === "advance" ? null : entry.next.taskId;
  if (id === null) return `an update of ${quote(entry.op === "land" ? entry.move.ref : "")}`;
  const name = bench.queue?.ledger.task(id)?.name ?? id;
  const verb =
    entry.op === "create"
      ? "the making of the worktree"
      : entry.op === "land" && entry.next.is === "undo"
        ? "the undo"
        : "the completion";
  return `${verb} of ${quote(name)}`;
}

/** What is begun and not finished, for doctor and prune; null where the journal can't be read. */
export function unfinished(bench: Pick<Bench, "place">): { name: string; op: string; at: string }[] | null {
  try {
    return pending(bench.place.commonDir).map(({ name, entry }) => ({ name, op: entry.op, at: entry.at }));
  } catch (error) {
    if (error instanceof DotbotError) return null;
    throw error;
  }
}
