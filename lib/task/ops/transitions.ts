/** The verbs that move one task along the table. Each is its data; the move itself is in move.ts. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import type { JsonObject } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import { asText, paint, type Style } from "../../text.ts";
import { tryLoadSettings } from "../../settings.ts";
import { isObject, SKIP_REASONS } from "../model.ts";
import { discardWorktree, startInWorktree } from "../worktree.ts";
import { claimShape, namedTask, withQueue } from "./common.ts";
import { type Next, nextForStart, nextOutput, nextText } from "./claims.ts";
import { claimFlags, claimTermsFields, termsOf } from "./terms.ts";
import { type Moved, moveFields, moveFlags, moveOutput, moveText, reasonLine, runMove } from "./move.ts";

const task = [{ field: "task_id", variadic: true, optional: true }] as const;
const worktreeShape = v.object({
  path: v.string(),
  branch: v.nullable(v.string()),
  base: v.string(),
  baseSha: v.string(),
});
const given = ["task add 'Add a login page'"] as const;
const started = [...given, "task start 'Add a login page'"] as const;

/** What all transition verbs have in common. */
const move = {
  effect: "write",
  idempotent: true,
  target: { rule: "queue" },
  positional: task,
  batch: "task_id",
  complete: { task_id: "task" },
  output: v.object({ ...moveOutput, claim: v.optional(claimShape) }),
  text: moveText,
} as const;

export const start = operation({
  ...move,
  name: "task start",
  tool: "task_mark_in_progress",
  summary: "Begin work on a task, or on the next one",
  details:
    "Moves the task to in-progress. A caller that says who it is (session_id or owner) holds the task from then on: nobody else can move or edit it. With next, takes the task that `dotbot task next` would name, in one step that no other caller can come between.",
  examples: [
    { given, run: "task start 'Add a login page'", does: "begin work on it" },
    { given, run: "task start --next --owner ada", does: "begin the next task, held by ada" },
  ],
  output: v.union([v.object({ ...move.output.entries, worktree: v.optional(worktreeShape) }), nextOutput]),
  text: (result, style) =>
    isMoved(result)
      ? moveText(result, style) + ("worktree" in result ? worktreeLine(result.worktree, style) : "")
      : nextText(result, style),
  ids: (result) => (result.task === null ? [] : [asText(result.task["id"])]),
  status: (result) => (result.task === null ? 1 : 0),
  input: v.strictObject({
    ...moveFields,
    ...claimTermsFields,
    next: v.optional(v.pipe(v.boolean(), v.description("Take the next task of the queue instead of a named one."))),
    prefer: v.optional(
      v.pipe(
        v.picklist(["analysed", "todo"]),
        v.description("With next: which tasks come first; analysed ones by default."),
      ),
    ),
    worktree: v.optional(
      v.pipe(
        v.boolean(),
        v.description("Make a worktree for it as well, with a branch of its own; worktree.default is the default."),
      ),
    ),
  }),
  flags: { ...moveFlags, ...claimFlags },
  async run(call, input) {
    const plan = { verb: "start", to: "in-progress", claims: true, ...termsOf(input) } as const;
    if (input.next !== true) {
      const task = await wantsWorktree(call, input.task_id, input.worktree);
      return task === null
        ? await runMove(call, input, plan)
        : await startInWorktree(call, { ...input, task_id: task }, null);
    }
    if (input.task_id !== undefined) {
      throw new DotbotError("USAGE", "start takes a task or --next, not both", { example: "dotbot task start --next" });
    }
    const next = await withQueue(call, async (desk) => await nextForStart(call, desk, input, plan));
    const task = isMoved(next) ? await wantsWorktree(call, asText(next.task["id"]), input.worktree) : null;
    return task === null || !isMoved(next) ? next : await startInWorktree(call, { ...input, task_id: task }, next);
  },
});

function worktreeLine(worktree: v.InferOutput<typeof worktreeShape> | undefined, style: Style): string {
  if (worktree === undefined) return "";
  const { path, branch, base, baseSha } = worktree;
  return `  in ${paint(style, "bold", path)}\n  branch ${branch ?? ""} from ${base} ${paint(style, "dim", baseSha.slice(0, 12))}\n`;
}

function isMoved(result: Moved | Next): result is Moved {
  return "changed" in result;
}

/** The id of the task, when it is to have a worktree: by the call, else by the setting, unless the task says that it needs none. */
async function wantsWorktree(call: Call, name: string | undefined, wish: boolean | undefined): Promise<string | null> {
  if (wish === false) return null;
  // What is wrong in the settings is told by whoever lives by them.
  if (wish === undefined && !tryLoadSettings(call, call.target.repo.stateRoot).settings.worktree.default) return null;
  return await withQueue(call, async ({ queue }) => {
    const row = await namedTask(call, queue, name, "start");
    return wish === true || queue.document(row)["skip_worktree"] !== true ? row.id : null;
  });
}

export const analysing = operation({
  ...move,
  name: "task analysing",
  tool: "task_mark_analysing",
  summary: "Begin to analyse a task",
  details: "Moves the task to analysing. A caller that says who it is holds the task until the analysis ends.",
  examples: [{ given, run: "task analysing 'Add a login page'", does: "begin its analysis" }],
  input: v.strictObject({ ...moveFields, ...claimTermsFields }),
  flags: { ...moveFlags, ...claimFlags },
  async run(call, input) {
    return await runMove(call, input, { verb: "analysing", to: "analysing", claims: true, ...termsOf(input) });
  },
});

export const analysed = operation({
  ...move,
  name: "task analysed",
  tool: "task_mark_analysed",
  summary: "Store a task's analysis; it is ready for work",
  details:
    "Moves the task to analysed. The analysis is any JSON object (files to change, approach, risks); it is merged over what an earlier call stored.",
  examples: [
    {
      given: [...given, "task analysing 'Add a login page'"],
      run: `task analysed 'Add a login page' --analysis '{"approach":"one form, one route"}'`,
      does: "store what was found out",
    },
  ],
  input: v.strictObject({
    ...moveFields,
    analysis: v.optional(v.pipe(v.looseObject({}), v.description("What was found out: a JSON object of any shape."))),
  }),
  flags: { ...moveFlags, analysis: { json: true, value: "file|-" } },
  async run(call, input) {
    return await runMove(call, input, {
      verb: "analysed",
      to: "analysed",
      data: (doc) => withAnalysis(doc, input.analysis as JsonObject | undefined),
    });
  },
});

function withAnalysis(doc: JsonObject, analysis: JsonObject | undefined): JsonObject {
  if (analysis === undefined) return doc;
  const before = isObject(doc["analysis"]) ? doc["analysis"] : {};
  return { ...doc, analysis: { ...before, ...analysis } };
}

export const review = operation({
  ...move,
  name: "task review",
  tool: "task_mark_needs_review",
  summary: "Hand a task over for review",
  details:
    "Moves the task from in-progress to needs-review: the work is finished as far as its worker can tell, and somebody should look.",
  examples: [
    {
      given: started,
      run: "task review 'Add a login page' --reason 'please check the wording'",
      does: "ask for a review",
    },
  ],
  toolset: "people",
  input: v.strictObject({
    ...moveFields,
    reason: v.optional(v.pipe(v.string(), v.description("What the reviewer should look at."))),
  }),
  flags: moveFlags,
  async run(call, input) {
    return await runMove(call, input, {
      verb: "review",
      to: "needs-review",
      reason: reasonLine(call, input.reason, "reason"),
    });
  },
});

export const fail = operation({
  ...move,
  name: "task fail",
  tool: "task_mark_failed",
  summary: "Say that a task can't be done this way",
  details:
    "Moves the task to failed. What depends on it stays blocked until it is reset and done, or skipped for an intentional reason.",
  examples: [
    {
      given: started,
      run: "task fail 'Add a login page' --reason 'the identity provider is down'",
      does: "record why",
    },
  ],
  input: v.strictObject({ ...moveFields, reason: v.optional(v.pipe(v.string(), v.description("What went wrong."))) }),
  flags: moveFlags,
  async run(call, input) {
    return await runMove(call, input, { verb: "fail", to: "failed", reason: reasonLine(call, input.reason, "reason") });
  },
});

export const skip = operation({
  ...move,
  name: "task skip",
  tool: "task_mark_skipped",
  summary: "Leave a task undone, for a reason that counts",
  details:
    "Moves the task to skipped. After not-applicable, precondition-unmet, superseded, user-requested and condition-not-met what depends on it may go on; after non-recoverable and max-retries it stays blocked.",
  examples: [
    {
      given,
      run: "task skip 'Add a login page' --reason superseded --detail 'single sign-on covers it'",
      does: "skip it for good",
    },
  ],
  input: v.strictObject({
    ...moveFields,
    skip_reason: v.pipe(
      v.picklist(SKIP_REASONS),
      v.description("Why it is skipped; decides whether dependents may go on."),
    ),
    skip_detail: v.optional(v.pipe(v.string(), v.description("The reason in words."))),
  }),
  flags: {
    ...moveFlags,
    skip_reason: { name: "reason", value: "kind" },
    skip_detail: { name: "detail", value: "text" },
  },
  async run(call, input) {
    const detail = reasonLine(call, input.skip_detail, "skip_detail");
    const reason = detail === undefined ? input.skip_reason : `${input.skip_reason}: ${detail}`;
    return await runMove(call, input, {
      verb: "skip",
      to: "skipped",
      reason,
      data: (doc, row, who) => {
        const past = Array.isArray(doc["skip_history"]) ? doc["skip_history"] : [];
        const last = past.at(-1);
        if (
          row.status === "skipped" &&
          isObject(last) &&
          last["reason"] === input.skip_reason &&
          (last["detail"] ?? undefined) === detail
        )
          return doc;
        const entry: JsonObject = {
          skipped_at: who.at,
          reason: input.skip_reason,
          ...(detail === undefined ? {} : { detail }),
        };
        return { ...doc, skip_history: [...past, entry] };
      },
    });
  },
});

export const cancel = operation({
  ...move,
  name: "task cancel",
  tool: "task_mark_cancelled",
  summary: "Give a task up for good",
  details: "Moves the task to cancelled, which is final. What depends on it may go on.",
  examples: [{ given, run: "task cancel 'Add a login page' --reason 'not wanted any more'", does: "give it up" }],
  toolset: "people",
  input: v.strictObject({
    ...moveFields,
    reason: v.optional(v.pipe(v.string(), v.description("Why it isn't wanted."))),
  }),
  flags: moveFlags,
  async run(call, input) {
    return await runMove(call, input, {
      verb: "cancel",
      to: "cancelled",
      reason: reasonLine(call, input.reason, "reason"),
    });
  },
});

export const reset = operation({
  ...move,
  name: "task reset",
  tool: "task_mark_todo",
  summary: "Put a task back to todo",
  details:
    "Clears completion, start, claim and pending questions. A worktree stays where it is, with its branch; discard_worktree takes both away and keeps the branch's tip.",
  examples: [
    { given: started, run: "task reset 'Add a login page' --reason 'needs another approach'", does: "put it back" },
  ],
  input: v.strictObject({
    ...moveFields,
    reason: v.optional(v.pipe(v.string(), v.description("Why it goes back."))),
    discard_worktree: v.optional(
      v.pipe(v.boolean(), v.description("Take its worktree and branch away; the tip is kept under refs/dotbot/lost.")),
    ),
  }),
  flags: moveFlags,
  output: v.object({ ...move.output.entries, discarded: v.optional(v.looseObject({})) }),
  async run(call, input) {
    const moved = await runMove(call, input, {
      verb: "reset",
      to: "todo",
      reason: reasonLine(call, input.reason, "reason"),
    });
    if (input.discard_worktree !== true) return moved;
    return { ...moved, discarded: { ...(await discardWorktree(call, asText(moved.task["id"]), input)) } };
  },
});
