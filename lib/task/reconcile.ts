/**
 * Pure: what a file in the view means, given what the ledger holds. The ledger is the truth; a file may be the picture it
 * drew, an older picture brought back by git, an edit by a person or another tool, or something that can't be told.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import { asNumber } from "../json.ts";
import { HISTORY_IN_FILE, historyOf } from "./model.ts";

export type Verdict =
  /** The edit continues the current version: it becomes the next one. */
  | "adopt"
  /** Plainly an earlier state: the ledger's version stands, the content is kept among the task's versions. */
  | "rollback"
  /** Neither continues the other: both are kept until somebody settles it. */
  | "conflict";

/** Compares two documents by what they say of their own past. `current` is the ledger's, `found` the file's. */
export function judge(current: JsonObject, found: JsonObject, knowsRevision: (revision: number) => boolean): Verdict {
  const ours = historyOf(current);
  const theirs = historyOf(found);
  const ourRevision = asNumber(current["revision"]);
  const theirRevision = asNumber(found["revision"]);
  const ourTime = instant(current["updated_at"]);
  const theirTime = instant(found["updated_at"]);

  if (ours.length > 0 && theirs.length > 0) {
    const relation = compareHistories(ours, theirs);
    if (relation === "diverged") return "conflict";
    if (relation === "longer") return "adopt";
    if (relation === "same") {
      if (theirRevision === undefined || ourRevision === undefined || theirRevision >= ourRevision) return "adopt";
      return older(theirRevision, theirTime, ourTime, knowsRevision);
    }
    return older(theirRevision, theirTime, ourTime, knowsRevision);
  }

  // Without a history on both sides only the revision and the time are left to go by.
  if (ours.length > 0) {
    // We moved it since, and the file knows nothing of that: dotbot 3's own write, or a branch from before.
    if (theirTime !== undefined && ourTime !== undefined && theirTime < ourTime) return "rollback";
    return "conflict";
  }
  if (theirs.length > 0) return "adopt";
  if (ourRevision !== theirRevision) {
    return ourRevision !== undefined && theirRevision !== undefined && theirRevision < ourRevision
      ? "rollback"
      : "conflict";
  }
  if (ourTime !== undefined && theirTime !== undefined && theirTime < ourTime) return "rollback";
  return "adopt";
}

/** An earlier state, unless the ledger knows that revision with other content: then the file is an edit made from it. */
function older(
  theirRevision: number | undefined,
  theirTime: number | undefined,
  ourTime: number | undefined,
  knowsRevision: (revision: number) => boolean,
): Verdict {
  if (theirRevision !== undefined && knowsRevision(theirRevision)) return "conflict";
  if (theirTime !== undefined && ourTime !== undefined && theirTime > ourTime) return "conflict";
  return "rollback";
}

/** How `theirs` relates to `ours`. Both may have lost their beginning: a file carries only the last entries. */
export function compareHistories(
  ours: readonly JsonObject[],
  theirs: readonly JsonObject[],
): "same" | "longer" | "shorter" | "diverged" {
  const key = (entry: JsonObject): string =>
    JSON.stringify([entry["at"], entry["from"], entry["to"], entry["by"], entry["session_id"], entry["reason"]]);
  const ourKeys = ours.map(key);
  const theirKeys = theirs.map(key);
  const ourLast = ourKeys.at(-1);
  const theirLast = theirKeys.at(-1);
  if (ourLast === undefined || theirLast === undefined) return "diverged";
  const inTheirs = alignedEnd(theirKeys, ourKeys);
  if (inTheirs === theirKeys.length) return "same";
  if (inTheirs !== null) return "longer";
  return alignedEnd(ourKeys, theirKeys) === null ? "diverged" : "shorter";
}

/**
 * Where in `whole` the run `part` ends (exclusive), compared backwards; null when it doesn't occur. Only a history that
 * has reached its bound may begin later than the other does.
 */
function alignedEnd(whole: readonly string[], part: readonly string[]): number | null {
  for (let end = whole.length; end > 0; end--) {
    const overlap = Math.min(end, part.length);
    if (overlap < part.length && whole.length < HISTORY_IN_FILE) return null;
    if (overlap < end && part.length < HISTORY_IN_FILE) continue;
    let matches = true;
    for (let back = 1; back <= overlap && matches; back++) matches = whole[end - back] === part[part.length - back];
    if (matches) return end;
  }
  return null;
}

function instant(value: JsonValue | undefined): number | undefined {
  if (typeof value !== "string") return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : at;
}
