/** Seeing the tasks of the queue, chosen and in order. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { compactJson, type JsonObject, parseJson } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import { loadSettings } from "../../settings.ts";
import { count, displayWidth, nearest, padEnd, paint, quote, type Style } from "../../text.ts";
import { categoriesOf } from "../categories.ts";
import { holderName, holds } from "../claim.ts";
import { look, type Mark, type Wishes } from "../look.ts";
import { CATEGORIES, EFFORTS, STATUSES } from "../model.ts";
import { provenanceFields } from "../provenance.ts";
import { CHECKED_FILES, Queue } from "../queue.ts";
import { QueueWatch } from "../watch.ts";
import {
  brokenShape,
  conflictsShape,
  dirField,
  field,
  holderFields,
  holderFlags,
  holderOf,
  paintStatus,
  provenanceFlags,
  standingClaim,
  taskDocument,
} from "./common.ts";
import { priorityText } from "./shapes.ts";

/** Tools get no more than this many tasks in one answer. */
const TOOL_LIMIT = 100;

// ── filters ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const priority = (description: string) => v.optional(v.pipe(v.number(), v.integer(), v.description(description)));

const filterFields = {
  status: v.optional(v.pipe(v.array(v.picklist(STATUSES)), v.description("Tasks in any of these statuses."))),
  category: v.optional(v.pipe(v.array(v.string()), v.description("Tasks of any of these categories."))),
  effort: v.optional(v.pipe(v.array(v.picklist(EFFORTS)), v.description("Tasks of any of these sizes."))),
  tag: v.optional(v.pipe(v.array(v.string()), v.description("Tasks with any of these tags."))),
  min_priority: priority("Priority from here on, as a number; lower is sooner."),
  max_priority: priority("Priority up to here."),
  text: v.optional(
    v.pipe(v.string(), v.description("Tasks whose name, slug, id or description holds this, in any case.")),
  ),
  blocked: v.optional(
    v.pipe(v.boolean(), v.description("true: open tasks that wait for others; false: tasks that don't.")),
  ),
  claimed: v.optional(
    v.pipe(v.boolean(), v.description("true: tasks that somebody holds; false: tasks that nobody holds.")),
  ),
  mine: v.optional(v.pipe(v.boolean(), v.description("Tasks that the caller (owner or session_id) holds."))),
  archived: v.optional(v.pipe(v.boolean(), v.description("Archived tasks instead of those in sight."))),
};

// ── list ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const listOutput = v.object({
  tasks: v.pipe(v.array(taskDocument), v.description("Open tasks first, each part by priority, age and id.")),
  total: v.pipe(v.number(), v.description("How many tasks match.")),
  shown: v.pipe(v.number(), v.description("How many of them are in tasks.")),
  truncated: v.optional(v.pipe(v.literal(true), v.description("There are more: narrow the filters."))),
  marks: v.pipe(
    v.record(v.string(), v.object({ blocked: v.exactOptional(v.string()), claimed: v.exactOptional(v.string()) })),
    v.description("By id: why a task waits, and who holds it."),
  ),
  broken: brokenShape,
  conflicts: conflictsShape,
  stateRoot: v.string(),
  format: v.optional(v.literal("ndjson")),
});
type Listed = v.InferOutput<typeof listOutput>;

const given = [
  "task add 'Add a login page' --priority 10",
  "task add 'Add a logout button' --depends-on 'Add a login page'",
] as const;

const listInput = v.strictObject({
  ...filterFields,
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.description("At most this many."))),
  session_id: provenanceFields.session_id,
  owner: holderFields.owner,
  claim_token: holderFields.claim_token,
  ndjson: v.optional(v.pipe(v.boolean(), v.description("One document a line."))),
  watch: v.optional(v.pipe(v.boolean(), v.description("Stay, and show the list again whenever something changes."))),
  ...dirField,
});
type ListInput = v.InferOutput<typeof listInput>;

export const list = operation({
  name: "task list",
  aliases: ["task ls"],
  summary: "List tasks",
  details:
    "All tasks in sight, or those that the filters choose; several filters must all hold. Files that can't be read and versions in conflict are reported beside the tasks.",
  examples: [
    { given, run: "task list", does: "all of them" },
    { given, run: "task list --status todo --blocked", does: "what waits for something else" },
    { given, run: "task list --status todo,analysed --limit 5 --ids", does: "ids alone, for other commands" },
  ],
  effect: "read",
  target: { rule: "queue" },
  input: listInput,
  flags: {
    session_id: provenanceFlags.session_id,
    owner: holderFlags.owner,
    claim_token: holderFlags.claim_token,
    ndjson: { cliOnly: true },
    watch: { cliOnly: true },
  },
  complete: { status: "status", category: "category" },
  output: listOutput,
  async run(call, input) {
    if (input.watch !== true) return await listed(call, input);
    if (call.answer === undefined)
      throw new DotbotError("USAGE", "this surface can't show a list again and again", {
        example: "dotbot task list --watch",
      });
    using watch = new QueueWatch(call, call.target.repo);
    for (;;) {
      await call.answer.update(await listed(call, input));
      await watch.changed();
    }
  },
  text: listText,
  ids: (result) => result.tasks.map((task) => String(task["id"])),
});

async function listed(call: Call, input: ListInput): Promise<Listed> {
  using queue = await Queue.open(call, call.target.repo);
  checkCategories(call, queue, input.category);
  const ndjson = input.ndjson === true;
  const limit = input.limit ?? Infinity;
  const caller = holderOf(call, input);
  const wishes: Wishes = {
    filter: input,
    limit: call.surface === "mcp" ? Math.min(limit, TOOL_LIMIT) : limit,
    documents: ndjson || call.answer === undefined || call.answer.as === "json",
    holder: (text) => {
      const claim = standingClaim(call, text);
      return claim === null ? null : holderName(claim);
    },
    mine:
      input.mine === true
        ? (text) => {
            const claim = standingClaim(call, text);
            return claim !== null && holds(claim, caller);
          }
        : null,
    checked: CHECKED_FILES,
  };
  let picture = look(queue.ledger, wishes);
  if (picture.files !== null && (await queue.check(picture.files))) picture = look(queue.ledger, wishes);
  await queue.finishRead();
  const { rows, documents, marks, total } = picture;
  return {
    // For a person the line's own facts will do: they are named as in the document.
    tasks: documents === null ? [...rows] : rows.map((row) => parseJson(documents.get(row.id) ?? "{}") as JsonObject),
    total,
    shown: rows.length,
    ...(rows.length < total ? { truncated: true as const } : {}),
    marks: Object.fromEntries(marks),
    broken: [...queue.broken],
    conflicts: [...queue.conflicts],
    stateRoot: queue.stateRoot,
    ...(ndjson ? { format: "ndjson" as const } : {}),
  };
}

/** A misspelt category would otherwise look like an empty queue. */
function checkCategories(call: Call, queue: Queue, wanted: readonly string[] | undefined): void {
  if (wanted === undefined) return;
  const known = new Set([
    ...categoriesOf(loadSettings(call, queue.stateRoot)),
    ...queue.ledger.tasks("place <> 'removed'").flatMap((row) => row.category ?? []),
  ]);
  for (const name of wanted) {
    if (known.has(name)) continue;
    const near = nearest(name, known) ?? CATEGORIES[0];
    throw new DotbotError("INVALID_INPUT", `category ${quote(name)} isn't one of ${[...known].join(", ")}`, {
      hint: `did you mean ${quote(near)}?`,
      example: call.surface === "cli" ? `dotbot task list --category ${near}` : JSON.stringify({ category: [near] }),
    });
  }
}

function listText(result: Listed, style: Style): string {
  if (result.format === "ndjson") return result.tasks.map((task) => `${compactJson(task as JsonObject)}\n`).join("");
  if (result.total === 0) return `no task here matches\n${listFooter(result, style)}`;
  const widest = statusWidth(result.tasks);
  const before = "1a2b3c4d".length + 2 + widest + 2 + "100".length + 2 + "XL".length + 2;
  const marked = Object.keys(result.marks).length > 0;
  // What it waits for may take less than half of what is left beside the name.
  const waitColumns = Math.min(40, Math.floor((style.width - before) * 0.4));
  // Neighbours have most in common, and what they share is laid out once: ten thousand lines are a matter of milliseconds.
  let last: Record<string, unknown> = {};
  let columns = "";
  let text = "";
  for (const task of result.tasks) {
    if (
      last["status"] !== task["status"] ||
      last["priority"] !== task["priority"] ||
      last["effort"] !== task["effort"]
    ) {
      last = task;
      columns = `  ${paintStatus(style, field(task, "status"), padEnd(field(task, "status"), widest))}  ${priorityText(task).padStart(3)}  ${field(task, "effort").padEnd(2)}  `;
    }
    const id = String(task["id"]);
    const mark = marked ? result.marks[id] : undefined;
    const tail = mark === undefined ? "" : `  ${markText(mark, style, waitColumns)}`;
    const room = style.width - before - (tail === "" ? 0 : displayWidth(tail));
    text += `${id.slice(0, 8)}${columns}${fit(field(task, "name") || id, room)}${tail}\n`;
  }
  return text + listFooter(result, style);
}

function statusWidth(tasks: Listed["tasks"]): number {
  let width = 0;
  let last: unknown;
  for (const task of tasks) {
    if (task["status"] === last) continue;
    last = task["status"];
    width = Math.max(width, String(last).length);
  }
  return width;
}

function markText(mark: Mark, style: Style, waitColumns: number): string {
  const words = [
    ...(mark.claimed === undefined ? [] : [paint(style, "yellow", `@${mark.claimed}`)]),
    ...(mark.blocked === undefined ? [] : [paint(style, "red", `(${waitText(mark.blocked, waitColumns)})`)]),
  ];
  return words.join(" ");
}

/** Where room is short the names of what is waited for come first, their statuses last. */
function waitText(blocked: string, columns: number): string {
  return blocked.length <= columns ? blocked : fit(blocked.replaceAll(/ \([a-z-]+\)/g, ""), columns, 10);
}

/** A name cut to the columns that are left, but to no fewer than `least`. */
export function fit(text: string, columns: number, least = 20): string {
  const room = Math.max(least, columns);
  if (text.length * 2 <= room || displayWidth(text) <= room) return text;
  let shown = "";
  let width = 1;
  for (const point of text) {
    width += displayWidth(point);
    if (width > room) break;
    shown += point;
  }
  return `${shown}…`;
}

function listFooter(result: Listed, style: Style): string {
  const lines = [
    ...(result.truncated === true ? [paint(style, "dim", `${result.shown} of ${count(result.total, "task")}`)] : []),
    ...result.broken.map((file) =>
      paint(
        style,
        "red",
        `can't be read: ${file.path}${file.line === null ? "" : `:${file.line}:${file.column ?? 1}`}: ${file.message}`,
      ),
    ),
    ...result.conflicts.map((conflict) =>
      paint(
        style,
        "red",
        `another version of ${quote(conflict.name ?? "a task")}: ${conflict.path}; settle it with \`dotbot task resolve\``,
      ),
    ),
  ];
  return lines.map((line) => `${line}\n`).join("");
}
