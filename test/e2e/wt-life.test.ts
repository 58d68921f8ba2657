/** The life of a worktree, through the program: made, worked in, brought back as one commit, taken back, removed. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run, write } from "../kit/git.ts";
import { at, makeWorld } from "../kit/world.ts";
import { begin, beginTask, branches, checkoutState, commit, readyWorld, subjects, work } from "./wt-kit.ts";

describe("create", () => {
  test("names, record, map, lock, links, base; a second call changes nothing", async () => {
    await using world = await makeWorld({ files: { ".bot/.gitignore": ".control\nworkspace/tasks\n" } });
    const id = String(
      at(
        await world.ok(["task", "add", "Füge eine  Login-Seite hinzu, mit sehr vielen Wörtern im Namen!"]),
        "task",
        "id",
      ),
    );
    const slug = "fuge-eine-login-seite-hinzu-mit-sehr-vielen-worter";
    const made = await world.ok(["wt", "create", id]);
    const path = world.path("worktrees", "main", `task-${id.slice(0, 8)}-${slug}`);
    const branch = `task/${id.slice(0, 8)}-${slug}`;
    const head = await world.git("rev-parse", "main");
    expect(made).toMatchObject({
      taskId: id,
      path,
      repoPath: path,
      branch,
      base: "main",
      baseSha: head,
      headSha: head,
      created: true,
      slot: 1,
      oldStatus: "todo",
      newStatus: "in-progress",
    });
    expect(made["links"]).toEqual([".bot/workspace/tasks", ".bot/.control"]);
    expect(await run(path, "status", "--porcelain")).toBe("");
    expect(await world.git("worktree", "list", "--porcelain")).toContain(`locked dotbot:${id.slice(0, 8)}`);
    expect(await world.git("config", "--get-regexp", "^branch\\..*").catch(() => "")).toBe("");
    const map: unknown = JSON.parse(readFileSync(join(world.main, ".bot", ".control", "worktree-map.json"), "utf8"));
    expect(at(map, id)).toMatchObject({
      worktree_path: path,
      branch_name: branch,
      base_branch: "main",
      base_sha: head,
    });
    expect(await world.ok(["wt", "create", id])).toMatchObject({ created: false, path, branch });
    expect(await world.ok(["wt", "list"])).toMatchObject({
      total: 1,
      worktrees: [{ taskId: id, ahead: 0, behind: 0, dirty: false, merged: false, fault: null }],
    });
  });

  test("task start --worktree, the setting that makes it the default, and skip_worktree", async () => {
    await using world = await makeWorld();
    const add = async (name: string, ...flags: readonly string[]): Promise<string> =>
      String(at(await world.ok(["task", "add", name, ...flags]), "task", "id"));
    const [first, second, third] = [
      await add("One"),
      await add("Two", "--priority", "1"),
      await add("Three", "--skip-worktree"),
    ];
    expect(existsSync(String(at(await world.ok(["task", "start", first, "--worktree"]), "worktree", "path")))).toBe(
      true,
    );
    write(world.main, { ".bot/.control/settings.json": '{"worktree":{"default":true}}' });
    expect(at(await world.ok(["task", "start", "--next"]), "worktree", "branch")).toBe(
      `task/${second.slice(0, 8)}-two`,
    );
    expect(at(await world.ok(["task", "start", third]), "worktree")).toBeUndefined();
  });

  test("set-up: .worktreeinclude, commands with their environment, and a failure that keeps the worktree", async () => {
    await using world = await makeWorld({
      files: { ".gitignore": ".env\nlocal/\n", ".worktreeinclude": ".env\nlocal/\n" },
    });
    write(world.main, {
      ".env": "secret\n",
      "local/a": "a\n",
      ".bot/.control/settings.json": JSON.stringify({
        worktree: { post_create: ['printf "%s %s" "$DOTBOT_TASK_ID" "$DOTBOT_SLOT" > local/env', "exit 3"] },
      }),
    });
    const id = String(at(await world.ok(["task", "add", "One"]), "task", "id"));
    const { status, stdout } = await world.dotbot(["wt", "create", id, "--json"]);
    expect(status).toBe(1);
    const made: unknown = JSON.parse(stdout);
    expect(at(made, "setup")).toMatchObject({ state: "failed", command: "exit 3", status: 3 });
    const path = String(at(made, "path"));
    expect(readFileSync(join(path, ".env"), "utf8")).toBe("secret\n");
    expect(readFileSync(join(path, "local", "env"), "utf8")).toBe(`${id} 1`);
    // What the set-up made doesn't keep the worktree; what was changed since does.
    expect(await world.ok(["wt", "remove", id, "--dry-run"])).toMatchObject({ dryRun: true });
    writeFileSync(join(path, ".env"), "changed\n");
    expect((await world.refused("DIRTY", ["wt", "remove", id])).message).toContain('".env"');
  });

  test("a base only on the remote becomes a local branch; a named one that is nowhere fails at once", async () => {
    await using world = await makeWorld();
    await world.git("clone", "-q", "--bare", world.main, world.path("remote.git"));
    await world.git("remote", "add", "origin", world.path("remote.git"));
    await run(world.path("remote.git"), "branch", "next", "main");
    await world.git("fetch", "-q", "origin");
    const wt = await begin(world, "One", "--base", "next");
    expect(Object.keys(await branches(world.main)).toSorted()).toEqual(["main", "next", wt.branch]);
    const id = String(at(await world.ok(["task", "add", "Two"]), "task", "id"));
    expect(await world.refused("NOT_FOUND", ["wt", "create", id, "--base", "nxt"])).toMatchObject({
      hint: 'did you mean "next"?',
    });
    expect(at(await world.ok(["task", "show", id]), "task", "status")).toBe("todo");
  });
});

describe("complete", () => {
  test("one commit with the documented subject, and nothing is left but the kept tip", async () => {
    await using ready = await readyWorld({ "work.txt": "work\n", "src/code.txt": "one\nTWO\nthree\n" });
    const { world, worktree } = ready;
    const tip = await world.git("rev-parse", worktree.branch);
    const done = await world.ok(["wt", "complete", worktree.id]);
    expect(done).toMatchObject({
      outcome: "landed",
      base: "main",
      tip,
      removed: true,
      branchDeleted: true,
      leftovers: [],
      files: ["src/code.txt", "work.txt"],
    });
    expect(await subjects(world.main)).toEqual([`feat: Add a login page [task:${worktree.id8}]`, "commit 1"]);
    expect(await world.git("status", "--porcelain")).toBe("");
    expect(await branches(world.main)).toEqual({ main: String(done["commit"]) });
    expect(await world.git("rev-parse", `refs/dotbot/done/${worktree.id8}-1`)).toBe(tip);
    expect(existsSync(worktree.path)).toBe(false);
    expect(at(await world.ok(["task", "show", worktree.id]), "task", "commit_sha")).toBe(done["commit"]);
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({ outcome: "already" });
    expect(await world.ok(["wt", "list"])).toMatchObject({ total: 0 });
  });

  test("the author of the branch stays, others are co-authors, a bugfix is a fix", async () => {
    await using world = await makeWorld();
    const id = String(at(await world.ok(["task", "add", "Mend it", "--category", "bugfix"]), "task", "id"));
    const wt = await beginTask(world, id);
    await commit(wt.path, { "a.txt": "a\n" });
    await run(
      wt.path,
      "-c",
      "user.name=x",
      "commit",
      "-q",
      "--allow-empty",
      "-m",
      "b",
      "--author",
      "Bob <bob@example.invalid>",
    );
    await commit(wt.path, { "c.txt": "c\n" });
    await world.ok(["task", "done", id]);
    await world.ok(["wt", "complete", id]);
    expect(await world.git("log", "-1", "--format=%an|%B")).toBe(
      `Ada Tester|fix: Mend it [task:${id.slice(0, 8)}]\n\nCo-authored-by: Bob <bob@example.invalid>\n`,
    );
  });

  test("staged, unstaged and untracked work of the user stays byte- and stage-identical, whatever git's config says", async () => {
    await using ready = await readyWorld(
      { "work.txt": "work\n", "deep/er/file.txt": "x\n" },
      { files: { "staged.txt": "s\n", "dirty.txt": "d\n", "gone.txt": "g\n", "both.txt": "b\n" } },
    );
    const { world, worktree } = ready;
    for (const [key, value] of [
      ["merge.autoStash", "true"],
      ["merge.verifySignatures", "true"],
      ["status.showUntrackedFiles", "no"],
      ["commit.cleanup", "strip"],
      ["branch.main.mergeOptions", "--squash"],
      ["merge.ff", "false"],
      ["pull.rebase", "true"],
      ["rebase.autoStash", "true"],
      ["core.hooksPath", "/nonexistent"],
      ["status.relativePaths", "true"],
      ["status.short", "true"],
      ["diff.noprefix", "true"],
      ["log.showSignature", "true"],
      ["core.quotePath", "true"],
      ["advice.detachedHead", "false"],
    ] as const)
      await world.git("config", key, value);
    write(world.main, { "staged.txt": "staged\n", "both.txt": "staged\n", "new-staged.txt": "n\n" });
    await world.git("add", "staged.txt", "both.txt", "new-staged.txt");
    await world.git("rm", "-q", "--cached", "gone.txt");
    write(world.main, { "dirty.txt": "dirty\n", "both.txt": "then this\n", "untracked/u.txt": "u\n" });
    const before = await checkoutState(world.main);
    await world.ok(["wt", "complete", worktree.id]);
    await world.git("config", "--unset", "core.hooksPath");
    const after = await checkoutState(world.main);
    const without = (state: unknown): unknown => {
      const { index, files, ...rest } = state as { index: string[]; files: Record<string, string> };
      return {
        ...rest,
        index: index.filter((line) => !/work\.txt|deep\//.test(line)),
        files: Object.fromEntries(Object.entries(files).filter(([path]) => !/work\.txt|deep\//.test(path))),
      };
    };
    expect(without(after)).toEqual(without(before));
    expect(readFileSync(join(world.main, "work.txt"), "utf8")).toBe("work\n");
  });

  const inTheWay: readonly (readonly [title: string, setUp: (main: string) => unknown, path: string])[] = [
    ["an edited file", (main) => write(main, { "src/code.txt": "mine\n" }), "src/code.txt"],
    [
      "a staged file",
      async (main) => (write(main, { "src/code.txt": "mine\n" }), await run(main, "add", "-A")),
      "src/code.txt",
    ],
    [
      "the same content, staged",
      async (main) => (write(main, { "src/code.txt": "new\n" }), await run(main, "add", "-A")),
      "src/code.txt",
    ],
    ["a deleted file", async (main) => await run(main, "rm", "-q", "--cached", "src/code.txt"), "src/code.txt"],
    ["an unstaged deletion", (main) => Bun.file(join(main, "src/code.txt")).delete(), "src/code.txt"],
    ["an untracked file", (main) => write(main, { "new/file.txt": "mine\n" }), "new/file.txt"],
    ["an untracked file in place of a folder", (main) => write(main, { new: "mine\n" }), "new"],
    [
      "an ignored file",
      (main) => (write(main, { ".git/info/exclude": "new/\n" }), write(main, { "new/file.txt": "mine\n" })),
      "new/file.txt",
    ],
  ];
  test.each(inTheWay)("refused without a change: %s in the way", async (_title, setUp, path) => {
    await using ready = await readyWorld({ "src/code.txt": "new\n", "new/file.txt": "new\n" });
    const { world, worktree } = ready;
    await setUp(world.main);
    const before = [await checkoutState(world.main), await branches(world.main)];
    const refusal = await world.refused("DIRTY", ["wt", "complete", worktree.id]);
    expect(at(refusal.details, "files")).toEqual([path]);
    expect([await checkoutState(world.main), await branches(world.main)]).toEqual(before);
    expect(existsSync(worktree.path)).toBe(true);
  });

  test("a base that is checked out nowhere moves by its ref alone, and nobody's checkout changes", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("switch", "-q", "-c", "elsewhere");
    const before = await checkoutState(world.main);
    await world.ok(["wt", "complete", worktree.id]);
    expect(await checkoutState(world.main)).toEqual(before);
    expect(await subjects(world.main, "main")).toHaveLength(2);
  });

  test("a base that is checked out in another worktree moves there", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("switch", "-q", "--detach");
    await world.git("worktree", "add", "-q", world.path("base tree"), "main");
    await world.ok(["wt", "complete", worktree.id]);
    expect(readFileSync(world.path("base tree", "work.txt"), "utf8")).toBe("work\n");
    expect(await run(world.path("base tree"), "status", "--porcelain")).toBe("");
  });

  test("nothing to merge makes no commit, and clears away", async () => {
    await using world = await makeWorld();
    const wt = await begin(world, "Nothing");
    await world.ok(["task", "done", wt.id]);
    expect(await world.ok(["wt", "complete", wt.id])).toMatchObject({
      outcome: "nothing",
      commit: null,
      removed: true,
    });
    expect(await subjects(world.main)).toEqual(["commit 1"]);
  });

  test("a conflict names the files, touches nothing, and asks", async () => {
    await using ready = await readyWorld({ "src/code.txt": "ours\n" });
    const { world, worktree } = ready;
    await commit(world.main, { "src/code.txt": "theirs\n" });
    const before = [await checkoutState(world.main), await branches(world.main), await checkoutState(worktree.path)];
    const refusal = await world.refused("MERGE_CONFLICT", ["wt", "complete", worktree.id]);
    expect(at(refusal.details, "files")).toEqual(["src/code.txt"]);
    expect([await checkoutState(world.main), await branches(world.main), await checkoutState(worktree.path)]).toEqual(
      before,
    );
    const shown = await world.ok(["task", "show", worktree.id]);
    expect(at(shown, "task", "status")).toBe("needs-input");
    expect(at(shown, "task", "pending_question", "type")).toBe("merge-conflict");
    // A: bring the base in, resolve, say again that it is done.
    await world.ok(["task", "answer", worktree.id, "A"]);
    expect((await world.dotbot(["wt", "sync", worktree.id])).status).toBe(1);
    await commit(worktree.path, { "src/code.txt": "both\n" }, "resolved");
    await world.ok(["task", "done", worktree.id]);
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({ outcome: "landed" });
    expect(readFileSync(join(world.main, "src/code.txt"), "utf8")).toBe("both\n");
    expect(await subjects(world.main)).toHaveLength(3);
  });

  test("only what is done, at the tip that was done, lands", async () => {
    await using world = await makeWorld();
    const wt = await begin(world, "One");
    await commit(wt.path, { "a.txt": "a\n" });
    expect((await world.refused("REFUSED", ["wt", "complete", wt.id])).message).toContain("is in-progress, not done");
    await world.ok(["task", "done", wt.id]);
    await commit(wt.path, { "b.txt": "b\n" });
    const refusal = await world.refused("REFUSED", ["wt", "complete", wt.id]);
    expect(refusal.example).toBe(`dotbot task done ${wt.id8}`);
    await world.ok(["task", "done", wt.id]);
    expect(await world.ok(["wt", "complete", wt.id])).toMatchObject({ outcome: "landed", files: ["a.txt", "b.txt"] });
  });

  test("from review, on request", async () => {
    await using world = await makeWorld();
    const wt = await begin(world, "One");
    await commit(wt.path, { "a.txt": "a\n" });
    await world.ok(["task", "review", wt.id]);
    await world.refused("REFUSED", ["wt", "complete", wt.id]);
    expect(await world.ok(["wt", "complete", wt.id, "--task-status", "needs-review"])).toMatchObject({
      outcome: "landed",
    });
  });

  test("what is left uncommitted is named, and --commit-leftovers commits it", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("config", "status.showUntrackedFiles", "no");
    write(worktree.path, { "left over.txt": "x\n", "work.txt": "edited\n" });
    const refusal = await world.refused("DIRTY", ["wt", "complete", worktree.id]);
    expect(refusal.message).toContain('"left over.txt"');
    expect(refusal.message).toContain('"work.txt"');
    expect(await world.ok(["wt", "complete", worktree.id, "--commit-leftovers"])).toMatchObject({
      outcome: "landed",
      files: ["left over.txt", "work.txt"],
    });
    expect(readFileSync(join(world.main, "work.txt"), "utf8")).toBe("edited\n");
  });

  test("ignored files are named unless they can be made again; --discard-ignored lets them go, into the trash", async () => {
    await using ready = await readyWorld({ ".gitignore": "*.log\nnode_modules/\n" });
    const { world, worktree } = ready;
    write(worktree.path, { "node_modules/x/index.js": "x\n", "debug.log": "precious\n" });
    const refusal = await world.refused("DIRTY", ["wt", "complete", worktree.id]);
    expect(refusal.message).toContain('1 ignored file or folder: "debug.log"');
    await world.ok(["wt", "complete", worktree.id, "--discard-ignored"]);
    const trash = join(world.main, ".git", "dotbot", "trash");
    const [kept = ""] = [...new Bun.Glob("*/tree/debug.log").scanSync(trash)];
    expect(readFileSync(join(trash, kept), "utf8")).toBe("precious\n");
  });

  test("a base behind its remote stops, and --fetch brings it up first; diverged stops", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("clone", "-q", world.main, world.path("other"));
    await world.git("clone", "-q", "--bare", world.main, world.path("remote.git"));
    await world.git("remote", "add", "origin", world.path("remote.git"));
    await commit(world.path("other"), { "theirs.txt": "t\n" });
    await run(world.path("other"), "push", "-q", world.path("remote.git"), "main");
    await world.git("fetch", "-q", "origin");
    expect((await world.refused("REFUSED", ["wt", "complete", worktree.id])).message).toBe(
      '"main" is 1 commit behind "origin/main"',
    );
    expect(await world.ok(["wt", "complete", worktree.id, "--fetch", "--push"])).toMatchObject({
      outcome: "landed",
      pushed: "origin/main",
    });
    expect(await run(world.path("remote.git"), "rev-parse", "main")).toBe(await world.git("rev-parse", "main"));
    const wt = await begin(world, "Two");
    await work(world, wt, { "two.txt": "2\n" });
    await commit(world.main, { "mine.txt": "m\n" });
    await run(world.path("other"), "pull", "-q", "--rebase", world.path("remote.git"), "main");
    await commit(world.path("other"), { "more.txt": "m\n" });
    await run(world.path("other"), "push", "-q", world.path("remote.git"), "main");
    expect((await world.refused("REFUSED", ["wt", "complete", wt.id, "--fetch"])).message).toContain(
      "have diverged: 1 and 1 commits",
    );
  });

  test("a task cut from another task's branch goes to that task's base once it has landed", async () => {
    await using world = await makeWorld();
    const first = await begin(world, "First");
    await work(world, first, { "src/code.txt": "one\nFIRST\nthree\n" });
    const second = await begin(world, "Second", "--base", first.branch);
    await work(world, second, { "src/code.txt": "one\nFIRST, SECOND\nthree\n" });
    await world.ok(["wt", "complete", first.id]);
    expect(await world.ok(["wt", "complete", second.id])).toMatchObject({
      outcome: "landed",
      base: "main",
      retargeted: first.branch,
      files: ["src/code.txt"],
    });
    expect(readFileSync(join(world.main, "src/code.txt"), "utf8")).toBe("one\nFIRST, SECOND\nthree\n");
    expect(await subjects(world.main)).toHaveLength(3);
  });

  test("completed, re-opened, completed again: two commits, two kept tips", async () => {
    await using ready = await readyWorld({ "work.txt": "1\n" });
    const { world, worktree } = ready;
    await world.ok(["wt", "complete", worktree.id]);
    await world.ok(["task", "reset", worktree.id]);
    const again = await beginTask(world, worktree.id);
    expect(again).toEqual(worktree);
    await work(world, again, { "work.txt": "1\n2\n" });
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({
      outcome: "landed",
      files: ["work.txt"],
      keptRef: `refs/dotbot/done/${worktree.id8}-2`,
    });
    expect(await subjects(world.main)).toHaveLength(3);
  });

  test("a pull request merged elsewhere: nothing to merge, and cleared away", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    await world.git("merge", "-q", "--squash", worktree.branch);
    await world.git("commit", "-q", "-m", "Add a login page (#12)");
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({
      outcome: "nothing",
      removed: true,
      branchDeleted: true,
    });
  });

  test("from inside the worktree it lands, and the folder stays until the caller has left it", async () => {
    await using ready = await readyWorld();
    const { world, worktree } = ready;
    const done = await world.ok(["wt", "complete"], { cwd: worktree.path });
    expect(done).toMatchObject({ outcome: "landed", removed: false });
    expect(String(at(done, "leftovers", 0))).toContain("you stand in it");
    expect(await world.ok(["wt", "remove", worktree.id])).toMatchObject({
      changed: true,
      branchDeleted: true,
      merged: "completion",
    });
  });

  test("task done --complete, and a refusal that leaves it done", async () => {
    await using world = await makeWorld();
    const [first, second] = [await begin(world, "One"), await begin(world, "Two")];
    await commit(first.path, { "src/code.txt": "1\n" });
    await commit(second.path, { "src/code.txt": "2\n" });
    expect(at(await world.ok(["task", "done", first.id, "--complete"]), "completion")).toMatchObject({
      ok: true,
      outcome: "landed",
    });
    expect(at(await world.ok(["task", "done", second.id, "--complete"]), "completion")).toMatchObject({
      ok: false,
      error: { code: "MERGE_CONFLICT" },
    });
  });
});

describe("two lives side by side", () => {
  test("neither sees the other, and both land", async () => {
    await using world = await makeWorld();
    const [a, b] = [await begin(world, "Task A"), await begin(world, "Task B")];
    await commit(a.path, { "a.txt": "a\n" });
    await commit(b.path, { "b.txt": "b\n", "src/code.txt": "one\ntwo\nthree, by B\n" });
    expect(existsSync(join(b.path, "a.txt"))).toBe(false);
    // Each moves its own task from inside its worktree, and a third from there as well.
    await world.ok(["task", "done"], { cwd: a.path });
    await world.ok(["task", "add", "Task C"], { cwd: b.path });
    await world.ok(["task", "done"], { cwd: join(b.path, "src") });
    await world.ok(["wt", "complete", a.id]);
    expect(await world.ok(["wt", "list"])).toMatchObject({ worktrees: [{ taskId: b.id, ahead: 1, behind: 1 }] });
    await world.ok(["wt", "complete", b.id]);
    expect(await subjects(world.main)).toEqual([
      `feat: Task B [task:${b.id8}]`,
      `feat: Task A [task:${a.id8}]`,
      "commit 1",
    ]);
    expect(await world.git("status", "--porcelain")).toBe("");
    expect(at(await world.ok(["task", "list", "--status", "todo"]), "tasks", 0, "name")).toBe("Task C");
  });
});

describe("undo", () => {
  test("a new commit, the branch as it was, and on request its checkout and the task", async () => {
    await using ready = await readyWorld({ "src/code.txt": "one\nTWO\nthree\n", "work.txt": "w\n" });
    const { world, worktree } = ready;
    const tip = await world.git("rev-parse", worktree.branch);
    await world.ok(["wt", "complete", worktree.id]);
    await commit(world.main, { "later.txt": "l\n" });
    mkdirSync(join(world.main, "mine"));
    write(world.main, { "mine/u.txt": "u\n", "README.md": "edited\n" });
    expect(await world.ok(["wt", "undo", worktree.id, "--dry-run"])).toMatchObject({
      dryRun: true,
      files: ["src/code.txt", "work.txt"],
    });
    const undone = await world.ok(["wt", "undo", worktree.id, "--worktree", "--reset"]);
    expect(undone).toMatchObject({ changed: true, tip, taskBranch: worktree.branch, worktree: worktree.path });
    expect(readFileSync(join(world.main, "src/code.txt"), "utf8")).toBe("one\ntwo\nthree\n");
    expect([existsSync(join(world.main, "work.txt")), existsSync(join(world.main, "later.txt"))]).toEqual([
      false,
      true,
    ]);
    expect(await world.git("status", "--porcelain")).toBe(" M README.md\n?? mine/");
    expect(await subjects(world.main)).toHaveLength(4);
    expect(at(await world.ok(["task", "show", worktree.id]), "task", "status")).toBe("todo");
    expect(await world.ok(["wt", "undo", worktree.id])).toMatchObject({ changed: false });
    // A reverted squash isn't integrated.
    expect(await world.ok(["wt", "list"])).toMatchObject({ worktrees: [{ merged: false, ahead: 1 }] });
    await world.refused("UNMERGED", ["wt", "remove", worktree.id]);
    // And it can be completed once more.
    await world.ok(["task", "done", worktree.id]);
    expect(await world.ok(["wt", "complete", worktree.id])).toMatchObject({
      outcome: "landed",
      files: ["src/code.txt", "work.txt"],
    });
  });
});
