/** Deciding on a proposal to split a task: its parts become tasks, or it goes on undivided. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import type { JsonObject } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import type { TaskRow } from "../ledger.ts";
import { tells } from "../legal.ts";
import { isObject, stringList } from "../model.ts";
import { entryOf, type Provenance } from "../provenance.ts";
import type { Tx } from "../queue.ts";
import { claimShape, exampleFor, field, namedTask, taskDocument, withQueue } from "./common.ts";
import { newDocument } from "./draft.ts";
import { moveFields, moveFlags, moveOutput, moveTask, moveText, reasonLine } from "./move.ts";

export const split = operation({
  name: "task split",
  tool: "task_approve_split",
  summary: "Approve or reject a proposal to split a task",
  details:
    "Approved: the parts become tasks and the task moves to split, in one step; what depends on it then waits for all of them. Rejected: the task goes on as after an answer.",
  examples: [
    {
      given: [
        "task add 'Add a login page'",
        "task analysing 'Add a login page'",
        `task ask 'Add a login page' --split '{"reason":"two parts","sub_tasks":[{"name":"The form"},{"name":"The route"}]}'`,
      ],
      run: "task split 'Add a login page' --approve",
      does: "make two tasks of it",
    },
  ],
  effect: "write",
  target: { rule: "queue" },
  toolset: "people",
  positional: [{ field: "task_id" }],
  complete: { task_id: "task" },
  input: v.strictObject({
    ...moveFields,
    approved: v.optional(
      v.pipe(v.boolean(), v.description("true makes tasks of the parts, false rejects the proposal.")),
    ),
    reject: v.optional(v.pipe(v.boolean(), v.description("Reject the proposal."))),
    reason: v.optional(v.pipe(v.string(), v.description("Why, for history."))),
  }),
  flags: { ...moveFlags, approved: { name: "approve" }, reject: { cliOnly: true } },
  output: v.object({ ...moveOutput, claim: v.optional(claimShape), children: v.array(taskDocument) }),
  async run(call, input) {
    const approved = input.approved ?? (input.reject === true ? false : undefined);
    if (approved === undefined || (input.approved === true && input.reject === true)) {
      throw new DotbotError("USAGE", "approve the proposal, or reject it?", {
        example: exampleFor("split", input.task_id ?? "<task>", " --approve"),
        details: { missing: ["approved"] },
      });
    }
    return await withQueue(call, async (desk) => {
      const row = await namedTask(call, desk.queue, input.task_id, "split");
      const children: string[] = [];
      const moved = await moveTask(call, desk, row, input, {
        verb: "split",
        reason: reasonLine(call, input.reason, "reason"),
        to: (_, doc) =>
          approved
            ? "split"
            : isObject(doc["analysis"]) && Object.keys(doc["analysis"]).length > 0
              ? "analysed"
              : "analysing",
        data: (doc, now, who, tx) => {
          const proposal = doc["split_proposal"];
          if (now.status === "split" && approved) return doc;
          if (now.status !== "needs-input" || !isObject(proposal) || !tells("proposes-split", doc)) {
            throw new DotbotError(
              "ILLEGAL_TRANSITION",
              `"${now.name}" (${now.id8}) has no split proposal to decide on`,
              {
                hint: "a proposal comes with `dotbot task ask <task> --split <file>`",
              },
            );
          }
          if (!approved) return { ...doc, split_proposal: { ...proposal, status: "rejected", rejected_at: who.at } };
          children.splice(0, children.length, ...makeChildren(call, tx, doc, now, proposal, who));
          return {
            ...doc,
            child_tasks: children,
            split_at: who.at,
            split_reason: proposal["reason"] ?? null,
            split_proposal: { ...proposal, status: "approved", approved_at: who.at },
          };
        },
      });
      return { ...moved, children: children.map((id) => desk.queue.document({ id })) };
    });
  },
  text: (result, style) =>
    moveText(result, style) +
    result.children.map((child) => `  + ${field(child, "id").slice(0, 8)}  ${field(child, "name")}\n`).join(""),
});

/** Makes the parts' tasks. A part that names another part as dependency means that part; otherwise it inherits the task's. */
function makeChildren(
  call: Call,
  tx: Tx,
  doc: JsonObject,
  parent: TaskRow,
  proposal: JsonObject,
  who: Provenance,
): string[] {
  const parts = Array.isArray(proposal["sub_tasks"]) ? proposal["sub_tasks"].filter(isObject) : [];
  const ids = new Map<string, string>();
  for (const part of parts) ids.set(field(part, "name"), tx.freshId());
  const made: string[] = [];
  for (const part of parts) {
    const { name, ...rest } = part;
    const id = ids.get(field(part, "name")) ?? tx.freshId();
    const own = stringList(part["dependencies"]).map((dependency) => ids.get(dependency) ?? dependency);
    const child = newDocument(
      call,
      {
        description: `Part of: ${parent.name}`,
        ...(parent.category === null ? {} : { category: parent.category }),
        priority: doc["priority"] ?? 50,
        ...rest,
        name: name ?? "",
        dependencies: [...new Set([...stringList(doc["dependencies"]), ...own])],
        parent_task_id: parent.id,
      },
      { id, status: "todo", who },
    );
    tx.create(child, {
      at: who.at,
      by: who.by,
      status: "todo",
      entry: entryOf(who, null, "todo", `split from ${parent.id8}`),
    });
    made.push(id);
  }
  return made;
}
