/** What the hooks of agents keep, in a repository with a queue and in one without: the same. */
import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { dotbot, type Outcome } from "../kit/binary.ts";
import { makeRepo, run, tempDir, write } from "../kit/git.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { create, hook, refuses } from "./wt-hook-kit.ts";
import { begin, branches, commit } from "./wt-kit.ts";

const GROUNDS = ["with a queue", "without a queue"] as const;
const IGNORED = ".claude/\nvendor/\n.env\n";

async function makeGround(title: (typeof GROUNDS)[number]): Promise<World> {
  const world = await makeWorld({ files: { ".gitignore": IGNORED } });
  if (title === "with a queue") return world;
  await world.git("rm", "-rq", ".bot");
  rmSync(join(world.main, ".bot"), { recursive: true, force: true });
  await world.git("commit", "-q", "-m", "no queue");
  return world;
}

const remove = async (world: World, path: string): Promise<Outcome> =>
  await hook(world.main, "remove", { worktree_path: path, cwd: world.main });

const submodule = ["-c", "protocol.file.allow=always", "submodule", "--quiet"] as const;

async function nestedRepository(at: string): Promise<void> {
  mkdirSync(at, { recursive: true });
  await run(at, "init", "-q");
  await commit(at, { "unique.txt": "u\n" });
}

describe.each(GROUNDS)("remove, %s", (ground) => {
  type Row = readonly [what: string, leave: (path: string, world: World) => Promise<unknown>, says: RegExp];
  const STAYS: readonly Row[] = [
    ["a repository in an ignored folder", (path) => nestedRepository(join(path, "vendor")), /repository: "vendor"/],
    ["a repository in a folder that is tracked", (path) => nestedRepository(join(path, "src")), /repository: "src"/],
    [
      "a worktree in it",
      (path) => run(path, "worktree", "add", "-q", "-b", "inner", join(path, ".claude", "inner")),
      /repository: "\.claude\/inner"/,
    ],
    [
      "an edit under skip-worktree",
      async (path) => {
        await run(path, "update-index", "--skip-worktree", "README.md");
        writeFileSync(join(path, "README.md"), "edited\n");
      },
      /change that git was told not to look at: "README\.md"/,
    ],
    [
      "an edit under assume-unchanged",
      async (path) => {
        await run(path, "update-index", "--assume-unchanged", "README.md");
        writeFileSync(join(path, "README.md"), "edited\n");
      },
      /change that git was told not to look at: "README\.md"/,
    ],
    [
      "a commit of a submodule's that is nowhere else",
      async (path) => {
        await run(path, ...submodule, "update", "--init");
        await commit(join(path, "sub"), { "unique.txt": "u\n" });
        await run(path, "update-index", "--assume-unchanged", "sub");
      },
      /the submodule "sub" has commits that aren't on any remote/,
    ],
    ["a merge that goes on", (path) => run(path, "bisect", "start"), /a bisect goes on/],
    ["a lock", (path, world) => world.git("worktree", "lock", "--reason", "mine", path), /locked: "mine"/],
  ];
  test.each(STAYS)("stays for %s", async (_, leave, says) => {
    await using world = await makeGround(ground);
    await world.git(...submodule, "add", await makeRepo(world.path("library")), "sub");
    await world.git("commit", "-q", "-m", "sub");
    const path = await create(world.main, { name: "bold-oak", cwd: world.main });
    await leave(path, world);
    const before = readdirSync(path);
    await refuses(remove(world, path), 4, says);
    expect(readdirSync(path)).toEqual(before);
  });

  test("what goes is kept: ignored files in the trash, commits of its own names under refs/dotbot/lost", async () => {
    await using world = await makeGround(ground);
    const path = await create(world.main, { name: "bold-oak", cwd: world.main });
    write(path, { ".env": "SECRET=1\n" });
    await run(path, "commit", "-q", "--allow-empty", "-m", "aside");
    const aside = await run(path, "rev-parse", "HEAD");
    await run(path, "update-ref", "refs/worktree/aside", aside);
    await run(path, "reset", "-q", "--hard", "HEAD^");
    const gone = await remove(world, path);
    expect(gone.status).toBe(0);
    const trash = /kept in (.*) for seven days/.exec(gone.stderr)?.[1] ?? "";
    expect(readFileSync(join(trash, "tree", ".env"), "utf8")).toBe("SECRET=1\n");
    expect(await world.git("for-each-ref", "--format=%(refname)", `--contains=${aside}`)).toBe(
      "refs/dotbot/lost/bold-oak-1",
    );
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
  });

  test("a submodule in which nothing was done is no reason to stay", async () => {
    await using world = await makeGround(ground);
    await world.git(...submodule, "add", await makeRepo(world.path("library")), "sub");
    await world.git("commit", "-q", "-m", "sub");
    const path = await create(world.main, { name: "bold-oak", cwd: world.main });
    await run(path, ...submodule, "update", "--init");
    expect(await remove(world, path)).toMatchObject({ status: 0, stdout: "" });
    expect(existsSync(path)).toBe(false);
    expect((await world.git("worktree", "list")).split("\n")).toHaveLength(1);
  });

  test("a branch that another checkout has as well stays", async () => {
    await using world = await makeGround(ground);
    const path = await create(world.main, { name: "bold-oak", cwd: world.main });
    await world.git("worktree", "add", "-q", "--force", world.path("twin"), "worktree-bold-oak");
    expect((await remove(world, path)).status).toBe(0);
    expect(Object.keys(await branches(world.main))).toEqual(["main", "worktree-bold-oak"]);
  });
});

test("a task's worktree stays for a repository in a folder that is tracked", async () => {
  await using world = await makeWorld();
  const wt = await begin(world, "Add a login page");
  await nestedRepository(join(wt.path, "src"));
  await world.refused("REFUSED", ["wt", "remove", wt.id, "--force-dirty", "--force-unmerged", "--discard-ignored"]);
  expect(existsSync(join(wt.path, "src", "unique.txt"))).toBe(true);
});

test("a task's worktree that somebody locked, and whose folder isn't there, stays registered", async () => {
  await using world = await makeWorld();
  const wt = await begin(world, "Add a login page");
  await world.git("worktree", "unlock", wt.path);
  await world.git("worktree", "lock", "--reason", "on a disk", wt.path);
  rmSync(wt.path, { recursive: true });
  await world.refused("REFUSED", ["wt", "create", wt.id]);
  expect(await world.git("worktree", "list", "--porcelain")).toContain("locked on a disk");
});

test.each(GROUNDS)(
  "create again, %s: what was committed in a folder that was removed by hand is kept",
  async (ground) => {
    await using world = await makeGround(ground);
    const told = { name: "bold-oak", cwd: world.main };
    const path = await create(world.main, told);
    await run(path, "switch", "-q", "--detach");
    const tips = [];
    for (const message of ["aside", "on no branch"]) {
      await run(path, "commit", "-q", "--allow-empty", "-m", message);
      tips.push(await run(path, "rev-parse", "HEAD"));
      if (message === "aside") {
        await run(path, "update-ref", "refs/worktree/aside", "HEAD");
        await run(path, "reset", "-q", "--hard", "HEAD^");
      }
    }
    rmSync(path, { recursive: true });
    expect(await create(world.main, told)).toBe(path);
    const kept = await world.git("for-each-ref", "--format=%(objectname)", "refs/dotbot/lost/");
    expect(kept.split("\n").sort()).toEqual(tips.sort());
  },
);

/** What the next worktree's making does once all is checked out: it ends the dotbot that makes it. */
async function killInHook(world: World): Promise<void> {
  const hooks = world.path("hooks");
  mkdirSync(hooks);
  const script = `#!/bin/sh\nrm -f "$0"\nkill -9 "$(ps -o ppid= -p $PPID | tr -d ' ')"\n`;
  writeFileSync(join(hooks, "post-checkout"), script);
  chmodSync(join(hooks, "post-checkout"), 0o755);
  await world.git("config", "core.hooksPath", hooks);
}

const lastWorktree = async (world: World): Promise<string> =>
  /.*worktree ([^\n]+)/s.exec(await world.git("worktree", "list", "--porcelain"))?.[1] ?? "";

describe.each(GROUNDS)("a making that was killed, %s", (ground) => {
  test("stands when somebody has worked in it", async () => {
    await using world = await makeGround(ground);
    await killInHook(world);
    expect((await hook(world.main, "create", { name: "bold-oak", cwd: world.main })).status).toBe(137);
    const path = await lastWorktree(world);
    await commit(path, { "work.txt": "w\n" });
    write(path, { "dirty.txt": "d\n" });
    const next = await hook(world.main, "create", { name: "calm-elm", cwd: world.main });
    expect(next.stderr).toContain(`"bold-oak" was cut short: kept; there is work in ${JSON.stringify(path)}`);
    expect(await run(path, "status", "--porcelain", "--branch")).toBe("## worktree-bold-oak\n?? dirty.txt");
    expect(await create(world.main, { name: "bold-oak", cwd: world.main })).toBe(path);
  });

  test("stands on a branch that was there before, too, and though git's own mark is left", async () => {
    await using world = await makeGround(ground);
    const told = { name: "bold-oak", cwd: world.main };
    const path = await create(world.main, told);
    await commit(path, { "work.txt": "w\n" });
    expect((await remove(world, path)).status).toBe(0);
    await killInHook(world);
    expect((await hook(world.main, "create", told)).status).toBe(137);
    writeFileSync(join(world.main, ".git", "worktrees", "bold-oak", "locked"), "initializing");
    appendFileSync(join(path, "work.txt"), "more\n");
    expect(await create(world.main, told)).toBe(path);
    expect(await run(path, "status", "--porcelain")).toBe(" M work.txt");
  });

  test("holds nothing up where git can't read what is there", async () => {
    await using world = await makeGround(ground);
    await killInHook(world);
    expect((await hook(world.main, "create", { name: "bold-oak", cwd: world.main })).status).toBe(137);
    const path = await lastWorktree(world);
    write(path, { "work.txt": "w\n" });
    writeFileSync(join(world.main, ".git", "worktrees", "bold-oak", "index"), "no index");
    const next = await hook(world.main, "create", { name: "bold-oak", cwd: world.main });
    expect(next.stdout).toBe(`${path}\n`);
    const trash = /its folder is in "(.*)" for 7 days/.exec(next.stderr)?.[1] ?? "";
    expect(readFileSync(join(trash, "tree", "work.txt"), "utf8")).toBe("w\n");
  });

  test("goes to the trash, which is said, when nobody has", async () => {
    await using world = await makeGround(ground);
    await killInHook(world);
    expect((await hook(world.main, "create", { name: "bold-oak", cwd: world.main })).status).toBe(137);
    const path = await lastWorktree(world);
    const next = await hook(world.main, "create", { name: "calm-elm", cwd: world.main });
    const trash = /was cut short: taken back; its folder is in "(.*)" for 7 days/.exec(next.stderr)?.[1] ?? "";
    expect(existsSync(join(trash, "tree", "README.md"))).toBe(true);
    expect(existsSync(path)).toBe(false);
    expect(Object.keys(await branches(world.main))).toEqual(["main", "worktree-calm-elm"]);
    // After seven days nothing of it is left, whatever comes by.
    renameSync(trash, trash.replace(/[^/]*$/, "2024-01-01T00-00-00-000Z-bold-oak"));
    await create(world.main, { name: "old-ash", cwd: world.main });
    expect(readdirSync(join(trash, "..")).filter((it) => it.startsWith("2024"))).toEqual([]);
  });
});

test("a task's making that was killed is the task's when somebody has worked in it", async () => {
  await using world = await makeWorld();
  await world.git("branch", "develop");
  const id = String(at(await world.ok(["task", "add", "Add a login page"]), "task", "id"));
  await killInHook(world);
  expect((await world.dotbot(["wt", "create", id, "--base", "develop"])).status).toBe(137);
  const path = await lastWorktree(world);
  await commit(path, { "work.txt": "w\n" });
  write(path, { "dirty.txt": "d\n" });
  await world.ok(["wt", "prune"]);
  expect(await world.ok(["wt", "create", id])).toMatchObject({ path, created: false });
  expect(await run(path, "status", "--porcelain")).toBe("?? dirty.txt");
  rmSync(join(path, "dirty.txt"));
  await world.ok(["task", "done", id]);
  await world.ok(["wt", "complete", id]);
  expect(await world.git("show", "develop:work.txt")).toBe("w");
});

describe("a bare repository without a queue", () => {
  interface Bare extends AsyncDisposable {
    readonly repo: string;
    readonly one: string;
    readonly place: string;
  }
  async function makeBare(): Promise<Bare> {
    const dir = await tempDir();
    const seed = await makeRepo(dir.path("seed"), { files: { ".gitignore": ".claude/\n" } });
    await run(dir.root, "clone", "-q", "--bare", seed, "repo.git");
    await run(dir.path("repo.git"), "worktree", "add", "-q", dir.path("one"), "main");
    return {
      repo: dir.path("repo.git"),
      one: dir.path("one"),
      place: dir.path("worktrees", "repo.git"),
      [Symbol.asyncDispose]: async () => await dir[Symbol.asyncDispose](),
    };
  }

  test("no worktree lies in another, so none goes with another", async () => {
    await using bare = await makeBare();
    const outer = await create(bare.one, { name: "outer", cwd: bare.one });
    const inner = await create(outer, { name: "inner", cwd: outer });
    expect([outer, inner]).toEqual([join(bare.place, "outer"), join(bare.place, "inner")]);
    write(inner, { "work.txt": "w\n" });
    expect((await hook(outer, "remove", { worktree_path: outer, cwd: outer })).status).toBe(0);
    expect(readFileSync(join(inner, "work.txt"), "utf8")).toBe("w\n");
    expect(Object.keys(await branches(bare.repo))).toEqual(["main", "worktree-inner"]);
  });

  test("the only checkout stays: without it git has no place to work in", async () => {
    await using bare = await makeBare();
    const path = await create(bare.one, { name: "bold-oak", cwd: bare.one });
    await run(bare.repo, "worktree", "remove", bare.one);
    const told = { worktree_path: path, cwd: path };
    await refuses(hook(path, "remove", told), 4, /is the only checkout of the bare repository/);
    await run(bare.repo, "worktree", "add", "-q", bare.one, "main");
    expect(await dotbot(["wt", "hook", "remove"], { cwd: path, stdin: JSON.stringify(told) })).toMatchObject({
      status: 0,
    });
    expect(existsSync(path)).toBe(false);
  });
});
