/** Two people with a clone each: what one did, the other's snapshot never takes back without a word. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";

import type { AnyOperation } from "../../lib/op.ts";
import { add } from "../../lib/task/ops/add.ts";
import { done } from "../../lib/task/ops/done.ts";
import { edit } from "../../lib/task/ops/edit.ts";
import { history } from "../../lib/task/ops/history.ts";
import { remove } from "../../lib/task/ops/remove.ts";
import { resolve } from "../../lib/task/ops/resolve.ts";
import { load, save } from "../../lib/task/ops/save.ts";
import { show } from "../../lib/task/ops/show.ts";
import { start } from "../../lib/task/ops/transitions.ts";
import { inProcess, refusal, type Loose } from "../kit/call.ts";
import { run } from "../kit/git.ts";

type Clone = (op: AnyOperation, input?: Readonly<Record<string, unknown>>) => Promise<Loose>;

interface Pair extends AsyncDisposable {
  ann: Clone;
  bob: Clone;
  /** The state root of ann's clone. */
  readonly root: string;
}

/** Two clones with one task, "A", that both know. */
async function pair(): Promise<Pair> {
  const world = await inProcess();
  const remote = world.dir.path("remote.git");
  const clone = world.dir.path("clone");
  await run(world.dir.root, "clone", "--quiet", "--bare", world.repo, remote);
  await run(world.repo, "remote", "add", "origin", remote);
  await run(world.dir.root, "clone", "--quiet", remote, clone);
  mkdirSync(`${clone}/.bot`);
  const at =
    (cwd: string): Clone =>
    async (op, input) =>
      (await world.call(op, input, { cwd })).result;
  const [ann, bob] = [at(world.repo), at(clone)];
  await ann(add, { name: "A" });
  await give(ann);
  await take(bob);
  return { ann, bob, root: world.repo, [Symbol.asyncDispose]: async () => await world[Symbol.asyncDispose]() };
}

const give = async (from: Clone): Promise<Loose> => await from(save, { push: true });
const take = async (by: Clone): Promise<Loose> => await by(load, { remote: "origin" });
const task = async (of: Clone): Promise<Loose> => (await of(show, { task_id: "A" }))["task"] as Loose;

describe("an edit of ann's that bob didn't know", () => {
  const steps: readonly [what: string, op: AnyOperation, input: Loose][] = [
    ["started the task", start, { task_id: "A" }],
    ["edited another field", edit, { task_id: "A", priority: 3 }],
    ["edited the same field", edit, { task_id: "A", description: "bob's" }],
  ];
  test.each(steps)("stays when he %s: a conflict", async (_, op, input) => {
    await using clones = await pair();
    const { ann, bob } = clones;
    await bob(op, input);
    await give(bob);
    await ann(edit, { task_id: "A", description: "ann's" });
    expect(await take(ann)).toMatchObject({ updated: 0, conflicts: 1 });
    expect(await task(ann)).toMatchObject({ description: "ann's", priority: 50, status: "todo" });
  });

  test("stays when he edited several times", async () => {
    await using clones = await pair();
    const { ann, bob } = clones;
    for (const priority of [1, 2, 3]) await bob(edit, { task_id: "A", priority });
    await give(bob);
    await ann(edit, { task_id: "A", description: "ann's" });
    expect(await take(ann)).toMatchObject({ updated: 0, conflicts: 1 });
  });
});

test("edits of bob's aren't taken for an earlier state because ann moved the task after them", async () => {
  await using clones = await pair();
  const { ann, bob } = clones;
  for (const priority of [1, 2, 3]) await bob(edit, { task_id: "A", priority });
  await give(bob);
  await ann(start, { task_id: "A" });
  expect(await take(ann)).toMatchObject({ older: 0, conflicts: 1 });
});

test("edits that follow from each other go to and fro without a conflict", async () => {
  await using clones = await pair();
  const { ann, bob } = clones;
  for (const priority of [1, 2, 3]) await bob(edit, { task_id: "A", priority });
  await give(bob);
  expect(await take(ann)).toMatchObject({ updated: 1, conflicts: 0 });
  // The revision goes on from bob's: a lower one would be an earlier state to him.
  await ann(edit, { task_id: "A", description: "ann's" });
  expect(await task(ann)).toMatchObject({ revision: 5 });
  await give(ann);
  expect(await take(bob)).toMatchObject({ updated: 1, conflicts: 0 });
  await bob(edit, { task_id: "A", description: "bob's" });
  await give(bob);
  expect(await take(ann)).toMatchObject({ updated: 1, conflicts: 0 });
  expect(await task(ann)).toMatchObject({ description: "bob's", priority: 3 });
});

describe("a conflict that ann settled", () => {
  test.each([
    ["ours", { ours: true }, { description: "ann's", priority: 50 }],
    ["theirs", { theirs: true }, { description: "", priority: 3 }],
    ["a document", { merged: { name: "A", description: "both", priority: 3 } }, { description: "both", priority: 3 }],
  ] as const)("with %s is settled for bob too", async (_, choice, fields) => {
    await using clones = await pair();
    const { ann, bob } = clones;
    await bob(start, { task_id: "A", by: "bob" });
    await bob(edit, { task_id: "A", priority: 3 });
    await give(bob);
    await ann(start, { task_id: "A", by: "ann" });
    await ann(edit, { task_id: "A", description: "ann's" });
    expect(await take(ann)).toMatchObject({ conflicts: 1 });
    await ann(resolve, { task_id: "A", ...choice });
    await give(ann);
    expect(await take(bob)).toMatchObject({ updated: 1, conflicts: 0 });
    expect(await task(bob)).toMatchObject(fields);
    // Both know the whole story, and what bob does next is news to nobody but ann.
    const life = (await bob(history, { task_id: "A" }))["history"] as Loose[];
    expect(life.map((entry) => entry["by"])).toEqual(expect.arrayContaining(["ann", "bob"]));
    await bob(done, { task_id: "A" });
    await give(bob);
    expect(await take(ann)).toMatchObject({ updated: 1, conflicts: 0 });
    expect(await task(ann)).toMatchObject({ ...fields, status: "done" });
  });
});

describe("a version of a task that was removed here", () => {
  async function removed(): Promise<Pair> {
    const clones = await pair();
    await clones.bob(edit, { task_id: "A", description: "bob's" });
    await give(clones.bob);
    await clones.ann(remove, { task_id: "A" });
    expect(await take(clones.ann)).toMatchObject({ conflicts: 1 });
    return clones;
  }
  const hashOf = async (clone: Clone): Promise<unknown> =>
    ((await clone(resolve))["conflicts"] as Loose[])[0]?.["hash"];

  test("can be left away", async () => {
    await using clones = await removed();
    const settled = await clones.ann(resolve, { hash: await hashOf(clones.ann), ours: true });
    expect(settled).toMatchObject({ changed: true, conflicts: [] });
    expect(await refusal(clones.ann(show, { task_id: "A" }))).toMatchObject({ code: "TASK_NOT_FOUND" });
  });

  test("can bring it back", async () => {
    await using clones = await removed();
    await clones.ann(resolve, { hash: await hashOf(clones.ann), theirs: true });
    expect(await task(clones.ann)).toMatchObject({ description: "bob's", status: "todo" });
    expect(readdirSync(`${clones.root}/.bot/workspace/tasks/todo`)).toHaveLength(1);
  });
});
