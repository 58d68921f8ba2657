/**
 * What a task is: fields, statuses, the transition table, and the pure functions that turn one document into the next.
 * Documents are open: a field that isn't known here is somebody else's and passes through untouched.
 */
import type { JsonObject, JsonValue } from "../json/value.ts";
import { asNumber } from "../json/value.ts";
import { codePoints } from "../text.ts";

export const STATUSES = [
  "todo",
  "analysing",
  "analysed",
  "in-progress",
  "needs-input",
  "needs-review",
  "done",
  "failed",
  "skipped",
  "split",
  "cancelled",
] as const;
export type Status = (typeof STATUSES)[number];

/** The one table of legal moves. A merge conflict in `wt complete` may besides move done to needs-input. */
export const TRANSITIONS: Readonly<Record<Status, readonly Status[]>> = {
  todo: ["analysing", "in-progress", "done", "skipped", "cancelled"],
  analysing: ["analysed", "needs-input", "in-progress", "done", "todo", "skipped", "failed", "cancelled"],
  analysed: ["analysing", "in-progress", "needs-input", "done", "todo", "skipped", "cancelled"],
  "in-progress": ["done", "needs-input", "needs-review", "failed", "analysed", "todo", "skipped", "cancelled"],
  "needs-input": ["analysing", "analysed", "todo", "split", "skipped", "cancelled"],
  "needs-review": ["done", "in-progress", "todo", "needs-input", "cancelled"],
  done: ["todo"],
  failed: ["todo"],
  skipped: ["todo"],
  split: [],
  cancelled: [],
};

/** Statuses that end a task's work; `completed_at` is set exactly in these. */
export const CLOSED: readonly Status[] = ["done", "failed", "skipped", "split", "cancelled"];
/** Statuses in which somebody works, or is awaited. */
export const OPEN: readonly Status[] = STATUSES.filter((status) => !CLOSED.includes(status));

/** Statuses in which a claim lives on after a move; in the others the task waits for somebody else. */
export const HELD: readonly Status[] = ["analysing", "in-progress"];

export function isStatus(value: unknown): value is Status {
  return typeof value === "string" && (STATUSES as readonly string[]).includes(value);
}

export function isClosed(status: Status): boolean {
  return CLOSED.includes(status);
}

/** The verb that leads into a status. */
export const VERB_TO: Readonly<Partial<Record<Status, string>>> = {
  todo: "reset",
  analysing: "analysing",
  analysed: "analysed",
  "in-progress": "start",
  "needs-input": "ask",
  "needs-review": "review",
  done: "done",
  failed: "fail",
  skipped: "skip",
  split: "split",
  cancelled: "cancel",
};

export function mayMove(from: Status, to: Status): boolean {
  return TRANSITIONS[from].includes(to);
}

export const CATEGORIES = ["core", "feature", "enhancement", "bugfix", "infrastructure", "ui-ux"] as const;
export const EFFORTS = ["XS", "S", "M", "L", "XL"] as const;
export const TYPES = ["prompt", "script", "mcp", "task_gen", "prompt_template"] as const;
export const DEFAULT_PRIORITY = 50;

/** Why a task was skipped. After the intentional ones, what depends on the task may go on. */
export const INTENTIONAL_SKIPS = [
  "not-applicable",
  "precondition-unmet",
  "superseded",
  "user-requested",
  "condition-not-met",
] as const;
export const SKIP_REASONS = [...INTENTIONAL_SKIPS, "non-recoverable", "max-retries"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Fields that only a transition or the ledger may set. An edit that names one is refused. */
export const RESERVED_FIELDS = [
  "id",
  "status",
  "revision",
  "history",
  "created_at",
  "updated_at",
  "started_at",
  "completed_at",
  "pending_question",
  "pending_questions",
  "questions_resolved",
  "split_proposal",
  "child_tasks",
  "skip_history",
  "commit_sha",
  "commits",
] as const;

/** Names that other tools use for `dependencies`: taken for granted, they would be ignored in silence. */
export const MISNAMED_DEPENDENCIES = [
  "depends_on",
  "deps",
  "blocked_by",
  "depends-on",
  "blockedBy",
  "dependsOn",
] as const;

/** Nobody changes a task so often; a larger number in a file isn't a count. */
const MAX_REVISION = 1e9;

/** Entries of `history` that the file carries; the ledger keeps them all. */
export const HISTORY_IN_FILE = 50;

/** One line of a task's life. `from` is absent when the task was created. */
export interface HistoryEntry {
  at: string;
  from?: Status;
  to: Status;
  by: string;
  session_id: string;
  branch: string;
  commit: string;
  reason?: string;
}

/** The values that lists, picking and stats read, taken out of a document once, when it is stored. */
export interface Facts {
  id: string;
  name: string;
  slug: string | null;
  category: string | null;
  effort: string | null;
  priority: number;
  createdAt: string;
  updatedAt: string;
  completedAt: string | null;
  dependencies: readonly string[];
  conditions: readonly string[];
  tags: readonly string[];
  /** The reason of the last skip, for a skipped task. */
  skipReason: string | null;
  children: readonly string[];
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function id8(id: string): string {
  return id.slice(0, 8).toLowerCase();
}

function text(value: JsonValue | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A list of strings; a single string where a list is expected counts as a list of one. */
export function stringList(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string" && item !== "") : [];
}

export function factsOf(id: string, doc: JsonObject): Facts {
  const skips = Array.isArray(doc["skip_history"]) ? doc["skip_history"] : [];
  const lastSkip = skips.at(-1);
  const priority = asNumber(doc["priority"]);
  return {
    id,
    name: text(doc["name"]) ?? id,
    slug: text(doc["slug"]),
    category: text(doc["category"]),
    effort: text(doc["effort"]),
    priority: priority === undefined || !Number.isFinite(priority) ? DEFAULT_PRIORITY : priority,
    createdAt: text(doc["created_at"]) ?? "",
    updatedAt: text(doc["updated_at"]) ?? text(doc["created_at"]) ?? "",
    completedAt: text(doc["completed_at"]),
    dependencies: stringList(doc["dependencies"]),
    conditions: stringList(doc["condition"]),
    tags: stringList(doc["tags"]),
    skipReason: isObject(lastSkip) ? text(lastSkip["reason"]) : null,
    children: stringList(doc["child_tasks"]),
  };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a document counts its changes to: a positive integer, or nothing that can be counted on from. */
export function countedRevision(doc: JsonObject): number | undefined {
  const revision = asNumber(doc["revision"]);
  return revision !== undefined && Number.isSafeInteger(revision) && revision > 0 && revision < MAX_REVISION
    ? revision
    : undefined;
}

/** The `history` of a document, as far as its entries can be read. */
export function historyOf(doc: JsonObject): JsonObject[] {
  return Array.isArray(doc["history"]) ? doc["history"].filter(isObject) : [];
}

const FOLD: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  Æ: "ae",
  ø: "o",
  Ø: "o",
  œ: "oe",
  Œ: "oe",
  đ: "d",
  Đ: "d",
  ð: "d",
  Ð: "d",
  þ: "th",
  Þ: "th",
  ł: "l",
  Ł: "l",
  ı: "i",
};

/** Lower-case ASCII words joined by dashes, at most `max` characters, never empty. */
export function slugify(name: string, max = 50): string {
  const folded = codePoints(name.normalize("NFKD"))
    .map((c) => FOLD[c] ?? c)
    .join("");
  const slug = folded
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, max)
    .replace(/^-+|-+$/g, "");
  return slug === "" ? "task" : slug;
}

/** A task's file name; it never changes after creation. */
export function fileName(name: string, id: string): string {
  return `${slugify(name)}-${id8(id)}.json`;
}

/** RFC 3339 in UTC, to the second, as dotbot 3 writes it. */
export function timestamp(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

export interface Move {
  readonly to: Status;
  readonly entry: HistoryEntry;
}

/** Clears a field the way its document would: to null where the document shows it, else not at all. */
function clear(doc: JsonObject, next: JsonObject, field: string): void {
  if (field in doc) next[field] = null;
}

/**
 * The document after a move: status, times, history, and what the move clears. Data that belongs to one verb (questions,
 * analysis, commits) is the caller's to add. Doesn't judge whether the move is legal.
 */
export function moved(doc: JsonObject, from: Status, move: Move): JsonObject {
  const { to, entry } = move;
  const next: JsonObject = { ...doc, status: to, updated_at: entry.at };
  if (isClosed(to)) next["completed_at"] = entry.at;
  else if (isClosed(from)) clear(doc, next, "completed_at");
  if (to === "in-progress" && from !== "in-progress") next["started_at"] = entry.at;
  if (from === "needs-input" && to !== "needs-input") settleQuestions(doc, next, entry.at);
  if (to === "todo") {
    for (const field of ["completed_at", "started_at", "commit_sha", "split_proposal"]) clear(doc, next, field);
  }
  next["history"] = appended(doc, entry);
  return next;
}

/** The document's history with one more entry, at most as many as a file carries. */
export function appended(doc: JsonObject, entry: HistoryEntry): JsonObject[] {
  return [...historyOf(doc), { ...entry }].slice(-HISTORY_IN_FILE);
}

/** Whatever was still asked when a task leaves needs-input is kept, unanswered, among the resolved questions. */
function settleQuestions(doc: JsonObject, next: JsonObject, at: string): void {
  const pending = pendingQuestions(next);
  if (pending.length > 0) {
    const resolved = Array.isArray(doc["questions_resolved"]) ? doc["questions_resolved"] : [];
    const already = Array.isArray(next["questions_resolved"]) ? next["questions_resolved"] : resolved;
    next["questions_resolved"] = [
      ...already,
      ...pending.map((question): JsonObject => ({
        ...question,
        answer: null,
        answer_type: "withdrawn",
        answered_at: at,
      })),
    ];
  }
  clear(doc, next, "pending_question");
  if ("pending_questions" in doc) next["pending_questions"] = [];
}

/** Questions that wait for an answer, oldest first: `pending_questions`, and dotbot 3's single `pending_question`. */
export function pendingQuestions(doc: JsonObject): JsonObject[] {
  const many = Array.isArray(doc["pending_questions"]) ? doc["pending_questions"].filter(isObject) : [];
  const one = doc["pending_question"];
  if (!isObject(one)) return many;
  return many.some((question) => question["id"] === one["id"]) ? many : [one, ...many];
}
