/** Push, pull and finish against real remotes on disk. Forge clients are stand-ins on PATH that write down what they were asked. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeRepo, run as git, tempDir, tryRun, write, type TempDir } from "../kit/git.ts";
import { exampleIn, failure, guard, stateOf, type Result } from "../kit/guard.ts";

interface World {
  readonly repo: string;
  readonly remote: string;
  commit(path: string, message?: string): Promise<string>;
}

/** A repository on `main`, pushed to the bare `origin.git`, and the branch `topic`, checked out, one commit ahead. */
async function world(dir: TempDir): Promise<World> {
  const repo = await makeRepo(dir.path("repo"), { init: ["--initial-branch=main"] });
  const remote = dir.path("origin.git");
  await git(dir.root, "init", "-q", "--bare", "--initial-branch=main", remote);
  await git(repo, "remote", "add", "origin", remote);
  await git(repo, "push", "-q", "-u", "origin", "main");
  await git(repo, "switch", "-q", "-c", "topic");
  const commit = async (path: string, message = path): Promise<string> => {
    write(repo, { [path]: `${path}\n` });
    await git(repo, "add", path);
    await git(repo, "commit", "-q", "-m", message);
    return await git(repo, "rev-parse", "HEAD");
  };
  await commit("topic.txt", "Add a topic");
  return { repo, remote, commit };
}

async function refsOf(remote: string): Promise<string> {
  return await git(remote, "for-each-ref", "--format=%(refname) %(objectname)");
}

describe("push", () => {
  test("sends the branch to the branch of its name, and nothing else", async () => {
    await using dir = await tempDir();
    const { repo, remote } = await world(dir);
    await git(repo, "tag", "-a", "-m", "t", "v1");
    await git(repo, "branch", "private");
    for (const [key, value] of [["push.default", "matching"], ["push.followTags", "true"], ["push.autoSetupRemote", "true"], ["remote.origin.push", "+refs/heads/*:refs/heads/*"]] as const) await git(repo, "config", key, value);
    const before = await git(remote, "rev-parse", "main");
    const sha = await git(repo, "rev-parse", "topic");
    const config = readFileSync(join(repo, ".git/config"), "utf8");
    write(repo, { "topic.txt": "uncommitted\n" });
    const result = await guard("push", {}, { cwd: repo });
    expect(result).toMatchObject({ remote: "origin", ref: "refs/heads/topic", sha, remoteSha: sha, outcome: "created", repoPath: repo, branch: "topic", headSha: sha });
    expect(await refsOf(remote)).toBe(`refs/heads/main ${before}\nrefs/heads/topic ${sha}`);
    expect(readFileSync(join(repo, ".git/config"), "utf8")).toBe(config);
    expect(await guard("push", { branch: "topic" }, { cwd: repo })).toMatchObject({ outcome: "up-to-date", remoteSha: sha });
  });

  test("a branch and a tag of one name", async () => {
    await using dir = await tempDir();
    const { repo, remote } = await world(dir);
    await git(repo, "tag", "topic", "main");
    const sha = await git(repo, "rev-parse", "refs/heads/topic");
    expect(await guard("push", {}, { cwd: repo })).toMatchObject({ branch: "topic", remoteSha: sha });
    expect(await git(remote, "for-each-ref", "refs/tags")).toBe("");
  });

  const REFUSED: readonly [string, (world: World, dir: TempDir) => Promise<Result>, string, RegExp][] = [
    [
      "the remote has something newer",
      async ({ repo, remote }, dir) => {
        await git(dir.root, "clone", "-q", remote, dir.path("other"));
        write(dir.path("other"), { "o.txt": "o\n" });
        await git(dir.path("other"), "add", "-A");
        await git(dir.path("other"), "commit", "-q", "-m", "o");
        await git(dir.path("other"), "push", "-q", "origin", "HEAD:main");
        await git(repo, "switch", "-q", "main");
        await git(repo, "commit", "-q", "--allow-empty", "-m", "mine");
        return {};
      },
      "REJECTED",
      /has commits on "main" that aren't here/,
    ],
    [
      "a force refspec in the configuration forces nothing",
      async ({ repo }) => {
        await git(repo, "push", "-q", "origin", "topic");
        await git(repo, "commit", "-q", "--amend", "-m", "rewritten");
        await git(repo, "config", "remote.origin.push", "+refs/heads/*:refs/heads/*");
        return {};
      },
      "REJECTED",
      /has commits on "topic"/,
    ],
    ["a mirror", async ({ repo }) => (await git(repo, "config", "remote.origin.mirror", "true"), {}), "REFUSED", /configured as a mirror/],
    ["no remote", async ({ repo }) => (await git(repo, "remote", "remove", "origin"), {}), "NOT_FOUND", /has no remote/],
    ["a remote that is none", async () => ({ remote: "orgin" }), "NOT_FOUND", /"orgin" isn't a configured remote/],
    ["a remote that can't be reached", async ({ repo }, dir) => (await git(repo, "remote", "set-url", "origin", dir.path("gone.git")), {}), "NETWORK", /gone\.git/],
    ["a remote over ext::, whatever the configuration allows", async ({ repo }, dir) => (await git(repo, "remote", "set-url", "origin", `ext::sh -c touch% ${dir.path("evil")}`), await git(repo, "config", "protocol.ext.allow", "always"), {}), "REJECTED", /ext/],
    ["a hook of the remote's", async ({ remote }) => (hook(join(remote, "hooks"), "pre-receive", "echo no entry >&2; exit 1"), {}), "REJECTED", /no entry/],
    ["a hook of one's own", async ({ repo }) => (hook(join(repo, ".git/hooks"), "pre-push", "echo not today >&2; exit 1"), {}), "REJECTED", /not today/],
    ["a secret in a commit, even one that a later commit takes away", async ({ repo, commit }) => {
      write(repo, { "key.txt": `aws = "AKIA${"QYLPMN5HHHFPZAM2"}"\n` });
      await git(repo, "add", "key.txt");
      await git(repo, "commit", "-q", "-m", "oops");
      await git(repo, "rm", "-q", "key.txt");
      await git(repo, "commit", "-q", "-m", "gone");
      await commit("more.txt");
      return {};
    }, "REJECTED", /looks like secrets: "key\.txt":1/],
    ["a branch that isn't there", async () => ({ branch: "topc" }), "NOT_FOUND", /no branch "topc"/],
  ];
  for (const [name, given, code, message] of REFUSED) {
    test(`${name}: ${code}`, async () => {
      await using dir = await tempDir();
      const it = await world(dir);
      const input = await given(it, dir);
      const [refs, before] = [await refsOf(it.remote), stateOf(it.repo)];
      const facts = await failure(guard("push", input, { cwd: it.repo }));
      expect(facts.code as string).toBe(code);
      expect(facts.message).toMatch(message);
      expect(facts.message).not.toContain("QYLPMN5HHHFPZAM2");
      expect(await refsOf(it.remote)).toBe(refs);
      expect(stateOf(it.repo)).toEqual(before);
      expect(existsSync(dir.path("evil"))).toBe(false);
    });
  }

  describe("which remote", () => {
    const rows: readonly [string, readonly (readonly [string, string])[], string | null][] = [
      ["several, and none is the branch's: the call has to name it", [], null],
      ["branch.remote", [["branch.topic.remote", "fork"]], "fork"],
      ["remote.pushDefault before it", [["branch.topic.remote", "origin"], ["remote.pushDefault", "fork"]], "fork"],
      ["branch.pushRemote before that", [["remote.pushDefault", "origin"], ["branch.topic.pushRemote", "fork"]], "fork"],
      ["a branch that follows a local one has none", [["branch.topic.remote", "."]], null],
      ["a URL in the configuration is no remote's name", [["branch.topic.pushRemote", "/srv/other.git"]], null],
      ["a push URL that leads elsewhere", [["branch.topic.remote", "fork"], ["remote.fork.pushurl", "ELSEWHERE"]], null],
      ["pushInsteadOf that leads elsewhere", [["branch.topic.remote", "fork"], ["url.ELSEWHERE.pushInsteadOf", "FORK"]], null],
    ];
    for (const [name, config, remote] of rows) {
      test(name, async () => {
        await using dir = await tempDir();
        const { repo } = await world(dir);
        for (const bare of ["fork.git", "elsewhere.git"]) await git(dir.root, "init", "-q", "--bare", dir.path(bare));
        await git(repo, "remote", "add", "fork", dir.path("fork.git"));
        for (const [key, value] of config) {
          const real = (text: string): string => text.replace("ELSEWHERE", dir.path("elsewhere.git")).replace("FORK", dir.path("fork.git"));
          await git(repo, "config", real(key), real(value));
        }
        if (remote !== null) {
          expect(await guard("push", {}, { cwd: repo })).toMatchObject({ remote });
          return;
        }
        const facts = await failure(guard("push", {}, { cwd: repo }));
        expect(facts).toMatchObject({ code: "REFUSED", details: { missing: ["remote"], candidates: ["fork", "origin"] } });
        const { tool, arguments: args } = exampleIn(facts);
        expect(await guard(tool, args, { cwd: repo })).toMatchObject({ remote: "origin" });
        // Named, it goes where it is configured to go, and what the answer says was read there.
        expect(await guard("push", { remote: "fork" }, { cwd: repo })).toMatchObject({ remote: "fork", remoteSha: await git(repo, "rev-parse", "topic") });
      });
    }
  });
});

function hook(folder: string, name: string, script: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

describe("pull", () => {
  /** `main` checked out, and the remote's main a commit ahead, which changes `README.md` and adds `theirs.txt`. */
  async function behind(dir: TempDir): Promise<World> {
    const it = await world(dir);
    await git(it.repo, "switch", "-q", "main");
    await git(dir.root, "clone", "-q", it.remote, dir.path("other"));
    write(dir.path("other"), { "README.md": "theirs\n", "theirs.txt": "t\n" });
    await git(dir.path("other"), "add", "-A");
    await git(dir.path("other"), "commit", "-q", "-m", "theirs");
    await git(dir.path("other"), "push", "-q", "origin", "main");
    return it;
  }

  test("fast-forwards, keeps other work, and leaves no ref of its own", async () => {
    await using dir = await tempDir();
    const { repo, remote } = await behind(dir);
    for (const [key, value] of [["pull.rebase", "true"], ["rebase.autoStash", "true"], ["merge.ff", "false"], ["merge.verifySignatures", "true"], ["fetch.prune", "true"]] as const) await git(repo, "config", key, value);
    write(repo, { "mine.txt": "m\n" });
    await git(repo, "add", "mine.txt");
    const before = await git(repo, "rev-parse", "HEAD");
    const sha = await git(remote, "rev-parse", "main");
    expect(await guard("pull", {}, { cwd: repo })).toMatchObject({ changed: true, commits: 1, before, headSha: sha, branch: "main", ref: "refs/heads/main" });
    expect(await git(repo, "rev-parse", "refs/remotes/origin/main")).toBe(sha);
    expect(await git(repo, "for-each-ref", "refs/dotbot")).toBe("");
    expect((await tryRun(repo, ["status", "--short"])).stdout).toBe("A  mine.txt\n");
    expect(await guard("pull", {}, { cwd: repo })).toMatchObject({ changed: false, commits: 0, headSha: sha });
  });

  test("a branch that follows none has to name one", async () => {
    await using dir = await tempDir();
    const { repo, remote } = await behind(dir);
    await git(repo, "config", "--unset", "branch.main.merge");
    const facts = await failure(guard("pull", {}, { cwd: repo }));
    expect(facts).toMatchObject({ code: "REFUSED", details: { missing: ["branch"], example: { arguments: { branch: "main" } } } });
    expect(await guard("pull", exampleIn(facts).arguments, { cwd: repo })).toMatchObject({ headSha: await git(remote, "rev-parse", "main") });
  });

  const REFUSED: readonly [string, (world: World) => Promise<Result>, string, RegExp][] = [
    ["diverged", async ({ commit }) => (await commit("mine.txt"), {}), "REFUSED", /have diverged, 1 and 1 commits/],
    ["a changed file in the way", async ({ repo }) => (write(repo, { "README.md": "mine\n" }), {}), "DIRTY", /would overwrite "README\.md"/],
    ["an untracked file in the way", async ({ repo }) => (write(repo, { "theirs.txt": "mine\n" }), {}), "DIRTY", /would overwrite "theirs\.txt"/],
    [
      "an ignored file in the way",
      async ({ repo }) => {
        writeFileSync(join(repo, ".git/info/exclude"), "theirs.txt\n");
        write(repo, { "theirs.txt": "mine\n" });
        return {};
      },
      "DIRTY",
      /would overwrite "theirs\.txt"/,
    ],
    ["a branch that the remote hasn't", async () => ({ branch: "nope" }), "NOT_FOUND", /"origin" has no branch "nope"/],
  ];
  for (const [name, given, code, message] of REFUSED) {
    test(`${name}: ${code}, nothing checked out changes`, async () => {
      await using dir = await tempDir();
      const it = await behind(dir);
      const input = await given(it);
      const look = async (): Promise<Result> => ({ tree: stateOf(it.repo)["tree"], head: await git(it.repo, "rev-parse", "HEAD"), stash: await git(it.repo, "stash", "list"), status: (await tryRun(it.repo, ["status", "--short"])).stdout });
      const before = await look();
      const facts = await failure(guard("pull", input, { cwd: it.repo }));
      expect(facts.code as string).toBe(code);
      expect(facts.message).toMatch(message);
      expect(await look()).toEqual(before);
    });
  }

  test("a fetch refspec that would overwrite local branches overwrites none", async () => {
    await using dir = await tempDir();
    const { repo, commit } = await behind(dir);
    await git(repo, "switch", "-q", "-c", "feature");
    await commit("f.txt");
    await git(repo, "push", "-q", "origin", "feature");
    const mine = await commit("unpushed.txt");
    await git(repo, "switch", "-q", "main");
    await git(repo, "config", "remote.origin.fetch", "+refs/*:refs/*");
    await guard("pull", {}, { cwd: repo });
    expect(await git(repo, "rev-parse", "feature")).toBe(mine);
  });
});

// ── finish ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A client that writes its arguments and stdin down, and answers as told. */
function standIn(dir: TempDir, name: string, answer: string): Readonly<Record<string, string>> {
  const bin = dir.path("bin");
  hook(bin, name, `for a in "$@"; do printf '%s\\0' "$a"; done > ${dir.path(`${name}.args`)}\ncat > ${dir.path(`${name}.stdin`)}\n${answer}`);
  return { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
}

const asked = (dir: TempDir, name: string): string[] => readFileSync(dir.path(`${name}.args`), "utf8").split("\0").slice(0, -1);

/** The remote is a bare repository on disk behind the URL of a forge: pushes go there, and its name stays the forge's. */
async function onForge(dir: TempDir, { repo, remote }: World, url: string): Promise<Readonly<Record<string, string>>> {
  await git(repo, "remote", "set-url", "origin", url);
  // A rewrite would show in the identity; a program in place of ssh doesn't.
  hook(dir.path("ssh-bin"), "ssh", `for last; do :; done\nexec sh -c "$(printf '%s' "$last" | sed "s#'.*'#'${remote}'#")"`);
  return { GIT_SSH: dir.path("ssh-bin/ssh"), GIT_SSH_VARIANT: "simple" };
}

describe("finish", () => {
  test("pushes, and opens the request with gh", async () => {
    await using dir = await tempDir();
    const it = await world(dir);
    const env = { ...(await onForge(dir, it, "git@github.com:o/r.git")), ...standIn(dir, "gh", "echo https://github.com/o/r/pull/5") };
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
    expect(asked(dir, "gh")).toEqual(["pr", "create", "--repo=github.com/o/r", "--head=topic", "--base=main", "--title=Add a topic", "--body-file=-"]);
    expect(readFileSync(dir.path("gh.stdin"), "utf8")).toBe("Closes #3\nCloses #12");
  });

  test("… or with glab", async () => {
    await using dir = await tempDir();
    const it = await world(dir);
    const env = { ...(await onForge(dir, it, "git@gitlab.com:g/sub/r.git")), ...standIn(dir, "glab", "echo '!7 Add a topic'; echo https://gitlab.com/g/sub/r/-/merge_requests/7") };
    expect(await guard("finish", { title: "A title; rm -rf /" }, { cwd: it.repo, env })).toMatchObject({ request: { url: "https://gitlab.com/g/sub/r/-/merge_requests/7", by: "glab" } });
    expect(asked(dir, "glab")).toEqual(["mr", "create", "--repo=https://gitlab.com/g/sub/r", "--source-branch=topic", "--target-branch=main", "--title=A title; rm -rf /", "--description=", "--yes"]);
  });

  test("a request that is open already is told", async () => {
    await using dir = await tempDir();
    const it = await world(dir);
    const env = { ...(await onForge(dir, it, "git@github.com:o/r.git")), ...standIn(dir, "gh", "echo 'a pull request for branch topic already exists:' >&2; echo https://github.com/o/r/pull/4 >&2; exit 1") };
    expect(await guard("finish", {}, { cwd: it.repo, env })).toMatchObject({ request: { url: "https://github.com/o/r/pull/4", existed: true } });
  });

  test("a client that fails: what was pushed is said, and where to go on", async () => {
    await using dir = await tempDir();
    const it = await world(dir);
    const env = { ...(await onForge(dir, it, "git@github.com:o/r.git")), ...standIn(dir, "gh", "echo 'authentication required' >&2; exit 4") };
    const facts = await failure(guard("finish", {}, { cwd: it.repo, env }));
    expect(facts).toMatchObject({ code: "NETWORK", details: { pushed: { ref: "refs/heads/topic" }, compareUrl: "https://github.com/o/r/compare/main...topic?expand=1" } });
    expect(facts.message).toContain("topic was pushed, and no pull request opened: gh didn't open the request: authentication required");
  });

  test("without a client: the address", async () => {
    await using dir = await tempDir();
    const it = await world(dir);
    const tools = dir.path("tools");
    mkdirSync(tools);
    const env = { ...(await onForge(dir, it, "git@github.com:o/r.git")) };
    const result = await guard("finish", {}, { cwd: it.repo, env: { ...env, ...(Bun.which("gh") === null ? {} : { PATH: "/usr/bin:/bin" }) } });
    expect(result).toMatchObject({ request: null, compareUrl: "https://github.com/o/r/compare/main...topic?expand=1" });
  });

  const REFUSED: readonly [string, (world: World) => Promise<Result>, string, RegExp][] = [
    ["the default branch", async () => ({ branch: "main" }), "REFUSED", /the branch that others are meant for/],
    ["a branch without commits of its own", async ({ repo }) => (await git(repo, "branch", "empty", "main"), { branch: "empty" }), "REFUSED", /no commit that "main" hasn't/],
    ["a branch that isn't there", async () => ({ branch: "tpic" }), "NOT_FOUND", /no branch "tpic"/],
    ["uncommitted work in its checkout", async ({ repo }) => (write(repo, { "topic.txt": "more\n" }), {}), "DIRTY", /would be left out: "topic\.txt"/],
    ["no_close beside closes", async () => ({ no_close: true, closes: [1] }), "REFUSED", /no_close and closes are both given/],
    ["a task's branch that changes the queue", async ({ repo, commit }) => (await git(repo, "switch", "-q", "-c", "task/12345678-x"), await commit(".bot/workspace/tasks/todo/x.json"), {}), "REFUSED", /"\.bot\/workspace\/tasks\/todo\/x\.json"/],
  ];
  for (const [name, given, code, message] of REFUSED) {
    test(`${name}: ${code}`, async () => {
      await using dir = await tempDir();
      const it = await world(dir);
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
    const it = await world(dir);
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
    expect(await guard("branch delete", { name: "topic" }, { cwd: it.repo })).toMatchObject({ because: "completed", base: "main" });
  });

  test("a conflict lands nothing, and names the files", async () => {
    await using dir = await tempDir();
    const it = await world(dir);
    await git(it.repo, "switch", "-q", "main");
    await it.commit("topic.txt");
    write(it.repo, { "topic.txt": "other\n" });
    await git(it.repo, "commit", "-q", "-am", "other");
    await git(it.repo, "switch", "-q", "topic");
    const before = stateOf(it.repo)["tree"];
    const main = await git(it.repo, "rev-parse", "main");
    await git(it.repo, "push", "-q", "origin", "main");
    expect(await failure(guard("finish", { merge: true }, { cwd: it.repo }))).toMatchObject({ code: "MERGE_CONFLICT", details: { files: ["topic.txt"] } });
    expect(await git(it.repo, "rev-parse", "main")).toBe(main);
    expect(stateOf(it.repo)["tree"]).toEqual(before);
  });

  test("merge is nothing to be done in another's repository", async () => {
    await using dir = await tempDir();
    const it = await world(dir);
    const home = await makeRepo(dir.path("home"));
    const before = stateOf(it.repo);
    expect(await failure(guard("finish", { merge: true, branch: "topic", dir: it.repo }, { cwd: home }))).toMatchObject({ code: "REFUSED", details: { mismatched: ["merge"] } });
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
    ["merged at the remote alone", async ({ repo }) => (await git(repo, "push", "-q", "origin", "topic:main"), await git(repo, "switch", "-q", "main"), "topic"), "ancestor"],
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
    ["merged to its own upstream alone", async ({ repo }) => (await git(repo, "push", "-q", "-u", "origin", "topic"), await git(repo, "switch", "-q", "main"), "topic"), /UNMERGED/],
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
      const it = await world(dir);
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

test("a network that answers nothing is waited for, and not for ever", async () => {
  await using dir = await tempDir();
  const it = await world(dir);
  hook(dir.path("bin"), "ssh", "exec sleep 600");
  await git(it.repo, "remote", "set-url", "origin", "git@forge.example:o/r.git");
  const stop = new AbortController();
  const call = guard("push", {}, { cwd: it.repo, env: { GIT_SSH: dir.path("bin/ssh"), GIT_SSH_VARIANT: "simple" }, signal: stop.signal });
  setTimeout(() => stop.abort(new Error("enough")), 300);
  expect(await call.then(() => "done", (error: unknown) => (error instanceof Error ? error.message : ""))).toBe("enough");
});
