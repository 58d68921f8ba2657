/** Checkouts: what was asked for is there and proven, or the tree is where it was. Remotes are bare repositories on disk. */
import { beforeAll, afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeRepo, run as git, tempDir, tryRun, write, type TempDir } from "../kit/git.ts";
import { exampleIn, failure, guard, server, stateOf, transplant, type Result } from "../kit/guard.ts";

/**
 * `a` on main with six specs, and `b`, its linked worktree on `work`; their remote has the branch `feature`, which isn't here,
 * pull request 9 with nine specs, and merge request 4.
 */
let template: TempDir;
beforeAll(async () => {
  template = await tempDir();
  const dir = template;
  const specs = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`specs/${i + 1}.spec`, "ok\n"]));
  const a = await makeRepo(dir.path("a"), { files: specs(6), init: ["--template=", "--initial-branch=main"] });
  await git(dir.root, "init", "-q", "--bare", "--template=", "forge.git");
  await git(a, "remote", "add", "origin", dir.path("forge.git"));
  await git(a, "push", "-q", "origin", "main");
  for (const [branch, ref] of [
    ["nine", "refs/pull/9/head"],
    ["four", "refs/merge-requests/4/head"],
    ["feature", "refs/heads/feature"],
  ] as const) {
    await git(a, "switch", "-q", "-c", branch, "main");
    write(a, branch === "nine" ? specs(9) : { [`${branch}.txt`]: "x\n" });
    await git(a, "add", "-A");
    await git(a, "commit", "-q", "-m", branch);
    await git(a, "push", "-q", "origin", `HEAD:${ref}`);
    await git(a, "switch", "-q", "main");
    await git(a, "branch", "-q", "-D", branch);
  }
  await git(a, "worktree", "add", "-q", "-b", "work", dir.path("b"));
  await git(a, "branch", "local");
  await git(a, "update-ref", "-d", "refs/remotes/origin/feature");
  await git(a, "reflog", "expire", "--expire=now", "--all");
  await git(a, "gc", "-q", "--prune=now");
});
afterAll(async () => await template[Symbol.asyncDispose]());

async function world(): Promise<TempDir> {
  const dir = await tempDir();
  transplant(template.root, dir.root);
  return dir;
}

async function shaAt(dir: TempDir, ref: string): Promise<string> {
  return await git(dir.path("forge.git"), "rev-parse", ref);
}

test("the incident: the server stands in A with six specs, the caller works in B, the pull request has nine", async () => {
  await using dir = await world();
  const [a, b] = [dir.path("a"), dir.path("b")];
  const before = stateOf(a)["tree"];
  const refused = await failure(guard("checkout", { pr: 9 }, server(a)));
  expect(refused.message).toContain(a);
  expect(refused).toMatchObject({
    code: "REFUSED",
    details: { missing: ["dir"], target: { repoPath: a }, candidates: [{ dir: b }, { dir: a }] },
  });
  expect(exampleIn(refused)).toEqual({ tool: "guard_checkout", arguments: { pr: 9, dir: b } });

  const sha = await shaAt(dir, "refs/pull/9/head");
  const result = await guard("checkout", { pr: 9, dir: b, expect_sha: sha }, server(a));
  expect(result).toMatchObject({ repoPath: b, branch: null, headSha: sha, what: "pull-request" });
  expect(readdirSync(join(b, "specs"))).toHaveLength(9);
  expect(readdirSync(join(a, "specs"))).toHaveLength(6);
  expect(stateOf(a)["tree"]).toEqual(before);
});

describe("what can be checked out", () => {
  const rows: readonly [string, (dir: TempDir) => Promise<Result>, string | null, string, string][] = [
    ["a local branch", async () => ({ ref: "local" }), "local", "branch", "refs/heads/main"],
    [
      "a branch that only the remote has",
      async () => ({ ref: "feature" }),
      "feature",
      "new-branch",
      "refs/heads/feature",
    ],
    ["a commit", async (dir) => ({ ref: await shaAt(dir, "main") }), null, "commit", "refs/heads/main"],
    [
      "a commit in short",
      async (dir) => ({ ref: (await shaAt(dir, "main")).slice(0, 8) }),
      null,
      "commit",
      "refs/heads/main",
    ],
    [
      "a commit that only the remote has",
      async (dir) => ({ ref: await shaAt(dir, "feature") }),
      null,
      "commit",
      "refs/heads/feature",
    ],
    ["a pull request", async () => ({ pr: 9 }), null, "pull-request", "refs/pull/9/head"],
    ["a merge request", async () => ({ pr: 4 }), null, "pull-request", "refs/merge-requests/4/head"],
  ];
  for (const [name, input, branch, what, ref] of rows) {
    test(name, async () => {
      await using dir = await world();
      const sha = await shaAt(dir, ref);
      const result = await guard("checkout", { ...(await input(dir)), expect_sha: sha }, { cwd: dir.path("b") });
      expect(result).toMatchObject({ repoPath: dir.path("b"), branch, headSha: sha, what, from: { branch: "work" } });
      expect(await git(dir.path("b"), "rev-parse", "HEAD")).toBe(sha);
      expect((await tryRun(dir.path("b"), ["status", "--short"])).stdout).toBe("");
      // A new branch follows nothing, and no name of ours is left behind.
      expect((await tryRun(dir.path("b"), ["config", "--get-regexp", "^branch[.]"])).stdout).toBe("");
      expect(await git(dir.path("b"), "for-each-ref", "refs/dotbot")).toBe("");
    });
  }

  test("leaving a detached commit says so", async () => {
    await using dir = await world();
    const b = dir.path("b");
    await git(b, "switch", "-q", "--detach");
    await git(b, "commit", "-q", "--allow-empty", "-m", "on no branch");
    const sha = await git(b, "rev-parse", "HEAD");
    expect(await guard("checkout", { ref: "work" }, { cwd: b })).toMatchObject({
      leftBehind: true,
      from: { branch: null, headSha: sha },
    });
  });
});

describe("what isn't, and leaves the tree where it was", () => {
  const SOME = "1234567890123456789012345678901234567890";
  const rows: readonly [string, (dir: TempDir) => Promise<Result> | Result, string, RegExp][] = [
    [
      "another commit than expected",
      () => ({ ref: "local", expect_sha: SOME }),
      "REFUSED",
      /expect_sha is "1234567890123456789012345678901234567890", and local is [0-9a-f]{40}/,
    ],
    [
      "another pull request than expected",
      () => ({ pr: 9, expect_sha: SOME }),
      "REFUSED",
      /pull request 9 is [0-9a-f]{40}/,
    ],
    ["neither ref nor pr", () => ({}), "REFUSED", /neither a branch/],
    ["both", () => ({ ref: "local", pr: 9 }), "REFUSED", /both ref and pr/],
    ["a name that nobody has", () => ({ ref: "locl" }), "NOT_FOUND", /no branch or commit "locl"/],
    ["a pull request that isn't there", () => ({ pr: 77 }), "NOT_FOUND", /no pull request 77/],
    [
      "a remote that isn't there",
      () => ({ pr: 9, remote: "upstream" }),
      "NOT_FOUND",
      /"upstream" isn't a configured remote/,
    ],
    ["a URL as remote", (dir) => ({ pr: 9, remote: dir.path("forge.git") }), "NOT_FOUND", /isn't a configured remote/],
    ["a branch that another checkout has", () => ({ ref: "main" }), "REFUSED", /is checked out in/],
    [
      "a file's name",
      async (dir) => (
        await git(dir.path("b"), "mv", "specs/1.spec", "named"),
        await git(dir.path("b"), "commit", "-q", "-m", "named"),
        { ref: "named" }
      ),
      "NOT_FOUND",
      /no branch or commit "named"/,
    ],
    [
      "over changed files",
      (dir) => (write(dir.path("b"), { "specs/1.spec": "mine\n" }), { ref: "local" }),
      "DIRTY",
      /modified or staged there: "specs\/1\.spec"/,
    ],
    [
      "over an untracked file",
      (dir) => (write(dir.path("b"), { "feature.txt": "mine\n" }), { ref: "feature" }),
      "DIRTY",
      /would overwrite "feature\.txt"/,
    ],
    [
      "over an ignored file",
      async (dir) => {
        const common = await git(dir.path("b"), "rev-parse", "--git-common-dir");
        mkdirSync(join(common, "info"), { recursive: true });
        writeFileSync(join(common, "info/exclude"), "feature.txt\n");
        write(dir.path("b"), { "feature.txt": "mine\n" });
        return { ref: "feature" };
      },
      "DIRTY",
      /would overwrite "feature\.txt"/,
    ],
    [
      "a remote that can't be reached",
      async (dir) => (await git(dir.path("a"), "remote", "set-url", "origin", dir.path("gone.git")), { pr: 9 }),
      "NETWORK",
      /gone\.git/,
    ],
  ];
  for (const [name, given, code, message] of rows) {
    test(`${name}: ${code}`, async () => {
      await using dir = await world();
      const b = dir.path("b");
      const input = await given(dir);
      const before = {
        tree: stateOf(b)["tree"],
        head: await git(b, "symbolic-ref", "HEAD"),
        sha: await git(b, "rev-parse", "HEAD"),
        status: (await tryRun(b, ["status", "--short"])).stdout,
      };
      const facts = await failure(guard("checkout", input, { cwd: b }));
      expect(facts.code as string).toBe(code);
      expect(facts.message).toMatch(message);
      expect({
        tree: stateOf(b)["tree"],
        head: await git(b, "symbolic-ref", "HEAD"),
        sha: await git(b, "rev-parse", "HEAD"),
        status: (await tryRun(b, ["status", "--short"])).stdout,
      }).toEqual(before);
      if (code !== "REFUSED" || facts.details?.["example"] === undefined) return;
      expect(await guard("checkout", exampleIn(facts).arguments, { cwd: b })).toMatchObject({ repoPath: b });
    });
  }

  test("a hook that moves HEAD away: the tree goes back, and the answer says why", async () => {
    await using dir = await world();
    const b = dir.path("b");
    mkdirSync(dir.path("a/.git/hooks"), { recursive: true });
    writeFileSync(
      dir.path("a/.git/hooks/post-checkout"),
      `#!/bin/sh\n[ -e "$GIT_DIR/moved" ] && exit 0\ntouch "$GIT_DIR/moved"\ngit commit -q --allow-empty -m sneaked\n`,
    );
    chmodSync(dir.path("a/.git/hooks/post-checkout"), 0o755);
    const before = await git(b, "rev-parse", "HEAD");
    const facts = await failure(guard("checkout", { ref: "local" }, { cwd: b }));
    expect(facts).toMatchObject({ code: "REJECTED", details: { wanted: { branch: "local" } } });
    expect([await git(b, "symbolic-ref", "--short", "HEAD"), await git(b, "rev-parse", "HEAD")]).toEqual([
      "work",
      before,
    ]);
  });

  test("a filter that fails half-way: the tree goes back", async () => {
    await using dir = await world();
    const b = dir.path("b");
    await git(b, "switch", "-q", "-c", "filtered");
    write(b, { ".gitattributes": "*.spec filter=boom\n", "specs/1.spec": "changed\n" });
    await git(b, "commit", "-q", "-am", "changed");
    await git(b, "add", "-A");
    await git(b, "commit", "-q", "--allow-empty", "-m", "attributes");
    await git(b, "switch", "-q", "work");
    await git(b, "config", "filter.boom.smudge", "false");
    await git(b, "config", "filter.boom.required", "true");
    const facts = await failure(guard("checkout", { ref: "filtered" }, { cwd: b }));
    expect(facts.code).not.toBe("DIRTY");
    expect(await git(b, "symbolic-ref", "--short", "HEAD")).toBe("work");
    expect(readFileSync(join(b, "specs/1.spec"), "utf8")).toBe("ok\n");
    expect((await tryRun(b, ["status", "--short", "-uno"])).stdout).toBe("");
  });
});

test("another repository's main checkout is never one's own to check out in", async () => {
  await using dir = await world();
  const home = await makeRepo(dir.path("home"));
  const before = stateOf(dir.path("a"));
  const facts = await failure(guard("checkout", { ref: "local", dir: dir.path("a") }, { cwd: home }));
  expect(facts).toMatchObject({
    code: "REFUSED",
    details: { target: { kind: "foreign-primary" }, example: { arguments: { ref: "local", dir: dir.path("b") } } },
  });
  expect(stateOf(dir.path("a"))).toEqual(before);
  expect(await guard("checkout", exampleIn(facts).arguments, { cwd: home })).toMatchObject({
    repoPath: dir.path("b"),
    branch: "local",
  });
});
