/** Clients that nobody here wrote: the official library in both eras, the inspector, the official conformance suite. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";

import { binary, cleanEnv } from "../kit/binary.ts";
import { tempDir } from "../kit/git.ts";
import { plainSeeds, taskId8 } from "../kit/tasks.ts";
import { makeWorld } from "../kit/world.ts";
import { bridge } from "./bridge.ts";
import { connect, ERAS } from "./kit.ts";

const packages = join(import.meta.dir, "..", "..", "node_modules", "@modelcontextprotocol");

describe.each(ERAS)("the official client, %s", (era) => {
  test("lists, calls, and takes every answer as its schema promises", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(2) });
    await using connected = await connect(era, { cwd: world.main });
    const { client } = connected;
    expect(client.getServerVersion()).toMatchObject({ name: "dotbot" });
    expect(client.getInstructions()).toContain("task_get_next");
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("task_mark_in_progress");
    // The client validates structured content against the tool's output schema, once it has listed the tools.
    const next = await client.callTool({ name: "task_get_next", arguments: {} });
    expect(next).toMatchObject({ structuredContent: { task: { name: "Task 1" } } });
    expect(JSON.parse((next.content as { text: string }[])[0]?.text ?? "")).toEqual(next.structuredContent);
    const started = await client.callTool({
      name: "task_mark_in_progress",
      arguments: { task_id: taskId8(1), session_id: "s" },
    });
    expect(started).toMatchObject({
      structuredContent: { oldStatus: "todo", newStatus: "in-progress", changed: true },
    });
  });

  test("sees a failure as one, without structured content", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    await using connected = await connect(era, { cwd: world.main });
    await connected.client.listTools();
    const result = await connected.client.callTool({
      name: "task_mark_in_progress",
      arguments: { task_id: "nope", session_id: "s" },
    });
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringMatching(/^TASK_NOT_FOUND: /) }],
    });
    expect(result).not.toHaveProperty("structuredContent");
  });

  test("sees an answer that is no as an answer", async () => {
    await using world = await makeWorld();
    await using connected = await connect(era, { cwd: world.main });
    const result = await connected.client.callTool({ name: "task_get_next", arguments: {} });
    expect(result).not.toHaveProperty("isError");
    expect(result).toMatchObject({ structuredContent: { task: null, candidates: 0 } });
  });

  test("gets protocol errors for an unknown tool and bad arguments", async () => {
    await using world = await makeWorld();
    await using connected = await connect(era, { cwd: world.main });
    const failing = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
      await connected.client.callTool({ name, arguments: args }).catch((error: unknown) => error);
    expect(await failing("task_nope", {})).toMatchObject({
      code: -32602,
      message: expect.stringContaining("there is no tool"),
    });
    expect(await failing("task_get_next", { claim: true })).toMatchObject({
      code: -32602,
      message: expect.stringContaining('unknown field "claim"'),
    });
  });

  test("cancels a call by its timeout, and goes on", async () => {
    await using world = await makeWorld({
      seeds: plainSeeds(2),
      files: { ".bot/settings.json": '{"hooks":{"on_status":["sleep 300"]}}' },
    });
    await using connected = await connect(era, { cwd: world.main });
    const call = connected.client.callTool(
      { name: "task_mark_in_progress", arguments: { task_id: taskId8(1), session_id: "s" } },
      { timeout: 300 },
    );
    expect(await call.catch((error: unknown) => String(error))).toMatch(/timed out/);
    expect(await connected.client.callTool({ name: "task_get_next", arguments: {} })).toMatchObject({
      structuredContent: { task: { name: "Task 2" } },
    });
  });
});

test("the official client finds the era by itself", async () => {
  await using world = await makeWorld();
  await using connected = await connect("auto", { cwd: world.main });
  expect(await connected.client.callTool({ name: "task_get_next", arguments: {} })).toMatchObject({
    structuredContent: { task: null },
  });
});

describe("the inspector's command line", () => {
  async function inspector(cwd: string, ...args: string[]) {
    await using home = await tempDir();
    const program = join(packages, "inspector", "clients", "launcher", "build", "index.js");
    const child = Bun.spawn(["node", program, "--cli", await binary(), "mcp", ...args], {
      cwd,
      env: cleanEnv({ HOME: home.root }),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { stdout, stderr, status };
  }

  test.each([[[]], [["--toolsets", "all"]], [["--read-only"]]])(
    "finds nothing wrong with the tools of %j",
    async (flags) => {
      await using world = await makeWorld();
      const { stdout, stderr, status } = await inspector(
        world.main,
        ...flags,
        "--",
        "--method",
        "tools/list",
        "--strict",
      );
      expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
      expect((JSON.parse(stdout) as { tools: unknown[] }).tools.length).toBeGreaterThan(0);
    },
    60_000,
  );

  test("calls a tool", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    const { stdout, status } = await inspector(
      world.main,
      "--method",
      "tools/call",
      "--tool-name",
      "task_get_next",
      "--tool-arg",
      "prefer=todo",
    );
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { task: { name: "Task 1" } } });
  }, 60_000);
});

/** Scenarios that can't pass, and why. The suite fails where one of them does, or where another one doesn't. */
const NOT_OURS: Readonly<Record<string, readonly string[]>> = {
  "calls a demonstration tool of the suite's own reference server": [
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-logging",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-sampling",
    "tools-call-elicitation",
    "json-schema-2020-12",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
  ],
  "is about a capability that the server doesn't have, and doesn't advertise": [
    "logging-set-level",
    "completion-complete",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
  ],
  "is about HTTP, which here is only the test's bridge": ["dns-rebinding-protection", "server-sse-polling"],
};

test("the official conformance suite passes in every scenario that applies", async () => {
  await using world = await makeWorld();
  await using dir = await tempDir();
  await using http = bridge({ cwd: world.main });
  const expected = Object.values(NOT_OURS).flat();
  await Bun.write(dir.path("expected.yml"), `server:\n${expected.map((name) => `  - ${name}\n`).join("")}`);
  const program = join(packages, "conformance", "dist", "index.js");
  const child = Bun.spawn(
    [
      process.execPath,
      program,
      "server",
      "--url",
      http.url,
      "--suite",
      "all",
      "--expected-failures",
      dir.path("expected.yml"),
      "-o",
      dir.path("results"),
    ],
    { cwd: dir.root, env: cleanEnv(), stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const passed = [...stdout.matchAll(/^✓ ([\w-]+): [1-9]\d* passed, 0 failed$/gm)].map(([, name]) => name);
  expect({ status, stderr, stdout: status === 0 ? "" : stdout }).toEqual({ status: 0, stderr: "", stdout: "" });
  expect(passed).toEqual(["server-initialize", "ping", "tools-list", "server-sse-multiple-streams"]);
}, 120_000);
