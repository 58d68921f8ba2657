/** `guard check`: what an operation of guard would be allowed to do, without doing it. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { resolveTarget } from "../../target.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { printable } from "../../text.ts";
import { branchField, filesField, remoteField } from "./common.ts";

/** The operations that can be asked about, by the words after `guard`, joined. */
export const CHECKED = [
  "add",
  "commit",
  "push",
  "pull",
  "branch-create",
  "branch-delete",
  "finish",
  "checkout",
] as const;

/** Made with the operations it speaks of, since those can't import what lists them. */
export function checkFor(operations: () => readonly AnyOperation[]) {
  return operation({
    name: "guard check",
    summary: "Say whether an operation of guard would be allowed here, and why",
    details:
      "Asks the same rules with the same arguments and changes nothing. The answer names the keys that are missing, and a call that works.",
    examples: [
      { run: "guard check commit", does: "would a commit here be allowed?" },
      { run: "guard check checkout", does: "and a checkout?" },
    ],
    effect: "read",
    idempotent: true,
    target: {
      rule: "none",
      why: "it puts the named operation's arguments to that operation's own rule, and says what comes of it",
    },
    toolset: "people",
    input: v.strictObject({
      op: v.pipe(v.picklist(CHECKED), v.description("The operation.")),
      files: filesField,
      branch: branchField("The branch that the call would name."),
      remote: remoteField,
      ...guardFields,
    }),
    output: v.object({
      ok: v.pipe(v.boolean(), v.description("It would be allowed.")),
      op: v.string(),
      kind: v.pipe(v.nullable(v.string()), v.description("What the target is to the caller.")),
      repoPath: v.pipe(v.nullable(v.string()), v.description("The tree that it would concern.")),
      stateRoot: v.nullable(v.string()),
      confirmed: v.pipe(v.nullable(v.boolean()), v.description("Whether the caller showed which repository it means.")),
      code: v.nullable(v.string()),
      why: v.nullable(v.string()),
      hint: v.nullable(v.string()),
      example: v.pipe(v.nullable(v.string()), v.description("A call that works.")),
      refusal: v.pipe(
        v.nullable(v.looseObject({})),
        v.description("missing, mismatched, target, candidates, example, as the operation itself would give them."),
      ),
    }),
    positional: [{ field: "op" }, { field: "files", variadic: true, optional: true }],
    flags: { ...guardFlags, branch: { value: "name" }, remote: { value: "name" } },
    complete: { files: "path", branch: "branch", remote: "remote" },
    run: async (call, input) => await runCheck(call, operations(), input),
    text: (result) =>
      result.ok
        ? `${result.op}: allowed at ${result.repoPath ?? ""} (${result.kind ?? ""})\n`
        : [
            `${result.op}: ${printable(result.why ?? "refused")}`,
            ...(result.hint === null ? [] : [`  hint: ${printable(result.hint)}`]),
            ...(result.example === null ? [] : [`  try:  ${printable(result.example)}`]),
          ].join("\n") + "\n",
  });
}

interface Checked {
  ok: boolean;
  op: string;
  kind: string | null;
  repoPath: string | null;
  stateRoot: string | null;
  confirmed: boolean | null;
  code: string | null;
  why: string | null;
  hint: string | null;
  example: string | null;
  refusal: Record<string, unknown> | null;
}

async function runCheck(
  call: Call,
  operations: readonly AnyOperation[],
  input: Readonly<Record<string, unknown>>,
): Promise<Checked> {
  const { op: word, ...args } = input;
  const name = `guard ${String(word).replace("-", " ")}`;
  const op = operations.find((it) => it.name === name);
  if (op === undefined) throw new TypeError(`${name} is offered and doesn't exist`);
  const nothing = { code: null, why: null, hint: null, example: null, refusal: null };
  try {
    const { repo, kind, confirmed } = await resolveTarget(call, op, args);
    return { ok: true, op: name, kind, repoPath: repo.workRoot, stateRoot: repo.stateRoot, confirmed, ...nothing };
  } catch (error) {
    if (!(error instanceof DotbotError) || (error.status !== 4 && error.details?.["missing"] === undefined))
      throw error;
    const target = error.details?.["target"];
    const place = typeof target === "object" && target !== null ? target : {};
    return {
      ok: false,
      op: name,
      kind: "kind" in place && typeof place.kind === "string" ? place.kind : null,
      repoPath: "repoPath" in place && typeof place.repoPath === "string" ? place.repoPath : null,
      stateRoot: null,
      confirmed: null,
      code: error.code,
      why: error.message,
      hint: error.hint ?? null,
      example: error.example ?? null,
      refusal: error.details === undefined ? null : { ...error.details },
    };
  }
}
