import { describe, expect, test } from "bun:test";

import type { TaskRow } from "../../lib/task/ledger.ts";
import type { Status } from "../../lib/task/model.ts";
import { pick, type PickOptions } from "../../lib/task/pick.ts";

let serial = 0;
/** A task of the queue, by its slug. Later ones are younger. */
function task(slug: string, fields: Partial<TaskRow> = {}): TaskRow {
  serial += 1;
  const id = `${serial.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
  return {
    id,
    id8: id.slice(0, 8),
    file: `${slug}-${id.slice(0, 8)}.json`,
    place: "view",
    status: "todo",
    rev: 1,
    name: `Task ${slug}`,
    slug,
    category: null,
    effort: null,
    priority: 50,
    createdAt: `2026-01-01T00:00:${String(serial % 60).padStart(2, "0")}Z`,
    updatedAt: "",
    completedAt: null,
    dependencies: [],
    conditions: [],
    tags: [],
    skipReason: null,
    children: [],
    hash: "",
    size: 0,
    mtimeMs: null,
    ...fields,
  };
}

const FREE: PickOptions = { pool: ["analysed", "todo"], claimedBy: () => null, unmet: () => null };
const picked = (rows: TaskRow[], options: Partial<PickOptions> = {}) => pick(rows, rows, { ...FREE, ...options });

test("a plain todo without dependencies is always picked", () => {
  expect(picked([task("a")]).row?.slug).toBe("a");
});

test("analysed comes before todo, whatever the priority; the pool's order says so", () => {
  const rows = [task("a", { priority: 1 }), task("b", { status: "analysed", priority: 99 })];
  expect(picked(rows).row?.slug).toBe("b");
  expect(picked(rows, { pool: ["todo", "analysed"] }).row?.slug).toBe("a");
});

describe("a dependency that is", () => {
  test.each([
    ["done", { status: "done" }, true],
    ["cancelled", { status: "cancelled" }, true],
    ["todo", { status: "todo" }, false],
    ["in progress", { status: "in-progress" }, false],
    ["waiting for a review", { status: "needs-review" }, false],
    ["failed", { status: "failed" }, false],
    ["skipped as superseded", { status: "skipped", skipReason: "superseded" }, true],
    ["skipped as not applicable", { status: "skipped", skipReason: "not-applicable" }, true],
    ["skipped after too many tries", { status: "skipped", skipReason: "max-retries" }, false],
    ["skipped for no reason that is known", { status: "skipped", skipReason: null }, false],
  ] as [string, Partial<TaskRow>, boolean][])("%s", (_, fields, free) => {
    const rows = [task("first", { status: "in-progress", ...fields }), task("second", { dependencies: ["first"] })];
    expect(picked(rows, { pool: ["todo"] }).row?.slug === "second").toBe(free);
  });

  test.each([
    ["all done", ["done", "done"], true],
    ["one still open", ["done", "todo"], false],
    ["one failed", ["done", "failed"], false],
  ] as [string, Status[], boolean][])("split, its parts %s", (_, statuses, free) => {
    const parts = statuses.map((status, i) => task(`part${i}`, { status: status === "todo" ? "in-progress" : status }));
    const whole = task("whole", { status: "split", children: parts.map((part) => part.id) });
    expect(picked([...parts, whole, task("after", { dependencies: ["whole"] })]).row?.slug === "after").toBe(free);
  });
});

describe("reasons", () => {
  test("a dependency that doesn't exist is named", () => {
    expect(picked([task("a", { dependencies: ["ghost"] })]).reasons[0]).toMatchObject({
      why: "missing-dependency",
      waitingOn: ["ghost"],
    });
  });

  test("a prefix of an id is no name of a dependency", () => {
    const first = task("first", { status: "done" });
    expect(picked([first, task("second", { dependencies: [first.id8] })]).reasons[0]?.why).toBe("missing-dependency");
  });

  test("a cycle is told with its path", () => {
    const rows = [
      task("a", { dependencies: ["b"] }),
      task("b", { dependencies: ["c"] }),
      task("c", { dependencies: ["a"] }),
    ];
    expect(picked(rows).reasons[0]).toMatchObject({ why: "cycle", detail: "waits for itself: a → b → c → a" });
  });

  test("a condition is looked at only when the dependencies are satisfied", () => {
    const asked: string[] = [];
    const rows = [task("a", { dependencies: ["ghost"], conditions: ["x"] }), task("b", { conditions: ["y"] })];
    const result = picked(rows, {
      unmet: (row) => {
        asked.push(row.slug ?? "");
        return row.conditions[0] ?? null;
      },
    });
    expect(asked).toEqual(["b"]);
    expect(result.reasons.map((reason) => reason.why)).toEqual(["missing-dependency", "condition"]);
  });

  test("somebody else's claim is a reason", () => {
    const rows = [task("a"), task("b")];
    const result = picked(rows, { claimedBy: (row) => (row.slug === "a" ? "ada" : null) });
    expect(result.row?.slug).toBe("b");
    expect(result.reasons[0]).toMatchObject({ why: "claimed", detail: "claimed by ada" });
  });
});
