/** The queue's own paths, and what a branch may do to them: nothing. Pure. */
import type { Change, Entry } from "../git/merge.ts";
import { isStatus, type Status } from "./model.ts";

/** What belongs to the queue and its machinery, from a checkout's root. */
export const QUEUE_PATHS = [".bot/workspace/tasks", ".bot/.control"] as const;
/** Folders above them: a link or file in place of one would take the queue along. */
const ABOVE = [".bot", ".bot/workspace"];

/** Whether a path is the queue's. Without case, since some file systems have none. */
export function isQueuePath(path: string): boolean {
  const lower = path.toLowerCase();
  return QUEUE_PATHS.some((root) => lower === root || lower.startsWith(`${root}/`));
}

export interface QueueChanges {
  /** The entries that undo them. */
  readonly undo: ReadonlyMap<string, Entry | null>;
  /** The paths, sorted. */
  readonly paths: readonly string[];
  /** Task files that the branch puts in a status folder. */
  readonly statuses: readonly { readonly path: string; readonly id8: string; readonly status: Status }[];
}

/** What a branch did to the queue: by edit, by deletion, or by something else in the place of its folders. */
export function queueChanges(changes: readonly Change[]): QueueChanges {
  const replaced = changes
    .filter((change) => change.new !== null && ABOVE.includes(change.path.toLowerCase()))
    .map((change) => change.path);
  const undone = changes.filter(
    (change) =>
      isQueuePath(change.path) ||
      replaced.some((root) => change.path === root || (change.new === null && change.path.startsWith(`${root}/`))),
  );
  const statuses = undone.flatMap((change) => {
    const match = /^\.bot\/workspace\/tasks\/([^/]+)\/(?:[^/]*-)?([0-9a-f]{8})\.json$/i.exec(change.path);
    const [, status = "", id8 = ""] = match ?? [];
    return change.new !== null && isStatus(status) ? [{ path: change.path, id8: id8.toLowerCase(), status }] : [];
  });
  return { undo: new Map(undone.map((it) => [it.path, it.old])), paths: undone.map((it) => it.path).sort(), statuses };
}
