/**
 * What agents are told when a call fails: it stands alone, speaks of tools and fields, and shows a call that the schema takes.
 * Every tool is called wrongly in every way that its schema and its place suggest, and all that comes back is looked at.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";

import { failureText, inToolWords } from "../../cmd/mcp/wording.ts";
import { toolName } from "../../lib/op.ts";
import { allOperations } from "../../lib/ops.ts";
import { run, write } from "../kit/git.ts";
import { taskId8, type Seed } from "../kit/tasks.ts";
import { makeWorld } from "../kit/world.ts";
import { openSession, textOf, type Message, type Session } from "./kit.ts";

type Schema = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};
type Tool = { readonly name: string; readonly inputSchema: Schema };
type Args = Readonly<Record<string, unknown>>;

interface Failure {
  readonly tool: Tool;
  readonly args: Args;
  readonly text: string;
  readonly missing: readonly string[];
}

/** A value that the schema takes, as far as types go. */
function fitting(name: string, schema: Schema): unknown {
  if (name === "session_id") return "s";
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "boolean":
      return true;
    case "integer":
    case "number":
      return 1;
    case "array":
      return ["x"];
    case "object":
      return {};
    case undefined:
    default:
      return "x";
  }
}

/** Arguments with what is required, and nothing that exists. */
function least({ inputSchema }: Tool): Record<string, unknown> {
  return Object.fromEntries(
    (inputSchema.required ?? []).map((name) => [name, fitting(name, inputSchema.properties?.[name] ?? {})]),
  );
}

function* wrongCalls(tool: Tool, places: Readonly<Record<string, string>>): Generator<Args> {
  const base = least(tool);
  const fields = Object.entries(tool.inputSchema.properties ?? {});
  const has = (name: string): boolean => fields.some(([field]) => field === name);
  yield {};
  yield { ...base, nonsense: 1 };
  for (const [name, schema] of fields) {
    yield { ...base, [name]: schema.type === "object" ? "text" : { an: "object" } };
    if (name !== "dir") yield { ...base, [name]: fitting(name, schema) };
    const { [name]: _, ...without } = base;
    yield without;
  }
  if (has("task_id"))
    for (const task_id of ["nope", "", taskId8(1), taskId8(2), taskId8(3), taskId8(4)]) yield { ...base, task_id };
  if (has("branch") && has("commit")) {
    yield { ...base, task_id: taskId8(1), branch: "main" };
    yield { ...base, task_id: taskId8(1), commit: "abc" };
  }
  for (const dir of Object.values(places))
    if (has("dir")) yield { ...base, dir, ...(has("task_id") ? { task_id: taskId8(1) } : {}) };
}

async function failureOf(session: Session, tool: Tool, args: Args): Promise<Failure | null> {
  const result = await session.call(tool.name, args);
  if (result["error"] !== undefined) {
    const error = result["error"] as {
      readonly message: string;
      readonly data?: {
        readonly details?: { readonly issues?: readonly { readonly field: string; readonly message: string }[] };
      };
    };
    const missing = (error.data?.details?.issues ?? [])
      .filter((issue) => issue.message.endsWith("is missing"))
      .map((issue) => issue.field.split(/[.[]/)[0] ?? "");
    return { tool, args, text: error.message, missing };
  }
  if (result["isError"] !== true) return null;
  const facts = (result["_meta"] as Message)["dotbot/error"] as {
    readonly details?: { readonly missing?: readonly string[] };
  };
  return { tool, args, text: textOf(result), missing: facts.details?.missing ?? [] };
}

const SEEDS: readonly Seed[] = [
  { name: "One" },
  { name: "Two", status: "done" },
  { name: "Three", status: "cancelled" },
  { name: "Four", status: "needs-input" },
];

test("every tool, called wrongly in every way", async () => {
  await using world = await makeWorld({ seeds: SEEDS, files: { "a.txt": "1\n" } });
  await run(world.main, "worktree", "add", "-q", "-b", "feat", world.path("tree"));
  write(world.path("tree"), { "a.txt": "2\n" });
  mkdirSync(world.path("plain"));
  const places = {
    main: world.main,
    tree: world.path("tree"),
    plain: world.path("plain"),
    gone: world.path("gone"),
    relative: "main",
    inside: `${world.main}/.git`,
  };
  const failures: Failure[] = [];
  for (const cwd of [world.main, "/"]) {
    await using session = await openSession({ cwd, args: ["--toolsets", "all", "--lock-wait", "1s"] });
    await session.handshake();
    const { tools } = (await session.request("tools/list"))["result"] as { readonly tools: readonly Tool[] };
    for (const tool of tools) {
      for (const args of wrongCalls(tool, cwd === "/" ? {} : places)) {
        const failure = await failureOf(session, tool, args);
        if (failure !== null) failures.push(failure);
      }
    }
    for (const failure of failures) {
      const at = `${failure.tool.name} ${JSON.stringify(failure.args)}\n${failure.text}`;
      const own = Object.keys(failure.tool.inputSchema.properties ?? {});
      // Every field that is demanded is advertised.
      expect([failure.missing.filter((name) => !own.includes(name)), at]).toEqual([[], at]);
      // No way out leads to a shell.
      expect([
        /`dotbot |\bdotbot (?:task|wt|guard|doctor|init|config)\b|(?<![\w-])--[a-z]|\bcd [/."'~]|^\s*at /m.test(
          failure.text,
        ),
        at,
      ]).toEqual([false, at]);
      expect([failure.text.includes("INTERNAL"), at]).toEqual([false, at]);
      // An example is a call of a tool that there is, with fields that it has, and not the one that failed.
      const example = /^example: (.*)$/m.exec(failure.text)?.[1];
      if (example === undefined) continue;
      const [, name = "", json = ""] = /^(\w+) (\{.*\})$/.exec(example) ?? [];
      const named = tools.find((tool) => tool.name === name);
      expect([named?.name, at]).toEqual([name, at]);
      const fields = Object.keys(JSON.parse(json) as object);
      expect([fields.filter((field) => !(field in (named?.inputSchema.properties ?? {}))), at]).toEqual([[], at]);
      expect([json === JSON.stringify(failure.args) && name === failure.tool.name, at]).toEqual([false, at]);
    }
  }
  expect(failures.length).toBeGreaterThan(500);
}, 300_000);

const operations = await allOperations();

describe("in words of tools", () => {
  const op = operations.find((it) => toolName(it) === "task_mark_in_progress") ?? operations[0];
  if (op === undefined) throw new Error("there are no operations");
  const rows: readonly (readonly [text: string, said: string])[] = [
    ["run `dotbot task list` first", "run task_list first"],
    ["`dotbot task show 1a2b` shows it", "task_get 1a2b shows it"],
    ["dotbot wt repair mends it", "wt_repair mends it"],
    ["dotbot guard branch create x", "guard_branch_create x"],
    ["make one with `dotbot init`", "make one with the command init"],
    ["take it over with --steal <reason>", "take it over with steal <reason>"],
    ["or --claim-token", "or claim_token"],
    ["pass --dir", "pass dir"],
    ["dotbot can't know", "dotbot can't know"],
    ["a well-known --- line", "a well-known --- line"],
    ['the remote "--all" begins with a dash', 'the remote "--all" begins with a dash'],
  ];
  test.each(rows)("%s", (text, said) => {
    expect(inToolWords(text, { operations, op })).toBe(said);
  });

  const examples: readonly (readonly [title: string, example: string, said: string | null])[] = [
    [
      "a command line",
      "dotbot task start 1a2b --steal 'it is gone'",
      'task_mark_in_progress {"steal":"it is gone","task_id":"1a2b"}',
    ],
    [
      "of another verb",
      "dotbot task add 'Fix it' --priority 3 --depends-on a,b",
      'task_create {"priority":3,"dependencies":["a","b"],"name":"Fix it"}',
    ],
    ["with a folder", "dotbot guard identity -C /x", 'guard_identity {"dir":"/x"}'],
    ["flags alone: the caller's own call with them", "--dir /x", 'task_mark_in_progress {"task_id":"old","dir":"/x"}'],
    ["fields alone", '{"steal":"why"}', 'task_mark_in_progress {"task_id":"old","steal":"why"}'],
    ["the call that failed", '{"task_id":"old"}', null],
    ["a tool already", 'task_get {"task_id":"1a2b"}', 'task_get {"task_id":"1a2b"}'],
    ["a verb without a tool", "dotbot init", null],
    ["a flag that no tool has", "dotbot task split 1a2b --reject", null],
    ["a line for a shell", "chmod +x hook", null],
  ];
  test.each(examples)("an example that is %s", async (_title, example, said) => {
    const text = await failureText(
      { code: "REFUSED", message: "no", example },
      { operations, op, args: { task_id: "old" } },
    );
    expect(text).toBe(said === null ? "REFUSED: no" : `REFUSED: no\nexample: ${said}`);
  });

  test("an example keeps who calls, and where", async () => {
    const facts = { code: "REFUSED", message: "no", example: "dotbot task reset 1a2b" } as const;
    const text = await failureText(facts, {
      operations,
      op,
      args: { task_id: "old", session_id: "s", dir: "/x", ttl: "1h" },
    });
    expect(text).toEndWith('example: task_mark_todo {"session_id":"s","dir":"/x","task_id":"1a2b"}');
  });
});
