/** An edit that an editor wrote in place, so that no folder's time tells of it, counts for the pick and for its reasons. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";

import { add } from "../../lib/task/ops/add.ts";
import { next } from "../../lib/task/ops/claims.ts";
import { list } from "../../lib/task/ops/list.ts";
import { inProcess, type InProcess } from "../kit/call.ts";

async function editInPlace(
  world: InProcess,
  path: unknown,
  change: (doc: Record<string, unknown>) => void,
): Promise<void> {
  // Whatever there is to find out about the folders is found out before.
  await world.call(list);
  const doc = JSON.parse(readFileSync(String(path), "utf8")) as Record<string, unknown>;
  change(doc);
  writeFileSync(String(path), JSON.stringify(doc));
}

test("a task whose dependency was taken out is picked", async () => {
  await using world = await inProcess();
  await world.call(add, { name: "never", dependencies: [] });
  const { path } = (await world.call(add, { name: "B", priority: 1, dependencies: ["never"] })).result;
  await editInPlace(world, path, (doc) => (doc["dependencies"] = []));
  expect((await world.call(next)).result["task"]).toMatchObject({ name: "B" });
});

test("the reason is that of the file", async () => {
  await using world = await inProcess();
  const { path } = (await world.call(add, { name: "B" })).result;
  await editInPlace(world, path, (doc) => (doc["dependencies"] = ["ghost"]));
  expect((await world.call(next)).result).toMatchObject({
    task: null,
    reasons: [{ why: "missing-dependency", waitingOn: ["ghost"] }],
  });
  await editInPlace(world, path, (doc) => (doc["dependencies"] = ["B"]));
  expect((await world.call(next)).result).toMatchObject({ task: null, reasons: [{ why: "cycle" }] });
});
