/** `wt remove`. */
import * as v from "valibot";

import { operation } from "../../op.ts";
import { locked, withBench } from "../bench.ts";
import { removeTask } from "../discard.ts";
import { dryRunField, echoFields, echoHere, flagField, heldFields, heldFlags, onTask } from "./shapes.ts";

const given = ["task add 'Add a login page'"] as const;

const removeInput = v.strictObject({
  ...heldFields,
  force_unmerged: flagField("Commits that are on no other branch may go; their tip is kept under refs/dotbot/lost."),
  force_dirty: flagField("Uncommitted and untracked work may go; the trash keeps it for seven days."),
  discard_ignored: flagField("Ignored files may go; the trash keeps them for seven days."),
  keep_branch: flagField("Leave the branch."),
  ...dryRunField,
});
export type RemoveInput = v.InferOutput<typeof removeInput>;

const removed = {
  taskId: v.string(),
  path: v.nullable(v.string()),
  taskBranch: v.nullable(v.string()),
  changed: v.boolean(),
  trash: v.nullable(v.string()),
  branchDeleted: v.boolean(),
  keptRef: v.nullable(v.string()),
  merged: v.nullable(v.picklist(["ancestry", "completion", "adds-nothing", "fresh"])),
  dryRun: v.optional(v.boolean()),
};
const removedShape = v.object(removed);
export type RemoveResult = v.InferOutput<typeof removedShape>;

export const remove = operation({
  ...onTask,
  name: "wt remove",
  aliases: ["wt rm"],
  summary: "Take a task's worktree and branch away, losing nothing",
  details:
    "Refused while it has uncommitted or ignored work, or commits that are nowhere else; each refusal names what would be lost, and the flag that allows it. The folder is kept in a trash for seven days, an unmerged tip under refs/dotbot/lost. The task's status stays.",
  examples: [
    {
      given: [...given, "wt create 'Add a login page'"],
      run: "wt remove 'Add a login page'",
      does: "a worktree without work of its own goes at once",
    },
  ],
  effect: "destroy",
  session: "optional",
  toolset: "people",
  idempotent: true,
  input: removeInput,
  flags: heldFlags,
  output: v.object({ ...echoFields, ...removed }),
  async run(call, input) {
    return await withBench(call, "wt remove", async (bench) => {
      const work = async () => await removeTask(bench, input);
      const result = input.dry_run === true ? await work() : await locked(bench, "wt remove", work);
      return { ...(await echoHere(bench, null, "the worktree is removed")), ...result };
    });
  },
  text(result) {
    const id = result.taskId.slice(0, 8);
    if (result.path === null && !result.branchDeleted) return `${id} has no worktree\n`;
    if (result.dryRun === true) return `${id}: would remove ${result.path ?? result.taskBranch ?? ""}\n`;
    const kept = result.keptRef === null ? "" : `; its tip is ${result.keptRef}`;
    return `${id}: ${result.path ?? "the branch"} is gone${result.branchDeleted ? `, and the branch ${result.taskBranch ?? ""}` : ""}${kept}\n`;
  },
});
