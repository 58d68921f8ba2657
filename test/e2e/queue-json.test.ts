/** JSON that comes in by a flag, a file or stdin: no digit of a number that JavaScript can't hold is lost. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { makeWorld, type World } from "../kit/world.ts";

const BIG = "12345678901234567890";

const fileIn = (world: World, status: string): string => {
  const folder = join(world.tasks, status);
  return readFileSync(join(folder, readdirSync(folder)[0] ?? ""), "utf8");
};

describe("twenty digits", () => {
  test.each([
    [["task", "add", "--json-file", "-"], `{"name":"A","serial":${BIG}}`],
    [["task", "add-bulk", "-"], `[{"name":"A","serial":${BIG}}]`],
    [["task", "add", "A", "--fields", `{"serial":${BIG}}`], ""],
  ] as const)("%j", async (args, stdin) => {
    await using world = await makeWorld();
    const { status, stdout } = await world.dotbot([...args, "--json"], { stdin });
    expect(status).toBe(0);
    expect(stdout).toContain(`"serial":${BIG}`);
    expect(fileIn(world, "todo")).toContain(`"serial": ${BIG}`);
  });

  test("in an analysis, and in a result", async () => {
    await using world = await makeWorld();
    await world.ok(["task", "add", "A"]);
    await world.ok(["task", "analysing", "A"]);
    await world.ok(["task", "analysed", "A", "--analysis", `{"serial":${BIG}}`]);
    await world.ok(["task", "done", "A", "--result", "-"], { stdin: `{"list":[${BIG}]}` });
    const file = fileIn(world, "done");
    expect(file).toContain(`"serial": ${BIG}`);
    expect(file.match(new RegExp(BIG, "g"))).toHaveLength(2);
  });
});

test("a number is a number, however it is spelt", async () => {
  await using world = await makeWorld();
  await world.ok(["task", "add", "--json-file", "-"], { stdin: '{"name":"A","priority":2e1}' });
  expect(fileIn(world, "todo")).toContain('"priority": 20');
  const { message } = await world.refused("INVALID_INPUT", ["task", "add", "--json-file", "-"], {
    stdin: `{"name":"B","priority":${BIG}}`,
  });
  expect(message).toContain("priority");
});

test("an example call quotes a name of several words", async () => {
  await using world = await makeWorld();
  await world.ok(["task", "add", "Add a login page"]);
  const { example } = await world.refused("TASK_NOT_FOUND", ["task", "show", "Add a login pag"]);
  expect(example).toBe("dotbot task show 'Add a login page'");
});
