/** Picking and holding: next, claim, heartbeat, release. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { operation, type Call } from "../../op.ts";
import { asText, count, paint, quote, type Style } from "../../text.ts";
import { holds, type Claim, type Holder } from "../claim.ts";
import type { TaskRow } from "../ledger.ts";
import { conditions, pickNext, type PickInput, settledPick } from "../next.ts";
import type { Picked } from "../pick.ts";
import { provenance, provenanceFields } from "../provenance.ts";
import type { Queue, Tx } from "../queue.ts";
import {
  claimShape,
  type Desk,
  dirField,
  exampleFor,
  guardClaim,
  holderFields,
  holderFlags,
  type HolderInput,
  holderOf,
  namedTask,
  oneTask,
  oneTaskOf,
  provenanceFlags,
  recordTheft,
  shownClaim,
  standingClaim,
  takeClaim,
  taskDocument,
  taskField,
  withQueue,
} from "./common.ts";
import { answered, applyMove, claimLine, type Moved, type MoveInput, type MovePlan } from "./move.ts";
import { claimFlags, claimTermsFields, termsOf } from "./terms.ts";

const pool = v.picklist(["analysed", "todo"]);

const pickFields = {
  prefer: v.optional(v.pipe(pool, v.description("Which tasks come first; analysed ones by default."))),
  status: v.optional(v.pipe(pool, v.description("Take from this status only."))),
};

// ── picking ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const reasonShape = v.object({
  id: v.string(),
  name: v.string(),
  why: v.picklist(["waits", "missing-dependency", "cycle", "condition", "claimed"]),
  detail: v.string(),
  waitingOn: v.array(v.string()),
});

export const nextOutput = v.object({
  task: v.nullable(taskDocument),
  path: v.nullable(v.string()),
  claimed: v.pipe(v.boolean(), v.description("Whether this call reserved it.")),
  claim: v.optional(claimShape),
  candidates: v.pipe(v.number(), v.description("How many tasks were looked among.")),
  reasons: v.pipe(v.array(reasonShape), v.description("Why those before it, or all of them, can't be had.")),
  stateRoot: v.string(),
  workRoot: v.nullable(v.string()),
});
export type Next = v.InferOutput<typeof nextOutput>;

function nextOf(call: Call, queue: Queue, picked: Omit<Picked, "passed">, claim: Claim | null): Next {
  const { row, task } = queue.ledger.snapshot(() => {
    const now = picked.row === null ? null : (queue.ledger.task(picked.row.id) ?? picked.row);
    return { row: now, task: now === null ? null : queue.document(now) };
  });
  return {
    task,
    path: row === null ? null : queue.pathOf(row),
    claimed: claim !== null,
    ...(claim === null ? {} : { claim: shownClaim(claim, true) }),
    candidates: picked.candidates,
    reasons: picked.reasons.map((reason) => ({ ...reason, waitingOn: [...reason.waitingOn] })),
    stateRoot: queue.stateRoot,
    workRoot: call.target.repo.workRoot,
  };
}

export function nextText(result: Next, style: Style): string {
  if (result.task === null) {
    if (result.candidates === 0) return "nothing to pick: no task is todo or analysed\n";
    const lines = result.reasons
      .slice(0, 20)
      .map((reason) => `  ${reason.id.slice(0, 8)}  ${reason.name}: ${reason.detail}\n`);
    const more = result.reasons.length > 20 ? `  and ${result.reasons.length - 20} more\n` : "";
    return `nothing to pick: ${count(result.candidates, "candidate")}, none eligible\n${lines.join("")}${more}`;
  }
  const id = asText(result.task["id"]);
  const facts = [
    `priority ${asText(result.task["priority"] ?? 50)}`,
    result.task["effort"],
    result.task["status"],
  ].filter((fact) => typeof fact === "string");
  const claim = claimLine(result.claim, style);
  return `${id.slice(0, 8)}  ${asText(result.task["name"])}  ${paint(style, "dim", `(${facts.join(", ")})`)}\n${claim}`;
}

const given = ["task add 'Add a login page'"] as const;

/** Picks and reserves in one transaction, so that two callers never get the same task. */
async function claimNext(
  call: Call,
  queue: Queue,
  input: PickInput & HolderInput & { ttl?: string | undefined; pid?: number | undefined },
): Promise<Next> {
  const holder = holderOf(call, input);
  const terms = termsOf(input);
  const unmet = conditions(queue);
  const first = await settledPick(call, queue, holder, input);
  if (first.row === null) return nextOf(call, queue, first, null);
  const { picked, claim } = await queue.write("task claim", (tx) => {
    const again = pickNext(call, queue, holder, input, unmet);
    return {
      picked: again,
      claim: again.row === null ? null : takeClaim(call, tx, again.row.id, { holder, ...terms }),
    };
  });
  return nextOf(call, queue, picked, claim);
}

export const next = operation({
  name: "task next",
  tool: "task_get_next",
  summary: "Show the task that comes next",
  details:
    "Analysed tasks come before todo ones, then priority, then age; only tasks whose dependencies are satisfied and whose condition holds. It only looks: to be sure of the task, claim it. When nothing can be picked the answer says why for each candidate.",
  examples: [
    { given, run: "task next", does: "what to work on" },
    { given, run: "task next --claim --owner ada", does: "reserve it for ada" },
  ],
  effect: "read",
  target: { rule: "queue" },
  input: v.strictObject({
    ...pickFields,
    session_id: provenanceFields.session_id,
    owner: holderFields.owner,
    claim_token: holderFields.claim_token,
    claim: v.optional(v.pipe(v.boolean(), v.description("Reserve the task for you."))),
    ...claimTermsFields,
    ...dirField,
  }),
  flags: {
    session_id: provenanceFlags.session_id,
    owner: holderFlags.owner,
    claim_token: holderFlags.claim_token,
    claim: { cliOnly: true },
    ttl: { ...claimFlags.ttl, cliOnly: true },
    pid: { ...claimFlags.pid, cliOnly: true },
  },
  output: nextOutput,
  async run(call, input) {
    return await withQueue(call, async ({ queue }) => {
      if (input.claim === true) return await claimNext(call, queue, input);
      const picked = await settledPick(call, queue, holderOf(call, input), input);
      await queue.finishRead();
      return nextOf(call, queue, picked, null);
    });
  },
  text: nextText,
  ids: (result) => (result.task === null ? [] : [asText(result.task["id"])]),
  status: (result) => (result.task === null ? 1 : 0),
});

const claimOutput = v.object({ ...nextOutput.entries, changed: v.boolean() });

export const claim = operation({
  name: "task claim",
  summary: "Reserve a task, or the next one, so that nobody else takes it",
  details:
    "The status stays. The claim holds for this clone until it is released, the task moves on, its ttl passes without a sign of life, or the named process ends. Without an owner or a session the returned token is the only proof: keep it in DOTBOT_CLAIM.",
  examples: [
    { given, run: "task claim --owner ada", does: "reserve the next task for ada" },
    { given, run: "task claim 'Add a login page' --owner ada --ttl 30m", does: "reserve this one for half an hour" },
  ],
  effect: "write",
  target: { rule: "queue" },
  session: "optional",
  positional: [{ field: "task_id", optional: true, variadic: true }],
  batch: "task_id",
  complete: { task_id: "task" },
  input: v.strictObject({
    ...taskField,
    ...pickFields,
    ...provenanceFields,
    ...holderFields,
    ...claimTermsFields,
    ...dirField,
  }),
  flags: { ...provenanceFlags, ...holderFlags, ...claimFlags },
  output: claimOutput,
  async run(call, input) {
    return await withQueue(call, async ({ queue }) => {
      if (input.task_id === undefined) {
        const result = await claimNext(call, queue, input);
        return { ...result, changed: result.claimed };
      }
      const row = await namedTask(call, queue, input.task_id, "claim");
      const holder = holderOf(call, input);
      const terms = termsOf(input);
      const who = await provenance(call, call.target.repo, input, false);
      const taken = await queue.write(`task claim ${row.id8}`, (tx) => {
        const now = tx.row(row.id);
        const mine = standingClaim(call, tx.ledger.claim(row.id));
        const theft = guardClaim(call, tx, now, holder, input.steal, "claim");
        if (theft !== null) recordTheft(tx, now, who, theft);
        return {
          claim: takeClaim(call, tx, row.id, { holder, ...terms }),
          changed: mine === null || !holds(mine, holder),
        };
      });
      return { ...nextOf(call, queue, { row, candidates: 1, reasons: [] }, taken.claim), changed: taken.changed };
    });
  },
  text: nextText,
  ids: (result) => (result.task === null ? [] : [asText(result.task["id"])]),
  status: (result) => (result.task === null ? 1 : 0),
});

const heldOutput = v.object({ ...oneTask, claim: v.optional(claimShape), changed: v.boolean() });
type Held = v.InferOutput<typeof heldOutput>;

const holding = {
  effect: "write",
  idempotent: true,
  target: { rule: "queue" },
  positional: [{ field: "task_id", optional: true, variadic: true }],
  batch: "task_id",
  complete: { task_id: "task" },
  input: v.strictObject({ ...taskField, session_id: provenanceFields.session_id, ...holderFields, ...dirField }),
  flags: { session_id: provenanceFlags.session_id, ...holderFlags },
  output: heldOutput,
} as const;

async function withClaim(
  call: Call,
  input: { task_id?: string | undefined; steal?: string | undefined } & HolderInput,
  verb: string,
  act: (tx: Tx, row: TaskRow, before: "own" | "taken over" | null, holder: Holder) => Claim | null,
): Promise<Held> {
  return await withQueue(call, async ({ queue }) => {
    const row = await namedTask(call, queue, input.task_id, verb);
    const holder = holderOf(call, input);
    const who = await provenance(call, call.target.repo, { session_id: input.session_id }, false);
    const result = await queue.write(`task ${verb} ${row.id8}`, (tx) => {
      const now = tx.row(row.id);
      const theft = guardClaim(call, tx, now, holder, input.steal, verb);
      if (theft !== null) recordTheft(tx, now, who, theft);
      const own = standingClaim(call, tx.ledger.claim(row.id)) !== null;
      const before = theft !== null ? "taken over" : own ? "own" : null;
      return { claim: act(tx, now, before, holder), changed: before !== null };
    });
    return {
      ...oneTaskOf(call, queue, row),
      ...(result.claim === null ? {} : { claim: shownClaim(result.claim) }),
      changed: result.changed,
    };
  });
}

export const heartbeat = operation({
  ...holding,
  name: "task heartbeat",
  summary: "Show that the holder of a claim is still at work",
  details:
    "Renews the claim's time. Every other call of the holder does the same; this one is for long work between calls.",
  examples: [
    {
      given: [...given, "task claim 'Add a login page' --owner ada"],
      run: "task heartbeat 'Add a login page' --owner ada",
      does: "keep it",
    },
  ],
  toolset: "people",
  async run(call, input) {
    return await withClaim(call, input, "heartbeat", (tx, row, before, holder) => {
      if (before === null) {
        throw new DotbotError("NOT_HOLDER", `nobody holds ${quote(row.name)} (${row.id8})`, {
          hint: "claim it first",
          example: exampleFor("claim", row.id8),
        });
      }
      return takeClaim(call, tx, row.id, { holder });
    });
  },
  text: (result) =>
    `${asText(result.task["id"]).slice(0, 8)}  ${asText(result.task["name"])}: still held by ${result.claim?.owner || result.claim?.session || "its token's holder"}\n`,
});

export const release = operation({
  ...holding,
  name: "task release",
  summary: "Give a claim back; the status stays",
  details: "Afterwards anybody may take the task. Releasing what nobody holds changes nothing.",
  examples: [
    {
      given: [...given, "task claim 'Add a login page' --owner ada"],
      run: "task release 'Add a login page' --owner ada",
      does: "give it back",
    },
  ],
  toolset: "people",
  async run(call, input) {
    return await withClaim(call, input, "release", (tx, row) => {
      tx.ledger.dropClaim(row.id);
      return null;
    });
  },
  text: (result) =>
    `${asText(result.task["id"]).slice(0, 8)}  ${asText(result.task["name"])}: ${result.changed ? "released" : "wasn't claimed"}\n`,
});

/** `start --next`: picks and starts in one transaction. When nothing can be picked the answer is that of `next`. */
export async function nextForStart(
  call: Call,
  desk: Desk,
  input: MoveInput & PickInput,
  plan: MovePlan,
): Promise<Moved | Next> {
  const { queue, settings } = desk;
  const holder = holderOf(call, input);
  const who = await provenance(call, call.target.repo, input, settings.provenance.require_session);
  const unmet = conditions(queue);
  const first = await settledPick(call, queue, holder, input);
  const outcome =
    first.row === null
      ? null
      : await queue.write("task start --next", (tx) => {
          const { row } = pickNext(call, queue, holder, input, unmet);
          return row === null ? null : applyMove(call, tx, row, who, holder, undefined, plan);
        });
  if (outcome === null) return nextOf(call, queue, { ...first, row: null }, null);
  return await answered(call, desk, who, outcome);
}
