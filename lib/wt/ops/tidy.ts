/** `wt prune` and `wt repair`. */
import * as v from "valibot";

import { duration, parseDuration } from "../../duration.ts";
import { operation } from "../../op.ts";
import { dirField, namedTask } from "../../task/ops/common.ts";
import { paint } from "../../text.ts";
import { locked, withBench, withLockedBench } from "../bench.ts";
import { orphans, prune as pruneAll } from "../prune.ts";
import { repair as repairAll } from "../repair.ts";
import { echoFields, echoHere, onTask, plural, wtFields } from "./shapes.ts";

const orphanShape = v.object({ kind: v.string(), what: v.string(), why: v.string(), keeps: v.nullable(v.string()) });

export const prune = operation({
  target: { rule: "queue" },
  name: "wt prune",
  summary: "List what is left of worktrees that nobody needs, and remove it with --yes",
  details:
    "Folders without a task, tasks whose folder is gone, registrations without a folder, task branches without a worktree, leftovers of a kill, an old trash; with older_than also kept refs of that age. What has work that is nowhere else stays, and says why. Refuses when more than half of the worktrees would go, or their parent folder isn't there.",
  examples: [{ run: "wt prune", does: "what could go" }],
  effect: "destroy",
  toolset: "people",
  idempotent: true,
  input: v.strictObject({
    ...dirField,
    older_than: v.optional(duration("Also kept refs (refs/dotbot/done and lost) whose commit is older than this.")),
    confirm: v.optional(v.pipe(v.boolean(), v.description("Remove what is listed as removable."))),
  }),
  flags: { older_than: { value: "duration" }, confirm: { hidden: true } },
  output: v.object({ ...echoFields, orphans: v.array(orphanShape), removed: v.array(orphanShape) }),
  async run(call, input) {
    const olderThan = input.older_than === undefined ? null : (parseDuration(input.older_than) ?? null);
    return await withBench(call, "wt prune", async (bench) => {
      const act = input.confirm === true || call.yes;
      const work = async () => {
        const found = await orphans(bench, olderThan);
        const removed = act ? await pruneAll(bench, found) : [];
        const gone = new Set(removed.map((it) => `${it.kind} ${it.what}`));
        const left = found
          .filter((it) => !gone.has(`${it.kind} ${it.what}`))
          .map(({ kind, what, why, keeps }) => ({ kind, what, why, keeps }));
        return { orphans: left, removed: removed.map((it) => ({ ...it })) };
      };
      const result = act ? await locked(bench, "wt prune", work) : await work();
      return { ...(await echoHere(bench, null, "pruned")), ...result };
    });
  },
  text(result, style) {
    if (result.orphans.length + result.removed.length === 0) return "nothing to prune\n";
    const lines = result.removed.map((it) => `removed ${it.what}: ${it.why}\n`);
    for (const it of result.orphans)
      lines.push(`${it.what}: ${it.why}${it.keeps === null ? "" : paint(style, "dim", ` (stays: ${it.keeps})`)}\n`);
    const may = result.orphans.filter((it) => it.keeps === null).length;
    if (may > 0) lines.push(`\n${plural(may, "thing")} would go: dotbot wt prune --yes\n`);
    return lines.join("");
  },
});

const repairedShape = v.object({
  taskId: v.string(),
  path: v.string(),
  mended: v.array(v.string()),
  problem: v.nullable(v.string()),
});

export const repair = operation({
  ...onTask,
  name: "wt repair",
  summary: "Mend worktrees after a move: registration, lock, links, record",
  details:
    "For one task, or for all. After the main checkout was moved, run it there. Where a worktree was moved itself, say where to with path.",
  examples: [
    {
      given: ["task add 'Add a login page'", "wt create 'Add a login page'"],
      run: "wt repair",
      does: "check them all, and mend what can be",
    },
  ],
  effect: "write",
  toolset: "people",
  idempotent: true,
  input: v.strictObject({
    ...wtFields,
    path: v.optional(v.pipe(v.string(), v.minLength(1), v.description("Where the task's worktree is now."))),
  }),
  complete: { task_id: "task", path: "directory" },
  flags: { path: { value: "folder" } },
  output: v.object({ ...echoFields, worktrees: v.array(repairedShape), ok: v.boolean() }),
  async run(call, input) {
    return await withLockedBench(call, "wt repair", async (bench) => {
      const row =
        input.task_id === undefined && input.path === undefined
          ? null
          : await namedTask(call, bench.queue, input.task_id, "show");
      const repaired = await repairAll(bench, row?.id ?? null, input.path);
      const worktrees = repaired.map((it) => ({ ...it, mended: [...it.mended] }));
      return {
        ...(await echoHere(bench, null, "repaired")),
        worktrees,
        ok: worktrees.every((it) => it.problem === null),
      };
    });
  },
  text(result, style) {
    if (result.worktrees.length === 0) return "no worktrees\n";
    return result.worktrees
      .map(
        (it) =>
          `${it.taskId.slice(0, 8)}  ${it.path}: ${it.problem === null ? (it.mended.length === 0 ? "sound" : `mended ${it.mended.join(", ")}`) : paint(style, "red", it.problem)}\n`,
      )
      .join("");
  },
});
