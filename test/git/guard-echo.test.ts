/** What guard says is so: of where a push went, of why a commit was stopped, of what a landing holds, and what to call instead. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { isLocked } from "../../lib/git/index-lock.ts";
import { shellWord } from "../../lib/text.ts";
import { makeRepo, run as git, tempDir, write } from "../kit/git.ts";
import { failure, guard } from "../kit/guard.ts";
import { script, withRemote } from "../kit/repositories.ts";

describe("push", () => {
  test("to a remote on disk says which", async () => {
    await using dir = await tempDir();
    const { repo, remote } = await withRemote(dir);
    expect(await guard("push", {}, { cwd: repo })).toMatchObject({ remote: "origin", pushedTo: [remote] });
  });

  const URL = "https://ada:hunter2@host.example/o/r.git";
  test.each<[what: string, config: readonly string[], input: Readonly<Record<string, unknown>>, said: RegExp]>([
    [
      "a URL in place of a remote's name",
      [],
      { remote: URL },
      /"https:\/\/host\.example\/o\/r\.git" isn't a configured/,
    ],
    [
      "a URL as remote.pushDefault",
      ["remote.pushDefault", URL],
      {},
      /configured remote "https:\/\/host\.example\/o\/r\.git"/,
    ],
  ])("%s is shown without its password", async (_, config, input, said) => {
    await using dir = await tempDir();
    const { repo } = await withRemote(dir);
    if (config.length > 0) await git(repo, "config", ...config);
    const facts = await failure(guard("push", input, { cwd: repo }));
    expect(facts.message).toMatch(said);
    expect(JSON.stringify(facts)).not.toContain("hunter2");
  });

  test("before the first commit no branch is proposed", async () => {
    await using dir = await tempDir();
    await git(dir.root, "init", "-q", "--initial-branch=main", "new");
    const facts = await failure(guard("push", {}, { cwd: dir.path("new") }));
    expect(facts).toMatchObject({ code: "REFUSED", details: { missing: ["branch"] } });
    expect(facts.example).toBeUndefined();
  });
});

test("a hook that meets a lock runs once, and it is the hook that said no", async () => {
  await using dir = await tempDir();
  const repo = await makeRepo(dir.path("repo"), { files: { "a.txt": "1\n" } });
  script(
    join(repo, ".git/hooks"),
    "pre-commit",
    `echo run >> ${dir.path("runs")}\necho "fatal: Unable to create '/x/.git/index.lock': File exists." >&2\nexit 1`,
  );
  write(repo, { "a.txt": "2\n" });
  const facts = await failure(guard("commit", { message: "x", files: ["a.txt"] }, { cwd: repo, lockWaitMs: 2000 }));
  expect(facts).toMatchObject({ code: "REJECTED", message: expect.stringContaining("index.lock") });
  expect(readFileSync(dir.path("runs"), "utf8")).toBe("run\n");
});

test.each<[what: string, status: number, stderr: string, locked: boolean]>([
  ["the index", 128, "fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process", true],
  ["a branch", 128, "fatal: cannot lock ref 'HEAD': Unable to create '/r/.git/refs/heads/m.lock': File exists.", true],
  ["a merge that reports it", 1, "error: Unable to create '/r/.git/index.lock': File exists.\n", true],
  ["a hook's git", 1, "fatal: Unable to create '/r/.git/index.lock': File exists.\n", false],
  ["a hook's words", 1, "hook: git said: Unable to create '/r/.git/index.lock': File exists.\n", false],
  ["another failure", 128, "fatal: bad object\n", false],
])("whether git found a lock: %s", (_, status, stderr, locked) => {
  expect(isLocked({ status, stderr })).toBe(locked);
});

test("a landing takes its subject from what it lands, though the remote's base is older", async () => {
  await using dir = await tempDir();
  const { repo } = await withRemote(dir);
  await git(repo, "switch", "-q", "main");
  await git(repo, "commit", "-q", "--allow-empty", "-m", "Not pushed yet");
  await git(repo, "switch", "-q", "-c", "late");
  write(repo, { "late.txt": "late\n" });
  await git(repo, "add", "late.txt");
  await git(repo, "commit", "-q", "-m", "Add what is late");
  expect(await guard("finish", { merge: true }, { cwd: repo })).toMatchObject({ base: "main", commits: 1 });
  expect(await git(repo, "log", "--format=%s", "-2", "main")).toBe("Add what is late\nNot pushed yet");
});

test.each(["repo", "it's a repo"])(
  "inside a git dir the whole command is shown, with the checkout that is meant: %s",
  async (name) => {
    await using dir = await tempDir();
    const repo = await makeRepo(dir.path(name), { files: { "a.txt": "1\n" } });
    const facts = await failure(guard("add", { dir: join(repo, ".git"), files: ["a.txt"] }, { cwd: repo }));
    expect(facts.example).toBe(`dotbot guard add --dir ${shellWord(repo)} a.txt`);
    const place = { cwd: repo, mcp: { root: repo } };
    const tool = await failure(guard("add", { dir: join(repo, ".git"), files: ["a.txt"] }, place));
    expect(tool.example).toBe(JSON.stringify({ dir: repo }));
  },
);

test.each<[what: string, key: string, value: string]>([
  ["squash", "branch.main.mergeOptions", "--no-ff --squash"],
  ["a strategy that never fast-forwards", "branch.main.mergeOptions", "--strategy=ours"],
  ["a merge commit", "merge.ff", "false"],
])("a pull is a fast-forward, though the configuration wants %s", async (_, key, value) => {
  await using dir = await tempDir();
  const { repo, remote } = await withRemote(dir);
  await git(dir.root, "clone", "-q", remote, dir.path("other"));
  write(dir.path("other"), { "more.txt": "more\n" });
  await git(dir.path("other"), "add", "more.txt");
  await git(dir.path("other"), "commit", "-q", "-m", "More");
  await git(dir.path("other"), "push", "-q", "origin", "HEAD:main");
  await git(repo, "switch", "-q", "main");
  await git(repo, "config", key, value);
  const sha = await git(remote, "rev-parse", "main");
  expect(await guard("pull", {}, { cwd: repo })).toMatchObject({ headSha: sha, changed: true, commits: 1 });
  expect(await git(repo, "status", "--porcelain")).toBe("");
});

test("a new branch that a hook left again isn't said to be checked out", async () => {
  await using dir = await tempDir();
  const { repo } = await withRemote(dir);
  script(join(repo, ".git/hooks"), "post-checkout", '[ -n "$R" ] && exit 0; R=1 git switch -q main');
  expect(await guard("branch create", { name: "next" }, { cwd: repo })).toMatchObject({
    created: "next",
    switched: false,
    branch: "main",
  });
});
