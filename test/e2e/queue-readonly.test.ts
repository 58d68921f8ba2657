/** An agent's sandbox that opens neither the ledger nor the task files: reads answer, and writes say what to open. */
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { binary } from "../kit/binary.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { answerOf, openSession, textOf } from "../mcp/kit.ts";

/** Root passes by permissions, unless it gives up just that. */
const under =
  process.getuid?.() === 0
    ? ["setpriv", "--inh-caps=-dac_override,-dac_read_search", "--bounding-set=-dac_override,-dac_read_search"]
    : [];

/** One task, "One", in a repository of which nothing that belongs to the queue can be written. */
async function sealed(change: (file: string, ledger: string) => void = () => {}): Promise<World> {
  const world = await makeWorld();
  await world.ok(["task", "add", "One"]);
  const todo = join(world.tasks, "todo");
  const ledger = join(world.main, ".git", "dotbot");
  change(join(todo, readdirSync(todo)[0] ?? ""), ledger);
  for (const folder of [ledger, todo]) {
    try {
      for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444);
      chmodSync(folder, 0o555);
    } catch {
      // Taken away by the test.
    }
  }
  chmodSync(join(world.main, ".git"), 0o555);
  const open = (): void => {
    for (const folder of [join(world.main, ".git"), ledger, todo]) {
      try {
        chmodSync(folder, 0o755);
      } catch {
        // The same.
      }
    }
  };
  return { ...world, [Symbol.asyncDispose]: async () => (open(), await world[Symbol.asyncDispose]()) };
}

const rename = (file: string): void => writeFileSync(file, readFileSync(file, "utf8").replace('"One"', '"Uno"'));

describe.skipIf(process.platform !== "linux")("reads", () => {
  const states: readonly [what: string, change: (file: string, ledger: string) => void, name: string][] = [
    ["as it was left", () => {}, "One"],
    ["with an edit that the ledger hasn't seen", rename, "Uno"],
    ["with files whose times say nothing", (file) => utimesSync(file, 1_700_000_000, 1_700_000_000), "One"],
    ["with no ledger at all", (_, ledger) => rmSync(ledger, { recursive: true }), "One"],
  ];
  test.each(states)("%s", async (_, change, name) => {
    await using world = await sealed(change);
    const list = await world.ok(["task", "list"], { under });
    expect(at(list, "tasks", 0, "name")).toBe(name);
    expect(at(await world.ok(["task", "show", name], { under }), "task", "name")).toBe(name);
    expect(at(await world.ok(["task", "next"], { under }), "task", "name")).toBe(name);
  });
});

describe.skipIf(process.platform !== "linux")("writes", () => {
  test.each([
    ["on the queue as it was left", () => {}, "One"],
    ["on a task with an edit that the ledger hasn't seen", rename, "Uno"],
  ] as const)("%s: refused, naming the ledger", async (_, change, name) => {
    await using world = await sealed(change);
    const { message, hint } = await world.refused("READ_ONLY", ["task", "start", name], { under });
    expect(message).toContain(join(world.main, ".git", "dotbot"));
    expect(hint).toContain("writable");
  });
});

describe("what stands where the ledger should is no fault of ours", () => {
  test.each([
    [
      "a folder instead of the ledger",
      "READ_ONLY",
      (ledger: string) => mkdirSync(join(ledger, "queue.db"), { recursive: true }),
    ],
    ["a file instead of its folder", "REFUSED", (ledger: string) => writeFileSync(ledger, "")],
  ] as const)("%s", async (_, code, obstruct) => {
    await using world = await makeWorld();
    const ledger = join(world.main, ".git", "dotbot");
    rmSync(ledger, { recursive: true, force: true });
    obstruct(ledger);
    for (const args of [["list"], ["add", "A"]])
      expect((await world.refused(code, ["task", ...args])).message).toContain(ledger);
  });
});

test("a server writes again as soon as it may, however often it was refused", async () => {
  await using world = await makeWorld();
  await world.ok(["task", "add", "One"]);
  const ledger = join(world.main, ".git", "dotbot", "queue.db");
  await using session = await openSession({ cwd: world.main, program: [...under, await binary()] });
  await session.handshake();
  const create = async (name: string) => await session.call("task_create", { name, session_id: "s" });
  chmodSync(ledger, 0o444);
  for (let n = 0; n < 3; n++) expect(textOf(await create("No"))).toContain("READ_ONLY");
  chmodSync(ledger, 0o644);
  expect(answerOf(await create("Yes"))).toMatchObject({ task: { name: "Yes" } });
});
