import { describe, expect, test } from "bun:test";

import { fromBacklog, isBacklog } from "../../lib/task/import/backlog.ts";
import { fromBeads } from "../../lib/task/import/beads.ts";
import { fromDotbot4, isDotbot4 } from "../../lib/task/import/dotbot4.ts";
import { instantOf } from "../../lib/task/import/model.ts";

const yaml = (text: string): unknown => Bun.YAML.parse(text);

describe("dotbot 4", () => {
  const run = { path: "workflow-runs/2026-05-19-ship-AbCd/run.json", text: '{"id":"wr_12345678","workflow":"ship"}' };
  const task = (fields: object) => ({
    path: "workflow-runs/2026-05-19-ship-AbCd/t_AbCd1234.json",
    text: JSON.stringify({ schema_version: 2, id: "t_AbCd1234", name: "Ship it", status: "todo", ...fields }),
  });

  test.each([
    ["standalone/2026-05-19-fix-AbCd.json", true],
    ["tasks/standalone/x.json", true],
    ["workflow-runs/a/t_AbCd1234.json", true],
    ["workflow-runs/a/run.json", false],
    ["todo/x.json", false],
  ])("%s is one of its task files: %p", (path, is) => expect(isDotbot4(path)).toBe(is));

  test.each([
    ["critical", 10, "critical"],
    ["low", 75, "low"],
    [7, 7, undefined],
    [0, 1, 0],
    [undefined, 50, undefined],
  ])("priority %p becomes %p and is kept where it changed", (given, priority, kept) => {
    const { tasks } = fromDotbot4([task({ priority: given })]);
    expect(tasks[0]?.fields["priority"]).toBe(priority);
    expect(tasks[0]?.rest["priority"] as unknown).toEqual(kept);
  });

  test("its run, its extensions and its provenance stay with the task", () => {
    const { tasks } = fromDotbot4([
      run,
      task({ extensions: { ui: { x: 1 } }, provenance: { workflow: "ship" }, outputs: ["a"] }),
    ]);
    expect(tasks[0]?.fields).toMatchObject({
      extensions: { ui: { x: 1 } },
      provenance: { workflow: "ship" },
      outputs: ["a"],
    });
    expect(tasks[0]?.rest).toMatchObject({ run: { id: "wr_12345678", workflow: "ship" }, schema_version: 2 });
  });

  test("what can't be read is named, and doesn't hide the rest", () => {
    const { tasks, unreadable } = fromDotbot4([task({}), { path: "standalone/x.json", text: "{" }]);
    expect(tasks).toHaveLength(1);
    expect(unreadable[0]?.path).toBe("standalone/x.json");
  });
});

describe("beads", () => {
  const issue = (fields: object) =>
    fromBeads([{ path: "issues.jsonl", text: `${JSON.stringify({ id: "bd-1", title: "One", ...fields })}\n` }]);

  test.each([
    ["open", "todo"],
    ["in_progress", "in-progress"],
    ["blocked", "todo"],
    ["closed", "done"],
    ["tombstone", "cancelled"],
    ["a status of tomorrow", "todo"],
  ])("%s becomes %s, and its own word stays", (status, ours) => {
    const { tasks } = issue({ status });
    expect(tasks[0]?.status).toBe(ours as never);
    expect(tasks[0]?.rest["status"]).toBe(status);
  });

  test("only edges that block are dependencies", () => {
    const { tasks } = issue({
      dependencies: [
        { issue_id: "bd-1", depends_on_id: "bd-2", type: "blocks" },
        { issue_id: "bd-1", depends_on_id: "bd-3", type: "related" },
        { issue_id: "bd-1", depends_on_id: "bd-4", type: "parent-child" },
      ],
    });
    expect(tasks[0]?.fields["dependencies"]).toEqual(["bd-2"]);
    expect(tasks[0]?.rest["dependencies"]).toHaveLength(3);
  });

  test("a bad line is named with its number", () => {
    expect(fromBeads([{ path: "issues.jsonl", text: '{"id":"bd-1","title":"x"}\n{oops\n' }]).unreadable[0]?.path).toBe(
      "issues.jsonl:2",
    );
  });
});

describe("Backlog.md", () => {
  const file = (front: string, body = "", path = "backlog/tasks/task-6 - Parse.md") =>
    fromBacklog([{ path, text: `---\n${front}\n---\n${body}` }], yaml);

  test("readme files are no tasks", () => expect(isBacklog("backlog/tasks/README.md")).toBe(false));

  test.each([
    ["To Do", "todo"],
    ["◒ In Progress", "in-progress"],
    ["Done", "done"],
    ["Waiting for Bob", "todo"],
  ])("status %s becomes %s", (status, ours) => {
    expect(file(`id: TASK-6\ntitle: Parse\nstatus: ${status}`).tasks[0]?.status).toBe(ours as never);
  });

  test("description, criteria and steps are taken out of the body, which is kept whole", () => {
    const body = [
      "## Description",
      "<!-- SECTION:DESCRIPTION:BEGIN -->",
      "Read the files.",
      "<!-- SECTION:DESCRIPTION:END -->",
      "## Acceptance Criteria",
      "<!-- AC:BEGIN -->",
      "- [ ] #1 Parse the id",
      "- [x] #2 Parse the title",
      "<!-- AC:END -->",
      "## Implementation Plan",
      "1. Read",
      "2. Write",
      "## Notes",
      "Mind the gap.",
    ].join("\n");
    const { tasks } = file("id: TASK-6\ntitle: Parse\ndependencies: [TASK-1]\nlabels:\n  - cli\nmilestone: M1", body);
    expect(tasks[0]).toMatchObject({
      id: "TASK-6",
      fields: {
        name: "Parse",
        description: "Read the files.",
        acceptance_criteria: ["Parse the id", "Parse the title"],
        steps: ["Read", "Write"],
        dependencies: ["TASK-1"],
        tags: ["cli"],
      },
      rest: { milestone: "M1", body },
    });
  });

  test("front matter that isn't YAML is named", () => {
    expect(file("id: [").unreadable[0]?.message).toStartWith("its front matter can't be read");
  });
});

test.each([
  ["2025-07-26 14:30", "2025-07-26T14:30:00Z"],
  ["2025-07-26", "2025-07-26T00:00:00Z"],
  ["2025-07-26T14:30:00.5+02:00", "2025-07-26T12:30:00Z"],
  ["soon", undefined],
])("%s is the instant %p", (given, instant) => expect(instantOf(given)).toBe(instant as never));
