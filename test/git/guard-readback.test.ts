/** What is read back after a commit, what hooks, merges, submodules and other processes do to it, and staging. */
import { describe, expect, test } from "bun:test";
import { readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { makeRepo, run as git, tempDir, tryRun, write } from "../kit/git.ts";
import { failure, guard, stateOf } from "../kit/guard.ts";
import { conflicted, script } from "../kit/repositories.ts";

const FILES = { "a.txt": "1\n", "b.txt": "b\n", "dir/c.txt": "c\n", "dir/d.txt": "d\n" };

describe("a hook that stages something else", () => {
  test("SWEPT_IN names it, and the index doesn't take it back", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), { files: FILES });
    script(join(repo, ".git/hooks"), "pre-commit", "echo swept > b.txt; echo new > extra.txt; git add b.txt extra.txt");
    write(repo, { "a.txt": "x\n" });
    const facts = await failure(guard("commit", { message: "x", files: ["a.txt"] }, { cwd: repo }));
    expect(facts).toMatchObject({
      code: "SWEPT_IN",
      details: { sha: await git(repo, "rev-parse", "HEAD"), sweptIn: ["b.txt", "extra.txt"] },
    });
    expect((await tryRun(repo, ["status", "--short"])).stdout).toBe("");
  });

  test("a formatter of the named file is no sweep, and leaves a clean tree", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), { files: FILES });
    script(join(repo, ".git/hooks"), "pre-commit", "echo formatted > a.txt; git add a.txt");
    write(repo, { "a.txt": "x\n" });
    expect(await guard("commit", { message: "x", files: ["a.txt"] }, { cwd: repo })).toMatchObject({
      ok: true,
      paths: ["a.txt"],
    });
    expect((await tryRun(repo, ["status", "--short"])).stdout).toBe("");
    expect(await git(repo, "show", "HEAD:a.txt")).toBe("formatted");
  });

  test("what was staged before stays staged, even where the hook swept it in", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), { files: FILES });
    write(repo, { "b.txt": "mine\n" });
    await git(repo, "add", "b.txt");
    write(repo, { "a.txt": "x\n" });
    script(join(repo, ".git/hooks"), "pre-commit", "git add -A");
    expect((await failure(guard("commit", { message: "x", files: ["a.txt"] }, { cwd: repo }))).details).toMatchObject({
      sweptIn: ["b.txt"],
    });
    expect(await git(repo, "show", ":b.txt")).toBe("mine");
  });
});

test("a moved submodule is committed as its commit", async () => {
  await using dir = await tempDir();
  const lib = await makeRepo(dir.path("lib"));
  const repo = await makeRepo(dir.path("repo"), { files: FILES });
  await git(repo, "submodule", "--quiet", "add", lib, "mods/lib");
  await git(repo, "commit", "-q", "-m", "submodule");
  await git(join(repo, "mods/lib"), "commit", "-q", "--allow-empty", "-m", "on");
  write(repo, { "mods/lib/dirt.txt": "d\n", "a.txt": "x\n" });
  expect(await guard("commit", { message: "x", files: ["mods/lib"] }, { cwd: repo })).toMatchObject({
    ok: true,
    paths: ["mods/lib"],
  });
  expect(await guard("commit", { message: "x", files: ["mods/lib"] }, { cwd: repo })).toMatchObject({ ok: false });
});

test("a merge is concluded by a commit without files", async () => {
  await using dir = await tempDir();
  const repo = await makeRepo(dir.path("repo"), { files: FILES });
  await conflicted(repo);
  write(repo, { "a.txt": "resolved\n" });
  expect(await guard("add", { files: ["a.txt"] }, { cwd: repo })).toMatchObject({ staged: ["a.txt"] });
  expect(await guard("commit", { message: "merged" }, { cwd: repo })).toMatchObject({ ok: true, paths: ["a.txt"] });
  expect((await git(repo, "rev-list", "--parents", "-n1", "HEAD")).split(" ")).toHaveLength(3);
});

test("eight at once in one tree: eight commits, each with its own file", async () => {
  await using dir = await tempDir();
  const repo = await makeRepo(dir.path("repo"), {
    files: { ...FILES, ...Object.fromEntries([0, 1, 2, 3].map((i) => [`f${i}`, "1\n"])) },
  });
  const names = Array.from({ length: 8 }, (_, i) => `f${i}`);
  write(repo, Object.fromEntries(names.map((name) => [name, "changed\n"])));
  write(repo, { "b.txt": "staged\n" });
  await git(repo, "add", "b.txt");
  const results = await Promise.all(
    names.map((name) => guard("commit", { message: `of ${name}`, files: [name] }, { cwd: repo, lockWaitMs: 60_000 })),
  );
  for (const [i, { commit, paths }] of results.entries()) {
    expect(paths).toEqual([`f${i}`]);
    expect(await git(repo, "show", "--format=%s", "--name-only", String(commit))).toBe(`of f${i}\n\nf${i}`);
  }
  expect(await git(repo, "rev-list", "--count", "HEAD")).toBe("9");
  expect((await tryRun(repo, ["status", "--short"])).stdout).toBe("M  b.txt\n");
}, 60_000);

describe("in a linked worktree the queue's own files stay out", () => {
  test.each(["add", "commit"])("%s names them", async (op) => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), { files: { ...FILES, ".bot/workspace/tasks/todo/t.json": "{}\n" } });
    await git(repo, "worktree", "add", "-q", dir.path("wt"));
    write(dir.path("wt"), { ".bot/workspace/tasks/todo/t.json": '{"x":1}\n', "a.txt": "x\n" });
    const before = stateOf(dir.path("wt"));
    for (const files of [[".bot/workspace/tasks/todo/t.json", "a.txt"], ["."]]) {
      const facts = await failure(
        guard(op, { ...(op === "commit" ? { message: "x" } : {}), files }, { cwd: dir.path("wt") }),
      );
      expect(facts).toMatchObject({
        code: "REFUSED",
        details: {
          mismatched: ["files"],
          queuePaths: [".bot/workspace/tasks/todo/t.json"],
          example: { arguments: { files: ["a.txt"] } },
        },
      });
    }
    expect(stateOf(dir.path("wt"))).toEqual(before);
    expect(
      await guard(op, { ...(op === "commit" ? { message: "x" } : {}), files: ["."] }, { cwd: repo }),
    ).toMatchObject({ repoPath: repo });
  });
});

describe("the read-back", () => {
  test.each<[string, (repo: string) => Promise<unknown>, string | null]>([
    ["a tag of the branch's name", async (repo) => await git(repo, "tag", "main", "HEAD"), "main"],
    ["a detached HEAD", async (repo) => await git(repo, "switch", "-q", "--detach"), null],
  ])("%s", async (_, given, branch) => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    await given(repo);
    write(repo, { "README.md": "x\n" });
    const result = await guard("commit", { message: "x", files: ["README.md"] }, { cwd: repo });
    expect(result).toEqual({
      repoPath: repo,
      ownerRepo: null,
      branch,
      headSha: await git(repo, "rev-parse", "HEAD"),
      stateRoot: repo,
      ok: true,
      commit: await git(repo, "rev-parse", "HEAD"),
      paths: ["README.md"],
      whole: [],
    });
  });

  test("a worktree reached through a symlink is told by its real place", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    await git(repo, "worktree", "add", "-q", dir.path("wt"));
    symlinkSync(dir.path("wt"), dir.path("link"));
    write(dir.path("wt"), { "README.md": "x\n" });
    expect(
      await guard(
        "commit",
        { message: "x", files: [dir.path("link/README.md")], dir: dir.path("link") },
        { cwd: repo },
      ),
    ).toMatchObject({ repoPath: dir.path("wt"), branch: "wt", stateRoot: repo });
  });

  test("done, and then unreadable, is an error of its own", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    write(repo, { "README.md": "x\n" });
    script(join(repo, ".git/hooks"), "post-commit", "mv .git/objects .git/objects-gone");
    const facts = await failure(guard("commit", { message: "x", files: ["README.md"] }, { cwd: repo }));
    renameSync(join(repo, ".git/objects-gone"), join(repo, ".git/objects"));
    expect(facts.code).toBe("UNVERIFIED");
    expect(await git(repo, "log", "-1", "--format=%s")).toBe("x");
  });
});

test("add stages declared files alone, literally", async () => {
  await using dir = await tempDir();
  const repo = await makeRepo(dir.path("repo"), { files: FILES });
  write(repo, { "a.txt": "x\n", "dir/c.txt": "x\n", "dir/new.txt": "n\n", "*": "n\n", "b.txt": "x\n" });
  rmSync(join(repo, "dir/d.txt"));
  expect(await guard("add", { files: ["dir", "*"] }, { cwd: repo })).toMatchObject({
    staged: ["dir/c.txt", "dir/d.txt", "*", "dir/new.txt"],
  });
  expect((await tryRun(repo, ["status", "--short"])).stdout.split("\n").toSorted()).toEqual([
    "",
    " M a.txt",
    " M b.txt",
    "A  *",
    "A  dir/new.txt",
    "D  dir/d.txt",
    "M  dir/c.txt",
  ]);
  expect(readFileSync(join(repo, "a.txt"), "utf8")).toBe("x\n");
  expect(await guard("add", { files: ["dir"] }, { cwd: repo })).toMatchObject({ staged: [] });
});
