/**
 * The bug that the state root is there against: an agent in a task's worktree moves its task, the move lands in the worktree's
 * own copy of the queue, and the merge or the removal of the worktree takes it back.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { tryRun } from "../kit/git.ts";
import { fileTree, plainSeeds, shownTask, taskId8 } from "../kit/tasks.ts";
import { at, commitFiles, makeWorld } from "../kit/world.ts";

/** A way through every transition verb: the verb and its words, and where the task is then. */
const WAYS: readonly (readonly (readonly [verb: string, words: readonly string[], status: string])[])[] = [
  [
    ["analysing", [], "analysing"],
    ["ask", ["--question", "Which store?", "--option", "A=SQLite", "--option", "B=files"], "needs-input"],
    ["answer", ["A"], "analysing"],
    ["analysed", ["--analysis", '{"approach":"one table"}'], "analysed"],
    ["start", [], "in-progress"],
    ["review", ["--reason", "please look"], "needs-review"],
    ["done", [], "done"],
    ["reset", ["--reason", "once more"], "todo"],
    ["start", [], "in-progress"],
    ["done", [], "done"],
  ],
  [
    ["start", [], "in-progress"],
    ["fail", ["--reason", "no access"], "failed"],
    ["reset", [], "todo"],
    ["skip", ["--reason", "superseded"], "skipped"],
  ],
  [
    ["start", [], "in-progress"],
    ["cancel", ["--reason", "not wanted"], "cancelled"],
  ],
  [
    ["start", [], "in-progress"],
    [
      "ask",
      ["--split", '{"reason":"two things","sub_tasks":[{"name":"One half"},{"name":"Other half"}]}'],
      "needs-input",
    ],
    ["split", ["--approve"], "split"],
  ],
];

describe.each([
  ["untracked", false],
  ["tracked", true],
] as const)("%s queue, from inside a linked worktree", (_, tracked) => {
  test("every transition moves the main checkout's file and leaves the worktree's alone; no merge or removal takes it back", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(WAYS.length + 1), tracked });
    await world.ok(["task", "start", taskId8(1)]);
    await world.ok(["task", "reset", taskId8(1)]);
    const worktree = world.path("wt");
    await world.git("worktree", "add", "-q", "-b", "work", worktree);
    const inside = join(worktree, "src");
    mkdirSync(inside, { recursive: true });
    const before = fileTree(worktree);
    if (tracked) expect([...before.keys()].filter((path) => path.includes("/tasks/"))).toHaveLength(WAYS.length + 1);

    for (const [index, way] of WAYS.entries()) {
      const n = index + 1;
      for (const [verb, words, status] of way) {
        const answer = await world.ok(["task", verb, taskId8(n), ...words, "--session", "agent-1"], { cwd: inside });
        expect(at(answer, "stateRoot")).toBe(world.main);
        const shown = shownTask(world.main, n);
        expect({ verb, status: shown.status, field: shown.doc["status"] }).toEqual({ verb, status, field: status });
        // Provenance is the worktree's: that is where the work happens.
        const history = shown.doc["history"];
        expect(Array.isArray(history) ? history.at(-1) : history).toMatchObject({
          to: status,
          session_id: "agent-1",
          branch: "work",
        });
      }
    }
    expect(fileTree(worktree)).toEqual(before);
    const queue = fileTree(world.tasks);

    // What ends the usual life of a worktree.
    const undone = await tryRun(worktree, ["checkout", "--", ".bot/workspace/tasks"]);
    expect(undone.status).toBe(tracked ? 0 : 1);
    await commitFiles(worktree, { "src/feature.txt": "done\n" }, "the work");
    await world.git("merge", "-q", "--squash", "work");
    await world.git("commit", "-q", "-m", "squashed");
    await world.git("worktree", "remove", "--force", worktree);
    await world.git("branch", "-q", "-D", "work");

    expect(fileTree(world.tasks)).toEqual(queue);
    for (const [index, way] of WAYS.entries()) {
      const status = way.at(-1)?.[2] ?? "";
      expect(at(await world.ok(["task", "show", taskId8(index + 1)]), "task", "status")).toBe(status);
    }
    // The parts of the split are there, and the untouched task is.
    const list = await world.ok(["task", "list"]);
    expect([list["total"], list["broken"], list["conflicts"]]).toEqual([WAYS.length + 3, [], []]);
  });
});
