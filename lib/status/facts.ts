/** Where a caller stands: repository, checkout, task, queue. What bare `dotbot` shows a person, and `prime` an agent. */
import { join } from "node:path";

import { exists } from "../files.ts";
import { readHead, type Head } from "../git/repo.ts";
import type { Call } from "../op.ts";
import { holds } from "../task/claim.ts";
import { currentTaskId } from "../task/here.ts";
import { holderOf, standingClaim } from "../task/holders.ts";
import { ledgerFolder } from "../task/ledger.ts";
import { OPEN, type Status, STATUSES } from "../task/model.ts";
import { settledPick } from "../task/next.ts";
import { Queue } from "../task/queue.ts";

/** A task as far as one line shows it. */
export interface Brief {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
}

export interface QueueFacts {
  /** Every status, in their order. */
  readonly counts: Record<string, number>;
  /** The task whose worktree the caller stands in. */
  readonly here: Brief | null;
  /** What the caller holds and hasn't finished, that one aside. */
  readonly held: readonly Brief[];
  /** What waits for a person, at most a few. */
  readonly asks: readonly Brief[];
  readonly reviews: readonly Brief[];
  readonly next: Brief | null;
  readonly broken: number;
  readonly conflicts: number;
}

export interface Standing {
  readonly stateRoot: string;
  readonly workRoot: string | null;
  readonly head: Head;
  /** As history will name it; `unknown` when nothing tells. */
  readonly session: string;
  /** null: the repository has no queue yet. */
  readonly queue: QueueFacts | null;
}

const FEW = 3;

/** @param session who calls, where that is known better than the environment knows it */
export async function standingOf(call: Call, session?: string): Promise<Standing> {
  const { repo } = call.target;
  const holder = holderOf(call, { session_id: session });
  const place = {
    stateRoot: repo.stateRoot,
    workRoot: repo.workRoot,
    head: await readHead(call, repo),
    session: holder.session,
  };
  const present = exists(join(repo.stateRoot, ".bot")) || exists(join(ledgerFolder(repo.stateCommonDir), "queue.db"));
  if (!present) return { ...place, queue: null };

  using queue = await Queue.open(call, repo);
  const { ledger } = queue;
  const picked = await settledPick(call, queue, holder, {});
  const facts = ledger.snapshot((): QueueFacts => {
    const brief = (id: string): Brief[] => {
      const row = ledger.task(id);
      return row === undefined || row.place === "removed" ? [] : [{ id, name: row.name, status: row.status }];
    };
    const [here = null] = brief(currentTaskId(ledger, repo) ?? "");
    const held = [...ledger.claims()].flatMap(([id, text]) => {
      const claim = standingClaim(call, text);
      return claim !== null && holds(claim, holder) && id !== here?.id ? brief(id) : [];
    });
    const counts = ledger.counts();
    const few = (status: Status): readonly Brief[] =>
      ledger.lines("place = 'view' AND status = ?", [status], FEW).map(({ id, name }) => ({ id, name, status }));
    return {
      counts: Object.fromEntries(STATUSES.map((status) => [status, counts.get(status) ?? 0])),
      here,
      held: held.filter(({ status }) => OPEN.includes(status)),
      asks: few("needs-input"),
      reviews: few("needs-review"),
      next: picked.row === null ? null : { id: picked.row.id, name: picked.row.name, status: picked.row.status },
      broken: queue.broken.length,
      conflicts: ledger.conflicts().length,
    };
  });
  await queue.finishRead();
  return { ...place, queue: facts };
}

/** `2 todo, 1 in-progress`; what there is none of is left out. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return STATUSES.filter((status) => (counts[status] ?? 0) > 0)
    .map((status) => `${counts[status] ?? 0} ${status}`)
    .join(", ");
}
