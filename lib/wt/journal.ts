/**
 * What is written down before a worktree or a base branch changes, by kind of work. From an entry alone, without the ledger,
 * recover.ts can tell how far the work came, and finish it or take it back.
 */
import * as v from "valibot";

import { DotbotError } from "../error.ts";
import { dropEntry, readEntries, writeEntry } from "../journal.ts";
import { quote } from "../text.ts";

const createEntry = v.object({
  op: v.literal("create"),
  at: v.string(),
  taskId: v.string(),
  path: v.string(),
  branch: v.string(),
  baseSha: v.string(),
  /** The branch was made for it, and goes when it is taken back. */
  newBranch: v.boolean(),
  /** Where the branch stands until somebody works on it. */
  tip: v.string(),
  base: v.string(),
  /** A base branch that was made from the remote's. */
  madeBase: v.nullable(v.object({ ref: v.string(), sha: v.string() })),
  /** How the task was before, when the work started it. */
  before: v.nullable(
    v.object({ status: v.string(), rev: v.number(), startedAt: v.nullable(v.string()), claim: v.nullable(v.string()) }),
  ),
});

const landEntry = v.object({
  op: v.literal("land"),
  at: v.string(),
  /** What follows once the branch has moved. `advance`: nothing. */
  next: v.variant("is", [
    v.object({ is: v.literal("advance") }),
    v.object({
      is: v.literal("complete"),
      taskId: v.string(),
      branch: v.string(),
      path: v.nullable(v.string()),
      base: v.string(),
      baseSha: v.string(),
      tip: v.string(),
      n: v.number(),
      discardIgnored: v.boolean(),
    }),
    v.object({ is: v.literal("undo"), taskId: v.string(), n: v.number(), worktree: v.boolean(), reset: v.boolean() }),
  ]),
  move: v.object({ ref: v.string(), old: v.string(), to: v.string(), checkout: v.nullable(v.string()) }),
});

const removeEntry = v.object({
  op: v.literal("remove"),
  at: v.string(),
  taskId: v.nullable(v.string()),
  path: v.string(),
  /** The folder that takes worktree and registration in. */
  trash: v.string(),
  gitDir: v.nullable(v.string()),
  links: v.array(v.string()),
  /** The branch that goes with it, as it stood; null: it stays, or there is none. */
  branch: v.nullable(v.object({ ref: v.string(), tip: v.string() })),
  /** What was at the place when it was looked at: it goes only while it is still so. */
  head: v.nullable(v.string()),
  dirtyAllowed: v.boolean(),
  ignoredAllowed: v.boolean(),
});

const entryShape = v.variant("op", [createEntry, landEntry, removeEntry]);

export type CreateEntry = v.InferOutput<typeof createEntry>;
export type LandEntry = v.InferOutput<typeof landEntry>;
export type RemoveEntry = v.InferOutput<typeof removeEntry>;
export type Entry = v.InferOutput<typeof entryShape>;

export function record(commonDir: string, name: string, entry: Entry): void {
  writeEntry(commonDir, name, entry);
}

export function forget(commonDir: string, name: string): void {
  dropEntry(commonDir, name);
}

/** What was begun and isn't finished. Error: CONFLICT for an entry that can't be read: nobody may go on past it. */
export function pending(commonDir: string): { readonly name: string; readonly entry: Entry }[] {
  return readEntries(commonDir).map(({ name, path, value }) => {
    const parsed = value === null ? null : v.safeParse(entryShape, value);
    if (parsed?.success === true) return { name, entry: parsed.output };
    throw new DotbotError(
      "CONFLICT",
      `the journal entry ${quote(path, 300)} can't be read: work was cut short, and what it was isn't known`,
      {
        hint: "everything is kept as it is. Look at the repository and at that file; when all is well, move the file elsewhere",
        details: { path },
      },
    );
  });
}
