/** The one way a task changes its status: every transition verb is this, with its own data. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { equalJson, type JsonObject } from "../../json.ts";
import type { Call } from "../../op.ts";
import type { Style } from "../../text.ts";
import { paint, shellWord } from "../../text.ts";
import { holds, type Claim, type Holder } from "../claim.ts";
import type { TaskRow } from "../ledger.ts";
import { appended, HELD, moved, type Status, TRANSITIONS, mayMove, STATUSES, VERB_TO } from "../model.ts";
import {
  entryOf,
  oneLine,
  provenance,
  provenanceFields,
  type Provenance,
  type ProvenanceInput,
} from "../provenance.ts";
import type { Tx } from "../queue.ts";
import { notifyStatus } from "../notify.ts";
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
  isIdentified,
  namedTask,
  oneTask,
  oneTaskOf,
  paintStatus,
  provenanceFlags,
  shownClaim,
  standingClaim,
  takeClaim,
  taskField,
  withQueue,
} from "./common.ts";

export const statusShape = v.picklist(STATUSES);

/** Input that every transition takes. */
export const moveFields = { ...taskField, ...provenanceFields, ...holderFields, ...dirField };
export const moveFlags = { ...provenanceFlags, ...holderFlags };

export type MoveInput = { task_id?: string | undefined; steal?: string | undefined } & ProvenanceInput & HolderInput;

export const moveOutput = {
  ...oneTask,
  oldStatus: statusShape,
  newStatus: statusShape,
  changed: v.pipe(v.boolean(), v.description("false: the task was already there, and the call brought nothing new.")),
};

export interface Moved {
  task: Record<string, unknown>;
  path: string;
  stateRoot: string;
  workRoot: string | null;
  oldStatus: Status;
  newStatus: Status;
  changed: boolean;
  claim?: v.InferOutput<typeof claimShape> | undefined;
}

export interface MovePlan {
  /** The verb as it is typed, for examples. */
  readonly verb: string;
  readonly to: Status | ((row: TaskRow, doc: JsonObject) => Status);
  readonly reason?: string | undefined;
  /** start and analysing: an identified caller holds the task from then on. */
  readonly claims?: boolean;
  /** Always claim, even for a caller that nothing identifies: the token is the proof. */
  readonly reserve?: boolean;
  readonly ttlMs?: number | undefined;
  readonly pid?: number | undefined;
  /**
   * Adds the verb's data to the document, before the move itself. Runs in the transaction on the document as it is then; the
   * same document back means: nothing new. Throws to refuse.
   */
  readonly data?: (doc: JsonObject, row: TaskRow, who: Provenance, tx: Tx) => JsonObject;
  /** Moves that the table doesn't have, for this caller only. */
  readonly also?: (from: Status) => boolean;
}

/** Opens the queue, finds the task, moves it, tells the hooks. */
export async function runMove(call: Call, input: MoveInput, plan: MovePlan): Promise<Moved> {
  return await withQueue(call, async (desk) => {
    const row = await namedTask(call, desk.queue, input.task_id, plan.verb);
    return await moveTask(call, desk, row, input, plan);
  });
}

/** Moves a task that was found. Errors: ILLEGAL_TRANSITION, NOT_HOLDER, INVALID_INPUT, LOCKED, READ_ONLY. */
export async function moveTask(call: Call, desk: Desk, row: TaskRow, input: MoveInput, plan: MovePlan): Promise<Moved> {
  const { queue, settings } = desk;
  const who = await provenance(call, call.target.repo, input, settings.provenance.require_session);
  const holder = holderOf(call, input);
  const outcome = await queue.write(`task ${plan.verb} ${row.id8}`, (tx) =>
    applyMove(call, tx, tx.row(row.id), who, holder, input.steal, plan),
  );
  return await answered(call, desk, who, outcome);
}

/** Tells the hooks of a move that was made, and what a caller is told. */
export async function answered(
  call: Call,
  { queue, settings }: Desk,
  who: Provenance,
  outcome: Applied,
): Promise<Moved> {
  const { after, before, changed, claim } = outcome;
  const answer = oneTaskOf(call, queue, after);
  if (changed && before !== after.status) {
    await notifyStatus(call, settings, {
      task: answer.task,
      path: answer.path,
      stateRoot: answer.stateRoot,
      oldStatus: before,
      newStatus: after.status,
      by: who.by,
      session_id: who.session_id,
      at: who.at,
    });
  }
  return {
    ...answer,
    oldStatus: before,
    newStatus: after.status,
    changed,
    ...(claim === null ? {} : { claim: shownClaim(claim, true) }),
  };
}

export interface Applied {
  readonly before: Status;
  readonly after: TaskRow;
  readonly changed: boolean;
  readonly claim: Claim | null;
}

/** The decision and the write, inside a transaction. */
export function applyMove(
  call: Call,
  tx: Tx,
  row: TaskRow,
  who: Provenance,
  holder: Holder,
  steal: string | undefined,
  plan: MovePlan,
): Applied {
  const theft = guardClaim(call, tx, row, holder, steal, plan.verb);
  const doc = tx.document(row);
  const to = typeof plan.to === "function" ? plan.to(row, doc) : plan.to;
  const repeated = row.status === to;
  if (!repeated && !mayMove(row.status, to) && plan.also?.(row.status) !== true) throw illegal(row, to, plan.verb);
  const reason = [plan.reason, theft].filter((part) => part !== undefined && part !== null && part !== "").join("; ");
  const withData = plan.data?.(doc, row, who, tx) ?? doc;
  let after = row;
  const news = !equalJson(withData, doc);
  if (!repeated) {
    const entry = entryOf(who, row.status, to, reason);
    after = tx.save(row, moved(withData, row.status, { to, entry }), { at: who.at, by: who.by, status: to, entry });
  } else if (news || theft !== null) {
    // A claim that changes hands is part of the task's history even where the status stays.
    const entry = theft === null ? undefined : entryOf(who, row.status, to, theft);
    const history = entry === undefined ? {} : { history: appended(withData, entry) };
    after = tx.save(
      row,
      { ...withData, ...history, updated_at: who.at },
      { at: who.at, by: who.by, ...(entry === undefined ? {} : { entry }) },
    );
  }
  const claim = settleClaim(call, tx, after, holder, plan);
  return { before: row.status, after, changed: !repeated || news || theft !== null, claim };
}

function settleClaim(call: Call, tx: Tx, row: TaskRow, holder: Holder, plan: MovePlan): Claim | null {
  if (plan.claims === true && (plan.reserve === true || isIdentified(holder) || holdsNow(call, tx, row, holder))) {
    return takeClaim(call, tx, row.id, { holder, ttlMs: plan.ttlMs, pid: plan.pid });
  }
  if (!HELD.includes(row.status)) tx.ledger.dropClaim(row.id);
  return null;
}

function holdsNow(call: Call, tx: Tx, row: TaskRow, holder: Holder): boolean {
  const claim = standingClaim(call, tx.ledger.claim(row.id));
  return claim !== null && holds(claim, holder);
}

/** Names both statuses, the legal exits, and a call that is one of them. */
export function illegal(row: TaskRow, to: Status, verb: string): DotbotError {
  const exits = TRANSITIONS[row.status];
  const back = exits.includes("todo");
  return new DotbotError("ILLEGAL_TRANSITION", `"${row.name}" (${row.id8}) is ${row.status}, and can't become ${to}`, {
    hint:
      exits.length === 0
        ? `${row.status} is final; add a new task instead`
        : `from ${row.status} it may become: ${exits.join(", ")}`,
    ...(exits.length === 0
      ? {
          example: `dotbot task add ${shellWord(row.name)}`,
        }
      : { example: exampleFor(back ? "reset" : (VERB_TO[exits[0] ?? "todo"] ?? "reset"), row.id8) }),
    details: { task: row.id, from: row.status, to, allowed: exits, verb },
  });
}

export function moveText(result: Moved, style: Style): string {
  const name = typeof result.task["name"] === "string" ? result.task["name"] : "";
  const id = typeof result.task["id"] === "string" ? result.task["id"].slice(0, 8) : "";
  const claim = claimLine(result.claim, style);
  if (!result.changed) return `${id}  ${name}: already ${paintStatus(style, result.newStatus)}\n${claim}`;
  if (result.oldStatus === result.newStatus)
    return `${id}  ${name}: ${paintStatus(style, result.newStatus)}, updated\n${claim}`;
  return `${id}  ${name}: ${result.oldStatus} → ${paintStatus(style, result.newStatus)}\n${claim}`;
}

/** How a fresh claim is told: the token only to whom nothing else proves as the holder. */
export function claimLine(claim: v.InferOutput<typeof claimShape> | undefined, style: Style): string {
  if (claim === undefined) return "";
  const holder = claim.owner !== "" ? claim.owner : claim.session;
  const proof = claim.token === undefined ? "" : `; to prove it: DOTBOT_CLAIM=${claim.token}`;
  return `${paint(style, "dim", holder === "unknown" ? `  claimed${proof}` : `  claimed by ${holder}`)}\n`;
}

export function reasonLine(call: Call, value: string | undefined, field: string): string | undefined {
  if (value === undefined) return undefined;
  const clean = oneLine(call, value, field);
  return clean === "" ? undefined : clean;
}
