/** The queue in figures. */
import * as v from "valibot";

import { operation } from "../../op.ts";
import { count, paint, type Style } from "../../text.ts";
import type { TaskRow } from "../ledger.ts";
import { waiting } from "../look.ts";
import { isClosed, STATUSES } from "../model.ts";
import type { Queue } from "../queue.ts";
import { dirField, paintStatus, standingClaim, withQueue } from "./common.ts";

const counts = v.record(v.string(), v.number());

const statsOutput = v.object({
  total: v.number(),
  byStatus: counts,
  byCategory: counts,
  byEffort: counts,
  open: v.number(),
  blocked: v.pipe(v.number(), v.description("Open tasks that wait for others.")),
  claimed: v.number(),
  archived: v.number(),
  oldestInProgress: v.nullable(v.object({ id: v.string(), name: v.string(), startedAt: v.nullable(v.string()) })),
  doneLast7Days: v.pipe(
    v.array(v.object({ day: v.string(), done: v.number() })),
    v.description("Today last; days in UTC."),
  ),
  broken: v.number(),
  conflicts: v.number(),
  stateRoot: v.string(),
});
type Stats = v.InferOutput<typeof statsOutput>;

const DAY_MS = 86_400_000;

export const stats = operation({
  name: "task stats",
  tool: "task_get_stats",
  summary: "Count the tasks of the queue",
  details:
    "By status, category and effort; how many wait or are held; the oldest one in progress; what was done in the last seven days.",
  examples: [{ given: ["task add 'Add a login page'"], run: "task stats", does: "how the queue stands" }],
  effect: "read",
  target: { rule: "queue" },
  toolset: "people",
  input: v.strictObject({ ...dirField }),
  output: statsOutput,
  async run(call) {
    return await withQueue(call, async ({ queue }) => {
      const result = queue.ledger.snapshot(() => {
        const rows = queue.ledger.tasks();
        const everything = queue.ledger.tasks("place <> 'removed'");
        const blocked = waiting(queue.ledger, rows).size;
        const claimed = [...queue.ledger.claims().values()].filter((text) => standingClaim(call, text) !== null).length;
        const open = rows.filter((row) => !isClosed(row.status));
        return {
          total: rows.length,
          byStatus: Object.fromEntries(
            STATUSES.map((status) => [status, rows.filter((row) => row.status === status).length]),
          ),
          byCategory: tally(rows, (row) => row.category ?? "none"),
          byEffort: tally(rows, (row) => row.effort ?? "none"),
          open: open.length,
          blocked,
          claimed,
          archived: everything.length - rows.length,
          oldestInProgress: oldest(queue, rows),
          doneLast7Days: lastDays(everything, call.now()),
        };
      });
      await queue.finishRead();
      return { ...result, broken: queue.broken.length, conflicts: queue.conflicts.length, stateRoot: queue.stateRoot };
    });
  },
  text: statsText,
});

function tally(rows: readonly TaskRow[], key: (row: TaskRow) => string): Record<string, number> {
  const found = new Map<string, number>();
  for (const row of rows) found.set(key(row), (found.get(key(row)) ?? 0) + 1);
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function oldest(queue: Queue, rows: readonly TaskRow[]): Stats["oldestInProgress"] {
  const started = rows
    .filter((row) => row.status === "in-progress")
    .map((row) => {
      const at = queue.document(row)["started_at"];
      return { id: row.id, name: row.name, startedAt: typeof at === "string" ? at : null };
    });
  return started.sort((a, b) => ((a.startedAt ?? "") < (b.startedAt ?? "") ? -1 : 1))[0] ?? null;
}

function lastDays(rows: readonly TaskRow[], now: Date): Stats["doneLast7Days"] {
  const done = tally(
    rows.filter((row) => row.status === "done" && row.completedAt !== null),
    (row) => (row.completedAt ?? "").slice(0, 10),
  );
  return [6, 5, 4, 3, 2, 1, 0].map((ago) => {
    const day = new Date(now.getTime() - ago * DAY_MS).toISOString().slice(0, 10);
    return { day, done: done[day] ?? 0 };
  });
}

function statsText(result: Stats, style: Style): string {
  const numbers = (figures: Record<string, number>): string =>
    Object.entries(figures)
      .filter(([, n]) => n > 0)
      .map(([name, n]) => `${name} ${n}`)
      .join(", ") || "none";
  const most = Math.max(1, ...Object.values(result.byStatus));
  const bars = STATUSES.filter((status) => (result.byStatus[status] ?? 0) > 0).map((status) => {
    const n = result.byStatus[status] ?? 0;
    return `${paintStatus(style, status, status.padEnd(12))} ${String(n).padStart(5)}  ${"▇".repeat(Math.max(1, Math.round((n / most) * 30)))}\n`;
  });
  const week = result.doneLast7Days.reduce((sum, day) => sum + day.done, 0);
  const started = result.oldestInProgress;
  return [
    `${count(result.total, "task")}, ${result.open} open, ${result.blocked} waiting, ${result.claimed} held${result.archived === 0 ? "" : `, ${result.archived} archived`}\n`,
    ...bars,
    `category: ${numbers(result.byCategory)}\n`,
    `effort: ${numbers(result.byEffort)}\n`,
    `done in 7 days: ${week} (${result.doneLast7Days.map((day) => day.done).join(" ")})\n`,
    started === null
      ? ""
      : `longest in progress: ${started.id.slice(0, 8)}  ${started.name}${started.startedAt === null ? "" : `, since ${started.startedAt}`}\n`,
    result.broken === 0
      ? ""
      : paint(style, "red", `${count(result.broken, "file")} can't be read; \`dotbot task list\` names them`) + "\n",
    result.conflicts === 0
      ? ""
      : paint(style, "red", `${count(result.conflicts, "conflict")}; see \`dotbot task resolve\``) + "\n",
  ].join("");
}
