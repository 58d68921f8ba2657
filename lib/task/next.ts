/** The next task for a caller: who else holds what, which conditions are true now, and the rule of pick.ts. */
import type { Ctx } from "../ctx.ts";
import { type Holder, holderName, holds } from "./claim.ts";
import { isMet } from "./condition.ts";
import { standingClaim } from "./holders.ts";
import type { TaskRow } from "./ledger.ts";
import { Lookup } from "./lookup.ts";
import type { Status } from "./model.ts";
import { type Picked, pickFrom, type Pool } from "./pick.ts";
import type { Queue } from "./queue.ts";

export interface PickInput {
  prefer?: "analysed" | "todo" | undefined;
  status?: "analysed" | "todo" | undefined;
}

function poolOf(input: PickInput): readonly Status[] {
  if (input.status !== undefined) return [input.status];
  return input.prefer === "todo" ? ["todo", "analysed"] : ["analysed", "todo"];
}

/** Conditions are asked of the file system once per command. */
export function conditions(queue: Queue): (row: TaskRow) => string | null {
  const known = new Map<string, boolean>();
  return (row) => {
    for (const condition of row.conditions) {
      let met = known.get(condition);
      if (met === undefined) {
        met = isMet(queue.stateRoot, condition);
        known.set(condition, met);
      }
      if (!met) return condition;
    }
    return null;
  };
}

/** The next task for this caller, by the ledger as it stands in this transaction or snapshot. */
export function pickNext(
  ctx: Ctx,
  queue: Queue,
  holder: Holder,
  input: PickInput,
  unmet: (row: TaskRow) => string | null,
): Picked {
  const { ledger } = queue;
  const statuses = poolOf(input);
  const pool: Pool = {
    rows: chained(statuses.map((status) => ledger.inPickOrder(status))),
    size: ledger.count(`status IN (${statuses.map(() => "?").join(",")}) AND place = 'view'`, statuses),
  };
  const claims = ledger.claims();
  const claimedBy = (row: TaskRow): string | null => {
    const claim = standingClaim(ctx, claims.get(row.id));
    return claim === null || holds(claim, holder) ? null : holderName(claim);
  };
  const lookup = new Lookup(ledger);
  return pickFrom(pool, lookup, lookup, { claimedBy, unmet });
}

function* chained<T>(parts: readonly Iterable<T>[]): Generator<T> {
  for (const part of parts) yield* part;
}

/**
 * The same, after the files of what was picked and of what was passed over have been compared with the ledger: an edit may
 * have made one of them eligible, and the answer says why the others aren't.
 */
export async function settledPick(ctx: Ctx, queue: Queue, holder: Holder, input: PickInput): Promise<Picked> {
  const unmet = conditions(queue);
  for (;;) {
    const picked = queue.ledger.snapshot(() => pickNext(ctx, queue, holder, input, unmet));
    const shown = picked.row === null ? picked.passed : [picked.row, ...picked.passed];
    if (!(await queue.check(shown))) return picked;
  }
}
