/** Which task a checkout belongs to: recorded when its worktree was made. */
import { samePath, type Repo } from "../git/repo.ts";
import type { Ledger } from "./ledger.ts";

/** Records of this kind, by task id, hold a worktree's `path`. */
export const WORKTREE_RECORDS = "worktree";

/** The id of the task whose worktree this checkout is, or null. */
export function currentTaskId(ledger: Ledger, repo: Repo): string | null {
  if (repo.workRoot === null || repo.kind !== "linked") return null;
  for (const [id, record] of ledger.records(WORKTREE_RECORDS)) {
    if (
      typeof record === "object" &&
      record !== null &&
      "path" in record &&
      typeof record.path === "string" &&
      samePath(record.path, repo.workRoot)
    )
      return id;
  }
  return null;
}
