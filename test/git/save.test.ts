/** Sharing the queue between clones: snapshots as commits, and taking them in. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";

import type { Ctx } from "../../lib/ctx.ts";
import { add } from "../../lib/task/ops/add.ts";
import { edit } from "../../lib/task/ops/edit.ts";
import { list } from "../../lib/task/ops/list.ts";
import { load, save } from "../../lib/task/ops/save.ts";
import { show } from "../../lib/task/ops/show.ts";
import { done } from "../../lib/task/ops/done.ts";
import { start } from "../../lib/task/ops/transitions.ts";
import { inProcess, type InProcess } from "../kit/call.ts";
import { makeRepo, rejection, run, tempDir } from "../kit/git.ts";

/** Two clones of one bare repository, each with a queue of its own. */
async function twoClones(): Promise<InProcess & { other: Partial<Ctx>; remote: string }> {
  const world = await inProcess();
  const remote = world.dir.path("remote.git");
  await run(world.dir.root, "clone", "--quiet", "--bare", world.repo, remote);
  await run(world.repo, "remote", "add", "origin", remote);
  const clone = world.dir.path("clone");
  await run(world.dir.root, "clone", "--quiet", remote, clone);
  mkdirSync(`${clone}/.bot`);
  return Object.assign(world, { other: { cwd: clone }, remote });
}

const names = async (world: InProcess, changes: Partial<Ctx> = {}): Promise<string[]> => {
  const { result } = await world.call(list, {}, { answer: { as: "json", update: async () => {} }, ...changes });
  return (result["tasks"] as { name: string; status: string }[]).map((task) => `${task.name}: ${task.status}`).sort();
};

describe("a snapshot", () => {
  test("is a commit on its own branch, and touches neither checkout nor index", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    writeFileSync(`${world.repo}/staged.txt`, "staged\n");
    await run(world.repo, "add", "staged.txt");
    const before = await run(world.repo, "status", "--porcelain=v2", "--branch");
    const { result } = await world.call(save);
    expect(result).toMatchObject({ onBranch: "dotbot/queue", changed: true, files: 1, tracked: false });
    expect(await run(world.repo, "status", "--porcelain=v2", "--branch")).toBe(before);
    expect((await run(world.repo, "ls-tree", "-r", "--name-only", "dotbot/queue")).trim()).toMatch(
      /^\.bot\/workspace\/tasks\/todo\/a-[0-9a-f]{8}\.json$/,
    );
    expect((await run(world.repo, "for-each-ref", "refs/dotbot")).trim()).toBe("");
  });

  test("of the same queue is no second commit; of a changed one it is, on top of the first", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    const first = (await world.call(save)).result;
    const again = (await world.call(save)).result;
    expect(again).toMatchObject({ commit: first["commit"], changed: false });
    await world.call(start, { task_id: "A" });
    const next = (await world.call(save)).result;
    expect((await run(world.repo, "rev-parse", "dotbot/queue^")).trim()).toBe(first["commit"] as string);
    expect(next["changed"]).toBe(true);
  });

  test("isn't moved under a checkout that shows it", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await world.call(save);
    await run(world.repo, "worktree", "add", "--quiet", world.dir.path("shown"), "dotbot/queue");
    await world.call(add, { name: "B" });
    expect(await rejection(world.call(save))).toMatchObject({ code: "REFUSED" });
  });

  test("where the project tracks its queue: a commit of exactly the queue's files, on the branch that is checked out", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await run(world.repo, "add", "-f", ".bot/workspace/tasks");
    await run(world.repo, "commit", "--quiet", "-m", "Track the queue");
    writeFileSync(`${world.repo}/staged.txt`, "staged\n");
    await run(world.repo, "add", "staged.txt");
    await world.call(start, { task_id: "A" });
    const { result } = await world.call(save, { message: "The queue" });
    expect(result).toMatchObject({ tracked: true, changed: true, onBranch: "main" });
    const changed = (await run(world.repo, "show", "--name-status", "--format=%s", "HEAD")).trim();
    expect(changed).not.toContain("staged.txt");
    expect(changed).toContain("in-progress");
    expect(await run(world.repo, "diff", "--cached", "--name-only")).toBe("staged.txt");
  });
});

describe("between two clones", () => {
  test("what one saves and pushes the other takes in, and back", async () => {
    await using world = await twoClones();
    await world.call(add, { name: "A" });
    await world.call(add, { name: "B" });
    expect((await world.call(save, { push: true })).result).toMatchObject({
      pushed: { remote: "origin", ref: "refs/heads/dotbot/queue" },
    });
    expect((await world.call(load, { remote: "origin" }, world.other)).result).toMatchObject({
      added: 2,
      conflicts: 0,
    });
    expect(await names(world, world.other)).toEqual(["A: todo", "B: todo"]);

    await world.call(start, { task_id: "A" }, world.other);
    await world.call(done, { task_id: "A" }, world.other);
    await world.call(save, { push: true }, world.other);
    expect((await world.call(load, { remote: "origin" })).result).toMatchObject({ updated: 1, same: 1 });
    expect(await names(world)).toEqual(["A: done", "B: todo"]);
    expect(readdirSync(`${world.repo}/.bot/workspace/tasks/done`)).toHaveLength(1);
    expect(readdirSync(`${world.repo}/.bot/workspace/tasks/todo`)).toHaveLength(1);
  });

  test("an earlier state takes nothing back", async () => {
    await using world = await twoClones();
    await world.call(add, { name: "A" });
    await world.call(save, { push: true });
    await world.call(start, { task_id: "A" });
    expect((await world.call(load, { remote: "origin" })).result).toMatchObject({ older: 1, updated: 0, conflicts: 0 });
    expect(await names(world)).toEqual(["A: in-progress"]);
  });

  test("where both moved on, both versions are kept until somebody settles it", async () => {
    await using world = await twoClones();
    await world.call(add, { name: "A" });
    await world.call(save, { push: true });
    await world.call(load, { remote: "origin" }, world.other);
    await world.call(start, { task_id: "A" });
    await world.call(edit, { task_id: "A", description: "theirs" }, world.other);
    await world.call(start, { task_id: "A", by: "bob" }, world.other);
    await world.call(save, { push: true }, world.other);
    expect((await world.call(load, { remote: "origin" })).result).toMatchObject({ conflicts: 1, updated: 0 });
    const { result } = await world.call(list, {}, { answer: { as: "json", update: async () => {} } });
    expect(result["conflicts"]).toMatchObject([{ name: "A" }]);
    expect((await world.call(show, { task_id: "A" })).result["task"]).not.toMatchObject({ description: "theirs" });
  });

  test("a remote that has moved on refuses the push, and says how to go on", async () => {
    await using world = await twoClones();
    await world.call(add, { name: "A" });
    await world.call(save, { push: true });
    await world.call(add, { name: "B" }, world.other);
    expect(await rejection(world.call(save, { push: true }, world.other))).toMatchObject({ code: "REJECTED" });
  });
});

describe("refusals", () => {
  test.each([
    ["a remote that isn't there", { remote: "upstream" }, "NOT_FOUND"],
    ["a remote that looks like an option", { remote: "--upload-pack=x" }, "INVALID_INPUT"],
    ["a commit that isn't there", { from: "nowhere" }, "NOT_FOUND"],
    ["a commit that looks like an option", { from: "--output=x" }, "NOT_FOUND"],
    ["a commit and a remote", { from: "main", remote: "origin" }, "USAGE"],
  ])("load: %s", async (_, input, code) => {
    await using world = await twoClones();
    expect(await rejection(world.call(load, input))).toMatchObject({ code });
  });

  test("a repository without a remote has nothing to push to", async () => {
    await using dir = await tempDir();
    await makeRepo(dir.path("alone"));
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    expect(await rejection(world.call(save, { push: true }))).toMatchObject({ code: "INVALID_INPUT" });
  });
});
