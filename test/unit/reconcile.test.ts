import { describe, expect, test } from "bun:test";

import type { JsonObject } from "../../lib/json.ts";
import { HISTORY_IN_FILE } from "../../lib/task/model.ts";
import { compareHistories, judge, lastStep, settlementReason, type Verdict } from "../../lib/task/reconcile.ts";

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
    ["has both sides of a settled conflict", steps(1, 3), steps(1, 2, 3, 4), "longer"],
    ["is one side of a conflict that was settled", steps(1, 2, 3, 4), steps(1, 2), "shorter"],
    [
      "has both sides, and lost its beginning at the bound",
      steps(1, 2, 5),
      upTo(HISTORY_IN_FILE + 2).slice(2),
      "longer",
    ],
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
    const grounds = {
      knowsRevision: (revision: number) => known.includes(revision),
      base: doc(current),
      hash: "0123456789abcdef",
      elsewhere: false,
    };
    expect(judge(doc(current), doc(found), grounds)).toBe(verdict as never);
  });
});

describe("edits of ours since the last step of history", () => {
  const base: JsonObject = {
    name: "task",
    priority: 50,
    history: steps(1),
    revision: 1,
    updated_at: "2026-01-01T00:00:01Z",
  };
  const later = { updated_at: "2026-01-01T00:00:09Z" };
  const edited: JsonObject = { ...base, priority: 10, revision: 2, updated_at: "2026-01-01T00:00:05Z" };

  test.each([
    [
      "started elsewhere without knowing them",
      edited,
      { ...base, ...later, history: steps(1, 2), revision: 2 },
      "file",
      "conflict",
    ],
    [
      "done elsewhere in two steps without knowing them",
      edited,
      { ...base, ...later, history: steps(1, 2, 3), revision: 3 },
      "file",
      "conflict",
    ],
    [
      "started elsewhere on top of them",
      edited,
      { ...edited, ...later, history: steps(1, 2), revision: 3 },
      "elsewhere",
      "adopt",
    ],
    [
      "started elsewhere, nothing edited here",
      base,
      { ...base, ...later, history: steps(1, 2), revision: 2 },
      "elsewhere",
      "adopt",
    ],
    [
      "another field edited elsewhere meanwhile",
      edited,
      { ...base, ...later, name: "new", revision: 2 },
      "elsewhere",
      "conflict",
    ],
    ["the same, brought in by a checkout", edited, { ...base, ...later, name: "new", revision: 2 }, "file", "conflict"],
    [
      "the same field edited elsewhere meanwhile",
      edited,
      { ...base, ...later, priority: 70, revision: 2 },
      "elsewhere",
      "conflict",
    ],
    [
      "the same field edited elsewhere on top",
      edited,
      { ...edited, ...later, priority: 70, revision: 3 },
      "elsewhere",
      "adopt",
    ],
    [
      "several edits elsewhere without ours",
      edited,
      { ...base, ...later, name: "new", revision: 4 },
      "elsewhere",
      "conflict",
    ],
    ["taken back elsewhere on top of them", edited, { ...base, ...later, revision: 3 }, "elsewhere", "adopt"],
    ["edited further by hand", edited, { ...edited, name: "new" }, "file", "adopt"],
    [
      "taken back by hand together with another edit",
      edited,
      { ...edited, priority: 50, name: "new" },
      "file",
      "adopt",
    ],
    ["edited again by a tool that counts no revisions", edited, { ...edited, ...later, priority: 20 }, "file", "adopt"],
    [
      "moved to and fro by a tool that counts no revisions",
      { ...base, ...later, status: "in-progress" },
      { ...base, updated_at: "2026-01-01T00:00:10Z", priority: 20 },
      "file",
      "adopt",
    ],
  ] as [string, JsonObject, JsonObject, "file" | "elsewhere", Verdict][])("%s", (_, current, found, from, verdict) => {
    const grounds = {
      knowsRevision: (revision: number) => revision === 1 || revision === current["revision"],
      base,
      hash: "0123456789abcdef",
      elsewhere: from === "elsewhere",
    };
    expect(judge(current, found, grounds)).toBe(verdict);
  });

  test.each([
    ["an edit of it elsewhere, made from a state that we have left", { ...base, name: "new", revision: 3 }, "conflict"],
    ["an earlier state that a rebuilt ledger doesn't know", { ...base, name: "new", revision: 1 }, "rollback"],
  ] as const)("after we moved it: %s", (_, found, verdict) => {
    const current = { ...base, ...later, history: steps(1, 2), revision: 2 };
    const grounds = {
      knowsRevision: (revision: number) => revision === 2,
      base: current,
      hash: "0123456789abcdef",
      elsewhere: true,
    };
    expect(judge(current, found, grounds)).toBe(verdict);
  });

  test("are known to a settlement that names what they led to", () => {
    const settled = (reason: string): JsonObject => ({
      ...base,
      history: [...steps(1), { ...entry(2), reason }],
      revision: 3,
    });
    const verdict = (reason: string): Verdict =>
      judge(edited, settled(reason), { knowsRevision: () => true, base, hash: "0123456789abcdef", elsewhere: true });
    expect(verdict(`${settlementReason(["ffffffffffffffff", "0123456789abcdef"])}; taken over from bob`)).toBe("adopt");
    expect(verdict(settlementReason(["ffffffffffffffff"]))).toBe("conflict");
    expect(verdict("why not")).toBe("conflict");
  });

  test("begin after the last version with another history", () => {
    const moved = { ...edited, history: steps(1, 2), revision: 3 };
    const last = { ...moved, name: "new", revision: 4 };
    expect(lastStep([base, edited, moved, last], last)).toBe(moved);
    expect(lastStep([base, edited], edited)).toBe(base);
    expect(lastStep([], edited)).toBe(edited);
  });
});
