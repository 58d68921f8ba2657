/** Settling what could not be told: two versions of a task of which neither continues the other, and files kept aside. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { asNumber, compactJson, decodeUtf8, equalJson, type JsonObject, tryParseJson } from "../../json.ts";
import { operation } from "../../op.ts";
import { count, paint, quote, type Style } from "../../text.ts";
import { changeLines, fieldChanges } from "../diff.ts";
import type { ConflictRow, TaskRow } from "../ledger.ts";
import {
  countedRevision,
  HISTORY_IN_FILE,
  type HistoryEntry,
  historyOf,
  isObject,
  isStatus,
  mayMove,
  moved,
  type Status,
} from "../model.ts";
import { settlementReason } from "../reconcile.ts";
import { entryOf, provenance, provenanceFields, type Provenance } from "../provenance.ts";
import type { Queue, Tx } from "../queue.ts";
import {
  dirField,
  field,
  guardClaim,
  holderFields,
  holderFlags,
  holderOf,
  namedTask,
  provenanceFlags,
  taskDocument,
  taskField,
  withQueue,
} from "./common.ts";
import { DependencyDesk } from "./dependencies.ts";
import { illegal } from "./move.ts";

/** Records of what was settled without becoming a version: nothing unknown is ever deleted. */
const SETTLED = "settled";

const conflictShape = v.object({
  id: v.nullable(v.string()),
  name: v.nullable(v.string()),
  kind: v.picklist(["conflict", "broken"]),
  path: v.pipe(v.string(), v.description("Where the other version was found, from the tasks folder.")),
  hash: v.string(),
  at: v.string(),
  changes: v.pipe(
    v.array(v.object({ field: v.string(), before: v.optional(v.unknown()), after: v.optional(v.unknown()) })),
    v.description("What the other version says differently."),
  ),
});
type Told = v.InferOutput<typeof conflictShape>;

const resolveOutput = v.object({
  conflicts: v.pipe(v.array(conflictShape), v.description("What is still to be settled.")),
  settled: v.array(conflictShape),
  task: v.optional(taskDocument),
  changed: v.boolean(),
  stateRoot: v.string(),
});
type Resolved = v.InferOutput<typeof resolveOutput>;

export const resolve = operation({
  name: "task resolve",
  summary: "Settle two versions of a task that don't follow from each other",
  details:
    "Without a choice it lists them, with what differs. ours keeps the ledger's version, theirs makes the other one the next version, merged stores a document of your own. Whatever loses stays among the task's versions.",
  examples: [{ run: "task resolve", does: "list what is to be settled" }],
  effect: "write",
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "task_id", optional: true }],
  complete: { task_id: "task" },
  input: v.strictObject({
    ...taskField,
    list: v.optional(v.pipe(v.boolean(), v.description("Only list; the same as giving no choice."))),
    ours: v.optional(v.pipe(v.boolean(), v.description("Keep the ledger's version."))),
    theirs: v.optional(v.pipe(v.boolean(), v.description("Take the other version."))),
    merged: v.optional(v.pipe(v.looseObject({}), v.description("Take this document instead of both."))),
    hash: v.optional(
      v.pipe(v.string(), v.minLength(4), v.description("Which one, when there are several: first digits of its hash.")),
    ),
    ...provenanceFields,
    ...holderFields,
    ...dirField,
  }),
  flags: {
    ...provenanceFlags,
    ...holderFlags,
    merged: { name: "file", json: true, value: "file|-" },
    hash: { value: "digits" },
  },
  output: resolveOutput,
  async run(call, input) {
    const choices = [input.ours === true, input.theirs === true, input.merged !== undefined].filter(Boolean).length;
    if (choices > 1)
      throw new DotbotError("USAGE", "one choice at a time: ours, theirs or a file", {
        example: "dotbot task resolve 1a2b3c4d --theirs",
      });
    return await withQueue(call, async ({ queue, settings }) => {
      const named =
        input.task_id === undefined && (choices === 0 || input.hash !== undefined)
          ? null
          : await namedTask(call, queue, input.task_id, "resolve");
      const matches = (conflict: ConflictRow): boolean =>
        (named === null || conflict.id === named.id) &&
        (input.hash === undefined || conflict.hash.startsWith(input.hash.toLowerCase()));
      if (choices === 0 || input.list === true) {
        await queue.finishRead();
        return {
          conflicts: queue.ledger
            .conflicts()
            .filter(matches)
            .map((conflict) => told(queue, conflict)),
          settled: [],
          changed: false,
          stateRoot: queue.stateRoot,
        };
      }
      const who = await provenance(call, call.target.repo, input, settings.provenance.require_session);
      const outcome = await queue.write("task resolve", (tx) => {
        const conflicts = tx.ledger.conflicts().filter(matches);
        const [first] = conflicts;
        if (first === undefined) throw nothingToSettle(named, input.hash);
        if (conflicts.some((conflict) => conflict.id !== first.id)) throw severalTasks(conflicts);
        const settled = conflicts.map((conflict) => told(queue, conflict));
        // A removed task's too: the version that turned up may be why it is wanted back.
        const row = first.id === null ? undefined : tx.ledger.task(first.id);
        if (row === undefined && input.ours !== true) throw unreadable(first);
        if (row !== undefined) {
          const theft = guardClaim(call, tx, row, holderOf(call, input), input.steal, "resolve");
          if (input.theirs === true && conflicts.length > 1) throw several(row, conflicts);
          const others = conflicts.flatMap((conflict): JsonObject[] => {
            const content = contentOf(queue, conflict);
            return content === null ? [] : [content.doc];
          });
          const chosen =
            input.theirs === true
              ? readable(queue, first).doc
              : input.merged === undefined
                ? tx.document(row)
                : mergedDocument(row, input.merged as JsonObject);
          // Nobody misses a removed task's version that stays away.
          if (row.place !== "removed" || input.ours !== true) {
            takeOver(tx, row, { chosen, others, hashes: conflicts.map(({ hash }) => hash), who, theft });
          }
        }
        for (const conflict of conflicts) putAway(queue, tx, conflict, who);
        return { settled, id: row?.id ?? null };
      });
      return {
        conflicts: queue.ledger.conflicts().map((conflict) => told(queue, conflict)),
        settled: outcome.settled,
        ...(outcome.id === null ? {} : { task: queue.document({ id: outcome.id }) }),
        changed: true,
        stateRoot: queue.stateRoot,
      };
    });
  },
  text: resolveText,
});

function told(queue: Queue, conflict: ConflictRow): Told {
  const row = conflict.id === null ? undefined : queue.ledger.task(conflict.id);
  const theirs = contentOf(queue, conflict);
  return {
    id: conflict.id,
    name: row?.name ?? null,
    kind: conflict.kind,
    path: conflict.path,
    hash: conflict.hash,
    at: conflict.at,
    changes:
      row === undefined || theirs === null
        ? []
        : fieldChanges(queue.document(row), theirs.doc).map((change) => ({ ...change })),
  };
}

/** The other version, or null when it isn't a JSON object. */
function contentOf(queue: Queue, conflict: ConflictRow): { text: string; doc: JsonObject } | null {
  const bytes = queue.ledger.conflictContent(conflict.path, conflict.hash);
  if (bytes === undefined) return null;
  const { text, valid } = decodeUtf8(bytes);
  const parsed = tryParseJson(text);
  return valid && parsed.ok && isObject(parsed.value) ? { text, doc: parsed.value } : null;
}

function readable(queue: Queue, conflict: ConflictRow): { doc: JsonObject } {
  const content = contentOf(queue, conflict);
  if (content === null) throw unreadable(conflict);
  const folder = conflict.path.replace(/^.*:/, "").split("/")[0];
  // Where a file lay says what its task's status was meant to be, as everywhere in the view.
  return { doc: isStatus(folder) ? { ...content.doc, status: folder } : content.doc };
}

function mergedDocument(row: TaskRow, merged: JsonObject): JsonObject {
  const id = merged["id"];
  if (id === undefined || id === row.id) return merged;
  throw new DotbotError(
    "INVALID_INPUT",
    `the document is of another task: its id is ${quote(typeof id === "string" ? id : compactJson(id))}, not ${row.id}`,
    {
      hint: "keep the id, or leave it out",
    },
  );
}

interface Settlement {
  /** What the task says from now on; may be ours. */
  readonly chosen: JsonObject;
  /** The versions that are settled by it. */
  readonly others: readonly JsonObject[];
  readonly hashes: readonly string[];
  readonly who: Provenance;
  /** What taking over somebody's claim adds to history. */
  readonly theft: string | null;
}

/**
 * Makes a document the next version: its content, the history of all sides, and its status where the table allows that move.
 * Ours becomes a version too when it is kept: only so do other clones see that it was settled.
 */
function takeOver(tx: Tx, row: TaskRow, { chosen, others, hashes, who, theft }: Settlement): void {
  const ours = tx.document(row);
  const status: Status = isStatus(chosen["status"]) ? chosen["status"] : row.status;
  if (status !== row.status && !mayMove(row.status, status)) throw illegal(row, status, "resolve");
  const history = joined([ours, ...others]);
  const merged: JsonObject = { ...chosen, id: row.id, created_at: ours["created_at"], history };
  const reason = [settlementReason(hashes), ...(theft === null ? [] : [theft])].join("; ");
  const entry = entryOf(who, row.status, status, reason);
  const doc: JsonObject =
    status === row.status
      ? { ...merged, status, updated_at: who.at, history: [...history, { ...entry }].slice(-HISTORY_IN_FILE) }
      : moved(merged, row.status, { to: status, entry });
  new DependencyDesk(tx.ledger).refuseCycle(row.id, doc, status);
  const known = tx.ledger.events(row.id).map((event): JsonObject => ({ ...event }));
  for (const step of others.flatMap(historyOf)) {
    if (!known.some((event) => equalJson(event, step)))
      tx.ledger.addEvent(row.id, row.rev, step as unknown as HistoryEntry);
  }
  const place = row.place === "removed" ? ("view" as const) : row.place;
  const above = Math.max(0, ...others.map((other) => countedRevision(other) ?? 0));
  tx.save(row, doc, { at: who.at, by: who.by, kind: "resolved", status, place, entry, above });
}

/** What happened on all sides, each step once, in the order of time. */
function joined(documents: readonly JsonObject[]): JsonObject[] {
  const entries = new Map(documents.flatMap(historyOf).map((entry) => [JSON.stringify(entry), entry]));
  return [...entries.values()].sort((a, b) =>
    field(a, "at") < field(b, "at") ? -1 : field(a, "at") > field(b, "at") ? 1 : 0,
  );
}

/** Keeps the other version among the task's own (or, unreadable, beside them), and lets its file be drawn anew. */
function putAway(queue: Queue, tx: Tx, conflict: ConflictRow, who: Provenance): void {
  const content = contentOf(queue, conflict);
  const row = conflict.id === null ? undefined : tx.ledger.task(conflict.id);
  if (content !== null && row !== undefined) {
    tx.ledger.addVersion(
      row.id,
      {
        rev: row.rev,
        hash: conflict.hash,
        status: row.status,
        kind: "older",
        at: who.at,
        by: who.by,
        doc: content.text,
      },
      asNumber(content.doc["revision"]) ?? null,
    );
    if (!conflict.path.includes(":")) tx.redraw(row, conflict.path);
  } else {
    const bytes = tx.ledger.conflictContent(conflict.path, conflict.hash);
    tx.ledger.putRecord(SETTLED, `${conflict.path} ${conflict.hash}`, {
      at: who.at,
      by: who.by,
      base64: Buffer.from(bytes ?? []).toString("base64"),
    });
  }
  tx.ledger.dropConflict(conflict.path, conflict.hash);
}

function nothingToSettle(row: TaskRow | null, hash: string | undefined): DotbotError {
  const which =
    row === null ? (hash === undefined ? "" : ` with the hash ${quote(hash)}`) : ` of ${quote(row.name)} (${row.id8})`;
  return new DotbotError("NOT_FOUND", `there is no other version${which} to settle`, {
    hint: "`dotbot task resolve` lists what there is",
    example: "dotbot task resolve",
  });
}

function severalTasks(conflicts: readonly ConflictRow[]): DotbotError {
  return new DotbotError("INVALID_INPUT", "that is the beginning of several hashes", {
    hint: `they begin with ${conflicts.map((conflict) => conflict.hash.slice(0, 12)).join(", ")}`,
    example: `dotbot task resolve --hash ${conflicts[0]?.hash.slice(0, 12) ?? ""} --ours`,
  });
}

function unreadable(conflict: ConflictRow): DotbotError {
  return new DotbotError(
    "INVALID_INPUT",
    `${quote(conflict.path, 200)} isn't readable as a task, so it can't be taken`,
    {
      hint: "--ours puts it aside; it stays in the ledger",
      example: `dotbot task resolve --hash ${conflict.hash.slice(0, 8)} --ours`,
    },
  );
}

function several(row: TaskRow, conflicts: readonly ConflictRow[]): DotbotError {
  return new DotbotError(
    "INVALID_INPUT",
    `${quote(row.name)} has ${count(conflicts.length, "other version")}: ${conflicts.map((conflict) => conflict.hash.slice(0, 8)).join(", ")}`,
    {
      hint: "say which one",
      example: `dotbot task resolve ${row.id8} --theirs --hash ${conflicts[0]?.hash.slice(0, 8) ?? ""}`,
    },
  );
}

function resolveText(result: Resolved, style: Style): string {
  const line = (conflict: Told): string =>
    `${conflict.id?.slice(0, 8) ?? "--------"}  ${conflict.name ?? "not a task"}  ${paint(style, "dim", `${conflict.path} ${conflict.hash.slice(0, 8)}`)}\n`;
  if (result.changed) {
    const left = result.conflicts.length === 0 ? "" : `${result.conflicts.length} left\n`;
    return result.settled.map((conflict) => `settled: ${line(conflict)}`).join("") + left;
  }
  if (result.conflicts.length === 0) return "nothing to settle\n";
  return result.conflicts
    .map(
      (conflict) =>
        line(conflict) +
        changeLines(conflict.changes as Parameters<typeof changeLines>[0], style)
          .map((change) => `  ${change}\n`)
          .join(""),
    )
    .join("");
}
