/** Who works on what: claims that nobody holds any more, and work that nobody owns. */
import type { Claim } from "../../task/claim.ts";
import { holderName, isStale, standing } from "../../task/claim.ts";
import { lifeOf, type Life } from "../../process.ts";
import { count, quote } from "../../text.ts";
import { manual, NOTHING_TO_DO, some, type Check, type Finding } from "../finding.ts";
import type { Patient } from "../patient.ts";

interface Held {
  readonly id: string;
  readonly claim: Claim;
  readonly life: Life;
}

/** Every claim that can be read, and the ids of those that can't. */
function claimsOf({ call, queue }: Patient): { readonly held: Held[]; readonly unreadable: string[] } {
  const held: Held[] = [];
  const unreadable: string[] = [];
  for (const [id, text] of queue?.ledger.claims() ?? []) {
    try {
      const claim = JSON.parse(text) as Claim;
      held.push({
        id,
        claim,
        life: claim.process === null || claim.host !== call.hostname ? "unknown" : lifeOf(claim.process),
      });
    } catch {
      unreadable.push(id);
    }
  }
  return { held, unreadable };
}

const staleClaims: Check<Patient> = {
  id: "claims",
  about: "claims belong to somebody who lives, and to tasks that exist",
  run(patient) {
    const { call, queue } = patient;
    if (queue === null) return [];
    const { held, unreadable } = claimsOf(patient);
    const now = call.now();
    const name = (id: string): string => queue.ledger.task(id)?.name ?? id;
    const gone = held.filter(({ id }) => (queue.ledger.task(id)?.place ?? "removed") === "removed");
    const free = held.filter((it) => !gone.includes(it) && standing(it.claim, now, it.life) === "free");
    const drop = [...gone, ...free];
    const findings: Finding[] = [];
    if (drop.length + unreadable.length > 0) {
      const ids = [...drop.map(({ id }) => id), ...unreadable];
      findings.push({
        severity: "warn",
        finding: `${count(ids.length, "claim")} ${ids.length === 1 ? "is" : "are"} held by nobody any more; the tasks are free already`,
        evidence: some([
          ...drop.map(
            ({ id, claim, life }) =>
              `${quote(name(id))}: ${holderName(claim)}, ${life === "dead" ? `process ${claim.process?.pid ?? 0} has ended` : `silent since ${claim.heartbeat}`}`,
          ),
          ...unreadable.map((id) => `${quote(name(id))}: can't be read`),
        ]),
        remedy: {
          kind: "auto",
          plan: "drop them from the ledger",
          apply: async () => {
            const dropped = await queue.write("doctor: stale claims", (tx) => {
              // Looked at again: somebody may have claimed meanwhile.
              const before = new Map(drop.map(({ id, claim }) => [id, JSON.stringify(claim)]));
              const now_ = ids.filter((id) => unreadable.includes(id) || sameText(tx.ledger.claim(id), before.get(id)));
              for (const id of now_) tx.ledger.dropClaim(id);
              return now_.length;
            });
            return `${count(dropped, "claim")} dropped`;
          },
        },
      });
    }
    const silent = held.filter((it) => !drop.includes(it) && it.life !== "alive" && isStale(it.claim, now));
    if (silent.length > 0) {
      findings.push({
        severity: "info",
        finding: `${count(silent.length, "holder")} gave no sign of life for longer than the claim's time; the claim ends by itself`,
        evidence: some(
          silent.map(({ id, claim }) => `${quote(name(id))}: ${holderName(claim)}, silent since ${claim.heartbeat}`),
        ),
        remedy: NOTHING_TO_DO,
      });
    }
    return findings;
  },
};

function sameText(text: string | undefined, claim: string | undefined): boolean {
  if (text === undefined || claim === undefined) return false;
  return JSON.stringify(JSON.parse(text)) === claim;
}

const DAY_MS = 24 * 60 * 60 * 1000;

const unowned: Check<Patient> = {
  id: "unowned-work",
  about: "what is in progress has an owner or a worktree",
  run(patient) {
    const { call, queue, tasks, worktrees } = patient;
    if (queue === null) return [];
    const now = call.now();
    const owned = new Set(
      claimsOf(patient)
        .held.filter(({ claim, life }) => standing(claim, now, life) === "held")
        .map(({ id }) => id),
    );
    const rows = tasks("place = 'view' AND status IN ('in-progress', 'analysing')").filter(
      ({ id }) => !owned.has(id) && !worktrees.has(id),
    );
    if (rows.length === 0) return [];
    const old = rows.filter(({ updatedAt }) => now.getTime() - Date.parse(updatedAt) > DAY_MS);
    return [
      {
        severity: old.length > 0 ? "warn" : "info",
        finding: `${count(rows.length, "task")} ${rows.length === 1 ? "is" : "are"} in progress without an owner and without a worktree${old.length > 0 ? `, ${old.length} of them untouched for more than a day` : ""}`,
        evidence: some(
          rows.map(({ id8, name, status, updatedAt }) => `${id8} ${quote(name)}: ${status} since ${updatedAt}`),
        ),
        remedy:
          old.length > 0
            ? manual(
                `if nobody works on them: dotbot task reset ${old
                  .slice(0, 5)
                  .map(({ id8 }) => id8)
                  .join(" ")}`,
              )
            : NOTHING_TO_DO,
      },
    ];
  },
};

export const CLAIM_CHECKS: readonly Check<Patient>[] = [staleClaims, unowned];
