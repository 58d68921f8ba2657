/** Adding and editing tasks, on a real repository. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import type { Prompter } from "../../lib/ctx.ts";
import { add, addBulk } from "../../lib/task/ops/add.ts";
import { claim } from "../../lib/task/ops/claims.ts";
import { edit } from "../../lib/task/ops/edit.ts";
import { list } from "../../lib/task/ops/list.ts";
import { remove } from "../../lib/task/ops/remove.ts";
import { inProcess, type InProcess, type Loose, refusal } from "../kit/call.ts";
import { run, write } from "../kit/git.ts";

async function added(world: InProcess, input: Readonly<Record<string, unknown>>): Promise<Loose> {
  return (await world.call(add, input)).result["task"] as Loose;
}

async function names(world: InProcess): Promise<unknown[]> {
  return ((await world.call(list)).result["tasks"] as Loose[]).map((task) => task["name"]);
}

test("a new task is a file in todo, its keys in the order of dotbot 3, its provenance complete", async () => {
  await using world = await inProcess();
  const { result } = await world.call(add, {
    name: "Add a login page",
    priority: 20,
    effort: "M",
    category: "feature",
    acceptance_criteria: ["it works"],
    tags: ["web"],
  });
  const task = result["task"] as Loose;
  expect(Object.keys(task)).toEqual([
    "id",
    "name",
    "description",
    "category",
    "priority",
    "effort",
    "status",
    "dependencies",
    "acceptance_criteria",
    "steps",
    "tags",
    "created_at",
    "updated_at",
    "completed_at",
    "history",
    "revision",
  ]);
  expect(task).toMatchObject({
    name: "Add a login page",
    priority: 20,
    status: "todo",
    dependencies: [],
    completed_at: null,
    revision: 1,
  });
  expect(task["history"]).toEqual([
    {
      at: task["created_at"],
      to: "todo",
      by: "ada",
      session_id: "unknown",
      branch: "main",
      commit: await run(world.repo, "rev-parse", "HEAD"),
    },
  ]);
  expect(result["path"]).toBe(
    `${world.repo}/.bot/workspace/tasks/todo/add-a-login-page-${String(task["id"]).slice(0, 8)}.json`,
  );
  expect(JSON.parse(readFileSync(String(result["path"]), "utf8"))).toEqual(task);
});

test("values are cleaned: one line stays one line, many lines keep theirs, empty items go", async () => {
  await using world = await inProcess();
  const task = await added(world, {
    name: " Add\u0007 a \nlogin\u202E page ",
    description: "first\r\nsecond\u001B[31m",
    steps: ["a\tb", "", "\u0000"],
    model: "x".repeat(300),
  });
  expect(task).toMatchObject({
    name: "Add a login page",
    description: "first\nsecond[31m",
    steps: ["a\tb"],
    model: "x".repeat(256),
  });
  expect(world.notes).toEqual(["--model was cut from 300 to 256 characters"]);
});

test("fields of one's own pass through, from `fields` and from a file; flags win over a file", async () => {
  await using world = await inProcess();
  const task = await added(world, {
    name: "B",
    fields: { ticket: { key: 7 } },
    json_file: { name: "A", priority: 3, mine: [1, null] },
  });
  expect(task).toMatchObject({ name: "B", priority: 3, mine: [1, null], ticket: { key: 7 } });
});

const refused: readonly [
  why: string,
  input: Readonly<Record<string, unknown>>,
  code: string,
  message: RegExp,
  hint: RegExp,
][] = [
  ["no name", {}, "NEEDS_ANSWER", /no name/, /first word/],
  ["a name of control characters", { name: "\u0000\u0007" }, "INVALID_INPUT", /nothing printable/, /.?/],
  [
    "a category that isn't one",
    { name: "X", category: "bugfx" },
    "INVALID_INPUT",
    /"bugfx" isn't one of core, feature/,
    /"bugfix"/,
  ],
  [
    "a priority out of range in a file",
    { name: "X", json_file: { priority: 0 } },
    "INVALID_INPUT",
    /--priority 0 isn't an integer from 1 to 100/,
    /.?/,
  ],
  [
    "dependencies by another name",
    { name: "X", fields: { depends_on: ["A"] } },
    "INVALID_INPUT",
    /"depends_on" isn't a field/,
    /dependencies/,
  ],
  [
    "a status by hand",
    { name: "X", fields: { status: "done" } },
    "INVALID_INPUT",
    /"status" can't be set by hand/,
    /dotbot task start/,
  ],
  [
    "an unknown dependency, with the nearest",
    { name: "X", dependencies: ["Add a login pag"] },
    "TASK_NOT_FOUND",
    /no task answers/,
    /"Add a login page"/,
  ],
  [
    "an ambiguous dependency, with the candidates",
    { name: "X", dependencies: ["Twin"] },
    "AMBIGUOUS_TASK",
    /means 2 tasks/,
    /full id/,
  ],
  ["itself as dependency", { name: "X", dependencies: ["X"] }, "CYCLE", /can't depend on itself/, /leave it out/],
  [
    "a condition above the repository",
    { name: "X", condition: "../secret" },
    "OUTSIDE_REPOSITORY",
    /leaves the repository/,
    /without \.\./,
  ],
  [
    "a condition at the root",
    { name: "X", condition: ["docs", "!/etc/passwd"] },
    "OUTSIDE_REPOSITORY",
    /"!\/etc\/passwd"/,
    /.?/,
  ],
  ["a condition at home", { name: "X", condition: "~/.ssh" }, "OUTSIDE_REPOSITORY", /leaves/, /~/],
];

test.each(refused)("refused: %s", async (_, input, code, message, hint) => {
  await using world = await inProcess();
  await world.call(add, { name: "Add a login page" });
  await world.call(addBulk, { tasks: [{ name: "Twin" }, { name: "Twin" }] });
  const facts = await refusal(world.call(add, input));
  expect(facts.code).toBe(code as typeof facts.code);
  expect(facts.message).toMatch(message);
  expect(facts.hint ?? "").toMatch(hint);
  expect(await names(world)).toEqual(["Add a login page", "Twin", "Twin"]);
});

test("dependencies are stored as ids, however they were named; less than 8 digits of an id aren't enough", async () => {
  await using world = await inProcess();
  const first = await added(world, { name: "First", slug: "one" });
  const id = String(first["id"]);
  for (const name of [
    id,
    "one",
    "First",
    `first-${id.slice(0, 8)}`,
    `first-${id.slice(0, 8)}.json`,
    id.slice(0, 8),
    id.slice(0, 13),
  ]) {
    const next = await added(world, { name: "Next", dependencies: [name], parent_task_id: name });
    expect(next).toMatchObject({ dependencies: [id], parent_task_id: id });
  }
  const facts = await refusal(world.call(add, { name: "Next", dependencies: [id.slice(0, 7)] }));
  expect(facts).toMatchObject({ code: "TASK_NOT_FOUND", details: { nearest: id } });
});

test("a task with 8 digits for a name is meant before one whose id begins so", async () => {
  await using world = await inProcess();
  const id = String((await added(world, { name: "First" }))["id"]);
  const other = await added(world, { name: id.slice(0, 8) });
  const next = await added(world, { name: "Next", dependencies: [id.slice(0, 8)] });
  expect(next["dependencies"]).toEqual([other["id"]]);
});

test("a task that others wait for already can close a circle", async () => {
  await using world = await inProcess();
  await world.call(add, { name: "A" });
  write(world.repo, {
    ".bot/workspace/tasks/todo/b-0b0b0b0b.json": JSON.stringify({
      id: "0b0b0b0b-0000-4000-8000-000000000000",
      name: "B",
      status: "todo",
      dependencies: ["C"],
    }),
  });
  const facts = await refusal(world.call(add, { name: "C", dependencies: ["B"] }));
  expect(facts).toMatchObject({ code: "CYCLE", message: '"C" would wait for itself: "C" → "B" → "C"' });
});

test("at a terminal what is missing is asked for", async () => {
  await using world = await inProcess();
  const answers = new Map([
    ["What is to be done?", "Asked for"],
    ["Priority, 1 (now) to 100 (some day)", "7"],
  ]);
  const prompt: Prompter = {
    text: async ({ message }) => answers.get(message) ?? "",
    confirm: async () => true,
    select: async () => "",
    multiselect: async () => [],
  };
  const { result } = await world.call(add, {}, { prompt });
  expect(result["task"]).toMatchObject({ name: "Asked for", priority: 7, description: "" });
});

test("settings add categories", async () => {
  await using world = await inProcess();
  write(world.repo, { ".bot/settings.json": JSON.stringify({ task: { categories: ["docs"] } }) });
  expect(await added(world, { name: "X", category: "docs" })).toMatchObject({ category: "docs" });
});

// ── many ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("later items depend on earlier ones by name, slug or place", async () => {
  await using world = await inProcess();
  const { result } = await world.call(addBulk, {
    tasks: [
      { name: "Design", slug: "design" },
      { name: "Build", dependencies: ["Design"] },
      { name: "Test", dependencies: ["design", "#2"] },
    ],
  });
  const [design, build, check] = result["tasks"] as Loose[];
  expect(build?.["dependencies"]).toEqual([design?.["id"]]);
  expect(check?.["dependencies"]).toEqual([design?.["id"], build?.["id"]]);
  expect(result).toMatchObject({ ok: true, changed: true, failed: [] });
});

test("tasks of one priority come up in the order given", async () => {
  await using world = await inProcess();
  const wanted = Array.from({ length: 20 }, (_, i) => `Task ${i}`);
  await world.call(
    addBulk,
    { tasks: wanted.map((name) => ({ name })) },
    { now: () => new Date("2024-05-06T07:08:09Z") },
  );
  expect(await names(world)).toEqual(wanted);
});

test("all or none: one wrong item, and nothing is added", async () => {
  await using world = await inProcess();
  const facts = await refusal(
    world.call(addBulk, { tasks: [{ name: "A" }, { name: "B", dependencies: ["C"] }, { name: "C" }] }),
  );
  expect(facts).toMatchObject({
    code: "TASK_NOT_FOUND",
    hint: "a task may depend on existing and earlier ones: put that one first",
  });
  expect(facts.message).toStartWith("tasks[1].dependencies");
  expect(await names(world)).toEqual([]);
});

test("partial adds what it can, reports the rest, and the answer is no", async () => {
  await using world = await inProcess();
  const { result, status } = await world.call(addBulk, {
    tasks: [{ name: "A" }, { name: "B", priority: 1000 }, { priority: 3 }],
    partial: true,
  });
  expect(await names(world)).toEqual(["A"]);
  expect(status).toBe(1);
  expect(
    (result["failed"] as { index: number; error: { code: string } }[]).map(({ index, error }) => [index, error.code]),
  ).toEqual([
    [1, "INVALID_INPUT"],
    [2, "INVALID_INPUT"],
  ]);
});

test("a key makes a retry harmless, and other content under it is refused", async () => {
  await using world = await inProcess();
  const input = { tasks: [{ name: "A" }, { name: "B" }], key: "plan" };
  const first = await world.call(addBulk, input);
  const again = await world.call(addBulk, input);
  expect(again.result).toEqual({ ...first.result, changed: false });
  expect(await names(world)).toEqual(["A", "B"]);
  expect(await refusal(world.call(addBulk, { ...input, tasks: [{ name: "C" }] }))).toMatchObject({ code: "CONFLICT" });
});

// ── edit ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("a patch changes what it names; repeated, it changes nothing", async () => {
  await using world = await inProcess();
  const before = await added(world, { name: "A", tags: ["x"], model: "large", fields: { mine: 1 } });
  const input = { task_id: "A", name: "Renamed", priority: 4, unset: ["model"], fields: { mine: 2 } };
  const { result } = await world.call(edit, input);
  expect(result).toMatchObject({ changed: true, changedFields: ["name", "priority", "model", "mine"] });
  expect(result["task"]).toMatchObject({
    name: "Renamed",
    priority: 4,
    tags: ["x"],
    mine: 2,
    revision: 2,
    status: "todo",
  });
  expect(result["task"]).not.toHaveProperty("model");
  expect(result["path"]).toContain(`/todo/a-${String(before["id"]).slice(0, 8)}.json`);
  const again = await world.call(edit, { ...input, task_id: before["id"], unset: [] });
  expect(again.result).toMatchObject({ changed: false, changedFields: [], task: { revision: 2 } });
});

test.each([
  ["add_dependencies", ["nope"], "--add-dependency Nope"],
  ["remove_dependencies", ["nope"], "--remove-dependency "],
  ["parent_task_id", "nope", "--parent-task-id Nope"],
  ["dependencies", ["nope"], "--depends-on Nope"],
])("a wrong task in %s is answered with that very call, mended", async (field, value, flag) => {
  await using world = await inProcess();
  await world.call(add, { name: "Nope" });
  await world.call(add, { name: "B", dependencies: ["Nope"] });
  const facts = await refusal(world.call(edit, { task_id: "B", [field]: value }));
  expect(facts.example).toMatch(new RegExp(`^dotbot task edit [0-9a-f]{8} ${flag}`));
});

test("a dependency whose task is gone is taken away by the digits that are left of it", async () => {
  await using world = await inProcess();
  const a = await added(world, { name: "A" });
  await world.call(add, { name: "B", dependencies: ["A"] });
  await world.call(remove, { task_id: "A", force_dependents: true });
  const { result } = await world.call(edit, { task_id: "B", remove_dependencies: [String(a["id"]).slice(0, 8)] });
  expect(result["task"]).toMatchObject({ dependencies: [] });
});

test("dependencies can be added and taken away one by one; circles are refused with their path", async () => {
  await using world = await inProcess();
  const a = await added(world, { name: "A" });
  const b = await added(world, { name: "B", dependencies: ["A"] });
  const facts = await refusal(world.call(edit, { task_id: "A", add_dependencies: ["B"] }));
  expect(facts).toMatchObject({
    code: "CYCLE",
    message: '"A" would wait for itself: "A" → "B" → "A"',
    details: { cycle: [a["id"], b["id"], a["id"]] },
  });
  expect(await refusal(world.call(edit, { task_id: "A", dependencies: ["A"] }))).toMatchObject({ code: "CYCLE" });
  expect((await world.call(edit, { task_id: "B", remove_dependencies: ["A"] })).result["task"]).toMatchObject({
    dependencies: [],
  });
  expect(await refusal(world.call(edit, { task_id: "B", remove_dependencies: ["A"] }))).toMatchObject({
    code: "NOT_FOUND",
  });
  const digits = [String(a["id"]).slice(0, 8)];
  expect((await world.call(edit, { task_id: "B", add_dependencies: digits })).result["task"]).toMatchObject({
    dependencies: [a["id"]],
  });
  expect((await world.call(edit, { task_id: "B", remove_dependencies: digits })).result["task"]).toMatchObject({
    dependencies: [],
  });
  expect((await world.call(edit, { task_id: "A", add_dependencies: ["B"] })).result["task"]).toMatchObject({
    dependencies: [b["id"]],
  });
});

test.each([
  ["status", "`dotbot task start`"],
  ["history", "transitions write it"],
  ["pending_questions", "`dotbot task ask`"],
  ["commits", "--commits"],
])("the reserved field %s is refused with what changes it", async (name, verb) => {
  await using world = await inProcess();
  await world.call(add, { name: "A" });
  for (const input of [{ fields: { [name]: "x" } }, { unset: [name] }]) {
    const facts = await refusal(world.call(edit, { task_id: "A", ...input }));
    expect(facts).toMatchObject({ code: "INVALID_INPUT", message: `"${name}" can't be set by hand` });
    expect(facts.hint).toContain(verb);
  }
});

test("somebody else's claim is respected, and can be taken over with a reason", async () => {
  await using world = await inProcess();
  await world.call(add, { name: "A" });
  await world.call(claim, { task_id: "A", owner: "grace" });
  expect(await refusal(world.call(edit, { task_id: "A", priority: 1, owner: "ada" }))).toMatchObject({
    code: "NOT_HOLDER",
  });
  expect((await world.call(edit, { task_id: "A", priority: 1, owner: "grace" })).result).toMatchObject({
    changed: true,
  });
  const { result } = await world.call(edit, { task_id: "A", priority: 2, owner: "ada", steal: "she left" });
  expect(((result["task"] as Loose)["history"] as Loose[]).at(-1)).toMatchObject({
    from: "todo",
    to: "todo",
    reason: "taken over from grace: she left",
  });
});

test("an edit that names nothing is a usage error", async () => {
  await using world = await inProcess();
  await world.call(add, { name: "A" });
  expect(await refusal(world.call(edit, { task_id: "A" }))).toMatchObject({ code: "USAGE" });
});

test("who waits for a renamed task by its old name is told", async () => {
  await using world = await inProcess();
  await world.call(add, { name: "A" });
  write(world.repo, {
    ".bot/workspace/tasks/todo/b-0b0b0b0b.json": JSON.stringify({
      id: "0b0b0b0b-0000-4000-8000-000000000000",
      name: "B",
      status: "todo",
      dependencies: ["A"],
    }),
  });
  await world.call(edit, { task_id: "A", name: "Renamed" });
  expect(world.notes.at(-1)).toStartWith(
    '"B" (0b0b0b0b) waits for it by its old name: `dotbot task edit 0b0b0b0b --add-dependency ',
  );
  const mended = await world.call(edit, { task_id: "B", add_dependencies: ["Renamed"], remove_dependencies: ["A"] });
  expect(mended.result).toMatchObject({ changed: true });
});
