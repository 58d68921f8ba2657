/** Finish and branch delete against real remotes on disk. Forge clients are stand-ins on PATH that write down what they were asked. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import { makeRepo, run as git, tempDir, tryRun, write, type TempDir } from "../kit/git.ts";
import { failure, guard, stateOf, type Result } from "../kit/guard.ts";
import { refsOf, script, withRemote, type World } from "../kit/repositories.ts";

/** A client that writes its arguments and stdin down, and answers as told. */
function standIn(dir: TempDir, name: string, answer: string): Readonly<Record<string, string>> {
  const bin = dir.path("bin");
  script(
    bin,
    name,
    `for a in "$@"; do printf '%s\\0' "$a"; done > ${dir.path(`${name}.args`)}\ncat > ${dir.path(`${name}.stdin`)}\n${answer}`,
  );
  return { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
}

const asked = (dir: TempDir, name: string): string[] =>
  readFileSync(dir.path(`${name}.args`), "utf8")
    .split("\0")
    .slice(0, -1);

/** The remote is a bare repository on disk behind the URL of a forge: pushes go there, and its name stays the forge's. */
async function onForge(dir: TempDir, { repo, remote }: World, url: string): Promise<Readonly<Record<string, string>>> {
  await git(repo, "remote", "set-url", "origin", url);
  // A rewrite would show in the identity; a program in place of ssh doesn't.
  script(
    dir.path("ssh-bin"),
    "ssh",
    `for last; do :; done\nexec sh -c "$(printf '%s' "$last" | sed "s#'.*'#'${remote}'#")"`,
  );
  return { GIT_SSH: dir.path("ssh-bin/ssh"), GIT_SSH_VARIANT: "simple" };
}

describe("finish", () => {
  test("pushes, and opens the request with gh", async () => {
    await using dir = await tempDir();
    const it = await withRemote(dir);
    const env = {
      ...(await onForge(dir, it, "git@github.com:o/r.git")),
      ...standIn(dir, "gh", "echo https://github.com/o/r/pull/5"),
    };
    const result = await guard("finish", { closes: [12, 3] }, { cwd: it.repo, env });
    expect(result).toMatchObject({
      finished: "topic",
      base: "main",
      commits: 1,
      closes: [3, 12],
      notClosed: [],
      push: { outcome: "created", remoteSha: await git(it.repo, "rev-parse", "topic"), pushedTo: ["o/r"] },
      request: { url: "https://github.com/o/r/pull/5", by: "gh", existed: false },
      compareUrl: "https://github.com/o/r/compare/main...topic?expand=1",
    });
    expect(asked(dir, "gh")).toEqual([
      "pr",
      "create",
      "--repo=github.com/o/r",
      "--head=topic",
      "--base=main",
      "--title=Add a topic",
      "--body-file=-",
    ]);
    expect(readFileSync(dir.path("gh.stdin"), "utf8")).toBe("Closes #3\nCloses #12");
  });

  test("… or with glab", async () => {
    await using dir = await tempDir();
    const it = await withRemote(dir);
    const env = {
      ...(await onForge(dir, it, "git@gitlab.com:g/sub/r.git")),
      ...standIn(dir, "glab", "echo '!7 Add a topic'; echo https://gitlab.com/g/sub/r/-/merge_requests/7"),
    };
    expect(await guard("finish", { title: "A title; rm -rf /" }, { cwd: it.repo, env })).toMatchObject({
      request: { url: "https://gitlab.com/g/sub/r/-/merge_requests/7", by: "glab" },
    });
    expect(asked(dir, "glab")).toEqual([
      "mr",
      "create",
      "--repo=https://gitlab.com/g/sub/r",
      "--source-branch=topic",
      "--target-branch=main",
      "--title=A title; rm -rf /",
      "--description=",
      "--yes",
    ]);
  });

  test("a request that is open already is told", async () => {
    await using dir = await tempDir();
    const it = await withRemote(dir);
    const env = {
      ...(await onForge(dir, it, "git@github.com:o/r.git")),
      ...standIn(
        dir,
        "gh",
        "echo 'a pull request for branch topic already exists:' >&2; echo https://github.com/o/r/pull/4 >&2; exit 1",
      ),
    };
    expect(await guard("finish", {}, { cwd: it.repo, env })).toMatchObject({
      request: { url: "https://github.com/o/r/pull/4", existed: true },
    });
  });

  test("a client that fails: what was pushed is said, and where to go on", async () => {
    await using dir = await tempDir();
    const it = await withRemote(dir);
    const env = {
      ...(await onForge(dir, it, "git@github.com:o/r.git")),
      ...standIn(dir, "gh", "echo 'authentication required' >&2; exit 4"),
    };
    const facts = await failure(guard("finish", {}, { cwd: it.repo, env }));
    expect(facts).toMatchObject({
      code: "NETWORK",
      details: {
        pushed: { ref: "refs/heads/topic" },
        compareUrl: "https://github.com/o/r/compare/main...topic?expand=1",
      },
    });
    expect(facts.message).toContain(
      "topic was pushed, and no pull request opened: gh didn't open the request: authentication required",
    );
  });

  test("without a client: the address", async () => {
    await using dir = await tempDir();
    const it = await withRemote(dir);
    const env = { ...(await onForge(dir, it, "git@github.com:o/r.git")) };
    const result = await guard(
      "finish",
      {},
      { cwd: it.repo, env: { ...env, ...(Bun.which("gh") === null ? {} : { PATH: "/usr/bin:/bin" }) } },
    );
    expect(result).toMatchObject({ request: null, compareUrl: "https://github.com/o/r/compare/main...topic?expand=1" });
  });

  const REFUSED: readonly [string, (world: World) => Promise<Result>, string, RegExp][] = [
    ["the default branch", async () => ({ branch: "main" }), "REFUSED", /the branch that others are meant for/],
    [
      "a branch without commits of its own",
      async ({ repo }) => (await git(repo, "branch", "empty", "main"), { branch: "empty" }),
      "REFUSED",
      /no commit that "main" hasn't/,
    ],
    ["a branch that isn't there", async () => ({ branch: "tpic" }), "NOT_FOUND", /no branch "tpic"/],
    [
      "uncommitted work in its checkout",
      async ({ repo }) => (write(repo, { "topic.txt": "more\n" }), {}),
      "DIRTY",
      /would be left out: "topic\.txt"/,
    ],
    [
      "no_close beside closes",
      async () => ({ no_close: true, closes: [1] }),
      "REFUSED",
      /no_close and closes are both given/,
    ],
    [
      "a task's branch that changes the queue",
      async ({ repo, commit }) => (
        await git(repo, "switch", "-q", "-c", "task/12345678-x"),
        await commit(".bot/workspace/tasks/todo/x.json"),
        {}
      ),
      "REFUSED",
      /"\.bot\/workspace\/tasks\/todo\/x\.json"/,
    ],
  ];
  for (const [name, given, code, message] of REFUSED) {
    test(`${name}: ${code}`, async () => {
      await using dir = await tempDir();
      const it = await withRemote(dir);
      const input = await given(it);
      const [refs, before] = [await refsOf(it.remote), stateOf(it.repo)];
      const facts = await failure(guard("finish", input, { cwd: it.repo }));
      expect(facts.code as string).toBe(code);
      expect(facts.message).toMatch(message);
      expect(await refsOf(it.remote)).toBe(refs);
      expect(stateOf(it.repo)).toEqual(before);
    });
  }

  test("lands here as one commit, with merge", async () => {
    await using dir = await tempDir();
    const it = await withRemote(dir);
    await it.commit("second.txt");
    const [refs, main] = [await refsOf(it.remote), await git(it.repo, "rev-parse", "main")];
    const result = await guard("finish", { merge: true, closes: [4] }, { cwd: it.repo });
    const landed = await git(it.repo, "rev-parse", "main");
    expect(result).toMatchObject({ landed, push: null, request: null, branch: "topic" });
    expect(await git(it.repo, "rev-list", "--parents", "-n1", "main")).toBe(`${landed} ${main}`);
    expect(await git(it.repo, "log", "-1", "--format=%B", "main")).toBe("Add a topic\n\nCloses #4\n");
    expect(await git(it.repo, "diff", "main", "topic")).toBe("");
    expect(await refsOf(it.remote)).toBe(refs);
    // Recorded as completed, the branch may go.
    await git(it.repo, "switch", "-q", "main");
    expect(await guard("branch delete", { name: "topic" }, { cwd: it.repo })).toMatchObject({
      because: "completed",
      base: "main",
    });
  });

  test("a conflict lands nothing, and names the files", async () => {
    await using dir = await tempDir();
    const it = await withRemote(dir);
    await git(it.repo, "switch", "-q", "main");
    await it.commit("topic.txt");
    write(it.repo, { "topic.txt": "other\n" });
    await git(it.repo, "commit", "-q", "-am", "other");
    await git(it.repo, "switch", "-q", "topic");
    const before = stateOf(it.repo)["tree"];
    const main = await git(it.repo, "rev-parse", "main");
    await git(it.repo, "push", "-q", "origin", "main");
    expect(await failure(guard("finish", { merge: true }, { cwd: it.repo }))).toMatchObject({
      code: "MERGE_CONFLICT",
      details: { files: ["topic.txt"] },
    });
    expect(await git(it.repo, "rev-parse", "main")).toBe(main);
    expect(stateOf(it.repo)["tree"]).toEqual(before);
  });

  test("merge is nothing to be done in another's repository", async () => {
    await using dir = await tempDir();
    const it = await withRemote(dir);
    const home = await makeRepo(dir.path("home"));
    const before = stateOf(it.repo);
    expect(await failure(guard("finish", { merge: true, branch: "topic", dir: it.repo }, { cwd: home }))).toMatchObject(
      { code: "REFUSED", details: { mismatched: ["merge"] } },
    );
    expect(stateOf(it.repo)).toEqual(before);
  });
});

describe("branch delete", () => {
  const rows: readonly [string, (world: World) => Promise<string>, string | RegExp][] = [
    ["merged", async ({ repo }) => (await git(repo, "branch", "old", "main"), "old"), "ancestor"],
    [
      "squashed: it adds nothing",
      async ({ repo }) => {
        await git(repo, "switch", "-q", "main");
        await git(repo, "merge", "-q", "--squash", "topic");
        await git(repo, "commit", "-q", "-m", "squashed");
        return "topic";
      },
      "adds-nothing",
    ],
    [
      "merged at the remote alone",
      async ({ repo }) => (
        await git(repo, "push", "-q", "origin", "topic:main"),
        await git(repo, "switch", "-q", "main"),
        "topic"
      ),
      "ancestor",
    ],
    [
      "squashed and reverted: its work isn't there",
      async ({ repo }) => {
        await git(repo, "switch", "-q", "main");
        await git(repo, "merge", "-q", "--squash", "topic");
        await git(repo, "commit", "-q", "-m", "squashed");
        await git(repo, "revert", "--no-edit", "HEAD");
        return "topic";
      },
      /UNMERGED.*has commits that "main" hasn't/,
    ],
    [
      "merged to its own upstream alone",
      async ({ repo }) => (
        await git(repo, "push", "-q", "-u", "origin", "topic"),
        await git(repo, "switch", "-q", "main"),
        "topic"
      ),
      /UNMERGED/,
    ],
    ["the default branch", async () => "main", /REFUSED.*default branch/],
    ["checked out", async () => "topic", /REFUSED.*checked out/],
    [
      "being rebased",
      async ({ repo, commit }) => {
        await git(repo, "switch", "-q", "-c", "rebasing", "main");
        await commit("topic.txt", "the same file");
        await tryRun(repo, ["rebase", "topic"]);
        write(repo, { "topic.txt": "conflict\n" });
        await tryRun(repo, ["rebase", "--edit-todo"]);
        return "rebasing";
      },
      /being rebased|UNMERGED/,
    ],
    ["not there", async () => "tpic", /NOT_FOUND/],
  ];
  for (const [name, given, expected] of rows) {
    test(name, async () => {
      await using dir = await tempDir();
      const it = await withRemote(dir);
      const branch = await given(it);
      await git(it.repo, "config", `branch.${branch}.description`, "about it");
      const before = stateOf(it.repo);
      const call = guard("branch delete", { name: branch }, { cwd: it.repo });
      if (expected instanceof RegExp) {
        const facts = await failure(call);
        expect(`${facts.code} ${facts.message}`).toMatch(expected);
        expect(stateOf(it.repo)).toEqual(before);
        return;
      }
      const result = await call;
      expect(result).toMatchObject({ deleted: branch, because: expected });
      expect(await git(it.repo, "rev-parse", String(result["keptAs"]))).toBe(String(result["deletedSha"]));
      expect((await tryRun(it.repo, ["config", "--get", `branch.${branch}.description`])).status).toBe(1);
      expect(stateOf(it.repo)["tree"]).toEqual(before["tree"]);
    });
  }
});
