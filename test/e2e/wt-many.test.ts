/** Many at once, and unusual layouts. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { outcome, start } from "../kit/binary.ts";
import { makeRepo, run, write } from "../kit/git.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { begin, branches, commit, subjects, work, type Worktree } from "./wt-kit.ts";

const addTask = async (world: World, name: string): Promise<string> =>
  String(at(await world.ok(["task", "add", name]), "task", "id"));

describe("many at once", () => {
  test("20 creates: 20 worktrees, no stray branch, slots of their own", async () => {
    await using world = await makeWorld();
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push(await addTask(world, `Task ${i}`));
    const children = await Promise.all(
      ids.map(async (id) => await start(["wt", "create", id, "--lock-wait", "120s", "--json"], { cwd: world.main })),
    );
    const results = await Promise.all(children.map(async (child) => await outcome(child)));
    expect(results.map((it) => it.status)).toEqual(ids.map(() => 0));
    expect(Object.keys(await branches(world.main))).toHaveLength(21);
    expect((await world.git("worktree", "list")).split("\n")).toHaveLength(21);
    const slots = results.map((it) => at(JSON.parse(it.stdout), "slot")).map(Number);
    expect(slots.toSorted((a, b) => a - b)).toEqual(ids.map((_, i) => i + 1));
    expect(await world.ok(["wt", "list"])).toMatchObject({ total: 20 });
  }, 180_000);

  test("two callers, one task: one worktree", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "One");
    const children = await Promise.all(
      ["ada", "bob"].map(
        async (owner) =>
          await start(["wt", "create", id, "--owner", owner, "--lock-wait", "60s", "--json"], { cwd: world.main }),
      ),
    );
    const statuses = (await Promise.all(children.map(async (child) => await outcome(child)))).map((it) => it.status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([0, 4]);
    expect(await world.ok(["wt", "list"])).toMatchObject({ total: 1 });
  }, 60_000);

  test("12 completes onto one base: 12 commits, linear, a clean tree", async () => {
    await using world = await makeWorld();
    const all: Worktree[] = [];
    for (let i = 0; i < 12; i++) {
      const wt = await begin(world, `Task ${i}`);
      await work(world, wt, { [`file-${i}.txt`]: `${i}\n` });
      all.push(wt);
    }
    const children = await Promise.all(
      all.map(
        async (wt) => await start(["wt", "complete", wt.id, "--lock-wait", "120s", "--json"], { cwd: world.main }),
      ),
    );
    const results = await Promise.all(children.map(async (child) => await outcome(child)));
    expect(results.filter((it) => it.status !== 0)).toEqual([]);
    expect(await subjects(world.main)).toHaveLength(13);
    expect(await world.git("rev-list", "--merges", "--count", "main")).toBe("0");
    expect(await world.git("status", "--porcelain")).toBe("");
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
    for (let i = 0; i < 12; i++) expect(existsSync(join(world.main, `file-${i}.txt`))).toBe(true);
  }, 240_000);

  test("a lock that is held is waited for, then named", async () => {
    await using world = await makeWorld();
    write(world.main, { ".bot/.control/settings.json": '{"worktree":{"post_create":["true"]}}' });
    const wt = await begin(world, "One");
    const holder = new URL("../../lib/sqlite.ts", import.meta.url).pathname;
    const script = `import { tryLock } from ${JSON.stringify(holder)}; import { writeFileSync } from "node:fs"; const lock = tryLock(${JSON.stringify(join(world.main, ".git/dotbot/lock.db"))}); if (lock === null) throw new Error("held"); writeFileSync(${JSON.stringify(join(world.main, ".git/dotbot/lock-holder"))}, "4711 wt create by hand\\n"); console.log("held"); await Bun.sleep(60000);`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
    const reader = child.stdout.getReader();
    await reader.read();
    expect((await world.refused("LOCKED", ["wt", "remove", wt.id, "--lock-wait", "200ms"])).message).toContain(
      'process 4711 ("wt create by hand")',
    );
    // It dies with its holder.
    child.kill("SIGKILL");
    await child.exited;
    expect(await world.ok(["wt", "remove", wt.id])).toMatchObject({ changed: true });
  }, 60_000);
});

describe("run", () => {
  test("one: its environment, its status, its worktree", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "One");
    const ran = await world.dotbot([
      "wt",
      "run",
      id,
      "--",
      "sh",
      "-c",
      'pwd; echo "$DOTBOT_TASK_ID $DOTBOT_SLOT"; exit 7',
    ]);
    expect(ran).toMatchObject({
      status: 7,
      stdout: `${world.path("worktrees", "main", `task-${id.slice(0, 8)}-one`)}\n${id} 1\n`,
    });
    expect(at(await world.ok(["task", "show", id]), "task", "status")).toBe("in-progress");
    expect((await world.dotbot(["wt", "run", id])).stderr).toContain("it comes behind --".replace("it", "It"));
  });

  test("the queue: what succeeds is completed, what fails is failed, until there is none", async () => {
    await using world = await makeWorld();
    for (let i = 0; i < 4; i++) await addTask(world, `Task ${i}`);
    const bad = await addTask(world, "Bad");
    const script = `if [ "$DOTBOT_TASK_ID" = ${bad} ]; then echo broken; exit 3; fi; echo x > "f-$DOTBOT_SLOT-$$"; git add -A; git commit -qm x`;
    const ran = await world.dotbot([
      "wt",
      "run",
      "--next",
      "--loop",
      "--slots",
      "2",
      "--lock-wait",
      "60s",
      "--json",
      "--",
      "sh",
      "-c",
      script,
    ]);
    expect(ran.status).toBe(1);
    const answer: unknown = JSON.parse(ran.stdout);
    const outcomes = (at(answer, "runs") as unknown[]).map((it) => String(at(it, "outcome")));
    expect(outcomes.toSorted((a, b) => a.localeCompare(b))).toEqual([
      "completed",
      "completed",
      "completed",
      "completed",
      "failed",
    ]);
    expect(await subjects(world.main)).toHaveLength(5);
    expect(at(await world.ok(["task", "show", bad]), "task", "status")).toBe("failed");
    expect(await world.git("status", "--porcelain")).toBe("");
  }, 60_000);

  test("nothing to pick is an answer", async () => {
    await using world = await makeWorld();
    expect(await world.dotbot(["wt", "run", "--next", "--", "true"])).toMatchObject({
      status: 1,
      stdout: "nothing to pick\n",
    });
  });

  test("a signal reaches the command", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "One");
    const child = await start(
      ["wt", "run", id, "--", "sh", "-c", 'trap "echo heard; exit 5" TERM; echo ready; while :; do sleep 0.05; done'],
      { cwd: world.main },
    );
    const reader = child.stdout.getReader();
    let text = "";
    while (!text.includes("ready")) text += new TextDecoder().decode((await reader.read()).value);
    child.kill("SIGTERM");
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += new TextDecoder().decode(part.value);
    await child.exited;
    expect(text).toContain("heard");
  }, 30_000);
});

describe("adopt, prune, repair, look", () => {
  test("adopt takes a foreign worktree over, and it lives on as any other", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "One");
    await world.ok(["task", "start", id]);
    await world.git("worktree", "add", "-q", "-b", "agent/x", world.path("agent tree"));
    expect(await world.refused("INVALID_INPUT", ["wt", "adopt", world.path("agent tree")])).toMatchObject({
      hint: "name the task",
    });
    expect(await world.ok(["wt", "adopt", world.path("agent tree"), "--task", id])).toMatchObject({
      changed: true,
      branch: "agent/x",
      base: "main",
    });
    expect(await world.ok(["wt", "adopt", world.path("agent tree"), "--task", id])).toMatchObject({ changed: false });
    await commit(world.path("agent tree"), { "a.txt": "a\n" });
    await world.ok(["task", "done", id]);
    expect(await world.ok(["wt", "complete", id])).toMatchObject({
      outcome: "landed",
      removed: true,
      branchDeleted: true,
    });
  });

  test("prune lists, and removes with --yes only; work that is nowhere else stays", async () => {
    await using world = await makeWorld();
    const [kept, gone, moved] = [await begin(world, "Kept"), await begin(world, "Gone"), await begin(world, "Missing")];
    await begin(world, "Other");
    await commit(kept.path, { "k.txt": "k\n" });
    // A task with a worktree can't be removed: only a loss of the queue leaves a worktree without one.
    rmSync(join(world.main, ".git", "dotbot"), { recursive: true });
    for (const wt of [kept, gone])
      for (const file of new Bun.Glob(`*/*${wt.id8}.json`).scanSync(world.tasks)) rmSync(join(world.tasks, file));
    renameSync(moved.path, world.path("somewhere"));
    await world.git("branch", "task/0badc0de-merged", "main");
    const found = await world.ok(["wt", "prune"]);
    const kinds = (found["orphans"] as unknown[]).map((it) => [at(it, "kind"), at(it, "keeps") === null]);
    expect(kinds.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      ["branch-without-worktree", true],
      ["folder-without-task", false],
      ["folder-without-task", true],
      ["task-without-folder", true],
    ]);
    expect(existsSync(gone.path)).toBe(true);
    const pruned = await world.ok(["wt", "prune", "--yes"]);
    expect(pruned["removed"] as unknown[]).toHaveLength(3);
    expect([existsSync(gone.path), existsSync(kept.path)]).toEqual([false, true]);
    expect(Object.keys(await branches(world.main))).toContain(kept.branch);
  });

  test("prune refuses when most would go, and where the parent folder isn't there", async () => {
    await using world = await makeWorld();
    for (const name of ["One", "Two", "Three"]) await begin(world, name);
    renameSync(world.path("worktrees"), world.path("unmounted"));
    const found = await world.ok(["wt", "prune", "--yes"]);
    expect(found["removed"]).toEqual([]);
    expect((found["orphans"] as unknown[]).every((it) => String(at(it, "keeps")).includes("isn't there either"))).toBe(
      true,
    );
    mkdirSync(world.path("worktrees", "main"), { recursive: true });
    expect((await world.refused("REFUSED", ["wt", "prune", "--yes"])).message).toContain("more than half");
    expect(Object.keys(await branches(world.main))).toHaveLength(4);
  });

  test("repair mends a worktree and a main checkout that were moved", async () => {
    await using world = await makeWorld({ files: { ".bot/.gitignore": ".control\nworkspace/tasks\n" } });
    const wt = await begin(world, "One");
    renameSync(wt.path, world.path("new place"));
    expect(await world.dotbot(["wt", "repair"])).toMatchObject({ status: 1 });
    expect(await world.ok(["wt", "repair", wt.id, "--path", world.path("new place")])).toMatchObject({ ok: true });
    expect(await world.ok(["wt", "path", wt.id])).toMatchObject({ path: world.path("new place") });
    renameSync(world.main, world.path("main moved"));
    const cwd = world.path("main moved");
    expect(await world.ok(["wt", "repair"], { cwd })).toMatchObject({ ok: true });
    await commit(world.path("new place"), { "a.txt": "a\n" });
    await world.ok(["task", "done", wt.id], { cwd });
    expect(await world.ok(["wt", "complete", wt.id], { cwd })).toMatchObject({ outcome: "landed", removed: true });
  });

  test("path, switch, diff, log, status", async () => {
    await using world = await makeWorld();
    const wt = await begin(world, "One");
    await commit(wt.path, { "a.txt": "a\n" }, "add a");
    write(wt.path, { "README.md": "changed\n", "u.txt": "u\n" });
    await commit(world.main, { "base.txt": "b\n" });
    expect((await world.dotbot(["wt", "path", wt.id])).stdout).toBe(`${wt.path}\n`);
    expect((await world.dotbot(["wt", "switch", wt.id])).stdout).toBe(`${wt.path}\n`);
    expect((await world.dotbot(["wt", "switch"], { cwd: wt.path })).stdout).toBe(`${world.main}\n`);
    expect(await world.ok(["wt", "diff", wt.id])).toMatchObject({
      files: ["README.md", "a.txt"],
      untracked: ["u.txt"],
      base: "main",
    });
    expect(await world.ok(["wt", "log", wt.id])).toMatchObject({ commits: [{ subject: "add a" }] });
    expect(await world.ok(["wt", "status", wt.id])).toMatchObject({
      dirty: ["README.md"],
      untracked: ["u.txt"],
      exists: true,
    });
    expect(await world.ok(["wt", "list"])).toMatchObject({ worktrees: [{ ahead: 1, behind: 1, dirty: true }] });
    await world.refused("NOT_FOUND", ["wt", "path", await addTask(world, "Other")]);
  });

  test("sync by rebase, with a conflict that is taken back", async () => {
    await using world = await makeWorld();
    const wt = await begin(world, "One");
    await commit(wt.path, { "src/code.txt": "mine\n" });
    await commit(world.main, { "other.txt": "o\n" });
    expect(await world.ok(["wt", "sync", wt.id, "--rebase"])).toMatchObject({ outcome: "synced" });
    await commit(world.main, { "src/code.txt": "theirs\n" });
    const tip = await run(wt.path, "rev-parse", "HEAD");
    for (const how of [[], ["--rebase"]]) {
      const conflicted = await world.dotbot(["wt", "sync", wt.id, ...how, "--json"]);
      expect(conflicted.status).toBe(1);
      expect(JSON.parse(conflicted.stdout)).toMatchObject({ outcome: "conflict", conflicts: ["src/code.txt"] });
      expect(await world.ok(["wt", "sync", wt.id, "--abort"])).toMatchObject({ outcome: "aborted", commit: tip });
    }
  });
});

describe("layouts", () => {
  const life = async (world: World, main: string): Promise<void> => {
    const id = String(at(await world.ok(["task", "add", "One"], { cwd: main }), "task", "id"));
    const path = String(at(await world.ok(["wt", "create", id], { cwd: main }), "path"));
    await commit(path, { "work.txt": "w\n" });
    await world.ok(["task", "done"], { cwd: path });
    expect(await world.ok(["wt", "complete", id], { cwd: main })).toMatchObject({
      outcome: "landed",
      removed: true,
      branchDeleted: true,
    });
    expect(await world.ok(["wt", "undo", id, "--worktree"], { cwd: main })).toMatchObject({ changed: true });
    expect(await world.ok(["wt", "remove", id, "--force-unmerged"], { cwd: main })).toMatchObject({ changed: true });
  };

  const names: readonly (readonly [title: string, name: string])[] = [
    ["spaces", "a b  c"],
    ["a newline", "a\nb"],
    ["unicode", "größe-日本"],
    ["a leading dash", "-rf"],
    ["a trailing blank", "end "],
    ["glob and shell characters", "*[x]$(id)'\""],
  ];
  test.each(names)("a folder's name with %s", async (_title, name) => {
    await using world = await makeWorld();
    const main = await makeRepo(world.path(name, "proj"));
    mkdirSync(join(main, ".bot"));
    await life(world, main);
  });

  test("reached through a symlink", async () => {
    await using world = await makeWorld();
    symlinkSync(world.main, world.path("link"));
    await life(world, world.path("link"));
  });

  test("a bare repository beside its worktrees", async () => {
    await using world = await makeWorld();
    await world.git("clone", "-q", "--bare", world.main, world.path("proj", ".bare"));
    write(world.path("proj"), { ".git": "gitdir: ./.bare\n" });
    await run(world.path("proj"), "worktree", "add", "-q", "trunk", "main");
    mkdirSync(world.path("proj", ".bot"));
    await life(world, world.path("proj", "trunk"));
    expect(readFileSync(world.path("proj", "trunk", "README.md"), "utf8")).toBe("hello\n");
  });

  test("a sparse checkout", async () => {
    await using world = await makeWorld({ files: { "far/away.txt": "f\n" } });
    await world.git("sparse-checkout", "set", "src", ".bot");
    await life(world, world.main);
    expect(existsSync(join(world.main, "far"))).toBe(false);
    expect(await world.git("status", "--porcelain")).toBe("");
  });

  test("git speaks with the repository that is meant, whatever the environment says", async () => {
    await using world = await makeWorld();
    const other = await makeRepo(world.path("other"));
    // In what looks like a hook the identity of the hook's commit isn't ours.
    for (const [key, value] of [
      ["user.name", "Ada Tester"],
      ["user.email", "ada@example.invalid"],
    ] as const)
      await world.git("config", key, value);
    const env = { GIT_DIR: join(other, ".git"), GIT_WORK_TREE: other, GIT_INDEX_FILE: join(other, ".git", "index") };
    const id = String(at(await world.ok(["task", "add", "One"], { env }), "task", "id"));
    const path = String(at(await world.ok(["wt", "create", id], { env }), "path"));
    await commit(path, { "work.txt": "w\n" });
    await world.ok(["task", "done", id], { env });
    await world.ok(["wt", "complete", id], { env });
    expect(await subjects(other)).toEqual(["commit 1"]);
    expect(await run(other, "status", "--porcelain")).toBe("");
  });
});
