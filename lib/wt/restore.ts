/** Moves of a task that follow from what happened to its worktree, whoever holds it: a record of facts, not a wish. */
import { DotbotError } from "../error.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { isStatus, moved, type HistoryEntry, type Status } from "../task/model.ts";
import { notifyStatus } from "../task/notify.ts";
import { sessionOf } from "../task/provenance.ts";
import type { Tx } from "../task/queue.ts";
import type { TaskRow } from "../task/ledger.ts";
import { nowStamp, type Bench } from "./bench.ts";
import type { CreateEntry } from "./journal.ts";

export interface FollowUp {
  readonly to: Status;
  readonly reason: string;
  readonly from: readonly Status[];
  /** Only while it is at this revision. */
  readonly rev?: number;
  readonly branch: string;
  readonly commit: string;
  readonly data?: (doc: JsonObject, row: TaskRow, entry: HistoryEntry) => JsonObject;
  readonly also?: (tx: Tx) => void;
}

/** Moves the task if it is still in one of the statuses `from`; false when it isn't, or is gone. */
export async function followUp(bench: Bench, id: string, move: FollowUp): Promise<boolean> {
  const { call, queue } = bench;
  const outcome = await queue.write(`wt ${move.to} ${id.slice(0, 8)}`, (tx) => {
    const row = tx.ledger.task(id);
    if (row === undefined || row.place === "removed" || !move.from.includes(row.status)) return null;
    if (move.rev !== undefined && move.rev !== row.rev) return null;
    const entry: HistoryEntry = {
      at: nowStamp(call),
      from: row.status,
      to: move.to,
      by: "dotbot",
      session_id: sessionOf(call, undefined),
      branch: move.branch,
      commit: move.commit,
      reason: move.reason,
    };
    const doc = tx.document(row);
    const next = move.data?.(doc, row, entry) ?? doc;
    const after = tx.save(row, moved(next, row.status, { to: move.to, entry }), {
      at: entry.at,
      by: entry.by,
      status: move.to,
      entry,
    });
    tx.ledger.dropClaim(id);
    move.also?.(tx);
    return { before: row.status, after, entry };
  });
  if (outcome === null) return false;
  const { after, before, entry } = outcome;
  await notifyStatus(call, bench.settings, {
    task: queue.document(after),
    path: queue.pathOf(after),
    stateRoot: queue.stateRoot,
    oldStatus: before,
    newStatus: after.status,
    by: entry.by,
    session_id: entry.session_id,
    at: entry.at,
  });
  return true;
}

/** Puts a task that was started for a worktree back to where it was. */
export async function putTaskBack(bench: Bench, entry: CreateEntry, reason: string): Promise<void> {
  const { before } = entry;
  if (before === null) return;
  if (!isStatus(before.status))
    throw new DotbotError("CONFLICT", `the journal names a status that doesn't exist: ${before.status}`);
  await followUp(bench, entry.taskId, {
    to: before.status,
    reason,
    from: ["in-progress"],
    rev: before.rev + 1,
    branch: entry.branch,
    commit: entry.baseSha,
    data: (doc) => withStart(doc, before.startedAt),
    also: (tx) => {
      if (before.claim !== null) tx.ledger.putClaim(entry.taskId, before.claim);
    },
  });
}

function withStart(doc: JsonObject, startedAt: JsonValue): JsonObject {
  if (startedAt !== null) return { ...doc, started_at: startedAt };
  const { started_at: _, ...rest } = doc;
  return rest;
}
