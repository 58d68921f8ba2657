/** A small registry that has one of everything the command line derives: for tests of the derivation, not of any verb. */
import * as v from "valibot";

import { DotbotError } from "../../../lib/error.ts";
import type { ResolveTarget } from "../../../lib/invoke.ts";
import { operation, type AnyOperation, type Call } from "../../../lib/op.ts";
import type { Nouns } from "../../../lib/ops.ts";

const text = (description: string) => v.pipe(v.string(), v.description(description));
const none = { rule: "none", why: "a dummy" } as const;
const anything = v.looseObject({});
const dir = v.optional(text("where to work"));

/** Answers with its own input. */
function echo<const T extends { readonly name: string }>(op: T) {
  return {
    summary: `Say what ${op.name} was given`,
    effect: "write",
    target: none,
    output: anything,
    run: async (_call: unknown, input: object) => ({ ...input }),
    text: (result: object) => `${JSON.stringify(result)}\n`,
    ...op,
  } as const;
}

export const taskAdd = operation(
  echo({
    name: "task add",
    aliases: ["task new"],
    summary: "Put a task into the queue",
    details:
      "Use it for every piece of work that should not be forgotten. The task waits until what it depends on is done.",
    examples: [
      { run: 'task add "Fix the login"', does: "put a task at the end" },
      { run: "task add Deploy --depends-on 1a2b,3c4d --priority 10", does: "one that waits for two others" },
    ],
    input: v.strictObject({
      name: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(60), v.description("what the task is called"))),
      description: v.optional(text("what has to be done")),
      priority: v.optional(
        v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100), v.description("lower is sooner")),
        50,
      ),
      effort: v.optional(v.pipe(v.picklist(["XS", "S", "M", "L", "XL"]), v.description("how much work it is"))),
      dependencies: v.optional(v.pipe(v.array(v.string()), v.description("tasks that must be done before"))),
      acceptance_criteria: v.optional(v.pipe(v.array(v.string()), v.description("what must hold in the end"))),
      skip_analysis: v.optional(v.pipe(v.boolean(), v.description("start without an analysis"))),
      no_commit: v.optional(v.pipe(v.boolean(), v.description("leave the commit to the caller"))),
      analysis: v.optional(v.pipe(v.looseObject({}), v.description("the analysis, as an object"))),
      session_id: v.optional(text("the session of the caller")),
      agent_only: v.optional(text("not for people")),
      dir,
    }),
    positional: [{ field: "name" }],
    flags: {
      description: { short: "d", stdin: true },
      dependencies: { name: "depends-on", value: "<task>…" },
      acceptance_criteria: { name: "criteria", whole: true },
      analysis: { json: true },
      session_id: { name: "session" },
      agent_only: { hidden: true },
    },
    complete: { dependencies: "task" },
  }),
);

const taskList = operation({
  ...echo({ name: "task list" }),
  aliases: ["task ls"],
  summary: "List the tasks",
  examples: [{ run: "task list --status todo", does: "what waits to be done" }],
  effect: "read",
  input: v.strictObject({
    status: v.optional(v.pipe(v.array(v.picklist(["todo", "done", "in-progress"])), v.description("only these"))),
    dir,
  }),
  output: v.looseObject({ tasks: v.array(v.strictObject({ id: v.string(), name: v.string() })) }),
  run: async (_call, input) => ({
    tasks: [
      { id: "1a2b", name: "Fix the login" },
      { id: "007", name: "Tidy up" },
    ],
    ...(input.status === undefined ? {} : { status: input.status }),
  }),
  text: ({ tasks }, style) =>
    tasks.map((task) => `${task.id}  ${task.name}${style.color ? " (in colour)" : ""}\n`).join(""),
  ids: ({ tasks }) => tasks.map((task) => task.id),
});

const taskStart = operation({
  ...echo({ name: "task start" }),
  summary: "Start work on tasks",
  examples: [{ run: "task start 1a2b", does: "start one" }],
  input: v.strictObject({ task_id: text("the task"), dir }),
  batch: "task_id",
  positional: [{ field: "task_id", variadic: true }],
  output: v.looseObject({ task: v.string() }),
  run: async (_call, { task_id }) => {
    if (task_id === "missing") throw new DotbotError("TASK_NOT_FOUND", `no task "${task_id}"`);
    if (task_id === "busy")
      throw new DotbotError("NOT_HOLDER", `"${task_id}" is somebody else's`, { hint: "take another" });
    if (task_id === "broken") throw new TypeError("undefined is not an object");
    return { task: task_id };
  },
  text: ({ task }) => `started ${task}\n`,
});

const taskAsk = operation({
  ...echo({ name: "task ask" }),
  summary: "Ask a person",
  examples: [{ run: 'task ask 1a2b --question "Which?" --option A=this', does: "ask one question" }],
  input: v.strictObject({
    task_id: v.optional(text("the task")),
    questions: v.pipe(
      v.array(v.strictObject({ question: v.string(), options: v.array(v.string()) })),
      v.minLength(1),
      v.description("what to ask"),
    ),
  }),
  positional: [{ field: "task_id" }],
  flags: { questions: { hidden: true } },
  assemble: {
    flags: {
      question: { value: "<text>", description: "a question" },
      option: { value: "<key>=<text>", description: "an answer to choose" },
    },
    build: (typed) => {
      const questions: { question: string; options: string[] }[] = [];
      for (const { flag, value } of typed) {
        if (flag === "question") questions.push({ question: value, options: [] });
        else questions.at(-1)?.options.push(value);
      }
      return { questions };
    },
  },
});

const taskAnswer = operation({
  ...echo({ name: "task answer" }),
  examples: [{ run: "task answer 1a2b A", does: "choose A" }],
  input: v.strictObject({ task_id: v.optional(text("the task")), answer: text("letter or text") }),
  positional: [{ field: "task_id", optional: true }, { field: "answer" }],
});

const guardBranchCreate = operation({
  ...echo({ name: "guard branch create" }),
  summary: "Create a branch",
  examples: [{ run: "guard branch create fix/login", does: "a branch from here" }],
  input: v.strictObject({ name: text("the branch"), from: v.optional(text("where it starts")), dir }),
  positional: [{ field: "name" }],
});

const guardCommit = operation({
  ...echo({ name: "guard commit" }),
  summary: "Commit files",
  examples: [{ run: 'guard commit -m "Fix" a.ts', does: "commit one file" }],
  input: v.strictObject({
    message: text("the commit's message"),
    files: v.optional(v.pipe(v.array(v.string()), v.description("what to commit"))),
    dir,
  }),
  flags: { message: { short: "m" } },
  positional: [{ field: "files", variadic: true, optional: true }],
});

const wtRun = operation({
  ...echo({ name: "wt run" }),
  summary: "Run a command in a worktree",
  examples: [{ run: "wt run 1a2b -- npm test", does: "run its tests" }],
  input: v.strictObject({
    task_id: v.optional(text("the task")),
    command: v.pipe(v.array(v.string()), v.minLength(1), v.description("what to run")),
  }),
  positional: [{ field: "task_id" }, { field: "command", variadic: true, passthrough: true }],
  surfaces: ["cli"],
});

const single = (
  name: string,
  run: (call: Call) => Promise<Record<string, unknown>>,
  print: (result: object) => string = () => "",
) =>
  operation({
    ...echo({ name }),
    examples: [{ run: name, does: "try it" }],
    input: v.strictObject({}),
    run,
    text: print,
  });

const big = single(
  "big",
  async () => ({ text: "x".repeat(1_000_000) }),
  () => `${"0123456789".repeat(100_000)}\n`,
);
const fault = single("fault", async () => {
  throw new TypeError("something is undefined");
});
const no = single(
  "no",
  async () => ({ ok: false, findings: 2 }),
  () => "2 findings\n",
);
const wait = single(
  "wait",
  async ({ signal, note }) => {
    note("waiting");
    await new Promise((resolve) => {
      signal.addEventListener("abort", resolve, { once: true });
    });
    return { written: true };
  },
  () => "written\n",
);
const stdin = single(
  "stdin",
  async ({ readStdin, note }) => {
    note("reading");
    return { text: await readStdin() };
  },
  (result) => `${JSON.stringify(result)}\n`,
);
const confirm = single(
  "confirm",
  async ({ prompt }) => {
    if (prompt === undefined) throw new DotbotError("NEEDS_ANSWER", "remove it?", { hint: "pass --yes" });
    return { sure: await prompt.confirm({ message: "Remove it?" }) };
  },
  (result) => `${JSON.stringify(result)}\n`,
);
const context = single(
  "context",
  async ({ yes, lockWaitMs, style, prompt, note, progress }) => {
    note("a note");
    progress("half way");
    return { yes, lockWaitMs, color: style.color, width: style.width, asks: prompt !== undefined };
  },
  (result) => `${JSON.stringify(result)}\n`,
);

export const TASK: readonly AnyOperation[] = [taskAdd, taskList, taskStart, taskAsk, taskAnswer];

const noun = (operations: readonly AnyOperation[], extra: Partial<Nouns[string]> = {}): Nouns[string] => ({
  summary: operations[0]?.summary ?? "",
  example: operations[0]?.examples[0] ?? { run: "help", does: "show help" },
  load: async () => operations,
  ...extra,
});

export const DUMMIES: Nouns = {
  task: noun(TASK, { summary: "The queue: add, list, start", bare: "task list" }),
  wt: noun([wtRun], { summary: "Worktrees, one per task", aliases: ["worktree"] }),
  guard: noun([guardBranchCreate, guardCommit], { summary: "Changes that can't hit a foreign repository" }),
  big: noun([big], { minor: true }),
  fault: noun([fault], { minor: true }),
  no: noun([no], { minor: true }),
  wait: noun([wait], { minor: true }),
  stdin: noun([stdin], { minor: true }),
  confirm: noun([confirm], { minor: true }),
  context: noun([context], { minor: true }),
};

/** Dummies touch no repository. */
export const NO_TARGET: ResolveTarget = async () => {
  const target: Awaited<ReturnType<ResolveTarget>> = Object.create(null);
  return target;
};
