/** Push and pull against real remotes on disk. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run as git, tempDir, tryRun, write, type TempDir } from "../kit/git.ts";
import { exampleIn, failure, guard, stateOf, type Result } from "../kit/guard.ts";
import { refsOf, script, withRemote, type World } from "../kit/repositories.ts";

/** In two pieces, so that this file isn't taken for one that holds a key. */
const KEY = ["AKIA", "QYLPMN5HHHFPZAM2"].join("");

describe("push", () => {
  test("sends the branch to the branch of its name, and nothing else", async () => {
    await using dir = await tempDir();
    const { repo, remote } = await withRemote(dir);
    await git(repo, "tag", "-a", "-m", "t", "v1");
    await git(repo, "branch", "private");
    for (const [key, value] of [
      ["push.default", "matching"],
      ["push.followTags", "true"],
      ["push.autoSetupRemote", "true"],
      ["remote.origin.push", "+refs/heads/*:refs/heads/*"],
    ] as const)
      await git(repo, "config", key, value);
    const before = await git(remote, "rev-parse", "main");
    const sha = await git(repo, "rev-parse", "topic");
    const config = readFileSync(join(repo, ".git/config"), "utf8");
    write(repo, { "topic.txt": "uncommitted\n" });
    const result = await guard("push", {}, { cwd: repo });
    expect(result).toMatchObject({
      remote: "origin",
      ref: "refs/heads/topic",
      sha,
      remoteSha: sha,
      outcome: "created",
      repoPath: repo,
      branch: "topic",
      headSha: sha,
    });
    expect(await refsOf(remote)).toBe(`refs/heads/main ${before}\nrefs/heads/topic ${sha}`);
    expect(readFileSync(join(repo, ".git/config"), "utf8")).toBe(config);
    expect(await guard("push", { branch: "topic" }, { cwd: repo })).toMatchObject({
      outcome: "up-to-date",
      remoteSha: sha,
    });
  });

  test("a branch and a tag of one name", async () => {
    await using dir = await tempDir();
    const { repo, remote } = await withRemote(dir);
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
    [
      "a mirror",
      async ({ repo }) => (await git(repo, "config", "remote.origin.mirror", "true"), {}),
      "REFUSED",
      /configured as a mirror/,
    ],
    [
      "no remote",
      async ({ repo }) => (await git(repo, "remote", "remove", "origin"), {}),
      "NOT_FOUND",
      /has no remote/,
    ],
    ["a remote that is none", async () => ({ remote: "orgin" }), "NOT_FOUND", /"orgin" isn't a configured remote/],
    [
      "a remote that can't be reached",
      async ({ repo }, dir) => (await git(repo, "remote", "set-url", "origin", dir.path("gone.git")), {}),
      "NETWORK",
      /gone\.git/,
    ],
    [
      "a remote over ext::, whatever the configuration allows",
      async ({ repo }, dir) => (
        await git(repo, "remote", "set-url", "origin", `ext::sh -c touch% ${dir.path("evil")}`),
        await git(repo, "config", "protocol.ext.allow", "always"),
        {}
      ),
      "REJECTED",
      /ext/,
    ],
    [
      "a hook of the remote's",
      async ({ remote }) => (script(join(remote, "hooks"), "pre-receive", "echo no entry >&2; exit 1"), {}),
      "REJECTED",
      /no entry/,
    ],
    [
      "a hook of one's own",
      async ({ repo }) => (script(join(repo, ".git/hooks"), "pre-push", "echo not today >&2; exit 1"), {}),
      "REJECTED",
      /not today/,
    ],
    [
      "a secret in a commit, even one that a later commit takes away",
      async ({ repo, commit }) => {
        write(repo, { "key.txt": `aws = "${KEY}"\n` });
        await git(repo, "add", "key.txt");
        await git(repo, "commit", "-q", "-m", "oops");
        await git(repo, "rm", "-q", "key.txt");
        await git(repo, "commit", "-q", "-m", "gone");
        await commit("more.txt");
        return {};
      },
      "REJECTED",
      /looks like secrets: "key\.txt":1/,
    ],
    ["a branch that isn't there", async () => ({ branch: "topc" }), "NOT_FOUND", /no branch "topc"/],
  ];
  for (const [name, given, code, message] of REFUSED) {
    test(`${name}: ${code}`, async () => {
      await using dir = await tempDir();
      const it = await withRemote(dir);
      const input = await given(it, dir);
      const [refs, before] = [await refsOf(it.remote), stateOf(it.repo)];
      const facts = await failure(guard("push", input, { cwd: it.repo }));
      expect(facts.code as string).toBe(code);
      expect(facts.message).toMatch(message);
      expect(facts.message).not.toContain(KEY);
      expect(await refsOf(it.remote)).toBe(refs);
      expect(stateOf(it.repo)).toEqual(before);
      expect(existsSync(dir.path("evil"))).toBe(false);
    });
  }

  describe("which remote", () => {
    const rows: readonly [string, readonly (readonly [string, string])[], string | null][] = [
      ["several, and none is the branch's: the call has to name it", [], null],
      ["branch.remote", [["branch.topic.remote", "fork"]], "fork"],
      [
        "remote.pushDefault before it",
        [
          ["branch.topic.remote", "origin"],
          ["remote.pushDefault", "fork"],
        ],
        "fork",
      ],
      [
        "branch.pushRemote before that",
        [
          ["remote.pushDefault", "origin"],
          ["branch.topic.pushRemote", "fork"],
        ],
        "fork",
      ],
      ["a branch that follows a local one has none", [["branch.topic.remote", "."]], null],
      ["a URL in the configuration is no remote's name", [["branch.topic.pushRemote", "/srv/other.git"]], null],
      [
        "a push URL that leads elsewhere",
        [
          ["branch.topic.remote", "fork"],
          ["remote.fork.pushurl", "ELSEWHERE"],
        ],
        null,
      ],
      [
        "pushInsteadOf that leads elsewhere",
        [
          ["branch.topic.remote", "fork"],
          ["url.ELSEWHERE.pushInsteadOf", "FORK"],
        ],
        null,
      ],
    ];
    for (const [name, config, remote] of rows) {
      test(name, async () => {
        await using dir = await tempDir();
        const { repo } = await withRemote(dir);
        for (const bare of ["fork.git", "elsewhere.git"]) await git(dir.root, "init", "-q", "--bare", dir.path(bare));
        await git(repo, "remote", "add", "fork", dir.path("fork.git"));
        for (const [key, value] of config) {
          const real = (text: string): string =>
            text.replace("ELSEWHERE", dir.path("elsewhere.git")).replace("FORK", dir.path("fork.git"));
          await git(repo, "config", real(key), real(value));
        }
        if (remote !== null) {
          expect(await guard("push", {}, { cwd: repo })).toMatchObject({ remote });
          return;
        }
        const facts = await failure(guard("push", {}, { cwd: repo }));
        expect(facts).toMatchObject({
          code: "REFUSED",
          details: { missing: ["remote"], candidates: ["fork", "origin"] },
        });
        const { tool, arguments: args } = exampleIn(facts);
        expect(await guard(tool, args, { cwd: repo })).toMatchObject({ remote: "origin" });
        // Named, it goes where it is configured to go, and what the answer says was read there.
        expect(await guard("push", { remote: "fork" }, { cwd: repo })).toMatchObject({
          remote: "fork",
          remoteSha: await git(repo, "rev-parse", "topic"),
        });
      });
    }
  });
});

describe("pull", () => {
  /** `main` checked out, and the remote's main a commit ahead, which changes `README.md` and adds `theirs.txt`. */
  async function behind(dir: TempDir): Promise<World> {
    const it = await withRemote(dir);
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
    for (const [key, value] of [
      ["pull.rebase", "true"],
      ["rebase.autoStash", "true"],
      ["merge.ff", "false"],
      ["merge.verifySignatures", "true"],
      ["fetch.prune", "true"],
    ] as const)
      await git(repo, "config", key, value);
    write(repo, { "mine.txt": "m\n" });
    await git(repo, "add", "mine.txt");
    const before = await git(repo, "rev-parse", "HEAD");
    const sha = await git(remote, "rev-parse", "main");
    expect(await guard("pull", {}, { cwd: repo })).toMatchObject({
      changed: true,
      commits: 1,
      before,
      headSha: sha,
      branch: "main",
      ref: "refs/heads/main",
    });
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
    expect(facts).toMatchObject({
      code: "REFUSED",
      details: { missing: ["branch"], example: { arguments: { branch: "main" } } },
    });
    expect(await guard("pull", exampleIn(facts).arguments, { cwd: repo })).toMatchObject({
      headSha: await git(remote, "rev-parse", "main"),
    });
  });

  const REFUSED: readonly [string, (world: World) => Promise<Result>, string, RegExp][] = [
    ["diverged", async ({ commit }) => (await commit("mine.txt"), {}), "REFUSED", /have diverged, 1 and 1 commits/],
    [
      "a changed file in the way",
      async ({ repo }) => (write(repo, { "README.md": "mine\n" }), {}),
      "DIRTY",
      /would overwrite "README\.md"/,
    ],
    [
      "an untracked file in the way",
      async ({ repo }) => (write(repo, { "theirs.txt": "mine\n" }), {}),
      "DIRTY",
      /would overwrite "theirs\.txt"/,
    ],
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
      const look = async (): Promise<Result> => ({
        tree: stateOf(it.repo)["tree"],
        head: await git(it.repo, "rev-parse", "HEAD"),
        stash: await git(it.repo, "stash", "list"),
        status: (await tryRun(it.repo, ["status", "--short"])).stdout,
      });
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

test("a call that its caller gives up ends, with its children, however silent the network", async () => {
  await using dir = await tempDir();
  const it = await withRemote(dir);
  const started = dir.path("started");
  mkdirSync(started);
  script(dir.path("bin"), "ssh", `touch ${started}/now; exec sleep 600`);
  await git(it.repo, "remote", "set-url", "origin", "git@forge.example:o/r.git");
  const stop = new AbortController();
  const watcher = watch(started, () => stop.abort(new Error("enough")));
  const call = guard(
    "push",
    {},
    { cwd: it.repo, env: { GIT_SSH: dir.path("bin/ssh"), GIT_SSH_VARIANT: "simple" }, signal: stop.signal },
  );
  expect(
    await call.then(
      () => "done",
      (error: unknown) => (error instanceof Error ? error.message : ""),
    ),
  ).toBe("enough");
  watcher.close();
});
