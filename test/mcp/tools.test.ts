/** The tools as they are offered: derived from operations, small enough for every conversation, strict, and true. */
import { describe, expect, test } from "bun:test";

import { INSTRUCTIONS } from "../../cmd/mcp/instructions.ts";
import { isOffered, isTool, TOOLSETS, type Offer } from "../../cmd/mcp/offer.ts";
import { catalogue, definitions, type Definition } from "../../cmd/mcp/tools.ts";
import { inputJsonSchema } from "../../lib/jsonschema.ts";
import { toolName } from "../../lib/op.ts";
import { allOperations } from "../../lib/ops.ts";
import { openSession, type Message } from "./kit.ts";
import { makeWorld } from "../kit/world.ts";

const OPERATIONS = await allOperations();
const EVERYDAY: Offer = { toolsets: ["task", "wt", "guard", "doctor"], readOnly: false, requireSession: true };
const EVERYTHING: Offer = { ...EVERYDAY, toolsets: ["all"] };

function offered(offer: Offer): readonly Definition[] {
  return definitions(
    [...catalogue(OPERATIONS, offer.requireSession).values()].filter((tool) => isOffered(tool.op, offer)),
    OPERATIONS,
  );
}

function bytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly [key: string]: unknown;
};

function schemaOf(name: string, offer: Offer): Schema {
  return offered(offer).find((tool) => tool.name === name)?.inputSchema ?? {};
}

describe("size", () => {
  test("the everyday tools take less than 24 KB of a conversation", () => {
    expect(bytes({ tools: offered(EVERYDAY) })).toBeLessThan(24 * 1024);
  });
  test("all of them less than 60 KB", () => {
    expect(bytes({ tools: offered(EVERYTHING) })).toBeLessThan(60 * 1024);
  });
  test("the instructions less than 2 KB", () => {
    expect(Buffer.byteLength(INSTRUCTIONS)).toBeLessThan(2048);
  });
});

test("the list that stands ready in the program is the one that its operations make", async () => {
  await using world = await makeWorld();
  await using session = await openSession({ cwd: world.main });
  await session.handshake();
  expect((await session.request("tools/list"))["result"]).toMatchObject({ tools: offered(EVERYDAY) });
});

test("the instructions name only tools that are there", () => {
  const names = offered(EVERYDAY).map((tool) => tool.name);
  const named = INSTRUCTIONS.match(/\b(?:task|wt|guard|doctor)_[a-z_]+/g) ?? [];
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => name !== "task_id" && !names.includes(name))).toEqual([]);
});

test("the way of a task is offered to everybody", () => {
  expect(offered(EVERYDAY).map((tool) => tool.name)).toEqual(
    expect.arrayContaining([
      "task_create",
      "task_get_next",
      "task_mark_analysing",
      "task_mark_analysed",
      "task_mark_in_progress",
      "task_mark_needs_input",
      "task_mark_done",
      "wt_create",
      "guard_commit",
      "wt_complete",
    ]),
  );
});

test("every operation of the four nouns is a tool, and nothing else", () => {
  const expected = OPERATIONS.filter(isTool).map(toolName);
  expect(offered(EVERYTHING).map((tool) => tool.name)).toEqual(expected);
  expect(new Set(expected).size).toBe(expected.length);
  for (const name of expected) expect(name).toMatch(/^[a-z][a-z_]{1,63}$/);
});

test("established names are kept", () => {
  expect(offered(EVERYTHING).map((tool) => tool.name)).toEqual(
    expect.arrayContaining([
      "task_create",
      "task_create_bulk",
      "task_get",
      "task_list",
      "task_get_next",
      "task_get_stats",
      "task_get_context",
      "task_history",
      "task_graph",
      "task_update",
      "task_mark_analysing",
      "task_mark_analysed",
      "task_mark_in_progress",
      "task_mark_needs_input",
      "task_answer_question",
      "task_approve_split",
      "task_mark_needs_review",
      "task_mark_done",
      "task_mark_failed",
      "task_mark_skipped",
      "task_mark_cancelled",
      "task_mark_todo",
      "task_claim",
      "task_heartbeat",
      "task_release",
      "task_save",
      "task_load",
    ]),
  );
});

describe.each(offered(EVERYTHING).map((tool) => [tool.name, tool] as const))("%s", (_name, tool) => {
  test("says what a client and a model need", () => {
    expect(tool.title.length).toBeGreaterThan(3);
    expect(tool.description.length).toBeGreaterThan(20);
    expect(tool.description.length).toBeLessThan(1024);
    expect(tool.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(tool.outputSchema).toMatchObject({ type: "object" });
    expect(Object.values(tool.annotations).map((hint) => typeof hint)).toEqual([
      "boolean",
      "boolean",
      "boolean",
      "boolean",
    ]);
    // Either it reads or it changes.
    if (tool.annotations.readOnlyHint)
      expect(tool.annotations).toMatchObject({ destructiveHint: false, idempotentHint: true });
  });
  test("never speaks of a command line", () => {
    expect(JSON.stringify(tool)).not.toMatch(
      /`dotbot |\bdotbot (?:task|wt|guard|doctor|init|config)\b|(?<![\w-])--[a-z]|\bcd /,
    );
  });
});

describe("schemas", () => {
  test("every field and bound of the operation is advertised, but those of the command line alone", () => {
    for (const { op } of catalogue(OPERATIONS, false).values()) {
      const own = inputJsonSchema(op) as Schema;
      const tool = schemaOf(toolName(op), { ...EVERYTHING, requireSession: false });
      const expected = Object.keys(own.properties ?? {}).filter((name) => op.flags?.[name]?.cliOnly !== true);
      expect(Object.keys(tool.properties ?? {})).toEqual(expected);
      for (const name of expected) expect(bounds(tool.properties?.[name])).toEqual(bounds(own.properties?.[name]));
    }
  });

  test("the session is required where history is written, unless a setting relaxes it", () => {
    const demanding = (offer: Offer) =>
      offered(offer)
        .filter((tool) => (tool.inputSchema as Schema).required?.includes("session_id"))
        .map((tool) => tool.name);
    expect(demanding(EVERYTHING)).toEqual(
      expect.arrayContaining(["task_create", "task_mark_done", "task_answer_question"]),
    );
    expect(demanding(EVERYTHING)).not.toContain("task_claim");
    expect(demanding({ ...EVERYTHING, requireSession: false })).toEqual([]);
  });

  test("the session's description says where to find it", () => {
    for (const name of ["task_create", "task_mark_done"]) {
      expect(schemaOf(name, EVERYDAY).properties?.["session_id"]?.["description"]).toMatch(
        /CLAUDE_SESSION_ID.*unknown/,
      );
    }
  });
});

/** What validation knows of a value: everything but words. */
function bounds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(bounds);
  if (typeof schema !== "object" || schema === null) return schema;
  const silent = ["description", "title", "default", ...("enum" in schema ? ["type"] : [])];
  const empty = (value: unknown): boolean =>
    typeof value === "object" && value !== null && Object.keys(value).length === 0;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) =>
      silent.includes(key) || (empty(value) && ["required", "properties"].includes(key)) ? [] : [[key, bounds(value)]],
    ),
  );
}

describe("what is offered", () => {
  const rows: readonly (readonly [title: string, offer: Partial<Offer>, fits: (name: string) => boolean])[] = [
    ["one noun", { toolsets: ["wt"] }, (name) => name.startsWith("wt_")],
    ["two nouns", { toolsets: ["wt", "doctor"] }, (name) => /^(?:wt|doctor)/.test(name)],
  ];
  test.each(rows)("%s", (_title, offer, fits) => {
    const names = offered({ ...EVERYDAY, ...offer }).map((tool) => tool.name);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !fits(name))).toEqual([]);
  });

  test("only what reads", () => {
    const tools = offered({ ...EVERYTHING, readOnly: true });
    expect(tools.length).toBeGreaterThan(5);
    expect(tools.filter((tool) => !tool.annotations.readOnlyHint)).toEqual([]);
  });

  const started: readonly (readonly [
    title: string,
    args: readonly string[],
    settings: string | null,
    env: Record<string, string>,
    has: readonly string[],
    lacks: readonly string[],
  ])[] = [
    ["by default", [], null, {}, ["task_get_next", "wt_create", "guard_commit", "doctor"], ["task_import"]],
    ["--toolsets", ["--toolsets", "task,doctor"], null, {}, ["task_get_next", "doctor"], ["wt_create", "guard_commit"]],
    ["--toolsets twice", ["--toolsets", "task", "--toolsets=wt"], null, {}, ["task_get_next", "wt_create"], ["doctor"]],
    ["--read-only", ["--read-only"], null, {}, ["task_get_next"], ["task_create", "wt_create", "guard_commit"]],
    [
      "settings",
      [],
      '{"mcp":{"toolsets":["task"],"read_only":true}}',
      {},
      ["task_get_next"],
      ["task_create", "wt_list"],
    ],
    [
      "flags before settings",
      ["--toolsets", "wt", "--no-read-only"],
      '{"mcp":{"toolsets":["task"],"read_only":true}}',
      {},
      ["wt_create"],
      ["task_get_next"],
    ],
    ["the environment", [], null, { DOTBOT_MCP_TOOLSETS: "guard" }, ["guard_commit"], ["task_get_next"]],
  ];
  test.each(started)("%s", async (_title, args, settings, env, has, lacks) => {
    await using world = await makeWorld(settings === null ? {} : { files: { ".bot/settings.json": settings } });
    await using session = await openSession({ cwd: world.main, args, env });
    await session.handshake();
    const names = ((await session.request("tools/list"))["result"] as { tools: { name: string }[] }).tools.map(
      (tool) => tool.name,
    );
    expect(names).toEqual(expect.arrayContaining([...has]));
    expect(names.filter((name) => lacks.includes(name))).toEqual([]);
  });

  test("the schema follows the setting that validation follows", async () => {
    await using world = await makeWorld();
    await using session = await openSession({ cwd: world.main });
    await session.handshake();
    const required = async (): Promise<unknown> => {
      const { tools } = (await session.request("tools/list"))["result"] as {
        tools: { name: string; inputSchema: Schema }[];
      };
      return tools.find((tool) => tool.name === "task_create")?.inputSchema.required;
    };
    const create = async (): Promise<Message> => await session.call("task_create", { name: "A" });
    expect(await required()).toEqual(expect.arrayContaining(["session_id"]));
    expect(await create()).toMatchObject({
      error: { code: -32602, message: expect.stringContaining("session_id is missing") },
    });
    await Bun.write(world.path("main", ".bot", "settings.json"), '{"provenance":{"require_session":false}}');
    expect(await required()).not.toEqual(expect.arrayContaining(["session_id"]));
    expect(await create()).toMatchObject({ structuredContent: { task: { name: "A" } } });
  });
});

test.each([
  [["--toolset", "task"], /unknown flag "--toolset"[^]*did you mean --toolsets\?[^]*dotbot mcp --toolsets task/],
  [
    ["--toolsets", "tasks"],
    /--toolsets "tasks" isn't one of task, wt, guard, doctor, all[^]*dotbot mcp --toolsets task/,
  ],
  [["serve"], /unexpected word "serve"/],
  [["--root", "a", "-C", "b"], /--root and --dir both/],
  [["--lock-wait", "soon"], /isn't a length of time/],
] as const)("%j is refused before anything is served", async (args, message) => {
  await using world = await makeWorld();
  const { stdout, stderr, status } = await world.dotbot(["mcp", ...args]);
  expect({ stdout, status }).toEqual({ stdout: "", status: 2 });
  expect(stderr).toMatch(message);
});

test("the toolsets are those of the setting", async () => {
  const { settingsTable } = await import("../../lib/settings.ts");
  expect(settingsTable().get("mcp.toolsets")?.field.item?.choices).toEqual([...TOOLSETS]);
});
