import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";

import { git, gitEnv, gitText, refuseOption, requireGit } from "../../lib/git/run.ts";
import { gitEnv as testEnv, rejection, tempDir } from "../kit/git.ts";

describe("the environment of a git child", () => {
  const dropped = {
    GIT_DIR: "/x",
    GIT_WORK_TREE: "/x",
    GIT_COMMON_DIR: "/x",
    GIT_OBJECT_DIRECTORY: "/x",
    GIT_NAMESPACE: "x",
    GIT_CEILING_DIRECTORIES: "/x",
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.bare",
    GIT_CONFIG_VALUE_0: "true",
    GIT_CONFIG_PARAMETERS: "'a.b=c'",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_TRACE2_EVENT: "/x",
    GIT_REFLOG_ACTION: "x",
    GIT_AUTHOR_DATE: "1 +0000",
    GIT_COMMITTER_DATE: "1 +0000",
    git_external_diff: "x",
  };
  const kept = {
    PATH: "/bin",
    HOME: "/h",
    SSH_AUTH_SOCK: "/s",
    GIT_SSH_COMMAND: "ssh -i k",
    GIT_SSL_CAINFO: "/c",
    GIT_CONFIG_GLOBAL: "/g",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "CI",
    GIT_COMMITTER_EMAIL: "ci@example.invalid",
    https_proxy: "http://p",
  };
  const set = {
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_PAGER: "cat",
    GIT_EDITOR: "false",
    GIT_SEQUENCE_EDITOR: "false",
  };

  test("names no repository, and keeps what a user or CI set", () => {
    expect(gitEnv({ ...dropped, ...kept, GIT_EDITOR: "vi", LC_ALL: "de_DE", UNSET: undefined })).toEqual({
      ...kept,
      ...set,
    });
  });

  test("takes no locks in a probe", () => {
    expect(gitEnv({}, true)).toEqual({ ...set, GIT_OPTIONAL_LOCKS: "0" });
  });

  test.each([["GIT_INDEX_FILE"], ["GIT_PREFIX"]])("has no identity of the hook that %s shows", (sign) => {
    const env = gitEnv({
      GIT_AUTHOR_NAME: "x",
      GIT_AUTHOR_EMAIL: "x",
      GIT_COMMITTER_NAME: "x",
      GIT_COMMITTER_EMAIL: "x",
      [sign]: "",
    });
    expect(env).toEqual(set);
  });

  test("drops whatever git itself counts as local to a repository", async () => {
    await using dir = await tempDir();
    const ctx = { env: testEnv(), signal: new AbortController().signal };
    const names = (await gitText(ctx, ["rev-parse", "--local-env-vars"], { cwd: dir.root })).trim().split("\n");
    expect(names.length).toBeGreaterThan(10);
    expect(Object.keys(gitEnv(Object.fromEntries(names.map((name) => [name, "x"])))).sort()).toEqual(
      Object.keys(set).sort(),
    );
  });
});

test.each([["main"], ["a b"], ["feat/-x"]])("refuseOption lets %j pass", (value) => {
  expect(refuseOption(value, "branch")).toBe(value);
});

test.each([["--upload-pack=id"], ["-f"], [""], ["a\nb"]])("refuseOption refuses %j", (value) => {
  expect(() => refuseOption(value, "remote")).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
});

describe("running git", () => {
  const never = new AbortController().signal;

  test("hands stdin over, and reads bytes as they are", async () => {
    await using dir = await tempDir();
    const input = new Uint8Array([0xff, 0, 10]);
    const ctx = { env: testEnv(), signal: never };
    const result = await git(ctx, ["stripspace"], { cwd: dir.root, input });
    expect([...result.bytes]).toEqual([0xff, 0, 10]);
    expect(result.stdout).toBe("\uFFFD\0\n");
  });

  test("returns any status, unless some are named", async () => {
    await using dir = await tempDir();
    const ctx = { env: testEnv(), signal: never };
    expect((await git(ctx, ["rev-parse"], { cwd: dir.root })).status).toBe(128);
    expect(await rejection(git(ctx, ["rev-parse"], { cwd: dir.root, okStatus: [0, 1] }))).toMatchObject({
      code: "NOT_A_REPOSITORY",
    });
    expect(await rejection(gitText(ctx, ["no-such-verb"], { cwd: dir.root }))).toMatchObject({ code: "GIT_FAILED" });
  });

  test("tells a missing git from a missing folder", async () => {
    await using dir = await tempDir();
    const bare = { env: { PATH: dir.root }, signal: never };
    expect(await rejection(git(bare, ["version"], { cwd: dir.root }))).toMatchObject({ code: "NO_GIT" });
    const ctx = { env: testEnv(), signal: never };
    expect(await rejection(git(ctx, ["version"], { cwd: dir.path("gone") }))).toMatchObject({ code: "NOT_FOUND" });
  });

  test("ends git and its children on abort", async () => {
    await using dir = await tempDir();
    const stop = new AbortController();
    const nap = ["-c", "alias.nap=!sleep 1000 & echo $! >pid.tmp && mv pid.tmp pid && wait", "nap"];
    const running = rejection(git({ env: testEnv(), signal: stop.signal }, nap, { cwd: dir.root }));
    await until(() => existsSync(dir.path("pid")));
    stop.abort(new Error("not wanted any more"));
    expect(await running).toMatchObject({ message: "not wanted any more" });
    const sleeper = Number(await Bun.file(dir.path("pid")).text());
    await until(async () => !(await isAlive(sleeper)));
  });

  test("ends git over time and over size", async () => {
    await using dir = await tempDir();
    const ctx = { env: testEnv(), signal: never };
    const late = git(ctx, ["-c", "alias.nap=!sleep 1000", "nap"], { cwd: dir.root, timeoutMs: 1 });
    expect(await rejection(late)).toMatchObject({ code: "GIT_FAILED", message: "git nap didn't end within 0.001 s" });
    const long = git(ctx, ["help", "-a"], { cwd: dir.root, maxBytes: 10 });
    expect(await rejection(long)).toMatchObject({ code: "GIT_FAILED", message: "git help printed more than 10 bytes" });
  });

  test("doesn't wait for what a hook left running in the background", async () => {
    await using dir = await tempDir();
    const ctx = { env: testEnv(), signal: never };
    const args = ["-c", "alias.leave=!sleep 1000 & echo $!", "leave"];
    const result = await git(ctx, args, { cwd: dir.root });
    expect(result.status).toBe(0);
    process.kill(Number(result.stdout), "SIGKILL");
  });

  test("writes one line per spawn when traced", async () => {
    await using dir = await tempDir();
    const ctx = { env: testEnv({ DOTBOT_TRACE_GIT: dir.path("trace") }), signal: never };
    await git(ctx, ["version"], { cwd: dir.root });
    await git(ctx, ["rev-parse"], { cwd: dir.root });
    const lines = (await Bun.file(dir.path("trace")).text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(lines).toEqual([
      { args: ["version"], cwd: dir.root, ms: expect.any(Number), status: 0 },
      { args: ["rev-parse"], cwd: dir.root, ms: expect.any(Number), status: 128 },
    ]);
  });

  test("refuses a git that is too old for the verb", async () => {
    await using dir = await tempDir();
    const ctx = { env: testEnv(), signal: never, cwd: dir.root };
    await requireGit(ctx, "2.31", "task list");
    expect(await rejection(requireGit(ctx, "99.0", "wt create"))).toMatchObject({
      code: "GIT_TOO_OLD",
      message: expect.stringMatching(/^dotbot wt create needs git 99\.0 or newer; this is \d/),
    });
  });
});

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}

/** A zombie that init hasn't collected yet doesn't count as alive. */
async function isAlive(pid: number): Promise<boolean> {
  const state = await Bun.$`ps -o stat= -p ${pid}`.nothrow().text();
  return state !== "" && !state.startsWith("Z");
}
