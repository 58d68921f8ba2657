/** Putting tasks into the queue: one, or many at once. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { compactJson, type JsonObject } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import { count, paint, quote, stripControl, type Style } from "../../text.ts";
import { hashOf } from "../ledger.ts";
import { DEFAULT_PRIORITY, id8 } from "../model.ts";
import { provenance, provenanceFields, type Provenance } from "../provenance.ts";
import type { Tx } from "../queue.ts";
import { type Desk, dirField, field, oneTask, oneTaskOf, provenanceFlags, taskDocument, withQueue } from "./common.ts";
import { DependencyDesk } from "./dependencies.ts";
import { ADD_EXAMPLE, cleanFields, createTask, taskCompletions, taskFields, taskFlags } from "./draft.ts";
import { priorityText } from "./shapes.ts";

// ── one ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

const openFields = v.optional(
  v.pipe(v.looseObject({}), v.description("Further fields of your own, kept with the task as they are.")),
);
const wholeTask = v.optional(
  v.pipe(v.looseObject({}), v.description("The task as JSON, from a file or - for stdin; flags add to it and win.")),
);

/** The fields of a call in one object: those of a file, then the caller's own, then the known ones. */
export function gathered(input: {
  readonly fields?: object | undefined;
  readonly json_file?: object | undefined;
}): Record<string, unknown> {
  const own = Object.fromEntries(
    Object.entries(input).filter(([name, value]) => name in taskFields && value !== undefined),
  );
  return { ...input.json_file, ...input.fields, ...own };
}

export const add = operation({
  name: "task add",
  tool: "task_create",
  summary: "Add a task to the queue",
  details:
    "The task starts as todo. What it waits for goes into dependencies and must exist. Say in description and acceptance criteria what somebody needs who knows nothing else. For several tasks that depend on each other there is `dotbot task add-bulk`.",
  examples: [
    {
      run: "task add 'Add a login page' --priority 20 --effort M --criteria 'wrong password shows an error'",
      does: "add one",
    },
    {
      given: ["task add 'Add a login page'"],
      run: "task add 'Add a logout button' --depends-on 'Add a login page'",
      does: "one that waits for another",
    },
    {
      run: `task add --json-file '{"name":"Write the manual","category":"feature"}'`,
      does: "from JSON: text, a file, or - for stdin",
    },
  ],
  effect: "write",
  target: { rule: "queue" },
  positional: [{ field: "name", optional: true }],
  asks: ["name"],
  input: v.strictObject({ ...taskFields, fields: openFields, json_file: wholeTask, ...provenanceFields, ...dirField }),
  flags: {
    ...taskFlags,
    ...provenanceFlags,
    fields: { json: true, value: "json|file" },
    json_file: { json: true, value: "file|-", cliOnly: true },
  },
  complete: taskCompletions,
  output: v.object({ ...oneTask, changed: v.literal(true) }),
  async run(call, input) {
    return await withQueue(call, async (desk) => {
      const raw = await withName(call, gathered(input));
      const clean = cleanFields(call, desk.settings, raw, { example: exampleOf(call) });
      const who = await provenance(call, call.target.repo, input, desk.settings.provenance.require_session);
      const row = await desk.queue.write("task add", (tx) => createTask(call, tx, clean, who));
      return { ...oneTaskOf(call, desk.queue, row), changed: true as const };
    });
  },
  text: (result, style) => addedLine(result.task, style),
  ids: (result) => [field(result.task, "id")],
});

function exampleOf(call: Pick<Call, "surface">): string {
  return call.surface === "cli" ? ADD_EXAMPLE : JSON.stringify({ name: "Add a login page", priority: 20 });
}

/** Asks for what is missing where a person can answer; otherwise says what is missing. */
async function withName(call: Call, raw: Record<string, unknown>): Promise<Record<string, unknown>> {
  if (raw["name"] !== undefined) return raw;
  if (call.prompt === undefined) {
    throw new DotbotError("NEEDS_ANSWER", "the task has no name", {
      hint: call.surface === "cli" ? "give it as the first word, in quotes" : "give the field name",
      example: exampleOf(call),
      details: { missing: ["name"] },
    });
  }
  const name = await call.prompt.text({
    message: "What is to be done?",
    placeholder: "Add a login page",
    check: (text) => (stripControl(text).trim() === "" ? "a task needs a name" : undefined),
  });
  const description =
    raw["description"] ?? (await call.prompt.text({ message: "What is it about? (may stay empty)", initial: "" }));
  const priority =
    raw["priority"] === undefined
      ? await call.prompt.text({
          message: "Priority, 1 (now) to 100 (some day)",
          initial: String(DEFAULT_PRIORITY),
          check: (text) => (/^\s*(?:[1-9]\d?|100)?\s*$/.test(text) ? undefined : "a whole number from 1 to 100"),
        })
      : "";
  return {
    ...raw,
    name,
    ...(description === "" ? {} : { description }),
    ...(priority.trim() === "" ? {} : { priority: Number(priority) }),
  };
}

function addedLine(task: Record<string, unknown>, style: Style): string {
  const facts = [`priority ${priorityText(task)}`, task["effort"], task["category"]].filter(
    (fact) => typeof fact === "string",
  );
  return `${field(task, "id").slice(0, 8)}  ${field(task, "name")}  ${paint(style, "dim", `(${facts.join(", ")})`)}\n`;
}

// ── many ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Record kind under which the answer of a bulk call is kept, by its key. */
const BULK_KEYS = "bulk-key";

const failedShape = v.object({
  index: v.pipe(v.number(), v.description("Position in the list, from 0.")),
  name: v.nullable(v.string()),
  error: v.looseObject({ code: v.string(), message: v.string() }),
});
type Failed = v.InferOutput<typeof failedShape>;

const bulkOutput = v.object({
  tasks: v.pipe(v.array(taskDocument), v.description("The tasks that were added, in the order given.")),
  failed: v.pipe(v.array(failedShape), v.description("With partial: what couldn't be added, and why.")),
  ok: v.pipe(v.boolean(), v.description("Whether all were added.")),
  changed: v.pipe(v.boolean(), v.description("false: this key was used before; the answer is that call's.")),
  stateRoot: v.string(),
  workRoot: v.nullable(v.string()),
});

interface BulkRecord {
  readonly hash: string;
  readonly ids: readonly string[];
  readonly failed: readonly Failed[];
}

export const addBulk = operation({
  name: "task add-bulk",
  tool: "task_create_bulk",
  summary: "Add many tasks at once, all or none",
  details:
    "Each item has the fields of a task. An item may depend on an earlier one by its name, its slug, or its place: #1 is the first. Nothing is added when one item is wrong, unless partial. With a key a retry after a lost answer adds nothing twice.",
  examples: [
    {
      run: `task add-bulk '[{"name":"Plan"},{"name":"Do","dependencies":["#1"]}]'`,
      does: "two, one after the other",
    },
    {
      run: `task add-bulk '[{"name":"Plan"},{"name":"Do","dependencies":["#1"]}]' --key p7`,
      does: "the same, safe to repeat",
    },
  ],
  effect: "write",
  target: { rule: "queue" },
  toolset: "people",
  positional: [{ field: "tasks" }],
  input: v.strictObject({
    tasks: v.pipe(
      v.array(v.looseObject({})),
      v.minLength(1),
      v.description("The tasks, in order: objects with the fields of a task and any of your own."),
    ),
    partial: v.optional(v.pipe(v.boolean(), v.description("Add what can be added and report the rest."))),
    key: v.optional(
      v.pipe(
        v.string(),
        v.minLength(1),
        v.description("A name for this call: the same key again adds nothing and answers the same."),
      ),
    ),
    ...provenanceFields,
    ...dirField,
  }),
  flags: { ...provenanceFlags, tasks: { json: true, value: "json|file|-" } },
  output: bulkOutput,
  async run(call, input) {
    return await withQueue(call, async (desk) => {
      const who = await provenance(call, call.target.repo, input, desk.settings.provenance.require_session);
      const hash = hashOf(compactJson(input.tasks as JsonObject[]));
      const { record, changed } = await desk.queue.write("task add-bulk", (tx) => {
        const before = input.key === undefined ? undefined : recordOf(tx.ledger.record(BULK_KEYS, input.key));
        if (before !== undefined) {
          if (before.hash !== hash) throw keyReused(input.key ?? "", before);
          return { record: before, changed: false };
        }
        const added = addAll(call, desk, tx, input.tasks, who, input.partial === true);
        const record: BulkRecord = { hash, ...added };
        if (input.key !== undefined) tx.ledger.putRecord(BULK_KEYS, input.key, record);
        return { record, changed: added.ids.length > 0 };
      });
      return {
        tasks: record.ids.map((id) => desk.queue.document({ id })),
        failed: [...record.failed],
        ok: record.failed.length === 0,
        changed,
        stateRoot: desk.queue.stateRoot,
        workRoot: call.target.repo.workRoot,
      };
    });
  },
  text: (result, style) =>
    [
      ...result.tasks.map((task) => addedLine(task, style)),
      ...result.failed.map(
        ({ index, name, error }) => paint(style, "red", `#${index + 1} ${name ?? ""}: ${error.message}`) + "\n",
      ),
      result.failed.length === 0 && result.changed
        ? ""
        : `${result.changed ? "added" : "added before:"} ${count(result.tasks.length, "task")}${result.failed.length === 0 ? "" : `, ${result.failed.length} refused`}\n`,
    ].join(""),
  ids: (result) => result.tasks.map((task) => field(task, "id")),
});

function recordOf(value: unknown): BulkRecord | undefined {
  return value === undefined ? undefined : (value as BulkRecord);
}

function keyReused(key: string, before: BulkRecord): DotbotError {
  return new DotbotError(
    "CONFLICT",
    `the key ${quote(key)} was used before, with other tasks (${count(before.ids.length, "task")} added)`,
    {
      hint: "use a new key for new content",
      details: { key, ids: before.ids },
    },
  );
}

/** Adds the items one after the other. Without `partial` the first fault is thrown, and the transaction takes all back. */
function addAll(
  call: Call,
  { settings }: Desk,
  tx: Tx,
  items: readonly Readonly<Record<string, unknown>>[],
  who: Provenance,
  partial: boolean,
): Pick<BulkRecord, "ids" | "failed"> {
  const dependencies = new DependencyDesk(
    tx.ledger,
    items.map((item) => item["name"]).filter((name) => typeof name === "string"),
  );
  const ids: string[] = [];
  const failed: Failed[] = [];
  const fresh = idsInOrder(tx, items.length);
  for (const [index, item] of items.entries()) {
    const where = `tasks[${index}]`;
    try {
      if (item["name"] === undefined) {
        throw new DotbotError("INVALID_INPUT", `${where}.name is missing`, {
          hint: "every task has a name",
          example: bulkExample(call),
          details: { missing: [`${where}.name`] },
        });
      }
      const clean = cleanFields(call, settings, item, { where, example: bulkExample(call) });
      const row = createTask(call, tx, clean, who, { desk: dependencies, where, id: fresh[index] });
      dependencies.position(row, index + 1);
      ids.push(row.id);
    } catch (error) {
      // Everything that can be wrong with an item is found before its first write.
      if (!partial || !(error instanceof DotbotError)) throw error;
      failed.push({ index, name: typeof item["name"] === "string" ? item["name"] : null, error: { ...error.facts() } });
    }
  }
  return { ids, failed };
}

/**
 * Of tasks with one priority and one time the id decides which comes first: ids drawn at random, and dealt out in order, keep
 * the order in which the caller named the tasks.
 */
function idsInOrder(tx: Tx, count: number): string[] {
  const drawn = new Map<string, string>();
  while (drawn.size < count) {
    const id = tx.freshId();
    drawn.set(id8(id), id);
  }
  return [...drawn.values()].sort();
}

function bulkExample(call: Pick<Call, "surface">): string {
  const tasks = [{ name: "Design" }, { name: "Build", dependencies: ["Design"] }];
  return call.surface === "cli" ? `dotbot task add-bulk '${JSON.stringify(tasks)}'` : JSON.stringify({ tasks });
}
