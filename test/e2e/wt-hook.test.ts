/** The hooks of agents that make worktrees of their own: JSON in, a path out, and nothing lost on the way back. */
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { dotbot, outcome, start, type Options, type Outcome } from "../kit/binary.ts";
import { makeRepo, run, tempDir, write } from "../kit/git.ts";
import { killedAt, writeCalls } from "../kit/strace.ts";
import { requireTool } from "../kit/tools.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { create, hook, pathOf, refuses, type Told } from "./wt-hook-kit.ts";
import { begin, branches, checkoutState, commit } from "./wt-kit.ts";

const addTask = async (world: World, name: string): Promise<string> =>
  String(at(await world.ok(["task", "add", name]), "task", "id"));

const claimOf = async (world: World, id: string): Promise<unknown> =>
  at(await world.ok(["task", "show", id]), "claim", "session");

describe("create, by a task's name", () => {
  test("the task's worktree is made, the task started and held by the session", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "Add a login page");
    const told = {
      session_id: "5e55",
      transcript_path: "/nowhere",
      cwd: world.main,
      hook_event_name: "WorktreeCreate",
      name: "add-a-login-page",
      something_new: { of: ["a", "later"], version: 1 },
    };
    const path = await create("/", told);
    expect(path).toBe(join(world.root, "worktrees", "main", `task-${id.slice(0, 8)}-add-a-login-page`));
    expect(at(await world.ok(["task", "show", id]), "task", "status")).toBe("in-progress");
    expect(await claimOf(world, id)).toBe("5e55");
    // Again, from the worktree itself: the same.
    expect(await create(path, { name: "add-a-login-page", session_id: "5e55" })).toBe(path);
    expect((await world.git("worktree", "list")).split("\n")).toHaveLength(2);
  });

  test.each([
    ["its id", (id: string) => id],
    ["the first digits of it", (id: string) => id.slice(0, 8)],
    ["its name", () => "Ein längerer Name: Größe & Maß"],
    ["its name with dashes", () => "ein-langerer-name-grosse-mass"],
    ["the name of its folder", (id: string) => `task-${id.slice(0, 8)}-whatever`],
    ["the name of its branch", (id: string) => `task/${id.slice(0, 8)}-whatever`],
  ])("%s", async (_title, nameOf) => {
    await using world = await makeWorld();
    const id = await addTask(world, "Ein längerer Name: Größe & Maß");
    const path = await create(world.main, { worktree_name: nameOf(id), cwd: join(world.main, "src") });
    expect(path).toContain(`task-${id.slice(0, 8)}-`);
  });

  test("held by another: no worktree, no claim taken, and who holds it", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "Add a login page");
    const mine = { name: "add-a-login-page", session_id: "one", cwd: world.main };
    const path = await create(world.main, mine);
    await refuses(hook(world.main, "create", { ...mine, session_id: "two" }), 4, /claimed by one/);
    await refuses(hook(world.main, "create", { name: "add-a-login-page", cwd: world.main }), 4, /claimed by one/);
    expect(await claimOf(world, id)).toBe("one");
    expect(await create(world.main, mine)).toBe(path);
    // As the documentation says it for a session that is gone.
    await world.ok(["task", "release", id, "--steal", "that session has ended"]);
    expect(await create(world.main, { ...mine, session_id: "two" })).toBe(path);
    expect(await claimOf(world, id)).toBe("two");
  });

  test("held by another before there was a worktree: none is made", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "Add a login page");
    await world.ok(["task", "claim", id, "--session", "one"]);
    await refuses(hook(world.main, "create", { name: id, session_id: "two", cwd: world.main }), 4, /claimed by one/);
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
    expect((await world.git("worktree", "list")).split("\n")).toHaveLength(1);
  });

  test("two tasks of that name: neither, and both are named", async () => {
    await using world = await makeWorld();
    const ids = [await addTask(world, "Fix the search"), await addTask(world, "Fix the Search")];
    const result = hook(world.main, "create", { name: "fix-the-search", cwd: world.main });
    await refuses(result, 2, new RegExp(`means 2 tasks: .*${ids[0]?.slice(0, 8)}|${ids[1]?.slice(0, 8)}`));
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
  });

  test("a task that is over keeps its name only while it has a worktree", async () => {
    await using world = await makeWorld();
    const done = await begin(world, "Fix the search");
    await commit(done.path, { "work.txt": "w\n" });
    await world.ok(["task", "done", done.id, "--skip-verify", "a test"]);
    await refuses(hook(world.main, "create", { name: "fix-the-search", cwd: world.main }), 4, /is done/);
    await world.ok(["wt", "complete", done.id]);
    expect(await create(world.main, { name: "fix-the-search", cwd: world.main })).toBe(
      world.path("worktrees", "main", "fix-the-search"),
    );
  });

  test("a set-up that fails is told on stderr, and the session has its worktree", async () => {
    await using world = await makeWorld();
    await addTask(world, "One");
    await world.ok(["config", "set", "worktree.post_create", '["echo broken >&2; exit 3"]']);
    for (const name of ["one", "no-task"]) {
      const result = await hook(world.main, "create", { name, cwd: world.main });
      expect(existsSync(pathOf(result))).toBe(true);
      expect(result.stderr).toContain("set-up failed: echo broken >&2; exit 3 (status 3)");
    }
  });
});

describe("create, by any other name", () => {
  test("a worktree of no task from the base, the same for the same name, and another for another", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "Add a login page");
    await world.ok(["task", "start", id, "--session", "5e55"]);
    await world.git("switch", "-q", "-c", "elsewhere");
    await commit(world.main, { "else.txt": "e\n" });
    // The session holds a task: agents of its own that it starts still get places of their own.
    const told = { name: "bold-oak-a3f2", session_id: "5e55", cwd: world.main };
    const path = await create(world.main, told);
    expect(path).toBe(world.path("worktrees", "main", "bold-oak-a3f2"));
    expect(await run(path, "branch", "--show-current")).toBe("worktree-bold-oak-a3f2");
    expect(await run(path, "rev-parse", "HEAD")).toBe(await world.git("rev-parse", "main"));
    expect(await run(path, "status", "--porcelain")).toBe("");
    // Whatever the session did in it meanwhile.
    await commit(path, { "work.txt": "w\n" });
    await run(path, "switch", "-q", "-c", "of-its-own");
    expect(await create(path, { ...told, cwd: path })).toBe(path);
    expect(await create(world.main, { ...told, name: "calm-elm-0001" })).not.toBe(path);
  });

  test("at the same time, too", async () => {
    await using world = await makeWorld();
    const told = JSON.stringify({ name: "bold-oak-a3f2", cwd: world.main });
    const children = await Promise.all(
      Array.from({ length: 6 }, async () => await start(["wt", "hook", "create"], { cwd: world.main, stdin: told })),
    );
    const paths = (await Promise.all(children.map(outcome))).map(pathOf);
    expect(new Set(paths).size).toBe(1);
    expect(Object.keys(await branches(world.main))).toEqual(["main", "worktree-bold-oak-a3f2"]);
  });

  const NAMES = [
    "a b",
    "feature/login",
    "Feature-Login",
    "feature-login",
    "..",
    "../../../../escape",
    "/etc/escape",
    "a/../../b",
    "-rf",
    "--force",
    ".git",
    "日本",
    "中国",
    "Task",
    "task deadbeef",
    "task-deadbeef-and-more",
    "a\nb",
    "a\u0000b",
    "$(touch escape)",
    "task",
    "x".repeat(300),
    `${"x".repeat(300)}y`,
    "con.lock",
    "HEAD",
  ];
  test("whatever is in the name: one folder among the worktrees, and another for each", async () => {
    await using world = await makeWorld();
    const paths = [];
    for (const name of NAMES) {
      const path = await create(world.main, { name, cwd: world.main });
      expect(path.slice(0, path.lastIndexOf("/"))).toBe(world.path("worktrees", "main"));
      expect(path.slice(path.lastIndexOf("/") + 1)).toMatch(/^[a-z0-9][a-z0-9-]*$/);
      paths.push(path);
    }
    expect(new Set(paths).size).toBe(NAMES.length);
    expect(await world.git("status", "--porcelain")).toBe("");
    expect(existsSync(world.path("escape"))).toBe(false);
    // None of them reads as a task's.
    expect((await world.dotbot(["doctor"])).stdout).toMatch(/^all is well/);
  });

  test("what the settings bring into worktrees, and again where that was cut short", async () => {
    await using world = await makeWorld({ files: { ".worktreeinclude": ".env\n", ".gitignore": ".env\nran\n" } });
    write(world.main, { ".env": "SECRET=1\n" });
    await world.ok(["config", "set", "worktree.post_create", '["echo $DOTBOT_SESSION >> ran; test -e go"]']);
    const told = { name: "bold-oak", session_id: "5e55", cwd: world.main };
    const path = await create(world.main, told);
    expect(readFileSync(join(path, ".env"), "utf8")).toBe("SECRET=1\n");
    expect(existsSync(join(path, ".bot", "workspace", "tasks"))).toBe(true);
    writeFileSync(join(path, "go"), "");
    await create(world.main, told);
    // It has ended well: that was the last time.
    await create(world.main, told);
    expect(readFileSync(join(path, "ran"), "utf8")).toBe("5e55\n5e55\n");
  });

  test("adopted, its name is the task's", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "Add a login page");
    const told = { name: "bold-oak", session_id: "one", cwd: world.main };
    const path = await create(world.main, told);
    await world.ok(["wt", "adopt", path, "--task", id]);
    expect(await create(world.main, told)).toBe(path);
    expect(await claimOf(world, id)).toBe("one");
    await refuses(hook(world.main, "create", { ...told, session_id: "two" }), 4, /claimed by one/);
  });

  test("a folder of somebody's in its place stays as it is", async () => {
    await using world = await makeWorld();
    write(world.path("worktrees", "main", "bold-oak"), { "mine.txt": "m\n" });
    await refuses(hook(world.main, "create", { name: "bold-oak", cwd: world.main }), 4, /is taken/);
    expect(readFileSync(world.path("worktrees", "main", "bold-oak", "mine.txt"), "utf8")).toBe("m\n");
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
  });

  test("a folder that was removed by hand is made again, with the branch and its work", async () => {
    await using world = await makeWorld();
    const told = { name: "bold-oak", cwd: world.main };
    const path = await create(world.main, told);
    await commit(path, { "work.txt": "w\n" });
    rmSync(path, { recursive: true });
    expect(await create(world.main, told)).toBe(path);
    expect(existsSync(join(path, "work.txt"))).toBe(true);
  });

  test("a making that git was killed in is never handed out", async () => {
    await using world = await makeWorld();
    const told = { name: "bold-oak", cwd: world.main };
    const path = await create(world.main, told);
    writeFileSync(join(world.main, ".git", "worktrees", "bold-oak", "locked"), "initializing");
    await refuses(hook(world.main, "create", told), 4, /was cut short/);
    expect(existsSync(path)).toBe(true);
  });

  test("a hook of the repository that refuses leaves nothing behind", async () => {
    await using world = await makeWorld();
    write(world.main, { ".git/hooks/post-checkout": "#!/bin/sh\necho no >&2\nexit 1\n" });
    await run(world.main, "config", "core.hooksPath", ".git/hooks");
    chmodSync(join(world.main, ".git", "hooks", "post-checkout"), 0o755);
    const result = await hook(world.main, "create", { name: "bold-oak", cwd: world.main });
    expect(result.status).toBeGreaterThan(3);
    expect(result.stdout).toBe("");
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
    expect(existsSync(world.path("worktrees", "main", "bold-oak"))).toBe(false);
    expect(result.stderr).not.toContain("the task");
  });

  test("a branch that git can't have beside another's is no matter of waiting", async () => {
    await using world = await makeWorld();
    await world.git("branch", "worktree-bold/oak");
    const result = hook(world.main, "create", { name: "bold", cwd: world.main });
    await refuses(result, 4, /'refs\/heads\/worktree-bold\/oak' exists.*hint: .*rename or delete/s);
  });

  test("a locked place whose folder isn't there is kept for whoever locked it", async () => {
    await using world = await makeWorld();
    const told = { name: "bold-oak", cwd: world.main };
    const path = await create(world.main, told);
    await world.git("worktree", "lock", "--reason", "on a disk", path);
    rmSync(path, { recursive: true });
    await refuses(hook(world.main, "create", told), 4, /locked: "on a disk"/);
    expect(await world.git("worktree", "list", "--porcelain")).toContain("locked on a disk");
  });
});

describe("create, from wherever the agent is", () => {
  test("without a queue: the worktree that the agent would have made", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), {
      files: { "a.txt": "a\n", ".gitignore": ".claude/\n.env\n", ".worktreeinclude": ".env\n" },
    });
    write(repo, { ".env": "SECRET=1\n" });
    const told = { name: "Bold Oak", cwd: repo };
    const path = await create("/", told);
    expect(path).toMatch(/\/repo\/\.claude\/worktrees\/bold-oak-[0-9a-f]{8}$/);
    expect(readFileSync(join(path, ".env"), "utf8")).toBe("SECRET=1\n");
    expect(existsSync(join(repo, ".bot"))).toBe(false);
    expect(await create(path, { ...told, cwd: path })).toBe(path);
    expect(await run(repo, "status", "--porcelain")).toBe("");
    rmSync(path, { recursive: true });
    expect(await create(repo, told)).toBe(path);
    await refuses(hook(repo, "remove", { worktree_path: repo, cwd: repo }), 4, /is the main checkout/);
    expect(await hook(repo, "remove", { worktree_path: path, cwd: path })).toMatchObject({ status: 0, stdout: "" });
    expect(existsSync(path)).toBe(false);
    expect(Object.keys(await branches(repo))).toHaveLength(1);
  });

  test("without a queue, work stays: uncommitted, unmerged, detached", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    const path = await create(repo, { name: "bold-oak", cwd: repo });
    const leave = async (): Promise<Outcome> => await hook(repo, "remove", { worktree_path: path, cwd: repo });
    write(path, { "new.txt": "n\n" });
    await refuses(leave(), 4, /stays/);
    await run(path, "add", "-A");
    await run(path, "commit", "-q", "-m", "work");
    const tip = await run(path, "rev-parse", "HEAD");
    await run(path, "switch", "-q", "--detach");
    await run(path, "commit", "-q", "--allow-empty", "-m", "more");
    await refuses(leave(), 4, /on no branch/);
    await run(path, "switch", "-q", "worktree-bold-oak");
    expect(await leave()).toMatchObject({ status: 0 });
    expect(await branches(repo)).toMatchObject({ "worktree-bold-oak": tip });
  });

  test("outside any repository, and in one without a commit", async () => {
    await using dir = await tempDir();
    await refuses(hook(dir.root, "create", { name: "x", cwd: dir.root }), 5, /no git repository/);
    await refuses(hook("/", "create", { name: "x", cwd: dir.path("gone") }), 3, /doesn't exist/);
    await run(dir.root, "init", "-q", "fresh");
    await refuses(hook("/", "create", { name: "x", cwd: dir.path("fresh") }), 4, /no commit yet/);
  });

  test("a repository inside another's folder: its own, by cwd", async () => {
    await using world = await makeWorld({ files: { ".gitignore": "nested/\n" } });
    const id = await addTask(world, "Add a login page");
    const nested = await makeRepo(join(world.main, "nested"));
    expect(await create(world.main, { name: "add-a-login-page", cwd: nested })).toStartWith(
      join(realpathSync(nested), ".claude", "worktrees"),
    );
    expect(await create(nested, { name: "add-a-login-page", cwd: world.main })).toContain(id.slice(0, 8));
  });

  test("a checkout of a bare repository, whose root nothing records", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), { init: ["--initial-branch=main"] });
    await run(dir.root, "clone", "-q", "--bare", repo, "bare.git");
    await run(dir.path("bare.git"), "worktree", "add", "-q", dir.path("one"), "main");
    await run(dir.path("bare.git"), "worktree", "add", "-q", dir.path("two"), "-b", "two");
    const path = await create(dir.path("one"), { name: "bold-oak", cwd: dir.path("one") });
    // Beside the repository: a checkout may be taken away, and what lies in it would go with it.
    expect(path).toBe(join(dir.root, "worktrees", "bare.git", "bold-oak"));
    expect(await create(dir.path("two"), { name: "bold-oak", cwd: dir.path("two") })).toBe(path);
    const told = { worktree_path: path, cwd: dir.path("two") };
    write(path, { "new.txt": "n\n" });
    await refuses(hook("/", "remove", told), 4, /stays/);
    rmSync(join(path, "new.txt"));
    await refuses(hook("/", "remove", { ...told, cwd: repo }), 4, /another repository's/);
    expect((await hook(path, "remove", told)).status).toBe(0);
    expect(Object.keys(await branches(dir.path("bare.git")))).toEqual(["main", "two"]);
  });

  test("--dir is stronger than the hook's cwd", async () => {
    await using world = await makeWorld();
    const stdin = JSON.stringify({ name: "bold-oak", cwd: "/" });
    const result = await dotbot(["wt", "hook", "create", "--dir", world.main], { cwd: "/", stdin });
    expect(pathOf(result)).toBe(world.path("worktrees", "main", "bold-oak"));
  });

  const BAD: readonly (readonly [title: string, stdin: string, says: RegExp])[] = [
    ["nothing", "", /stdin is empty/],
    ["broken JSON", '{"name": "x"', /isn't a JSON object/],
    ["another kind of JSON", '["x"]', /isn't a JSON object/],
    ["no name", '{"cwd": "/"}', /has no name/],
    ["a name that is none", '{"name": " "}', /has no name/],
    ["a number for a name", '{"name": 7}', /has no name/],
  ];
  test.each(BAD)("stdin is %s", async (_title, stdin, says) => {
    await using world = await makeWorld();
    await refuses(hook(world.main, "create", stdin), 2, says);
    await refuses(hook(world.main, "remove", stdin), 2, /stdin|worktree_path/);
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
  });

  test("no stdin at all", async () => {
    await using world = await makeWorld();
    for (const verb of ["create", "remove"])
      await refuses(dotbot(["wt", "hook", verb], { cwd: world.main }), 2, /stdin is empty/);
  });
});

describe("remove", () => {
  test("a task's: gone when nothing is lost by it, and the session's claim with it", async () => {
    await using world = await makeWorld();
    const id = await addTask(world, "Add a login page");
    const path = await create(world.main, { name: id, session_id: "one", cwd: world.main });
    const told = { worktree_path: path, session_id: "one", cwd: path };
    // The agent stands in it.
    expect(await hook(path, "remove", told)).toMatchObject({ status: 0, stdout: "" });
    expect(existsSync(path)).toBe(false);
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
    // And again: it is gone already, which is as well.
    expect(await hook("/", "remove", told)).toMatchObject({ status: 0, stdout: "" });
    expect(await create(world.main, { name: id, session_id: "two", cwd: world.main })).toBe(path);
  });

  test("a task's stays: uncommitted, unmerged, held by another", async () => {
    await using world = await makeWorld();
    const wt = await begin(world, "Add a login page", "--session", "one");
    const told = { worktree_path: wt.path, session_id: "one", cwd: world.main };
    write(wt.path, { "new.txt": "n\n" });
    await refuses(hook(world.main, "remove", told), 4, /untracked file.*new\.txt/);
    await run(wt.path, "add", "-A");
    await run(wt.path, "commit", "-q", "-m", "work");
    const before = await checkoutState(wt.path);
    await refuses(hook(world.main, "remove", told), 4, /commits that are nowhere else/);
    await refuses(hook(world.main, "remove", { ...told, session_id: "two" }), 4, /claimed by one/);
    expect(await checkoutState(wt.path)).toEqual(before);
    expect(await claimOf(world, wt.id)).toBe("one");
  });

  test("a plain one: kept in the trash; its branch only when it is merged", async () => {
    await using world = await makeWorld({ files: { ".gitignore": ".env\n" } });
    const told = (worktree_path: string): Told => ({ worktree_path, cwd: world.main });
    const fresh = await create(world.main, { name: "fresh", cwd: world.main });
    write(fresh, { ".env": "SECRET=1\n" });
    const gone = await hook(world.main, "remove", told(fresh));
    expect(gone.status).toBe(0);
    const trash = /kept in (.*) for seven days/.exec(gone.stderr)?.[1] ?? "";
    expect(readFileSync(join(trash, "tree", ".env"), "utf8")).toBe("SECRET=1\n");

    const ahead = await create(world.main, { name: "ahead", cwd: world.main });
    write(ahead, { "new.txt": "n\n" });
    await refuses(hook(world.main, "remove", told(ahead)), 4, /untracked file.*new\.txt/);
    await run(ahead, "add", "-A");
    await run(ahead, "commit", "-q", "-m", "work");
    const tip = await run(ahead, "rev-parse", "HEAD");
    expect((await hook(ahead, "remove", { worktree_path: ahead })).status).toBe(0);
    expect(existsSync(ahead)).toBe(false);
    expect(await branches(world.main)).toEqual({ main: await world.git("rev-parse", "main"), "worktree-ahead": tip });

    // Asked for again, its work is there; merged, the branch goes as well.
    expect(await create(world.main, { name: "ahead", cwd: world.main })).toBe(ahead);
    expect(await run(ahead, "rev-parse", "HEAD")).toBe(tip);
    await world.git("merge", "-q", "--ff-only", "worktree-ahead");
    expect((await hook(world.main, "remove", told(ahead))).status).toBe(0);
    expect(Object.keys(await branches(world.main))).toEqual(["main"]);
  });

  test("a plain one: somebody's branch stays, a detached HEAD's commits keep it, a lock keeps it", async () => {
    await using world = await makeWorld();
    const path = await create(world.main, { name: "bold-oak", cwd: world.main });
    const told = { worktree_path: path, cwd: world.main };
    await run(path, "switch", "-q", "--detach");
    await run(path, "commit", "-q", "--allow-empty", "-m", "nowhere else");
    await refuses(hook(world.main, "remove", told), 4, /on no branch/);
    await run(path, "switch", "-q", "-c", "somebodys", "main");
    await world.git("worktree", "lock", "--reason", "mine", path);
    await refuses(hook(world.main, "remove", told), 4, /it is locked: "mine"/);
    await world.git("worktree", "unlock", path);
    expect((await hook(world.main, "remove", told)).status).toBe(0);
    expect(Object.keys(await branches(world.main))).toEqual(["main", "somebodys", "worktree-bold-oak"]);
  });

  test("nothing else is touched: another repository's, main checkouts, subfolders, folders, files", async () => {
    await using world = await makeWorld();
    const other = await makeRepo(world.path("other"));
    await run(other, "worktree", "add", "-q", world.path("others"), "-b", "others");
    const own = await create(world.main, { name: "bold-oak", cwd: world.main });
    mkdirSync(join(own, "src", "below"), { recursive: true });
    mkdirSync(world.path("folder"));
    writeFileSync(world.path("file"), "f\n");
    symlinkSync("nowhere", world.path("dangling"));
    const rows: readonly (readonly [path: string, says: RegExp])[] = [
      [world.path("others"), /another repository's worktree/],
      [other, /is the main checkout/],
      [world.main, /is the main checkout/],
      [join(world.main, "src"), /isn't the folder of a worktree/],
      [join(world.main, ".git"), /isn't the folder of a worktree/],
      [join(own, "src"), /isn't the folder of a worktree/],
      [world.path("folder"), /is no worktree/],
      [world.path("file"), /is no worktree/],
      [world.path("dangling"), /is no worktree/],
      ["/", /is no worktree/],
    ];
    for (const [worktree_path, says] of rows) await refuses(hook(world.main, "remove", { worktree_path }), 4, says);
    await refuses(hook(world.main, "remove", { worktree_path: "worktrees/main/bold-oak" }), 2, /isn't absolute/);
    expect(await hook(world.main, "remove", { worktree_path: world.path("missing") })).toMatchObject({
      status: 0,
      stdout: "",
      stderr: expect.stringContaining("nothing at"),
    });
    expect([own, world.path("others"), other, world.path("folder")].map((it) => existsSync(it))).toEqual(
      Array.from({ length: 4 }, () => true),
    );
  });

  test("from a folder of no repository: nobody says that this one is meant", async () => {
    await using world = await makeWorld();
    const path = await create(world.main, { name: "bold-oak", cwd: world.main });
    const told = (cwd: string): Told => ({ worktree_path: path, cwd });
    await refuses(hook("/", "remove", told("/")), 4, /may be anybody's: the agent works in "\/".*--dir/s);
    await refuses(hook("/", "remove", told(world.path("gone"))), 4, /may be anybody's/);
    // Even where the folder around it is the repository's: what was there may have been anything.
    await refuses(hook("/", "remove", told(join(world.main, "gone"))), 4, /may be anybody's/);
    const stdin = JSON.stringify(told("/"));
    expect(await dotbot(["wt", "hook", "remove", "--dir", world.main], { cwd: "/", stdin })).toMatchObject({
      status: 0,
    });
    expect(existsSync(path)).toBe(false);
  });

  test("from a folder in the worktree that is gone, and from a submodule: of the worktree, of the main checkout", async () => {
    await using world = await makeWorld();
    const library = await makeRepo(world.path("library"));
    const submodule = ["-c", "protocol.file.allow=always", "submodule", "--quiet"] as const;
    await world.git(...submodule, "add", library, "sub");
    await world.git("commit", "-q", "-m", "sub");
    for (const from of [
      (path: string) => join(path, "gone", "below"),
      (path: string) => join(path, "sub"),
      () => join(world.main, "sub"),
    ]) {
      const path = await create(world.main, { name: "bold-oak", cwd: world.main });
      await run(path, ...submodule, "update", "--init");
      await refuses(hook("/", "remove", { worktree_path: path, cwd: library }), 4, /another repository's/);
      expect(await hook("/", "remove", { worktree_path: path, cwd: from(path) })).toMatchObject({ status: 0 });
      expect(existsSync(path)).toBe(false);
    }
  });

  test("six at once: one takes it away, and for the others it is gone already", async () => {
    await using world = await makeWorld();
    const path = await create(world.main, { name: "bold-oak", cwd: world.main });
    const stdin = JSON.stringify({ worktree_path: path, cwd: world.main });
    const children = await Promise.all(
      Array.from({ length: 6 }, async () => await start(["wt", "hook", "remove"], { cwd: world.main, stdin })),
    );
    const results = await Promise.all(children.map(outcome));
    expect(results.map((it) => it.status)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(results.filter((it) => it.stderr.includes("it is kept in"))).toHaveLength(1);
  });
});

test("another command at work in the repository is waited for, then named", async () => {
  await using world = await makeWorld();
  const path = await create(world.main, { name: "bold-oak", cwd: world.main });
  const holder = join(import.meta.dir, "..", "..", "lib", "sqlite.ts");
  const lock = JSON.stringify(join(world.main, ".git", "dotbot", "lock.db"));
  const script = `import { tryLock } from ${JSON.stringify(holder)}; if (tryLock(${lock}) === null) throw new Error("held"); console.log("held"); await Bun.stdin.text();`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  await child.stdout.getReader().read();
  for (const [verb, told] of [
    ["create", { name: "calm-elm" }],
    ["remove", { worktree_path: path }],
  ] as const) {
    const args = ["wt", "hook", verb, "--lock-wait", "100ms"];
    await refuses(dotbot(args, { cwd: world.main, stdin: JSON.stringify(told) }), 6, /is changing this repository/);
  }
  await world.ok(["config", "set", "lock.wait", "100ms"]);
  await refuses(hook(world.main, "create", { name: "calm-elm" }), 6, /waited 100 ms/);
  child.kill("SIGKILL");
  await child.exited;
  expect((await hook(world.main, "remove", { worktree_path: path })).status).toBe(0);
});

describe.skipIf(!requireTool("strace"))("killed at any write, and asked again", () => {
  const POINTS = 24;
  const sample = <T>(items: readonly T[]): readonly T[] =>
    items.filter((_, i) => Math.floor((i * POINTS) / items.length) !== Math.floor(((i - 1) * POINTS) / items.length));
  const whole = async (path: string, branch: string): Promise<void> => {
    expect(await run(path, "status", "--porcelain", "--branch")).toBe(`## ${branch}`);
    expect(existsSync(join(path, "src", "code.txt"))).toBe(true);
    expect(readFileSync(join(path, ".env"), "utf8")).toBe("SECRET=1\n");
  };
  const withSecret = async (): Promise<World> => {
    const world = await makeWorld({ files: { ".worktreeinclude": ".env\n", ".gitignore": ".env\n" } });
    write(world.main, { ".env": "SECRET=1\n" });
    return world;
  };

  test("create: whole, on its branch, and nothing beside it", async () => {
    await using world = await withSecret();
    const args = ["wt", "hook", "create"];
    const told = (name: string): string => JSON.stringify({ name, cwd: world.main });
    const { calls } = await writeCalls(args, { cwd: world.main, stdin: told("first") });
    const points = sample(calls);
    for (const [i, call] of points.entries()) {
      const killed = await killedAt(call, args, { cwd: world.main, stdin: told(`oak-${i}`) });
      const path = await create(world.main, { name: `oak-${i}`, cwd: world.main });
      if (killed.stdout !== "") expect(killed.stdout).toBe(`${path}\n`);
      await whole(path, `worktree-oak-${i}`);
    }
    expect(Object.keys(await branches(world.main))).toHaveLength(points.length + 2);
    expect((await world.git("worktree", "list")).split("\n")).toHaveLength(points.length + 2);
    expect((await world.ok(["wt", "list"]))["unfinished"]).toEqual([]);
  }, 240_000);

  test("create, without a queue: the same", async () => {
    await using dir = await tempDir();
    const files = { "src/code.txt": "c\n", ".gitignore": ".env\n.claude/\n", ".worktreeinclude": ".env\n" };
    const repo = await makeRepo(dir.path("repo"), { files });
    write(repo, { ".env": "SECRET=1\n" });
    const args = ["wt", "hook", "create"];
    const told = (name: string): string => JSON.stringify({ name, cwd: repo });
    const { calls } = await writeCalls(args, { cwd: repo, stdin: told("first") });
    for (const [i, call] of sample(calls).entries()) {
      await killedAt(call, args, { cwd: repo, stdin: told(`oak-${i}`) });
      await whole(await create(repo, { name: `oak-${i}`, cwd: repo }), `worktree-oak-${i}`);
    }
    expect((await run(repo, "worktree", "list")).split("\n")).toHaveLength(Object.keys(await branches(repo)).length);
  }, 240_000);

  test.each(["with a queue", "without one"])(
    "remove %s: gone or whole, and then gone",
    async (queue) => {
      await using world = await withSecret();
      if (queue === "without one") rmSync(join(world.main, ".bot"), { recursive: true });
      const args = ["wt", "hook", "remove"];
      const options = async (name: string): Promise<Options & { path: string }> => {
        const path = await create(world.main, { name, cwd: world.main });
        return { path, cwd: world.main, stdin: JSON.stringify({ worktree_path: path, cwd: world.main }) };
      };
      const { calls } = await writeCalls(args, await options("first"));
      for (const [i, call] of sample(calls).entries()) {
        const { path, ...rest } = await options(`oak-${i}`);
        await killedAt(call, args, rest);
        if (existsSync(join(path, ".git"))) await whole(path, `worktree-oak-${i}`);
        expect(await dotbot(args, rest)).toMatchObject({ status: 0, stdout: "" });
      }
      // What the last of them left is finished by whatever comes next.
      await create(world.main, { name: "last", cwd: world.main });
      expect(Object.keys(await branches(world.main))).toEqual(["main", "worktree-last"]);
      expect((await world.git("worktree", "list")).split("\n")).toHaveLength(2);
    },
    240_000,
  );
});
