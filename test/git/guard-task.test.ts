/** A task's worktree: named by the task, made where a foreign main checkout is refused, finished under the task's name. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";

import { allOperations } from "../../lib/ops.ts";
import { toolName } from "../../lib/op.ts";
import { makeRepo, run as git, tempDir, write, type TempDir } from "../kit/git.ts";
import { exampleIn, failure, guard, run, server, stateOf, type Place, type Result } from "../kit/guard.ts";

async function tool(name: string, input: Result, place: Place): Promise<Result> {
  const op = (await allOperations()).find((it) => toolName(it) === name);
  if (op === undefined) throw new Error(`no tool ${name}`);
  return await run(
    op,
    { ...(["task_create", "task_add"].includes(name) ? { session_id: "unknown" } : {}), ...input },
    place,
  );
}

/** `home` with a queue and one task; its id. */
async function queue(dir: TempDir): Promise<string> {
  const home = await makeRepo(dir.path("home"), {
    files: { "README.md": "hello\n", ".bot/.gitignore": ".control/\nworkspace/tasks\n" },
    init: ["--initial-branch=main"],
  });
  mkdirSync(dir.path("home/.bot"), { recursive: true });
  const add = (await allOperations()).find(({ name }) => name === "task add");
  if (add === undefined) throw new Error("no task add");
  const { task } = await run(
    add,
    { name: "Add a login page", description: "Fixes #8.", session_id: "unknown" },
    { cwd: home },
  );
  return typeof task === "object" && task !== null && "id" in task ? String(task.id) : "";
}

async function worktree(dir: TempDir, task: string): Promise<string> {
  const made = await tool("wt_create", { task_id: task, session_id: "unknown" }, { cwd: dir.path("home") });
  const path = JSON.stringify(made).match(/"(?:path|repoPath|worktree)":"([^"]*worktrees[^"]*)"/)?.[1];
  if (path === undefined) throw new Error(JSON.stringify(made));
  return path;
}

test("task_id names the task's worktree, over MCP and on a command line", async () => {
  await using dir = await tempDir();
  const task = await queue(dir);
  const home = dir.path("home");
  const tree = await worktree(dir, task);
  write(tree, { "new.txt": "n\n" });
  for (const place of [server(home), { cwd: home }]) {
    expect(await guard("add", { files: ["new.txt"], task_id: task.slice(0, 8) }, place)).toMatchObject({
      repoPath: tree,
      stateRoot: home,
    });
  }
  const before = stateOf(tree);
  expect(
    (await failure(guard("add", { files: ["new.txt"], task_id: task, dir: home }, server(home)))).details,
  ).toMatchObject({ mismatched: ["task_id"] });
  expect((await failure(guard("add", { files: ["new.txt"], task_id: "ffffffff" }, server(home)))).code).toBe(
    "TASK_NOT_FOUND",
  );
  expect(stateOf(tree)).toEqual(before);
});

test("a foreign main checkout without worktrees: the example makes one", async () => {
  await using dir = await tempDir();
  const task = await queue(dir);
  const other = await makeRepo(dir.path("other"));
  write(dir.path("home"), { "new.txt": "n\n" });
  const facts = await failure(
    guard("commit", { message: "x", files: ["new.txt"], dir: dir.path("home") }, server(other)),
  );
  const example = exampleIn(facts);
  expect(example).toEqual({ tool: "wt_create", arguments: { dir: dir.path("home"), task_id: task.slice(0, 8) } });
  await tool(example.tool, { ...example.arguments, session_id: "unknown" }, server(other));
  expect((await git(dir.path("home"), "worktree", "list", "--porcelain")).match(/^worktree /gm)).toHaveLength(2);
});

test("finish takes title and text from the task, and closes only what it may", async () => {
  await using dir = await tempDir();
  const task = await queue(dir);
  const tree = await worktree(dir, task);
  write(tree, { "login.txt": "l\n" });
  await guard("commit", { message: "login", files: ["login.txt"] }, { cwd: tree });
  expect(await guard("finish", { merge: true }, { cwd: tree })).toMatchObject({
    closes: [],
    notClosed: [],
    base: "main",
  });
  expect(await git(dir.path("home"), "log", "-1", "--format=%s", "main")).toBe("Add a login page");
});
