/**
 * Which worktrees and completions there are, by the ledger; and the map in `.bot/.control` that shows the worktrees to
 * programs that read files. What can't be read there is unknown, and what is unknown is kept.
 */
import { dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import { makeDirectory, readText, writeAtomic } from "../files.ts";
import { formatJson, isJsonObject, tryParseJson, type JsonObject } from "../json.ts";
import { WORKTREE_RECORDS } from "../task/here.ts";
import type { Ledger } from "../task/ledger.ts";
import type { Queue, Tx } from "../task/queue.ts";
import { fromMap, mapEntry, parseCompletion, parseWorktree, type Completion, type TaskWorktree } from "./model.ts";

const COMPLETION_RECORDS = "completion";

export function mapPath(stateRoot: string): string {
  return join(stateRoot, ".bot", ".control", "worktree-map.json");
}

/** Worktrees by task id; what only the map knows (dotbot 3 made it, or the ledger was rebuilt) included. */
export function worktrees(queue: Queue): Map<string, TaskWorktree> {
  const found = new Map<string, TaskWorktree>();
  for (const [id, value] of readMap(queue.stateRoot)) {
    const worktree = fromMap(value);
    if (worktree !== null) found.set(id, worktree);
  }
  for (const [id, value] of queue.ledger.records(WORKTREE_RECORDS)) {
    const worktree = parseWorktree(value);
    if (worktree !== null) found.set(id, worktree);
    else found.delete(id);
  }
  // A worktree that was taken away is known by its absence from the ledger, once the ledger has known any.
  for (const id of removedRecords(queue.ledger)) found.delete(id);
  return found;
}

export function worktreeOf(queue: Queue, id: string): TaskWorktree | null {
  const own = parseWorktree(queue.ledger.record(WORKTREE_RECORDS, id));
  return own ?? worktrees(queue).get(id) ?? null;
}

const REMOVED_RECORDS = "worktree-removed";

function removedRecords(ledger: Ledger): string[] {
  return [...ledger.records(REMOVED_RECORDS).keys()];
}

export async function putWorktree(queue: Queue, id: string, worktree: TaskWorktree): Promise<void> {
  await queue.write(`wt record ${id.slice(0, 8)}`, (tx) => {
    tx.ledger.putRecord(WORKTREE_RECORDS, id, worktree);
    tx.ledger.dropRecord(REMOVED_RECORDS, id);
  });
  drawMap(queue);
}

/** Changes what is recorded, if it still is. */
export async function changeWorktree(
  queue: Queue,
  id: string,
  change: (worktree: TaskWorktree) => TaskWorktree,
): Promise<void> {
  await queue.write(`wt record ${id.slice(0, 8)}`, (tx) => {
    const now = parseWorktree(tx.ledger.record(WORKTREE_RECORDS, id));
    if (now !== null) tx.ledger.putRecord(WORKTREE_RECORDS, id, change(now));
  });
}

export async function dropWorktree(queue: Queue, id: string): Promise<void> {
  await queue.write(`wt record ${id.slice(0, 8)}`, (tx) => {
    tx.ledger.dropRecord(WORKTREE_RECORDS, id);
    if (readMap(queue.stateRoot).has(id)) tx.ledger.putRecord(REMOVED_RECORDS, id, true);
  });
  drawMap(queue);
  await queue.write(`wt record ${id.slice(0, 8)}`, (tx) => {
    if (!readMap(queue.stateRoot).has(id)) tx.ledger.dropRecord(REMOVED_RECORDS, id);
  });
}

/** Completions of one task, or of all, oldest first. */
export function completions(ledger: Ledger, id?: string): Completion[] {
  const all = [...ledger.records(COMPLETION_RECORDS).values()].map(parseCompletion).filter((it) => it !== null);
  return all.filter((it) => id === undefined || it.taskId === id).sort((a, b) => a.n - b.n);
}

export function putCompletion(tx: Tx, completion: Completion): void {
  tx.ledger.putRecord(COMPLETION_RECORDS, `${completion.taskId}/${completion.n}`, completion);
}

/** The smallest number, from 1, that no worktree has: for ports and databases. */
export function freeSlot(all: Iterable<TaskWorktree>): number {
  const taken = new Set([...all].map((worktree) => worktree.slot));
  let slot = 1;
  while (taken.has(slot)) slot += 1;
  return slot;
}

/** The map's lines by task id; empty where there is none or it can't be read. */
function readMap(stateRoot: string): Map<string, JsonObject> {
  const text = readText(mapPath(stateRoot));
  const parsed = text === null || text.trim() === "" ? null : tryParseJson(text);
  if (parsed?.ok !== true || !isJsonObject(parsed.value)) return new Map();
  return new Map(
    Object.entries(parsed.value).flatMap(([id, value]) => (isJsonObject(value) ? [[id, value] as const] : [])),
  );
}

/** Draws the map as the ledger says. It is a view: where it can't be written, the worktrees are none the less there. */
function drawMap(queue: Queue): void {
  const map: JsonObject = {};
  for (const [id, worktree] of worktrees(queue)) map[id] = mapEntry(worktree, queue.ledger.task(id)?.name ?? id);
  const path = mapPath(queue.stateRoot);
  try {
    makeDirectory(dirname(path));
    writeAtomic(path, formatJson(map), { durable: false });
  } catch (error) {
    if (!(error instanceof DotbotError) || error.code !== "READ_ONLY") throw error;
  }
}
