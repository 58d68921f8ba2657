/** Reading one task: as it is, and with everything that somebody needs who is going to work on it. */
import { basename, dirname, resolve } from "node:path";

import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { isDirectory, stampOf } from "../../files.ts";
import { compactJson, isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import { nearest, paint, quote, table, type Style } from "../../text.ts";
import { WORKTREE_RECORDS } from "../here.ts";
import type { TaskRow } from "../ledger.ts";
import { historyOf, isObject, isStatus, pendingQuestions, stringList } from "../model.ts";
import type { Queue } from "../queue.ts";
import { dependenciesOf, dependentsOf } from "../relations.ts";
import {
  claimShape,
  dirField,
  exampleFor,
  field,
  namedTask,
  oneTask,
  oneTaskOf,
  paintStatus,
  shownClaim,
  standingClaim,
  taskField,
  withQueue,
} from "./common.ts";
import { dependencyShape, dependencyTag, priorityText, section, tagLine, tagOf, tagShape } from "./shapes.ts";

const worktreeShape = v.pipe(v.looseObject({}), v.description("Its worktree, as recorded when it was made."));

function worktreeOf(queue: Queue, id: string): { worktree?: Record<string, unknown> } {
  const record = queue.ledger.record(WORKTREE_RECORDS, id);
  return isObject(record) ? { worktree: record } : {};
}

function claimOf(call: Call, queue: Queue, id: string): { claim?: v.InferOutput<typeof claimShape> } {
  const claim = standingClaim(call, queue.ledger.claim(id));
  return claim === null ? {} : { claim: shownClaim(claim) };
}

// ── show ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const showOutput = v.object({
  ...oneTask,
  claim: v.optional(claimShape),
  dependencies: v.pipe(v.array(dependencyShape), v.description("What it waits for, and how far that is.")),
  worktree: v.optional(worktreeShape),
  conflicts: v.optional(
    v.pipe(v.array(v.string()), v.description("Files that hold another version; `task resolve` settles them.")),
  ),
  value: v.optional(v.pipe(v.unknown(), v.description("With field: that value alone."))),
});
type Shown = v.InferOutput<typeof showOutput>;

const given = ["task add 'Add a login page' --criteria 'wrong password shows an error'"] as const;

export const show = operation({
  name: "task show",
  tool: "task_get",
  summary: "Show a task",
  details: "The whole document, with what it waits for, who holds it, and its worktree.",
  examples: [
    { given, run: "task show 'Add a login page'", does: "all of it" },
    { given, run: "task show 'Add a login page' --field acceptance_criteria.0", does: "one value" },
  ],
  effect: "read",
  target: { rule: "queue" },
  positional: [{ field: "task_id", variadic: true, optional: true }],
  batch: "task_id",
  complete: { task_id: "task" },
  input: v.strictObject({
    ...taskField,
    field: v.optional(
      v.pipe(v.string(), v.description("One value of the document, by its path: analysis.approach, steps.0.")),
    ),
    ...dirField,
  }),
  flags: { field: { value: "a.b" } },
  output: showOutput,
  async run(call, input) {
    return await withQueue(call, async ({ queue }) => {
      const row = await namedTask(call, queue, input.task_id, "show");
      const dependencies = dependenciesOf(queue.ledger, row);
      await queue.finishRead();
      const conflicts = queue.conflicts.filter((conflict) => conflict.id === row.id).map((conflict) => conflict.path);
      const one = oneTaskOf(call, queue, row);
      return {
        ...one,
        ...claimOf(call, queue, row.id),
        dependencies: dependencies.map(dependencyTag),
        ...worktreeOf(queue, row.id),
        ...(conflicts.length === 0 ? {} : { conflicts }),
        ...(input.field === undefined
          ? {}
          : { value: valueAt(queue.document(row), input.field, exampleFor("show", row.id8, " --field name")) }),
      };
    });
  },
  text: (result, style) => ("value" in result ? rawText(result.value as JsonValue) : showText(result, style)),
  ids: (result) => [field(result.task, "id")],
});

/** The value at `a.b.0`. Error: NOT_FOUND with the nearest key. */
function valueAt(doc: JsonObject, path: string, example: string): JsonValue {
  let value: JsonValue | undefined = doc;
  const walked: string[] = [];
  for (const key of path.split(".")) {
    const keys: string[] = Array.isArray(value)
      ? value.map((_, i) => String(i))
      : isJsonObject(value)
        ? Object.keys(value)
        : [];
    const next: JsonValue | undefined = Array.isArray(value)
      ? value[Number(key)]
      : isJsonObject(value) && Object.hasOwn(value, key)
        ? value[key]
        : undefined;
    if (next === undefined) {
      const near = nearest(key, keys);
      throw new DotbotError(
        "NOT_FOUND",
        `${walked.length === 0 ? "the task" : quote(walked.join("."))} has no ${quote(key)}`,
        {
          hint:
            near === undefined
              ? keys.length === 0
                ? "there is nothing below it"
                : `there is ${keys.slice(0, 20).join(", ")}`
              : `did you mean ${quote([...walked, near].join("."))}?`,
          example,
        },
      );
    }
    walked.push(key);
    value = next;
  }
  return value ?? null;
}

function rawText(value: JsonValue): string {
  if (typeof value === "string") return `${value}\n`;
  return `${compactJson(value)}\n`;
}

function showText(result: Shown, style: Style): string {
  const { task } = result;
  const doc = task as JsonObject;
  const dim = (text: string): string => paint(style, "dim", text);
  const facts: (readonly [string, string])[] = [
    ["status", paintStatus(style, statusOf(result)) + since(doc, statusOf(result))],
    ...(result.claim === undefined
      ? []
      : [["held by", `${result.claim.owner || result.claim.session} since ${result.claim.since}`] as const]),
    [
      "priority",
      [
        priorityText(task),
        ...["effort", "category", "type"].map((name) => field(task, name)).filter((word) => word !== ""),
      ].join(", "),
    ],
    ...(stringList(doc["tags"]).length === 0 ? [] : [["tags", stringList(doc["tags"]).join(", ")] as const]),
    ...["condition", "working_dir", "model", "group_id", "parent_task_id"].flatMap((name) =>
      stringList(doc[name]).length === 0
        ? []
        : [[name.replace(/_id$/, "").replaceAll("_", " "), stringList(doc[name]).join(", ")] as const],
    ),
    ...(result.worktree === undefined ? [] : [["worktree", field(result.worktree, "path")] as const]),
    ["file", result.path],
  ];
  const questions = pendingQuestions(doc).map((question) => questionLines(question));
  const history = historyOf(doc);
  return [
    `${paint(style, "bold", field(task, "name") || "(no name)")}  ${dim(field(task, "id"))}\n`,
    table(facts.map(([name, value]) => [dim(name), value])),
    section(style, "Description", field(task, "description").trim() === "" ? [] : [field(task, "description").trim()]),
    section(
      style,
      "Waits for",
      result.dependencies.map(
        (dependency) => `${dependency.state === "satisfied" ? "✓" : "·"} ${tagLine(style, dependency)}`,
      ),
    ),
    section(
      style,
      "Acceptance criteria",
      stringList(doc["acceptance_criteria"]).map((line) => `- ${line}`),
    ),
    section(
      style,
      "Steps",
      stringList(doc["steps"]).map((line, i) => `${i + 1}. ${line}`),
    ),
    section(style, "Questions", questions),
    section(
      style,
      "Another version",
      (result.conflicts ?? []).map((path) => `${path} (settle it with \`dotbot task resolve\`)`),
    ),
    section(
      style,
      "History",
      history.slice(-5).map((entry) => historyLine(entry, style)),
    ),
  ].join("");
}

/** The folder says it; a file that was moved by hand may still name another one. */
function statusOf({ task, path }: Pick<Shown, "task" | "path">): string {
  const folder = basename(dirname(path));
  return isStatus(folder) ? folder : field(task, "status");
}

function since(doc: JsonObject, status: string): string {
  const at = field(doc, "completed_at") || (status === "in-progress" ? field(doc, "started_at") : "");
  return at === "" ? "" : ` since ${at}`;
}

function questionLines(question: JsonObject): string {
  const options = Array.isArray(question["options"]) ? question["options"].filter(isObject) : [];
  const recommended = field(question, "recommendation");
  return [
    field(question, "question"),
    ...options.map(
      (option) =>
        `  ${field(option, "key")}) ${field(option, "label")}${field(option, "key") === recommended ? " (recommended)" : ""}`,
    ),
  ].join("\n");
}

/** `2024-05-06T07:08:09Z  todo → in-progress  ada  main@1a2b3c4  why`. */
export function historyLine(entry: Record<string, unknown>, style: Style): string {
  const at = field(entry, "at");
  const from = field(entry, "from");
  const to = paintStatus(style, field(entry, "to"));
  const where = [field(entry, "branch"), field(entry, "commit").slice(0, 7)]
    .filter((part) => part !== "" && part !== "unknown")
    .join("@");
  const parts = [
    at,
    from === "" ? `created as ${to}` : from === field(entry, "to") ? to : `${from} → ${to}`,
    field(entry, "by"),
    paint(style, "dim", where),
    field(entry, "reason"),
  ];
  return parts.filter((part) => part !== "").join("  ");
}

// ── context ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const fileShape = v.object({
  kind: v.picklist(["standards", "agents", "skills", "decisions"]),
  name: v.string(),
  path: v.nullable(v.string()),
});

const contextOutput = v.object({
  ...oneTask,
  claim: v.optional(claimShape),
  dependencies: v.array(v.object({ ...dependencyShape.entries, commits: v.array(v.string()) })),
  dependents: v.pipe(v.array(tagShape), v.description("What waits for it.")),
  parent: v.optional(tagShape),
  answers: v.pipe(v.array(v.looseObject({})), v.description("Questions that were answered, with the answers.")),
  analysis: v.pipe(v.nullable(v.looseObject({})), v.description("What was found out; null when there is none.")),
  files: v.pipe(v.array(fileShape), v.description("Applicable files; path is null for those that don't exist.")),
  workingDir: v.pipe(
    v.nullable(v.string()),
    v.description("Absolute folder to work in; null where none is said or it doesn't exist."),
  ),
  worktree: v.optional(worktreeShape),
});
type Context = v.InferOutput<typeof contextOutput>;

const APPLICABLE = ["standards", "agents", "skills", "decisions"] as const;

export const context = operation({
  name: "task context",
  tool: "task_get_context",
  summary: "Show what one needs to know to work on a task",
  details:
    "The task, what it depends on with the commits that did it, what waits for it, answered questions, the analysis, the applicable files that exist, and where to work. Call it once before beginning.",
  examples: [{ given, run: "task context 'Add a login page'", does: "before beginning" }],
  effect: "read",
  target: { rule: "queue" },
  positional: [{ field: "task_id", optional: true }],
  complete: { task_id: "task" },
  input: v.strictObject({ ...taskField, ...dirField }),
  output: contextOutput,
  async run(call, input) {
    return await withQueue(call, async ({ queue }) => {
      const row = await namedTask(call, queue, input.task_id, "context");
      const dependencies = dependenciesOf(queue.ledger, row);
      await queue.current(dependencies.flatMap((dependency) => dependency.row ?? []));
      await queue.finishRead();
      const doc = queue.document(row);
      const { worktree } = worktreeOf(queue, row.id);
      return {
        ...oneTaskOf(call, queue, row),
        ...claimOf(call, queue, row.id),
        dependencies: dependenciesOf(queue.ledger, row).map((dependency) => ({
          ...dependencyTag(dependency),
          commits: dependency.row === undefined ? [] : commitsOf(queue.document(dependency.row)),
        })),
        dependents: dependentsOf(queue.ledger, row).map(tagOf),
        ...parentOf(queue, doc),
        answers: Array.isArray(doc["questions_resolved"]) ? doc["questions_resolved"].filter(isObject) : [],
        analysis: isObject(doc["analysis"]) ? doc["analysis"] : null,
        files: applicableFiles(queue.stateRoot, doc),
        workingDir: workingDir(call, worktree, doc),
        ...(worktree === undefined ? {} : { worktree }),
      };
    });
  },
  text: contextText,
});

function commitsOf(doc: JsonObject): string[] {
  const commits = Array.isArray(doc["commits"]) ? doc["commits"] : [];
  const shas = commits.map((commit) =>
    typeof commit === "string" ? commit : isObject(commit) ? field(commit, "commit_sha") || field(commit, "sha") : "",
  );
  return [...new Set([...shas, field(doc, "commit_sha")])].filter((sha) => sha !== "");
}

function parentOf(queue: Queue, doc: JsonObject): { parent?: v.InferOutput<typeof tagShape> } {
  const row: TaskRow | undefined = queue.ledger.task(field(doc, "parent_task_id"));
  return row === undefined ? {} : { parent: tagOf(row) };
}

/** Files are named from the state root, or from `.bot` as dotbot 3 does. */
function applicableFiles(stateRoot: string, doc: JsonObject): Context["files"] {
  return APPLICABLE.flatMap((kind) =>
    stringList(doc[`applicable_${kind}`]).map((name) => {
      const candidates = [resolve(stateRoot, name), resolve(stateRoot, ".bot", name)];
      return { kind, name, path: candidates.find((path) => stampOf(path) !== null || isDirectory(path)) ?? null };
    }),
  );
}

function workingDir(call: Call, worktree: Record<string, unknown> | undefined, doc: JsonObject): string | null {
  const base =
    worktree === undefined ? (call.target.repo.workRoot ?? call.target.repo.stateRoot) : field(worktree, "path");
  const said = field(doc, "working_dir");
  if (said === "") return worktree === undefined ? null : base;
  const path = resolve(base, said);
  return isDirectory(path) ? path : null;
}

function contextText(result: Context, style: Style): string {
  const { task } = result;
  const doc = task as JsonObject;
  return [
    `${paint(style, "bold", field(task, "name"))}  ${paint(style, "dim", field(task, "id"))}  ${paintStatus(style, statusOf(result))}\n`,
    section(style, "Description", field(task, "description").trim() === "" ? [] : [field(task, "description").trim()]),
    section(
      style,
      "Acceptance criteria",
      stringList(doc["acceptance_criteria"]).map((line) => `- ${line}`),
    ),
    section(
      style,
      "Steps",
      stringList(doc["steps"]).map((line, i) => `${i + 1}. ${line}`),
    ),
    section(
      style,
      "Depends on",
      result.dependencies.map(
        (dependency) => tagLine(style, dependency) + dependency.commits.map((sha) => ` ${sha.slice(0, 12)}`).join(""),
      ),
    ),
    section(
      style,
      "Waits for this",
      result.dependents.map((tag) => tagLine(style, tag)),
    ),
    section(style, "Part of", result.parent === undefined ? [] : [tagLine(style, result.parent)]),
    section(
      style,
      "Answers",
      result.answers.map((answer) => `${field(answer, "question")}\n  ${field(answer, "answer")}`),
    ),
    section(
      style,
      "Analysis",
      result.analysis === null
        ? []
        : Object.entries(result.analysis).map(
            ([name, value]) =>
              `${name}: ${typeof value === "string" ? value : compactJson((value ?? null) as JsonValue)}`,
          ),
    ),
    section(
      style,
      "Files",
      result.files.map((file) => file.path ?? `${file.name} ${paint(style, "red", "(doesn't exist)")}`),
    ),
    section(
      style,
      "Work in",
      [result.workingDir].filter((path) => path !== null),
    ),
  ].join("");
}
