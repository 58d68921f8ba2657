import { describe, expect, test } from "bun:test";

import {
  atLeast,
  configBool,
  errorLine,
  errorLines,
  hideUserInfo,
  oneLine,
  parseConfig,
  parseGitVersion,
  parseNul,
  parseStatus,
  parseWorktrees,
  plainFormat,
} from "../../lib/git/parse.ts";
import { gitFailure } from "../../lib/git/run.ts";

const SHA = "4f2a91c0d3e5b6a798877665544332211000ffee";

describe("oneLine removes one newline, and never trims", () => {
  test.each([
    ["/a\n", "/a"],
    ["/ends in newline\n\n", "/ends in newline\n"],
    ["/ends in blank \n", "/ends in blank "],
    ["", ""],
  ])("%j", (text, line) => {
    expect(oneLine(text)).toBe(line);
  });
});

test.each([
  ["", []],
  ["a\0", ["a"]],
  ["a\0b", ["a", "b"]],
  ["a\nb\0 c \0", ["a\nb", " c "]],
])("parseNul(%j)", (text, list) => {
  expect(parseNul(text)).toEqual(list);
});

test("parseWorktrees reads every kind of record, and paths of any name", () => {
  const none = { bare: false, detached: false, locked: null, prunable: null };
  const text = [
    ["worktree /main", `HEAD ${SHA}`, "branch refs/heads/main"],
    ["worktree /two\nlines \n", `HEAD ${SHA}`, "detached", "locked why\nso"],
    ["worktree /unborn", `HEAD ${"0".repeat(40)}`, "branch refs/heads/new", "locked"],
    ["worktree /gone", `HEAD ${SHA}`, "branch refs/heads/x", "prunable gitdir file points to non-existent location"],
    ["worktree /x.git", "bare"],
  ]
    .map((record) => record.map((field) => `${field}\0`).join("") + "\0")
    .join("");
  expect(parseWorktrees(text)).toEqual([
    { ...none, path: "/main", head: SHA, branch: "refs/heads/main" },
    { ...none, path: "/two\nlines \n", head: SHA, branch: null, detached: true, locked: "why\nso" },
    { ...none, path: "/unborn", head: null, branch: "refs/heads/new", locked: "" },
    {
      ...none,
      path: "/gone",
      head: SHA,
      branch: "refs/heads/x",
      prunable: "gitdir file points to non-existent location",
    },
    { ...none, path: "/x.git", head: null, branch: null, bare: true },
  ]);
  expect(parseWorktrees("")).toEqual([]);
});

test("parseStatus reads every kind of entry, and paths of any name", () => {
  const modes = "100644 100644 100644";
  const text = [
    `# branch.oid ${SHA}`,
    "# branch.head main",
    "# branch.upstream origin/main",
    "# branch.ab +2 -1",
    "# stash 3",
    `1 .M N... ${modes} ${SHA} ${SHA} a b\nc `,
    `1 M. SCMU 160000 160000 160000 ${SHA} ${SHA} lib`,
    `2 R. N... ${modes} ${SHA} ${SHA} R100 new name`,
    "old name",
    `u UU N... ${modes} 100644 ${SHA} ${SHA} ${SHA} both`,
    "? un tracked",
    "! ignored/",
  ]
    .map((field) => `${field}\0`)
    .join("");
  expect(parseStatus(text)).toEqual({
    branch: { oid: SHA, head: "main", upstream: "origin/main", ahead: 2, behind: 1 },
    entries: [
      { kind: "changed", index: ".", tree: "M", path: "a b\nc ", submodule: false },
      { kind: "changed", index: "M", tree: ".", path: "lib", submodule: true },
      { kind: "renamed", index: "R", tree: ".", path: "new name", from: "old name", submodule: false },
      { kind: "unmerged", index: "U", tree: "U", path: "both", submodule: false },
      { kind: "untracked", index: "?", tree: "?", path: "un tracked", submodule: false },
      { kind: "ignored", index: "!", tree: "!", path: "ignored/", submodule: false },
    ],
  });
  expect(parseStatus("")).toEqual({ branch: null, entries: [] });
  expect(parseStatus("# branch.oid (initial)\0# branch.head (detached)\0").branch).toEqual({
    oid: null,
    head: null,
    upstream: null,
    ahead: 0,
    behind: 0,
  });
});

test("parseConfig keeps every value, and knows a key without one", () => {
  const config = parseConfig("a.b\none\0a.b\ntwo\nlines\0c.d\0e.f\n\0");
  expect([...config]).toEqual([
    ["a.b", ["one", "two\nlines"]],
    ["c.d", [null]],
    ["e.f", [""]],
  ]);
});

test.each([
  [null, true],
  ["true", true],
  ["Yes", true],
  ["on", true],
  ["1", true],
  ["false", false],
  ["no", false],
  ["", false],
  ["0", false],
  ["maybe", null],
])("configBool(%j) is %p", (value, bool) => {
  expect(configBool(value)).toBe(bool);
});

describe("versions", () => {
  test.each([
    ["git version 2.39.5\n", "2.38", true],
    ["git version 2.38.0\n", "2.38", true],
    ["git version 2.37.9\n", "2.38", false],
    ["git version 2.39.3 (Apple Git-145)\n", "2.39.4", false],
    ["git version 2.45.1.windows.1\n", "2.45.1", true],
    ["git version 2.50.0-rc1\n", "2.38", true],
    ["git version 3.0.1\n", "2.38", true],
  ])("%j is %s or newer: %p", (text, minimum, yes) => {
    expect(atLeast(parseGitVersion(text), minimum)).toBe(yes);
  });

  test("keep git's own spelling", () => {
    expect(parseGitVersion("git version 2.39.3 (Apple Git-145)\n").text).toBe("2.39.3 (Apple Git-145)");
  });

  test("are refused when they are none", () => {
    expect(() => parseGitVersion("hub version 2\n")).toThrow("isn't a version");
  });
});

describe("the words of a failure", () => {
  test.each([
    ["fatal: not a git repository\n", "not a git repository"],
    ["warning: x\nhint: y\nerror: no\nhint: z\nmore\n", "no\nmore"],
    ["remote: busy\nplain\n", "remote: busy\nplain"],
    ["fatal: unable to access 'https://u:p@h/o/r/': no\n", "unable to access 'https://h/o/r/': no"],
    ["\n \n", ""],
  ])("%j", (stderr, words) => {
    expect(errorLines(stderr)).toBe(words);
    expect(errorLine(stderr)).toBe(words.split("\n")[0] ?? "");
  });

  test("are cut at the given number of lines", () => {
    expect(errorLines("a\nb\nc\n", 2)).toBe("a\nb");
  });

  test("hold no user info of a URL", () => {
    expect(hideUserInfo("a ssh://u@h/o b https://u:p@q@h/o c@d")).toBe("a ssh://h/o b https://h/o c@d");
  });

  test.each([
    ["fatal: not a git repository (or any of the parent directories): .git", "NOT_A_REPOSITORY"],
    ["fatal: detected dubious ownership in repository at '/x'\nTo add an exception", "REFUSED"],
    ["fatal: unknown repository extension found:\n\trelativeworktrees", "GIT_TOO_OLD"],
    ["fatal: Expected git repo version <= 1, found 9", "GIT_TOO_OLD"],
    ["fatal: Unable to create '/x/.git/index.lock': File exists.", "LOCKED"],
    ["fatal: cannot lock ref 'refs/heads/a': Unable to create '/x/.git/refs/heads/a.lock': File exists.", "LOCKED"],
    ["error: cannot lock ref 'HEAD': is at 1234 but expected 5678", "LOCKED"],
    ["fatal: cannot lock ref 'refs/heads/a': 'refs/heads/a/b' exists; cannot create 'refs/heads/a'", "REFUSED"],
    ["fatal: cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create 'refs/heads/a/b'", "REFUSED"],
    [
      "error: cannot lock ref 'refs/heads/a': there is a non-empty directory '/x/.git/refs/heads/a' blocking reference 'refs/heads/a'",
      "REFUSED",
    ],
    ["fatal: Could not read from remote repository.", "NETWORK"],
    ["error: insufficient permission for adding an object to repository database", "READ_ONLY"],
    ["fatal: something else", "GIT_FAILED"],
  ])("%j is %s", (stderr, code) => {
    const failure = gitFailure(["-c", "a.b=c", "commit", "-F", "-"], { status: 128, stderr, stdout: "" });
    expect(failure.code).toBe(code as typeof failure.code);
    expect(failure.message).toStartWith("git commit: ");
  });

  test("fall back to the status", () => {
    expect(gitFailure(["push"], { status: 1, stderr: "", stdout: "" }).message).toBe(
      "git push: it ended with status 1",
    );
  });
});

describe("plainFormat", () => {
  const core = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
  test.each([
    [core, { version: 0, bare: false }],
    ["", { version: 0, bare: null }],
    ["[core]\n\tBare = TRUE\n", { version: 0, bare: true }],
    ["[core]\n\tbare\n", { version: 0, bare: true }],
    [
      `${core}[remote "origin"]\n\turl = https://h/o/r\n[branch "worktree"]\n\tmerge = refs/heads/x\n`,
      { version: 0, bare: false },
    ],
    ["[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n", { version: 1, bare: null }],
    ["[user] # who\n\tname = A\n", { version: 0, bare: null }],
    ['[core "sub"]\n\tworktree = /x\n', { version: 0, bare: null }],
  ])("reads %j", (text, facts) => {
    expect(plainFormat(text)).toEqual(facts);
  });

  test.each([
    ["core.worktree", "[core]\n\tworktree = ../x\n"],
    ["core.worktree in another spelling", "[CORE]\n\tWorkTree=../x\n"],
    ["an include", "[include]\n\tpath = x\n"],
    ["a conditional include", '[includeIf "gitdir:/x/"]\n\tpath = x\n'],
    ["an extension", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n"],
    ["an extension in format 0", "[extensions]\n\tobjectformat = sha1\n"],
    ["a newer format", "[core]\n\trepositoryformatversion = 2\n"],
    ["a recorded root", "[dotbot]\n\troot = /x\n"],
    ["a key beside its header", "[core] worktree = /x\n"],
    ["a continued line", "[core]\n\teditor = a \\\nworktree = /x\n"],
    ["a comment after a value that counts", "[core]\n\tbare = false # no\n"],
    ["a byte order mark", "\uFEFF[core]\n\tbare = false\n"],
    ["what isn't a config file", "<<<<<<< HEAD\n[core]\n=======\n"],
  ])("leaves %s to git", (_, text) => {
    expect(plainFormat(text)).toBeNull();
  });
});
