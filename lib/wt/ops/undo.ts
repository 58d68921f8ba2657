/** `wt undo` and `wt sync`. */
import * as v from "valibot";

import { checkoutOf } from "../../git/land.ts";
import { operation } from "../../op.ts";
import { guardClaim, holderOf, namedTask } from "../../task/ops/common.ts";
import { locked, withBench } from "../bench.ts";
import { syncTask } from "../sync.ts";
import { undoTask } from "../undo.ts";
import {
  dryRunField,
  echoFields,
  echoHere,
  fetchField,
  flagField,
  heldFields,
  heldFlags,
  onTask,
  plural,
  wtFields,
} from "./shapes.ts";

const given = ["task add 'Add a login page'"] as const;

export const undo = operation({
  ...onTask,
  name: "wt undo",
  summary: "Take a completion back with a new commit",
  details:
    "Merges the inverse of the commit that landed onto today's base, as one new commit; the base never moves back. The branch returns as it was, with worktree also its checkout, with reset the task goes back to todo.",
  examples: [
    {
      given: [
        ...given,
        "wt create 'Add a login page'",
        "wt run 'Add a login page' -- sh -c 'echo hello > login.txt; git add login.txt; git commit --quiet -m Login'",
        "task done 'Add a login page'",
        "wt complete 'Add a login page'",
      ],
      run: "wt undo 'Add a login page' --dry-run",
      does: "what undoing it would change",
    },
  ],
  effect: "write",
  toolset: "people",
  idempotent: true,
  input: v.strictObject({
    ...wtFields,
    worktree: flagField("Make the task's checkout again."),
    reset: flagField("Put the task back to todo."),
    ...fetchField,
    ...dryRunField,
  }),
  output: v.object({
    ...echoFields,
    taskId: v.string(),
    changed: v.boolean(),
    base: v.string(),
    taskBranch: v.string(),
    tip: v.nullable(v.string()),
    reverted: v.string(),
    commit: v.nullable(v.string()),
    files: v.array(v.string()),
    worktree: v.nullable(v.string()),
    hooksNotRun: v.array(v.string()),
    dryRun: v.optional(v.boolean()),
  }),
  async run(call, input) {
    return await withBench(call, "wt undo", async (bench) => {
      const row = await namedTask(call, bench.queue, input.task_id, "show");
      const work = async () => await undoTask(bench, row, input);
      const undone = input.dry_run === true ? await work() : await locked(bench, `wt undo ${row.id8}`, work);
      const checkout = await checkoutOf(call, bench.place, undone.base).catch(() => null);
      const echo = await echoHere(bench, checkout, "the completion is undone");
      const { branch, files, hooksNotRun, ...rest } = undone;
      return {
        ...echo,
        ...rest,
        taskId: row.id,
        taskBranch: branch,
        files: [...files],
        hooksNotRun: [...hooksNotRun],
        ...(input.dry_run === true ? { dryRun: true } : {}),
      };
    });
  },
  text(result) {
    const id = result.taskId.slice(0, 8);
    if (result.dryRun === true)
      return `${id}: undoing ${result.reverted.slice(0, 12)} would change ${plural(result.files.length, "file")} on ${result.base}\n`;
    if (!result.changed) return `${id}: ${result.reverted.slice(0, 12)} is undone already\n`;
    const commit = result.commit === null ? "nothing of it was left there" : `as ${result.commit.slice(0, 12)}`;
    return `${id}: ${result.reverted.slice(0, 12)} is undone on ${result.base}, ${commit}\n  the branch ${result.taskBranch} is back${result.worktree === null ? "" : `, in ${result.worktree}`}\n`;
  },
});

export const sync = operation({
  ...onTask,
  name: "wt sync",
  summary: "Bring the base into a task's branch",
  details:
    "Merges the base into the branch in the task's worktree, or rebases the branch onto it. The queue's files stay the base's. Conflicts stay in the worktree to be resolved; abort takes it back.",
  examples: [
    {
      given: [...given, "wt create 'Add a login page'"],
      run: "wt sync 'Add a login page'",
      does: "the branch has what the base has",
    },
  ],
  effect: "write",
  session: "optional",
  toolset: "people",
  idempotent: true,
  input: v.strictObject({
    ...heldFields,
    rebase: flagField("Rebase the branch onto the base instead of merging."),
    abort: flagField("Take back a sync that stopped at conflicts."),
    ...fetchField,
    ...dryRunField,
  }),
  flags: heldFlags,
  output: v.object({
    ...echoFields,
    taskId: v.string(),
    path: v.string(),
    base: v.string(),
    outcome: v.picklist(["synced", "up-to-date", "conflict", "aborted", "planned"]),
    old: v.string(),
    commit: v.string(),
    conflicts: v.array(v.string()),
    ok: v.boolean(),
  }),
  async run(call, input) {
    return await withBench(call, "wt sync", async (bench) => {
      const row = await namedTask(call, bench.queue, input.task_id, "show");
      const work = async () => {
        if (input.dry_run !== true) {
          await bench.queue.write(`wt sync ${row.id8}`, (tx) =>
            guardClaim(call, tx, tx.row(row.id), holderOf(call, input), input.steal, "start"),
          );
        }
        return await syncTask(bench, row, input);
      };
      const synced = input.dry_run === true ? await work() : await locked(bench, `wt sync ${row.id8}`, work);
      const echo = await echoHere(bench, synced.path, "the branch is synced");
      return {
        ...echo,
        ...synced,
        conflicts: [...synced.conflicts],
        taskId: row.id,
        ok: synced.outcome !== "conflict",
      };
    });
  },
  text(result) {
    const id = result.taskId.slice(0, 8);
    if (result.outcome === "up-to-date") return `${id}: ${result.base} is all in it\n`;
    if (result.outcome === "planned")
      return `${id}: would bring ${result.base} in${result.conflicts.length === 0 ? "" : `, with conflicts in ${result.conflicts.join(", ")}`}\n`;
    if (result.outcome === "aborted") return `${id}: taken back to ${result.commit.slice(0, 12)}\n`;
    if (result.outcome === "conflict") {
      return `${id}: conflicts in ${result.path}:\n${result.conflicts.map((file) => `  ${file}\n`).join("")}resolve and commit them there, or take it back with \`dotbot wt sync ${id} --abort\`\n`;
    }
    return `${id}: ${result.base} is in it now, at ${result.commit.slice(0, 12)}\n`;
  },
});
