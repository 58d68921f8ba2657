/** `wt hook create` and `wt hook remove`: what agents run that make their own worktrees. */
import * as v from "valibot";

import { operation } from "../../op.ts";
import { hookCreate } from "../hook-create.ts";
import { hookRemove } from "../hook-remove.ts";
import { setupOutput } from "./shapes.ts";

const dir = v.optional(
  v.pipe(v.string(), v.description("Any folder of the repository that is meant, in place of the hook's cwd.")),
);

const onHook = {
  effect: "write",
  idempotent: true,
  surfaces: ["cli"],
  input: v.strictObject({ dir }),
} as const;

const createdShape = v.object({
  path: v.pipe(v.string(), v.description("The worktree's folder, absolute.")),
  branch: v.pipe(v.nullable(v.string()), v.description("null: its HEAD is detached.")),
  created: v.pipe(v.boolean(), v.description("false: it was there already.")),
  taskId: v.pipe(v.nullable(v.string()), v.description("null: it is no task's; `wt adopt` makes it one's.")),
  setup: setupOutput,
});
export type HookCreated = v.InferOutput<typeof createdShape>;

export const hookCreateOperation = operation({
  ...onHook,
  name: "wt hook create",
  summary: "Make the worktree that an agent's hook asks for, and print its path",
  details:
    "Reads the hook's JSON from stdin: name, cwd, session_id. A name that is a task's (its id, name, or the name with dashes) gets that task's worktree, started and claimed for the session; refused while somebody else holds it. Any other name gets a worktree of no task, on the branch worktree-<name> from the base; in a repository without a queue where agents make theirs, below .claude/worktrees of the main checkout, or, where the repository is bare, beside it in worktrees/. The same name gets the same path again. Waits up to nine minutes for its turn, unless --lock-wait or the setting lock.wait says otherwise. stdout is the path alone; everything else, and why there is none, is on stderr.",
  examples: [
    {
      given: ["task add 'Add a login page'"],
      run: `wt hook create <<< '{"name": "add-a-login-page"}'`,
      does: "as a WorktreeCreate hook",
    },
  ],
  target: {
    rule: "none",
    why: "the hook's JSON says in which folder the agent works, and it makes a worktree of that folder's repository",
  },
  output: createdShape,
  run: async (call, input) => await hookCreate(call, input.dir),
  text: (result) => `${result.path}\n`,
});

const removedShape = v.object({
  path: v.string(),
  removed: v.pipe(v.boolean(), v.description("false: there was nothing there any more.")),
  taskId: v.nullable(v.string()),
  branchDeleted: v.boolean(),
  trash: v.pipe(v.nullable(v.string()), v.description("Where it is kept for seven days.")),
});
export type HookRemoved = v.InferOutput<typeof removedShape>;

export const hookRemoveOperation = operation({
  ...onHook,
  name: "wt hook remove",
  summary: "Take the worktree away that an agent has done with, losing nothing",
  details:
    "Reads the hook's JSON from stdin: worktree_path, cwd, session_id. A task's worktree goes as by wt remove, without any force, and the session's claim ends; another goes when all in it is committed, and its branch worktree-<name> when that is merged. What would be lost stays, with the reason on stderr and a status other than 0; what goes is in the trash for seven days. A path where nothing is any more is no failure. cwd has to be in the worktree, where it may be gone already, or elsewhere in its repository or that one's submodules; --dir stands in for it. Other repositories' worktrees and main checkouts are never touched. Waits as wt hook create does.",
  examples: [
    {
      run: `wt hook remove <<< '{"worktree_path": "/tmp/gone"}'`,
      does: "as a WorktreeRemove hook",
    },
  ],
  target: {
    rule: "none",
    why: "the hook's JSON names the worktree, and it is taken away only where the agent works in the same repository",
  },
  output: removedShape,
  run: async (call, input) => await hookRemove(call, input.dir),
  text: () => "",
});
