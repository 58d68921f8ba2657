/** Taking tasks out of the queue, and out of sight. */
import * as v from "valibot";

import { duration, DURATION_WORDS, parseDuration } from "../../duration.ts";
import { DotbotError } from "../../error.ts";
import { operation, type Call } from "../../op.ts";
import { count, quote } from "../../text.ts";
import { WORKTREE_RECORDS } from "../here.ts";
import type { TaskRow } from "../ledger.ts";
import { CLOSED, isClosed } from "../model.ts";
import { findTask } from "../names.ts";
import { entryOf, oneLine, provenance, provenanceFields } from "../provenance.ts";
import type { Queue, Tx } from "../queue.ts";
import { dependentsOf } from "../relations.ts";
import {
  dirField,
  exampleFor,
  field,
  guardClaim,
  holderFields,
  holderFlags,
  holderOf,
  namedTask,
  oneTask,
  oneTaskOf,
  provenanceFlags,
  taskField,
  withQueue,
} from "./common.ts";
import { tagLine, tagOf, tagShape } from "./shapes.ts";

// ── remove ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const given = ["task add 'Add a login page'"] as const;

export const remove = operation({
  name: "task remove",
  aliases: ["task rm"],
  summary: "Take a task out of the queue",
  details:
    "Its file goes; its versions stay in the ledger, and `task restore` brings it back. Refused while it has a worktree, while somebody else holds it, and while open tasks depend on it, unless force_dependents. To give work up but keep the record use `task cancel`.",
  examples: [{ given, run: "task remove 'Add a login page'", does: "take it out" }],
  effect: "destroy",
  target: { rule: "queue" },
  toolset: "people",
  positional: [{ field: "task_id", variadic: true, optional: true }],
  batch: "task_id",
  complete: { task_id: "task" },
  input: v.strictObject({
    ...taskField,
    force_dependents: v.optional(
      v.pipe(v.boolean(), v.description("Remove it although open tasks depend on it; they will be blocked.")),
    ),
    reason: v.optional(v.pipe(v.string(), v.description("Why; for its history."))),
    ...provenanceFields,
    ...holderFields,
    ...dirField,
  }),
  flags: { ...provenanceFlags, ...holderFlags },
  output: v.object({
    ...oneTask,
    removed: v.literal(true),
    dependents: v.pipe(v.array(tagShape), v.description("Open tasks that depend on it, and can't go on now.")),
  }),
  async run(call, input) {
    return await withQueue(call, async ({ queue, settings }) => {
      const found = await namedTask(call, queue, input.task_id, "remove");
      const who = await provenance(call, call.target.repo, input, settings.provenance.require_session);
      const before = oneTaskOf(call, queue, found);
      const dependents = await queue.write(`task remove ${found.id8}`, (tx) => {
        const row = tx.row(found.id);
        const theft = guardClaim(call, tx, row, holderOf(call, input), input.steal, "remove");
        refuseWorktree(tx, row);
        const open = dependentsOf(tx.ledger, row).filter((other) => !isClosed(other.status));
        if (open.length > 0 && input.force_dependents !== true) throw stillNeeded(call, row, open);
        const said = input.reason === undefined ? "" : oneLine(call, input.reason, "reason");
        const reason = ["removed", said, theft ?? ""].filter((part) => part !== "").join("; ");
        // Only the ledger's history says so: there is no file left to carry it.
        tx.ledger.addEvent(row.id, row.rev, entryOf(who, row.status, row.status, reason));
        tx.ledger.dropClaim(row.id);
        tx.setPlace(row, "removed");
        return open;
      });
      return { ...before, removed: true as const, dependents: dependents.map(tagOf) };
    });
  },
  text: ({ task, dependents }, style) =>
    `${field(task, "id").slice(0, 8)}  ${field(task, "name")}: removed; \`dotbot task restore ${field(task, "id").slice(0, 8)}\` brings it back\n` +
    dependents.map((tag) => `  now blocked: ${tagLine(style, tag)}\n`).join(""),
  ids: (result) => [field(result.task, "id")],
});

function refuseWorktree(tx: Tx, row: TaskRow): void {
  const record = tx.ledger.record(WORKTREE_RECORDS, row.id);
  if (record === undefined) return;
  const path = typeof record === "object" && record !== null && "path" in record ? String(record.path) : "";
  throw new DotbotError("REFUSED", `${quote(row.name)} (${row.id8}) has a worktree at ${quote(path, 300)}`, {
    hint: "complete or remove the worktree first",
    example: `dotbot wt remove ${row.id8}`,
    details: { task: row.id, worktree: record },
  });
}

function stillNeeded(call: Call, row: TaskRow, dependents: readonly TaskRow[]): DotbotError {
  const names = dependents.slice(0, 5).map((other) => `${other.id8} (${other.name})`);
  return new DotbotError(
    "REFUSED",
    `${count(dependents.length, "open task")} ${dependents.length === 1 ? "depends" : "depend"} on ${quote(row.name)} (${row.id8}): ${names.join(", ")}${dependents.length > 5 ? ", …" : ""}`,
    {
      hint: "take it out of their dependencies, cancel it instead (then they may go on), or remove it all the same",
      example:
        call.surface === "cli"
          ? `dotbot task remove ${row.id8} --force-dependents`
          : JSON.stringify({ task_id: row.id, force_dependents: true }),
      details: { task: row.id, dependents: dependents.map(tagOf) },
    },
  );
}

// ── archive ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const archive = operation({
  name: "task archive",
  summary: "Move finished tasks out of sight",
  details:
    "Only closed tasks (done, failed, skipped, split, cancelled). Archived ones still satisfy what depends on them; `task list --archived` shows them, --undo brings them back.",
  examples: [
    { given: [...given, "task done 'Add a login page'"], run: "task archive 'Add a login page'", does: "this one" },
    { run: "task archive --older-than 30d", does: "all that were finished more than a month ago" },
  ],
  effect: "write",
  idempotent: true,
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "tasks", variadic: true, optional: true }],
  complete: { tasks: "task" },
  input: v.strictObject({
    tasks: v.optional(
      v.pipe(v.array(v.string()), v.description("Tasks, by id, first digits, slug, file name or exact name.")),
    ),
    older_than: v.optional(duration("All closed tasks that were finished longer ago than this, as 30d.")),
    undo: v.optional(v.pipe(v.boolean(), v.description("Bring the named tasks back into sight."))),
    ...dirField,
  }),
  flags: { older_than: { value: "duration" } },
  output: v.object({
    tasks: v.pipe(v.array(tagShape), v.description("Those that moved.")),
    changed: v.boolean(),
    stateRoot: v.string(),
  }),
  async run(call, input) {
    return await withQueue(call, async ({ queue }) => {
      const undo = input.undo === true;
      const named = (input.tasks ?? []).map((name) =>
        findTask(queue.ledger, name, (task) => exampleFor("archive", task)),
      );
      if (named.length === 0 && (undo || input.older_than === undefined)) {
        throw new DotbotError("USAGE", undo ? "which tasks come back?" : "which tasks?", {
          hint: undo
            ? "`dotbot task list --archived` shows them"
            : "name tasks, or say how old finished ones have to be",
          example: undo ? "dotbot task archive 1a2b3c4d --undo" : "dotbot task archive --older-than 30d",
        });
      }
      const cut = cutOf(call, input.older_than);
      const moved = await queue.write("task archive", (tx) => {
        const rows = [...named.map((row) => tx.row(row.id)), ...(cut === null ? [] : finishedBefore(queue, cut))];
        const unique = [...new Map(rows.map((row) => [row.id, row])).values()];
        for (const row of unique) if (!undo && !isClosed(row.status)) throw stillOpen(row);
        const away = unique.filter((row) => row.place === (undo ? "archive" : "view"));
        for (const row of away) tx.setPlace(row, undo ? "view" : "archive");
        return away.map(tagOf);
      });
      return { tasks: moved, changed: moved.length > 0, stateRoot: queue.stateRoot };
    });
  },
  text: (result, style) =>
    result.tasks.length === 0 ? "nothing to move\n" : result.tasks.map((tag) => `${tagLine(style, tag)}\n`).join(""),
  ids: (result) => result.tasks.map((tag) => tag.id),
});

function cutOf(call: Call, age: string | undefined): number | null {
  if (age === undefined) return null;
  const ms = parseDuration(age);
  if (ms === undefined)
    throw new DotbotError("INVALID_INPUT", `older_than ${quote(age)} isn't ${DURATION_WORDS}`, {
      example: "dotbot task archive --older-than 30d",
    });
  return call.now().getTime() - ms;
}

function finishedBefore(queue: Queue, cut: number): TaskRow[] {
  const closed = CLOSED.map((status) => `'${status}'`).join(", ");
  return queue.ledger
    .tasks(`place = 'view' AND status IN (${closed})`)
    .filter((row) => Date.parse(row.completedAt ?? row.updatedAt) <= cut);
}

function stillOpen(row: TaskRow): DotbotError {
  return new DotbotError(
    "REFUSED",
    `${quote(row.name)} (${row.id8}) is ${row.status}: only finished tasks are archived`,
    {
      hint: `finished are ${CLOSED.join(", ")}`,
      example: `dotbot task cancel ${row.id8}`,
      details: { task: row.id, status: row.status },
    },
  );
}
