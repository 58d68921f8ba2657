/** The protocol, line by line: what is answered, with which code, once; in both eras. */
import { describe, expect, test } from "bun:test";

import { makeWorld } from "../kit/world.ts";
import { plainSeeds } from "../kit/tasks.ts";
import { ENVELOPE, MODERN, openSession, type Message } from "./kit.ts";

const call = (id: unknown, name: string, args: unknown = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});

describe("what isn't a call is answered by the protocol's codes", () => {
  const rows: readonly (readonly [
    title: string,
    line: unknown,
    id: string | number | null,
    code: number,
    message: RegExp,
  ])[] = [
    ["no JSON", "garbage", null, -32700, /^Parse error: .* at column 1$/],
    ["half a message", '{"jsonrpc":"2.0","id":1,', null, -32700, /^Parse error/],
    [
      "a message nested too deep",
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${"[".repeat(600)}${"]".repeat(600)}}}`,
      null,
      -32700,
      /^Parse error/,
    ],
    ["a number", "7", null, -32600, /a message is an object/],
    [
      "an array of messages, in a revision without them",
      [{ jsonrpc: "2.0", id: 1, method: "ping" }],
      null,
      -32600,
      /one message a line/,
    ],
    ["no version", { id: 1, method: "ping" }, 1, -32600, /"jsonrpc" isn't "2.0"/],
    ["no method", { jsonrpc: "2.0", id: 2 }, 2, -32600, /no method/],
    ["a method that is no text", { jsonrpc: "2.0", id: 3, method: 5 }, 3, -32600, /method isn't text/],
    ["an id that is null", { jsonrpc: "2.0", id: null, method: "ping" }, null, -32600, /its id/],
    ["an id with a fraction", { jsonrpc: "2.0", id: 1.5, method: "ping" }, null, -32600, /its id/],
    [
      "params that are a list",
      { jsonrpc: "2.0", id: 4, method: "ping", params: [] },
      4,
      -32602,
      /params isn't an object/,
    ],
    ["an unknown method", { jsonrpc: "2.0", id: 5, method: "tools/nope" }, 5, -32601, /Method not found/],
    [
      "a method of another capability",
      { jsonrpc: "2.0", id: 6, method: "resources/list" },
      6,
      -32601,
      /Method not found/,
    ],
    [
      "a call without a name",
      { jsonrpc: "2.0", id: 7, method: "tools/call", params: {} },
      7,
      -32602,
      /params.name is the tool's name/,
    ],
    ["a call whose arguments are text", call(8, "task_get_next", "x"), 8, -32602, /params.arguments is an object/],
    [
      "an unknown tool",
      call(9, "task_get_nxt"),
      9,
      -32602,
      /^there is no tool "task_get_nxt"\nhint: did you mean task_get_next\?$/,
    ],
    [
      "an unknown argument",
      call(10, "task_get_next", { prefre: "todo" }),
      10,
      -32602,
      /unknown field "prefre"[^]*did you mean "prefer"\?[^]*example: task_get_next \{"prefer":"todo"\}/,
    ],
    [
      "an argument of a wrong type",
      call(11, "task_get_next", { prefer: 7 }),
      11,
      -32602,
      /prefer 7 isn't one of analysed, todo/,
    ],
  ];
  test.each(rows)("%s", async (_title, line, id, code, message) => {
    await using world = await makeWorld();
    await using session = await openSession({ cwd: world.main });
    await session.handshake();
    session.send(line);
    const reply = await session.first((it) => it["error"] !== undefined);
    expect(reply).toMatchObject({ jsonrpc: "2.0", id, error: { code } });
    expect((reply["error"] as { message: string }).message).toMatch(message);
    // The session goes on, and nothing came twice.
    await session.request("ping");
    expect(session.messages).toHaveLength(3);
  });
});

test("notifications and blank lines are never answered", async () => {
  await using world = await makeWorld();
  await using session = await openSession({ cwd: world.main });
  await session.handshake();
  const quiet: readonly unknown[] = [
    "",
    "  \t",
    { jsonrpc: "2.0", method: "notifications/nope" },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } },
    { jsonrpc: "2.0", method: "notifications/initialized", params: [] },
    { jsonrpc: "2.0", method: "tools/call", params: { name: "task_get_next" } },
    { jsonrpc: "2.0", id: 5, result: {} },
  ];
  for (const line of quiet) session.send(line);
  await session.request("ping");
  expect(session.messages).toHaveLength(2);
});

test("bytes that aren't UTF-8 are refused, a BOM and CRLF are taken", async () => {
  await using world = await makeWorld();
  await using session = await openSession({ cwd: world.main });
  await session.handshake();
  session.send('\uFEFF{"jsonrpc":"2.0","id":"b","method":"ping"}\r');
  expect(await session.reply("b")).toEqual({ jsonrpc: "2.0", id: "b", result: {} });
});

test("an id that is still unanswered is refused under the id null; afterwards it is free", async () => {
  await using world = await makeWorld({ seeds: plainSeeds(1) });
  await using session = await openSession({ cwd: world.main });
  await session.handshake();
  session.send(`${JSON.stringify(call(7, "task_get_next"))}\n${JSON.stringify(call(7, "task_get_next"))}`);
  expect(await session.reply(null)).toMatchObject({
    error: { code: -32600, message: expect.stringContaining("the request 7 is still unanswered") },
  });
  expect(await session.reply(7)).toMatchObject({ result: { structuredContent: { claimed: false } } });
  await session.request("ping");
  expect(session.messages.filter((message) => message["id"] === 7)).toHaveLength(1);
  // 7 and "7" are two ids.
  session.send(call("7", "task_get_next"));
  expect(await session.reply("7")).toHaveProperty("result");
});

describe("handshake revisions", () => {
  const rows: readonly (readonly [asked: string, answered: string])[] = [
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["2025-03-26", "2025-03-26"],
    ["2024-11-05", "2024-11-05"],
    ["2024-10-07", "2024-10-07"],
    ["1999-01-01", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
  ];
  test.each(rows)("%s is answered with %s", async (asked, answered) => {
    await using world = await makeWorld();
    await using session = await openSession({ cwd: world.main });
    expect(await session.handshake({}, asked)).toMatchObject({
      result: { protocolVersion: answered, serverInfo: { name: "dotbot" }, capabilities: { tools: {} } },
    });
    expect(await session.call("task_get_next")).toMatchObject({ structuredContent: { task: null } });
  });

  test("2025-03-26 takes an array of messages and answers with one", async () => {
    await using world = await makeWorld();
    await using session = await openSession({ cwd: world.main });
    await session.handshake({}, "2025-03-26");
    session.send([
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { jsonrpc: "2.0", method: "notifications/nope" },
      5,
      call(2, "task_get_next"),
    ]);
    const replies = await session.first((message) => Array.isArray(message));
    expect(replies).toHaveLength(3);
    expect(replies as unknown as readonly Message[]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 1, result: {} }),
        expect.objectContaining({ id: null, error: expect.objectContaining({ code: -32600 }) }),
        expect.objectContaining({ id: 2, result: expect.objectContaining({ structuredContent: expect.anything() }) }),
      ]),
    );
    session.send([{ jsonrpc: "2.0", method: "notifications/nope" }]);
    session.send([]);
    expect(await session.first((message) => message["id"] === null && message["error"] !== undefined)).toMatchObject({
      error: { code: -32600 },
    });
  });
});

describe("the stateless revision", () => {
  test("discover, list and call carry everything with them", async () => {
    await using world = await makeWorld();
    await using session = await openSession({ cwd: world.main });
    expect(await session.request("server/discover", { _meta: ENVELOPE })).toMatchObject({
      result: {
        supportedVersions: [MODERN],
        capabilities: { tools: {} },
        instructions: expect.stringContaining("task_get_next"),
      },
    });
    expect(await session.request("tools/list", { _meta: ENVELOPE })).toHaveProperty("result.tools");
    const reply = await session.request("tools/call", { name: "task_get_next", arguments: {}, _meta: ENVELOPE });
    expect(reply).toMatchObject({ result: { resultType: "complete", structuredContent: { task: null } } });
  });

  test("a call may be the first message", async () => {
    await using world = await makeWorld();
    await using session = await openSession({ cwd: world.main });
    expect(await session.request("tools/call", { name: "task_get_next", _meta: ENVELOPE })).toHaveProperty(
      "result.structuredContent",
    );
  });

  test("an unknown revision is refused, naming the known ones", async () => {
    await using world = await makeWorld();
    await using session = await openSession({ cwd: world.main });
    const envelope = { ...ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2031-01-01" };
    expect(await session.request("tools/list", { _meta: envelope })).toMatchObject({
      error: { code: -32022, data: { supported: [MODERN], requested: "2031-01-01" } },
    });
  });

  test("the client is never asked anything, roots or not", async () => {
    await using world = await makeWorld();
    await using session = await openSession({ cwd: world.main });
    const envelope = { ...ENVELOPE, "io.modelcontextprotocol/clientCapabilities": { roots: {} } };
    await session.request("tools/call", { name: "task_get_next", _meta: envelope });
    expect(session.messages.filter((message) => "method" in message)).toEqual([]);
  });
});
