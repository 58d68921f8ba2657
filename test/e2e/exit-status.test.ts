/** Every exit status there is, from the real program, and the error code that goes with it. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";

import { start } from "../kit/binary.ts";
import { taskId8 } from "../kit/tasks.ts";
import { makeWorld, type World } from "../kit/world.ts";

let world: World;
let empty: World;
beforeAll(async () => {
  world = await makeWorld({
    seeds: [{ name: "One" }, { name: "Cancelled", status: "cancelled" }, { name: "Same" }, { name: "Same" }],
  });
  empty = await makeWorld();
  await world.ok(["task", "list"]);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await empty[Symbol.asyncDispose]();
});

type Where = "world" | "empty" | "outside";
const folder = (where: Where): string => (where === "world" ? world.main : where === "empty" ? empty.main : "/");

const ROWS: readonly (readonly [status: number, code: string | null, args: readonly string[], where: Where])[] = [
  [0, null, ["task", "list"], "world"],
  [0, null, ["status"], "empty"],
  [1, null, ["task", "next"], "empty"],
  [2, "UNKNOWN_COMMAND", ["tsak", "list"], "world"],
  [2, "UNKNOWN_COMMAND", ["task", "lsit"], "world"],
  [2, "UNKNOWN_FLAG", ["task", "list", "--statsu", "todo"], "world"],
  [2, "USAGE", ["task", "next", "One"], "world"],
  [2, "INVALID_INPUT", ["task", "add", "Two", "--priority", "high"], "world"],
  [2, "AMBIGUOUS_TASK", ["task", "show", "Same"], "world"],
  [3, "TASK_NOT_FOUND", ["task", "show", "no-such-task"], "world"],
  [4, "ILLEGAL_TRANSITION", ["task", "start", "Cancelled"], "world"],
  [5, "NOT_A_REPOSITORY", ["task", "list"], "outside"],
  [5, "NOT_A_REPOSITORY", [], "outside"],
];

test.each(ROWS)("status %i, %s: dotbot %j", async (status, code, args, where) => {
  const json = await world.dotbot([...args, "--json"], { cwd: folder(where) });
  expect(json.status).toBe(status);
  expect(json.stderr).toBe("");
  const answer: unknown = JSON.parse(json.stdout);
  if (code === null) expect(answer).not.toHaveProperty("error");
  else expect(answer).toHaveProperty("error.code", code);

  const text = await world.dotbot(args, { cwd: folder(where) });
  expect(text.status).toBe(status);
  if (code !== null) expect(text).toMatchObject({ stdout: "", stderr: expect.stringMatching(/^dotbot: /) });
});

test("status 4, NOT_HOLDER: somebody else's claim", async () => {
  await world.ok(["task", "claim", "One", "--owner", "ada"]);
  const refused = await world.refused("NOT_HOLDER", ["task", "start", "One", "--owner", "eve"]);
  expect(refused.example).toContain("--steal");
});

test("status 6, LOCKED: another process holds the ledger", async () => {
  const ledger = new Database(`${world.main}/.git/dotbot/queue.db`);
  ledger.run("BEGIN EXCLUSIVE");
  try {
    const result = await world.dotbot(["task", "edit", taskId8(1), "--priority", "1", "--lock-wait", "50ms", "--json"]);
    expect(result.status).toBe(6);
    expect(JSON.parse(result.stdout)).toHaveProperty("error.code", "LOCKED");
  } finally {
    ledger.run("ROLLBACK");
    ledger.close();
  }
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("ended by %s: status %i", async (signal, status) => {
  const child = await start(["task", "list", "--watch"], { cwd: world.main });
  // It has answered once, and waits for the next change.
  const reader = child.stdout.getReader();
  await reader.read();
  child.kill(signal);
  await child.exited;
  expect(child.exitCode).toBe(status);
});
