/** `wt complete`. */
import * as v from "valibot";

import { operation } from "../../op.ts";
import { paint, type Style } from "../../text.ts";
import { completeAll } from "../finish.ts";
import { dryRunField, echoFields, fetchField, flagField, onTask, plural, wtFields } from "./shapes.ts";

const given = ["task add 'Add a login page'"] as const;

export const completeFields = {
  task_status: v.optional(
    v.pipe(v.picklist(["done", "needs-review"]), v.description("Complete from review, before the task is done.")),
  ),
  commit_leftovers: flagField(
    "Commit what is uncommitted or untracked on the branch first; it is verified again then.",
  ),
  discard_ignored: flagField("Ignored files that nothing made again may go with the worktree."),
  ignore_queue_changes: flagField("Leave behind task files that the branch has in another status than the queue."),
  ...fetchField,
};

export const completeOutput = v.object({
  ...echoFields,
  taskId: v.string(),
  outcome: v.pipe(
    v.picklist(["landed", "nothing", "planned", "already"]),
    v.description("landed: one commit on the base. nothing: the base has all of it already."),
  ),
  base: v.string(),
  retargeted: v.pipe(
    v.nullable(v.string()),
    v.description("The branch that it was cut from, where that was a task's that has landed itself."),
  ),
  taskBranch: v.string(),
  tip: v.string(),
  old: v.nullable(v.string()),
  commit: v.pipe(v.nullable(v.string()), v.description("The commit on the base.")),
  files: v.array(v.string()),
  keptRef: v.pipe(v.nullable(v.string()), v.description("The ref that keeps the branch's tip.")),
  removed: v.boolean(),
  branchDeleted: v.boolean(),
  leftovers: v.pipe(v.array(v.string()), v.description("What couldn't be cleared away, and why; the merge stands.")),
  queueChangesIgnored: v.pipe(
    v.array(v.string()),
    v.description("Paths of the queue that the branch changed, and that stayed behind."),
  ),
  hooksNotRun: v.pipe(v.array(v.string()), v.description("Hooks that can't run for a commit without a checkout.")),
  pushed: v.optional(v.string()),
  saved: v.optional(v.boolean()),
});
export type CompleteResult = v.InferOutput<typeof completeOutput>;

const completeInput = v.strictObject({
  ...wtFields,
  ...completeFields,
  push: flagField("Push the base to its remote afterwards."),
  save: flagField("Save the queue afterwards, as `task save` does."),
  ...dryRunField,
});
export type CompleteAll = v.InferOutput<typeof completeInput>;

export const complete = operation({
  ...onTask,
  name: "wt complete",
  summary: "Bring a done task's branch back as exactly one commit",
  details:
    "Merges the branch onto its base without a checkout, commits it as one commit, then takes worktree and branch away; the tip stays under refs/dotbot/done. Refused unless the task is done, its tip is the one that was verified, and nothing uncommitted is left. A conflict changes nothing and asks. Whatever else is staged, edited or untracked in the base's checkout stays as it is.",
  examples: [
    {
      given: [...given, "wt create 'Add a login page'", "task done 'Add a login page'"],
      run: "wt complete 'Add a login page'",
      does: "one commit on the base, or nothing to merge",
    },
  ],
  effect: "destroy",
  idempotent: true,
  input: completeInput,
  flags: { task_status: { name: "task-status", value: "status" } },
  output: completeOutput,
  async run(call, input) {
    return await completeAll(call, input);
  },
  text: completeText,
});

function completeText(result: CompleteResult, style: Style): string {
  const id = result.taskId.slice(0, 8);
  const lines: string[] = [];
  if (result.outcome === "landed")
    lines.push(
      `${id} landed on ${paint(style, "bold", result.base)} as ${(result.commit ?? "").slice(0, 12)}, ${plural(result.files.length, "file")}\n`,
    );
  else if (result.outcome === "planned")
    lines.push(
      `${id} would land on ${result.base}, ${plural(result.files.length, "file")}:\n`,
      ...result.files.slice(0, 20).map((file) => `  ${file}\n`),
    );
  else if (result.outcome === "nothing") lines.push(`${id}: nothing to merge, ${result.base} has all of it\n`);
  else
    lines.push(
      `${id} had landed on ${result.base} before${result.commit === null ? "" : ` as ${result.commit.slice(0, 12)}`}\n`,
    );
  if (result.retargeted !== null) lines.push(`  it was cut from ${result.retargeted}, which has landed itself\n`);
  if (result.removed && result.branchDeleted)
    lines.push(`  worktree and branch are gone; the tip is ${result.keptRef ?? result.tip.slice(0, 12)}\n`);
  for (const leftover of result.leftovers) lines.push(`  left: ${leftover}\n`);
  if (result.queueChangesIgnored.length > 0)
    lines.push(`  left behind, being the queue's: ${result.queueChangesIgnored.slice(0, 8).join(", ")}\n`);
  if (result.hooksNotRun.length > 0) lines.push(`  hooks that didn't run: ${result.hooksNotRun.join(", ")}\n`);
  if (result.pushed !== undefined) lines.push(`  pushed to ${result.pushed}\n`);
  return lines.join("");
}
