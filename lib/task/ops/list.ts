/** Seeing the queue: its tasks, chosen and in order, and its figures. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { compactJson, type JsonObject, parseJson } from "../../json.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { loadSettings } from "../../settings.ts";
import { count, displayWidth, nearest, padEnd, paint, quote, type Style } from "../../text.ts";
import { holderName, holds } from "../claim.ts";
import type { TaskRow } from "../ledger.ts";
import { EFFORTS, isClosed, STATUSES } from "../model.ts";
import { DependencyIndex, dependencyReason } from "../pick.ts";
import { provenanceFields } from "../provenance.ts";
import { CHECKED_FILES, Queue } from "../queue.ts";
import { QueueWatch } from "../watch.ts";
import { brokenShape, conflictsShape, dirField, holderFields, holderFlags, holderOf, paintStatus, provenanceFlags, standingClaim, taskDocument, withQueue } from "./common.ts";
import { categoriesOf } from "./draft.ts";

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
  text: v.optional(v.pipe(v.string(), v.description("Tasks whose name, slug, id or description holds this, in any case."))),
  blocked: v.optional(v.pipe(v.boolean(), v.description("true: open tasks that wait for others; false: tasks that don't."))),
  claimed: v.optional(v.pipe(v.boolean(), v.description("true: tasks that somebody holds; false: tasks that nobody holds."))),
  mine: v.optional(v.pipe(v.boolean(), v.description("Tasks that the caller (owner or session_id) holds."))),
  archived: v.optional(v.pipe(v.boolean(), v.description("Archived tasks instead of those in sight."))),
};

type Filter = v.InferOutput<v.StrictObjectSchema<typeof filterFields, undefined>>;

type Mark = { blocked?: string; claimed?: string };

/** One consistent look at the queue. */
interface Picture {
  readonly rows: readonly TaskRow[];
  readonly marks: ReadonlyMap<string, Mark>;
  readonly total: number;
  /** Texts of the documents, where they are wanted. */
  readonly documents: ReadonlyMap<string, string> | null;
}

interface Look {
  readonly filter: Filter;
  readonly limit: number | null;
  readonly documents: boolean;
  readonly mine: (row: TaskRow) => boolean;
}

/** Reads everything inside one snapshot: a task that moves meanwhile is neither missing nor doubled. */
function look(call: Call, queue: Queue, { filter, limit, documents, mine }: Look): Picture {
  const { ledger } = queue;
  return ledger.snapshot(() => {
    const [where, values] = sieve(filter);
    const claims = ledger.claims();
    const marks = new Map<string, Mark>();
    let rows = ledger.tasks(where, ...values);
    for (const [id, text] of claims) {
      const claim = standingClaim(call, text);
      if (claim !== null) marks.set(id, { claimed: holderName(claim) });
    }
    const { tag, text, claimed } = filter;
    if (tag !== undefined) rows = rows.filter((row) => row.tags.some((one) => tag.includes(one)));
    if (claimed !== undefined) rows = rows.filter((row) => marks.has(row.id) === claimed);
    if (filter.mine === true) rows = rows.filter(mine);
    if (text !== undefined && text !== "") rows = withText(queue, rows, text.toLowerCase());
    if (filter.blocked !== undefined) {
      markBlocked(queue, rows, marks);
      rows = rows.filter((row) => (marks.get(row.id)?.blocked !== undefined) === filter.blocked);
    }
    const total = rows.length;
    const ordered = [...rows.filter((row) => !isClosed(row.status)), ...rows.filter((row) => isClosed(row.status))];
    const shown = limit === null ? ordered : ordered.slice(0, limit);
    if (filter.blocked === undefined) markBlocked(queue, shown, marks);
    return { rows: shown, marks, total, documents: documents ? ledger.documents(new Set(shown.map((row) => row.id))) : null };
  });
}

/** What SQL can tell: a condition of ours with the caller's values bound. */
function sieve(filter: Filter): readonly [where: string, values: (string | number)[]] {
  const parts = [filter.archived === true ? "place = 'archive'" : "place = 'view'"];
  const values: (string | number)[] = [];
  const among = (column: string, allowed: readonly string[] | undefined): void => {
    if (allowed === undefined) return;
    parts.push(`${column} IN (${allowed.map(() => "?").join(", ")})`);
    values.push(...allowed);
  };
  among("status", filter.status);
  among("category", filter.category);
  among("effort", filter.effort);
  if (filter.min_priority !== undefined) {
    parts.push("priority >= ?");
    values.push(filter.min_priority);
  }
  if (filter.max_priority !== undefined) {
    parts.push("priority <= ?");
    values.push(filter.max_priority);
  }
  return [parts.join(" AND "), values];
}

function withText(queue: Queue, rows: readonly TaskRow[], needle: string): TaskRow[] {
  const named = new Set(rows.filter((row) => [row.name, row.slug ?? "", row.id].some((text) => text.toLowerCase().includes(needle))).map((row) => row.id));
  const documents = queue.ledger.documents(new Set(rows.filter((row) => !named.has(row.id)).map((row) => row.id)));
  const described = (id: string): boolean => {
    const description = (parseJson(documents.get(id) ?? "{}") as JsonObject)["description"];
    return typeof description === "string" && description.toLowerCase().includes(needle);
  };
  return rows.filter((row) => named.has(row.id) || described(row.id));
}

/** Adds why open tasks wait. Rows of the whole queue are read only where a task waits for any. */
function markBlocked(queue: Queue, rows: readonly TaskRow[], marks: Map<string, Mark>): void {
  const waiting = rows.filter((row) => row.dependencies.length > 0 && !isClosed(row.status));
  if (waiting.length === 0) return;
  const everything = queue.ledger.tasks("place <> 'removed'");
  const index = new DependencyIndex(everything);
  const byId = new Map(everything.map((row) => [row.id, row]));
  for (const row of waiting) {
    const reason = dependencyReason(row, index, byId);
    if (reason !== null) marks.set(row.id, { ...marks.get(row.id), blocked: reason.detail });
  }
}

// ── list ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const listOutput = v.object({
  tasks: v.pipe(v.array(taskDocument), v.description("Open tasks first, each part by priority, age and id.")),
  total: v.pipe(v.number(), v.description("How many tasks match.")),
  shown: v.pipe(v.number(), v.description("How many of them are in tasks.")),
  truncated: v.optional(v.pipe(v.literal(true), v.description("There are more: narrow the filters."))),
  marks: v.pipe(
    v.record(v.string(), v.object({ blocked: v.optional(v.string()), claimed: v.optional(v.string()) })),
    v.description("By id: why a task waits, and who holds it."),
  ),
  broken: brokenShape,
  conflicts: conflictsShape,
  stateRoot: v.string(),
  format: v.optional(v.literal("ndjson")),
});
type Listed = v.InferOutput<typeof listOutput>;

const given = ["task add 'Add a login page' --priority 10", "task add 'Add a logout button' --depends-on 'Add a login page'"] as const;

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
  details: "All tasks in sight, or those that the filters choose; several filters must all hold. Files that can't be read and versions in conflict are reported beside the tasks.",
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
    if (call.answer === undefined) throw new DotbotError("USAGE", "this surface can't show a list again and again", { example: "dotbot task list --watch" });
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
  const wanted = input.limit ?? Infinity;
  const limit = call.surface === "mcp" ? Math.min(wanted, TOOL_LIMIT) : wanted;
  const holder = holderOf(call, input);
  const options: Look = {
    filter: input,
    limit: Number.isFinite(limit) ? limit : null,
    documents: ndjson || call.answer === undefined || call.answer.as === "json",
    mine: (row) => {
      const claim = standingClaim(call, queue.ledger.claim(row.id));
      return claim !== null && holds(claim, holder);
    },
  };
  let picture = look(call, queue, options);
  if (picture.rows.length <= CHECKED_FILES && (await queue.current(picture.rows)) !== picture.rows) picture = look(call, queue, options);
  await queue.finishRead();
  const { rows, documents, marks, total } = picture;
  return {
    tasks: rows.map((row) => (documents === null ? leanDocument(row) : (parseJson(documents.get(row.id) ?? "{}") as JsonObject))),
    total,
    shown: rows.length,
    ...(rows.length < total ? { truncated: true as const } : {}),
    marks: marks.size === 0 ? {} : Object.fromEntries(rows.flatMap((row) => (marks.has(row.id) ? [[row.id, marks.get(row.id) ?? {}]] : []))),
    broken: [...queue.broken],
    conflicts: [...queue.conflicts],
    stateRoot: queue.stateRoot,
    ...(ndjson ? { format: "ndjson" as const } : {}),
  };
}

/** What a line of text is made from, without the document. */
function leanDocument(row: TaskRow): JsonObject {
  return { id: row.id, name: row.name, status: row.status, priority: row.priority, effort: row.effort ?? undefined };
}

/** A misspelt category would otherwise look like an empty queue. */
function checkCategories(call: Call, queue: Queue, wanted: readonly string[] | undefined): void {
  if (wanted === undefined) return;
  const known = new Set([...categoriesOf(loadSettings(call, queue.stateRoot)), ...queue.ledger.tasks("place <> 'removed'").flatMap((row) => row.category ?? [])]);
  for (const name of wanted) {
    if (known.has(name)) continue;
    const near = nearest(name, known);
    throw new DotbotError("INVALID_INPUT", `category ${quote(name)} isn't one of ${[...known].join(", ")}`, {
      ...(near === undefined ? {} : { hint: `did you mean ${quote(near)}?`, example: call.surface === "cli" ? `dotbot task list --category ${near}` : JSON.stringify({ category: [near] }) }),
    });
  }
}

function listText(result: Listed, style: Style): string {
  if (result.format === "ndjson") return result.tasks.map((task) => `${compactJson(task as JsonObject)}\n`).join("");
  if (result.total === 0) return `no task here matches\n${listFooter(result, style)}`;
  const { tasks } = result;
  const statuses = new Map(STATUSES.map((status) => [status as string, status as string]));
  const width = Math.max(0, ...[...new Set(tasks.map((task) => String(task["status"])))].map((status) => status.length));
  for (const status of statuses.keys()) statuses.set(status, paintStatus(style, status, padEnd(status, width)));
  const before = 8 + 2 + width + 2 + 3 + 2 + 2 + 2;
  const lines = tasks.map((task) => {
    const id = String(task["id"]);
    const mark = result.marks[id];
    const tail = mark === undefined ? "" : markText(mark, style);
    const name = fit(String(task["name"] ?? id), style.width - before - (tail === "" ? 0 : displayWidth(tail) + 2));
    const effort = typeof task["effort"] === "string" ? task["effort"] : "";
    const status = String(task["status"]);
    return `${id.slice(0, 8)}  ${statuses.get(status) ?? padEnd(status, width)}  ${String(task["priority"] ?? 50).padStart(3)}  ${effort.padEnd(2)}  ${name}${tail === "" ? "" : `  ${tail}`}\n`;
  });
  return lines.join("") + listFooter(result, style);
}

function markText(mark: Mark, style: Style): string {
  const words = [
    ...(mark.claimed === undefined ? [] : [paint(style, "yellow", `@${mark.claimed}`)]),
    ...(mark.blocked === undefined ? [] : [paint(style, "red", `(${fit(mark.blocked, 40)})`)]),
  ];
  return words.join(" ");
}

/** A name cut to the columns that are left; one that has to be cut keeps at least twenty. */
function fit(text: string, columns: number): string {
  const room = Math.max(20, columns);
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
    ...result.broken.map((file) => paint(style, "red", `can't be read: ${file.path}${file.line === null ? "" : `:${file.line}:${file.column ?? 1}`}: ${file.message}`)),
    ...result.conflicts.map((conflict) => paint(style, "red", `another version of ${quote(conflict.name ?? "a task")}: ${conflict.path}; settle it with \`dotbot task resolve\``)),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

// ── stats ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const counts = v.record(v.string(), v.number());

const statsOutput = v.object({
  total: v.number(),
  byStatus: counts,
  byCategory: counts,
  byEffort: counts,
  open: v.number(),
  blocked: v.pipe(v.number(), v.description("Open tasks that wait for others.")),
  claimed: v.number(),
  archived: v.number(),
  oldestInProgress: v.nullable(v.object({ id: v.string(), name: v.string(), startedAt: v.nullable(v.string()) })),
  doneLast7Days: v.pipe(v.array(v.object({ day: v.string(), done: v.number() })), v.description("Today last; days in UTC.")),
  broken: v.number(),
  conflicts: v.number(),
  stateRoot: v.string(),
});
type Stats = v.InferOutput<typeof statsOutput>;

const DAY_MS = 86_400_000;

export const stats = operation({
  name: "task stats",
  tool: "task_get_stats",
  summary: "Count the tasks of the queue",
  details: "By status, category and effort; how many wait or are held; the oldest one in progress; what was done in the last seven days.",
  examples: [{ given, run: "task stats", does: "how the queue stands" }],
  effect: "read",
  target: { rule: "queue" },
  input: v.strictObject({ ...dirField }),
  output: statsOutput,
  async run(call) {
    return await withQueue(call, async ({ queue }) => {
      const result = queue.ledger.snapshot(() => {
        const rows = queue.ledger.tasks();
        const everything = queue.ledger.tasks("place <> 'removed'");
        const marks = new Map<string, Mark>();
        markBlocked(queue, rows, marks);
        const blocked = marks.size;
        const claimed = [...queue.ledger.claims().values()].filter((text) => standingClaim(call, text) !== null).length;
        const open = rows.filter((row) => !isClosed(row.status));
        return {
          total: rows.length,
          byStatus: Object.fromEntries(STATUSES.map((status) => [status, rows.filter((row) => row.status === status).length])),
          byCategory: tally(rows, (row) => row.category ?? "none"),
          byEffort: tally(rows, (row) => row.effort ?? "none"),
          open: open.length,
          blocked,
          claimed,
          archived: everything.length - rows.length,
          oldestInProgress: oldest(queue, rows),
          doneLast7Days: lastDays(everything, call.now()),
        };
      });
      await queue.finishRead();
      return { ...result, broken: queue.broken.length, conflicts: queue.conflicts.length, stateRoot: queue.stateRoot };
    });
  },
  text: statsText,
});

function tally(rows: readonly TaskRow[], key: (row: TaskRow) => string): Record<string, number> {
  const found = new Map<string, number>();
  for (const row of rows) found.set(key(row), (found.get(key(row)) ?? 0) + 1);
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function oldest(queue: Queue, rows: readonly TaskRow[]): Stats["oldestInProgress"] {
  const started = rows
    .filter((row) => row.status === "in-progress")
    .map((row) => {
      const at = queue.document(row)["started_at"];
      return { id: row.id, name: row.name, startedAt: typeof at === "string" ? at : null };
    });
  return started.sort((a, b) => ((a.startedAt ?? "") < (b.startedAt ?? "") ? -1 : 1))[0] ?? null;
}

function lastDays(rows: readonly TaskRow[], now: Date): Stats["doneLast7Days"] {
  const done = tally(
    rows.filter((row) => row.status === "done" && row.completedAt !== null),
    (row) => (row.completedAt ?? "").slice(0, 10),
  );
  return [6, 5, 4, 3, 2, 1, 0].map((ago) => {
    const day = new Date(now.getTime() - ago * DAY_MS).toISOString().slice(0, 10);
    return { day, done: done[day] ?? 0 };
  });
}

function statsText(result: Stats, style: Style): string {
  const numbers = (figures: Record<string, number>): string =>
    Object.entries(figures)
      .filter(([, n]) => n > 0)
      .map(([name, n]) => `${name} ${n}`)
      .join(", ") || "none";
  const most = Math.max(1, ...Object.values(result.byStatus));
  const bars = STATUSES.filter((status) => (result.byStatus[status] ?? 0) > 0).map((status) => {
    const n = result.byStatus[status] ?? 0;
    return `${paintStatus(style, status, status.padEnd(12))} ${String(n).padStart(5)}  ${"▇".repeat(Math.max(1, Math.round((n / most) * 30)))}\n`;
  });
  const week = result.doneLast7Days.reduce((sum, day) => sum + day.done, 0);
  const started = result.oldestInProgress;
  return [
    `${count(result.total, "task")}, ${result.open} open, ${result.blocked} waiting, ${result.claimed} held${result.archived === 0 ? "" : `, ${result.archived} archived`}\n`,
    ...bars,
    `category: ${numbers(result.byCategory)}\n`,
    `effort: ${numbers(result.byEffort)}\n`,
    `done in 7 days: ${week} (${result.doneLast7Days.map((day) => day.done).join(" ")})\n`,
    started === null ? "" : `longest in progress: ${started.id.slice(0, 8)}  ${started.name}${started.startedAt === null ? "" : `, since ${started.startedAt}`}\n`,
    result.broken === 0 ? "" : paint(style, "red", `${count(result.broken, "file")} can't be read; \`dotbot task list\` names them`) + "\n",
    result.conflicts === 0 ? "" : paint(style, "red", `${count(result.conflicts, "conflict")}; see \`dotbot task resolve\``) + "\n",
  ].join("");
}

export const LIST_OPERATIONS: readonly AnyOperation[] = [list, stats];
