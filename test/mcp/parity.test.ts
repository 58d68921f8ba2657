/**
 * Every operation twice, on twin repositories: through the command line with --json in one, through its tool in the other. The
 * answers are the same, and so is what is in the repositories afterwards; ids that were drawn, times, shas and paths aside.
 */
import { expect, test } from "bun:test";

import { catalogue } from "../../cmd/mcp/tools.ts";
import { flagsOf } from "../../cmd/flags.ts";
import type { AnyOperation } from "../../lib/op.ts";
import { toolName } from "../../lib/op.ts";
import { allOperations } from "../../lib/ops.ts";
import { makeRepo, run, write } from "../kit/git.ts";
import { fileTree, plainSeeds, taskId, taskId8 } from "../kit/tasks.ts";
import { makeWorld, type World } from "../kit/world.ts";
import { openSession, type Message, type Session } from "./kit.ts";

type Args = Readonly<Record<string, unknown>>;

interface Step {
  readonly op: string;
  readonly args?: Args;
  /** Its words on the command line, where they aren't the fields' flags. */
  readonly cli?: readonly string[];
  /** The code that both fail with. */
  readonly fails?: string;
  /** What happens in the world before it. */
  readonly before?: (world: World) => void | Promise<void>;
}

const who = { session_id: "s" };
const task = (n: number, more: Args = {}): Args => ({ task_id: taskId8(n), ...who, ...more });
const only = (n: number, more: Args = {}): Args => ({ task_id: taskId8(n), ...more });
/** Replaced by each world's own. */
const MAIN = "<MAIN>";
const TREE = "<TREE>";

const STEPS: readonly Step[] = [
  {
    op: "task add",
    args: {
      name: "Paint it",
      description: "Two\nlines",
      priority: 10,
      tags: ["x", "y"],
      fields: { own: { deep: [1, 2] } },
      ...who,
    },
  },
  { op: "task add", args: { name: "Broken", dependencies: ["nowhere"], ...who }, fails: "TASK_NOT_FOUND" },
  { op: "task add-bulk", args: { tasks: [{ name: "First" }, { name: "Second", dependencies: ["First"] }], ...who } },
  { op: "task list", args: { status: ["todo", "done"], limit: 4 } },
  { op: "task show", args: only(1) },
  { op: "task show", args: { task_id: "nope" }, fails: "TASK_NOT_FOUND" },
  { op: "task context", args: only(1) },
  { op: "task edit", args: task(1, { priority: 7, name: "Task one" }) },
  { op: "task next", args: {} },
  { op: "task claim", args: task(1, { owner: "ada" }) },
  { op: "task start", args: { task_id: taskId8(1), session_id: "another" }, fails: "NOT_HOLDER" },
  { op: "task heartbeat", args: task(1, { owner: "ada" }) },
  { op: "task release", args: task(1, { owner: "ada" }) },
  { op: "task analysing", args: task(2) },
  { op: "task analysed", args: task(2, { analysis: { approach: "one form" } }) },
  { op: "task start", args: task(1) },
  {
    op: "task ask",
    args: task(1, {
      questions: [
        {
          question: "Which?",
          options: [
            { key: "A", label: "this" },
            { key: "B", label: "that" },
          ],
        },
      ],
    }),
    cli: [taskId8(1), "--session", "s", "--question", "Which?", "--option", "A=this", "--option", "B=that"],
  },
  { op: "task answer", args: task(1, { answer: "B" }) },
  { op: "task start", args: task(1) },
  { op: "task review", args: task(1, { reason: "look" }) },
  { op: "task analysing", args: task(1), fails: "ILLEGAL_TRANSITION" },
  { op: "task start", args: task(3) },
  { op: "task fail", args: task(3, { reason: "no" }) },
  { op: "task reset", args: task(3) },
  { op: "task skip", args: task(4, { skip_reason: "superseded", skip_detail: "by another" }) },
  { op: "task cancel", args: task(5) },
  { op: "task start", args: task(6) },
  {
    op: "task ask",
    args: task(6, { split_proposal: { reason: "big", sub_tasks: [{ name: "Left" }, { name: "Right" }] } }),
  },
  { op: "task split", args: task(6, { approved: true }), cli: [taskId8(6), "--session", "s", "--approve"] },
  { op: "task stats" },
  { op: "task graph" },
  { op: "task history", args: only(1) },
  { op: "task restore", args: task(2, { revision: 1 }) },
  { op: "task remove", args: task(7) },
  { op: "task archive", args: { tasks: [taskId8(5)] } },
  { op: "task resolve", args: task(2) },
  { op: "task save" },
  { op: "task load" },
  { op: "wt create", args: task(8) },
  { op: "wt list" },
  { op: "wt status", args: only(8) },
  { op: "wt path", args: only(8) },
  { op: "wt log", args: only(8) },
  { op: "wt adopt", args: { path: MAIN }, fails: "REFUSED" },
  {
    op: "guard add",
    args: { files: ["new.txt"], dir: TREE },
    before: (world) => write(treeOf(world), { "new.txt": "new\n" }),
  },
  { op: "guard scan", args: { dir: TREE } },
  { op: "guard commit", args: { files: ["new.txt"], message: "Add new", dir: TREE } },
  { op: "wt diff", args: only(8) },
  { op: "wt sync", args: task(8) },
  { op: "guard identity", args: { dir: TREE } },
  { op: "guard check", args: { op: "push", dir: TREE } },
  { op: "guard branch create", args: { name: "side", dir: MAIN, no_switch: true } },
  { op: "guard branch delete", args: { name: "side", dir: MAIN } },
  { op: "guard push", args: { branch: "main", dir: MAIN } },
  { op: "guard pull", args: { dir: MAIN } },
  { op: "guard checkout", args: { ref: "main", dir: MAIN } },
  { op: "guard finish", args: { branch: "nope", dir: MAIN }, fails: "NOT_FOUND" },
  { op: "task start", args: task(8) },
  { op: "task done", args: task(8) },
  { op: "wt complete", args: only(8) },
  { op: "wt undo", args: only(8) },
  { op: "wt repair" },
  { op: "wt remove", args: task(8, { force_unmerged: true }) },
  { op: "wt prune" },
  { op: "doctor" },
  { op: "doctor fix", cli: ["--fix"] },
];

function treeOf(world: World): string {
  return world.path("worktrees", "main", `task-${taskId8(8)}-task-8`);
}

const OPERATIONS = await allOperations();
const TOOLS = catalogue(OPERATIONS, true);

function operation(name: string): AnyOperation {
  const op = OPERATIONS.find((it) => it.name === name);
  if (op === undefined) throw new Error(`there is no ${name}`);
  return op;
}

/** The words by which the command line gives an operation its fields. */
function words(op: AnyOperation, args: Args): string[] {
  const placed = new Set((op.positional ?? []).map((place) => place.field));
  const positional = (op.positional ?? []).flatMap(({ field }) =>
    args[field] === undefined ? [] : [args[field]].flat(),
  );
  const flags = Object.entries(args).flatMap(([field, value]) => {
    if (placed.has(field)) return [];
    if (field === "dir") return [`--dir=${String(value)}`];
    const flag = flagsOf(op).find((it) => it.field?.name === field);
    if (flag === undefined) throw new Error(`${op.name}: the command line has no flag for ${field}`);
    if (flag.boolean) return [`--${flag.name}=${String(value !== flag.inverted)}`];
    if (typeof value === "object" && !Array.isArray(value)) return [`--${flag.name}=${JSON.stringify(value)}`];
    return [value].flat().map((one) => `--${flag.name}=${word(one)}`);
  });
  // A list of objects is one word.
  return [
    ...flags,
    ...(positional.some((one) => typeof one === "object") ? [JSON.stringify(positional)] : positional.map(word)),
  ];
}

function word(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function placed(args: Args, world: World): Args {
  return JSON.parse(JSON.stringify(args).replaceAll(MAIN, world.main).replaceAll(TREE, treeOf(world))) as Args;
}

interface Outcome {
  readonly code?: string;
  readonly answer?: unknown;
}

async function byCommand(world: World, step: Step): Promise<Outcome> {
  const op = operation(step.op);
  const name = step.op === "doctor fix" ? ["doctor"] : step.op.split(" ");
  const { stdout, stderr, status } = await world.dotbot([
    ...name,
    ...(step.cli ?? words(op, placed(step.args ?? {}, world))),
    "--json",
    "--yes",
  ]);
  if (stdout === "") throw new Error(`${step.op}: status ${status}\n${stderr}`);
  const answer = JSON.parse(stdout) as { readonly error?: { readonly code: string } };
  return answer.error === undefined ? { answer } : { code: answer.error.code, answer: stdout };
}

async function byTool(world: World, session: Session, step: Step): Promise<Outcome> {
  const result = await session.call(toolName(operation(step.op)), placed(step.args ?? {}, world));
  if (result["error"] !== undefined) throw new Error(`${step.op}: ${JSON.stringify(result)}`);
  if (result["isError"] !== true) return { answer: result["structuredContent"] };
  const facts = (result["_meta"] as Message)["dotbot/error"] as { readonly code: string };
  return { code: facts.code, answer: JSON.stringify(result["content"]) };
}

/** What may differ between twins, by a word of its own. */
function normalised(value: unknown, world: World): unknown {
  if (typeof value === "string") return normalText(value, world);
  // Tasks made in one second are in the order of their ids, which are drawn.
  if (Array.isArray(value))
    return value
      .map((item) => normalised(item, world))
      .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      normalText(key, world),
      /^(?:ms|durationMs|seconds|pid)$/.test(key) ? 0 : normalised(member, world),
    ]),
  );
}

function normalText(text: string, world: World): string {
  return text
    .replaceAll(world.root, "ROOT")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "TIME")
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, (id) =>
      known.has(id) ? id : "ID",
    )
    .replaceAll(/(?<![0-9a-f])[0-9a-f]{7,40}(?![0-9a-f])/g, (hex) => (known.has(hex) ? hex : "HEX"));
}

const known = new Set(Array.from({ length: 8 }, (_, i) => [taskId(i + 1), taskId8(i + 1)]).flat());

/** Everything that an operation could have changed: refs by name, the checkout, the queue's files. */
async function stateOf(world: World): Promise<unknown> {
  const refs = (await world.git("for-each-ref", "--format=%(refname) %(tree) %(contents:subject)")).split("\n");
  const status = (await world.git("status", "--porcelain")).split("\n");
  const tasks = [...fileTree(world.tasks)].map((file) => file.map((text) => normalText(text, world)).join("\n"));
  return { refs: normalised(refs, world), status, tasks: tasks.toSorted() };
}

async function twin(): Promise<World> {
  const world = await makeWorld({ seeds: plainSeeds(8) });
  await makeRepo(world.path("remote"), { files: {}, init: ["--bare"] });
  await run(world.main, "remote", "add", "origin", world.path("remote"));
  await run(world.main, "push", "-q", "-u", "origin", "main");
  return world;
}

test("every operation has its step", () => {
  const taken = new Set(STEPS.map((step) => step.op));
  expect([...TOOLS.values()].map((tool) => tool.op.name).filter((name) => !taken.has(name))).toEqual([]);
});

test("command line and tools do and answer the same", async () => {
  await using commands = await twin();
  await using tools = await twin();
  await using session = await openSession({ cwd: tools.main, args: ["--toolsets", "all"] });
  await session.handshake();
  for (const step of STEPS) {
    await step.before?.(commands);
    await step.before?.(tools);
    const command = await byCommand(commands, step);
    const tool = await byTool(tools, session, step);
    const said = `${step.op}: ${JSON.stringify(command.answer)}\n${JSON.stringify(tool.answer)}`;
    expect([step.op, command.code, command.code === step.fails ? "" : said]).toEqual([step.op, step.fails, ""]);
    expect([step.op, tool.code, tool.code === step.fails ? "" : said]).toEqual([step.op, step.fails, ""]);
    if (step.fails === undefined)
      expect({ op: step.op, answer: normalised(tool.answer, tools) }).toEqual({
        op: step.op,
        answer: normalised(command.answer, commands),
      });
    expect({ op: step.op, state: await stateOf(tools) }).toEqual({ op: step.op, state: await stateOf(commands) });
  }
}, 180_000);
