/**
 * Every operation of the registry knows which repository it may touch: it passes through the one resolution, or says why it
 * needn't. What it can be asked for, it can be given; what changes a tree answers with what was read back from it.
 */
import { describe, expect, test } from "bun:test";
import * as v from "valibot";

import { referenceText } from "../../cmd/reference.ts";
import { DotbotError } from "../../lib/error.ts";
import { invoke } from "../../lib/invoke.ts";
import type { AnyOperation, GuardOp } from "../../lib/op.ts";
import { allOperations, NOUNS } from "../../lib/ops.ts";
import { fieldsOf } from "../../lib/schema.ts";
import { resolveTarget } from "../../lib/target.ts";
import { tempDir } from "../kit/git.ts";
import { contextAt } from "../kit/guard.ts";

const operations = await allOperations();
const names = (op: AnyOperation): string[] => fieldsOf(op.input).map((field) => field.name);
const nounOf = (op: AnyOperation): string => op.name.split(" ")[0] ?? "";
/** Nouns whose verbs all pass through the resolution: reads too, or one call would read one queue and the next write another. */
const GUARDED = ["guard", "wt", "task"];

describe("each operation's rule", () => {
  for (const op of operations) {
    test(op.name, async () => {
      const { target } = op;
      if (target.rule === "none") {
        expect(target.why.length, `${op.name} touches no repository, and has to say why in a sentence`).toBeGreaterThan(
          20,
        );
        return;
      }
      const keys = names(op);
      expect(keys, `${op.name} works somewhere, so a call has to be able to say where`).toContain("dir");
      if (GUARDED.includes(nounOf(op)))
        expect(keys, `${op.name}: owner_repo must be there to be matched`).toContain("owner_repo");
      if (target.rule === "guard") {
        for (const key of DEMANDED[target.op])
          expect(keys, `the contract can demand ${key} of ${op.name}, so its schema has to have it`).toContain(key);
      }
    });
  }
});

/** Every key that the contract, or the operation itself, can name as missing. */
const DEMANDED: Readonly<Record<GuardOp, readonly string[]>> = {
  add: ["dir", "owner_repo", "expect_sha", "task_id", "files"],
  commit: ["dir", "owner_repo", "expect_sha", "task_id", "files"],
  push: ["dir", "owner_repo", "expect_sha", "task_id", "branch", "remote"],
  pull: ["dir", "owner_repo", "expect_sha", "task_id", "branch", "remote"],
  branch_create: ["dir", "owner_repo", "expect_sha", "task_id", "name"],
  branch_delete: ["dir", "owner_repo", "expect_sha", "task_id", "name"],
  finish: ["dir", "owner_repo", "expect_sha", "task_id", "branch", "remote", "base"],
  checkout: ["dir", "owner_repo", "expect_sha", "task_id", "ref", "remote"],
  read: ["dir", "owner_repo"],
};

describe("no operation runs where the resolution refuses", () => {
  // A place that is no repository: whoever gets past it hasn't asked.
  for (const op of operations.filter(
    ({ target, name }) => target.rule !== "none" && GUARDED.includes(name.split(" ")[0] ?? ""),
  )) {
    test(op.name, async () => {
      await using dir = await tempDir();
      const watched: AnyOperation = {
        ...op,
        run: async () => {
          throw new Error(`${op.name} ran without a repository`);
        },
      };
      const input = { ...required(op), dir: dir.root };
      const wording = { nameOf: String, correct: () => undefined };
      const asked = invoke({ op: watched, ctx: contextAt({ cwd: dir.root }), resolve: resolveTarget, wording }, input);
      const error = await asked.then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(DotbotError);
      expect(error instanceof DotbotError ? error.code : "").toBe("NOT_A_REPOSITORY");
    });
  }
});

/** What a schema insists on, with values that it takes. */
function required(op: AnyOperation): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const field of fieldsOf(op.input).filter((it) => it.required)) {
    const values: readonly unknown[] = ["x", "main", 1, true, ["x"], [{}], {}, field.choices?.[0]];
    const fits = values.find(
      (value) =>
        !(v.safeParse(op.input, { ...input, [field.name]: value }).issues ?? []).some(
          (issue) => issue.path?.[0]?.key === field.name,
        ),
    );
    input[field.name] = fits;
  }
  return input;
}

describe("what changes a tree says which, read back", () => {
  for (const op of operations.filter(({ target, effect }) => target.rule === "guard" && effect !== "read")) {
    test(op.name, () => {
      const output: unknown = "entries" in op.output ? op.output.entries : {};
      expect(Object.keys(typeof output === "object" && output !== null ? output : {})).toEqual(
        expect.arrayContaining(["repoPath", "ownerRepo", "branch", "headSha", "stateRoot"]),
      );
    });
  }
});

test("the rule of each stands in the reference", () => {
  const text = referenceText({ nouns: NOUNS, operations, settings: [] });
  for (const op of operations) {
    const section = text.slice(text.indexOf(`### ${op.name}\n`)).split("\n### ")[0] ?? "";
    const { target } = op;
    const words =
      target.rule === "none"
        ? target.why
        : target.rule === "guard"
          ? `guarded as \`${target.op}\``
          : target.rule === "queue"
            ? "works on the repository's queue"
            : "works on one checkout";
    expect(section, op.name).toContain(words);
  }
});
