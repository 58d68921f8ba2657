/** Which tasks Tab offers: those of the queue that the verbs work on, and those for which the verb makes sense. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";

import { makeRepo } from "../kit/git.ts";
import { taskFileName, taskId8 } from "../kit/tasks.ts";
import { makeWorld, type World } from "../kit/world.ts";

/** The first eight digits of the tasks that Tab offers behind these words. */
async function offered(world: World, words: readonly string[], cwd = world.main): Promise<string[]> {
  const { stdout } = await world.dotbot(["__complete", "fish", "--", ...words, ""], { cwd });
  return [...stdout.matchAll(/^([0-9a-f]{8})\t/gm)].map(([, id8]) => id8 ?? "").toSorted();
}

test("in a submodule that has a git folder and an old ledger of its own: the superproject's, as the list has them", async () => {
  await using world = await makeWorld({ seeds: [{ name: "Of the superproject" }] });
  const sub = await makeRepo(join(world.main, "sub"), { files: { "a.txt": "a\n" } });
  // Before it was a submodule it had a queue.
  mkdirSync(join(sub, ".bot"));
  await world.ok(["task", "add", "Of old"], { cwd: sub });
  await world.git("submodule", "add", "--quiet", "./sub", "sub");
  await world.git("commit", "--quiet", "-m", "A submodule");
  const { tasks } = (await world.ok(["task", "list"], { cwd: sub })) as { tasks: { id: string }[] };
  expect(tasks.map(({ id }) => id.slice(0, 8))).toEqual([taskId8(1)]);
  expect(await offered(world, ["task", "start"], sub)).toEqual([taskId8(1)]);
  expect(await offered(world, ["task", "start"])).toEqual([taskId8(1)]);
});

test("answer, split and resolve: only what asks, what proposes a split, what is in conflict", async () => {
  await using world = await makeWorld({
    seeds: [
      { name: "Plain" },
      { name: "Asks", status: "needs-input", fields: { pending_questions: [{ id: "q1", question: "Which?" }] } },
      {
        name: "Proposes",
        status: "needs-input",
        fields: { split_proposal: { reason: "two", sub_tasks: [{ name: "One" }, { name: "Two" }] } },
      },
      { name: "Rejected", status: "needs-input", fields: { split_proposal: { status: "rejected", sub_tasks: [] } } },
      { name: "In conflict" },
    ],
  });
  await world.ok(["task", "list"]);
  // Started here, and in a file that knows nothing of that.
  const file = join(world.tasks, "todo", taskFileName(5));
  const before = JSON.parse(readFileSync(file, "utf8")) as { history?: object[] };
  await world.ok(["task", "start", taskId8(5)]);
  await world.ok(["task", "edit", taskId8(5), "--description", "ours"]);
  const theirs = { at: "2024-06-01T00:00:00Z", by: "bob", session: "s", from: "todo", to: "in-progress" };
  writeFileSync(
    join(world.tasks, "in-progress", taskFileName(5)),
    JSON.stringify({
      ...before,
      description: "theirs",
      status: "in-progress",
      updated_at: theirs.at,
      history: [...(before.history ?? []), theirs],
    }),
  );
  await world.ok(["task", "list"]);
  expect(await offered(world, ["task", "answer"])).toEqual([taskId8(2)]);
  expect(await offered(world, ["task", "split"])).toEqual([taskId8(3)]);
  expect(await offered(world, ["task", "resolve"])).toEqual([taskId8(5)]);
});

test("where no task is named, the example names one for which the verb makes sense", async () => {
  await using world = await makeWorld({
    seeds: [
      { name: "Plain" },
      { name: "Asks", status: "needs-input", fields: { pending_questions: [{ id: "q1", question: "Which?" }] } },
    ],
  });
  const refusal = await world.refused("INVALID_INPUT", ["task", "answer"]);
  expect(refusal.example).toBe(`dotbot task answer ${taskId8(2)}`);
});
