/**
 * The intent contract on real repositories, cell by cell. What is allowed did what it says; what is refused changed nothing
 * anywhere, names exactly the missing keys, and its example works.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";

import { gitEnv, makeRepo, run as git, tempDir, tryRun, write, type TempDir } from "../kit/git.ts";
import { exampleIn, failure, guard, server, stateOf, transplant, type Place, type Result } from "../kit/guard.ts";

type Where = "same-main" | "same-worktree" | "foreign-worktree" | "foreign-primary";
type State = "clean" | "dirty" | "merging" | "detached";
type Op = "add" | "commit" | "push" | "pull" | "branch create" | "branch delete" | "finish" | "checkout";

/**
 * A repository `name` with a bare remote `name.git`, and its linked worktree `name-wt`, which is on `side`. Both checkouts are a
 * commit behind what their branches follow; `topic` is ahead of main, `old` is merged, both checked out nowhere.
 */
async function repository(dir: TempDir, name: string): Promise<void> {
  // Without a template: nothing to copy but what counts.
  const main = await makeRepo(dir.path(name), { files: { "a.txt": "1\n", "b.txt": "1\n" }, init: ["--template=", "--initial-branch=main"] });
  const on = async (...args: string[]): Promise<string> => await git(main, ...args);
  await git(dir.root, "init", "-q", "--bare", "--template=", "--initial-branch=main", `${name}.git`);
  await on("remote", "add", "origin", dir.path(`${name}.git`));
  const commit = async (path: string, date = "2024-01-02T03:04:06Z"): Promise<void> => {
    write(main, { [path]: "new\n" });
    await on("add", path);
    await tryRun(main, ["commit", "-q", "-m", path], gitEnv({ GIT_COMMITTER_DATE: date }));
  };
  await on("branch", "old");
  await on("switch", "-q", "-c", "topic");
  // The newest branch is what examples name.
  await commit("topic.txt", "2024-02-03T04:05:06Z");
  await on("switch", "-q", "-c", "side", "main");
  await commit("side.txt");
  await on("push", "-q", "-u", "origin", "main", "side");
  // What a pull brings: one more commit on each.
  for (const branch of ["main", "side"]) {
    await on("switch", "-q", branch);
    await commit(`more-${branch}.txt`);
    await on("push", "-q", "origin", branch);
    await on("reset", "-q", "--hard", "HEAD~1");
    await on("update-ref", `refs/remotes/origin/${branch}`, "HEAD");
  }
  await on("remote", "set-head", "origin", "main");
  await on("switch", "-q", "main");
  await on("worktree", "add", "-q", dir.path(`${name}-wt`), "side");
}

const FOLDERS: Readonly<Record<Where, string>> = { "same-main": "home", "same-worktree": "home-wt", "foreign-worktree": "far-wt", "foreign-primary": "far" };

/** Made once, copied for every cell. */
let template: TempDir;
beforeAll(async () => {
  template = await tempDir();
  await repository(template, "home");
  await repository(template, "far");
});
afterAll(async () => await template[Symbol.asyncDispose]());

async function repositories(): Promise<TempDir> {
  const dir = await tempDir();
  transplant(template.root, dir.root);
  return dir;
}

async function put(tree: string, op: Op, state: State): Promise<void> {
  // What is behind its remote can be pulled, and can't be pushed.
  if (op === "push") await git(tree, "pull", "-q", "--ff-only");
  if (state === "dirty") write(tree, { "b.txt": "dirty\n" });
  if (state === "detached") await git(tree, "switch", "-q", "--detach");
  if (state === "merging") {
    await git(tree, "branch", "other");
    write(tree, { "a.txt": "ours\n" });
    await git(tree, "commit", "-q", "-m", "ours", "a.txt");
    const ours = await git(tree, "symbolic-ref", "--short", "HEAD");
    await git(tree, "switch", "-q", "other");
    write(tree, { "a.txt": "theirs\n" });
    await git(tree, "commit", "-q", "-m", "theirs", "a.txt");
    await git(tree, "switch", "-q", ours);
    await tryRun(tree, ["merge", "other"]);
  }
}

/** The call with all the keys that an operation could need beside `dir`. */
const FULL: Readonly<Record<Op, Result>> = {
  add: { files: ["new.txt"] },
  commit: { message: "one more", files: ["new.txt"] },
  push: { branch: "topic" },
  pull: { branch: "" },
  "branch create": { name: "fresh" },
  "branch delete": { name: "old" },
  finish: { branch: "topic" },
  checkout: { ref: "topic" },
};
/** …and with none that the contract could demand. */
const BARE: Readonly<Record<Op, Result>> = { ...FULL, add: {}, commit: { message: "one more" }, push: {}, pull: {}, finish: {} };

/** What an allowed operation did, seen with git itself. */
async function prove(op: Op, tree: string, result: Result, before: Result): Promise<void> {
  const head = await git(tree, "rev-parse", "HEAD");
  expect(result["repoPath"]).toBe(tree);
  expect(result["headSha"]).toBe(head);
  const branch = await tryRun(tree, ["symbolic-ref", "-q", "--short", "HEAD"]);
  expect(result["branch"]).toBe(branch.status === 0 ? branch.stdout.trim() : null);
  switch (op) {
    case "add":
      expect((await git(tree, "diff", "--cached", "--name-only")).split("\n")).toContain("new.txt");
      return;
    case "commit":
      expect(await git(tree, "show", "--format=%s", "--name-only", "HEAD")).toBe("one more\n\nnew.txt");
      return;
    case "push":
      expect(result["remoteSha"]).toBe(await git(await remoteOf(tree), "rev-parse", String(result["ref"])));
      return;
    case "pull":
      expect(result["changed"]).toBe(true);
      expect(head).toBe(await git(await remoteOf(tree), "rev-parse", String(result["ref"])));
      return;
    case "branch create":
      expect(await git(tree, "rev-parse", "refs/heads/fresh")).toBe(String(result["sha"]));
      return;
    case "branch delete":
      expect((await tryRun(tree, ["rev-parse", "-q", "--verify", "refs/heads/old"])).status).toBe(1);
      expect(await git(tree, "rev-parse", String(result["keptAs"]))).toBe(String(result["deletedSha"]));
      expect(stateOf(tree)["tree"]).toEqual(before["tree"]);
      return;
    case "finish":
      expect(result["push"]).toMatchObject({ ref: "refs/heads/topic", outcome: "created" });
      expect(stateOf(tree)["tree"]).toEqual(before["tree"]);
      return;
    case "checkout":
      expect(result["branch"]).toBe("topic");
      return;
  }
}

async function remoteOf(tree: string): Promise<string> {
  return await git(tree, "remote", "get-url", "origin");
}

/** `A`, or the code and missing keys of a refusal. */
async function cell(op: Op, where: Where, state: State, input: Result, expected: string, place: (dir: TempDir) => Place): Promise<void> {
  await using dir = await repositories();
  const tree = dir.path(FOLDERS[where]);
  // Everywhere something that an add or a commit could take.
  for (const folder of Object.values(FOLDERS)) write(dir.path(folder), { "new.txt": "new\n" });
  await put(tree, op, state);
  const everywhere = (): Result => Object.fromEntries(Object.values(FOLDERS).map((folder) => [folder, stateOf(dir.path(folder))]));
  const before = everywhere();
  const call = { dir: tree, ...input };
  if (expected === "A") {
    const untouched = stateOf(tree);
    await prove(op, tree, await guard(op, call, place(dir)), untouched);
    return;
  }
  const facts = await failure(guard(op, call, place(dir)));
  expect(everywhere()).toEqual(before);
  expect(facts.details).toMatchObject({ op: `guard ${op}`, target: { repoPath: tree, kind: where } });
  const missing = facts.details?.["missing"];
  expect(`${facts.code}(${Array.isArray(missing) ? missing.join(", ") : ""})`).toBe(expected);
  const example = exampleIn(facts);
  if (example.tool === "wt_create") return;
  const again = await guard(example.tool, example.arguments, place(dir));
  expect(again["repoPath"]).toBe(String(example.arguments["dir"]));
}

type Row = readonly [same: string, foreignWorktree: string, foreignPrimary: string];
const OUTRIGHT = "REFUSED()";

const CLEAN: Readonly<Record<Op, Row>> = {
  add: ["A", "A", "A"],
  commit: ["A", "A", OUTRIGHT],
  push: ["A", "A", "A"],
  pull: ["A", "A", OUTRIGHT],
  "branch create": ["A", "A", OUTRIGHT],
  "branch delete": ["A", "A", "A"],
  finish: ["A", "A", "A"],
  checkout: ["A", "A", OUTRIGHT],
};
const OMITTED: Partial<Record<Op, Row>> = {
  add: ["REFUSED(files)", "REFUSED(files)", "REFUSED(files)"],
  push: ["A", "REFUSED(branch)", "REFUSED(branch)"],
  commit: ["-", "REFUSED(files)", OUTRIGHT],
  finish: ["-", "REFUSED(branch)", "REFUSED(branch)"],
};
const DIRTY: Partial<Record<Op, Row>> = {
  add: ["A", "A", "A"],
  commit: ["A", "A", OUTRIGHT],
  push: ["A", "A", "A"],
  pull: ["A", "DIRTY()", OUTRIGHT],
  "branch create": ["A", "DIRTY()", OUTRIGHT],
  "branch delete": ["A", "A", "A"],
  finish: ["A", "A", "A"],
  checkout: ["DIRTY()", "DIRTY()", OUTRIGHT],
};
const MERGING: Partial<Record<Op, Row>> = {
  add: ["A", "A", "A"],
  commit: ["-", OUTRIGHT, OUTRIGHT],
  push: ["A", "A", "A"],
  pull: [OUTRIGHT, OUTRIGHT, OUTRIGHT],
  "branch create": ["A", OUTRIGHT, OUTRIGHT],
  "branch delete": ["A", "A", "A"],
  finish: [OUTRIGHT, OUTRIGHT, OUTRIGHT],
  checkout: [OUTRIGHT, OUTRIGHT, OUTRIGHT],
};
const DETACHED: Partial<Record<Op, Row>> = {
  add: ["A", "A", "A"],
  commit: ["A", OUTRIGHT, OUTRIGHT],
  "branch create": ["A", "A", OUTRIGHT],
  "branch delete": ["A", "A", "A"],
  checkout: ["A", "A", OUTRIGHT],
};
const DETACHED_OMITTED: Partial<Record<Op, Row>> = {
  push: ["REFUSED(branch)", "REFUSED(branch)", "REFUSED(branch)"],
  pull: ["REFUSED(branch)", "REFUSED(branch)", OUTRIGHT],
  finish: ["REFUSED(branch)", "REFUSED(branch)", "REFUSED(branch)"],
};

const TABLES: readonly (readonly [string, State, Readonly<Record<Op, Result>>, Partial<Record<Op, Row>>])[] = [
  ["clean", "clean", FULL, CLEAN],
  ["keys omitted", "clean", BARE, OMITTED],
  ["dirty", "dirty", FULL, DIRTY],
  ["in the middle of a merge", "merging", FULL, MERGING],
  ["detached", "detached", FULL, DETACHED],
  ["detached, keys omitted", "detached", BARE, DETACHED_OMITTED],
];

const SURFACES: Readonly<Record<string, (dir: TempDir) => Place>> = {
  "a command line": (dir) => ({ cwd: dir.path("home") }),
  "a server": (dir) => server(dir.path("home")),
};

for (const [surface, place] of Object.entries(SURFACES)) {
  for (const [title, state, input, table] of TABLES) {
    describe(`${surface}, ${title}`, () => {
      for (const [op, [same, worktree, primary]] of Object.entries(table) as [Op, Row][]) {
        const cells: readonly (readonly [Where, string])[] = [
          ["same-main", same],
          ["same-worktree", same],
          ["foreign-worktree", worktree],
          ["foreign-primary", primary],
        ];
        for (const [where, expected] of cells) {
          if (expected === "-") continue;
          test(`${op}, ${where}: ${expected}`, async () => await cell(op, where, state, input[op], expected, place), 30_000);
        }
      }
    });
  }
}

describe("before the first commit", () => {
  const rows: readonly (readonly [Op, Result, string])[] = [
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
        expect(result).toMatchObject({ repoPath: repo, branch: op === "branch create" ? "fresh" : "main", headSha: op === "commit" ? expect.stringMatching(/^[0-9a-f]{40}$/) : null });
        return;
      }
      const facts = await failure(guard(op, input, { cwd: repo }));
      expect(facts).toMatchObject({ code: "REFUSED", details: { missing: ["branch"] } });
      expect(stateOf(repo)).toEqual(before);
    });
  }

  test("a pull of a named branch is its first commit", async () => {
    await using dir = await repositories();
    const repo = await makeRepo(dir.path("unborn"), { files: {} });
    await git(repo, "remote", "add", "origin", dir.path("far.git"));
    expect(await guard("pull", { branch: "main" }, { cwd: repo })).toMatchObject({ changed: true, headSha: await git(dir.path("far.git"), "rev-parse", "main") });
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
    expect(facts.details).toMatchObject({ missing: ["owner_repo", "files"], target: { kind: "own-submodule", ownerRepo: "o/lib" } });
    expect(stateOf(sub)).toEqual(before);
    const example = exampleIn(facts);
    expect(example.arguments).toEqual({ message: "x", dir: sub, owner_repo: "o/lib", files: ["new.txt"] });
    expect(await guard(example.tool, example.arguments, place)).toMatchObject({ repoPath: sub, ownerRepo: "o/lib", paths: ["new.txt"] });
  });

  test("is refused with the owner/repo of the repository around it", async () => {
    await using dir = await tempDir();
    const sub = await withSubmodule(dir);
    const facts = await failure(guard("commit", { message: "x", files: ["new.txt"], dir: sub, owner_repo: "o/home" }, { cwd: dir.path("home") }));
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
    const facts = await failure(guard("commit", { message: "x", files: ["new.txt"], dir: repo, ...proof }, server(null)));
    expect(facts).toMatchObject({ code, details: { missing, target: { kind: "unknown" } } });
    expect(stateOf(repo)).toEqual(before);
    expect(await guard("commit", exampleIn(facts).arguments, server(null))).toMatchObject({ repoPath: repo });
  });

  test("may with either proof", async () => {
    await using dir = await tempDir();
    const repo = await two(dir);
    expect(await guard("commit", { message: "x", files: ["new.txt"], dir: repo, owner_repo: "O/R".toLowerCase() }, server(null))).toMatchObject({ ok: true });
    write(repo, { "new.txt": "newer\n" });
    const head = await git(repo, "rev-parse", "HEAD");
    expect(await guard("commit", { message: "x", files: ["new.txt"], dir: repo, expect_sha: head.slice(0, 10) }, server(null))).toMatchObject({ ok: true });
  });

  test("may work in a linked worktree", async () => {
    await using dir = await tempDir();
    await two(dir);
    expect(await guard("commit", { message: "x", files: ["new.txt"], dir: dir.path("wt") }, server(null))).toMatchObject({ repoPath: dir.path("wt") });
  });

  test("is told where the server looked when it names nothing", async () => {
    const facts = await failure(guard("push", {}, server(null)));
    expect(facts).toMatchObject({ details: { missing: ["dir"], target: null } });
    expect(facts.message).toContain("/nowhere");
  });
});

describe("bad input changes nothing and says what is wrong", () => {
  const commit = { message: "x", files: ["a.txt"] };
  const rows: readonly [string, (dir: TempDir) => Promise<Result>, string, RegExp][] = [
    ["a path that isn't a repository", async (dir) => ({ dir: dir.root }), "NOT_A_REPOSITORY", /no git repository/],
    ["a path that doesn't exist", async (dir) => ({ dir: dir.path("gone") }), "NOT_FOUND", /doesn't exist/],
    ["a file", async (dir) => ({ dir: dir.path("home/a.txt") }), "INVALID_INPUT", /is a file/],
    ["inside a git dir", async (dir) => ({ dir: dir.path("home/.git") }), "REFUSED", /inside a git dir/],
    ["inside a worktree's git dir", async (dir) => ({ dir: dir.path("home/.git/worktrees/home-wt") }), "REFUSED", /inside a git dir/],
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
    ["an owner that is none", async (dir) => ({ dir: dir.path("home"), owner_repo: "r" }), "REFUSED", /form owner\/repo/],
    ["a wrong commit", async (dir) => ({ dir: dir.path("home"), expect_sha: "deadbeef" }), "REFUSED", /"deadbeef"/],
    ["an empty message", async (dir) => ({ dir: dir.path("home"), message: " \n" }), "INVALID_INPUT", /message is empty/],
    ["a file outside", async (dir) => ({ dir: dir.path("home"), files: ["../far/a.txt"] }), "OUTSIDE_REPOSITORY", /isn't in the checkout/],
    ["a file that isn't there", async (dir) => ({ dir: dir.path("home"), files: ["A.txt"] }), "NOT_FOUND", /neither there nor tracked/],
  ];
  for (const [name, input, code, message] of rows) {
    test(`${name}: ${code}`, async () => {
      await using dir = await repositories();
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
    await using dir = await repositories();
    const place = { cwd: dir.path("home") };
    for (const bad of [{ branch: "--force" }, { branch: "+main" }, { branch: "refs/heads/main" }, { branch: "topic", remote: "--receive-pack=touch x" }]) {
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
    await using dir = await repositories();
    const before = stateOf(dir.path("home"));
    expect((await failure(guard(op, input, { cwd: dir.path("home") }))).code).toBe("INVALID_INPUT");
    expect(stateOf(dir.path("home"))).toEqual(before);
  });
});
