/** `task done`: the one transition that is verified first. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import { verificationShape, verificationText } from "../../verify/shapes.ts";
import type { Verification } from "../../verify/verify.ts";
import { asText } from "../../text.ts";
import { worktreeOf } from "../../wt/records.ts";
import { holds } from "../claim.ts";
import { standingClaim } from "../holders.ts";
import type { TaskRow } from "../ledger.ts";
import { mayMove } from "../model.ts";
import { readVerified, writeVerified } from "../verified.ts";
import { completeAfterDone } from "../worktree.ts";
import { claimShape, type Desk, holderOf, namedTask, oneTaskOf, withQueue } from "./common.ts";
import {
  type MoveInput,
  type MovePlan,
  moveFields,
  moveFlags,
  moveOutput,
  moveTask,
  moveText,
  reasonLine,
} from "./move.ts";

const given = ["task add 'Add a login page'", "task start 'Add a login page'"] as const;

export const done = operation({
  name: "task done",
  tool: "task_mark_done",
  summary: "Verify a task's work, and say that it is done",
  details:
    "In the task's work root: scans what the work adds for secrets, wants everything committed in the task's own worktree, runs the project's .bot/hooks/verify scripts as the base branch has them. If a required check fails the task stays where it is: ok is false and verification says what to mend. Then moves it to done, with the commits that did it when they are named. Cut off by a time limit, call it again: scripts that passed on the same tree aren't run again.",
  examples: [
    { given, run: "task done 'Add a login page'", does: "verify it, and it is done" },
    {
      given,
      run: "task done 'Add a login page' --skip-verify 'only the wording of an issue'",
      does: "done without a look",
    },
  ],
  effect: "write",
  idempotent: true,
  target: { rule: "queue" },
  positional: [{ field: "task_id", variadic: true, optional: true }],
  batch: "task_id",
  complete: { task_id: "task" },
  input: v.strictObject({
    ...moveFields,
    result: v.optional(
      v.pipe(v.looseObject({}), v.description("What came of it, for example {summary: …}; stored with the task.")),
    ),
    commits: v.optional(v.pipe(v.array(v.string()), v.description("Shas of the commits that did it."))),
    reason: v.optional(v.pipe(v.string(), v.description("A word for history."))),
    skip_verify: v.optional(
      v.pipe(v.string(), v.description("Don't verify, for this reason; it goes into history. For a person to decide.")),
    ),
    complete: v.optional(
      v.pipe(v.boolean(), v.description("Go on to `dotbot wt complete`; worktree.complete_on_done is the default.")),
    ),
  }),
  flags: {
    ...moveFlags,
    result: { json: true, value: "file|-" },
    commits: { name: "commits", value: "sha" },
    skip_verify: { value: "reason" },
  },
  output: v.object({
    ...moveOutput,
    claim: v.optional(claimShape),
    ok: v.pipe(v.boolean(), v.description("false: verification failed, and the task stays where it was.")),
    verification: v.optional(verificationShape),
    completion: v.optional(
      v.pipe(v.looseObject({ ok: v.boolean() }), v.description("How completing went; a refusal leaves the task done.")),
    ),
  }),
  async run(call, input) {
    const skip = skipReason(call, input.skip_verify);
    const outcome = await withQueue(call, async (desk) => {
      const row = await namedTask(call, desk.queue, input.task_id, "done");
      const verification = await verificationOf(call, desk, row, input, skip);
      if (verification !== null && !verification.ok) return unmoved(call, desk, row, verification);
      const reason = [
        reasonLine(call, input.reason, "reason"),
        skip === null ? undefined : `verification skipped: ${skip}`,
      ]
        .filter((part) => part !== undefined)
        .join("; ");
      const plan: MovePlan = {
        verb: "done",
        to: "done",
        ...(reason === "" ? {} : { reason }),
        data: (doc, now, _who, tx) => {
          if (verification === null && now.status !== "done") throw changedMeanwhile(row);
          if (verification !== null && verification.head !== null) {
            writeVerified(tx.ledger, row.id, { head: verification.head, base: verification.base });
          }
          return withResult(doc, input.result as JsonObject | undefined, input.commits);
        },
      };
      const moved = await moveTask(call, desk, row, input, plan);
      const completes =
        input.complete ?? (desk.settings.worktree.complete_on_done && worktreeOf(desk.queue, row.id) !== null);
      return { ...moved, ok: true, completes, ...(verification === null ? {} : { verification }) };
    });
    const { completes, ...result } = outcome;
    return completes ? { ...result, completion: await completeAfterDone(call, asText(result.task["id"])) } : result;
  },
  text(result, style) {
    const { verification } = result;
    const moved = result.ok
      ? moveText(result, style)
      : `${asText(result.task["name"])}: stays ${result.newStatus}, verification failed\n`;
    const landed = result.completion?.ok === true ? `completed onto ${asText(result.completion["base"])}\n` : "";
    return moved + (verification === undefined ? "" : verificationText(verification, style)) + landed;
  },
});

function skipReason(call: Call, given: string | undefined): string | null {
  if (given === undefined) return null;
  const reason = reasonLine(call, given, "skip_verify");
  if (reason !== undefined) return reason;
  throw new DotbotError("INVALID_INPUT", "skip_verify needs a reason: it goes into the task's history", {
    example:
      call.surface === "cli"
        ? "dotbot task done --skip-verify 'only the wording of an issue'"
        : JSON.stringify({ skip_verify: "only wording" }),
  });
}

/** Null where the move will be refused anyway, or where it was made before and nothing has changed since. */
async function verificationOf(
  call: Call,
  desk: Desk,
  row: TaskRow,
  input: MoveInput & { readonly dir?: string | undefined },
  skip: string | null,
): Promise<Verification | null> {
  if (row.status !== "done" && !mayMove(row.status, "done")) return null;
  const claim = standingClaim(call, desk.queue.ledger.claim(row.id));
  if (claim !== null && !holds(claim, holderOf(call, input)) && (input.steal ?? "").trim() === "") return null;
  const { repo } = call.target;
  const recorded = worktreeOf(desk.queue, row.id);
  if (row.status === "done" && recorded === null) return null;
  const { verify, unverified } = await import("../../verify/verify.ts");
  const request = {
    taskId: row.id,
    category: row.category,
    worktree:
      recorded === null
        ? null
        : { taskId: row.id, path: recorded.path, base: recorded.base, baseSha: recorded.baseSha },
    // A linked worktree that is named is meant; the main checkout names the repository, and a task's work isn't there.
    isNamed: input.dir !== undefined && repo.kind === "linked",
    settings: desk.settings,
  };
  if (skip !== null) return await unverified(call, repo, request, skip);
  if (row.status === "done") {
    const { head } = await unverified(call, repo, request, "");
    if (readVerified(desk.queue.ledger, row.id)?.head === head) return null;
  }
  return await verify(call, repo, request);
}

function unmoved(call: Call, desk: Desk, row: TaskRow, verification: Verification) {
  return {
    ...oneTaskOf(call, desk.queue, row),
    oldStatus: row.status,
    newStatus: row.status,
    changed: false,
    ok: false,
    completes: false,
    verification,
  };
}

function changedMeanwhile(row: TaskRow): DotbotError {
  return new DotbotError(
    "CONFLICT",
    `"${row.name}" (${row.id8}) became free or changed its status meanwhile, and wasn't verified`,
    {
      hint: "say it again",
      example: `dotbot task done ${row.id8}`,
    },
  );
}

function withResult(
  doc: JsonObject,
  result: JsonObject | undefined,
  commits: readonly string[] | undefined,
): JsonObject {
  let next = doc;
  if (result !== undefined) next = { ...next, result };
  if (commits !== undefined && commits.length > 0) {
    const known: JsonValue[] = Array.isArray(doc["commits"]) ? doc["commits"] : [];
    const fresh = commits.filter((sha) => !known.includes(sha));
    if (fresh.length > 0) next = { ...next, commits: [...known, ...fresh] };
  }
  return next;
}
