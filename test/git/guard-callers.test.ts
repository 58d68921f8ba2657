/** Where the contract turns on something else than the checkout: no commit yet, submodules, unknown callers, bad input. */
import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";

import { makeRepo, run as git, tempDir, write, type TempDir } from "../kit/git.ts";
import { exampleIn, failure, guard, server, stateOf, type Result } from "../kit/guard.ts";
import { withWorktree } from "../kit/repositories.ts";

describe("before the first commit", () => {
  const rows: readonly (readonly [string, Result, string])[] = [
    ["add", { files: ["x"] }, "A"],
    ["commit", { message: "first", files: ["x"] }, "A"],
    ["push", {}, "REFUSED(branch)"],
    ["pull", {}, "REFUSED(branch)"],
    ["finish", {}, "REFUSED(branch)"],
    ["branch create", { name: "fresh" }, "A"],
  ];
  for (const [op, input, expected] of rows) {
    test(`${op}: ${expected}`, async () => {
      await using dir = await tempDir();
      const repo = await makeRepo(dir.path("unborn"), { files: {} });
      write(repo, { x: "1\n" });
      const before = stateOf(repo);
      if (expected === "A") {
        const result = await guard(op, input, { cwd: repo });
        expect(result).toMatchObject({
          repoPath: repo,
          branch: op === "branch create" ? "fresh" : "main",
          headSha: op === "commit" ? expect.stringMatching(/^[0-9a-f]{40}$/) : null,
        });
        return;
      }
      const facts = await failure(guard(op, input, { cwd: repo }));
      expect(facts).toMatchObject({ code: "REFUSED", details: { missing: ["branch"] } });
      expect(stateOf(repo)).toEqual(before);
    });
  }

  test("a pull of a named branch is its first commit", async () => {
    await using dir = await tempDir();
    await withWorktree(dir, "far");
    const repo = await makeRepo(dir.path("unborn"), { files: {} });
    await git(repo, "remote", "add", "origin", dir.path("far.git"));
    expect(await guard("pull", { branch: "main" }, { cwd: repo })).toMatchObject({
      changed: true,
      headSha: await git(dir.path("far.git"), "rev-parse", "main"),
    });
  });
});

describe("an own submodule", () => {
  async function withSubmodule(dir: TempDir): Promise<string> {
    const lib = await makeRepo(dir.path("lib"));
    const main = await makeRepo(dir.path("home"));
    await git(main, "submodule", "--quiet", "add", lib, "mods/lib");
    await git(main, "commit", "-q", "-m", "submodule");
    const sub = dir.path("home/mods/lib");
    await git(sub, "remote", "set-url", "origin", "https://forge.example/o/lib.git");
    write(sub, { "new.txt": "new\n" });
    return sub;
  }

  test("takes a commit with dir, files and owner_repo, and names what is missing", async () => {
    await using dir = await tempDir();
    const sub = await withSubmodule(dir);
    const place = { cwd: dir.path("home") };
    const before = stateOf(sub);
    const facts = await failure(guard("commit", { message: "x", dir: sub }, place));
    expect(facts.details).toMatchObject({
      missing: ["owner_repo", "files"],
      target: { kind: "own-submodule", ownerRepo: "o/lib" },
    });
    expect(stateOf(sub)).toEqual(before);
    const example = exampleIn(facts);
    expect(example.arguments).toEqual({ message: "x", dir: sub, owner_repo: "o/lib", files: ["new.txt"] });
    expect(await guard(example.tool, example.arguments, place)).toMatchObject({
      repoPath: sub,
      ownerRepo: "o/lib",
      paths: ["new.txt"],
    });
  });

  test("is refused with the owner/repo of the repository around it", async () => {
    await using dir = await tempDir();
    const sub = await withSubmodule(dir);
    const facts = await failure(
      guard("commit", { message: "x", files: ["new.txt"], dir: sub, owner_repo: "o/home" }, { cwd: dir.path("home") }),
    );
    expect(facts).toMatchObject({ details: { missing: [], mismatched: ["owner_repo"] } });
    expect(facts.message).toContain("o/home");
    expect(facts.message).toContain("o/lib");
  });

  test("is nobody's but its own from inside", async () => {
    await using dir = await tempDir();
    const sub = await withSubmodule(dir);
    expect(await guard("commit", { message: "x", files: ["new.txt"] }, { cwd: sub })).toMatchObject({ repoPath: sub });
  });
});

describe("an unknown caller", () => {
  async function two(dir: TempDir): Promise<string> {
    const repo = await makeRepo(dir.path("repo"));
    await git(repo, "remote", "add", "origin", "git@forge.example:o/r.git");
    await git(repo, "worktree", "add", "-q", "-b", "wt", dir.path("wt"));
    for (const tree of [repo, dir.path("wt")]) write(tree, { "new.txt": "new\n" });
    return repo;
  }

  test.each([
    ["no proof", {}, "REFUSED", ["owner_repo"]],
    ["a wrong owner", { owner_repo: "o/other" }, "REFUSED", []],
    ["a wrong commit", { expect_sha: "1234567" }, "REFUSED", []],
    ["both, in disagreement", { owner_repo: "o/r", expect_sha: "1234567" }, "REFUSED", []],
  ])("changes no main checkout with %s", async (_, proof, code, missing) => {
    await using dir = await tempDir();
    const repo = await two(dir);
    const before = stateOf(repo);
    const facts = await failure(
      guard("commit", { message: "x", files: ["new.txt"], dir: repo, ...proof }, server(null)),
    );
    expect(facts).toMatchObject({ code, details: { missing, target: { kind: "unknown" } } });
    expect(stateOf(repo)).toEqual(before);
    expect(await guard("commit", exampleIn(facts).arguments, server(null))).toMatchObject({ repoPath: repo });
  });

  test("may with either proof", async () => {
    await using dir = await tempDir();
    const repo = await two(dir);
    expect(
      await guard(
        "commit",
        { message: "x", files: ["new.txt"], dir: repo, owner_repo: "O/R".toLowerCase() },
        server(null),
      ),
    ).toMatchObject({ ok: true });
    write(repo, { "new.txt": "newer\n" });
    const head = await git(repo, "rev-parse", "HEAD");
    expect(
      await guard(
        "commit",
        { message: "x", files: ["new.txt"], dir: repo, expect_sha: head.slice(0, 10) },
        server(null),
      ),
    ).toMatchObject({ ok: true });
  });

  test("may work in a linked worktree", async () => {
    await using dir = await tempDir();
    await two(dir);
    expect(
      await guard("commit", { message: "x", files: ["new.txt"], dir: dir.path("wt") }, server(null)),
    ).toMatchObject({ repoPath: dir.path("wt") });
  });

  test("is told where the server looked when it names nothing", async () => {
    const facts = await failure(guard("push", {}, server(null)));
    expect(facts).toMatchObject({ details: { missing: ["dir"], target: null } });
    expect(facts.message).toContain("/nowhere");
  });
});

async function home(): Promise<TempDir> {
  const dir = await tempDir();
  await withWorktree(dir, "home");
  return dir;
}

describe("bad input changes nothing and says what is wrong", () => {
  const commit = { message: "x", files: ["a.txt"] };
  const rows: readonly [string, (dir: TempDir) => Promise<Result>, string, RegExp][] = [
    ["a path that isn't a repository", async (dir) => ({ dir: dir.root }), "NOT_A_REPOSITORY", /no git repository/],
    ["a path that doesn't exist", async (dir) => ({ dir: dir.path("gone") }), "NOT_FOUND", /doesn't exist/],
    ["a file", async (dir) => ({ dir: dir.path("home/a.txt") }), "INVALID_INPUT", /is a file/],
    ["inside a git dir", async (dir) => ({ dir: dir.path("home/.git") }), "REFUSED", /inside a git dir/],
    [
      "inside a worktree's git dir",
      async (dir) => ({ dir: dir.path("home/.git/worktrees/home-wt") }),
      "REFUSED",
      /inside a git dir/,
    ],
    [
      "a worktree that lost its .git",
      async (dir) => {
        await git(dir.path("home"), "worktree", "add", "-q", dir.path("home/nested"));
        rmSync(dir.path("home/nested/.git"));
        return { dir: dir.path("home/nested") };
      },
      "REFUSED",
      /lost its \.git/,
    ],
    ["a wrong owner", async (dir) => ({ dir: dir.path("home"), owner_repo: "o/r" }), "REFUSED", /"o\/r".*on no host/],
    [
      "an owner that is none",
      async (dir) => ({ dir: dir.path("home"), owner_repo: "r" }),
      "REFUSED",
      /form owner\/repo/,
    ],
    ["a wrong commit", async (dir) => ({ dir: dir.path("home"), expect_sha: "deadbeef" }), "REFUSED", /"deadbeef"/],
    [
      "an empty message",
      async (dir) => ({ dir: dir.path("home"), message: " \n" }),
      "INVALID_INPUT",
      /message is empty/,
    ],
    [
      "a file outside",
      async (dir) => ({ dir: dir.path("home"), files: ["../far/a.txt"] }),
      "OUTSIDE_REPOSITORY",
      /isn't in the checkout/,
    ],
    [
      "a file that isn't there",
      async (dir) => ({ dir: dir.path("home"), files: ["A.txt"] }),
      "NOT_FOUND",
      /neither there nor tracked/,
    ],
  ];
  for (const [name, input, code, message] of rows) {
    test(`${name}: ${code}`, async () => {
      await using dir = await home();
      write(dir.path("home"), { "a.txt": "changed\n" });
      const call = { ...commit, ...(await input(dir)) };
      const before = stateOf(dir.path("home"));
      const facts = await failure(guard("commit", call, { cwd: dir.path("home") }));
      expect(facts.code).toBe(code as typeof facts.code);
      expect(facts.message).toMatch(message);
      expect(stateOf(dir.path("home"))).toEqual(before);
    });
  }

  test.each(["push", "finish"])("%s takes nothing that looks like an option", async (op) => {
    await using dir = await home();
    const place = { cwd: dir.path("home") };
    for (const bad of [
      { branch: "--force" },
      { branch: "+main" },
      { branch: "refs/heads/main" },
      { branch: "topic", remote: "--receive-pack=touch x" },
    ]) {
      expect(["INVALID_INPUT", "NOT_FOUND"]).toContain((await failure(guard(op, bad, place))).code);
    }
  });

  test.each([
    ["branch create", { name: "--orphan" }],
    ["branch create", { name: "x", from: "--output=evil" }],
    ["branch create", { name: "HEAD" }],
    ["branch delete", { name: "-D" }],
    ["checkout", { ref: "--orphan" }],
    ["checkout", { ref: "-" }],
    ["pull", { branch: "--upload-pack=evil" }],
  ])("%s %j isn't taken for an option", async (op, input) => {
    await using dir = await home();
    const before = stateOf(dir.path("home"));
    expect((await failure(guard(op, input, { cwd: dir.path("home") }))).code).toBe("INVALID_INPUT");
    expect(stateOf(dir.path("home"))).toEqual(before);
  });
});
