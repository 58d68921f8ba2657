/** The intent contract as a table of facts and verdicts. What the facts are in real repositories: test/git/guard-*.test.ts. */
import { describe, expect, test } from "bun:test";

import {
  columnOf,
  decideKeys,
  decideSelection,
  decideState,
  parseOwnerRepo,
  shaMatches,
  type KeyFacts,
  type SelectionFacts,
  type StateFacts,
  type TargetKind,
} from "../../lib/guard/intent.ts";
import type { GuardOp } from "../../lib/op.ts";

const OPS: readonly GuardOp[] = [
  "add",
  "commit",
  "push",
  "pull",
  "branch_create",
  "branch_delete",
  "finish",
  "checkout",
  "read",
];

// ── which keys a target demands ──────────────────────────────────────────────────────────────────────────────────────

function keys(op: GuardOp, kind: TargetKind, given: Partial<KeyFacts> = {}): string {
  const verdict = decideKeys({
    op,
    kind,
    surface: "cli",
    primary: kind.endsWith("main") || kind.endsWith("primary") || kind === "own-submodule",
    ownerRepo: "o/r",
    headSha: "a".repeat(40),
    detached: false,
    confirmedBy: [],
    filesGiven: false,
    branchGiven: false,
    ...given,
  });
  if (verdict.ok) return "A";
  return verdict.outright ? "R!" : `R(${verdict.missing.join(", ")})`;
}

describe("keys demanded, none given", () => {
  //              same, any     foreign linked    foreign primary
  const table: Record<GuardOp, readonly [string, string, string]> = {
    add: ["R(files)", "R(files)", "R(files)"],
    commit: ["A", "R(files)", "R!"],
    push: ["A", "R(branch)", "R(branch)"],
    pull: ["A", "A", "R!"],
    branch_create: ["A", "A", "R!"],
    branch_delete: ["A", "A", "A"],
    finish: ["A", "R(branch)", "R(branch)"],
    checkout: ["A", "A", "R!"],
    read: ["A", "A", "A"],
  };
  for (const op of OPS) {
    const [same, linked, primary] = table[op];
    test(`${op}: same ${same}, foreign worktree ${linked}, foreign primary ${primary}`, () => {
      expect(keys(op, "same-main")).toBe(same);
      expect(keys(op, "same-worktree")).toBe(same);
      expect(keys(op, "foreign-worktree")).toBe(linked);
      expect(keys(op, "foreign-primary")).toBe(primary);
    });
  }

  const given = { filesGiven: true, branchGiven: true };
  for (const op of OPS.filter((it) => it !== "read")) {
    test(`${op}: with its keys it is allowed wherever it isn't refused outright`, () => {
      expect(keys(op, "same-main", given)).toBe("A");
      expect(keys(op, "foreign-worktree", given)).toBe("A");
      expect(keys(op, "foreign-primary", given)).toBe(table[op][2] === "R!" ? "R!" : "A");
    });
  }
});

describe("keys, row by row", () => {
  const rows: readonly [string, GuardOp, TargetKind, Partial<KeyFacts>, string][] = [
    ["over MCP a commit always names its files", "commit", "same-main", { surface: "mcp" }, "R(files)"],
    ["a detached HEAD has no branch to push", "push", "same-main", { detached: true }, "R(branch)"],
    ["… nor to finish", "finish", "same-worktree", { detached: true }, "R(branch)"],
    ["… nor to pull", "pull", "same-main", { detached: true }, "R(branch)"],
    ["… which naming it mends", "pull", "same-main", { detached: true, branchGiven: true }, "A"],
    ["an unborn HEAD likewise", "push", "same-main", { headSha: null }, "R(branch)"],
    ["a detached HEAD can take a commit at home", "commit", "same-main", { detached: true }, "A"],
    [
      "an own submodule's main checkout needs owner_repo for what is refused in foreign ones",
      "commit",
      "own-submodule",
      { filesGiven: true },
      "R(owner_repo)",
    ],
    ["… all that is missing is named at once", "commit", "own-submodule", {}, "R(owner_repo, files)"],
    ["… with it: allowed", "commit", "own-submodule", { filesGiven: true, confirmedBy: ["owner_repo"] }, "A"],
    [
      "… expect_sha doesn't stand in for it",
      "commit",
      "own-submodule",
      { filesGiven: true, confirmedBy: ["expect_sha"] },
      "R(owner_repo)",
    ],
    ["… what foreign main checkouts allow needs none", "push", "own-submodule", { branchGiven: true }, "A"],
    ["… without owner/repo its HEAD is the proof", "pull", "own-submodule", { ownerRepo: null }, "R(expect_sha)"],
    [
      "of an unknown caller a main checkout needs a proof",
      "push",
      "unknown",
      { primary: true, branchGiven: true },
      "R(owner_repo)",
    ],
    ["… owner_repo", "push", "unknown", { primary: true, branchGiven: true, confirmedBy: ["owner_repo"] }, "A"],
    ["… or expect_sha", "push", "unknown", { primary: true, branchGiven: true, confirmedBy: ["expect_sha"] }, "A"],
    ["… and then counts as foreign", "commit", "unknown", { primary: true, confirmedBy: ["owner_repo"] }, "R(files)"],
    ["… a linked worktree needs none", "commit", "unknown", { primary: false, filesGiven: true }, "A"],
    ["… a checkout without any possible proof", "checkout", "unknown", { primary: true, ownerRepo: null }, "R!"],
    ["… nor before the first commit", "commit", "unknown", { primary: true, ownerRepo: null, headSha: null }, "R!"],
  ];
  for (const [name, op, kind, facts, verdict] of rows) {
    test(`${name}: ${op} ${verdict}`, () => expect(keys(op, kind, facts)).toBe(verdict));
  }
});

// ── the state of the checkout ────────────────────────────────────────────────────────────────────────────────────────

describe("state", () => {
  const state = (op: GuardOp, kind: TargetKind, facts: Partial<StateFacts>): string => {
    const verdict = decideState({
      op,
      column: columnOf(kind),
      operation: null,
      detached: false,
      dirty: [],
      unmerged: [],
      ...facts,
    });
    return verdict.ok ? "A" : verdict.code;
  };
  const merging = { operation: "merge" };
  const dirty = { dirty: ["a.txt"] };
  const rows: readonly [GuardOp, Partial<StateFacts>, same: string, linked: string, primary: string][] = [
    ["add", merging, "A", "A", "A"],
    ["commit", merging, "A", "REFUSED", "REFUSED"],
    ["push", merging, "A", "A", "A"],
    ["pull", merging, "REFUSED", "REFUSED", "REFUSED"],
    ["branch_create", merging, "A", "REFUSED", "REFUSED"],
    ["branch_delete", merging, "A", "A", "A"],
    ["finish", merging, "REFUSED", "REFUSED", "REFUSED"],
    ["checkout", merging, "REFUSED", "REFUSED", "REFUSED"],
    ["commit", { detached: true }, "A", "REFUSED", "REFUSED"],
    ["pull", dirty, "A", "DIRTY", "DIRTY"],
    ["branch_create", dirty, "A", "DIRTY", "DIRTY"],
    ["checkout", dirty, "DIRTY", "DIRTY", "DIRTY"],
    ["commit", dirty, "A", "A", "A"],
    ["add", { unmerged: ["a.txt"] }, "A", "REFUSED", "REFUSED"],
  ];
  for (const [op, facts, same, linked, primary] of rows) {
    test(`${op}, ${JSON.stringify(facts)}: ${same}, ${linked}, ${primary}`, () => {
      expect([
        state(op, "same-main", facts),
        state(op, "foreign-worktree", facts),
        state(op, "foreign-primary", facts),
      ]).toEqual([same, linked, primary]);
    });
  }
});

// ── without dir ──────────────────────────────────────────────────────────────────────────────────────────────────────

describe("without dir", () => {
  const plain: SelectionFacts = {
    surface: "mcp",
    rule: "guard",
    op: "add",
    callerKnown: true,
    hint: "none",
    roots: "none",
    checkouts: 1,
    inside: 0,
    oneQueue: false,
    branchGiven: false,
    filesGiven: true,
  };
  const select = (facts: Partial<SelectionFacts>): string => {
    const selection = decideSelection({ ...plain, ...facts });
    if (!selection.ok) return `R(${selection.missing.join(", ")}) ${selection.because}`;
    return `${selection.meant}${selection.confirmed ? ", confirmed" : ""}`;
  };
  const rows: readonly [string, Partial<SelectionFacts>, string][] = [
    ["a single repository, no signal", {}, "caller"],
    ["a person is where he stands", { surface: "cli" }, "caller, confirmed"],
    ["… whatever lies inside", { surface: "cli", inside: 3, checkouts: 4 }, "caller, confirmed"],
    ["… but for a hint that says otherwise", { surface: "cli", hint: "differs" }, "R(dir) signal"],
    ["a server in no repository", { callerKnown: false }, "R(dir) caller"],
    [
      "what the target would demand in any case is named too",
      { callerKnown: false, filesGiven: false },
      "R(dir, files) caller",
    ],
    ["the client's root is this repository", { roots: "same" }, "caller"],
    ["the client's root is another", { roots: "differs" }, "R(dir) signal"],
    ["the hint matches", { hint: "same" }, "caller, confirmed"],
    ["the hint doesn't", { hint: "differs" }, "R(dir) signal"],
    ["the hint can't be read", { hint: "malformed" }, "R(dir) signal"],
    ["a mismatch wins over a match", { hint: "same", roots: "differs" }, "R(dir) signal"],
    ["… either way", { hint: "differs", roots: "same" }, "R(dir) signal"],
    ["repositories inside", { inside: 2 }, "R(dir) inside"],
    ["… roots don't settle which", { inside: 2, roots: "same" }, "R(dir) inside"],
    ["… a matching hint does", { inside: 2, hint: "same" }, "caller, confirmed"],
    ["… a queue's verb, one queue among them", { inside: 2, rule: "queue", op: null, oneQueue: true }, "the-one-queue"],
    ["… a queue's verb, several", { inside: 2, rule: "queue", op: null }, "R(dir) inside"],
    ["several checkouts", { checkouts: 2 }, "R(dir) checkouts"],
    ["… a hint names a repository, not a checkout", { checkouts: 2, hint: "same" }, "R(dir) checkouts"],
    ["… push without branch", { checkouts: 2, op: "push" }, "R(dir) checkouts"],
    ["… push with it", { checkouts: 2, op: "push", branchGiven: true }, "caller"],
    ["… finish with it", { checkouts: 2, op: "finish", branchGiven: true }, "caller"],
    ["… deleting a branch", { checkouts: 2, op: "branch_delete" }, "caller"],
    ["… a queue's verb", { checkouts: 2, rule: "queue", op: null }, "caller"],
    ["a checkout always names its tree", { op: "checkout" }, "R(dir) checkouts"],
    ["… on a command line one stands in it", { op: "checkout", surface: "cli" }, "caller, confirmed"],
  ];
  for (const [name, facts, verdict] of rows) test(`${name}: ${verdict}`, () => expect(select(facts)).toBe(verdict));
});

describe("values", () => {
  test.each([
    ["o/r", "o/r"],
    [" group/sub/r\n", "group/sub/r"],
    ["r", null],
    ["", null],
    ["https://h/o/r", null],
    ["git@h:o/r", null],
    ["-o/r", null],
    ["o/ r", null],
    ["o//r", null],
  ])("owner_repo %j is %j", (text, read) => expect(parseOwnerRepo(text)).toBe(read));

  const sha = "4f2a91c0".padEnd(40, "0");
  test.each([
    [sha, true],
    [sha.toUpperCase(), true],
    [sha.slice(0, 7), true],
    [sha.slice(0, 6), false],
    ["5f2a91c", false],
    ["", false],
    ["HEAD", false],
  ])("expect_sha %j: %j", (text, matches) => expect(shaMatches(text, sha)).toBe(matches));
  test("nothing is the commit of a branch without one", () => expect(shaMatches(sha, null)).toBe(false));
});
