/** The whole of `wt create`, from its arguments to its answer: `task start --worktree` and `wt run` come here as well. */
import type { Call } from "../op.ts";
import type { TaskRow } from "../task/ledger.ts";
import { namedTask } from "../task/ops/common.ts";
import type { Moved } from "../task/ops/move.ts";
import { withBench, withLockedBench } from "./bench.ts";
import { createWorktree, type CreateInput, type Created } from "./create.ts";
import type { Setup } from "./model.ts";
import type { CreateResult } from "./ops/create.ts";
import { echoAt, shownSetup, worktreeFacts } from "./ops/shapes.ts";
import { setUpAfterCreate } from "./setup.ts";

/**
 * Makes a task's worktree and sets it up: what `wt create`, `task start --worktree` and `wt run` share. The set-up runs without
 * the lock; over MCP it goes on after the answer.
 */
export async function createAndSetUp(
  call: Call,
  input: CreateInput,
): Promise<CreateResult & { started: Moved | null }> {
  const made = await withLockedBench(call, "wt create", async (bench) => {
    const row = await namedTask(call, bench.queue, input.task_id, "start");
    const created = await createWorktree(bench, row, input);
    return { row, created, commands: bench.settings.worktree.post_create.length > 0 };
  });
  if (call.surface === "mcp") {
    const wait = withBench(call, "wt create", async (bench) => await setUpAfterCreate(bench, made.row.id));
    if (made.created.worktree.setup.state !== "pending" || !made.commands)
      return await resultOf(call, made.row, made.created, await wait);
    wait.catch((error: unknown) => call.note(`setting up ${made.created.worktree.path} failed: ${String(error)}`));
    return await resultOf(call, made.row, made.created, { state: "running" });
  }
  const setup = await withBench(call, "wt create", async (bench) => await setUpAfterCreate(bench, made.row.id));
  return await resultOf(call, made.row, made.created, setup);
}

async function resultOf(
  call: Call,
  row: TaskRow,
  { worktree, created, reusedBranch, started }: Created,
  setup: Setup,
): Promise<CreateResult & { started: Moved | null }> {
  const echo = await echoAt(call, worktree.path, "the worktree is made");
  return await withBench(call, "wt create", async ({ queue }) => ({
    ...echo,
    ...worktreeFacts(row.id, worktree),
    task: queue.document(row),
    created,
    reusedBranch: created && reusedBranch,
    slot: worktree.slot,
    links: worktree.links,
    setup: shownSetup(setup),
    ...statusOf(started),
    started,
  }));
}

function statusOf(started: Moved | null): Pick<CreateResult, "oldStatus" | "newStatus" | "claim"> {
  if (started === null) return {};
  return {
    oldStatus: started.oldStatus,
    newStatus: started.newStatus,
    ...(started.claim === undefined ? {} : { claim: started.claim }),
  };
}
