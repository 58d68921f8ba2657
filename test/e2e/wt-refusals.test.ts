/** What worktree verbs say no to, and that nothing has changed then. The message is for people, the code and the example for programs. */
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { makeRepo, run, write } from "../kit/git.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { begin, branches, checkoutState, commit, fails, readyWorld, subjects, work, type Worktree } from "./wt-kit.ts";

const addTask = async (world: World, name: string): Promise<string> =>
  String(at(await world.ok(["task", "add", name]), "task", "id"));

function hook(main: string, name: string, script: string): void {
  mkdirSync(join(main, ".git", "hooks"), { recursive: true });
  writeFileSync(join(main, ".git", "hooks", name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(main, ".git", "hooks", name), 0o755);
}

describe("create", () => {
  test("no such task", async () => {
    await using world = await makeWorld();
    await world.ok(["task", "add", "Add a login page"]);
    expect(await world.refused("TASK_NOT_FOUND", ["wt", "create", "Add a login pag"])).toMatchObject({
      example: expect.stringContaining("dotbot"),
    });
  });

  test("a task that can't be started", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "One");
    await world.ok(["task", "cancel", id]);
    await world.refused("ILLEGAL_TRANSITION", ["wt", "create", id]);
    expect(await branches(world.main)).toEqual({ main: await world.git("rev-parse", "main") });
    expect(existsSync(join(world.main, ".git", "dotbot", "journal", `create-${id.slice(0, 8)}.json`))).toBe(false);
  });

  test("a repository without commits", async () => {
    await using world = await makeWorld();
    const fresh = await makeRepo(world.path("fresh"), { files: {} });
    mkdirSync(join(fresh, ".bot"));
    const id = String(at(await world.ok(["task", "add", "One"], { cwd: fresh }), "task", "id"));
    expect(await world.refused("REFUSED", ["wt", "create", id], { cwd: fresh })).toMatchObject({
      example: "git commit --allow-empty -m 'first commit'",
    });
  });

  test("a branch called task in the way", async () => {
    await using world = await makeWorld();
    await world.git("branch", "task");
    const id = await addTask(world, "One");
    expect((await world.refused("REFUSED", ["wt", "create", id])).example).toContain("branch -m task task-old");
    expect(at(await world.ok(["task", "show", id]), "task", "status")).toBe("todo");
  });

  const occupied: readonly (readonly [title: string, setUp: (path: string) => void, says: string])[] = [
    ["a folder with files", (path) => write(path, { "mine.txt": "m\n" }), '"mine.txt"'],
    ["a file", (path) => writeFileSync(path, "mine\n"), "a file"],
    ["a link", (path) => symlinkSync("/nowhere", path), "a file"],
  ];
  test.each(occupied)("the path is taken by %s", async (_title, setUp, says) => {
    await using world = await makeWorld();
    const id = await addTask(world, "One");
    const path = world.path("worktrees", "main", `task-${id.slice(0, 8)}-one`);
    mkdirSync(world.path("worktrees", "main"), { recursive: true });
    setUp(path);
    expect((await world.refused("REFUSED", ["wt", "create", id])).message).toContain(says);
    expect(at(await world.ok(["task", "show", id]), "task", "status")).toBe("todo");
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
  });

  test("a failing post-checkout hook leaves no branch, no folder, and the task where it was", async () => {
    await using world = await makeWorld();
    hook(world.main, "post-checkout", "echo no >&2; exit 1");
    const id = await addTask(world, "One");
    await world.ok(["task", "analysing", id]);
    await world.ok(["task", "analysed", id]);
    const { status } = await world.dotbot(["wt", "create", id]);
    expect(status).toBeGreaterThan(3);
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
    expect(existsSync(world.path("worktrees", "main", `task-${id.slice(0, 8)}-one`))).toBe(false);
    expect((await world.git("worktree", "list")).split("\n")).toHaveLength(1);
    const shown = await world.ok(["task", "show", id]);
    expect([at(shown, "task", "status"), at(shown, "task", "started_at")]).toEqual(["analysed", undefined]);
  });

  // The superuser may write anywhere: for him wt-places.test.ts has a parent on a file system that is read-only.
  if (process.getuid?.() !== 0) {
    test("a parent that can't be written offers a place inside the repository", async () => {
      await using world = await makeWorld();
      const id = await addTask(world, "One");
      chmodSync(world.root, 0o555);
      const refusal = await world.refused("READ_ONLY", ["wt", "create", id]);
      chmodSync(world.root, 0o755);
      expect(refusal.example).toBe("dotbot config set worktree.root .bot/worktrees");
    });
  }

  test("a place inside the repository has to be ignored", async () => {
    await using world = await makeWorld({ files: { ".bot/.gitignore": ".control\nworkspace/tasks\n" } });
    write(world.main, { ".bot/.control/settings.json": '{"worktree":{"root":".bot/worktrees"}}' });
    const id = await addTask(world, "One");
    expect((await world.refused("REFUSED", ["wt", "create", id])).message).toContain("git doesn't ignore it");
    write(world.main, { ".git/info/exclude": "/.bot/worktrees/\n" });
    const made = await world.ok(["wt", "create", id]);
    expect(String(made["path"])).toBe(join(world.main, ".bot", "worktrees", `task-${id.slice(0, 8)}-one`));
    expect(await world.git("status", "--porcelain")).toBe("");
  });
});

describe("complete, from the task's side", () => {
  const rows: readonly (readonly [
    title: string,
    change: (wt: Worktree, world: World) => unknown,
    code: string,
    says: string,
  ])[] = [
    [
      "detached",
      async (wt) => (await run(wt.path, "checkout", "-q", "--detach"), await commit(wt.path, { "more.txt": "m\n" })),
      "REFUSED",
      "detached",
    ],
    ["on another branch", async (wt) => await run(wt.path, "switch", "-q", "-c", "other"), "REFUSED", 'on "other"'],
    [
      "mid-rebase",
      async (wt, world) => {
        await commit(world.main, { "work.txt": "theirs\n" });
        await fails(wt.path, "rebase", "main");
      },
      "REFUSED",
      "rebase goes on",
    ],
    [
      "mid-merge",
      async (wt, world) => {
        await commit(world.main, { "work.txt": "theirs\n" });
        await fails(wt.path, "merge", "main");
      },
      "REFUSED",
      "merge goes on",
    ],
    ["mid-bisect", async (wt) => await run(wt.path, "bisect", "start"), "REFUSED", "bisect goes on"],
    ["moved", (wt, world) => renameSync(wt.path, world.path("elsewhere")), "NOT_FOUND", "isn't there"],
    ["deleted", (wt) => rmSync(wt.path, { recursive: true }), "NOT_FOUND", "isn't there"],
    ["without its .git file", (wt) => rmSync(join(wt.path, ".git")), "REFUSED", "don't name each other"],
    [
      "replaced by another repository",
      async (wt) => {
        rmSync(wt.path, { recursive: true });
        await makeRepo(wt.path);
      },
      "REFUSED",
      "isn't a checkout of this repository",
    ],
    [
      "with a clone in an ignored folder",
      async (wt) => {
        await commit(wt.path, { ".gitignore": "build/\n" });
        await makeRepo(join(wt.path, "build", "clone"));
      },
      "REFUSED",
      '"build/clone"',
    ],
    [
      "with a worktree in an ignored folder",
      async (wt) => {
        await commit(wt.path, { ".gitignore": "build/\n" });
        await run(wt.path, "worktree", "add", "-q", "--detach", join(wt.path, "build", "tree"));
      },
      "REFUSED",
      '"build/tree"',
    ],
  ];
  test.each(rows)("a worktree %s", async (_title, change, code, says) => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await change(worktree, world);
    const before = [await checkoutState(world.main), await branches(world.main)];
    const refusal = await world.refused(code, ["wt", "complete", worktree.id]);
    expect(JSON.stringify(refusal)).toContain(JSON.stringify(says).slice(1, -1));
    expect([await checkoutState(world.main), await branches(world.main)]).toEqual(before);
    await world.refused(code, ["wt", "remove", worktree.id]).catch((error: unknown) => {
      // What has moved or stands elsewhere refuses under a code of its own; it never goes.
      expect(String(error)).toMatch(/UNMERGED|"code":"(?:REFUSED|NOT_FOUND|DIRTY)"/);
    });
    expect([await checkoutState(world.main), await branches(world.main)]).toEqual(before);
  });

  test("copied: the copy shares index and HEAD, and can neither be completed from nor take the real one along", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    cpSync(worktree.path, world.path("copy"), { recursive: true, verbatimSymlinks: true });
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({ outcome: "landed", removed: true });
    expect(readFileSync(world.path("copy", "work.txt"), "utf8")).toBe("work\n");
  });

  test("locked by somebody else: it lands, and the folder stays", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("worktree", "unlock", worktree.path);
    await world.git("worktree", "lock", "--reason", "on a stick", worktree.path);
    const done = await world.ok(["wt", "complete", worktree.id]);
    expect(done).toMatchObject({ outcome: "landed", removed: false });
    expect(String(at(done, "leftovers", 0))).toContain("on a stick");
    expect((await world.refused("REFUSED", ["wt", "remove", worktree.id])).message).toContain("on a stick");
    expect(existsSync(worktree.path)).toBe(true);
  });

  test("an unpushed commit in a submodule", async () => {
    await using world = await makeWorld();
    await makeRepo(world.path("lib"));
    await world.git("submodule", "add", "-q", world.path("lib"), "lib");
    await world.git("commit", "-q", "-m", "lib");
    const wt = await begin(world, "One");
    await run(wt.path, "submodule", "update", "-q", "--init");
    await commit(join(wt.path, "lib"), { "unpushed.txt": "u\n" });
    await work(world, wt, { "work.txt": "w\n" });
    expect((await world.refused("DIRTY", ["wt", "complete", wt.id])).message).toContain(
      "commits that aren't on any remote",
    );
    await run(join(wt.path, "lib"), "push", "-q", "origin", "HEAD:refs/heads/pushed");
    expect(await world.ok(["wt", "complete", wt.id])).toMatchObject({ outcome: "landed", removed: true });
  });
});

describe("complete, from the base's side", () => {
  test("the base is gone", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("branch", "-m", "main", "trunk");
    expect((await world.refused("NOT_FOUND", ["wt", "complete", worktree.id])).message).toContain(
      '"main" doesn\'t exist',
    );
  });

  const operations: readonly (readonly [string, (main: string) => Promise<unknown>])[] = [
    ["merge", async (main) => await fails(main, "merge", "side")],
    ["rebase", async (main) => await fails(main, "rebase", "side")],
    ["cherry-pick", async (main) => await fails(main, "cherry-pick", "side")],
    ["revert", async (main) => await fails(main, "revert", "--no-edit", "HEAD~1")],
    ["bisect", async (main) => await run(main, "bisect", "start", "HEAD", "HEAD~1")],
  ];
  test.each(operations)("the base is in the middle of a %s", async (operation, begins) => {
    await using world = await makeWorld();
    await world.git("branch", "side");
    await commit(world.main, { "src/code.txt": "1\n" });
    const wt = await begin(world, "One");
    await work(world, wt, { "work.txt": "w\n" });
    await commit(world.main, { "src/code.txt": "2\n" });
    await world.git("switch", "-q", "side");
    await commit(world.main, { "src/code.txt": "side\n" });
    await world.git("switch", "-q", "main");
    await begins(world.main);
    const before = await checkoutState(world.main);
    expect((await world.refused("REFUSED", ["wt", "complete", wt.id])).message).toContain(
      `in the middle of a ${operation}`,
    );
    expect(await checkoutState(world.main)).toEqual(before);
  });

  test("the base is checked out where it can't be reached", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("switch", "-q", "--detach");
    await world.git("worktree", "add", "-q", world.path("base"), "main");
    renameSync(world.path("base"), world.path("away"));
    expect((await world.refused("REFUSED", ["wt", "complete", worktree.id])).message).toContain(
      "which can't be reached",
    );
  });

  const rejecting: readonly (readonly [title: string, setUp: (world: World) => unknown, code: string])[] = [
    ["a commit-msg hook", (world) => hook(world.main, "commit-msg", "echo 'say why' >&2; exit 1"), "REJECTED"],
    [
      "a reference-transaction hook",
      (world) =>
        hook(world.main, "reference-transaction", 'if [ "$1" = prepared ] && grep -q refs/heads/main; then exit 1; fi'),
      "REJECTED",
    ],
    [
      "signing",
      async (world) => (
        await world.git("config", "commit.gpgSign", "true"),
        await world.git("config", "gpg.program", "/bin/false")
      ),
      "REJECTED",
    ],
    [
      "a smudge filter",
      async (world) => (
        await world.git("config", "filter.x.smudge", "/bin/false"),
        await world.git("config", "filter.x.clean", "cat"),
        await world.git("config", "filter.x.required", "true"),
        write(world.main, { ".git/info/attributes": "work.txt filter=x\n" })
      ),
      "REJECTED",
    ],
  ];
  test.each(rejecting)(
    "%s rejects: nothing has changed, and it lands once that is mended",
    async (_title, setUp, code) => {
      await using ready = await readyWorld({ "work.txt": "work\n", "src/code.txt": "one\nTWO\nthree\n" });
      const { world, worktree } = ready;
      write(world.main, { "untracked.txt": "u\n", "README.md": "edited\n" });
      const before = [await checkoutState(world.main), await branches(world.main)];
      await setUp(world);
      await world.refused(code, ["wt", "complete", worktree.id]);
      rmSync(join(world.main, ".git", "hooks"), { recursive: true, force: true });
      rmSync(join(world.main, ".git", "info"), { recursive: true, force: true });
      for (const key of ["commit.gpgSign", "gpg.program", "filter.x.smudge", "filter.x.clean", "filter.x.required"])
        await world.git("config", "--unset", key).catch(() => "");
      expect([await checkoutState(world.main), await branches(world.main)]).toEqual(before);
      expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({ outcome: "landed" });
    },
  );

  test("hooks that can't run are named; a commit-msg hook that edits is heard", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    hook(world.main, "pre-commit", "exit 1");
    hook(world.main, "commit-msg", 'echo "Reviewed-by: nobody" >> "$1"');
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({
      outcome: "landed",
      hooksNotRun: ["pre-commit"],
    });
    expect(await world.git("log", "-1", "--format=%B")).toContain("Reviewed-by: nobody");
  });

  test("the index is locked by somebody who doesn't let go", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    write(world.main, { ".git/index.lock": "" });
    await world.refused("LOCKED", ["wt", "complete", worktree.id]);
    expect(existsSync(join(world.main, ".git", "index.lock"))).toBe(true);
    rmSync(join(world.main, ".git", "index.lock"));
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({ outcome: "landed" });
  }, 30_000);
});

describe("what can't be read", () => {
  test("a journal entry: nobody goes on past it, and everything is kept", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    const path = join(world.main, ".git", "dotbot", "journal", "complete-x.json");
    for (const text of ["{", '{"op":"what"}', ""]) {
      write(world.main, { ".git/dotbot/journal/complete-x.json": text });
      expect((await world.refused("CONFLICT", ["wt", "complete", worktree.id])).message).toContain(path);
      expect(readFileSync(path, "utf8")).toBe(text);
    }
    expect(await world.ok(["wt", "list"])).toMatchObject({ total: 1, unfinished: [{ op: "unreadable" }] });
  });

  test("the ledger: worktrees are known by the map, and prune removes none", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    writeFileSync(
      join(world.main, ".git", "dotbot", "queue.db"),
      "not a database, but long enough to be looked at as one".repeat(50),
    );
    expect(await world.ok(["wt", "list"])).toMatchObject({
      total: 1,
      worktrees: [{ taskId: worktree.id, path: worktree.path }],
    });
    await world.dotbot(["wt", "prune", "--yes"]);
    expect(existsSync(worktree.path)).toBe(true);
  });

  test("a task's file: its worktree and branch stay", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    for (const name of new Bun.Glob("**/*.json").scanSync(world.tasks))
      writeFileSync(join(world.tasks, name), "{ broken");
    rmSync(join(world.main, ".git", "dotbot"), { recursive: true });
    await world.dotbot(["wt", "prune", "--yes"]);
    expect(existsSync(worktree.path)).toBe(true);
    expect(Object.keys(await branches(world.main))).toContain(worktree.branch);
  });
});

describe("remove", () => {
  test("each refusal names what would be lost and the flag that allows it; tips and files are kept", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    write(worktree.path, { "left.txt": "left\n" });
    expect((await world.refused("DIRTY", ["wt", "remove", worktree.id])).example).toBe(
      `dotbot wt remove ${worktree.id8} --force-dirty`,
    );
    expect((await world.refused("UNMERGED", ["wt", "remove", worktree.id, "--force-dirty"])).example).toContain(
      "--force-unmerged",
    );
    const tip = await world.git("rev-parse", worktree.branch);
    const gone = await world.ok(["wt", "remove", worktree.id, "--force-dirty", "--force-unmerged"]);
    expect(gone).toMatchObject({ changed: true, branchDeleted: true, keptRef: `refs/dotbot/lost/${worktree.id8}-1` });
    expect(await world.git("rev-parse", `refs/dotbot/lost/${worktree.id8}-1`)).toBe(tip);
    expect(readFileSync(join(String(gone["trash"]), "tree", "left.txt"), "utf8")).toBe("left\n");
    expect(await world.ok(["wt", "remove", worktree.id])).toMatchObject({ changed: false });
  });

  test("from inside it, and somebody else's", async () => {
    await using world = await makeWorld();
    const wt = await begin(world, "One", "--owner", "ada");
    expect(
      (await world.refused("REFUSED", ["wt", "remove", "--owner", "ada"], { cwd: join(wt.path, "src") })).message,
    ).toContain("you stand in it");
    await world.refused("NOT_HOLDER", ["wt", "remove", wt.id, "--owner", "bob"]);
    expect(await world.ok(["wt", "remove", wt.id, "--owner", "ada"])).toMatchObject({ changed: true, merged: "fresh" });
  });

  test("reset --discard-worktree keeps the tip", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    const tip = await world.git("rev-parse", worktree.branch);
    expect(await world.ok(["task", "reset", worktree.id, "--discard-worktree"])).toMatchObject({
      newStatus: "todo",
      discarded: { changed: true },
    });
    expect(existsSync(worktree.path)).toBe(false);
    expect(await world.git("rev-parse", `refs/dotbot/lost/${worktree.id8}-1`)).toBe(tip);
  });
});

describe("undo", () => {
  test("never completed; a base that has moved on there conflicts and stays", async () => {
    await using ready = await readyWorld({ "src/code.txt": "one\nTWO\nthree\n" });
    const { world, worktree } = ready;
    await world.refused("NOT_FOUND", ["wt", "undo", worktree.id]);
    await world.ok(["wt", "complete", worktree.id]);
    await commit(world.main, { "src/code.txt": "one\nTWO, and more\nthree\n" });
    const before = await checkoutState(world.main);
    await world.refused("MERGE_CONFLICT", ["wt", "undo", worktree.id]);
    expect(await checkoutState(world.main)).toEqual(before);
    expect(await subjects(world.main)).toHaveLength(3);
  });
});
