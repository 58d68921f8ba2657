/** Where one stands, on real repositories. */
import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";

import { allOperations } from "../../lib/ops.ts";
import { primerText } from "../../lib/prime/text.ts";
import { adviceFor } from "../../lib/status/advice.ts";
import type { Brief, Standing } from "../../lib/status/facts.ts";
import { inProcess } from "../kit/call.ts";
import { run } from "../kit/git.ts";

const operations = await allOperations();
const operation = (name: string) => {
  const found = operations.find((op) => op.name === name);
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
};
const add = operation("task add");
const start = operation("task start");
const status = operation("status");
const prime = operation("prime");

describe("status", () => {
  test("in a repository with a queue: counts, what the caller holds, the next task", async () => {
    await using world = await inProcess();
    const env = { ...world.ctx().env, DOTBOT_SESSION: "s1" };
    await world.call(add, { name: "One" }, { env });
    await world.call(add, { name: "Two" }, { env });
    await world.call(start, { task_id: "One" }, { env });
    const { result } = await world.call(status, {}, { env });
    expect(result).toMatchObject({
      stateRoot: world.repo,
      workRoot: world.repo,
      branch: "main",
      sessionId: "s1",
      queue: {
        counts: { todo: 1, "in-progress": 1 },
        here: null,
        held: [{ name: "One" }],
        next: { name: "Two", status: "todo" },
      },
    });
    expect(await world.text(status, {}, { env })).toContain("queue       1 todo, 1 in-progress\n");
  });

  test("without a queue it says how to make one, and makes none", async () => {
    await using world = await inProcess();
    rmSync(`${world.repo}/.bot`, { recursive: true });
    const { result, status: exit } = await world.call(status);
    expect(exit).toBe(0);
    expect(result).toMatchObject({ branch: "main", queue: null, advice: [{ run: "init" }] });
    expect(await run(world.repo, "status", "--porcelain", "--ignored")).toBe("");
  });

  test("in a linked worktree the state root is the main checkout", async () => {
    await using world = await inProcess();
    await run(world.repo, "worktree", "add", "-q", "-b", "side", "../side");
    const { result } = await world.call(status, {}, { cwd: world.dir.path("side") });
    expect(result).toMatchObject({ stateRoot: world.repo, workRoot: world.dir.path("side"), branch: "side" });
  });
});

const brief = (name: string, status: Brief["status"]): Brief => ({
  id: "1a2b3c4d-0000-4000-8000-000000000000",
  name,
  status,
});
const empty = { counts: {}, here: null, held: [], asks: [], reviews: [], next: null, broken: 0, conflicts: 0 };

describe("what to do next", () => {
  test.each<[what: string, queue: Standing["queue"], first: string]>([
    ["no queue", null, "init"],
    ["an empty one", empty, "task add 'What is to be done'"],
    ["a next task", { ...empty, next: brief("a", "todo") }, "task start 1a2b3c4d"],
    ["a question", { ...empty, asks: [brief("a", "needs-input")] }, "task answer 1a2b3c4d"],
    ["a task at work, in its worktree", { ...empty, here: brief("a", "in-progress") }, "task done 1a2b3c4d"],
    ["a done task's worktree", { ...empty, here: brief("a", "done") }, "wt complete 1a2b3c4d"],
    ["a file that can't be read", { ...empty, broken: 1, next: brief("a", "todo") }, "doctor"],
  ])("%s", (_, queue, first) => {
    expect(adviceFor({ queue })[0]?.run).toBe(first);
  });
});

describe("prime", () => {
  test("names this repository's values, in under 2 KB however long names are", () => {
    const long = "ö".repeat(300);
    const text = primerText({
      stateRoot: "/repo",
      workRoot: "/worktrees/one",
      head: { branch: "task/one", sha: "0".repeat(40) },
      session: long,
      baseBranch: "main",
      sessionIsSet: false,
      queue: {
        ...empty,
        counts: { todo: 12 },
        here: brief(long, "in-progress"),
        held: [brief(long, "analysed"), brief(long, "todo")],
        next: brief(long, "todo"),
      },
    });
    expect(new TextEncoder().encode(text).length).toBeLessThan(2048);
    for (const value of ["/repo", "12 todo", "/worktrees/one", "task/one", "tasks start from main", "1a2b3c4d"])
      expect(text).toContain(value);
  });

  test("as a hook: reads the session from what the hook is told, and hands it on to the session's commands", async () => {
    await using world = await inProcess();
    const envFile = world.dir.path("env");
    writeFileSync(envFile, "export OTHER=1");
    const changes = {
      cwd: "/",
      env: { ...world.ctx().env, CLAUDE_ENV_FILE: envFile },
      readStdin: async () => JSON.stringify({ session_id: "it's 7", cwd: world.repo, hook_event_name: "SessionStart" }),
    };
    const { result } = await world.call(prime, { hook_json: true }, changes);
    expect(result).toMatchObject({
      hookSpecificOutput: {
        hookEventName: "SessionStart",
        additionalContext: expect.stringContaining("Your session id: it's 7 (in the environment"),
      },
    });
    await world.call(prime, { hook_json: true }, changes);
    expect(readFileSync(envFile, "utf8")).toBe("export OTHER=1\nexport DOTBOT_SESSION='it'\\''s 7'\n");
  });

  test.each<[what: string, input: string]>([
    ["nothing", ""],
    ["no JSON", "{"],
    ["another shape", "[1]"],
  ])("as a hook that is told %s, outside a repository: says nothing", async (_, input) => {
    await using world = await inProcess();
    const { result } = await world.call(prime, { hook_json: true }, { cwd: "/", readStdin: async () => input });
    expect(result).toEqual({ hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: "" } });
  });
});
