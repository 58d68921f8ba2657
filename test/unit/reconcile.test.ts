import { describe, expect, test } from "bun:test";

import type { JsonObject } from "../../lib/json.ts";
import { HISTORY_IN_FILE } from "../../lib/task/model.ts";
import { compareHistories, judge } from "../../lib/task/reconcile.ts";

const entry = (n: number): JsonObject => ({
  at: `2026-01-01T00:00:${String(n % 60).padStart(2, "0")}Z`,
  to: "todo",
  by: `step ${n}`,
  session_id: "s",
});
const steps = (...numbers: number[]): JsonObject[] => numbers.map(entry);
const upTo = (n: number): JsonObject[] => Array.from({ length: n }, (_, i) => entry(i + 1));

describe("histories", () => {
  test.each([
    ["equal", steps(1, 2), steps(1, 2), "same"],
    ["goes on", steps(1, 2), steps(1, 2, 3), "longer"],
    ["goes on by several", steps(1), steps(1, 2, 3, 4), "longer"],
    ["is behind", steps(1, 2, 3), steps(1, 2), "shorter"],
    ["took another turn", steps(1, 2), steps(1, 3), "diverged"],
    ["shares only a middle", steps(1, 2, 4), steps(9, 2), "diverged"],
    ["has nothing in common", steps(1), steps(2), "diverged"],
    ["goes on after the bound was reached", upTo(HISTORY_IN_FILE), upTo(HISTORY_IN_FILE + 1).slice(1), "longer"],
    ["is behind after the bound was reached", upTo(HISTORY_IN_FILE + 2).slice(2), upTo(HISTORY_IN_FILE), "shorter"],
    ["lost its beginning without having reached the bound", steps(1, 2, 3), steps(2, 3), "diverged"],
  ] as const)("a file that %s", (_, ours, theirs, relation) => {
    expect(compareHistories(ours, theirs)).toBe(relation);
  });
});

describe("a file whose content was never seen", () => {
  const doc = (fields: JsonObject): JsonObject => ({ id: "x", name: "task", ...fields });
  const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

  test.each([
    [
      "edited by hand",
      { history: steps(1, 2), revision: 2 },
      { history: steps(1, 2), revision: 2, name: "new" },
      [2],
      "adopt",
    ],
    [
      "moved on elsewhere",
      { history: steps(1, 2), revision: 2 },
      { history: steps(1, 2, 3), revision: 3 },
      [2],
      "adopt",
    ],
    [
      "an edit of a state that we know and have left",
      { history: steps(1, 2), revision: 2 },
      { history: steps(1), revision: 1, name: "new" },
      [1, 2],
      "conflict",
    ],
    [
      "a teammate's earlier state",
      { history: steps(1, 2, 3), revision: 9, updated_at: at(9) },
      { history: steps(1), revision: 4, updated_at: at(4) },
      [9],
      "rollback",
    ],
    [
      "two turns from one state",
      { history: steps(1, 2), revision: 2 },
      { history: steps(1, 3), revision: 2 },
      [2],
      "conflict",
    ],
    ["edited where nothing has a history", { updated_at: at(1) }, { updated_at: at(1), name: "new" }, [], "adopt"],
    ["older where nothing has a history", { updated_at: at(5) }, { updated_at: at(1), name: "new" }, [], "rollback"],
    [
      "from before we moved it",
      { history: steps(1), revision: 2, updated_at: at(5) },
      { updated_at: at(1) },
      [2],
      "rollback",
    ],
    [
      "written by a tool without history after we moved it",
      { history: steps(1), revision: 2, updated_at: at(5) },
      { updated_at: at(9) },
      [2],
      "conflict",
    ],
    ["with a history where ours has none", { updated_at: at(1) }, { history: steps(1), revision: 2 }, [], "adopt"],
    ["without any time", {}, { name: "new" }, [], "adopt"],
  ] as [string, JsonObject, JsonObject, number[], string][])("%s", (_, current, found, known, verdict) => {
    expect(judge(doc(current), doc(found), (revision) => known.includes(revision))).toBe(verdict as never);
  });
});
