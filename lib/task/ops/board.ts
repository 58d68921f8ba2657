/** For people at a terminal: the queue as a board, and waiting until something is so far. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { duration, DURATION_WORDS, parseDuration } from "../../duration.ts";
import { operation, type Call } from "../../op.ts";
import { count, displayWidth, onTwoLines, padEnd, paint, quote, type Style } from "../../text.ts";
import { holderName } from "../claim.ts";
import { look } from "../look.ts";
import { isClosed, STATUSES, type Status } from "../model.ts";
import { findTask } from "../names.ts";
import { CHECKED_FILES, Queue } from "../queue.ts";
import { QueueWatch } from "../watch.ts";
import { dirField, exampleFor, paintStatus, standingClaim } from "./common.ts";
import { statusShape } from "./move.ts";
import { tagLine, tagOf, tagShape } from "./shapes.ts";

// ── board ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const cardShape = v.object({
  id: v.string(),
  name: v.string(),
  claimed: v.exactOptional(v.string()),
  blocked: v.exactOptional(v.string()),
});
const columnShape = v.object({ status: statusShape, total: v.number(), cards: v.array(cardShape) });
const boardOutput = v.object({ columns: v.array(columnShape), stateRoot: v.string() });
type Board = v.InferOutput<typeof boardOutput>;

const given = [
  "task add 'Add a login page'",
  "task add 'Add a logout button'",
  "task start 'Add a login page'",
] as const;

export const board = operation({
  name: "task board",
  summary: "Show the queue as a board, a column per status",
  details: "Columns that hold nothing are left out; of finished tasks the latest are shown.",
  examples: [{ given, run: "task board", does: "at a glance" }],
  effect: "read",
  target: { rule: "queue" },
  surfaces: ["cli"],
  input: v.strictObject({
    limit: v.optional(
      v.pipe(v.number(), v.integer(), v.minValue(1), v.description("Cards in a column; 12 by default.")),
    ),
    watch: v.optional(v.pipe(v.boolean(), v.description("Stay, and draw it again whenever something changes."))),
    ...dirField,
  }),
  output: boardOutput,
  async run(call, input) {
    const limit = input.limit ?? 12;
    if (input.watch !== true) return await boardOf(call, limit);
    if (call.answer === undefined)
      throw new DotbotError("USAGE", "this surface can't show a board again and again", {
        example: "dotbot task board --watch",
      });
    using watch = new QueueWatch(call, call.target.repo);
    for (;;) {
      await call.answer.update(await boardOf(call, limit));
      await watch.changed();
    }
  },
  text: boardText,
});

async function boardOf(call: Call, limit: number): Promise<Board> {
  using queue = await Queue.open(call, call.target.repo);
  const holder = (text: string): string | null => {
    const claim = standingClaim(call, text);
    return claim === null ? null : holderName(claim);
  };
  const see = () =>
    look(queue.ledger, { filter: {}, limit: Infinity, documents: false, holder, mine: null, checked: CHECKED_FILES });
  let picture = see();
  if (picture.files !== null && (await queue.check(picture.files))) picture = see();
  await queue.finishRead();
  const byStatus = new Map<Status, Board["columns"][number]["cards"]>();
  for (const row of picture.rows) {
    const cards = byStatus.get(row.status);
    const card = { id: row.id, name: row.name, ...picture.marks.get(row.id) };
    if (cards === undefined) byStatus.set(row.status, [card]);
    else cards.push(card);
  }
  const columns = STATUSES.flatMap((status) => {
    const cards = byStatus.get(status) ?? [];
    return cards.length === 0
      ? []
      : [
          {
            status,
            total: cards.length,
            cards: isClosed(status) ? latest(queue, status, limit) : cards.slice(0, limit),
          },
        ];
  });
  return { columns, stateRoot: queue.stateRoot };
}

/** Of what is finished nobody asks for the most urgent. */
function latest(queue: Queue, status: Status, limit: number): Board["columns"][number]["cards"] {
  return queue.ledger
    .tasks("place = 'view' AND status = ?", status)
    .toSorted((a, b) => ((a.completedAt ?? a.updatedAt) < (b.completedAt ?? b.updatedAt) ? 1 : -1))
    .slice(0, limit)
    .map((row) => ({ id: row.id, name: row.name }));
}

/** The narrowest that a column may become; further columns go below. */
const NARROWEST = 24;
/** Before the second line of a name. */
const INDENT = "  ";

function boardText(result: Board, style: Style): string {
  if (result.columns.length === 0) return "no tasks\n";
  const width = Number.isFinite(style.width) ? style.width : 120;
  const across = Math.max(1, Math.min(result.columns.length, Math.floor((width + 2) / (NARROWEST + 2))));
  const column = Math.max(NARROWEST, Math.floor((width + 2) / across) - 2);
  const bands: string[] = [];
  for (let first = 0; first < result.columns.length; first += across) {
    const columns = result.columns.slice(first, first + across).map((one) => columnLines(one, column, style));
    const height = Math.max(...columns.map((lines) => lines.length));
    let band = "";
    for (let i = 0; i < height; i++)
      band +=
        columns
          .map((lines) => padEnd(lines[i] ?? "", column))
          .join("  ")
          .trimEnd() + "\n";
    bands.push(band);
  }
  return bands.join("\n");
}

function columnLines({ status, total, cards }: Board["columns"][number], width: number, style: Style): string[] {
  const head = `${status} ${total}`;
  return [
    paintStatus(style, status, head) +
      paint(style, "dim", ` ${"─".repeat(Math.max(0, width - displayWidth(head) - 1))}`),
    ...cards.flatMap((card) => {
      const mark = card.claimed === undefined ? (card.blocked === undefined ? "" : "·") : "@";
      const before = mark === "" ? "" : `${paint(style, mark === "@" ? "yellow" : "red", mark)} `;
      const [name = "", more] = onTwoLines(card.name, width - 9 - displayWidth(before), width - INDENT.length);
      const line = `${paint(style, "dim", card.id.slice(0, 8))} ${before}${name}`;
      return more === undefined ? [line] : [line, `${INDENT}${more}`];
    }),
    ...(total > cards.length ? [paint(style, "dim", `and ${total - cards.length} more`)] : []),
  ];
}

// ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const waitOutput = v.object({
  tasks: v.array(tagShape),
  ok: v.pipe(v.boolean(), v.description("Whether all of them are so far.")),
  waitedMs: v.number(),
  stateRoot: v.string(),
});

export const wait = operation({
  name: "task wait",
  summary: "Wait until tasks have come to a status",
  details:
    "Ends when every named task is in one of the statuses: at once when they are already. By default it waits for the end of the work (done, failed, skipped, split, cancelled). With a timeout it gives up with status 1.",
  examples: [
    {
      given: ["task add 'Add a login page'", "task done 'Add a login page'"],
      run: "task wait 'Add a login page' --for done --timeout 10m",
      does: "go on when it is done",
    },
  ],
  effect: "read",
  target: { rule: "queue" },
  surfaces: ["cli"],
  positional: [{ field: "tasks", variadic: true }],
  complete: { tasks: "task", for: "status" },
  input: v.strictObject({
    tasks: v.pipe(
      v.array(v.string()),
      v.minLength(1),
      v.description("The tasks, by id, first digits, slug, file name or exact name."),
    ),
    for: v.optional(
      v.pipe(
        v.array(statusShape),
        v.description("Statuses to wait for, any of them; by default those of finished tasks."),
      ),
    ),
    timeout: v.optional(duration("How long to wait at most; by default as long as it takes.")),
    ...dirField,
  }),
  flags: { for: { value: "status" }, timeout: { value: "duration" } },
  output: waitOutput,
  async run(call, input) {
    const wanted = input.for ?? STATUSES.filter(isClosed);
    const timeoutMs = input.timeout === undefined ? Infinity : parseDuration(input.timeout);
    if (timeoutMs === undefined)
      throw new DotbotError("INVALID_INPUT", `timeout ${quote(input.timeout ?? "")} isn't ${DURATION_WORDS}`, {
        example: "dotbot task wait 1a2b3c4d --timeout 10m",
      });
    const began = performance.now();
    // Watching begins before the first look, so that nothing falls between the two.
    using watch = new QueueWatch(call, call.target.repo);
    for (;;) {
      const { tasks, stateRoot } = await statusesOf(call, input.tasks);
      const waitedMs = Math.round(performance.now() - began);
      const late = tasks.filter((task) => !wanted.includes(task.status));
      if (late.length === 0) return { tasks, ok: true, waitedMs, stateRoot };
      call.progress(`waiting for ${count(late.length, "task")}`);
      if (!(await watch.changed(timeoutMs - waitedMs)))
        return { tasks, ok: false, waitedMs: Math.round(performance.now() - began), stateRoot };
    }
  },
  text: (result, style) =>
    result.tasks.map((tag) => `${tagLine(style, tag)}\n`).join("") +
    (result.ok ? "" : "not so far yet: the time is up\n"),
  ids: (result) => result.tasks.map((tag) => tag.id),
});

async function statusesOf(
  call: Call,
  names: readonly string[],
): Promise<{ tasks: v.InferOutput<typeof tagShape>[]; stateRoot: string }> {
  using queue = await Queue.open(call, call.target.repo);
  const rows = names.map((name) => findTask(queue.ledger, name, (task) => exampleFor("wait", task)));
  const current = await queue.current(rows);
  return { tasks: current.map(tagOf), stateRoot: queue.stateRoot };
}
