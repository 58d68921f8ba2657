/**
 * What a caller may say about a task, cleaned and checked, and the document of a new one. `task add`, `task add-bulk`,
 * `task edit` and the approval of a split all take their fields through here, so that no way in is laxer than another.
 */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { invalid, pathText } from "../../explain.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import type { Call, Completion, Flag } from "../../op.ts";
import { fieldsOf } from "../../schema.ts";
import type { Settings } from "../../settings.ts";
import { nearest, quote, shellWord } from "../../text.ts";
import { categoriesOf } from "../categories.ts";
import { leavesRepository } from "../condition.ts";
import type { TaskRow } from "../ledger.ts";
import { DEFAULT_PRIORITY, EFFORTS, MISNAMED_DEPENDENCIES, RESERVED_FIELDS, type Status, TYPES } from "../model.ts";
import { entryOf, manyLines, oneLine, type Provenance, requiredLine } from "../provenance.ts";
import type { Tx } from "../queue.ts";
import { DependencyDesk, type Place } from "./dependencies.ts";

const line = (description: string) => v.optional(v.pipe(v.string(), v.description(description)));
const lines = (description: string) => v.optional(v.pipe(v.array(v.string()), v.description(description)));
const flag = (description: string) => v.optional(v.pipe(v.boolean(), v.description(description)));
const hours = (description: string) => v.optional(v.pipe(v.number(), v.minValue(0), v.description(description)));

/** The fields that a caller may set, as input schemas take them; all optional, since an edit gives only some. */
export const taskFields = {
  name: line("What to do, in one line."),
  description: line("What it is about, in Markdown."),
  category: line("core, feature, enhancement, bugfix, infrastructure, ui-ux or the project's own."),
  priority: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.maxValue(100),
      v.description("1 to 100, lower is sooner; 50 by default."),
    ),
  ),
  effort: v.optional(v.pipe(v.picklist(EFFORTS), v.description("Rough size."))),
  type: v.optional(v.pipe(v.picklist(TYPES), v.description("What carries the task out; prompt when absent."))),
  dependencies: lines("Tasks that it waits for, by id or 8 digits of it, slug, file name or exact name."),
  acceptance_criteria: lines("What must hold when it is done."),
  steps: lines("How to go about it."),
  applicable_standards: lines("Files of standards to follow."),
  applicable_agents: lines("Files of agents to use."),
  applicable_skills: lines("Files of skills to use."),
  applicable_decisions: lines("Files of decisions to respect."),
  needs_interview: flag("A person should be asked before work begins."),
  skip_analysis: flag("It needs no analysis."),
  skip_worktree: flag("It needs no worktree."),
  condition: v.optional(
    v.pipe(
      v.union([v.string(), v.array(v.string())]),
      v.description(
        "Path or glob in the repository that must exist (!path: must not) for it to be picked; a list: all.",
      ),
    ),
  ),
  working_dir: line("Folder to work in."),
  model: line("Model that should do it."),
  group_id: line("Group that it belongs to."),
  slug: line("Short name by which it can be called."),
  tags: lines("Words to find it by."),
  parent_task_id: line("Task that this one is a part of."),
  human_hours: hours("Estimate for a person."),
  ai_hours: hours("Estimate for an agent."),
  script_path: line("For type script: the script."),
  mcp_tool: line("For type mcp: the tool."),
  mcp_args: v.optional(v.pipe(v.looseObject({}), v.description("For type mcp: the tool's arguments."))),
} satisfies v.ObjectEntries;

export const taskFlags: Readonly<Record<string, Flag>> = {
  dependencies: { name: "depends-on", value: "task" },
  acceptance_criteria: { name: "criteria", value: "text", whole: true },
  steps: { name: "step", value: "text", whole: true },
  tags: { name: "tag", value: "word" },
  applicable_standards: { value: "file" },
  applicable_agents: { value: "file" },
  applicable_skills: { value: "file" },
  applicable_decisions: { value: "file" },
  condition: { value: "path" },
  working_dir: { value: "path" },
  script_path: { value: "path" },
  description: { stdin: true, value: "text|-" },
  mcp_args: { json: true, value: "json|file" },
};

export const taskCompletions: Readonly<Record<string, Completion>> = {
  category: "category",
  dependencies: "task",
  parent_task_id: "task",
  working_dir: "directory",
  script_path: "path",
};

const OpenTask = v.looseObject(taskFields);
const MANY_LINES = new Set(["description", "acceptance_criteria", "steps"]);

/** The verb that does what setting a reserved field by hand would only pretend. */
const RESERVED_VERB: Readonly<Record<(typeof RESERVED_FIELDS)[number], string>> = {
  id: "an id never changes",
  status: "`dotbot task start`, `done`, `reset` and the other transitions change it",
  revision: "the ledger counts it",
  history: "transitions write it",
  created_at: "it is set when the task is added",
  updated_at: "every change sets it",
  started_at: "`dotbot task start` sets it",
  completed_at: "`dotbot task done` and the other closing transitions set it",
  pending_question: "`dotbot task ask` sets it, `dotbot task answer` settles it",
  pending_questions: "`dotbot task ask` sets them, `dotbot task answer` settles them",
  questions_resolved: "`dotbot task answer` writes them",
  split_proposal: "`dotbot task ask --split` sets it, `dotbot task split` settles it",
  child_tasks: "`dotbot task split --approve` sets them",
  skip_history: "`dotbot task skip` writes it",
  commit_sha: "`dotbot wt complete` and `dotbot task done --commits` write it",
  commits: "`dotbot task done --commits` adds to them",
};

export interface CleanOptions {
  /** Where the fields came from, for messages: `tasks[2]`, or "" for the call itself. */
  readonly where?: string;
  /** A call that works. */
  readonly example: string;
}

/**
 * Fields as a document holds them: types checked, control characters gone, empty items dropped, unknown fields kept as they
 * are. Dependencies are still the caller's words. Errors: INVALID_INPUT, OUTSIDE_REPOSITORY.
 */
export function cleanFields(
  call: Call,
  settings: Settings,
  raw: Readonly<Record<string, unknown>>,
  options: CleanOptions,
): JsonObject {
  const { where = "", example } = options;
  const nameOf = (field: string): string => spelt(call, where, field);
  for (const name of Object.keys(raw)) refuseName(name, where === "" ? quote(name) : `${where}.${name}`, example);
  const checked = v.safeParse(OpenTask, raw);
  if (!checked.success) {
    throw invalid(fieldsOf(v.strictObject(taskFields)), checked.issues, {
      nameOf: (path) => pathText(path, nameOf(String(path[0]))),
      correct: () => example,
    });
  }
  const clean: JsonObject = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value === undefined) continue;
    clean[name] =
      name in taskFields ? cleanValue(call, name, value as JsonValue, nameOf(name), example) : (value as JsonValue);
  }
  checkCategory(settings, clean["category"], nameOf("category"), example);
  for (const condition of [clean["condition"]].flat()) {
    if (typeof condition === "string") checkCondition(condition, nameOf("condition"));
  }
  return clean;
}

function cleanValue(call: Call, name: string, value: JsonValue, shown: string, example: string): JsonValue {
  if (name === "name") return requiredLine(call, typeof value === "string" ? value : "", shown, example);
  const text = (one: string): string => (MANY_LINES.has(name) ? manyLines(one) : oneLine(call, one, shown));
  if (typeof value === "string") return text(value);
  if (!Array.isArray(value)) return value;
  const items = value.map((item) => (typeof item === "string" ? text(item) : item)).filter((item) => item !== "");
  return name === "condition" && items.length === 1 ? (items[0] ?? "") : items;
}

/** A field as the caller knows it: `--depends-on`, `dependencies`, `tasks[2].dependencies`. */
function spelt(call: Pick<Call, "surface">, where: string, field: string): string {
  if (where !== "") return `${where}.${field}`;
  if (call.surface === "mcp") return field;
  return `--${taskFlags[field]?.name ?? field.replaceAll("_", "-")}`;
}

/** Refuses the names that look as if they did something and wouldn't. */
export function refuseName(name: string, shown: string, example: string): void {
  if ((MISNAMED_DEPENDENCIES as readonly string[]).includes(name)) {
    throw new DotbotError(
      "INVALID_INPUT",
      `${shown} isn't a field of a task: what it waits for is called dependencies`,
      {
        hint: "rename it to dependencies",
        example,
        details: { field: name, use: "dependencies" },
      },
    );
  }
  const reserved = RESERVED_FIELDS.find((field) => field === name);
  if (reserved !== undefined) {
    throw new DotbotError("INVALID_INPUT", `${shown} can't be set by hand`, {
      hint: `${reserved}: ${RESERVED_VERB[reserved]}`,
      example,
      details: { field: name, reserved: [...RESERVED_FIELDS] },
    });
  }
}

function checkCategory(settings: Settings, value: JsonValue | undefined, shown: string, example: string): void {
  if (typeof value !== "string") return;
  const known = categoriesOf(settings);
  if (known.includes(value)) return;
  const near = nearest(value, known);
  throw new DotbotError("INVALID_INPUT", `${shown} ${quote(value)} isn't one of ${known.join(", ")}`, {
    hint:
      near === undefined ? "the setting task.categories adds categories of your own" : `did you mean ${quote(near)}?`,
    example,
    details: { field: "category", allowed: known },
  });
}

function checkCondition(condition: string, shown: string): void {
  if (!leavesRepository(condition)) return;
  throw new DotbotError("OUTSIDE_REPOSITORY", `${shown} ${quote(condition)} leaves the repository`, {
    hint: "a condition is a path or glob from the folder that holds .bot, without .. or ~",
    example: "dotbot task add 'Publish the docs' --condition docs/index.md",
    details: { condition },
  });
}

export const ADD_EXAMPLE = "dotbot task add 'Add a login page' --priority 20";

// ── a new document ───────────────────────────────────────────────────────────────────────────────────────────────────

const ORDER = [
  "name",
  "description",
  "category",
  "priority",
  "effort",
  "type",
  "status",
  "dependencies",
  "acceptance_criteria",
  "steps",
  "applicable_standards",
  "applicable_agents",
  "applicable_skills",
  "applicable_decisions",
  "needs_interview",
  "skip_analysis",
  "skip_worktree",
  "condition",
  "working_dir",
  "model",
  "group_id",
  "slug",
  "tags",
  "parent_task_id",
  "human_hours",
  "ai_hours",
  "script_path",
  "mcp_tool",
  "mcp_args",
] as const;

export interface Birth {
  readonly id: string;
  readonly status: Status;
  readonly who: Provenance;
  /** For history. */
  readonly reason?: string | undefined;
}

/**
 * The document of a new task, in the key order of the files that dotbot 3 writes; text is cleaned, types are the caller's to
 * have checked. Pure but for notes on what had to be cut.
 */
export function newDocument(call: Call, fields: JsonObject, { id, status, who, reason }: Birth): JsonObject {
  const given: JsonObject = {
    description: "",
    priority: DEFAULT_PRIORITY,
    dependencies: [],
    acceptance_criteria: [],
    steps: [],
    status,
  };
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || name === "status") continue;
    given[name] = name in taskFields ? cleanValue(call, name, value, spelt(call, "", name), ADD_EXAMPLE) : value;
  }
  const doc: JsonObject = { id };
  for (const name of [...ORDER, ...Object.keys(given)]) {
    if (given[name] !== undefined && (given[name] !== "" || name === "description")) doc[name] = given[name];
  }
  doc["created_at"] = who.at;
  doc["updated_at"] = who.at;
  doc["completed_at"] = null;
  doc["history"] = [{ ...entryOf(who, null, status, reason) }];
  return doc;
}

export interface NewTaskOptions {
  /** A fresh one by default. */
  readonly id?: string | undefined;
  readonly status?: Status;
  /** For history. */
  readonly reason?: string | undefined;
  /** Shared by the tasks that one transaction adds, so that later ones may depend on earlier ones. */
  readonly desk?: DependencyDesk;
  /** Where the fields came from, for messages. */
  readonly where?: string | undefined;
}

/**
 * Adds a task inside a transaction: resolves what it depends on to ids, refuses cycles, stores it. `fields` come from
 * `cleanFields` and hold a name. Errors: TASK_NOT_FOUND, AMBIGUOUS_TASK, CYCLE.
 */
export function createTask(
  call: Call,
  tx: Tx,
  fields: JsonObject,
  who: Provenance,
  options: NewTaskOptions = {},
): TaskRow {
  const { status = "todo", reason, where = "" } = options;
  const desk = options.desk ?? new DependencyDesk(tx.ledger);
  const names = [fields["name"], fields["slug"]].filter((name) => typeof name === "string");
  const placeOf = (field: "dependencies" | "parent_task_id"): Place => ({
    shown: spelt(call, where, field),
    example: (task) => linkExample(call, where, field, task),
    self: names,
  });
  const dependencies = desk.all(fields["dependencies"], placeOf("dependencies"));
  const parent = fields["parent_task_id"];
  const known =
    typeof parent === "string" && parent !== "" ? { parent_task_id: desk.one(parent, placeOf("parent_task_id")) } : {};
  const id = options.id ?? tx.freshId();
  const doc = newDocument(call, { ...fields, ...known, dependencies }, { id, status, who, reason });
  desk.refuseCycle(id, doc, status);
  const row = tx.create(doc, { at: who.at, by: who.by, status, entry: entryOf(who, null, status, reason) });
  desk.added(row);
  return row;
}

function linkExample(
  call: Pick<Call, "surface">,
  where: string,
  field: "dependencies" | "parent_task_id",
  task: string,
): string {
  const said = { [field]: field === "dependencies" ? [task] : task };
  if (where !== "") {
    const tasks = [{ name: "Another task", ...said }];
    return call.surface === "cli"
      ? `dotbot task add-bulk ${shellWord(JSON.stringify(tasks))}`
      : JSON.stringify({ tasks });
  }
  const flag = field === "dependencies" ? "--depends-on" : "--parent-task-id";
  return call.surface === "cli" ? `dotbot task add 'Another task' ${flag} ${shellWord(task)}` : JSON.stringify(said);
}
