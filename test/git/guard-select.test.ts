/** Which repository a call without `dir` means, and the ways in which `dir` can be written. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";

import { repositoriesInside } from "../../lib/guard/structure.ts";
import { resolveRepo } from "../../lib/git/repo.ts";
import { operation } from "../../lib/op.ts";
import { targetFields } from "../../lib/target-fields.ts";
import * as v from "valibot";
import { gitEnv, makeRepo, run as git, tempDir, write, type TempDir } from "../kit/git.ts";
import { contextAt, exampleIn, failure, guard, run, server, stateOf, type Place, type Result } from "../kit/guard.ts";

async function withOrigin(path: string, url: string | null): Promise<string> {
  const repo = await makeRepo(path, { init: ["--template="] });
  if (url !== null) await git(repo, "remote", "add", "origin", url);
  write(repo, { "new.txt": "new\n" });
  return repo;
}

const MINE = "https://github.com/me/home.git";
const ADD = { files: ["new.txt"] };

// ── signals ──────────────────────────────────────────────────────────────────────────────────────────────────────────

describe("signals over MCP", () => {
  type Setting = (dir: TempDir) => { roots?: readonly string[]; hint?: string };
  const rows: readonly [string, Setting, "A" | RegExp][] = [
    ["none", () => ({}), "A"],
    ["the client's root is the server's repository", (dir) => ({ roots: [dir.path("home")] }), "A"],
    ["… as a URL", (dir) => ({ roots: [`file://${dir.path("home")}`] }), "A"],
    ["… a subfolder of it", (dir) => ({ roots: [dir.path("home/sub")] }), "A"],
    [
      "the client's root is another repository",
      (dir) => ({ roots: [dir.path("other")] }),
      /works in another repository/,
    ],
    ["the client's root is no repository", (dir) => ({ roots: [dir.root] }), "A"],
    ["… or nowhere", (dir) => ({ roots: [dir.path("gone")] }), "A"],
    ["several roots are no signal", (dir) => ({ roots: [dir.path("other"), dir.path("home")] }), "A"],
    ["the hint names the server's repository", () => ({ hint: "me/home" }), "A"],
    ["… with blanks around it, in other letters", () => ({ hint: " Me/Home\n" }), "A"],
    ["the hint names another", () => ({ hint: "me/other" }), /DOTBOT_CALLER_REPO names another/],
    ["the hint can't be read", () => ({ hint: "https://github.com/me/home" }), /isn't of the form owner\/repo/],
    ["a blank hint is none", () => ({ hint: " " }), "A"],
    [
      "a mismatch wins over a match",
      (dir) => ({ hint: "me/home", roots: [dir.path("other")] }),
      /works in another repository/,
    ],
  ];
  for (const [name, setting, expected] of rows) {
    test(`${name}: ${expected === "A" ? "allowed" : "refused"}`, async () => {
      await using dir = await tempDir();
      const home = await withOrigin(dir.path("home"), MINE);
      mkdirSync(dir.path("home/sub"));
      const other = await withOrigin(dir.path("other"), "https://github.com/me/other.git");
      const { roots, hint } = setting(dir);
      const place = { ...server(home, roots), ...(hint === undefined ? {} : { env: { DOTBOT_CALLER_REPO: hint } }) };
      const before = [stateOf(home), stateOf(other)];
      if (expected === "A") {
        expect(await guard("add", ADD, place)).toMatchObject({ repoPath: home });
        return;
      }
      const facts = await failure(guard("add", ADD, place));
      expect(facts).toMatchObject({ code: "REFUSED", details: { missing: ["dir"] } });
      expect(facts.message).toMatch(expected);
      expect([stateOf(home), stateOf(other)]).toEqual(before);
      const example = exampleIn(facts);
      expect(await guard(example.tool, example.arguments, place)).toMatchObject({
        repoPath: String(example.arguments["dir"]),
      });
      // With dir no signal is consulted.
      expect(await guard("add", { ...ADD, dir: home }, place)).toMatchObject({ repoPath: home });
    });
  }

  test("the hint holds on a command line too", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), MINE);
    const at = (hint: string): Place => ({ cwd: home, env: { DOTBOT_CALLER_REPO: hint } });
    expect((await failure(guard("add", ADD, at("me/other")))).details).toMatchObject({ missing: ["dir"] });
    expect(await guard("add", ADD, at("me/home"))).toMatchObject({ repoPath: home, ownerRepo: "me/home" });
  });

  test("no refusal over MCP speaks of a command line", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), MINE);
    const calls: [string, Result, Place][] = [
      ["checkout", { ref: "main" }, server(home)],
      ["commit", { message: "x", dir: dir.root }, server(home)],
      ["commit", { message: "x", dir: `${home}/.git` }, server(home)],
      ["commit", { message: "x", dir: "home" }, server(home)],
      ["add", {}, server(null)],
      ["push", {}, server(home)],
    ];
    for (const [op, input, place] of calls) {
      const { message, hint = "", example = "" } = await failure(guard(op, input, place));
      expect(`${message}\n${hint}\n${example}`).not.toMatch(/\bcd\b|dotbot |git -C|--dir|git init/);
    }
  });
});

// ── several checkouts ────────────────────────────────────────────────────────────────────────────────────────────────

describe("a repository with several checkouts, over MCP", () => {
  const rows: readonly [string, Result][] = [
    ["add", ADD],
    ["commit", { message: "x", ...ADD }],
    ["pull", {}],
    ["push", {}],
    ["finish", {}],
    ["branch create", { name: "fresh" }],
    ["checkout", { ref: "spare" }],
  ];
  async function checkouts(dir: TempDir): Promise<string> {
    const home = await withOrigin(dir.path("home"), null);
    await git(home, "worktree", "add", "-q", "-b", "wt", dir.path("wt"));
    await git(home, "branch", "spare");
    return home;
  }

  for (const [op, input] of rows) {
    test(`${op} names its checkout`, async () => {
      await using dir = await tempDir();
      const home = await checkouts(dir);
      const facts = await failure(guard(op, input, server(home)));
      expect(facts.details).toMatchObject({ missing: ["dir"], candidates: [{ dir: dir.path("wt") }, { dir: home }] });
    });
  }

  test("the example is the checkout that has the files", async () => {
    await using dir = await tempDir();
    const home = await checkouts(dir);
    expect(exampleIn(await failure(guard("add", ADD, server(home)))).arguments).toEqual({ ...ADD, dir: home });
  });

  test("what concerns no checkout needs none", async () => {
    await using dir = await tempDir();
    const home = await checkouts(dir);
    expect(await guard("branch delete", { name: "spare" }, server(home))).toMatchObject({ deleted: "spare" });
    expect(await guard("identity", {}, server(home))).toMatchObject({ repoPath: home });
  });

  test("a worktree that is gone doesn't count", async () => {
    await using dir = await tempDir();
    const home = await checkouts(dir);
    rmSync(dir.path("wt"), { recursive: true });
    expect(await guard("add", ADD, server(home))).toMatchObject({ repoPath: home });
  });
});

// ── repositories inside ──────────────────────────────────────────────────────────────────────────────────────────────

describe("repositories inside another", () => {
  const rows: readonly [string, (dir: TempDir) => Promise<unknown>, readonly string[]][] = [
    [
      "a clone of another",
      async (dir) => await withOrigin(dir.path("home/lib"), "https://github.com/me/lib.git"),
      ["lib"],
    ],
    ["a dot folder", async (dir) => await withOrigin(dir.path("home/.lib"), "https://github.com/me/lib.git"), [".lib"]],
    [
      "a link to one elsewhere",
      async (dir) => {
        await withOrigin(dir.path("far"), "https://github.com/me/far.git");
        symlinkSync(dir.path("far"), dir.path("home/link"));
      },
      ["../far"],
    ],
    [
      "a submodule",
      async (dir) => await git(dir.path("home"), "submodule", "--quiet", "add", await makeRepo(dir.path("sub")), "sub"),
      ["sub"],
    ],
    ["another host", async (dir) => await withOrigin(dir.path("home/lib"), "https://gitlab.com/me/home.git"), ["lib"]],
    [
      "another namespace of the same last names",
      async (dir) => await withOrigin(dir.path("home/lib"), "https://github.com/you/me/home.git"),
      ["lib"],
    ],
    ["an origin on a disk", async (dir) => await withOrigin(dir.path("home/lib"), "/srv/lib.git"), ["lib"]],
    ["plain folders", async (dir) => mkdirSync(dir.path("home/sub")), []],
    ["a clone without origin", async (dir) => await withOrigin(dir.path("home/lib"), null), []],
    [
      "a clone of the same repository",
      async (dir) => await withOrigin(dir.path("home/again"), "git@github.com:Me/Home"),
      [],
    ],
    [
      "a worktree of the same repository",
      async (dir) => await git(dir.path("home"), "worktree", "add", "-q", dir.path("home/wt")),
      [],
    ],
    [
      "deeper than a child",
      async (dir) => await withOrigin(dir.path("home/a/lib"), "https://github.com/me/lib.git"),
      [],
    ],
    [
      "a link to a folder of a repository",
      async (dir) => (
        await withOrigin(dir.path("far"), "https://github.com/me/far.git"),
        mkdirSync(dir.path("far/sub")),
        symlinkSync(dir.path("far/sub"), dir.path("home/link"))
      ),
      [],
    ],
    ["a dangling .git", async (dir) => write(dir.path("home/lib"), { ".git": "gitdir: /nowhere\n" }), []],
    ["a bare repository", async (dir) => await git(dir.root, "init", "-q", "--bare", dir.path("home/lib.git")), []],
    [
      "neighbours, however many",
      async (dir) => (
        await withOrigin(dir.path("b"), "https://github.com/me/b.git"),
        await withOrigin(dir.path("c"), "https://github.com/me/c.git")
      ),
      [],
    ],
  ];
  for (const [name, given, found] of rows) {
    test(`${name}: ${found.length === 0 ? "not counted" : "counted"}`, async () => {
      await using dir = await tempDir();
      const home = await withOrigin(dir.path("home"), MINE);
      await given(dir);
      const ctx = contextAt({ cwd: home });
      const inside = await repositoriesInside(ctx, await resolveRepo(ctx));
      expect(inside.map((it) => it.dir)).toEqual(found.map((it) => dir.path("home", it)));
      if (found.length === 0) return;
      const facts = await failure(guard("branch delete", { name: "main" }, server(home)));
      expect(facts).toMatchObject({
        code: "REFUSED",
        details: {
          missing: ["dir"],
          candidates: [{ dir: home }, ...found.map((it) => ({ dir: dir.path("home", it) }))],
        },
      });
      expect(await guard("add", { ...ADD, dir: home }, server(home))).toMatchObject({ repoPath: home });
      expect(await guard("add", ADD, { ...server(home), env: { DOTBOT_CALLER_REPO: "me/home" } })).toMatchObject({
        repoPath: home,
      });
      expect(await guard("add", ADD, { cwd: home })).toMatchObject({ repoPath: home });
      expect((await failure(guard("add", ADD, server(home, [home])))).details).toMatchObject({ missing: ["dir"] });
    });
  }

  test("a repository without origin differs from one that has one", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), null);
    await withOrigin(dir.path("home/lib"), "https://github.com/me/lib.git");
    expect((await failure(guard("push", { branch: "main" }, server(home)))).details).toMatchObject({
      missing: ["dir"],
    });
  });

  test("a server in a linked worktree sees what lies in the main checkout", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), MINE);
    await withOrigin(dir.path("home/lib"), "https://github.com/me/lib.git");
    await git(home, "worktree", "add", "-q", dir.path("wt"));
    expect((await failure(guard("branch delete", { name: "wt" }, server(dir.path("wt"))))).details).toMatchObject({
      missing: ["dir"],
    });
  });

  test("ten thousand plain children cost no process each", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), MINE);
    for (let i = 0; i < 10_000; i++) mkdirSync(dir.path("home", `child-${i}`));
    const ctx = { ...contextAt({ cwd: home }), env: { ...gitEnv(), DOTBOT_TRACE_GIT: dir.path("trace") } };
    const repo = await resolveRepo(ctx);
    expect(await repositoriesInside(ctx, repo)).toEqual([]);
    expect(await Bun.file(dir.path("trace")).exists()).toBe(false);
  }, 60_000);
});

describe("a queue among repositories", () => {
  const queueOp = operation({
    name: "test queue",
    summary: "Say where the queue is",
    examples: [],
    effect: "read",
    target: { rule: "queue" },
    input: v.strictObject(targetFields("Any folder of it.")),
    output: v.object({ stateRoot: v.string() }),
    run: async (call) => ({ stateRoot: call.target.repo.stateRoot }),
    text: () => "",
  });

  test("the only one is meant; of two the call names one; owner_repo has to match", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), MINE);
    const lib = await withOrigin(dir.path("home/lib"), "https://github.com/me/lib.git");
    expect((await failure(run(queueOp, {}, server(home)))).details).toMatchObject({ missing: ["dir"] });
    mkdirSync(dir.path("home/lib/.bot"));
    expect(await run(queueOp, {}, server(home))).toEqual({ stateRoot: lib });
    mkdirSync(dir.path("home/.bot"));
    expect((await failure(run(queueOp, {}, server(home)))).details).toMatchObject({ missing: ["dir"] });
    expect(await run(queueOp, { dir: lib, owner_repo: "me/lib" }, server(home))).toEqual({ stateRoot: lib });
    expect((await failure(run(queueOp, { dir: lib, owner_repo: "me/home" }, server(home)))).details).toMatchObject({
      mismatched: ["owner_repo"],
    });
    expect(await run(queueOp, {}, { cwd: home })).toEqual({ stateRoot: home });
  });

  test("the plain call on a command line starts no process", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), MINE);
    expect(await run(queueOp, {}, { cwd: home, env: { DOTBOT_TRACE_GIT: dir.path("trace") } })).toEqual({
      stateRoot: home,
    });
    expect(await Bun.file(dir.path("trace")).exists()).toBe(false);
  });

  test("from a git dir the queue is known, but dir can't name one", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), MINE);
    expect(await run(queueOp, {}, { cwd: `${home}/.git` })).toEqual({ stateRoot: home });
    expect((await failure(run(queueOp, { dir: `${home}/.git` }, { cwd: home }))).code).toBe("REFUSED");
  });
});

// ── ways to write dir ────────────────────────────────────────────────────────────────────────────────────────────────

describe("dir", () => {
  const rows: readonly [string, (dir: TempDir) => string, "cli" | "mcp", "home" | "far" | RegExp][] = [
    ["blank is as good as none", () => " \n", "cli", "home"],
    ["… over MCP", () => "", "mcp", "home"],
    ["relative to where a person stands", () => "../far", "cli", "far"],
    ["relative, over MCP", () => "../far", "mcp", /isn't absolute/],
    ["with a tilde, over MCP", () => "~/far", "mcp", /isn't absolute/],
    ["blanks and newlines around it", (dir) => `  ${dir.path("far")} \n`, "mcp", "far"],
    ["a subfolder", (dir) => dir.path("far/sub"), "mcp", "far"],
    ["a link to it", (dir) => dir.path("link"), "mcp", "far"],
    ["a link to a subfolder", (dir) => dir.path("sublink"), "cli", "far"],
    ["a slash at the end", (dir) => `${dir.path("far")}/`, "cli", "far"],
  ];
  for (const [name, dirOf, surface, expected] of rows) {
    test(name, async () => {
      await using dir = await tempDir();
      const home = await withOrigin(dir.path("home"), MINE);
      const far = await withOrigin(dir.path("far"), null);
      write(far, { "sub/new.txt": "new\n" });
      symlinkSync(far, dir.path("link"));
      symlinkSync(dir.path("far/sub"), dir.path("sublink"));
      const place = surface === "cli" ? { cwd: home } : server(home);
      const call = guard("add", { ...ADD, dir: dirOf(dir) }, place);
      if (expected instanceof RegExp) expect((await failure(call)).message).toMatch(expected);
      else
        expect(await call).toMatchObject({
          repoPath: dir.path(expected),
          staged: [expect.stringMatching(/^(?:sub\/)?new\.txt$/)],
        });
    });
  }

  test("owner_repo alone selects nothing", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), MINE);
    await withOrigin(dir.path("lib"), "https://github.com/me/lib.git");
    expect((await failure(guard("add", { ...ADD, owner_repo: "me/lib" }, { cwd: home }))).message).toMatch(
      /"me\/lib".*me\/home/,
    );
  });

  test("user info of a remote is never told", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), "https://user:hunter2@github.com/me/home.git");
    const told = [
      await guard("identity", {}, { cwd: home }),
      await failure(guard("add", { ...ADD, owner_repo: "a/b" }, { cwd: home })),
    ];
    expect(JSON.stringify(told)).not.toContain("hunter2");
  });
});

describe("check", () => {
  test("answers for the operation, and changes nothing", async () => {
    await using dir = await tempDir();
    const home = await withOrigin(dir.path("home"), null);
    const far = await withOrigin(dir.path("far"), null);
    const before = [stateOf(home), stateOf(far)];
    expect(await guard("check", { op: "commit" }, { cwd: home })).toMatchObject({
      ok: true,
      kind: "same-main",
      repoPath: home,
      confirmed: true,
    });
    expect(await guard("check", { op: "commit", dir: far }, { cwd: home })).toMatchObject({
      ok: false,
      kind: "foreign-primary",
      refusal: { missing: [] },
    });
    expect(await guard("check", { op: "push", dir: far }, { cwd: home })).toMatchObject({
      ok: false,
      refusal: { missing: ["branch"], example: { tool: "guard_push", arguments: { dir: far, branch: "main" } } },
    });
    expect(await guard("check", { op: "checkout" }, server(home))).toMatchObject({
      ok: false,
      refusal: { missing: ["dir"] },
    });
    expect([stateOf(home), stateOf(far)]).toEqual(before);
  });
});
