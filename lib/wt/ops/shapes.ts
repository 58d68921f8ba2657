/** Fields and shapes that verbs on worktrees share. */
import * as v from "valibot";

import { echoFields, echoOf, type Echo } from "../../git/echo.ts";
import { resolveRepo } from "../../git/repo.ts";
import type { Call } from "../../op.ts";
import { dirField, holderFields, holderFlags, provenanceFlags, taskField } from "../../task/ops/common.ts";
import { provenanceFields } from "../../task/provenance.ts";
import type { Bench } from "../bench.ts";
import type { Setup, TaskWorktree } from "../model.ts";

export const wtFields = { ...taskField, ...dirField };
/** Fields of verbs that also move the task or act on a claimed one. */
export const heldFields = { ...wtFields, ...provenanceFields, ...holderFields };
export const heldFlags = { ...provenanceFlags, ...holderFlags };

export const onTask = {
  target: { rule: "queue" },
  positional: [{ field: "task_id", optional: true }],
  complete: { task_id: "task" },
} as const;

export const flagField = (description: string) => v.optional(v.pipe(v.boolean(), v.description(description)));
export const dryRunField = { dry_run: flagField("Say what would be done, and do nothing.") };
export const fetchField = { fetch: flagField("Fast-forward the base to what its remote has, first.") };

export const setupOutput = v.object({
  state: v.picklist(["none", "pending", "running", "done", "failed"]),
  command: v.optional(v.string()),
  status: v.optional(v.number()),
  output: v.optional(v.string()),
});
export type ShownSetup = v.InferOutput<typeof setupOutput>;

export function shownSetup({ state, command, status, output }: Setup): ShownSetup {
  return {
    state,
    ...(command === undefined ? {} : { command }),
    ...(status === undefined ? {} : { status }),
    ...(output === undefined ? {} : { output }),
  };
}

export const worktreeOutput = {
  taskId: v.string(),
  path: v.pipe(v.string(), v.description("The worktree's folder.")),
  base: v.pipe(v.string(), v.description("The branch that it was cut from, and that its work goes back to.")),
  baseSha: v.pipe(v.string(), v.description("The commit that it was cut from.")),
};

export { echoFields };

/** Read back from git in the checkout at `path`. */
export async function echoAt(call: Call, path: string, done: string): Promise<Echo> {
  return await echoOf(call, await resolveRepo(call, path), done);
}

/** What is read back where the changed checkout may be gone: the base's, or the main one. */
export async function echoHere(bench: Bench, checkout: string | null, done: string): Promise<Echo> {
  return await echoAt(bench.call, checkout ?? bench.place.mainRoot, done);
}

export function worktreeFacts(
  taskId: string,
  worktree: TaskWorktree,
): { taskId: string; path: string; base: string; baseSha: string } {
  return { taskId, path: worktree.path, base: worktree.base, baseSha: worktree.baseSha };
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}
