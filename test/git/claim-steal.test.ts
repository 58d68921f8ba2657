/** Claims that change hands, and claims of tasks that somebody moved by hand. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, renameSync } from "node:fs";
import { basename, join } from "node:path";

import { add } from "../../lib/task/ops/add.ts";
import { claim, heartbeat, release } from "../../lib/task/ops/claims.ts";
import { history } from "../../lib/task/ops/history.ts";
import { show } from "../../lib/task/ops/show.ts";
import { reset, start } from "../../lib/task/ops/transitions.ts";
import { inProcess, refusal, type Loose } from "../kit/call.ts";

describe("taking over a claim goes into history, whichever verb does it", () => {
  test.each([
    ["claim", claim, "bob"],
    ["heartbeat", heartbeat, "bob"],
    ["start", start, "bob"],
    ["release", release, undefined],
  ] as const)("%s", async (_, op, holder) => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await world.call(start, { task_id: "A", owner: "ann" });
    const taken = await world.call(op, { task_id: "A", owner: "bob", steal: "she left" });
    expect(taken.result).toMatchObject({ changed: true });
    const life = (await world.call(history, { task_id: "A" })).result["history"] as Loose[];
    expect(life.at(-1)).toMatchObject({ to: "in-progress", reason: "taken over from ann: she left" });
    const shown = (await world.call(show, { task_id: "A" })).result;
    expect((shown["claim"] as Loose | undefined)?.["owner"]).toBe(holder);
  });

  test("as one line, whoever is named in it", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await world.call(claim, { task_id: "A", owner: "an\u001b[31mn\n" });
    await world.call(claim, { task_id: "A", owner: "bob", steal: "she\nleft\u2028" });
    const life = (await world.call(history, { task_id: "A" })).result["history"] as Loose[];
    expect(life.at(-1)).toMatchObject({ reason: "taken over from an[31mn: sheleft" });
  });

  test("and nothing without a reason", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await world.call(claim, { task_id: "A", owner: "ann" });
    expect(await refusal(world.call(claim, { task_id: "A", owner: "bob", steal: " " }))).toMatchObject({
      code: "NOT_HOLDER",
    });
  });
});

test("a task whose file was moved to done by hand is held by nobody, and shown as done", async () => {
  await using world = await inProcess();
  await world.call(add, { name: "A" });
  const { path } = (await world.call(start, { task_id: "A", owner: "ann" })).result;
  const folder = join(world.repo, ".bot", "workspace", "tasks", "done");
  mkdirSync(folder, { recursive: true });
  renameSync(String(path), join(folder, basename(String(path))));
  expect((await world.call(show, { task_id: "A" })).result).not.toHaveProperty("claim");
  expect(await world.text(show, { task_id: "A" })).toMatch(/^status +done/m);
  expect((await world.call(reset, { task_id: "A" })).result).toMatchObject({ oldStatus: "done", newStatus: "todo" });
});
