/** `wt run`. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { operation } from "../../op.ts";
import { runNext, runOne } from "../run.ts";
import { flagField, heldFields, heldFlags } from "./shapes.ts";

const ranShape = v.object({
  taskId: v.string(),
  name: v.string(),
  path: v.nullable(v.string()),
  exitStatus: v.nullable(v.number()),
  outcome: v.picklist(["ran", "completed", "done", "needs-input", "failed", "left"]),
  commit: v.nullable(v.string()),
  why: v.nullable(v.string()),
  tail: v.nullable(v.string()),
});

export const run = operation({
  target: { rule: "queue" },
  positional: [
    { field: "task_id", optional: true },
    { field: "command", passthrough: true },
  ],
  complete: { task_id: "task", base: "branch" },
  name: "wt run",
  surfaces: ["cli"],
  summary: "Run a command in a task's worktree, or in one after the other of the queue",
  details:
    "Starts and claims the task, makes its worktree, runs the command there with DOTBOT_TASK_ID, DOTBOT_SESSION, DOTBOT_SLOT and DOTBOT_CLAIM set, passes signals on, and ends with its status. With next it takes the queue's next task: completed when the command succeeds and verification passes, else handed to needs-input or failed with the end of its output. With loop until there is none, slots at a time.",
  examples: [
    {
      given: ["task add 'Add a login page'"],
      run: "wt run 'Add a login page' -- git status --short",
      does: "run a command in its worktree",
    },
    { run: "wt run --next --loop --slots 2 -- true", does: "work the queue off, two tasks at a time" },
  ],
  effect: "write",
  input: v.strictObject({
    ...heldFields,
    command: v.optional(v.pipe(v.array(v.string()), v.description("The program and its arguments."))),
    base: v.optional(v.pipe(v.string(), v.description("The branch to cut a new worktree from."))),
    next: flagField("Take the queue's next task."),
    loop: flagField("Go on until there is none."),
    slots: v.optional(
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(64), v.description("How many at a time.")),
    ),
    prefer: v.optional(
      v.pipe(v.picklist(["analysed", "todo"]), v.description("Which tasks come first; analysed ones by default.")),
    ),
  }),
  flags: { ...heldFlags, base: { value: "branch" }, slots: { value: "n" } },
  output: v.object({ runs: v.array(ranShape), total: v.number(), exitStatus: v.number() }),
  async run(call, input) {
    const { command = [], next, loop, slots, prefer, ...rest } = input;
    if (command.length === 0 || command[0] === "") {
      throw new DotbotError("USAGE", "which command? It comes behind --", {
        example: `dotbot wt run ${input.task_id ?? "--next"} -- npm test`,
      });
    }
    if (next !== true) {
      if (loop === true || slots !== undefined || prefer !== undefined) {
        throw new DotbotError("USAGE", "--loop, --slots and --prefer go with --next", {
          example: `dotbot wt run --next${loop === true ? " --loop" : ""} -- ${command.join(" ")}`,
        });
      }
      const ran = await runOne(call, rest, command);
      return { runs: [{ ...ran }], total: 1, exitStatus: ran.exitStatus ?? 0 };
    }
    if (input.task_id !== undefined)
      throw new DotbotError("USAGE", "run takes a task or --next, not both", {
        example: `dotbot wt run --next -- ${command.join(" ")}`,
      });
    const runs = await runNext(
      call,
      { loop: loop === true, slots: slots ?? 1, owner: input.owner, session_id: input.session_id, prefer },
      command,
    );
    const well = runs.every((it) => it.outcome === "completed" || it.outcome === "left");
    return { runs: runs.map((it) => ({ ...it })), total: runs.length, exitStatus: runs.length > 0 && well ? 0 : 1 };
  },
  text(result) {
    if (result.runs.length === 0) return "nothing to pick\n";
    // One command has said what it had to say itself.
    return result.runs
      .filter((it) => it.outcome !== "ran")
      .map(
        (it) =>
          `${it.taskId.slice(0, 8)}  ${it.name}: ${it.outcome}${it.commit === null ? "" : ` as ${it.commit.slice(0, 12)}`}\n`,
      )
      .join("");
  },
  // The status of the command, whatever it is: it is passed on as it came.
  status: (result) => result.exitStatus,
});
