import { describe, expect, test } from "bun:test";

import * as v from "valibot";

import { flagsOf, spelt, usage } from "../../cmd/flags.ts";
import { explained, helpText } from "../../cmd/help.ts";
import { referenceText } from "../../cmd/reference.ts";
import type { Commands, Page } from "../../cmd/route.ts";
import type { AnyOperation } from "../../lib/op.ts";
import { allOperations } from "../../lib/ops.ts";
import { DUMMIES, TASK, taskAdd } from "../e2e/dummy/operations.ts";

const commands: Commands = { nouns: DUMMIES, surfaces: {} };
const operations = await allOperations(DUMMIES);
const task = DUMMIES["task"];
if (task === undefined) throw new Error("the dummies have a task noun");

/** An operation whose page is longer than any screen. */
const long: AnyOperation = {
  ...taskAdd,
  details: "A first sentence. " + "Then many more words about the matter. ".repeat(20).trim(),
  input: v.strictObject(
    Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `field_${i}`,
        v.optional(v.pipe(v.string(), v.description("words ".repeat(20).trim()))),
      ]),
    ),
  ),
  positional: [],
};

const many: Page = {
  page: "group",
  name: "task",
  noun: task,
  operations: Array.from({ length: 40 }, (_, i) => ({
    ...taskAdd,
    name: `task verb-${i}`,
    ...(i < 3 ? { toolset: "all" as const } : {}),
  })),
};

const pages: readonly (readonly [title: string, page: Page])[] = [
  ["dotbot", { page: "dotbot" }],
  ["task", { page: "group", name: "task", noun: task, operations: TASK }],
  ["a noun of 40 verbs", many],
  ...operations.map((op) => [op.name, { page: "operation", operation: op }] as const),
  ["a verb of 40 flags", { page: "operation", operation: long }],
];

describe("every page", () => {
  test.each(pages)("%s: begins with examples, fits 80 columns and a screen", (_title, page) => {
    const screen = helpText(page, commands, 24);
    expect(screen).toStartWith("Examples:\n  dotbot ");
    expect(screen.split("\n").length).toBeLessThanOrEqual(24);
    for (const text of [screen, helpText(page, commands, null)]) {
      for (const line of text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
      expect(text).not.toMatch(/ \n|\n\n\n|undefined/);
    }
  });
});

test("what doesn't fit is named, and the way to all of it", () => {
  const screen = helpText({ page: "operation", operation: long }, commands, 24);
  expect(screen).toMatch(/More options: --field-\d+, /);
  expect(screen).toContain("All of this page: dotbot help task add | cat\n");
  const whole = helpText({ page: "operation", operation: long }, commands, null);
  expect(whole).toContain("--field-39");
  expect(whole).not.toContain("| cat");

  const verbs = helpText(many, commands, 24);
  expect(verbs).toMatch(/\nAlso: verb-\d+, /);
  // What agents rarely need comes last.
  expect(verbs).toMatch(/verb-0, verb-1, verb-2\n/);
});

test("a verb's page", () => {
  expect(helpText({ page: "operation", operation: taskAdd }, commands, null)).toBe(`Examples:
  dotbot task add "Fix the login"
      put a task at the end
  dotbot task add Deploy --depends-on 1a2b,3c4d --priority 10
      one that waits for two others

Usage: dotbot task add [<name>] [options]
       also: dotbot task new

Put a task into the queue. Use it for every piece of work that should not be
forgotten. The task waits until what it depends on is done.

Options:
  -d, --description <text>  what has to be done (- for stdin)
  --priority <n>            lower is sooner (1 to 100; default 50)
  --effort <XS|S|M|L|XL>    how much work it is
  --depends-on <task>…      tasks that must be done before (repeat, or a,b)
  --criteria <text>…        what must hold in the end (repeat it for more)
  --skip-analysis           start without an analysis
  --no-commit               leave the commit to the caller
  --analysis <json|file|->  the analysis, as an object
  --session <text>          the session of the caller

Everywhere: -C, --json, --yes, --lock-wait, --quiet, --no-color: see dotbot help
`);
});

test("a noun's page", () => {
  expect(helpText({ page: "group", name: "task", noun: task, operations: TASK }, commands, null)).toBe(`Examples:
  dotbot task add "Fix the login"  put a task at the end
  dotbot task list --status todo   what waits to be done
  dotbot task start 1a2b           start one

Usage: dotbot task <verb> [options]
       dotbot task, alone: dotbot task list

Verbs:
  add     Put a task into the queue
  list    List the tasks
  start   Start work on tasks
  ask     Ask a person
  answer  Say what task answer was given

dotbot help task <verb> explains one.
`);
});

test.each([
  ["task add", "task add [<name>] [options]"],
  ["task start", "task start <task>…"],
  ["task answer", "task answer [<task>] <answer>"],
  ["guard commit", "guard commit [<file>…] --message <text>"],
  ["wt run", "wt run [<task>] -- <command>…"],
])("usage of %s", (name, line) => {
  const op = operations.find((candidate) => candidate.name === name);
  expect(op && usage(op)).toBe(line);
});

test("every flag tells what completion needs", () => {
  const flags = flagsOf(taskAdd).filter((flag) => !flag.hidden);
  expect(flags.map((flag) => [spelt(flag), flag.shape.kind, flag.complete])).toEqual([
    ["-d, --description <text>", "string", "none"],
    ["--priority <n>", "integer", "none"],
    ["--effort <XS|S|M|L|XL>", "enum", "none"],
    ["--depends-on <task>…", "list", "task"],
    ["--criteria <text>…", "list", "none"],
    ["--skip-analysis", "boolean", "none"],
    ["--no-commit", "boolean", "none"],
    ["--analysis <json|file|->", "object", "none"],
    ["--session <text>", "string", "none"],
  ]);
  expect(flags.every((flag) => explained(flag) !== "")).toBe(true);
});

test("the reference lists every command, argument and error", () => {
  const text = referenceText({
    nouns: DUMMIES,
    operations,
    settings: [
      { key: "queue.branch", type: "text", default: "dotbot/queue", env: "", description: "where `task save` goes" },
    ],
  });
  for (const op of operations) expect(text).toContain(`\n### ${op.name}\n`);
  expect(text).toContain("| `effort` | one of XS, S, M, L, XL | how much work it is. |");
  expect(text).toContain("| `TASK_NOT_FOUND` | 3 | no task answers to that name |");
  expect(text).toContain("| `queue.branch` | text | `dotbot/queue` |  | where `task save` goes |");
  expect(text).toContain("No tool: command line only");
});
