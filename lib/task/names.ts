/** Which task a caller means: full id, file name, slug, exact name, or a prefix of the id, in this order. */
import { DotbotError } from "../error.ts";
import { nearest, quote } from "../text.ts";
import type { Ledger, TaskRow } from "./ledger.ts";

const PREFIX = /^[0-9a-f]{4}[0-9a-f-]*$/i;

/** The one task that answers to `name`. Errors: TASK_NOT_FOUND with the nearest name, AMBIGUOUS_TASK with the candidates. */
export function findTask(ledger: Ledger, name: string, example: (name: string) => string): TaskRow {
  const wanted = name.trim();
  if (wanted === "")
    throw new DotbotError("INVALID_INPUT", "a task's name can't be empty", { example: example("1a2b3c4d") });
  const mayBegin = PREFIX.test(wanted);
  const rows = ledger.answering(wanted, mayBegin);
  const id = wanted.toLowerCase();
  const classes: readonly ((row: TaskRow) => boolean)[] = [
    (row) => row.id.toLowerCase() === id,
    (row) => row.file === wanted || row.file === `${wanted}.json`,
    (row) => row.slug === wanted,
    (row) => row.name === wanted,
    (row) => mayBegin && row.id.toLowerCase().startsWith(id),
  ];
  for (const answers of classes) {
    const found = rows.filter(answers);
    const [only] = found;
    if (only !== undefined && found.length === 1) return only;
    if (only !== undefined) {
      throw new DotbotError(
        "AMBIGUOUS_TASK",
        `${quote(wanted)} means ${found.length} tasks: ${found
          .slice(0, 8)
          .map((row) => `${row.id8} (${row.name})`)
          .join(", ")}${found.length > 8 ? ", …" : ""}`,
        {
          hint: "use more digits of the id",
          example: example(only.id),
          details: { candidates: found.map((row) => ({ id: row.id, name: row.name, status: row.status })) },
        },
      );
    }
  }
  throw notFound(ledger, wanted, example);
}

function notFound(ledger: Ledger, wanted: string, example: (name: string) => string): DotbotError {
  const rows = ledger.tasks("place <> 'removed'");
  const near = nearest(
    wanted,
    // A name with blanks around it answers to nothing that is typed.
    rows.flatMap((row) => [
      row.id8,
      ...[row.slug, row.name].flatMap((it) => (it !== null && it.trim() === it ? [it] : [])),
    ]),
  );
  const removed = ledger.tasks(
    "place = 'removed' AND (id = ? OR name = ? OR slug = ? OR id8 = ?)",
    wanted,
    wanted,
    wanted,
    wanted.toLowerCase(),
  )[0];
  const tooShort = /^[0-9a-f]{1,3}$/i.test(wanted);
  return new DotbotError("TASK_NOT_FOUND", `no task answers to ${quote(wanted)}`, {
    hint:
      removed !== undefined
        ? `a task of that name was removed; \`dotbot task restore ${removed.id8}\` brings it back`
        : tooShort
          ? "a prefix needs at least 4 digits of the id"
          : near === undefined
            ? "`dotbot task list` shows them all; a task is named by its id, a prefix of it, its slug, file name or exact name"
            : `did you mean ${quote(near)}?`,
    ...(near === undefined ? {} : { example: example(near) }),
    details: { name: wanted, ...(near === undefined ? {} : { nearest: near }) },
  });
}
