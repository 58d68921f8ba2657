/**
 * Claims: who works on a task. They live in the ledger, not in the file, and hold for this clone only. Pure: whether a
 * process lives is asked by the caller and handed in.
 */
import type { Life, ProcessMark } from "../process.ts";

export const DEFAULT_TTL_MS = 2 * 60 * 60 * 1000;
/** A claim isn't given away in the instant that its time runs out, so that a clock set forward or a sleep frees nothing. */
const FUTURE_SLACK_MS = 60_000;

export interface Claim {
  /** What the holder calls itself. */
  readonly owner: string;
  readonly session: string;
  /** Proves the holder where neither owner nor session does. */
  readonly token: string;
  /** Only for a holder that outlives the call: its death frees the claim at once. */
  readonly process: ProcessMark | null;
  readonly host: string;
  /** RFC 3339. */
  readonly since: string;
  readonly heartbeat: string;
  readonly ttlMs: number;
}

/** Who calls, as far as claims go. `unknown` never equals `unknown`. */
export interface Holder {
  readonly owner: string | null;
  readonly session: string;
  readonly token: string | null;
}

export function holds(claim: Claim, holder: Holder): boolean {
  if (holder.token !== null && holder.token === claim.token) return true;
  if (holder.owner !== null) return holder.owner === claim.owner;
  return holder.session !== "unknown" && holder.session === claim.session;
}

/** What to call a holder in a message. */
export function holderName(claim: Claim): string {
  return claim.owner !== ""
    ? claim.owner
    : claim.session !== "unknown"
      ? claim.session
      : `an unnamed caller on ${claim.host}`;
}

/**
 * Whether a claim still stands. A process that is known to live or to be dead decides; otherwise a time-to-live without a
 * sign of life, and then one more as grace: a machine that slept shows a gap that nobody could have filled.
 */
export function standing(claim: Claim, now: Date, life: Life): "held" | "free" {
  if (life === "dead") return "free";
  if (life === "alive") return "held";
  const silent = now.getTime() - Date.parse(claim.heartbeat);
  if (Number.isNaN(silent)) return "held";
  // A heartbeat from the future: the clock was set back. Start counting from now rather than hold it for ever.
  if (silent < -FUTURE_SLACK_MS) return Math.abs(silent) > 2 * claim.ttlMs ? "free" : "held";
  return silent > 2 * claim.ttlMs ? "free" : "held";
}

/** A claim past its time-to-live but still in its grace: doctor reports it. */
export function isStale(claim: Claim, now: Date): boolean {
  return now.getTime() - Date.parse(claim.heartbeat) > claim.ttlMs;
}
