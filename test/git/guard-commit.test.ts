/** Commits of exactly what was named: whatever else is staged, changed, half-staged or in the way stays as it is and out. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeRepo, run as git, tempDir, tryRun, write } from "../kit/git.ts";
import { failure, guard, server, stateOf, type Result } from "../kit/guard.ts";
import { conflicted, script } from "../kit/repositories.ts";

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
  {
    name: "a new file",
    given: (repo) => write(repo, { "new.txt": "n\n", "other.txt": "o\n" }),
    files: ["new.txt"],
    commits: ["new.txt"],
    leaves: "?? other.txt",
  },
  {
    name: "a deleted file",
    given: (repo) => unlinkSync(join(repo, "b.txt")),
    files: ["b.txt"],
    commits: ["b.txt"],
    leaves: "",
  },
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
  {
    name: "a leading dash",
    given: (repo) => write(repo, { "--all": "n\n", "a.txt": "x\n" }),
    files: ["--all"],
    commits: ["--all"],
    leaves: " M a.txt",
  },
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
  {
    name: "the mode alone",
    given: (repo) => chmodSync(join(repo, "b.txt"), 0o755),
    files: ["b.txt"],
    commits: ["b.txt"],
    leaves: "",
  },
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
      const result = await guard(
        "commit",
        { message: "#1 a message", ...(files === undefined ? {} : { files }) },
        { cwd: join(repo, from ?? ".") },
      );
      const head = await git(repo, "rev-parse", "HEAD");
      expect((await tryRun(repo, ["status", "--short"])).stdout.trimEnd()).toBe(leaves);
      expect(result).toMatchObject({
        ok: commits !== null,
        commit: commits === null ? null : head,
        headSha: head,
        repoPath: repo,
        branch: "main",
        whole,
      });
      if (commits === null) {
        expect(head).toBe(before);
        return;
      }
      expect(await git(repo, "rev-parse", "HEAD~1")).toBe(before);
      expect(result["paths"]).toEqual([...commits]);
      const shown = (await tryRun(repo, ["show", "-z", "--no-renames", "--format=", "--name-only"])).stdout
        .split("\0")
        .filter((path) => path !== "");
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
    [
      "another spelling of an accent",
      (repo) => (write(repo, { "\u00e9": "n\n" }), { files: ["e\u0301"] }),
      "NOT_FOUND",
      /neither there nor tracked/,
    ],
    [
      "an ignored file",
      (repo) => (write(repo, { ".gitignore": "secret\n", secret: "s\n" }), { files: ["secret"] }),
      "INVALID_INPUT",
      /is ignored/,
    ],
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
        await conflicted(repo);
        return { files: ["a.txt"] };
      },
      "REFUSED",
      /conflicts in "a\.txt"/,
    ],
    [
      "a part of a merge",
      async (repo) => {
        await conflicted(repo);
        write(repo, { "a.txt": "resolved\n", "b.txt": "x\n" });
        await git(repo, "add", "a.txt");
        return { files: ["b.txt"] };
      },
      "REFUSED",
      /a merge is in progress, and git commits all of it or nothing/,
    ],
    [
      "a hook that says no",
      async (repo) => (
        script(join(repo, ".git/hooks"), "pre-commit", "echo 'no luck' >&2; exit 1"),
        write(repo, { "new.txt": "n\n" }),
        { files: ["new.txt"] }
      ),
      "REJECTED",
      /no luck/,
    ],
    [
      "a message that a hook rejects",
      async (repo) => (
        script(join(repo, ".git/hooks"), "commit-msg", "exit 3"),
        write(repo, { "a.txt": "x\n" }),
        { files: ["a.txt"] }
      ),
      "REJECTED",
      /rejected/,
    ],
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
    expect(
      (await failure(guard("commit", { message: "x", files: ["README.md"] }, { cwd: repo, lockWaitMs: 50 }))).code,
    ).toBe("LOCKED");
    expect(existsSync(join(repo, ".git/index.lock"))).toBe(true);
  });

  test("over MCP files are always named", async () => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path("repo"));
    write(repo, { "README.md": "x\n" });
    await git(repo, "add", "README.md");
    const facts = await failure(guard("commit", { message: "x", files: [] }, server(repo)));
    expect(facts).toMatchObject({
      code: "REFUSED",
      details: { missing: ["files"], example: { arguments: { message: "x", files: ["README.md"] } } },
    });
  });
});

/** What a failed commit mustn't have changed; the index's own file may have been refreshed on the way. */
async function statusOf(repo: string): Promise<Result> {
  return {
    head: await git(repo, "rev-parse", "HEAD"),
    short: (await tryRun(repo, ["status", "--short"])).stdout,
    staged: await git(repo, "ls-files", "--stage"),
  };
}
