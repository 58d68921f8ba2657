/**
 * Traps: work that no status shows, configuration that turns a merge into another one, records that were lost, commits that
 * only a registration names. Nothing may go unnamed, and what is said to have landed has landed.
 */
import { describe, expect, test } from "bun:test";
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { start } from "../kit/binary.ts";
import { run, write } from "../kit/git.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import {
  begin,
  beginTask,
  branches,
  checkoutState,
  commit,
  readyWorld,
  subjects,
  work,
  type Worktree,
} from "./wt-kit.ts";

const submodule = ["-c", "protocol.file.allow=always", "submodule", "--quiet"] as const;

/** A world whose base has a submodule "sub", and a worktree in which it is checked out. */
async function withSubmodule(): Promise<{ world: World; worktree: Worktree; sub: string }> {
  const world = await makeWorld();
  await world.git("clone", "-q", world.main, world.path("library"));
  await world.git(...submodule, "add", world.path("library"), "sub");
  await world.git("commit", "-q", "-m", "sub");
  const worktree = await begin(world, "One");
  await run(worktree.path, ...submodule, "update", "--init");
  return { world, worktree, sub: join(worktree.path, "sub") };
}

describe("work that no status shows keeps the worktree", () => {
  const hidden: readonly (readonly [flag: string])[] = [["--assume-unchanged"], ["--skip-worktree"]];
  test.each(hidden)("an edit under %s", async (flag) => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await run(worktree.path, "update-index", flag, "src/code.txt");
    expect(await world.ok(["wt", "status", worktree.id])).toMatchObject({ blockers: [] });
    appendFileSync(join(worktree.path, "src/code.txt"), "precious\n");
    expect((await world.refused("DIRTY", ["wt", "complete", worktree.id])).message).toContain("told not to look at");
    expect((await world.refused("DIRTY", ["wt", "remove", worktree.id])).message).toContain('"src/code.txt"');
    expect(await subjects(world.main)).toHaveLength(1);
  });

  test("a repository that the branch has as a bare link, without a submodule's entry", async () => {
    await using world = await makeWorld();
    const worktree = await begin(world, "One");
    const nested = join(worktree.path, "nested");
    mkdirSync(nested);
    await run(nested, "init", "-q");
    await commit(nested, { "x.txt": "x\n" });
    await work(world, worktree, { "work.txt": "w\n" });
    expect((await world.refused("DIRTY", ["wt", "complete", worktree.id])).message).toContain('"nested"');
  });

  test("a stash in a submodule", async () => {
    const { world, worktree, sub } = await withSubmodule();
    await using _ = world;
    appendFileSync(join(sub, "src/code.txt"), "w\n");
    await run(sub, "stash", "-q");
    await work(world, worktree, { "work.txt": "w\n" });
    expect((await world.refused("DIRTY", ["wt", "complete", worktree.id])).message).toContain('"sub"');
  });

  test("an unpushed commit of a submodule that the branch has removed", async () => {
    const { world, worktree, sub } = await withSubmodule();
    await using _ = world;
    await run(sub, "checkout", "-q", "-b", "mine");
    await commit(sub, { "x.txt": "x\n" });
    await run(sub, "checkout", "-q", "--detach", "HEAD~1");
    await run(worktree.path, "rm", "-q", "sub");
    await work(world, worktree, { "work.txt": "w\n" });
    const { message } = await world.refused("DIRTY", ["wt", "complete", worktree.id]);
    expect(message).toContain('the submodule "sub" has commits that aren\'t on any remote');
  });

  const changes: readonly (readonly [title: string, change: (folder: string) => void])[] = [
    ["a file added to it", (folder) => writeFileSync(join(folder, "result.csv"), "precious\n")],
    ["a file in it changed", (folder) => writeFileSync(join(folder, "deep", "config"), "changed\n")],
    ["a file in it removed", (folder) => rmSync(join(folder, "deep", "config"))],
  ];
  test.each(changes)("a folder that the set-up brought, %s", async (_title, change) => {
    await using world = await makeWorld({ files: { ".gitignore": "local/\n", ".worktreeinclude": "local/\n" } });
    write(world.main, { "local/deep/config": "c\n", "local/deep/other": "o\n" });
    const worktree = await begin(world, "One");
    await work(world, worktree, { "work.txt": "w\n" });
    expect(await world.ok(["wt", "status", worktree.id])).toMatchObject({ blockers: [] });
    change(join(worktree.path, "local"));
    expect((await world.refused("DIRTY", ["wt", "complete", worktree.id])).message).toContain('"local/"');
    expect(await world.ok(["wt", "complete", worktree.id, "--discard-ignored"])).toMatchObject({ removed: true });
  });
});

describe("what lands is what was verified", () => {
  const settings: readonly (readonly [name: string, value: string])[] = [
    ["branch.main.mergeOptions", "-s ours"],
    ["branch.main.mergeOptions", "--no-ff --squash"],
    ["pull.twohead", "ours"],
    ["merge.ff", "false"],
  ];
  test.each(settings)("whatever %s=%s says", async (name, value) => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("config", name, value);
    const { commit: landed } = await world.ok(["wt", "complete", worktree.id]);
    expect(await world.git("rev-parse", "main")).toBe(String(landed));
    expect(readFileSync(join(world.main, "work.txt"), "utf8")).toBe("work\n");
    expect(await world.git("status", "--porcelain")).toBe("");
  });

  test("onto the branch that a second name stands for", async () => {
    await using world = await makeWorld();
    await world.git("branch", "-m", "main", "trunk");
    await world.git("symbolic-ref", "refs/heads/main", "refs/heads/trunk");
    const worktree = await begin(world, "One");
    await work(world, worktree, { "work.txt": "w\n" });
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({ base: "trunk", outcome: "landed" });
    expect(await world.git("symbolic-ref", "refs/heads/main")).toBe("refs/heads/trunk");
    expect(await world.git("status", "--porcelain")).toBe("");
  });

  test("a branch that was renamed is named, with the way back", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await run(worktree.path, "branch", "-m", "other");
    const { example } = await world.refused("NOT_FOUND", ["wt", "complete", worktree.id]);
    expect(example).toBe(`git -C ${worktree.path} branch -m other ${worktree.branch}`);
  });
});

describe("the user's checkout", () => {
  const flags: readonly (readonly [flag: string])[] = [["--assume-unchanged"], ["--skip-worktree"]];
  test.each(flags)("an edit under %s refuses, and nobody is held up by it", async (flag) => {
    await using ready = await readyWorld({ "src/code.txt": "other\n" });
    const { world, worktree } = ready;
    appendFileSync(join(world.main, "src/code.txt"), "local\n");
    await world.git("update-index", flag, "src/code.txt");
    const before = await checkoutState(world.main);
    expect(await world.refused("DIRTY", ["wt", "complete", worktree.id])).toMatchObject({
      details: { files: ["src/code.txt"] },
    });
    expect(await checkoutState(world.main)).toEqual(before);
    expect((await begin(world, "Another")).branch).toContain("another");
  });

  const inside: readonly (readonly [kind: string, name: string])[] = [
    ["untracked", "d/mine.txt"],
    ["ignored", "d/mine.ign"],
  ];
  test.each(inside)("an %s file in a folder that becomes a file", async (_kind, name) => {
    await using world = await makeWorld({ files: { ".gitignore": "*.ign\n", "d/tracked.txt": "t\n" } });
    const worktree = await begin(world, "One");
    await work(world, worktree, { "d/tracked.txt": null, d: "file\n" });
    write(world.main, { [name]: "precious\n" });
    const before = await checkoutState(world.main);
    await world.refused("DIRTY", ["wt", "complete", worktree.id]);
    expect(await checkoutState(world.main)).toEqual(before);
  });
});

describe("tips are kept", () => {
  async function keepers(world: World, oid: string): Promise<string> {
    return await world.git("for-each-ref", "--format=%(refname)", "--contains", oid);
  }

  test("of two completions, though the ledger was lost between them", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    const first = await world.ok(["wt", "complete", worktree.id]);
    for (const name of new Bun.Glob("*.db*").scanSync({ cwd: join(world.main, ".git", "dotbot") }))
      rmSync(join(world.main, ".git", "dotbot", name));
    await world.ok(["task", "reset", worktree.id]);
    const again = await beginTask(world, worktree.id);
    await work(world, again, { "second.txt": "2\n" });
    const second = await world.ok(["wt", "complete", worktree.id]);
    expect([first["keptRef"], second["keptRef"]]).toEqual([1, 2].map((n) => `refs/dotbot/done/${worktree.id8}-${n}`));
    expect(await keepers(world, String(second["tip"]))).toBe(`refs/dotbot/done/${worktree.id8}-2`);
  });

  /** Commits on a detached HEAD; the commit. */
  async function detached({ path, id8 }: Worktree): Promise<string> {
    await run(path, "checkout", "-q", "--detach");
    await commit(path, { "unique.txt": `${id8}\n` });
    return await run(path, "rev-parse", "HEAD");
  }

  test("a detached HEAD whose folder is gone, by prune and by create", async () => {
    await using world = await makeWorld();
    const [pruned, made] = [await begin(world, "One"), await begin(world, "Two")];
    await begin(world, "Three");
    const tips = [await detached(pruned), await detached(made)];
    rmSync(made.path, { recursive: true });
    await world.ok(["wt", "create", made.id]);
    rmSync(pruned.path, { recursive: true });
    await world.ok(["wt", "prune", "--yes"]);
    expect(existsSync(join(world.main, ".git", "worktrees", `task-${pruned.id8}-one`))).toBe(false);
    for (const [i, { id8 }] of [pruned, made].entries())
      expect(await keepers(world, tips[i] ?? "")).toBe(`refs/dotbot/lost/${id8}-1`);
  });

  test("remove keeps the branch's tip, a detached HEAD and the worktree's own refs", async () => {
    await using world = await makeWorld();
    const worktree = await begin(world, "One");
    await commit(worktree.path, { "branch.txt": "b\n" });
    const own = await run(worktree.path, "commit-tree", "-m", "own", "HEAD^{tree}");
    await run(worktree.path, "update-ref", "refs/worktree/own", own);
    const branch = await run(worktree.path, "rev-parse", "HEAD");
    await run(worktree.path, "checkout", "-q", "--detach", "main");
    const head = await detached(worktree);
    await world.refused("UNMERGED", ["wt", "remove", worktree.id]);
    await world.ok(["wt", "remove", worktree.id, "--force-unmerged"]);
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
    for (const tip of [branch, head, own]) expect(await keepers(world, tip)).toContain("refs/dotbot/lost/");
  });

  test("for as long as --older-than says since they were kept, however old the commit", async () => {
    await using world = await makeWorld();
    const worktree = await begin(world, "One");
    await commit(worktree.path, { "old.txt": "o\n" });
    const text = (await run(worktree.path, "cat-file", "commit", "HEAD")).replace(/> \d+ /g, "> 1577836800 ");
    writeFileSync(world.path("commit"), `${text}\n`);
    const tip = await run(worktree.path, "hash-object", "-t", "commit", "-w", world.path("commit"));
    await run(worktree.path, "reset", "-q", "--hard", tip);
    const { keptRef } = await world.ok(["wt", "remove", worktree.id, "--force-unmerged"]);
    const removed = async (): Promise<unknown> =>
      (await world.ok(["wt", "prune", "--yes", "--older-than", "30d"]))["removed"];
    expect(await removed()).toEqual([]);
    const log = join(world.main, ".git", "logs", String(keptRef));
    writeFileSync(log, readFileSync(log, "utf8").replace(/> \d+ /, "> 1600000000 "));
    expect(await removed()).toMatchObject([{ kind: "kept-ref", what: keptRef }]);
  });
});

test("undo takes back what landed, not a completion that had nothing to merge", async () => {
  await using ready = await readyWorld();
  const { world, worktree } = ready;
  const { commit: landed } = await world.ok(["wt", "complete", worktree.id]);
  await world.ok(["task", "reset", worktree.id]);
  await world.ok(["wt", "create", worktree.id]);
  await world.ok(["task", "done", worktree.id]);
  expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({ outcome: "nothing" });
  expect(await world.ok(["wt", "undo", worktree.id])).toMatchObject({ changed: true, reverted: landed });
  expect(await world.ok(["wt", "undo", worktree.id])).toMatchObject({ changed: false, reverted: landed });
  expect(existsSync(join(world.main, "work.txt"))).toBe(false);

  const idle = await begin(world, "Idle");
  await world.ok(["task", "done", idle.id]);
  expect(await world.ok(["wt", "complete", idle.id])).toMatchObject({ outcome: "nothing" });
  expect((await world.refused("NOT_FOUND", ["wt", "undo", idle.id])).message).toContain("nothing to merge");
});

test("a create that is interrupted in a hook takes everything back at once", async () => {
  await using world = await makeWorld();
  const reached = world.path("reached");
  expect(Bun.spawnSync(["mkfifo", reached]).exitCode).toBe(0);
  const hooks = join(world.main, ".git", "hooks");
  write(hooks, { "post-checkout": `#!/bin/sh\necho here > '${reached}'\nexec sleep 600\n` });
  chmodSync(join(hooks, "post-checkout"), 0o755);
  const id = String(at(await world.ok(["task", "add", "One"]), "task", "id"));
  const child = await start(["wt", "create", id], { cwd: world.main });
  // Opening a pipe waits for its other end: the hook is running then.
  await Bun.file(reached).text();
  child.kill("SIGINT");
  expect(await child.exited).toBe(130);
  expect(Object.keys(await branches(world.main))).toEqual(["main"]);
  expect((await world.git("worktree", "list")).split("\n")).toHaveLength(1);
  expect(at(await world.ok(["task", "show", id]), "task", "status")).toBe("todo");
  expect(await world.ok(["wt", "list"])).toMatchObject({ total: 0, unfinished: [] });
});
