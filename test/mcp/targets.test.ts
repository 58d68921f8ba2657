/**
 * Which repository a call means, over the protocol: wherever the server was started, with and without roots, hint, `dir` and
 * `owner_repo`. Reads follow the same rules as writes: else one call reads one queue and the next writes another.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { makeRepo, run, tempDir, write, type TempDir } from "../kit/git.ts";
import { seedTasks } from "../kit/tasks.ts";
import { IGNORE_QUEUE } from "../kit/world.ts";
import { openSession, textOf, type Message, type Start } from "./kit.ts";

const ORIGIN = "https://forge.invalid/acme";

/** A repository with a queue of one task, named after it. */
async function project(path: string, name: string): Promise<string> {
  const root = await makeRepo(path, { files: { "README.md": "hello\n", ".bot/.gitignore": IGNORE_QUEUE } });
  await run(root, "remote", "add", "origin", `${ORIGIN}/${name}.git`);
  seedTasks(root, [{ name }]);
  return root;
}

interface Places extends AsyncDisposable {
  readonly dir: TempDir;
  /** One checkout. */
  readonly single: string;
  /** Two checkouts: this one and `tree`. */
  readonly double: string;
  readonly tree: string;
  /** A repository with two others in it. */
  readonly umbrella: string;
  readonly inner: string;
  readonly other: string;
  /** No repository. */
  readonly plain: string;
}

async function places(): Promise<Places> {
  const dir = await tempDir();
  const single = await project(dir.path("single"), "single");
  const double = await project(dir.path("double"), "double");
  await run(double, "worktree", "add", "-q", "-b", "feat", dir.path("tree"));
  const umbrella = await project(dir.path("umbrella"), "umbrella");
  const inner = await project(dir.path("umbrella", "inner"), "inner");
  await project(dir.path("umbrella", "outer"), "outer");
  const other = await project(dir.path("other"), "other");
  const plain = dir.path("plain");
  mkdirSync(plain);
  return {
    dir,
    single,
    double,
    tree: dir.path("tree"),
    umbrella,
    inner,
    other,
    plain,
    [Symbol.asyncDispose]: async () => await dir[Symbol.asyncDispose](),
  };
}

interface Asked {
  readonly start: Start;
  /** Roots of the client, as paths; none when it can't give any. */
  readonly roots?: readonly string[];
  readonly tool?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

async function ask({ start, roots, tool = "task_get_next", args = {} }: Asked): Promise<Message> {
  await using session = await openSession(start);
  await session.handshake(roots === undefined ? {} : { roots: {} });
  const id = 7;
  session.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: tool, arguments: args } });
  if (roots !== undefined) {
    const question = await session.first((message) => message["method"] === "roots/list");
    session.send({
      jsonrpc: "2.0",
      id: question["id"],
      result: { roots: roots.map((root) => ({ uri: root.includes("://") ? root : pathToFileURL(root).href })) },
    });
  }
  const reply = await session.reply(id);
  return (reply["result"] ?? reply) as Message;
}

/** The queue that a call reached, by the name of its one task; or the keys that are missing. */
function reached(result: Message): unknown {
  if (result["isError"] !== true)
    return ((result["structuredContent"] as Message)["task"] as Message | null)?.["name"] ?? null;
  const facts = (result["_meta"] as Message)["dotbot/error"] as {
    readonly code: string;
    readonly details?: { readonly missing?: readonly string[]; readonly mismatched?: readonly string[] };
  };
  return { code: facts.code, missing: facts.details?.missing ?? [], mismatched: facts.details?.mismatched ?? [] };
}

const MISSING_DIR = { code: "REFUSED", missing: ["dir"], mismatched: [] };

describe("where the server stands", () => {
  type Row = readonly [
    title: string,
    start: (at: Places) => Start,
    args: (at: Places) => Record<string, unknown>,
    expected: unknown,
  ];
  const none = () => ({});
  const rows: readonly Row[] = [
    ["its working directory", (at) => ({ cwd: at.single }), none, "single"],
    ["a subfolder", (at) => ({ cwd: `${at.single}/.bot` }), none, "single"],
    ["a linked worktree: its repository's queue", (at) => ({ cwd: at.tree }), none, "double"],
    [
      "CLAUDE_PROJECT_DIR before the working directory",
      (at) => ({ cwd: at.other, env: { CLAUDE_PROJECT_DIR: at.single } }),
      none,
      "single",
    ],
    [
      "DOTBOT_ROOT before CLAUDE_PROJECT_DIR",
      (at) => ({ cwd: at.other, env: { CLAUDE_PROJECT_DIR: at.other, DOTBOT_ROOT: at.single } }),
      none,
      "single",
    ],
    [
      "--root before DOTBOT_ROOT",
      (at) => ({ cwd: at.other, args: ["--root", at.single], env: { DOTBOT_ROOT: at.other } }),
      none,
      "single",
    ],
    ["-C is --root", (at) => ({ cwd: at.other, args: ["-C", at.single] }), none, "single"],
    [
      "--root against the working directory",
      (at) => ({ cwd: at.dir.root, args: ["--root", "single"] }),
      none,
      "single",
    ],
    [
      "a blank variable is none",
      (at) => ({ cwd: at.single, env: { DOTBOT_ROOT: " ", CLAUDE_PROJECT_DIR: "" } }),
      none,
      "single",
    ],
    [
      "CLAUDE_PROJECT_DIR that is no repository: the working directory",
      (at) => ({ cwd: at.single, env: { CLAUDE_PROJECT_DIR: at.plain } }),
      none,
      "single",
    ],
    [
      "--root that is no repository: nothing else was meant",
      (at) => ({ cwd: at.single, args: ["--root", at.plain] }),
      none,
      MISSING_DIR,
    ],
    [
      "DOTBOT_ROOT that is gone: nothing else was meant",
      (at) => ({ cwd: at.single, env: { DOTBOT_ROOT: `${at.dir.root}/gone` } }),
      none,
      MISSING_DIR,
    ],
    ["no repository", (at) => ({ cwd: at.plain }), none, MISSING_DIR],
    ["no repository, with dir", (at) => ({ cwd: at.plain }), (at) => ({ dir: at.single }), "single"],
    ["the root of the file system", () => ({ cwd: "/" }), none, MISSING_DIR],
    ["the root of the file system, with dir", () => ({ cwd: "/" }), (at) => ({ dir: at.tree }), "double"],
    [
      "the home folder",
      (at) => ({ cwd: at.plain, env: { HOME: at.plain } }),
      (at) => ({ dir: at.single, owner_repo: "acme/single" }),
      "single",
    ],
    ["a cleared environment", (at) => ({ cwd: at.single, onlyEnv: {} }), none, "single"],
    [
      "a cleared environment and no repository",
      () => ({ cwd: "/", onlyEnv: {} }),
      (at) => ({ dir: at.single }),
      "single",
    ],
    ["an umbrella of repositories", (at) => ({ cwd: at.umbrella }), none, MISSING_DIR],
    ["an umbrella, with dir", (at) => ({ cwd: at.umbrella }), (at) => ({ dir: at.inner }), "inner"],
    ["blank dir is none", (at) => ({ cwd: at.umbrella }), () => ({ dir: "  " }), MISSING_DIR],
    [
      "a dir that isn't absolute",
      (at) => ({ cwd: at.dir.root }),
      () => ({ dir: "single" }),
      { code: "INVALID_INPUT", missing: [], mismatched: ["dir"] },
    ],
    [
      "an owner_repo that isn't its",
      (at) => ({ cwd: at.single }),
      (at) => ({ dir: at.single, owner_repo: "acme/other" }),
      { code: "REFUSED", missing: [], mismatched: ["owner_repo"] },
    ],
    ["owner_repo never selects", () => ({ cwd: "/" }), () => ({ owner_repo: "acme/single" }), MISSING_DIR],
  ];
  test.each(rows)("%s", async (_title, start, args, expected) => {
    await using at = await places();
    expect(reached(await ask({ start: start(at), args: args(at) }))).toEqual(expected);
  });

  test("without any, the error says where it looked", async () => {
    await using at = await places();
    const text = textOf(
      await ask({ start: { cwd: at.plain, env: { CLAUDE_PROJECT_DIR: at.plain } }, roots: [at.single, at.other] }),
    );
    for (const place of [
      "the server's root flag: not set",
      "DOTBOT_ROOT: not set",
      "CLAUDE_PROJECT_DIR",
      at.plain,
      "roots of the client: 2 folders",
    ]) {
      expect(text).toContain(place);
    }
  });
});

describe("signals", () => {
  type Row = readonly [
    title: string,
    start: (at: Places) => Start,
    roots: (at: Places) => readonly string[] | undefined,
    expected: unknown,
  ];
  const hint = (repo: string) => ({ DOTBOT_CALLER_REPO: repo });
  const none = () => undefined;
  const rows: readonly Row[] = [
    ["one root, another repository", (at) => ({ cwd: at.single }), (at) => [at.other], MISSING_DIR],
    ["one root, the same repository", (at) => ({ cwd: at.single }), (at) => [at.single], "single"],
    ["one root, a worktree of the same repository", (at) => ({ cwd: at.double }), (at) => [at.tree], "double"],
    [
      "one root, the same umbrella: doesn't confirm it",
      (at) => ({ cwd: at.umbrella }),
      (at) => [at.umbrella],
      MISSING_DIR,
    ],
    ["no root", (at) => ({ cwd: at.single }), () => [], "single"],
    ["several roots", (at) => ({ cwd: at.single }), (at) => [at.other, at.inner], "single"],
    ["one root that is no repository", (at) => ({ cwd: at.single }), (at) => [at.plain], "single"],
    ["one root that is no folder", (at) => ({ cwd: at.single }), () => ["https://example.invalid/x"], "single"],
    ["one root, where nothing else is known", (at) => ({ cwd: at.plain }), (at) => [at.single], "single"],
    ["a hint, another repository", (at) => ({ cwd: at.single, env: hint("acme/other") }), none, MISSING_DIR],
    ["a hint, the same repository", (at) => ({ cwd: at.single, env: hint("acme/single") }), none, "single"],
    [
      "a hint, the same umbrella: confirms it",
      (at) => ({ cwd: at.umbrella, env: hint("acme/umbrella") }),
      none,
      "umbrella",
    ],
    ["a malformed hint", (at) => ({ cwd: at.single, env: hint("single") }), none, MISSING_DIR],
    [
      "the hint matches and the root doesn't: a mismatch wins",
      (at) => ({ cwd: at.single, env: hint("acme/single") }),
      (at) => [at.other],
      MISSING_DIR,
    ],
    [
      "the root matches and the hint doesn't: a mismatch wins",
      (at) => ({ cwd: at.single, env: hint("acme/other") }),
      (at) => [at.single],
      MISSING_DIR,
    ],
  ];
  test.each(rows)("%s", async (_title, start, roots, expected) => {
    await using at = await places();
    const client = roots(at);
    const result = await ask({ start: start(at), ...(client === undefined ? {} : { roots: client }) });
    expect(reached(result)).toEqual(expected);
  });

  test("a malformed hint is refused with the form that it should have", async () => {
    await using at = await places();
    expect(textOf(await ask({ start: { cwd: at.single, env: hint("single") } }))).toContain(
      "isn't of the form owner/repo",
    );
  });

  test("dir overrides them all", async () => {
    await using at = await places();
    const start = { cwd: at.single, env: hint("acme/inner") };
    expect(reached(await ask({ start, roots: [at.other], args: { dir: at.single } }))).toBe("single");
  });

  test("a client that doesn't answer for its roots has none, and isn't asked twice", async () => {
    await using at = await places();
    await using session = await openSession({ cwd: at.single });
    await session.handshake({ roots: {} });
    const call = session.call("task_get_next");
    const question = await session.first((message) => message["method"] === "roots/list");
    session.send({ jsonrpc: "2.0", id: question["id"], error: { code: -32603, message: "no" } });
    expect(reached(await call)).toBe("single");
    expect(reached(await session.call("task_get_next"))).toBe("single");
    expect(session.messages.filter((message) => message["method"] === "roots/list")).toHaveLength(1);
    // Until it says that they changed.
    session.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    const later = session.call("task_get_next");
    const again = await session.first(
      (message) => message["method"] === "roots/list" && message["id"] !== question["id"],
    );
    session.send({ jsonrpc: "2.0", id: again["id"], result: { roots: [{ uri: pathToFileURL(at.other).href }] } });
    expect(reached(await later)).toEqual(MISSING_DIR);
  });
});

describe("several checkouts", () => {
  const calls: readonly (readonly [tool: string, args: Readonly<Record<string, unknown>>])[] = [
    ["guard_add", { files: ["a.txt"] }],
    ["guard_commit", { files: ["a.txt"], message: "a" }],
    ["guard_pull", {}],
    ["guard_push", {}],
    ["guard_branch_create", { name: "x" }],
    ["guard_checkout", { ref: "feat" }],
    ["guard_finish", {}],
  ];
  test.each(calls)("%s needs dir, and the refusal's example is the call that works", async (tool, args) => {
    await using at = await places();
    write(at.tree, { "a.txt": "1\n" });
    const start = { cwd: at.double, args: ["--toolsets", "all"] };
    const refused = await ask({ start, tool, args });
    expect(reached(refused)).toEqual(MISSING_DIR);
    const text = textOf(refused);
    expect(text).toContain(at.tree);
    const [, name = "", json = "{}"] = /^example: (\w+) (\{.*\})$/m.exec(text) ?? [];
    expect(name).toBe(tool);
    const example = JSON.parse(json) as Record<string, unknown>;
    expect(example).toMatchObject({ ...args, dir: at.tree });
    const result = await ask({ start, tool, args: example });
    // What is left to go wrong is the world (a remote that doesn't exist), not the call.
    if (result["isError"] === true) expect(reached(result)).not.toMatchObject({ missing: ["dir"] });
  });

  test("the incident: a shared server in one checkout, its caller in another", async () => {
    await using at = await places();
    write(at.tree, { "spec.txt": "9\n" });
    await run(at.tree, "add", "spec.txt");
    await run(at.tree, "commit", "-q", "-m", "nine");
    const start = { cwd: at.double, args: ["--toolsets", "all"] };
    const before = await run(at.double, "rev-parse", "HEAD");
    const refused = await ask({ start, tool: "guard_checkout", args: { ref: "main" } });
    expect(textOf(refused)).toContain(at.double);
    const sha = await run(at.tree, "rev-parse", "HEAD");
    const done = await ask({ start, tool: "guard_checkout", args: { ref: sha, dir: at.tree, expect_sha: sha } });
    expect(done).toMatchObject({ structuredContent: { repoPath: at.tree, headSha: sha } });
    expect(await run(at.double, "rev-parse", "HEAD")).toBe(before);
  });
});
