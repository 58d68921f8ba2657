/** `wt create` and `wt adopt`. */
import * as v from "valibot";

import { operation } from "../../op.ts";
import { claimShape, namedTask, taskDocument } from "../../task/ops/common.ts";
import { claimFlags, claimTermsFields } from "../../task/ops/terms.ts";
import { claimLine, statusShape } from "../../task/ops/move.ts";
import { paint, type Style } from "../../text.ts";
import { adoptWorktree } from "../adopt.ts";
import { createAndSetUp } from "../begin.ts";
import { withBench, withLockedBench } from "../bench.ts";
import { planCreate } from "../create.ts";
import { worktreeOf } from "../records.ts";
import {
  dryRunField,
  echoAt,
  echoFields,
  flagField,
  heldFields,
  heldFlags,
  onTask,
  setupOutput,
  worktreeFacts,
  worktreeOutput,
  wtFields,
} from "./shapes.ts";

export const createOutput = v.object({
  ...echoFields,
  ...worktreeOutput,
  task: taskDocument,
  created: v.pipe(v.boolean(), v.description("false: it was there already, or this is a dry run.")),
  reusedBranch: v.pipe(v.boolean(), v.description("The task's branch was there before, with its commits.")),
  slot: v.pipe(v.number(), v.description("A small number that no other worktree has, for ports and databases.")),
  links: v.pipe(v.array(v.string()), v.description("Links to the queue's folders, where git ignores them.")),
  setup: setupOutput,
  oldStatus: v.optional(statusShape),
  newStatus: v.optional(statusShape),
  claim: v.optional(claimShape),
  dryRun: v.optional(v.boolean()),
});
export type CreateResult = v.InferOutput<typeof createOutput>;

const BLANK = { created: false, reusedBranch: false, slot: 0, links: [], setup: { state: "none" } } as const;

export function createText(result: CreateResult, style: Style): string {
  const what = result.dryRun === true ? "would make" : result.created ? "made" : "is there:";
  const lines = [`${what} ${paint(style, "bold", result.path)}\n`];
  lines.push(
    `  branch ${result.branch ?? ""} from ${result.base} ${paint(style, "dim", result.baseSha.slice(0, 12))}${result.reusedBranch ? ", with the commits it has" : ""}\n`,
  );
  if (result.setup.state === "failed") {
    lines.push(
      `  ${paint(style, "red", "set-up failed")}: ${result.setup.command ?? ""} (status ${result.setup.status ?? "?"})\n`,
    );
    if (result.setup.output !== undefined) lines.push(`${result.setup.output.trimEnd().replace(/^/gm, "    ")}\n`);
  } else if (result.setup.state === "running") lines.push("  set-up is running; `dotbot wt status` tells its end\n");
  return lines.join("") + claimLine(result.claim, style);
}

const given = ["task add 'Add a login page'"] as const;

export const create = operation({
  ...onTask,
  name: "wt create",
  summary: "Make a task's worktree: a branch and a checkout of its own",
  details:
    "Starts the task (and claims it for a caller that says who it is), cuts the branch task/<id8>-<slug> from the base, and checks it out beside the repository. A failure leaves no branch, no folder, and the task where it was. Work in the folder that is answered; wt complete brings the branch back as one commit.",
  examples: [{ given, run: "wt create 'Add a login page'", does: "start it in a worktree of its own" }],
  effect: "write",
  idempotent: true,
  input: v.strictObject({
    ...heldFields,
    ...claimTermsFields,
    base: v.optional(
      v.pipe(
        v.string(),
        v.description("The branch to cut it from; otherwise git.base_branch, the remote's default, main or master."),
      ),
    ),
    no_start: flagField("Leave the task's status as it is."),
    ...dryRunField,
  }),
  flags: { ...heldFlags, ...claimFlags, base: { value: "branch" }, no_start: { name: "no-start" } },
  complete: { task_id: "task", base: "branch" },
  output: createOutput,
  async run(call, input) {
    if (input.dry_run !== true) {
      const { started: _, ...made } = await createAndSetUp(call, input);
      return made;
    }
    return await withBench(call, "wt create", async (bench) => {
      const row = await namedTask(call, bench.queue, input.task_id, "start");
      const there = worktreeOf(bench.queue, row.id);
      const plan = await planCreate(bench, row, input.base);
      const echo = await echoAt(call, bench.place.mainRoot, "nothing is done");
      return {
        ...echo,
        ...BLANK,
        links: [],
        setup: { state: "none" as const },
        taskId: row.id,
        task: bench.queue.document(row),
        path: there?.path ?? plan.path,
        branch: plan.branch,
        base: plan.base.branch,
        baseSha: plan.base.sha,
        reusedBranch: plan.reusesBranch,
        dryRun: true,
      };
    });
  },
  text: createText,
  status: (result) => (result.setup.state === "failed" ? 1 : 0),
});

export const adopt = operation({
  target: { rule: "queue" },
  positional: [{ field: "path" }],
  complete: { path: "directory", task_id: "task", base: "branch" },
  name: "wt adopt",
  summary: "Take over a worktree that something else made",
  details:
    "Agents and editors make worktrees of their own. Afterwards it is the task's: listed, completed and removed like one that dotbot made. Its branch and what is in it stay as they are.",
  examples: [
    {
      given: [...given, "task start 'Add a login page'"],
      run: "wt list",
      does: "shows worktrees that belong to no task, which `dotbot wt adopt <path> --task <task>` takes over",
    },
  ],
  effect: "write",
  toolset: "people",
  idempotent: true,
  input: v.strictObject({
    ...wtFields,
    path: v.pipe(v.string(), v.minLength(1), v.description("The worktree's folder.")),
    base: v.optional(
      v.pipe(v.string(), v.description("The branch that its work goes back to; otherwise as for a new one.")),
    ),
  }),
  flags: { task_id: { name: "task", value: "task" }, base: { value: "branch" } },
  output: v.object({ ...echoFields, ...worktreeOutput, links: v.array(v.string()), changed: v.boolean() }),
  async run(call, input) {
    return await withLockedBench(call, "wt adopt", async (bench) => {
      const { row, worktree, changed } = await adoptWorktree(bench, input);
      const echo = await echoAt(call, worktree.path, "the worktree is adopted");
      return { ...echo, ...worktreeFacts(row.id, worktree), links: worktree.links, changed };
    });
  },
  text: (result) =>
    `${result.path} (${result.branch ?? "detached"}) is the worktree of ${result.taskId.slice(0, 8)}${result.changed ? "" : " already"}\n`,
});
