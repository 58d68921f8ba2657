/** `wt remove`. */
import * as v from "valibot";

import { operation, type Call } from "../../op.ts";
import { locked, withBench } from "../bench.ts";
import { removeOrAsk, removeTask } from "../discard.ts";
import type { Stake } from "../stake.ts";
import { dryRunField, echoAt, echoFields, flagField, heldFields, heldFlags, onTask } from "./shapes.ts";

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
    "Refused while it has uncommitted or ignored work, or commits that are nowhere else; each refusal names what would be lost, and the flag that allows it; at a terminal you are asked instead, after it is shown. The folder is kept in a trash for seven days, an unmerged tip under refs/dotbot/lost. The task's status stays.",
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
    const result =
      call.prompt === undefined || input.dry_run === true
        ? await removal(call, input)
        : await askedRemoval(call, input);
    const done = result.changed ? "the worktree is removed" : "nothing was removed";
    return { ...(await echoAt(call, call.target.repo.mainRoot, done)), ...result };
  },
  text(result) {
    const id = result.taskId.slice(0, 8);
    if (result.path === null && !result.branchDeleted) return `${id} has no worktree\n`;
    if (isKept(result)) return `${id}: nothing was removed\n`;
    if (result.dryRun === true) return `${id}: would remove ${result.path ?? result.taskBranch ?? ""}\n`;
    const kept = result.keptRef === null ? "" : `; its tip is ${result.keptRef}`;
    return `${id}: ${result.path ?? "the branch"} is gone${result.branchDeleted ? `, and the branch ${result.taskBranch ?? ""}` : ""}${kept}\n`;
  },
  status: (result) => (isKept(result) ? 1 : 0),
});

async function removal(call: Call, input: RemoveInput): Promise<RemoveResult> {
  return await withBench(call, "wt remove", async (bench) => {
    const work = async () => await removeTask(bench, input);
    return input.dry_run === true ? await work() : await locked(bench, "wt remove", work);
  });
}

/** Asks before what the flags don't let go. While the question stands nothing is locked, so after a yes it is looked at again. */
async function askedRemoval(call: Call, input: RemoveInput): Promise<RemoveResult> {
  let agreed: Stake | null = null;
  for (;;) {
    const outcome: RemoveResult | Stake = await withBench(
      call,
      "wt remove",
      async (bench) => await locked(bench, "wt remove", async () => await removeOrAsk(bench, input, agreed)),
    );
    if (!("mark" in outcome)) return outcome;
    if (!(await agrees(call, outcome, agreed !== null))) return kept(outcome);
    agreed = outcome;
  }
}

async function agrees(call: Call, stake: Stake, again: boolean): Promise<boolean> {
  const about = again ? ["It has changed since you were asked.", ...stake.lines] : stake.lines;
  return (await call.prompt?.confirm({ about, message: "Remove it all the same?" })) === true;
}

function kept({ taskId, path, taskBranch }: Stake): RemoveResult {
  return {
    taskId,
    path,
    taskBranch,
    changed: false,
    trash: null,
    branchDeleted: false,
    keptRef: null,
    merged: null,
  };
}

/** Somebody was asked, and said no. */
function isKept(result: RemoveResult): boolean {
  return result.path !== null && !result.changed && result.dryRun !== true;
}
