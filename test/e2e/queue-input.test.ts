/** What can be said wrongly to the queue: a clear error with the right status, and nothing else has changed. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { fileTree, taskId, taskId8 } from "../kit/tasks.ts";
import { at, makeWorld, type Refusal, type World } from "../kit/world.ts";

let world: World;
beforeAll(async () => {
  world = await makeWorld({
    seeds: [
      { name: "Add a login page" },
      { name: "Add a logout button", fields: { dependencies: ["task-1"] } },
      { name: "Same" },
      { name: "Same" },
      { status: "cancelled" },
    ],
  });
  await world.ok(["task", "claim", taskId8(3), "--owner", "grace"]);
});
afterAll(async () => await world[Symbol.asyncDispose]());

const one = taskId8(1);
const bulk = (bad: unknown): string =>
  JSON.stringify(Array.from({ length: 500 }, (_, i) => (i === 499 ? bad : { name: `Item ${i}` })));

interface Row {
  readonly what: string;
  readonly args: readonly string[];
  readonly stdin?: string | Uint8Array;
  readonly code: string;
  readonly status: number;
  /** Has to be in message, hint or example. */
  readonly says: readonly string[];
}

const ROWS: readonly Row[] = [
  {
    what: "a task that isn't there",
    args: ["task", "show", "Add a logn page"],
    code: "TASK_NOT_FOUND",
    status: 3,
    says: ["Add a logn page", "Add a login page", "dotbot task show"],
  },
  {
    what: "a prefix too short",
    args: ["task", "show", one.slice(0, 3)],
    code: "TASK_NOT_FOUND",
    status: 3,
    says: ["at least 4"],
  },
  {
    what: "a name that two have",
    args: ["task", "start", "Same"],
    code: "AMBIGUOUS_TASK",
    status: 2,
    says: [taskId8(3), taskId8(4)],
  },
  { what: "an unknown verb", args: ["task", "strat", one], code: "UNKNOWN_COMMAND", status: 2, says: ["start"] },
  {
    what: "an unknown flag",
    args: ["task", "add", "x", "--priorty", "3"],
    code: "UNKNOWN_FLAG",
    status: 2,
    says: ["--priority"],
  },
  {
    what: "an unknown status",
    args: ["task", "list", "--status", "don"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["done"],
  },
  {
    what: "an illegal transition",
    args: ["task", "review", one],
    code: "ILLEGAL_TRANSITION",
    status: 4,
    says: ["todo", "needs-review", "in-progress"],
  },
  {
    what: "a final status",
    args: ["task", "start", taskId8(5)],
    code: "ILLEGAL_TRANSITION",
    status: 4,
    says: ["cancelled", "final"],
  },
  {
    what: "a branch without a commit",
    args: ["task", "start", one, "--branch", "main"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["commit is missing"],
  },
  {
    what: "a commit without a branch",
    args: ["task", "start", one, "--commit", "abc1234"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["branch is missing"],
  },
  {
    what: "somebody else's claim",
    args: ["task", "start", taskId8(3), "--owner", "ada"],
    code: "NOT_HOLDER",
    status: 4,
    says: ["grace", "--steal"],
  },
  {
    what: "an edit of a task that somebody else holds",
    args: ["task", "edit", taskId8(3), "--priority", "1"],
    code: "NOT_HOLDER",
    status: 4,
    says: ["grace"],
  },
  { what: "an empty name", args: ["task", "add", ""], code: "INVALID_INPUT", status: 2, says: ["name"] },
  {
    what: "a name of control characters",
    args: ["task", "add", "\u0001\u0002\u2028"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["name", "nothing printable"],
  },
  {
    what: "a priority out of range",
    args: ["task", "add", "x", "--priority", "0"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["1", "100"],
  },
  {
    what: "a priority that is no number",
    args: ["task", "add", "x", "--priority", "high"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["high"],
  },
  {
    what: "an unknown category",
    args: ["task", "add", "x", "--category", "featur"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["feature"],
  },
  {
    what: "an effort in lower case",
    args: ["task", "add", "x", "--effort", "xl"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["XL"],
  },
  {
    what: "a dependency that doesn't exist",
    args: ["task", "add", "x", "--depends-on", "nothing-like-it"],
    code: "TASK_NOT_FOUND",
    status: 3,
    says: ["nothing-like-it"],
  },
  {
    what: "a dependency of two meanings",
    args: ["task", "add", "x", "--depends-on", "Same"],
    code: "AMBIGUOUS_TASK",
    status: 2,
    says: ["Same"],
  },
  {
    what: "a dependency that closes a circle",
    args: ["task", "edit", one, "--add-dependency", taskId(2)],
    code: "CYCLE",
    status: 2,
    says: ["Add a logout button"],
  },
  {
    what: "a task that waits for itself",
    args: ["task", "edit", one, "--add-dependency", taskId(1)],
    code: "CYCLE",
    status: 2,
    says: ["itself"],
  },
  {
    what: "a condition that leaves the repository",
    args: ["task", "add", "x", "--condition", "../secret"],
    code: "OUTSIDE_REPOSITORY",
    status: 2,
    says: ["../secret"],
  },
  {
    what: "a condition from the root",
    args: ["task", "add", "x", "--condition", "/etc/passwd"],
    code: "OUTSIDE_REPOSITORY",
    status: 2,
    says: ["/etc/passwd"],
  },
  {
    what: "a reserved field",
    args: ["task", "edit", one, "--fields", '{"status":"done"}'],
    code: "INVALID_INPUT",
    status: 2,
    says: ["status"],
  },
  {
    what: "another tool's word for dependencies",
    args: ["task", "add", "x", "--fields", '{"depends_on":["y"]}'],
    code: "INVALID_INPUT",
    status: 2,
    says: ["dependencies"],
  },
  {
    what: "JSON cut short on stdin",
    args: ["task", "add", "--json-file", "-"],
    stdin: '{"name": "x", ',
    code: "INVALID_INPUT",
    status: 2,
    says: ["line 1"],
  },
  {
    what: "a list where an object belongs",
    args: ["task", "add", "--json-file", "-"],
    stdin: "[1,2]",
    code: "INVALID_INPUT",
    status: 2,
    says: ["object"],
  },
  {
    what: "bytes that aren't UTF-8",
    args: ["task", "add", "--json-file", "-"],
    stdin: new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    code: "INVALID_INPUT",
    status: 2,
    says: ["UTF-8"],
  },
  {
    what: "wrong types in JSON",
    args: ["task", "add", "--json-file", "-"],
    stdin: '{"name":"x","steps":"one","priority":"high"}',
    code: "INVALID_INPUT",
    status: 2,
    says: ["--step", "--priority"],
  },
  {
    what: "a bulk list whose last item is bad",
    args: ["task", "add-bulk", "-"],
    stdin: bulk({ name: "", priority: 3 }),
    code: "INVALID_INPUT",
    status: 2,
    says: ["499"],
  },
  {
    what: "a bulk list whose last item waits for nothing",
    args: ["task", "add-bulk", "-"],
    stdin: bulk({ name: "x", dependencies: ["nowhere"] }),
    code: "TASK_NOT_FOUND",
    status: 3,
    says: ["nowhere"],
  },
  {
    what: "an answer that nobody asked for",
    args: ["task", "answer", one, "A"],
    code: "ILLEGAL_TRANSITION",
    status: 4,
    says: ["todo"],
  },
  {
    what: "a single option",
    args: ["task", "ask", one, "--question", "Q?", "--option", "A=x"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["2"],
  },
  {
    what: "a skip without its reason",
    args: ["task", "skip", one],
    code: "INVALID_INPUT",
    status: 2,
    says: ["--reason"],
  },
  {
    what: "a ttl that is no time",
    args: ["task", "claim", one, "--ttl", "soon"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["soon", "30m"],
  },
  {
    what: "a process that doesn't run",
    args: ["task", "claim", one, "--pid", "4194303"],
    code: "INVALID_INPUT",
    status: 2,
    says: ["4194303"],
  },
  {
    what: "a folder that isn't there",
    args: ["task", "list", "-C", "no/such"],
    code: "NOT_FOUND",
    status: 3,
    says: ["no/such"],
  },
];

test.each(ROWS.map((row) => [row.what, row] as const))("%s", async (_, { args, stdin, code, status, says }) => {
  const before = fileTree(world.tasks);
  const result = await world.dotbot([...args, "--json"], stdin === undefined ? {} : { stdin });
  const error = at(JSON.parse(result.stdout), "error") as Refusal;
  expect({ code: error.code, status: result.status, stderr: result.stderr }).toEqual({ code, status, stderr: "" });
  const told = [error.message, error.hint, error.example].join("\n");
  for (const part of says) expect(told).toContain(part);
  expect(fileTree(world.tasks)).toEqual(before);
  // The same for a person: all of it on stderr, and no control character among it.
  const text = await world.dotbot(args, stdin === undefined ? {} : { stdin });
  expect([text.status, text.stdout]).toEqual([status, ""]);
  expect(text.stderr).toStartWith("dotbot: ");
  expect(text.stderr).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u2028\u2029]/);
});

describe("big and odd values", () => {
  test("a name of a megabyte is cut, and told so", async () => {
    await using other = await makeWorld();
    const name = "ä".repeat(500_000);
    const { status, stderr, stdout } = await other.dotbot(["task", "add", "--json-file", "-", "--json"], {
      stdin: JSON.stringify({ name }),
    });
    expect(status).toBe(0);
    expect(at(JSON.parse(stdout), "task", "name")).toBe("ä".repeat(256));
    expect(stderr).toContain("was cut from 500000 to 256 characters");
  });

  test("a description of a megabyte, any characters: stored whole but for its control characters", async () => {
    await using other = await makeWorld();
    const description = "line\tone\r\nline two \u{1F600}\u0000\u001B[31m\n".repeat(30_000);
    await other.ok(
      ["task", "add", "Big", "-", "--description", "-"].filter((word, i) => !(word === "-" && i === 3)),
      { stdin: description },
    );
    const stored = String(at(await other.ok(["task", "show", "Big"]), "task", "description"));
    expect(stored).toBe("line\tone\nline two \u{1F600}[31m\n".repeat(30_000));
  });

  test("a name with control characters loses them", async () => {
    await using other = await makeWorld();
    const answer = await other.ok(["task", "add", "A\u0007 \u001B[31mred\n name\u2028"]);
    expect(at(answer, "task", "name")).toBe("A [31mred name");
  });
});

describe("settings that can't be read", () => {
  test.each([
    ["don't parse", "{ not json", "settings.json"],
    ["have a wrong type", '{"queue":{"tracked":"yes"}}', "tracked"],
  ])("%s: told with path and position, before anything is changed", async (_, text, says) => {
    await using other = await makeWorld({ seeds: [{}] });
    await other.ok(["task", "list"]);
    writeFileSync(join(other.main, ".bot", "settings.json"), text);
    const before = fileTree(other.tasks);
    const error = await other.refused("INVALID_SETTINGS", ["task", "start", taskId8(1)]);
    expect(error.message).toContain(says);
    expect(fileTree(other.tasks)).toEqual(before);
  });
});

describe("files in the queue that are no tasks", () => {
  test("broken, empty, doubled and foreign files are told, left alone, and keep nobody from working", async () => {
    await using other = await makeWorld({ seeds: [{}, {}] });
    const todo = join(other.tasks, "todo");
    writeFileSync(join(todo, "half-11111111.json"), '{"id": "11111111-0000-4000-8000-000000000000", "name": ');
    writeFileSync(join(todo, "empty-22222222.json"), "");
    writeFileSync(join(todo, "list-33333333.json"), "[]");
    writeFileSync(join(todo, "noid-44444444.json"), '{"name":"no id"}');
    writeFileSync(join(todo, "bytes-55555555.json"), new Uint8Array([0x7b, 0xff, 0x7d]));
    writeFileSync(
      join(todo, `twin-${taskId8(1)}.json`),
      `{"id":"${taskId8(1)}-1111-4000-8000-000000000000","name":"same first digits"}`,
    );
    writeFileSync(join(todo, "notes.txt"), "not ours");
    mkdirSync(join(other.tasks, "todo", "edited_tasks"));
    writeFileSync(join(other.tasks, "todo", "edited_tasks", "x.json"), "{}");
    const before = fileTree(other.tasks);
    const list = await other.ok(["task", "list"]);
    expect(list["total"]).toBe(2);
    const broken = list["broken"];
    expect(
      (Array.isArray(broken) ? broken : [])
        .map((file: unknown) => String(at(file, "path")).slice(todo.length + 1))
        .toSorted(),
    ).toEqual(
      [
        "bytes-55555555.json",
        "empty-22222222.json",
        "half-11111111.json",
        "list-33333333.json",
        "noid-44444444.json",
        `twin-${taskId8(1)}.json`,
      ].toSorted(),
    );
    const half = (Array.isArray(broken) ? broken : []).find((file: unknown) =>
      String(at(file, "path")).includes("half-"),
    );
    expect(half).toMatchObject({ line: 1 });
    await other.ok(["task", "start", taskId8(1)]);
    const after = fileTree(other.tasks);
    for (const [path, text] of before)
      if (!path.includes("task-1-")) expect({ path, text: after.get(path) }).toEqual({ path, text });
  });

  test("the same task twice: one is the task, the other is kept as a conflict or told as stale, and neither is lost", async () => {
    await using other = await makeWorld({ seeds: [{}] });
    await other.ok(["task", "list"]);
    const copy = join(other.tasks, "analysed", "copy-by-hand.json");
    mkdirSync(join(other.tasks, "analysed"), { recursive: true });
    const text = '{"id":"' + taskId(1) + '","name":"Other words","updated_at":"2020-01-01T00:00:00Z"}\n';
    writeFileSync(copy, text);
    const list = await other.ok(["task", "list"]);
    expect(list["total"]).toBe(1);
    await other.ok(["task", "start", taskId8(1)]);
    const { versions } = await other.ok(["task", "history", taskId8(1)]);
    expect((Array.isArray(versions) ? versions : []).map((version: unknown) => at(version, "kind"))).toEqual([
      "adopted",
      "older",
      "write",
    ]);
    expect(at(await other.ok(["task", "show", taskId8(1)]), "task", "name")).toBe("Task 1");
  });
});
