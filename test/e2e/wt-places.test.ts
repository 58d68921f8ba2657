/** Disks that are full, other or read-only, what happens between a look and a move, and set-ups that go on after the answer. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { add } from "../../lib/task/ops/add.ts";
import { create } from "../../lib/wt/ops/create.ts";
import { status } from "../../lib/wt/ops/look.ts";
import { inProcess } from "../kit/call.ts";
import { run, write } from "../kit/git.ts";
import { requireTool } from "../kit/tools.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { begin, branches, checkoutState, commit, readyWorld, work } from "./wt-kit.ts";

const tmpfs = requireTool("tmpfs");

function mount(...args: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["mount", ...args]);
  if (exitCode !== 0) throw new Error(`mount ${args.join(" ")}: ${stderr.toString()}`);
}

/** A small file system of its own while the tests of a group run. */
function smallDisk(size: string): { readonly path: string; fill(leave: number): void; free(): void } {
  const path = mkdtempSync(join(tmpdir(), "dotbot-disk-"));
  beforeAll(() => mount("-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path));
  afterAll(() => {
    Bun.spawnSync(["umount", "-l", path]);
    rmSync(path, { recursive: true, force: true });
  });
  const filler = join(path, "filler");
  const block = new Uint8Array(4096).fill(1);
  return {
    path,
    fill(leave) {
      writeFileSync(filler, "");
      try {
        for (;;) appendFileSync(filler, block);
      } catch {
        // Full.
      }
      Bun.spawnSync(["truncate", "-s", `-${leave}`, filler]);
    },
    free: () => rmSync(filler, { force: true }),
  };
}

describe.skipIf(!tmpfs)("a disk that is full", () => {
  const disk = tmpfs ? smallDisk("16m") : { path: "", fill: () => {}, free: () => {} };

  test.each([0, 16_384, 131_072, 262_144])(
    "create, with %d bytes left: nothing of it stays, and it works later",
    async (left) => {
      const root = join(disk.path, `create-${left}`);
      await using world = await makeWorld({ at: root, files: { "big.bin": crypto.randomUUID().repeat(20_000) } });
      const id = String(at(await world.ok(["task", "add", "One"]), "task", "id"));
      const before = await checkoutState(world.main);
      disk.fill(left);
      const { status: ended } = await world.dotbot(["wt", "create", id]);
      disk.free();
      expect(ended).not.toBe(0);
      // What the full disk kept from being taken back is taken back by the next command.
      await world.ok(["wt", "prune", "--yes"]);
      expect(await checkoutState(world.main)).toEqual(before);
      const made = await world.ok(["wt", "create", id]);
      expect(Object.keys(await branches(world.main)).toSorted()).toEqual(["main", String(made["branch"])]);
      await run(world.main, "fsck", "--no-dangling", "--no-progress");
      rmSync(root, { recursive: true });
    },
  );

  test.each([0, 16_384, 131_072, 262_144])("complete, with %d bytes left: nothing or all of it", async (left) => {
    const root = join(disk.path, `complete-${left}`);
    const big = crypto.randomUUID().repeat(20_000);
    await using ready = await readyWorld({ "src/code.txt": "other\n", "big.bin": big }, { at: root });
    const { world, worktree } = ready;
    write(world.main, { "README.md": "dirty\n", "untracked.txt": "u\n" });
    const main = await world.git("rev-parse", "main");
    const before = await checkoutState(world.main);
    disk.fill(left);
    const { status: ended } = await world.dotbot(["wt", "complete", worktree.id]);
    disk.free();
    if (ended !== 0 && (await world.git("rev-parse", "main")) === main) {
      await world.ok(["wt", "prune", "--yes"]);
      expect(await checkoutState(world.main)).toEqual(before);
    }
    await world.ok(["wt", "complete", worktree.id]);
    expect(await world.git("rev-list", "--count", "main")).toBe("2");
    expect(await world.git("status", "--porcelain")).toBe(" M README.md\n?? untracked.txt");
    expect(await world.git("show", "main:big.bin")).toBe(big);
    rmSync(root, { recursive: true });
  });
});

describe.skipIf(!tmpfs)("worktrees on another file system", () => {
  const disk = tmpfs ? smallDisk("8m") : { path: "" };

  test("the trash is beside them, and what would be lost with the registration is in it", async () => {
    await using world = await makeWorld();
    write(world.main, { ".bot/.control/settings.json": JSON.stringify({ worktree: { root: disk.path } }) });
    const worktree = await begin(world, "One");
    expect(lstatSync(worktree.path).dev).not.toBe(lstatSync(world.main).dev);
    write(worktree.path, { "mine.txt": "precious\n" });
    const { trash } = await world.ok(["wt", "remove", worktree.id, "--force-dirty"]);
    expect(String(trash)).toStartWith(join(disk.path, ".dotbot-trash"));
    expect(await Bun.file(join(String(trash), "tree", "mine.txt")).text()).toBe("precious\n");
    const kept = join(world.main, ".git", "dotbot", "trash");
    const [folder = ""] = readdirSync(kept);
    expect(existsSync(join(kept, folder, "registration", "HEAD"))).toBe(true);
    expect((await world.git("worktree", "list")).split("\n")).toHaveLength(1);
  });

  test("what is completed goes there as well", async () => {
    await using world = await makeWorld();
    write(world.main, { ".bot/.control/settings.json": JSON.stringify({ worktree: { root: disk.path } }) });
    const worktree = await begin(world, "One");
    await work(world, worktree, { "work.txt": "w\n" });
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({ removed: true, branchDeleted: true });
  });
});

test.skipIf(!tmpfs)("a parent that can't be written offers a place inside the repository, and that works", async () => {
  const root = mkdtempSync(join(tmpdir(), "dotbot-parent-"));
  const main = join(root, "main");
  mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", root);
  try {
    await using world = await makeWorld({ at: root });
    const id = String(at(await world.ok(["task", "add", "One"]), "task", "id"));
    mount("--bind", main, main);
    mount("-o", "remount,bind,ro", root);
    const refusal = await world.refused("READ_ONLY", ["wt", "create", id]);
    expect(refusal.example).toBe("dotbot config set worktree.root .bot/worktrees");
    expect(at(await world.ok(["task", "show", id]), "task", "status")).toBe("todo");
    await world.ok(["config", "set", "worktree.root", ".bot/worktrees"]);
    write(main, { ".git/info/exclude": "/.bot/worktrees/\n" });
    const made = await world.ok(["wt", "create", id]);
    expect(String(made["path"])).toStartWith(join(main, ".bot", "worktrees"));
  } finally {
    Bun.spawnSync(["umount", "-l", main]);
    Bun.spawnSync(["umount", "-l", root]);
    rmSync(root, { recursive: true, force: true });
  }
});

describe("changed between the look and the move", () => {
  /** Runs a line when a ref below `prefix` is about to move: after the look, before the folder goes. */
  function whenRefMoves(world: World, prefix: string, line: string): void {
    const hooks = join(world.main, ".git", "hooks");
    mkdirSync(hooks, { recursive: true });
    const hook = join(hooks, "reference-transaction");
    writeFileSync(hook, `#!/bin/sh\n[ "$1" = prepared ] || exit 0\ngrep -q ' ${prefix}' || exit 0\n${line}\n`);
    chmodSync(hook, 0o755);
  }

  test("remove puts it back", async () => {
    await using world = await makeWorld();
    const worktree = await begin(world, "One");
    await commit(worktree.path, { "work.txt": "w\n" });
    whenRefMoves(world, "refs/dotbot/lost/", `echo precious > '${worktree.path}/late.txt'`);
    const { message } = await world.refused("DIRTY", ["wt", "remove", worktree.id, "--force-unmerged"]);
    expect(message).toContain("was put back");
    expect(await Bun.file(join(worktree.path, "late.txt")).text()).toBe("precious\n");
    expect(await run(worktree.path, "status", "--porcelain")).toBe("?? late.txt");
    expect(await world.ok(["wt", "list"])).toMatchObject({ total: 1, unfinished: [], worktrees: [{ fault: null }] });
  });

  test("complete lands, puts it back, and says so", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    whenRefMoves(world, "refs/heads/main", `echo precious > '${worktree.path}/late.txt'`);
    const answer = await world.ok(["wt", "complete", worktree.id]);
    expect(answer).toMatchObject({ outcome: "landed", removed: false, branchDeleted: false });
    expect(String(at(answer, "leftovers", 0))).toContain('"late.txt"');
    expect(await Bun.file(join(worktree.path, "late.txt")).text()).toBe("precious\n");
    expect(Object.keys(await branches(world.main))).toContain(worktree.branch);
  });
});

test("complete --save saves the queue as well", async () => {
  await using world = await makeWorld({ tracked: true });
  const worktree = await begin(world, "One");
  await work(world, worktree, { "work.txt": "w\n" });
  expect(await world.ok(["wt", "complete", worktree.id, "--save"])).toMatchObject({ outcome: "landed", saved: true });
  expect(await world.git("status", "--porcelain", ".bot/workspace/tasks")).toBe("");
});

test("task start --worktree tells a person where", async () => {
  await using world = await makeWorld();
  const id = String(at(await world.ok(["task", "add", "One"]), "task", "id"));
  const { stdout } = await world.dotbot(["task", "start", id, "--worktree"]);
  expect(stdout).toContain(`  in ${world.path("worktrees", "main", `task-${id.slice(0, 8)}-one`)}\n`);
  expect(stdout).toContain(`  branch task/${id.slice(0, 8)}-one from main `);
});

test("over MCP a create answers while its set-up runs, and wt status tells the end", async () => {
  await using world = await inProcess({ ".bot/.gitignore": ".control/\nworkspace/tasks\n", "a.txt": "a\n" });
  const mcp = { surface: "mcp" } as const;
  const go = world.dir.path("go");
  const commands = [`until [ -e '${go}' ]; do sleep 0.05; done; exit 7`];
  write(world.repo, { ".bot/.control/settings.json": JSON.stringify({ worktree: { post_create: commands } }) });
  const added = await world.call(add, { name: "One" });
  const task_id = String(at(added.result, "task", "id"));
  const made = await world.call(create, { task_id, session_id: "s" }, mcp);
  expect(made.result["setup"]).toMatchObject({ state: "running" });
  writeFileSync(go, "");
  let setup: unknown;
  do setup = (await world.call(status, { task_id }, mcp)).result["setup"];
  while (["running", "pending"].includes(String(at(setup, "state"))));
  expect(setup).toMatchObject({ state: "failed", command: commands[0], status: 7 });
});
