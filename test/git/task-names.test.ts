/** Names that tasks answer to, in projects whose files other tools and people write. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";

import { add } from "../../lib/task/ops/add.ts";
import { next } from "../../lib/task/ops/claims.ts";
import { show } from "../../lib/task/ops/show.ts";
import { done } from "../../lib/task/ops/done.ts";
import { inProcess, refusal } from "../kit/call.ts";

const SHOUTED = "ABCDEF12-1234-4234-8234-1234567890AB";

describe("an id that a file writes in capitals", () => {
  const files = (...others: object[]): Record<string, string> =>
    Object.fromEntries(
      [{ id: SHOUTED, name: "shouted", status: "todo", priority: 90 }, ...others].map((doc, i) => [
        `.bot/workspace/tasks/todo/t${i}.json`,
        JSON.stringify(doc),
      ]),
    );

  test.each([SHOUTED, SHOUTED.toLowerCase(), "abcdef12", "ABCDEF12", "abCD", "ABCDEF12-12"])(
    "is named by %s",
    async (name) => {
      await using world = await inProcess(files());
      expect((await world.call(show, { task_id: name })).result["task"]).toMatchObject({ id: SHOUTED });
    },
  );

  test("is what a dependency in small letters means", async () => {
    const waiting = {
      id: "11111111-1234-4234-8234-1234567890ab",
      name: "waiting",
      status: "todo",
      priority: 1,
      dependencies: [SHOUTED.toLowerCase()],
    };
    await using world = await inProcess(files(waiting));
    expect((await world.call(next)).result["task"]).toMatchObject({ name: "shouted" });
    await world.call(done, { task_id: "shouted" });
    expect((await world.call(next)).result["task"]).toMatchObject({ name: "waiting" });
  });

  test("isn't another task's beginning", async () => {
    await using world = await inProcess(files());
    expect(await refusal(world.call(show, { task_id: "abcdef12-9" }))).toMatchObject({ code: "TASK_NOT_FOUND" });
  });
});

test("a name that an editor wrote into a file in place is found at once", async () => {
  await using world = await inProcess();
  const { path } = (await world.call(add, { name: "Before" })).result;
  await world.call(show, { task_id: "Before" });
  writeFileSync(String(path), readFileSync(String(path), "utf8").replace('"Before"', '"After"'));
  expect((await world.call(show, { task_id: "After" })).result["task"]).toMatchObject({ name: "After" });
  expect(await refusal(world.call(show, { task_id: "Before" }))).toMatchObject({ code: "TASK_NOT_FOUND" });
});

test("what is suggested is a name that works", async () => {
  const doc = { id: SHOUTED, name: " spaced ", status: "todo" };
  await using world = await inProcess({ ".bot/workspace/tasks/todo/t.json": JSON.stringify(doc) });
  const { example = "" } = await refusal(world.call(show, { task_id: "spaced" }));
  expect(example).not.toContain("spaced ");
});
