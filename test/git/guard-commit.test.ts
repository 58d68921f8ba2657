/** Commits of exactly what was named: whatever else is staged, changed, half-staged or in the way stays as it is and out. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeRepo, run as git, tempDir, tryRun, write } from "../kit/git.ts";
import { failure, guard, server, stateOf, type Result } from "../kit/guard.ts";

const FILES = { "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b.txt": "b\n", "dir/c.txt": "c\n", "dir/d.txt": "d\n" };

interface Case {
  readonly name: string;
  /** Changes the repository before the call. */
  readonly given: (repo: string) => Promise<void> | void;
  readonly files?: readonly string[];
  /** Where the call stands, below the repository. */
  readonly from?: string;
  /** What the commit changes; null: there was nothing to commit. */
  readonly commits: readonly string[] | null;
  /** `git status --short` afterwards. */
  readonly leaves: string;
  readonly whole?: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: "one of two changed files",
    given: (repo) => write(repo, { "a.txt": "x\n", "b.txt": "x\n" }),
    files: ["a.txt"],
    commits: ["a.txt"],
    leaves: " M b.txt",
  },
  {
    name: "another file is staged: it stays staged",
    given: async (repo) => {
      write(repo, { "a.txt": "x\n", "b.txt": "x\n" });
      await git(repo, "add", "b.txt");
    },
    files: ["a.txt"],
    commits: ["a.txt"],
    leaves: "M  b.txt",
  },
  {
    name: "another file is half-staged: both halves stay",
    given: async (repo) => {
      write(repo, { "a.txt": "staged\n" });
      await git(repo, "add", "a.txt");
      write(repo, { "a.txt": "staged and more\n", "b.txt": "x\n" });
    },
    files: ["b.txt"],
    commits: ["b.txt"],
    leaves: "MM a.txt",
  },
  {
    name: "a half-staged file that is named goes in whole, and the answer says so",
    given: async (repo) => {
      write(repo, { "a.txt": "staged\n" });
      await git(repo, "add", "a.txt");
      write(repo, { "a.txt": "staged and more\n" });
    },
    files: ["a.txt"],
    commits: ["a.txt"],
    leaves: "",
    whole: ["a.txt"],
  },
  { name: "a new file", given: (repo) => write(repo, { "new.txt": "n\n", "other.txt": "o\n" }), files: ["new.txt"], commits: ["new.txt"], leaves: "?? other.txt" },
  { name: "a deleted file", given: (repo) => unlinkSync(join(repo, "b.txt")), files: ["b.txt"], commits: ["b.txt"], leaves: "" },
  {
    name: "a file that was taken out of the index and is still there is as it was committed",
    given: async (repo) => void (await git(repo, "rm", "-q", "--cached", "b.txt")),
    files: ["b.txt"],
    commits: null,
    leaves: "",
  },
  {
    name: "a rename that git was told of, both names",
    given: async (repo) => void (await git(repo, "mv", "a.txt", "n.txt")),
    files: ["a.txt", "n.txt"],
    commits: ["a.txt", "n.txt"],
    leaves: "",
  },
  {
    name: "a rename by hand, both names",
    given: (repo) => renameSync(join(repo, "a.txt"), join(repo, "n.txt")),
    files: ["n.txt", "a.txt"],
    commits: ["a.txt", "n.txt"],
    leaves: "",
  },
  {
    name: "a folder stands for all that is changed in it, new and deleted files too",
    given: (repo) => {
      write(repo, { "dir/c.txt": "x\n", "dir/deep/new.txt": "n\n", "b.txt": "x\n" });
      unlinkSync(join(repo, "dir/d.txt"));
    },
    files: ["dir/"],
    commits: ["dir/c.txt", "dir/d.txt", "dir/deep/new.txt"],
    leaves: " M b.txt",
  },
  {
    name: "all of the tree, named as a folder",
    given: (repo) => write(repo, { "a.txt": "x\n", "new.txt": "n\n" }),
    files: ["."],
    commits: ["a.txt", "new.txt"],
    leaves: "",
  },
  {
    name: "relative to the folder that the call stands in",
    given: (repo) => write(repo, { "a.txt": "x\n", "dir/c.txt": "x\n" }),
    files: ["c.txt"],
    from: "dir",
    commits: ["dir/c.txt"],
    leaves: " M a.txt",
  },
  {
    name: "blank entries are nothing",
    given: (repo) => write(repo, { "a.txt": "x\n", "b.txt": "x\n" }),
    files: ["", " ", "a.txt", "\n"],
    commits: ["a.txt"],
    leaves: " M b.txt",
  },
  {
    name: "characters that are magic to git are letters",
    given: (repo) => write(repo, { "*": "n\n", ":(glob)**": "n\n", ":!x": "n\n", "[ab].txt": "n\n", "a.txt": "x\n" }),
    files: ["*", ":(glob)**", ":!x", "[ab].txt"],
    commits: ["*", ":!x", ":(glob)**", "[ab].txt"],
    leaves: " M a.txt",
  },
  { name: "a leading dash", given: (repo) => write(repo, { "--all": "n\n", "a.txt": "x\n" }), files: ["--all"], commits: ["--all"], leaves: " M a.txt" },
  {
    name: "newline, tab, quote, blank and letters of all kinds",
    given: (repo) => write(repo, { "a\nb": "n\n", 'q"t\t': "n\n", "é ": "n\n", "字.txt": "n\n" }),
    files: ["a\nb", 'q"t\t', "é ", "字.txt"],
    commits: ["a\nb", 'q"t\t', "é ", "字.txt"],
    leaves: "",
  },
  {
    name: "a symlink is committed as itself",
    given: (repo) => {
      symlinkSync("dir", join(repo, "link"));
      write(repo, { "dir/c.txt": "x\n" });
    },
    files: ["link"],
    commits: ["link"],
    leaves: " M dir/c.txt",
  },
  { name: "the mode alone", given: (repo) => chmodSync(join(repo, "b.txt"), 0o755), files: ["b.txt"], commits: ["b.txt"], leaves: "" },
  { name: "nothing is changed", given: () => {}, files: ["a.txt"], commits: null, leaves: "" },
  { name: "nothing is staged", given: (repo) => write(repo, { "a.txt": "x\n" }), commits: null, leaves: " M a.txt" },
  {
    name: "without files: the index as it is",
    given: async (repo) => {
      write(repo, { "a.txt": "staged\n", "b.txt": "x\n" });
      await git(repo, "add", "a.txt");
      write(repo, { "a.txt": "staged and more\n" });
    },
    commits: ["a.txt"],
    leaves: " M a.txt\n M b.txt",
  },
  {
    name: "somebody's intent to add is left alone",
    given: async (repo) => {
      write(repo, { "later.txt": "n\n", "a.txt": "x\n" });
      await git(repo, "add", "-N", "later.txt");
    },
    files: ["a.txt"],
    commits: ["a.txt"],
    leaves: " A later.txt",
  },
  {
    name: "status settings of the user's change nothing",
    given: async (repo) => {
      await git(repo, "config", "status.showUntrackedFiles", "no");
      await git(repo, "config", "status.relativePaths", "true");
      await git(repo, "config", "commit.cleanup", "strip");
      await git(repo, "config", "commit.verbose", "true");
      await git(repo, "config", "core.quotePath", "true");
      write(repo, { "dir/new.txt": "n\n" });
    },
    files: ["dir/new.txt"],
    commits: ["dir/new.txt"],
    leaves: "",
  },
];

describe("a commit holds what was named", () => {
  for (const { name, given, files, from, commits, leaves, whole = [] } of CASES) {
    test(name, async () => {
      await using dir = await tempDir();
      const repo = await makeRepo(dir.path("repo"), { files: FILES });
      await given(repo);
      const before = await git(repo, "rev-parse", "HEAD");
      const result = await guard("commit", { message: "#1 a message", ...(files === undefined ? {} : { files }) }, { cwd: join(repo, from ?? ".") });
      const head = await git(repo, "rev-parse", "HEAD");
      expect((await tryRun(repo, ["status", "--short"])).stdout.trimEnd()).toBe(leaves);
      expect(result).toMatchObject({ ok: commits !== null, commit: commits === null ? null : head, headSha: head, repoPath: repo, branch: "main", whole });
      if (commits === null) {
        expect(head).toBe(before);
        return;
      }
      expect(await git(repo, "rev-parse", "HEAD~1")).toBe(before);
      expect(result["paths"]).toEqual([...commits]);
      const shown = (await tryRun(repo, ["show", "-z", "--no-renames", "--format=", "--name-only"])).stdout.split("\0").filter((path) => path !== "");
      expect(shown).toEqual([...commits]);
      expect(await git(repo, "log", "-1", "--format=%B")).toBe("#1 a message\n");
    });
  }
});

describe("what can't be committed as it is named is refused, and nothing changes", () => {
  const rows: readonly [string, (repo: string) => Promise<Result> | Result, string, RegExp][] = [
    [
      "one half of a rename",
      async (repo) => {
        await git(repo, "mv", "a.txt", "n.txt");
        return { files: ["n.txt"] };
      },
      "REFUSED",
      /"a\.txt" was renamed to "n\.txt"/,
    ],
    ["a glob", () => ({ files: ["*.txt"] }), "NOT_FOUND", /neither there nor tracked/],
    ["another spelling of an accent", (repo) => (write(repo, { "\u00e9": "n\n" }), { files: ["e\u0301"] }), "NOT_FOUND", /neither there nor tracked/],
    ["an ignored file", (repo) => (write(repo, { ".gitignore": "secret\n", secret: "s\n" }), { files: ["secret"] }), "INVALID_INPUT", /is ignored/],
    ["the git dir", () => ({ files: [".git/config"] }), "INVALID_INPUT", /git dir/],
    ["above the tree", () => ({ files: ["../x"] }), "OUTSIDE_REPOSITORY", /isn't in the checkout/],
    [
      "behind a symlink",
      (repo) => {
        symlinkSync("dir", join(repo, "link"));
        return { files: ["link/c.txt"] };
      },
      "INVALID_INPUT",
      /behind the symbolic link/,
    ],
    [
      "a file of a repository inside",
      async (repo) => {
        await makeRepo(join(repo, "nested"));
        return { files: ["nested/README.md"] };
      },
      "INVALID_INPUT",
      /repository of its own/,
    ],
    [
      "a repository inside",
      async (repo) => {
        await makeRepo(join(repo, "nested"));
        return { files: ["nested"] };
      },
      "INVALID_INPUT",
      /repository of its own/,
    ],
    [
      "a worktree of the same repository inside",
      async (repo) => {
        await git(repo, "worktree", "add", "-q", join(repo, "wt"));
        return { files: ["wt"] };
      },
      "INVALID_INPUT",
      /repository of its own/,
    ],
    [
      "a conflict",
      async (repo) => {
        await conflict(repo);
        return { files: ["a.txt"] };
      },
      "REFUSED",
      /conflicts in "a\.txt"/,
    ],
    [
      "a part of a merge",
      async (repo) => {
        await conflict(repo);
        write(repo, { "a.txt": "resolved\n", "b.txt": "x\n" });
        await git(repo, "add", "a.txt");
        return { files: ["b.txt"] };
      },
      "REFUSED",
      /a merge is in progress, and git commits all of it or nothing/,
    ],
    ["a hook that says no", async (repo) => (hook(repo, "pre-commit", "echo 'no luck' >&2; exit 1"), write(repo, { "new.txt": "n\n" }), { files: ["new.txt"] }), "REJECTED", /no luck/],
    ["a message that a hook rejects", async (repo) => (hook(repo, "commit-msg", "exit 3"), write(repo, { "a.txt": "x\n" }), { files: ["a.txt"] }), "REJECTED", /rejected/],
    [
      "signing that fails",
      async (repo) => {
        await git(repo, "config", "commit.gpgSign", "true");
        await git(repo, "config", "gpg.program", "false");
        write(repo, { "new.txt": "n\n" });
        return { files: ["new.txt"] };
      },
      "REJECTED",
      /failed to sign|gpg/,
    ],
  ];
  for (const [name, given, code, message] of rows) {
    test(`${name}: ${code}`, async () => {
      await using dir = await tempDir();
      const repo = await makeRepo(dir.path("repo"), { files: FILES });
      const input = { message: "x", ...(await given(repo)) };
      const before = await statusOf(repo);
      const tree = stateOf(repo)["tree"];
      const facts = await failure(guard("commit", input, { cwd: repo }));
      expect(facts.code as string).toBe(code);
      expect(facts.message).toMatch(message);
      expect(await statusOf(repo)).toEqual(before);
      expect(stateOf(repo)["tree"]).toEqual(tree);
    });
  }

  test("no identity: the remedy", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    await git(repo, "config", "user.useConfigOnly", "true");
    write(repo, { "new.txt": "n\n" });
    const nobody = { GIT_AUTHOR_NAME: "", GIT_AUTHOR_EMAIL: "", GIT_COMMITTER_NAME: "", GIT_COMMITTER_EMAIL: "" };
    const facts = await failure(guard("commit", { message: "x", files: ["new.txt"] }, { cwd: repo, env: nobody }));
    expect(facts.code).toBe("GIT_FAILED");
    expect(facts.hint).toContain("user.name");
    expect(await statusOf(repo)).toMatchObject({ short: "?? new.txt\n" });
  });

  test("a lock that stays: waited for, and left alone", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    write(repo, { "README.md": "x\n" });
    writeFileSync(join(repo, ".git/index.lock"), "");
    expect((await failure(guard("commit", { message: "x", files: ["README.md"] }, { cwd: repo, lockWaitMs: 50 }))).code).toBe("LOCKED");
    expect(existsSync(join(repo, ".git/index.lock"))).toBe(true);
  });

  test("over MCP files are always named", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    write(repo, { "README.md": "x\n" });
    await git(repo, "add", "README.md");
    const facts = await failure(guard("commit", { message: "x", files: [] }, server(repo)));
    expect(facts).toMatchObject({ code: "REFUSED", details: { missing: ["files"], example: { arguments: { message: "x", files: ["README.md"] } } } });
  });
});

async function conflict(repo: string): Promise<void> {
  await git(repo, "switch", "-q", "-c", "other");
  write(repo, { "a.txt": "theirs\n" });
  await git(repo, "commit", "-q", "-am", "theirs");
  await git(repo, "switch", "-q", "main");
  write(repo, { "a.txt": "ours\n" });
  await git(repo, "commit", "-q", "-am", "ours");
  await tryRun(repo, ["merge", "other"]);
}

/** What a failed commit mustn't have changed; the index's own file may have been refreshed on the way. */
async function statusOf(repo: string): Promise<Result> {
  return { head: await git(repo, "rev-parse", "HEAD"), short: (await tryRun(repo, ["status", "--short"])).stdout, staged: await git(repo, "ls-files", "--stage") };
}

function hook(repo: string, name: string, script: string): void {
  mkdirSync(join(repo, ".git/hooks"), { recursive: true });
  writeFileSync(join(repo, ".git/hooks", name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(repo, ".git/hooks", name), 0o755);
}

describe("a hook that stages something else", () => {
  test("SWEPT_IN names it, and the index doesn't take it back", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), { files: FILES });
    hook(repo, "pre-commit", "echo swept > b.txt; echo new > extra.txt; git add b.txt extra.txt");
    write(repo, { "a.txt": "x\n" });
    const facts = await failure(guard("commit", { message: "x", files: ["a.txt"] }, { cwd: repo }));
    expect(facts).toMatchObject({ code: "SWEPT_IN", details: { sha: await git(repo, "rev-parse", "HEAD"), sweptIn: ["b.txt", "extra.txt"] } });
    expect((await tryRun(repo, ["status", "--short"])).stdout).toBe("");
  });

  test("a formatter of the named file is no sweep, and leaves a clean tree", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), { files: FILES });
    hook(repo, "pre-commit", "echo formatted > a.txt; git add a.txt");
    write(repo, { "a.txt": "x\n" });
    expect(await guard("commit", { message: "x", files: ["a.txt"] }, { cwd: repo })).toMatchObject({ ok: true, paths: ["a.txt"] });
    expect((await tryRun(repo, ["status", "--short"])).stdout).toBe("");
    expect(await git(repo, "show", "HEAD:a.txt")).toBe("formatted");
  });

  test("what was staged before stays staged, even where the hook swept it in", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"), { files: FILES });
    write(repo, { "b.txt": "mine\n" });
    await git(repo, "add", "b.txt");
    write(repo, { "a.txt": "x\n" });
    hook(repo, "pre-commit", "git add -A");
    expect((await failure(guard("commit", { message: "x", files: ["a.txt"] }, { cwd: repo }))).details).toMatchObject({ sweptIn: ["b.txt"] });
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
  expect(await guard("commit", { message: "x", files: ["mods/lib"] }, { cwd: repo })).toMatchObject({ ok: true, paths: ["mods/lib"] });
  expect(await guard("commit", { message: "x", files: ["mods/lib"] }, { cwd: repo })).toMatchObject({ ok: false });
});

test("a merge is concluded by a commit without files", async () => {
  await using dir = await tempDir();
  const repo = await makeRepo(dir.path("repo"), { files: FILES });
  await conflict(repo);
  write(repo, { "a.txt": "resolved\n" });
  expect(await guard("add", { files: ["a.txt"] }, { cwd: repo })).toMatchObject({ staged: ["a.txt"] });
  expect(await guard("commit", { message: "merged" }, { cwd: repo })).toMatchObject({ ok: true, paths: ["a.txt"] });
  expect((await git(repo, "rev-list", "--parents", "-n1", "HEAD")).split(" ")).toHaveLength(3);
});

test("eight at once in one tree: eight commits, each with its own file", async () => {
  await using dir = await tempDir();
  const repo = await makeRepo(dir.path("repo"), { files: { ...FILES, ...Object.fromEntries([0, 1, 2, 3].map((i) => [`f${i}`, "1\n"])) } });
  const names = Array.from({ length: 8 }, (_, i) => `f${i}`);
  write(repo, Object.fromEntries(names.map((name) => [name, "changed\n"])));
  write(repo, { "b.txt": "staged\n" });
  await git(repo, "add", "b.txt");
  const results = await Promise.all(names.map((name) => guard("commit", { message: `of ${name}`, files: [name] }, { cwd: repo, lockWaitMs: 60_000 })));
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
      const facts = await failure(guard(op, { ...(op === "commit" ? { message: "x" } : {}), files }, { cwd: dir.path("wt") }));
      expect(facts).toMatchObject({ code: "REFUSED", details: { mismatched: ["files"], queuePaths: [".bot/workspace/tasks/todo/t.json"], example: { arguments: { files: ["a.txt"] } } } });
    }
    expect(stateOf(dir.path("wt"))).toEqual(before);
    expect(await guard(op, { ...(op === "commit" ? { message: "x" } : {}), files: ["."] }, { cwd: repo })).toMatchObject({ repoPath: repo });
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
    expect(result).toEqual({ repoPath: repo, ownerRepo: null, branch, headSha: await git(repo, "rev-parse", "HEAD"), stateRoot: repo, ok: true, commit: await git(repo, "rev-parse", "HEAD"), paths: ["README.md"], whole: [] });
  });

  test("a worktree reached through a symlink is told by its real place", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    await git(repo, "worktree", "add", "-q", dir.path("wt"));
    symlinkSync(dir.path("wt"), dir.path("link"));
    write(dir.path("wt"), { "README.md": "x\n" });
    expect(await guard("commit", { message: "x", files: [dir.path("link/README.md")], dir: dir.path("link") }, { cwd: repo })).toMatchObject({ repoPath: dir.path("wt"), branch: "wt", stateRoot: repo });
  });

  test("done, and then unreadable, is an error of its own", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    write(repo, { "README.md": "x\n" });
    hook(repo, "post-commit", "mv .git/objects .git/objects-gone");
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
  expect(await guard("add", { files: ["dir", "*"] }, { cwd: repo })).toMatchObject({ staged: ["dir/c.txt", "dir/d.txt", "*", "dir/new.txt"] });
  expect((await tryRun(repo, ["status", "--short"])).stdout.split("\n").toSorted()).toEqual(["", " M a.txt", " M b.txt", "A  *", "A  dir/new.txt", "D  dir/d.txt", "M  dir/c.txt"]);
  expect(readFileSync(join(repo, "a.txt"), "utf8")).toBe("x\n");
  expect(await guard("add", { files: ["dir"] }, { cwd: repo })).toMatchObject({ staged: [] });
});
