/**
 * Who did it, and from where: `session_id` is the caller's to give, `branch` and `commit` are a pair from one checkout.
 */
import * as v from "valibot";

import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { readHead, type Repo } from "../git/repo.ts";
import { codePoints, quote, stripControl, stripControlKeepLines } from "../text.ts";
import type { HistoryEntry, Status } from "./model.ts";
import { timestamp } from "./model.ts";

/** Environment variables in which known agents and terminals name their session, strongest first. */
export const SESSION_VARIABLES = [
  "DOTBOT_SESSION",
  "CLAUDE_SESSION_ID",
  "CLAUDE_CODE_SESSION_ID",
  "CODEX_SESSION_ID",
  "CODEX_THREAD_ID",
  "CURSOR_SESSION_ID",
  "GEMINI_SESSION_ID",
  "COPILOT_SESSION_ID",
  "OPENCODE_SESSION_ID",
] as const;

export const UNKNOWN = "unknown";
export const ONE_LINE_MAX = 256;

/** Input fields of whatever appends to a task's history. */
export const provenanceFields = {
  session_id: v.optional(
    v.pipe(
      v.string(),
      v.description(
        "The id of the session you work in, so that history says who did it. Find it in your environment (DOTBOT_SESSION, CLAUDE_SESSION_ID, CODEX_THREAD_ID, …) or your instructions; the word unknown is accepted.",
      ),
    ),
  ),
  branch: v.optional(
    v.pipe(v.string(), v.description("Branch you work on; goes with commit. Read from git when neither is given.")),
  ),
  commit: v.optional(
    v.pipe(v.string(), v.description("Commit you work on; goes with branch. Read from git when neither is given.")),
  ),
  by: v.optional(v.pipe(v.string(), v.description("Who or what acts, as history should name it."))),
};

export interface ProvenanceInput {
  session_id?: string | undefined;
  branch?: string | undefined;
  commit?: string | undefined;
  by?: string | undefined;
}

/** Where and by whom; complete, ready for a history entry. */
export interface Provenance {
  readonly at: string;
  readonly by: string;
  readonly session_id: string;
  readonly branch: string;
  readonly commit: string;
}

/** A one-line value without control characters, cut at 256 code points with a note. Empty stays empty. */
export function oneLine(ctx: Pick<Ctx, "note">, value: string, field: string, max = ONE_LINE_MAX): string {
  const clean = stripControl(value).trim();
  const points = codePoints(clean);
  if (points.length <= max) return clean;
  ctx.note(`${field} was cut from ${points.length} to ${max} characters`);
  return points.slice(0, max).join("");
}

/** The same, where the value is required. Error: INVALID_INPUT when nothing printable is left. */
export function requiredLine(ctx: Pick<Ctx, "note">, value: string, field: string, example: string): string {
  const clean = oneLine(ctx, value, field);
  if (clean === "") {
    throw new DotbotError(
      "INVALID_INPUT",
      `${field} ${value === "" ? "is empty" : `${quote(value)} has nothing printable in it`}`,
      { example },
    );
  }
  return clean;
}

/** A many-line value: newlines and tabs stay, other control characters go. */
export function manyLines(value: string): string {
  return stripControlKeepLines(value);
}

/** A session id as the caller gave it, else from the environment (command line only), else `unknown`. */
export function sessionOf(ctx: Ctx, given: string | undefined): string {
  const clean = given === undefined ? "" : oneLine(ctx, given, "session_id");
  if (clean !== "") return clean;
  if (ctx.surface === "cli") {
    for (const name of SESSION_VARIABLES) {
      const value = stripControl(ctx.env[name] ?? "").trim();
      if (value !== "") return codePoints(value).slice(0, ONE_LINE_MAX).join("");
    }
  }
  return UNKNOWN;
}

/**
 * Completes what the caller gave. Errors: INVALID_INPUT naming the other when only one of branch and commit is given, or the
 * session where it is required and missing.
 */
export async function provenance(
  ctx: Ctx,
  repo: Repo,
  input: ProvenanceInput,
  requireSession: boolean,
): Promise<Provenance> {
  const session = sessionOf(ctx, input.session_id);
  if (
    requireSession &&
    ctx.surface === "mcp" &&
    (input.session_id === undefined || stripControl(input.session_id).trim() === "")
  ) {
    throw new DotbotError("INVALID_INPUT", "session_id is missing", {
      hint: 'give the id of the session you work in, or the word "unknown"',
      details: { missing: ["session_id"] },
    });
  }
  const branch = given(ctx, input.branch, "branch");
  const commit = given(ctx, input.commit, "commit");
  if ((branch === undefined) !== (commit === undefined)) {
    const missing = branch === undefined ? "branch" : "commit";
    throw new DotbotError("INVALID_INPUT", `${missing} is missing: branch and commit go together, from one checkout`, {
      hint: `give ${missing} as well, or neither: then both are read from git`,
      details: { missing: [missing] },
    });
  }
  const pair = branch !== undefined && commit !== undefined ? { branch, commit } : await pairFromGit(ctx, repo);
  const by = input.by === undefined ? "" : oneLine(ctx, input.by, "by");
  return { at: timestamp(ctx.now()), by: by === "" ? defaultBy(ctx) : by, session_id: session, ...pair };
}

function given(ctx: Ctx, value: string | undefined, field: string): string | undefined {
  const clean = value === undefined ? "" : oneLine(ctx, value, field);
  return clean === "" || clean === UNKNOWN ? undefined : clean;
}

function defaultBy(ctx: Ctx): string {
  const name = stripControl(
    ctx.env["DOTBOT_BY"] ?? ctx.env["USER"] ?? ctx.env["LOGNAME"] ?? ctx.env["USERNAME"] ?? "",
  ).trim();
  return name === "" ? UNKNOWN : codePoints(name).slice(0, ONE_LINE_MAX).join("");
}

async function pairFromGit(ctx: Ctx, repo: Repo): Promise<{ branch: string; commit: string }> {
  try {
    const head = await readHead(ctx, repo);
    return { branch: head.branch ?? UNKNOWN, commit: head.sha ?? UNKNOWN };
  } catch (error) {
    if (error instanceof DotbotError) return { branch: UNKNOWN, commit: UNKNOWN };
    throw error;
  }
}

/** The history entry of a move (or, without `from`, of a task's creation). */
export function entryOf(who: Provenance, from: Status | null, to: Status, reason?: string): HistoryEntry {
  return {
    at: who.at,
    ...(from === null ? {} : { from }),
    to,
    by: who.by,
    session_id: who.session_id,
    branch: who.branch,
    commit: who.commit,
    ...(reason === undefined || reason === "" ? {} : { reason }),
  };
}
