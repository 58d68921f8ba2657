/** What was verified when a task was done: the commit, and the one that its work was measured against. */
import type { Ledger } from "./ledger.ts";

const VERIFIED_RECORDS = "verified";

export interface Verified {
  readonly head: string;
  readonly base: string | null;
}

/** Null when nothing was. */
export function readVerified(ledger: Ledger, taskId: string): Verified | null {
  const value = ledger.record(VERIFIED_RECORDS, taskId);
  if (typeof value !== "object" || value === null || !("head" in value) || typeof value.head !== "string") return null;
  return { head: value.head, base: "base" in value && typeof value.base === "string" ? value.base : null };
}

/** Inside a transaction. */
export function writeVerified(ledger: Ledger, taskId: string, verified: Verified): void {
  ledger.putRecord(VERIFIED_RECORDS, taskId, verified);
}
