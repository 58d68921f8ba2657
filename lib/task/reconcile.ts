/**
 * Pure: what a file in the view means, given what the ledger holds. The ledger is the truth; a file may be the picture it
 * drew, an older picture brought back by git, an edit by a person or another tool, or something that can't be told.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import { asNumber, equalJson } from "../json.ts";
import { type FieldChange, fieldChanges } from "./diff.ts";
import { HISTORY_IN_FILE, historyOf, RESERVED_FIELDS } from "./model.ts";

export type Verdict =
  /** The edit continues the current version: it becomes the next one. */
  | "adopt"
  /** Plainly an earlier state: the ledger's version stands, the content is kept among the task's versions. */
  | "rollback"
  /** Neither continues the other: both are kept until somebody settles it. */
  | "conflict";

/** What there is to judge by beside the two documents. */
export interface Grounds {
  /** Whether the ledger ever had a document that called itself this revision. */
  readonly knowsRevision: (revision: number) => boolean;
  /**
   * What our last step of history left behind, before any edits of ours since: edits leave no trace in a history, so only
   * this tells whether a document builds on them. The current document where there were none.
   */
  readonly base: JsonObject;
  /** Of the current document: a settlement elsewhere names what it settled. */
  readonly hash: string;
  /** The document comes from another clone, not from an edit of the file that shows ours. */
  readonly elsewhere: boolean;
}

/** Compares two documents by what they say of their own past. `current` is the ledger's, `found` the file's. */
export function judge(current: JsonObject, found: JsonObject, grounds: Grounds): Verdict {
  const ours = historyOf(current);
  const theirs = historyOf(found);
  const ourRevision = asNumber(current["revision"]);
  const theirRevision = asNumber(found["revision"]);
  const ourTime = instant(current["updated_at"]);
  const theirTime = instant(found["updated_at"]);
  const past: Past = { ourRevision, theirRevision, ourTime, theirTime };

  if (ours.length > 0 && theirs.length > 0) {
    const relation = compareHistories(ours, theirs);
    if (relation === "diverged") return "conflict";
    if (relation === "shorter") return older(past, grounds);
    if (relation === "longer") return onTop(current, found, past, grounds);
    if (theirRevision !== undefined && ourRevision !== undefined && theirRevision < ourRevision)
      return older(past, grounds);
    return beside(current, found, past, grounds);
  }

  // Without a history on both sides only the revision and the time are left to go by.
  if (ours.length > 0) {
    // We moved it since, and the file knows nothing of that: dotbot 3's own write, or a branch from before.
    if (theirTime !== undefined && ourTime !== undefined && theirTime < ourTime) return "rollback";
    return "conflict";
  }
  if (theirs.length > 0) return onTop(current, found, past, grounds);
  if (ourRevision !== undefined && theirRevision === undefined) return "conflict";
  if (ourRevision !== undefined && theirRevision !== undefined && theirRevision < ourRevision)
    return older(past, grounds);
  if (theirRevision === undefined && ourTime !== undefined && theirTime !== undefined && theirTime < ourTime)
    return "rollback";
  return beside(current, found, past, grounds);
}

interface Past {
  readonly ourRevision: number | undefined;
  readonly theirRevision: number | undefined;
  readonly ourTime: number | undefined;
  readonly theirTime: number | undefined;
}

/** Their history goes on where ours ends. Whether our edits since are in there is another question. */
function onTop(current: JsonObject, found: JsonObject, past: Past, grounds: Grounds): Verdict {
  const edits = fieldChanges(grounds.base, current);
  if (edits.length === 0 || isSettledBy(found, grounds.hash)) return "adopt";
  // Every step counts the revision up, so one that builds on our edits has more than ours.
  if (past.theirRevision !== undefined && past.ourRevision !== undefined && past.theirRevision <= past.ourRevision)
    return "conflict";
  return lacks(edits, found) ? "conflict" : "adopt";
}

/** The same history, and not an earlier revision: an edit of ours, or one made elsewhere while we made ours. */
function beside(current: JsonObject, found: JsonObject, past: Past, { base, elsewhere }: Grounds): Verdict {
  const edits = fieldChanges(base, current);
  const sameRevision = past.theirRevision === past.ourRevision;
  const byHand = sameRevision && past.theirTime === past.ourTime;
  if (edits.length === 0 || (byHand && !elsewhere)) return "adopt";
  // What takes our edits back and does nothing else is meant to.
  const theirEdits = fieldChanges(base, found);
  if (theirEdits.length === 0) return "adopt";
  // Tools that count no revisions move a task to and fro in its file; what transitions record says nothing about them.
  const telling = sameRevision && !elsewhere ? edits.filter(({ field }) => !isReserved(field)) : edits;
  if (lacks(telling, found)) return "conflict";
  // Another clone's edit counts the revision up: with ours it was made from the state before, whatever it wrote.
  const both = theirEdits.some(({ field }) =>
    edits.some((edit) => edit.field === field && !equalJson(edit.after, found[field])),
  );
  return elsewhere && sameRevision && both ? "conflict" : "adopt";
}

function isReserved(field: string): boolean {
  return (RESERVED_FIELDS as readonly string[]).includes(field);
}

/** Whether the document says of something that we edited what it said before: then it was made without that edit. */
function lacks(edits: readonly FieldChange[], found: JsonObject): boolean {
  return edits.some(({ field, before }) => equalJson(found[field], before));
}

/** An earlier state, unless it can't be one of ours: then it is an edit made from one. */
function older({ ourRevision, theirRevision, ourTime, theirTime }: Past, { knowsRevision }: Grounds): Verdict {
  // The ledger has that revision with other content, or has never come so far.
  if (theirRevision !== undefined && (knowsRevision(theirRevision) || theirRevision > (ourRevision ?? Infinity)))
    return "conflict";
  if (theirTime !== undefined && ourTime !== undefined && theirTime > ourTime) return "conflict";
  return "rollback";
}

/**
 * Of a task's versions, oldest first, that which the last step in its history left behind: the first of those at the end
 * that have the same history.
 */
export function lastStep(versions: Iterable<JsonObject>, current: JsonObject): JsonObject {
  const history = JSON.stringify(historyOf(current));
  let base: JsonObject | undefined;
  for (const version of versions) {
    if (JSON.stringify(historyOf(version)) !== history) base = undefined;
    else base ??= version;
  }
  return base ?? current;
}

const SETTLED = "conflict settled with";
const DIGITS = 12;

/** The history entry of a settlement says which contents it settled, so that whoever has one of them knows. */
export function settlementReason(hashes: readonly string[]): string {
  return `${SETTLED} ${hashes.map((hash) => hash.slice(0, DIGITS)).join(" ")}`;
}

function isSettledBy(found: JsonObject, hash: string): boolean {
  return historyOf(found).some(({ reason }) => {
    if (typeof reason !== "string" || !reason.startsWith(SETTLED)) return false;
    const [named = ""] = reason.slice(SETTLED.length).split(";");
    return named.split(" ").includes(hash.slice(0, DIGITS));
  });
}

/**
 * How `theirs` relates to `ours`. A settled conflict has the steps of both sides, in the order of time: so one history
 * continues the other when it has all of its steps in their order. A file carries only the last entries.
 */
export function compareHistories(
  ours: readonly JsonObject[],
  theirs: readonly JsonObject[],
): "same" | "longer" | "shorter" | "diverged" {
  // The time comes first: keys are in its order.
  const key = (entry: JsonObject): string =>
    JSON.stringify([entry["at"], entry["from"], entry["to"], entry["by"], entry["session_id"], entry["reason"]]);
  const ourKeys = ours.map(key);
  const theirKeys = theirs.map(key);
  const theyKnow = knowsAll(theirKeys, ourKeys);
  const weKnow = knowsAll(ourKeys, theirKeys);
  if (theyKnow) return weKnow ? "same" : "longer";
  return weKnow ? "shorter" : "diverged";
}

/** Whether all of `part` is in `whole`, in its order. Only one that has reached its bound may have lost its beginning. */
function knowsAll(whole: readonly string[], part: readonly string[]): boolean {
  const wholeIsCut = whole.length >= HISTORY_IN_FILE;
  const partIsCut = part.length >= HISTORY_IN_FILE;
  if (part.length === 0 || (!wholeIsCut && !partIsCut && whole[0] !== part[0])) return false;
  let at = whole.length;
  for (let i = part.length - 1; i >= 0; i--) {
    const step = part[i] ?? "";
    const found = at === 0 ? -1 : whole.lastIndexOf(step, at - 1);
    if (found !== -1) at = found;
    // What is missing may lie before the beginning of `whole`; never the last step, which would be a turn of its own.
    else return wholeIsCut && i < part.length - 1 && step <= (whole[0] ?? "");
  }
  return true;
}

function instant(value: JsonValue | undefined): number | undefined {
  if (typeof value !== "string") return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : at;
}
