/** What guard needs of the queue: where a task's worktree is, and what a task says. Read from the ledger; nothing is written. */
import { join } from "node:path";

import { exists } from "../files.ts";
import type { Repo } from "../git/repo.ts";
import { currentTaskId, WORKTREE_RECORDS } from "../task/here.ts";
import { Ledger, ledgerFolder } from "../task/ledger.ts";
import { findTask } from "../task/names.ts";

/** How long a question waits for a writer of the ledger. */
const WAIT_MS = 5_000;

/** The task that a finished branch is about. */
export interface BranchTask {
  readonly id: string;
  readonly id8: string;
  readonly name: string;
  readonly description: string;
  /** Issues that the task's document names as its own: `issue`, `issues` or `source_issue`, as numbers or `#n`. */
  readonly issues: readonly number[];
  /** The branch from which its worktree was cut; null when it has none. */
  readonly base: string | null;
}

/** The worktree of the task that answers to `name`; null when it has none. Throws TASK_NOT_FOUND, AMBIGUOUS_TASK. */
export function worktreeOf(repo: Repo, name: string, example: (task: string) => string): string | null {
  return (
    withLedger(repo, (ledger) => textIn(ledger.record(WORKTREE_RECORDS, findTask(ledger, name, example).id), "path")) ??
    null
  );
}

/** The task of a branch: the one named, or else the one whose worktree the checkout is. */
export function taskOf(repo: Repo, name: string | undefined, example: (task: string) => string): BranchTask | null {
  return withLedger(repo, (ledger) => {
    const id = name === undefined ? currentTaskId(ledger, repo) : findTask(ledger, name, example).id;
    const row = id === null ? undefined : ledger.task(id);
    if (row === undefined) return null;
    const doc: unknown = JSON.parse(ledger.document(row.id));
    const fields: Readonly<Record<string, unknown>> = typeof doc === "object" && doc !== null ? { ...doc } : {};
    const description = fields["description"];
    const named = [fields["issue"], fields["issues"], fields["source_issue"]].flat();
    return {
      id: row.id,
      id8: row.id8,
      name: row.name,
      description: typeof description === "string" ? description : "",
      issues: [...new Set(named.flatMap(issueNumber))],
      base: textIn(ledger.record(WORKTREE_RECORDS, row.id), "base"),
    };
  });
}

/** A task that could be worked on, for examples. */
export function anyOpenTask(repo: Repo): string | null {
  return withLedger(
    repo,
    (ledger) => ledger.tasks("place = 'view' AND status IN ('todo', 'analysed')")[0]?.id8 ?? null,
  );
}

function withLedger<T>(repo: Repo, read: (ledger: Ledger) => T): T | null {
  // Opening makes a ledger where there is none, and a question mustn't.
  if (!exists(join(ledgerFolder(repo.stateCommonDir), "queue.db"))) return null;
  const ledger = Ledger.open(repo.stateCommonDir, WAIT_MS);
  try {
    return read(ledger);
  } finally {
    ledger.close();
  }
}

function textIn(record: unknown, key: string): string | null {
  const value: unknown = typeof record === "object" && record !== null ? Reflect.get(record, key) : null;
  return typeof value === "string" && value !== "" ? value : null;
}

function issueNumber(value: unknown): number[] {
  const number =
    typeof value === "number"
      ? value
      : typeof value === "string"
        ? Number(/^#?(\d+)$/.exec(value.trim())?.[1])
        : Number.NaN;
  return Number.isSafeInteger(number) && number > 0 ? [number] : [];
}
