/** A task's past, and how to get it back. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { formatJson, type JsonObject, parseJson } from "../../json.ts";
import { operation } from "../../op.ts";
import { paint, quote, type Style } from "../../text.ts";
import { changeLines, fieldChanges } from "../diff.ts";
import type { Ledger, TaskRow, Version } from "../ledger.ts";
import { appended, mayMove, moved, RESERVED_FIELDS } from "../model.ts";
import { findTask } from "../names.ts";
import { entryOf, provenance, provenanceFields } from "../provenance.ts";
import type { Queue } from "../queue.ts";
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
  taskDocument,
  taskField,
  withQueue,
} from "./common.ts";
import { DependencyDesk } from "./dependencies.ts";
import { illegal, statusShape } from "./move.ts";
import { historyLine } from "./show.ts";
import { section } from "./shapes.ts";

const given = ["task add 'Add a login page'", "task edit 'Add a login page' --priority 10"] as const;

/** Versions that were current once; `older` ones were only met in a file. */
function wasCurrent(version: Version): boolean {
  return version.kind !== "older";
}

/** The version that a revision means. Error: NOT_FOUND with those that there are. */
function versionAt(ledger: Ledger, row: TaskRow, revision: number, example: string): Version {
  const versions = ledger.versions(row.id);
  const found =
    versions.findLast((version) => version.rev === revision && wasCurrent(version)) ??
    versions.findLast((version) => version.rev === revision);
  if (found !== undefined) return found;
  const numbers = versions.map((version) => version.rev);
  throw new DotbotError("NOT_FOUND", `${quote(row.name)} (${row.id8}) has no revision ${revision}`, {
    hint: `it has revisions ${Math.min(...numbers)} to ${Math.max(...numbers)}`,
    example,
    details: { revisions: [...new Set(numbers)] },
  });
}

/** A task by name, whether it is in the queue or was removed. */
function anyTask(queue: Queue, name: string, verb: string): TaskRow {
  try {
    return findTask(queue.ledger, name, (task) => exampleFor(verb, task));
  } catch (error) {
    if (!(error instanceof DotbotError) || error.code !== "TASK_NOT_FOUND") throw error;
    const wanted = name.trim();
    const prefix = /^[0-9a-f]{4}[0-9a-f-]*$/i.test(wanted) ? wanted.toLowerCase() : null;
    const removed = queue.ledger
      .tasks("place = 'removed'")
      .filter(
        (row) =>
          [row.id, row.file, row.file.slice(0, -".json".length), row.slug, row.name].includes(wanted) ||
          (prefix !== null && row.id.startsWith(prefix)),
      );
    const [only] = removed;
    if (only === undefined) throw error;
    if (removed.length === 1) return only;
    throw new DotbotError(
      "AMBIGUOUS_TASK",
      `${quote(wanted)} means ${removed.length} removed tasks: ${removed.map((row) => `${row.id8} (${row.name})`).join(", ")}`,
      {
        hint: "use more digits of the id",
        example: exampleFor(verb, only.id),
        details: { candidates: removed.map((row) => ({ id: row.id, name: row.name, status: row.status })) },
      },
    );
  }
}

function documentOf(version: Version): JsonObject {
  return parseJson(version.doc) as JsonObject;
}

// ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const versionShape = v.object({
  revision: v.number(),
  status: statusShape,
  kind: v.pipe(
    v.string(),
    v.description(
      "write, adopted (an edit of the file), imported, resolved, restored; older: only ever met in a file.",
    ),
  ),
  at: v.string(),
  by: v.string(),
  current: v.boolean(),
  changed: v.pipe(v.array(v.string()), v.description("Fields that differ from the version before.")),
});

const changeShape = v.object({ field: v.string(), before: v.optional(v.unknown()), after: v.optional(v.unknown()) });

const historyOutput = v.object({
  id: v.string(),
  name: v.string(),
  removed: v.optional(v.literal(true)),
  history: v.pipe(
    v.array(v.looseObject({})),
    v.description("Its life, whole: {at, from, to, by, session_id, branch, commit, reason}."),
  ),
  versions: v.array(versionShape),
  revision: v.optional(v.pipe(taskDocument, v.description("With revision: the document as it was then."))),
  diff: v.optional(
    v.pipe(v.array(changeShape), v.description("With diff: what that revision (by default the present one) changed.")),
  ),
  diffs: v.optional(v.array(v.object({ revision: v.number(), changes: v.array(changeShape) }))),
  stateRoot: v.string(),
});
type History = v.InferOutput<typeof historyOutput>;

export const history = operation({
  name: "task history",
  aliases: ["task log"],
  summary: "Show a task's whole past",
  details:
    "Every step of its life and every version of its document, removed tasks included. With revision: the document as it was. With diff: what changed.",
  examples: [
    { given, run: "task history 'Add a login page'", does: "its life and its versions" },
    { given, run: "task history 'Add a login page' --diff", does: "with what each version changed" },
    { given, run: "task history 'Add a login page' --revision 1", does: "the document as it was" },
  ],
  effect: "read",
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "task_id", optional: true }],
  complete: { task_id: "task" },
  input: v.strictObject({
    ...taskField,
    revision: v.optional(
      v.pipe(v.number(), v.integer(), v.minValue(1), v.description("Show the document of this revision.")),
    ),
    diff: v.optional(v.pipe(v.boolean(), v.description("Show what each version, or the named one, changed."))),
    ...dirField,
  }),
  output: historyOutput,
  async run(call, input) {
    return await withQueue(call, async ({ queue }) => {
      const row =
        input.task_id === undefined
          ? await namedTask(call, queue, undefined, "history")
          : anyTask(queue, input.task_id, "history");
      await queue.current([row]);
      await queue.finishRead();
      return queue.ledger.snapshot(() =>
        historyOfTask(queue, queue.ledger.task(row.id) ?? row, input.revision, input.diff === true),
      );
    });
  },
  text: historyText,
});

function historyOfTask(queue: Queue, row: TaskRow, revision: number | undefined, diff: boolean): History {
  const versions = queue.ledger.versions(row.id);
  const line = versions.filter(wasCurrent);
  const changesOf = (version: Version) => {
    const before = line[line.indexOf(version) - 1];
    return before === undefined ? [] : fieldChanges(documentOf(before), documentOf(version));
  };
  const chosen =
    revision === undefined
      ? undefined
      : versionAt(queue.ledger, row, revision, exampleFor("history", row.id8, " --revision 1"));
  const same =
    chosen === undefined
      ? undefined
      : line.find((version) => version.rev === chosen.rev && version.hash === chosen.hash);
  return {
    id: row.id,
    name: row.name,
    ...(row.place === "removed" ? { removed: true as const } : {}),
    history: queue.ledger.events(row.id).map((entry) => ({ ...entry })),
    versions: versions.map((version) => ({
      revision: version.rev,
      status: version.status,
      kind: version.kind,
      at: version.at,
      by: version.by,
      current: version.rev === row.rev && version.hash === row.hash,
      changed: wasCurrent(version) ? changesOf(version).map((change) => change.field) : [],
    })),
    ...(chosen === undefined ? {} : { revision: documentOf(chosen) }),
    ...(diff && same !== undefined ? { diff: changesOf(same) } : {}),
    ...(diff && revision === undefined
      ? { diffs: line.slice(1).map((version) => ({ revision: version.rev, changes: changesOf(version) })) }
      : {}),
    stateRoot: queue.stateRoot,
  };
}

function historyText(result: History, style: Style): string {
  if (result.diff !== undefined)
    return result.diff.length === 0
      ? "no change but of time\n"
      : lines(changeLines(result.diff as Parameters<typeof changeLines>[0], style));
  if (result.revision !== undefined) return formatJson(result.revision as JsonObject);
  const diffOf = (revision: number): string[] => {
    const found = result.diffs?.find((diff) => diff.revision === revision);
    return found === undefined
      ? []
      : changeLines(found.changes as Parameters<typeof changeLines>[0], style).map((line) => `    ${line}`);
  };
  return [
    `${paint(style, "bold", result.name)}  ${paint(style, "dim", result.id)}${result.removed === true ? paint(style, "red", "  removed") : ""}\n`,
    section(
      style,
      "Life",
      result.history.map((entry) => historyLine(entry, style)),
    ),
    section(
      style,
      "Versions",
      result.versions.map((version) =>
        [
          `${String(version.revision).padStart(3)}${version.current ? "*" : " "} ${version.at}  ${version.kind}  ${version.by}  ${paint(style, "dim", version.changed.join(", "))}`.trimEnd(),
          ...diffOf(version.revision),
        ].join("\n"),
      ),
    ),
  ].join("");
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join("");
}

// ── restore ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const restore = operation({
  name: "task restore",
  summary: "Bring back an earlier revision of a task, or a removed task",
  details:
    "The earlier content becomes a new version; nothing in between is lost. The status and what transitions recorded stay, unless with_status asks for the earlier status, which the transition table has to allow. A removed task comes back as it was.",
  examples: [
    { given, run: "task restore 'Add a login page' --revision 1", does: "undo the edit" },
    {
      given: ["task add 'Add a login page'", "task remove 'Add a login page'"],
      run: "task restore 'Add a login page'",
      does: "bring back a removed task",
    },
  ],
  effect: "write",
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "task_id" }],
  complete: { task_id: "task" },
  input: v.strictObject({
    task_id: v.pipe(
      v.string(),
      v.description("The task: its id, first digits of it, its slug, file name or exact name; removed ones too."),
    ),
    revision: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(1),
        v.description("The revision to bring back; for a removed task its last one by default."),
      ),
    ),
    with_status: v.optional(v.pipe(v.boolean(), v.description("Go back to that revision's status as well."))),
    ...provenanceFields,
    ...holderFields,
    ...dirField,
  }),
  flags: { ...provenanceFlags, ...holderFlags },
  output: v.object({
    ...oneTask,
    oldStatus: statusShape,
    newStatus: statusShape,
    restored: v.pipe(v.number(), v.description("The revision that was brought back.")),
    changed: v.boolean(),
  }),
  async run(call, input) {
    return await withQueue(call, async ({ queue, settings }) => {
      const found = anyTask(queue, input.task_id, "restore");
      await queue.current([found]);
      const who = await provenance(call, call.target.repo, input, settings.provenance.require_session);
      const result = await queue.write(`task restore ${found.id8}`, (tx) => {
        const row = queue.ledger.task(found.id) ?? found;
        const removed = row.place === "removed";
        if (input.revision === undefined && !removed) {
          throw new DotbotError("INVALID_INPUT", "which revision?", {
            hint: `\`dotbot task history ${row.id8}\` shows them; the present one is ${row.rev}`,
            example:
              call.surface === "cli"
                ? `dotbot task restore ${row.id8} --revision ${Math.max(1, row.rev - 1)}`
                : JSON.stringify({ task_id: row.id, revision: Math.max(1, row.rev - 1) }),
            details: { missing: ["revision"] },
          });
        }
        const theft = guardClaim(call, tx, row, holderOf(call, input), input.steal, "restore");
        const version = versionAt(
          tx.ledger,
          row,
          input.revision ?? row.rev,
          exampleFor("restore", row.id8, " --revision 1"),
        );
        const present = tx.document(row);
        const old = documentOf(version);
        const wanted = input.with_status === true ? version.status : row.status;
        if (wanted !== row.status && !removed && !mayMove(row.status, wanted)) throw illegal(row, wanted, "restore");
        const next: JsonObject = { ...old };
        // What transitions recorded stays: the document goes on telling the truth about what happened.
        for (const name of RESERVED_FIELDS) next[name] = present[name];
        new DependencyDesk(tx.ledger).refuseCycle(row.id, next, wanted);
        const same = fieldChanges(present, next).length === 0;
        if (same && wanted === row.status && !removed && theft === null)
          return { row, before: row.status, version, changed: false };
        const reason = [
          `revision ${version.rev} restored`,
          ...(removed ? ["the task had been removed"] : []),
          ...(theft === null ? [] : [theft]),
        ].join("; ");
        const entry = entryOf(who, row.status, wanted, reason);
        const doc =
          wanted === row.status
            ? { ...next, updated_at: who.at, history: appended(present, entry) }
            : moved(next, row.status, { to: wanted, entry });
        const place = removed ? ("view" as const) : row.place;
        return {
          row: tx.save(row, doc, { at: who.at, by: who.by, kind: "restored", status: wanted, place, entry }),
          before: row.status,
          version,
          changed: true,
        };
      });
      return {
        ...oneTaskOf(call, queue, result.row),
        oldStatus: result.before,
        newStatus: result.row.status,
        restored: result.version.rev,
        changed: result.changed,
      };
    });
  },
  text: ({ task, restored, changed, newStatus }) =>
    `${field(task, "id").slice(0, 8)}  ${field(task, "name")}: ${changed ? `as in revision ${restored}, ${newStatus}` : `already as in revision ${restored}`}\n`,
  ids: (result) => [field(result.task, "id")],
});
