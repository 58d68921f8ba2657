/** What every verb of the queue shares: opening it, naming a task, who calls, the shape of answers. */
import * as v from "valibot";

import type { Ctx } from "../../ctx.ts";
import { DotbotError } from "../../error.ts";
import type { JsonObject } from "../../json.ts";
import type { Call } from "../../op.ts";
import { markOf } from "../../process.ts";
import { loadSettings, type Settings } from "../../settings.ts";
import { targetFields } from "../../target-fields.ts";
import { paint, shellWord, type Style } from "../../text.ts";
import { type Claim, DEFAULT_TTL_MS, type Holder, holderName, holds } from "../claim.ts";
import type { TaskRow } from "../ledger.ts";
import { appended, type Status } from "../model.ts";
import { senseOf, tells } from "../legal.ts";
import { findTask } from "../names.ts";
import { entryOf, oneLine, type Provenance, UNKNOWN } from "../provenance.ts";
import { Queue, type Tx } from "../queue.ts";
import { currentTaskId } from "../here.ts";
import { standingClaim } from "../holders.ts";

// ── input fields ─────────────────────────────────────────────────────────────────────────────────────────────────────

export const dirField = targetFields(
  "Any folder of the repository that is meant, absolute. Its main checkout holds the queue, whichever checkout it lies in.",
);

export const taskField = {
  task_id: v.optional(
    v.pipe(
      v.string(),
      v.description(
        "The task: its id, at least 4 first digits of it, its slug, file name or exact name. Inside a task's own worktree: that task.",
      ),
    ),
  ),
};

export const holderFields = {
  owner: v.optional(
    v.pipe(v.string(), v.description("Who holds the claim, by a name of your own; otherwise the session does.")),
  ),
  claim_token: v.optional(
    v.pipe(v.string(), v.description("The token that the claim returned; proves the holder without owner or session.")),
  ),
  steal: v.optional(
    v.pipe(v.string(), v.description("Take over somebody else's claim, for this reason; it goes into history.")),
  ),
};

export const holderFlags = {
  claim_token: { name: "claim-token", value: "token" },
  owner: { value: "name" },
  steal: { value: "reason" },
} as const;
export const provenanceFlags = {
  session_id: { name: "session", value: "id" },
  branch: { value: "name" },
  commit: { value: "sha" },
  by: { value: "name" },
} as const;

export { holderOf, type HolderInput, standingClaim } from "../holders.ts";

// ── output shapes ────────────────────────────────────────────────────────────────────────────────────────────────────

/** A task's document as it is on disk: known fields and everybody else's. */
export const taskDocument = v.pipe(v.looseObject({}), v.description("The task's document, as it is in its file."));

export const oneTask = {
  task: taskDocument,
  path: v.pipe(v.string(), v.description("Absolute path of the task's file.")),
  stateRoot: v.pipe(v.string(), v.description("The folder that holds .bot, and with it the queue.")),
  workRoot: v.pipe(v.nullable(v.string()), v.description("The checkout from which the call came.")),
};

export const claimShape = v.object({
  owner: v.string(),
  session: v.string(),
  token: v.optional(v.string()),
  host: v.string(),
  since: v.string(),
  heartbeat: v.string(),
  ttlMs: v.number(),
  scope: v.literal("clone"),
});
export type ShownClaim = v.InferOutput<typeof claimShape>;

export const brokenShape = v.array(
  v.object({ path: v.string(), message: v.string(), line: v.nullable(v.number()), column: v.nullable(v.number()) }),
);
export const conflictsShape = v.array(
  v.object({
    id: v.nullable(v.string()),
    name: v.nullable(v.string()),
    path: v.string(),
    hash: v.string(),
    at: v.string(),
  }),
);

export interface OneTask {
  task: Record<string, unknown>;
  path: string;
  stateRoot: string;
  workRoot: string | null;
}

/** The envelope of one task, read from the ledger now. */
export function oneTaskOf(call: Call, queue: Queue, row: TaskRow): OneTask {
  return {
    task: queue.document(row),
    path: queue.pathOf(row),
    stateRoot: queue.stateRoot,
    workRoot: call.target.repo.workRoot,
  };
}

// ── the queue of a call ──────────────────────────────────────────────────────────────────────────────────────────────

export interface Desk {
  readonly queue: Queue;
  /** Read when first asked for: most reads need none. */
  readonly settings: Settings;
}

/** Opens the queue that the call's target means, and closes it whatever happens. */
export async function withQueue<T>(call: Call, work: (desk: Desk) => Promise<T>): Promise<T> {
  using queue = await Queue.open(call, call.target.repo);
  let settings: Settings | undefined;
  return await work({
    queue,
    get settings() {
      return (settings ??= loadSettings(call, queue.stateRoot));
    },
  });
}

/** The task that a call names, or, inside a task's worktree, that worktree's. Its file has been compared with the ledger. */
export async function namedTask(call: Call, queue: Queue, name: string | undefined, verb: string): Promise<TaskRow> {
  const row = await foundRow(call, queue, name, verb);
  const [current] = await queue.current([row]);
  return current ?? row;
}

async function foundRow(call: Call, queue: Queue, name: string | undefined, verb: string): Promise<TaskRow> {
  try {
    return namedRow(call, queue, name, verb);
  } catch (error) {
    if (!(error instanceof DotbotError) || error.code !== "TASK_NOT_FOUND") throw error;
    // An editor that writes files in place leaves their folder's time alone: the name may stand in a file since.
    await queue.checkAll();
    return namedRow(call, queue, name, verb);
  }
}

function namedRow(call: Call, queue: Queue, name: string | undefined, verb: string): TaskRow {
  const example = (task: string): string => exampleFor(verb, task);
  if (name !== undefined) return findTask(queue.ledger, name, example);
  const here = currentTaskId(queue.ledger, call.target.repo);
  const row = here === null ? undefined : queue.ledger.task(here);
  if (row !== undefined && row.place !== "removed") return row;
  throw new DotbotError("INVALID_INPUT", "which task? None is named, and this isn't a task's worktree", {
    hint: "`dotbot task list` shows the tasks",
    example: example(fittingTask(queue, verb)?.id8 ?? "1a2b3c4d"),
    details: { missing: ["task_id"] },
  });
}

/** The first task for which the verb makes sense, as far as its status and its document tell. */
function fittingTask(queue: Queue, verb: string): TaskRow | undefined {
  const { statuses, only } = senseOf(`task ${verb}`);
  const marks = statuses.map(() => "?").join(", ");
  const rows = queue.ledger.tasks(`place = 'view' AND status IN (${marks})`, ...statuses);
  return rows.find((row) => (only === "asks" || only === "proposes-split" ? tells(only, queue.document(row)) : true));
}

/** A corrected call as a command line; where tools are spoken of, the edge turns it into one. */
export function exampleFor(verb: string, task: string, rest = ""): string {
  return `dotbot task ${verb} ${taskWord(task)}${rest}`;
}

/** As a shell takes it; `<task>` stays the gap that it is. */
function taskWord(task: string): string {
  return task.startsWith("<") ? task : shellWord(task);
}

// ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Whether anything tells this caller from another. */
export function isIdentified(holder: Holder): boolean {
  return holder.owner !== null || holder.session !== UNKNOWN;
}

/** A claim as answers show it. The token only to whom it was given just now. */
export function shownClaim(claim: Claim, withToken = false): ShownClaim {
  const { owner, session, token, host, since, heartbeat, ttlMs } = claim;
  return { owner, session, ...(withToken ? { token } : {}), host, since, heartbeat, ttlMs, scope: "clone" };
}

export interface ClaimTerms {
  readonly holder: Holder;
  readonly ttlMs?: number | undefined;
  /** The process whose life is the claim's, when it outlives the call. */
  readonly pid?: number | undefined;
}

/** Takes or renews the claim for the holder, inside a transaction. The caller has made sure that nobody else holds it. */
export function takeClaim(ctx: Ctx, tx: Tx, id: string, terms: ClaimTerms): Claim {
  const now = ctx.now().toISOString();
  const before = standingClaim(ctx, tx.ledger.claim(id));
  const mine = before !== null && holds(before, terms.holder) ? before : null;
  const pid = terms.pid ?? (ctx.surface === "mcp" ? ctx.pid : undefined);
  const mark = pid === undefined ? null : markOf(pid);
  if (pid !== undefined && mark === null) {
    throw new DotbotError("INVALID_INPUT", `there is no process ${pid}`, {
      hint: "--pid names a running process whose end frees the claim",
    });
  }
  const claim: Claim = {
    owner: terms.holder.owner ?? mine?.owner ?? "",
    session: terms.holder.session === UNKNOWN && mine !== null ? mine.session : terms.holder.session,
    token: mine?.token ?? ctx.uuid(),
    process: mark ?? mine?.process ?? null,
    host: ctx.hostname,
    since: mine?.since ?? now,
    heartbeat: now,
    ttlMs: terms.ttlMs ?? mine?.ttlMs ?? DEFAULT_TTL_MS,
  };
  tx.ledger.putClaim(id, JSON.stringify(claim));
  return claim;
}

/**
 * Refuses when somebody else's claim stands, unless it is stolen; a sign of life when it is the caller's own. Returns what the
 * theft adds to history. Error: NOT_HOLDER.
 */
export function guardClaim(
  ctx: Ctx,
  tx: Tx,
  row: TaskRow,
  holder: Holder,
  steal: string | undefined,
  verb: string,
): string | null {
  const text = tx.ledger.claim(row.id);
  const claim = standingClaim(ctx, text);
  if (claim === null) {
    if (text !== undefined) tx.ledger.dropClaim(row.id);
    return null;
  }
  if (holds(claim, holder)) {
    tx.ledger.putClaim(row.id, JSON.stringify({ ...claim, heartbeat: ctx.now().toISOString() }));
    return null;
  }
  const why = steal === undefined ? "" : oneLine(ctx, steal, "steal");
  if (why !== "") {
    tx.ledger.dropClaim(row.id);
    return `taken over from ${holderName(claim)}: ${why}`;
  }
  const who = holderName(claim);
  throw new DotbotError("NOT_HOLDER", `"${row.name}" (${row.id8}) is claimed by ${who} since ${claim.since}`, {
    hint: isIdentified(holder)
      ? "wait for it to be released, pick another, or take it over with a reason"
      : "say who you are (owner, session_id, or the claim's token in DOTBOT_CLAIM), or take it over with a reason",
    example:
      ctx.surface === "cli"
        ? `dotbot task ${verb} ${row.id8} --steal 'its holder is gone'`
        : JSON.stringify({ task_id: row.id, steal: "its holder is gone" }),
    details: { task: row.id, claim: shownClaim(claim) },
  });
}

/** Taking a task from its holder is a step of the task's life, even where nothing else about it changes. */
export function recordTheft(tx: Tx, row: TaskRow, who: Provenance, theft: string): void {
  const entry = entryOf(who, row.status, row.status, theft);
  const doc = tx.document(row);
  tx.save(row, { ...doc, updated_at: who.at, history: appended(doc, entry) }, { at: who.at, by: who.by, entry });
}

// ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const STATUS_PAINT: Readonly<Record<Status, Parameters<typeof paint>[1]>> = {
  todo: "dim",
  analysing: "cyan",
  analysed: "blue",
  "in-progress": "yellow",
  "needs-input": "magenta",
  "needs-review": "magenta",
  done: "green",
  failed: "red",
  skipped: "dim",
  split: "dim",
  cancelled: "dim",
};

export function paintStatus(style: Style, status: string, padded = status): string {
  return paint(style, STATUS_PAINT[status as Status] ?? "dim", padded);
}

export function field(doc: JsonObject | Record<string, unknown>, name: string): string {
  const value = doc[name];
  return typeof value === "string" ? value : "";
}
