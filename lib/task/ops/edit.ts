/** Changing what a task says. Its status, its history and what transitions record aren't a matter of editing. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { equalJson, type JsonObject } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import { nearest, paint, quote, shellWord } from "../../text.ts";
import { appended, stringList } from "../model.ts";
import type { TaskRow } from "../ledger.ts";
import { entryOf, provenance, provenanceFields, type Provenance } from "../provenance.ts";
import type { Queue, Tx } from "../queue.ts";
import { gathered } from "./add.ts";
import {
  dirField,
  exampleFor,
  field,
  guardClaim,
  holderFields,
  holderFlags,
  type HolderInput,
  holderOf,
  namedTask,
  oneTask,
  oneTaskOf,
  provenanceFlags,
  taskField,
  withQueue,
} from "./common.ts";
import { begins, DependencyDesk, type Place } from "./dependencies.ts";
import { cleanFields, refuseName, taskCompletions, taskFields, taskFlags } from "./draft.ts";

interface Patch {
  /** Clean fields to set; dependencies are still the caller's words. */
  readonly set: JsonObject;
  readonly unset: readonly string[];
  readonly addDependencies: readonly string[];
  readonly removeDependencies: readonly string[];
}

const given = ["task add 'Add a login page'"] as const;

export const edit = operation({
  name: "task edit",
  tool: "task_update",
  summary: "Change what a task says",
  details:
    "A patch: fields that aren't given stay. Lists are replaced whole; add_dependencies and remove_dependencies change that one list by item. Status, history and what transitions record are refused, with the verb that changes them. Somebody else's claim is respected.",
  examples: [
    { given, run: "task edit 'Add a login page' --priority 10 --tag web", does: "set two fields" },
    {
      given: [...given, "task add 'Choose a framework'"],
      run: "task edit 'Add a login page' --add-dependency 'Choose a framework'",
      does: "let it wait for another",
    },
    {
      given: ["task add 'Add a login page' --model large"],
      run: "task edit 'Add a login page' --unset model",
      does: "take a field away",
    },
  ],
  effect: "write",
  idempotent: true,
  target: { rule: "queue" },
  session: "optional",
  toolset: "people",
  positional: [{ field: "task_id", optional: true }],
  input: v.strictObject({
    ...taskField,
    ...taskFields,
    add_dependencies: v.optional(v.pipe(v.array(v.string()), v.description("Tasks to add to its dependencies."))),
    remove_dependencies: v.optional(
      v.pipe(v.array(v.string()), v.description("Tasks to take out of its dependencies.")),
    ),
    fields: v.optional(v.pipe(v.looseObject({}), v.description("Further fields of your own to set."))),
    unset: v.optional(v.pipe(v.array(v.string()), v.description("Fields to take away."))),
    json_file: v.optional(
      v.pipe(v.looseObject({}), v.description("Fields to set as JSON, from a file or - for stdin; flags win.")),
    ),
    ...provenanceFields,
    ...holderFields,
    ...dirField,
  }),
  flags: {
    ...taskFlags,
    ...provenanceFlags,
    ...holderFlags,
    add_dependencies: { name: "add-dependency", value: "task" },
    remove_dependencies: { name: "remove-dependency", value: "task" },
    fields: { json: true, value: "json|file" },
    unset: { value: "field" },
    json_file: { json: true, value: "file|-", cliOnly: true },
  },
  complete: { ...taskCompletions, task_id: "task", add_dependencies: "task", remove_dependencies: "task" },
  output: v.object({
    ...oneTask,
    changed: v.pipe(v.boolean(), v.description("false: it said all that already.")),
    changedFields: v.array(v.string()),
  }),
  async run(call, input) {
    return await withQueue(call, async ({ queue, settings }) => {
      const row = await namedTask(call, queue, input.task_id, "edit");
      const example = exampleFor("edit", row.id8, " --priority 10");
      const set = cleanFields(call, settings, gathered(input), { example });
      const patch: Patch = {
        set,
        unset: checkedUnset(queue.document(row), input.unset ?? [], set, example),
        addDependencies: input.add_dependencies ?? [],
        removeDependencies: input.remove_dependencies ?? [],
      };
      if (
        Object.keys(set).length +
          patch.unset.length +
          patch.addDependencies.length +
          patch.removeDependencies.length ===
          0 &&
        input.unset === undefined
      ) {
        throw new DotbotError("USAGE", "nothing to change is named", {
          hint: "give a field and its new value",
          example,
        });
      }
      const who = await provenance(call, call.target.repo, input, false);
      const { after, fields } = await queue.write(`task edit ${row.id8}`, (tx) =>
        applyPatch(call, tx, tx.row(row.id), patch, who, input),
      );
      if (fields.includes("name") || fields.includes("slug")) warnOfOldNames(call, queue, row, after);
      return { ...oneTaskOf(call, queue, after), changed: fields.length > 0, changedFields: fields };
    });
  },
  text: ({ task, changed, changedFields }, style) =>
    `${field(task, "id").slice(0, 8)}  ${field(task, "name")}: ${changed ? `changed ${changedFields.join(", ")}` : paint(style, "dim", "nothing to change")}\n`,
  ids: (result) => [field(result.task, "id")],
});

function checkedUnset(doc: JsonObject, names: readonly string[], set: JsonObject, example: string): string[] {
  for (const name of names) {
    refuseName(name, quote(name), example);
    if (name === "name")
      throw new DotbotError("INVALID_INPUT", "a task can't be without a name", {
        hint: "give it another one",
        example,
      });
    if (name in set) throw new DotbotError("INVALID_INPUT", `${quote(name)} is both set and unset`, { example });
    if (!(name in doc) && !(name in taskFields)) {
      const near = nearest(name, Object.keys(doc));
      throw new DotbotError("INVALID_INPUT", `the task has no field ${quote(name)}`, {
        hint: near === undefined ? `its fields are ${Object.keys(doc).join(", ")}` : `did you mean ${quote(near)}?`,
        example,
      });
    }
  }
  return names.filter((name) => name in doc);
}

/** Decides and stores, inside a transaction. Returns the names of the fields that changed. */
function applyPatch(
  call: Call,
  tx: Tx,
  row: TaskRow,
  patch: Patch,
  who: Provenance,
  input: HolderInput & { steal?: string | undefined },
): { after: TaskRow; fields: string[] } {
  const theft = guardClaim(call, tx, row, holderOf(call, input), input.steal, "edit");
  const doc = tx.document(row);
  const desk = new DependencyDesk(tx.ledger);
  const next: JsonObject = { ...doc, ...patch.set };
  for (const name of patch.unset) next[name] = undefined;
  const parent = patch.set["parent_task_id"];
  if (typeof parent === "string" && parent !== "")
    next["parent_task_id"] = desk.one(parent, placeOf(row, "--parent-task-id"));
  const dependencies = patchedDependencies(desk, row, patch);
  if (dependencies !== null) next["dependencies"] = dependencies;
  const fields = [...new Set([...Object.keys(doc), ...Object.keys(next)])].filter(
    (name) => !equalJson(doc[name], next[name]),
  );
  if (fields.length === 0 && theft === null) return { after: row, fields };
  if (fields.includes("dependencies") || fields.includes("name") || fields.includes("slug"))
    desk.refuseCycle(row.id, next, row.status);
  next["updated_at"] = who.at;
  if (theft === null) return { after: tx.save(row, next, { at: who.at, by: who.by }), fields };
  // An edit isn't a step of the task's life, taking it from somebody is.
  const entry = entryOf(who, row.status, row.status, theft);
  next["history"] = appended(doc, entry);
  return { after: tx.save(row, next, { at: who.at, by: who.by, entry }), fields };
}

/** The new list, or null when the patch leaves it alone. What was there already stays spelt as it is. */
function patchedDependencies(desk: DependencyDesk, row: TaskRow, patch: Patch): string[] | null {
  const replaces = patch.set["dependencies"] !== undefined;
  if (!replaces && patch.addDependencies.length + patch.removeDependencies.length === 0) return null;
  const before = [...row.dependencies];
  const idOf = (name: string): string => desk.known(name) ?? name;
  const kept = new Map(before.map((name) => [idOf(name), name]));
  const resolved = (names: readonly string[], flag: string): string[] =>
    desk.all([...names], placeOf(row, flag)).map((id) => kept.get(id) ?? id);
  const list = replaces ? resolved(stringList(patch.set["dependencies"]), "--depends-on") : before;
  const removed = new Set(patch.removeDependencies.map((name) => removedFrom(list, name, idOf, row)));
  const added = resolved(patch.addDependencies, "--add-dependency");
  return [...new Set([...list, ...added])].filter((name) => !removed.has(idOf(name)));
}

/** The id of the dependency that is to go: what it waits for may be gone itself, so only the list tells what a word means. */
function removedFrom(list: readonly string[], name: string, idOf: (name: string) => string, row: TaskRow): string {
  const ids = [...new Set(list.map(idOf))];
  const wanted = name.trim();
  const exact = ids.filter((id) => id === idOf(wanted));
  const found = exact.length > 0 ? exact : ids.filter((id) => begins(wanted, id));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const [first] = list;
  throw new DotbotError("NOT_FOUND", `${quote(row.name)} doesn't depend on ${quote(name)}`, {
    hint: first === undefined ? "it depends on nothing" : `it depends on ${list.join(", ")}`,
    ...(first === undefined ? {} : { example: placeOf(row, "--remove-dependency").example(first) }),
    details: { dependencies: list },
  });
}

function placeOf(row: TaskRow, flag: string): Place {
  return {
    shown: flag,
    example: (task) => exampleFor("edit", row.id8, ` ${flag} ${shellWord(task)}`),
    self: [row.name, row.id, ...(row.slug === null ? [] : [row.slug])],
  };
}

/** Documents that other tools wrote may name what they wait for by its name, which means nothing any more. */
function warnOfOldNames(call: Call, queue: Queue, before: TaskRow, after: TaskRow): void {
  const now = [after.name, after.slug];
  const gone = [before.name, before.slug].filter((name) => name !== null && !now.includes(name));
  for (const other of queue.ledger.linked("place <> 'removed'", [])) {
    const word = other.dependencies.find((name) => gone.includes(name));
    if (word === undefined) continue;
    call.note(
      `${quote(other.name)} (${other.id8}) waits for it by its old name: \`dotbot task edit ${other.id8} --add-dependency ${after.id} --remove-dependency ${shellWord(word)}\` mends that`,
    );
  }
}
