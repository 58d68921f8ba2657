/** What worktrees are called, what counts as the queue's, and what never counts: decided without a file or a git. */
import { describe, expect, test } from "bun:test";

import type { Change } from "../../lib/git/merge.ts";
import { queueChanges } from "../../lib/task/queue-paths.ts";
import { branchName, folderName, lockedFor, namedFor, subjectOf } from "../../lib/wt/model.ts";
import { isDisposable } from "../../lib/wt/plan.ts";

const id = "1A2B3C4D-0000-4000-8000-000000000001".toLowerCase();

describe("names", () => {
  const rows: readonly (readonly [name: string, slug: string])[] = [
    ["Add a login page", "add-a-login-page"],
    ["  Füge Übergrößen -- hinzu! ", "fuge-ubergrossen-hinzu"],
    ["日本語", "task"],
    ["x".repeat(60), "x".repeat(50)],
    [`${"x".repeat(49)} y`, "x".repeat(49)],
  ];
  test.each(rows)("%s", (name, slug) => {
    expect(branchName({ id, name })).toBe(`task/1a2b3c4d-${slug}`);
    expect(folderName({ id, name })).toBe(`task-1a2b3c4d-${slug}`);
    expect([namedFor(branchName({ id, name })), namedFor(folderName({ id, name }))]).toEqual(["1a2b3c4d", "1a2b3c4d"]);
  });

  const reasons: readonly (readonly [reason: string | null, id8: string | null])[] = [
    ["dotbot:1a2b3c4d", "1a2b3c4d"],
    ["dotbot:1a2b", null],
    ["on a stick", null],
    ["", null],
    [null, null],
  ];
  test.each(reasons)("a lock for %j is ours for %j", (reason, id8) => {
    expect(lockedFor(reason)).toBe(id8);
  });

  const formats: readonly (readonly [format: string, category: string | null, subject: string])[] = [
    ["{type}: {name} [task:{id8}]", "feature", "feat: Add a login page [task:1a2b3c4d]"],
    ["{type}: {name} [task:{id8}]", "bugfix", "fix: Add a login page [task:1a2b3c4d]"],
    ["{category} {slug} {id}", null, ` add-a-login-page ${id}`],
  ];
  test.each(formats)("%s of %j", (format, category, subject) => {
    expect(subjectOf(format, { id, name: "Add a\nlogin  page", category })).toBe(subject);
  });
});

describe("what a branch did to the queue", () => {
  const entry = { mode: "100644", oid: "a".repeat(40) };
  const added = (path: string): Change => ({ path, status: "A", old: null, new: entry });
  const deleted = (path: string): Change => ({ path, status: "D", old: entry, new: null });
  const rows: readonly (readonly [title: string, changes: readonly Change[], paths: readonly string[]])[] = [
    [
      "other files are the branch's",
      [added("src/a"), added(".bot/workspace/product/x"), added(".bot/settings.json")],
      [],
    ],
    ["a task file", [added(".bot/workspace/tasks/todo/x.json")], [".bot/workspace/tasks/todo/x.json"]],
    ["in any spelling", [added(".Bot/Workspace/TASKS/x")], [".Bot/Workspace/TASKS/x"]],
    ["a name that only begins alike", [added(".bot/workspace/tasks-old/x")], []],
    [
      "a file in a folder's place takes what was below along",
      [added(".bot/workspace"), deleted(".bot/workspace/product/x"), deleted("src/a")],
      [".bot/workspace", ".bot/workspace/product/x"],
    ],
  ];
  test.each(rows)("%s", (_title, changes, paths) => {
    expect(queueChanges(changes).paths).toEqual(paths);
  });

  test("a status is what the branch puts a task file into", () => {
    const changes = [
      deleted(".bot/workspace/tasks/todo/a-1a2b3c4d.json"),
      added(".bot/workspace/tasks/done/a-1a2b3c4d.json"),
      added(".bot/workspace/tasks/samples/b-1a2b3c4e.json"),
    ];
    expect(queueChanges(changes).statuses).toEqual([
      { path: ".bot/workspace/tasks/done/a-1a2b3c4d.json", id8: "1a2b3c4d", status: "done" },
    ]);
  });
});

test("a disposable name counts at any depth, and for all below it", () => {
  const globs = ["node_modules", "*.pyc"]
    .map((glob) => new Bun.Glob(glob))
    .map((glob) => (name: string) => glob.match(name));
  const of = (path: string): boolean => isDisposable(path, globs);
  expect([of("node_modules/"), of("a/node_modules/x/y"), of("a/b.pyc"), of(".env"), of("my_node_modules/")]).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
