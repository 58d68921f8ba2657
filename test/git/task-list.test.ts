/** Seeing the queue: lists, one task, its context, figures. */
import { describe, expect, test } from "bun:test";
import { unlinkSync, writeFileSync } from "node:fs";

import { add, addBulk } from "../../lib/task/ops/add.ts";
import { claim } from "../../lib/task/ops/claims.ts";
import { list } from "../../lib/task/ops/list.ts";
import { archive } from "../../lib/task/ops/remove.ts";
import { context, show } from "../../lib/task/ops/show.ts";
import { stats } from "../../lib/task/ops/stats.ts";
import { done } from "../../lib/task/ops/done.ts";
import { fail, start } from "../../lib/task/ops/transitions.ts";
import { inProcess, type InProcess, type Loose, refusal } from "../kit/call.ts";
import { write } from "../kit/git.ts";

const TASKS = [
  { name: "Later", priority: 70, effort: "L", category: "core" },
  {
    name: "Sooner",
    priority: 5,
    effort: "S",
    category: "bugfix",
    tags: ["web", "login"],
    description: "The Login form",
  },
  { name: "Waiting", priority: 1, dependencies: ["Later"], tags: ["web"] },
  { name: "Finished", priority: 1, category: "core" },
];

async function queue(): Promise<InProcess> {
  const world = await inProcess();
  await world.call(addBulk, { tasks: TASKS });
  await world.call(done, { task_id: "Finished" });
  return world;
}

async function named(world: InProcess, input: Readonly<Record<string, unknown>> = {}): Promise<unknown[]> {
  return ((await world.call(list, input)).result["tasks"] as Loose[]).map((task) => task["name"]);
}

describe("list", () => {
  test("open tasks first, then by priority; documents as they are on disk", async () => {
    await using world = await queue();
    const { result } = await world.call(list);
    expect(await named(world)).toEqual(["Waiting", "Sooner", "Later", "Finished"]);
    expect(result).toMatchObject({ total: 4, shown: 4, broken: [], conflicts: [], stateRoot: world.repo });
    expect(result).not.toHaveProperty("truncated");
    expect((result["tasks"] as Loose[])[1]).toMatchObject({
      description: "The Login form",
      tags: ["web", "login"],
      revision: 1,
    });
  });

  const filters: readonly [filter: Readonly<Record<string, unknown>>, names: readonly string[]][] = [
    [{ status: ["done"] }, ["Finished"]],
    [{ status: ["todo", "done"], category: ["core"] }, ["Later", "Finished"]],
    [{ effort: ["S", "L"] }, ["Sooner", "Later"]],
    [{ tag: ["login"] }, ["Sooner"]],
    [{ min_priority: 5, max_priority: 69 }, ["Sooner"]],
    [{ text: "login" }, ["Sooner"]],
    [{ text: "LATER" }, ["Later"]],
    [{ blocked: true }, ["Waiting"]],
    [{ blocked: false, status: ["todo"] }, ["Sooner", "Later"]],
    [{ claimed: true }, ["Later"]],
    [{ mine: true, owner: "ada" }, ["Later"]],
    [{ mine: true, owner: "grace" }, []],
    [{ claimed: false, status: ["todo"] }, ["Waiting", "Sooner"]],
    [{ archived: true }, []],
    [{ limit: 2 }, ["Waiting", "Sooner"]],
    [{ text: "" }, ["Waiting", "Sooner", "Later", "Finished"]],
  ];
  test.each(filters)("%j", async (filter, names) => {
    await using world = await queue();
    await world.call(claim, { task_id: "Later", owner: "ada" });
    expect(await named(world, filter)).toEqual([...names]);
    // What a person sees is read another way, and is the same.
    const text = await world.text(list, filter);
    expect(names.map((name) => text.indexOf(name)).every((at) => at >= 0)).toBe(true);
    expect(text.split("\n").filter((line) => /^[0-9a-f]{8} /.test(line)).length).toBe(names.length);
  });

  test("for a person: columns, who holds it, what it waits for", async () => {
    await using world = await queue();
    await world.call(claim, { task_id: "Sooner", owner: "ada" });
    const text = (await world.text(list)).replaceAll(/\b[0-9a-f]{8}\b/g, "········");
    expect(text).toBe(
      [
        "········  todo    1      Waiting  (waits for ········ (todo))",
        "········  todo    5  S   Sooner  @ada",
        "········  todo   70  L   Later",
        "········  done    1      Finished",
        "",
      ].join("\n"),
    );
  });

  test("a name is cut to the width that there is", async () => {
    await using world = await inProcess();
    await world.call(add, { name: `${"long ".repeat(30)}end` });
    await world.call(add, { name: "寿司".repeat(40) });
    const lines = (await world.text(list, {}, { style: { color: false, width: 60 } })).trimEnd().split("\n");
    expect(
      lines.every((line) => line.endsWith("…") && Bun.stringWidth(line) <= 60 && Bun.stringWidth(line) >= 58),
    ).toBe(true);
    expect(await world.text(list, {}, { style: { color: false, width: Infinity } })).toContain("long end");
  });

  test("one document a line", async () => {
    await using world = await queue();
    const lines = (await world.text(list, { ndjson: true })).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as Loose)["name"])).toEqual([
      "Waiting",
      "Sooner",
      "Later",
      "Finished",
    ]);
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ description: "The Login form" });
  });

  test("tools get at most a hundred, and are told", async () => {
    await using world = await inProcess();
    await world.call(addBulk, { tasks: Array.from({ length: 101 }, (_, i) => ({ name: `Task ${i}` })) });
    const { result } = await world.call(list, {}, { surface: "mcp" });
    expect(result).toMatchObject({ total: 101, shown: 100, truncated: true });
    expect((await world.call(list)).result).toMatchObject({ total: 101, shown: 101 });
  });

  test("a file that can't be read is told beside the tasks", async () => {
    await using world = await queue();
    write(world.repo, { ".bot/workspace/tasks/todo/broken-12345678.json": '{"id": 1,\n"name' });
    const { result } = await world.call(list);
    expect(result["total"]).toBe(4);
    expect(result["broken"]).toMatchObject([
      { path: `${world.repo}/.bot/workspace/tasks/todo/broken-12345678.json`, line: 2 },
    ]);
    expect(await world.text(list)).toContain("can't be read: ");
  });

  test("a misspelt category isn't an empty queue", async () => {
    await using world = await queue();
    expect(await refusal(world.call(list, { category: ["bugfx"] }))).toMatchObject({
      code: "INVALID_INPUT",
      hint: 'did you mean "bugfix"?',
    });
  });

  test("an edit of a file shows at once; an erased file doesn't take its task along", async () => {
    await using world = await queue();
    const { result } = await world.call(show, { task_id: "Later" });
    const path = String(result["path"]);
    const task = result["task"] as Loose;
    writeFileSync(path, JSON.stringify({ ...task, name: "Edited by hand" }));
    expect(await named(world)).toEqual(["Waiting", "Sooner", "Edited by hand", "Finished"]);
    unlinkSync(path);
    expect(await named(world)).toEqual(["Waiting", "Sooner", "Edited by hand", "Finished"]);
    expect(world.notes.at(-1)).toContain("answering from the ledger");
  });

  test("watching shows the list again when something changes, and ends with the caller", async () => {
    await using world = await queue();
    const seen: unknown[] = [];
    const controller = new AbortController();
    const update = async (result: object): Promise<void> => {
      seen.push((result as Loose)["total"]);
      if (seen.length === 1) await world.call(add, { name: "New" });
      else if (seen.at(-1) === 5) controller.abort(new Error("enough"));
    };
    const watching = world.call(list, { watch: true }, { answer: { as: "text", update }, signal: controller.signal });
    expect(await watching.catch((error: unknown) => (error as Error).message)).toBe("enough");
    expect([seen[0], seen.at(-1)]).toEqual([4, 5]);
  });
});

describe("show", () => {
  test("the document, what it waits for, who holds it", async () => {
    await using world = await queue();
    await world.call(claim, { task_id: "Waiting", owner: "ada" });
    const { result } = await world.call(show, { task_id: "Waiting" });
    expect(result).toMatchObject({
      task: { name: "Waiting" },
      claim: { owner: "ada", scope: "clone" },
      dependencies: [{ name: "Later", status: "todo", state: "waits" }],
    });
    expect(result["claim"]).not.toHaveProperty("token");
    const text = await world.text(show, { task_id: "Waiting" });
    expect(text).toContain("held by   ada since");
    expect(text).toMatch(/Waits for\n {2}· [0-9a-f]{8} {2}Later \(todo\)/);
  });

  test.each([
    ["name", "Sooner\n"],
    ["tags.1", "login\n"],
    ["tags", '["web","login"]\n'],
    ["priority", "5\n"],
    ["completed_at", "null\n"],
    ["history.0.by", "ada\n"],
  ])("--field %s is %j", async (path, text) => {
    await using world = await queue();
    expect(await world.text(show, { task_id: "Sooner", field: path })).toBe(text);
  });

  test("a field that isn't there names the nearest", async () => {
    await using world = await queue();
    expect(await refusal(world.call(show, { task_id: "Sooner", field: "histori.0" }))).toMatchObject({
      code: "NOT_FOUND",
      hint: 'did you mean "history"?',
    });
    expect(await refusal(world.call(show, { task_id: "Sooner", field: "name.x" }))).toMatchObject({
      code: "NOT_FOUND",
      hint: "there is nothing below it",
    });
  });
});

test("context: commits of what it depends on, dependents, files that exist, where to work", async () => {
  await using world = await inProcess({ "docs/style.md": "be kind\n", "src/a.ts": "\n" });
  write(world.repo, { ".bot/recipes/standards/tests.md": "test\n" });
  await world.call(addBulk, {
    tasks: [
      { name: "Design" },
      {
        name: "Build",
        dependencies: ["#1"],
        working_dir: "src",
        applicable_standards: ["docs/style.md", "recipes/standards/tests.md", "none.md"],
      },
      { name: "Ship", dependencies: ["Build"] },
    ],
  });
  await world.call(done, { task_id: "Design", commits: ["abc123"] });
  const { result } = await world.call(context, { task_id: "Build" });
  expect(result).toMatchObject({
    dependencies: [{ name: "Design", status: "done", state: "satisfied", commits: ["abc123"] }],
    dependents: [{ name: "Ship", status: "todo" }],
    analysis: null,
    answers: [],
    workingDir: `${world.repo}/src`,
    files: [
      { kind: "standards", name: "docs/style.md", path: `${world.repo}/docs/style.md` },
      { kind: "standards", name: "recipes/standards/tests.md", path: `${world.repo}/.bot/recipes/standards/tests.md` },
      { kind: "standards", name: "none.md", path: null },
    ],
  });
});

test("stats count what list shows", async () => {
  await using world = await queue();
  await world.call(start, { task_id: "Sooner", owner: "ada" });
  await world.call(start, { task_id: "Later" });
  await world.call(fail, { task_id: "Later" });
  await world.call(archive, { tasks: ["Finished"] });
  const { result } = await world.call(stats);
  expect(result).toMatchObject({
    total: 3,
    open: 2,
    blocked: 1,
    claimed: 1,
    archived: 1,
    byStatus: { todo: 1, "in-progress": 1, failed: 1, done: 0 },
    byCategory: { bugfix: 1, core: 1, none: 1 },
    byEffort: { L: 1, S: 1, none: 1 },
    oldestInProgress: { name: "Sooner" },
  });
  expect((result["doneLast7Days"] as Loose[]).map(({ done: n }) => n)).toEqual([0, 0, 0, 0, 0, 0, 1]);
  expect(await world.text(stats)).toStartWith("3 tasks, 2 open, 1 waiting, 1 held, 1 archived\n");
});
