/** History, restoring, removing, archiving, settling conflicts, waiting, boards. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

import { Queue } from "../../lib/task/queue.ts";
import { resolveRepo } from "../../lib/git/repo.ts";
import { add, addBulk } from "../../lib/task/ops/add.ts";
import { board, wait } from "../../lib/task/ops/board.ts";
import { claim } from "../../lib/task/ops/claims.ts";
import { edit } from "../../lib/task/ops/edit.ts";
import { graph } from "../../lib/task/ops/graph.ts";
import { history, restore } from "../../lib/task/ops/history.ts";
import { list } from "../../lib/task/ops/list.ts";
import { archive, remove } from "../../lib/task/ops/remove.ts";
import { resolve } from "../../lib/task/ops/resolve.ts";
import { show } from "../../lib/task/ops/show.ts";
import { done } from "../../lib/task/ops/done.ts";
import { reset, start } from "../../lib/task/ops/transitions.ts";
import { inProcess, type InProcess, type Loose, refusal } from "../kit/call.ts";

async function one(world: InProcess, name = "A"): Promise<Loose> {
  return (await world.call(show, { task_id: name })).result["task"] as Loose;
}

async function total(world: InProcess, filter: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  return (await world.call(list, filter)).result["total"];
}

describe("history", () => {
  test("every step and every version, and what each changed", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await world.call(edit, { task_id: "A", priority: 3, tags: ["x"] });
    await world.call(start, { task_id: "A" });
    const { result } = await world.call(history, { task_id: "A", diff: true });
    expect((result["history"] as Loose[]).map(({ from, to }) => [from, to])).toEqual([
      [undefined, "todo"],
      ["todo", "in-progress"],
    ]);
    expect(
      (result["versions"] as Loose[]).map(({ revision, status, kind, current, changed }) => [
        revision,
        status,
        kind,
        current,
        changed,
      ]),
    ).toEqual([
      [1, "todo", "write", false, []],
      [2, "todo", "write", false, ["priority", "tags"]],
      [3, "in-progress", "write", true, ["status", "started_at"]],
    ]);
    expect((result["diffs"] as Loose[])[0]).toEqual({
      revision: 2,
      changes: [
        { field: "priority", before: 50, after: 3 },
        { field: "tags", after: ["x"] },
      ],
    });
    expect((await world.call(history, { task_id: "A", revision: 1 })).result["revision"]).toMatchObject({
      priority: 50,
      revision: 1,
    });
    expect(await world.text(history, { task_id: "A", revision: 2, diff: true })).toBe(
      "- priority: 50\n+ priority: 3\n+ tags: x\n",
    );
    expect(await refusal(world.call(history, { task_id: "A", revision: 9 }))).toMatchObject({
      code: "NOT_FOUND",
      hint: "it has revisions 1 to 3",
    });
  });
});

describe("restore", () => {
  test("an earlier content comes back as a new version, and the status stays", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A", description: "first" });
    await world.call(edit, { task_id: "A", description: "second", tags: ["x"] });
    await world.call(start, { task_id: "A" });
    const { result } = await world.call(restore, { task_id: "A", revision: 1 });
    expect(result).toMatchObject({
      restored: 1,
      changed: true,
      newStatus: "in-progress",
      task: { description: "first", status: "in-progress", revision: 4 },
    });
    expect(result["task"]).not.toHaveProperty("tags");
    expect(result["task"]).toHaveProperty("started_at");
    expect((await world.call(restore, { task_id: "A", revision: 1 })).result).toMatchObject({
      changed: false,
      task: { revision: 4 },
    });
  });

  test("the earlier status only along the transition table", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await world.call(start, { task_id: "A" });
    await world.call(done, { task_id: "A" });
    expect(await refusal(world.call(restore, { task_id: "A", revision: 2, with_status: true }))).toMatchObject({
      code: "ILLEGAL_TRANSITION",
    });
    expect((await world.call(restore, { task_id: "A", revision: 1, with_status: true })).result).toMatchObject({
      oldStatus: "done",
      newStatus: "todo",
      task: { completed_at: null },
    });
  });

  test("a removed task comes back, by name, as it was", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A", priority: 3 });
    await world.call(done, { task_id: "A" });
    const { path } = (await world.call(remove, { task_id: "A" })).result;
    expect(existsSync(String(path))).toBe(false);
    expect(await total(world)).toBe(0);
    expect(await refusal(world.call(show, { task_id: "A" }))).toMatchObject({ code: "TASK_NOT_FOUND" });
    const { result } = await world.call(restore, { task_id: "A" });
    expect(result).toMatchObject({ path, newStatus: "done", task: { name: "A", priority: 3, status: "done" } });
    expect(readFileSync(String(path), "utf8")).toContain("the task had been removed");
  });

  test("without a revision it asks for one", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    expect(await refusal(world.call(restore, { task_id: "A" }))).toMatchObject({
      code: "INVALID_INPUT",
      details: { missing: ["revision"] },
    });
  });
});

describe("remove", () => {
  test("refused while open tasks depend on it, unless forced; then they are blocked and named", async () => {
    await using world = await inProcess();
    await world.call(addBulk, { tasks: [{ name: "A" }, { name: "B", dependencies: ["A"] }] });
    expect(await refusal(world.call(remove, { task_id: "A" }))).toMatchObject({
      code: "REFUSED",
      details: { dependents: [{ name: "B" }] },
    });
    const { result } = await world.call(remove, { task_id: "A", force_dependents: true });
    expect(result["dependents"]).toMatchObject([{ name: "B", status: "todo" }]);
    expect(await total(world, { blocked: true })).toBe(1);
  });

  test("refused while somebody else holds it, or it has a worktree", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await world.call(claim, { task_id: "A", owner: "grace" });
    expect(await refusal(world.call(remove, { task_id: "A" }))).toMatchObject({ code: "NOT_HOLDER" });
    const ctx = world.ctx();
    using queue = await Queue.open(ctx, await resolveRepo(ctx));
    const id = String((await one(world))["id"]);
    await queue.write("test", (tx) => tx.ledger.putRecord("worktree", id, { path: "/somewhere" }));
    expect(await refusal(world.call(remove, { task_id: "A", owner: "grace" }))).toMatchObject({
      code: "REFUSED",
      example: `dotbot wt remove ${id.slice(0, 8)}`,
    });
  });

  test("a git command that brings the file back doesn't bring the task back", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    const path = String((await world.call(show, { task_id: "A" })).result["path"]);
    const content = readFileSync(path);
    await world.call(remove, { task_id: "A" });
    writeFileSync(path, content);
    expect(await total(world)).toBe(0);
  });
});

describe("archive", () => {
  test("finished tasks go out of sight, still satisfy, and come back", async () => {
    await using world = await inProcess();
    await world.call(addBulk, { tasks: [{ name: "A" }, { name: "B", dependencies: ["A"] }] });
    await world.call(done, { task_id: "A" });
    expect((await world.call(archive, { tasks: ["A"] })).result).toMatchObject({
      changed: true,
      tasks: [{ name: "A" }],
    });
    expect((await world.call(archive, { tasks: ["A"] })).result).toMatchObject({ changed: false, tasks: [] });
    expect([await total(world), await total(world, { archived: true }), await total(world, { blocked: true })]).toEqual(
      [1, 1, 0],
    );
    expect((await world.call(show, { task_id: "A" })).result["path"]).toContain("/tasks/archive/");
    await world.call(archive, { tasks: ["A"], undo: true });
    expect([await total(world), await total(world, { archived: true })]).toEqual([2, 0]);
  });

  test("by age, and open ones never", async () => {
    await using world = await inProcess();
    await world.call(addBulk, { tasks: [{ name: "Old" }, { name: "Open" }] });
    await world.call(done, { task_id: "Old" });
    expect((await world.call(archive, { older_than: "30d" })).result).toMatchObject({ tasks: [] });
    const now = () => new Date("2024-07-01T00:00:00Z");
    expect((await world.call(archive, { older_than: "30d" }, { now })).result).toMatchObject({
      tasks: [{ name: "Old" }],
    });
    expect(await refusal(world.call(archive, { tasks: ["Open"] }))).toMatchObject({ code: "REFUSED" });
    expect(await refusal(world.call(archive))).toMatchObject({ code: "USAGE" });
  });

  test("an archived task that is opened again is in sight again", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    await world.call(done, { task_id: "A" });
    await world.call(archive, { tasks: ["A"] });
    expect((await world.call(reset, { task_id: "A" })).result["path"]).toContain("/tasks/todo/");
    expect(await total(world)).toBe(1);
  });
});

describe("resolve", () => {
  /** A task that was started here, and cancelled in a file that knows nothing of the start. */
  async function conflicting(): Promise<InProcess> {
    const world = await inProcess();
    await world.call(add, { name: "A", description: "ours" });
    const { result } = await world.call(show, { task_id: "A" });
    const before = result["task"] as Loose & { history: Loose[] };
    await world.call(start, { task_id: "A" });
    const theirs = {
      at: "2024-06-01T00:00:00Z",
      from: "todo",
      to: "todo",
      by: "grace",
      session_id: "s",
      branch: "x",
      commit: "y",
      reason: "elsewhere",
    };
    writeFileSync(
      String((await world.call(show, { task_id: "A" })).result["path"]),
      JSON.stringify({
        ...before,
        description: "theirs",
        status: "in-progress",
        updated_at: "2024-06-01T00:00:00Z",
        history: [...before.history, theirs],
      }),
    );
    await world.call(list);
    return world;
  }

  test("lists what differs, and list and show tell of it", async () => {
    await using world = await conflicting();
    expect(await one(world)).toMatchObject({ description: "ours", status: "in-progress" });
    const { result } = await world.call(resolve);
    expect(result).toMatchObject({ changed: false, settled: [], conflicts: [{ name: "A", kind: "conflict" }] });
    expect((result["conflicts"] as Loose[])[0]?.["changes"]).toContainEqual({
      field: "description",
      before: "ours",
      after: "theirs",
    });
    expect((await world.call(list)).result["conflicts"]).toMatchObject([{ name: "A" }]);
    expect((await world.call(show, { task_id: "A" })).result["conflicts"]).toHaveLength(1);
  });

  const choices: readonly [choice: string, input: Readonly<Record<string, unknown>>, description: string][] = [
    ["ours", { ours: true }, "ours"],
    ["theirs", { theirs: true }, "theirs"],
    ["a file", { merged: { name: "A", description: "both", priority: 50 } }, "both"],
  ];
  test.each(choices)(
    "%s is the version from then on, in ledger and file, and nothing is lost",
    async (_, input, description) => {
      await using world = await conflicting();
      const { result } = await world.call(resolve, { task_id: "A", ...input });
      expect(result).toMatchObject({
        changed: true,
        conflicts: [],
        settled: [{ name: "A" }],
        task: { description, status: "in-progress" },
      });
      const shown = (await world.call(show, { task_id: "A" })).result;
      expect(shown["task"]).toMatchObject({ description });
      expect(shown).not.toHaveProperty("conflicts");
      expect(JSON.parse(readFileSync(String(shown["path"]), "utf8"))).toEqual(shown["task"]);
      const versions = (await world.call(history, { task_id: "A" })).result["versions"] as Loose[];
      expect(versions.map(({ kind }) => kind)).toContain("older");
      expect(await refusal(world.call(resolve, { task_id: "A", ours: true }))).toMatchObject({ code: "NOT_FOUND" });
    },
  );

  test("both histories are kept when the other side is taken", async () => {
    await using world = await conflicting();
    const { result } = await world.call(resolve, { task_id: "A", theirs: true });
    const entries = (result["task"] as Loose)["history"] as Loose[];
    expect(entries.map(({ by, reason }) => [by, reason])).toEqual([
      ["ada", undefined],
      ["ada", undefined],
      ["grace", "elsewhere"],
      ["ada", expect.stringMatching(/^conflict settled with [0-9a-f]{12}$/)],
    ]);
  });
});

describe("wait", () => {
  test("ends at once when all is so far, and with status 1 when the time is up", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    expect(await world.call(wait, { tasks: ["A"], for: ["todo"] })).toMatchObject({ status: 0, result: { ok: true } });
    expect(await world.call(wait, { tasks: ["A"], timeout: "10ms" })).toMatchObject({
      status: 1,
      result: { ok: false, tasks: [{ status: "todo" }] },
    });
  });

  test("ends when another process finishes the task", async () => {
    await using world = await inProcess();
    await world.call(add, { name: "A" });
    const waiting = world.call(
      wait,
      { tasks: ["A"], timeout: "60s" },
      { progress: (line) => void (line !== null && world.call(done, { task_id: "A" })) },
    );
    expect(await waiting).toMatchObject({ status: 0, result: { ok: true, tasks: [{ status: "done" }] } });
  });
});

test("board: a column per status that fits the width", async () => {
  await using world = await inProcess();
  await world.call(addBulk, { tasks: [{ name: "A" }, { name: "B" }, { name: "C", dependencies: ["A"] }] });
  await world.call(start, { task_id: "B", owner: "ada" });
  const shown = async (width: number): Promise<string> =>
    (await world.text(board, {}, { style: { color: false, width } })).replaceAll(/\b[0-9a-f]{8}\b/g, "········");
  expect(await shown(60)).toBe(
    [
      "todo 2 ──────────────────────  in-progress 1 ───────────────",
      "········ A                     ········ @ B",
      "········ · C",
      "",
    ].join("\n"),
  );
  expect((await shown(40)).split("\n\n")).toHaveLength(2);
  expect(await world.text(board, { limit: 1 })).toContain("and 1 more");
});

describe("graph", () => {
  test("the open tasks, what they name, and what is wrong", async () => {
    await using world = await inProcess();
    await world.call(addBulk, {
      tasks: [{ name: "A" }, { name: "B", dependencies: ["A"] }, { name: "C", dependencies: ["B"] }, { name: "Done" }],
    });
    await world.call(done, { task_id: "Done" });
    const { result, status } = await world.call(graph);
    expect((result["nodes"] as Loose[]).map(({ name, layer, critical }) => [name, layer, critical])).toEqual([
      ["A", 0, true],
      ["B", 1, true],
      ["C", 2, true],
    ]);
    expect([status, result["ok"]]).toEqual([0, true]);
    expect(((await world.call(graph, { all: true })).result["nodes"] as Loose[]).length).toBe(4);
    expect(((await world.call(graph, { task_id: "Done" })).result["nodes"] as Loose[]).map(({ name }) => name)).toEqual(
      ["Done"],
    );
  });

  test("written to a file it is the answer's path", async () => {
    await using world = await inProcess();
    await world.call(add, { name: 'A <b> & "c"' });
    expect(await world.text(graph, { format: "html", output: "g.html" })).toBe(`${world.repo}/g.html\n`);
    const page = readFileSync(`${world.repo}/g.html`, "utf8");
    expect(page).toContain("A &lt;b&gt; &amp; &quot;c&quot;");
    expect(page).not.toMatch(/(?:src|href)=|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    expect(await refusal(world.call(graph, { output: "g.txt" }))).toMatchObject({ code: "USAGE" });
    expect(await refusal(world.call(graph, { format: "svg", output: "no/such/g.svg" }))).toMatchObject({
      code: "NOT_FOUND",
    });
  });
});
