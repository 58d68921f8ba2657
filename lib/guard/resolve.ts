/**
 * From a call to its target: which repository the arguments, or in their absence the caller's place and signals, lead to, and
 * whether the contract allows it there.
 */
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { exists } from "../files.ts";
import { brokenWorktreeAround } from "../git/native.ts";
import { readIdentity } from "../git/remote.ts";
import { requireTree, resolveRepo, samePath, type Repo } from "../git/repo.ts";
import { checkoutsOf, isBare } from "../git/state.ts";
import type { AnyOperation } from "../op.ts";
import { quote } from "../text.ts";
import type { Target } from "../target.ts";
import { decideSelection, parseOwnerRepo, type Selection, type SelectionFacts } from "./intent.ts";
import {
  callerOf,
  isNamed,
  judge,
  kindAt,
  mismatch,
  repoOrNull,
  requestOf,
  type ActiveRule,
  type Caller,
  type Input,
  type Request,
} from "./judge.ts";
import { presentCheckouts, refusal, type Candidate } from "./refusal.ts";
import { spell } from "./spell.ts";
import { repositoriesInside, type Inside } from "./structure.ts";

export async function resolveGuarded(ctx: Ctx, op: AnyOperation, rule: ActiveRule, input: Input): Promise<Target> {
  const request = requestOf(ctx, op, rule, input);
  try {
    return await resolve(request);
  } catch (error) {
    throw ctx.surface === "mcp" ? forTool(error) : withWholeExample(error, request);
  }
}

async function resolve(request: Request): Promise<Target> {
  const caller = await callerOf(request.ctx);
  const found = await locate(request, caller);
  const judged = await judge(request, caller, found.repo);
  if (!judged.verdict.ok) throw await refusal(request, caller, judged, judged.verdict);
  return {
    repo: found.repo,
    kind: judged.kind,
    confirmed: found.confirmed,
    ...(judged.identity === null ? {} : { ownerRepo: judged.identity.ownerRepo }),
  };
}

// ── which repository ─────────────────────────────────────────────────────────────────────────────────────────────────

interface Found {
  readonly repo: Repo;
  readonly confirmed: boolean;
}

async function locate(request: Request, caller: Caller): Promise<Found> {
  const { ctx, dir, taskId } = request;
  const named = dir === null ? null : await namedRepo(request, dir);
  if (taskId !== null && (named ?? caller.repo) !== null) {
    const tree = await taskTree(request, named ?? caller.repo);
    if (tree !== null) {
      const repo = await resolveRepo(ctx, tree);
      requireTree(repo);
      if (named === null) return { repo, confirmed: true };
      if (named.workRoot === null || !samePath(tree, named.workRoot)) {
        throw await refusal(
          request,
          caller,
          { repo: named, kind: kindAt(caller, named) },
          mismatch(
            "task_id",
            `dir is ${quote(named.workRoot ?? named.start, 200)}, and that task's worktree is ${quote(tree, 200)}`,
          ),
        );
      }
    }
  }
  if (named !== null) return { repo: named, confirmed: true };

  const { facts, inside, queue } = await selectionFacts(request, caller);
  const selection = decideSelection(facts);
  if (!selection.ok) throw await unselected(request, caller, selection, inside);
  if (selection.meant === "the-one-queue" && queue !== null) return { repo: queue, confirmed: selection.confirmed };
  // On a command line the reason why there is no repository is the answer.
  const repo = caller.repo ?? (await resolveRepo(ctx, ctx.surface === "cli" ? undefined : ctx.cwd));
  if (worksInTree(request)) requireTree(repo);
  return { repo, confirmed: selection.confirmed };
}

async function namedRepo(request: Request, dir: string): Promise<Repo> {
  const { ctx } = request;
  if (ctx.surface === "mcp" && !isAbsolute(dir)) {
    throw new DotbotError(
      "INVALID_INPUT",
      `dir ${quote(dir, 200)} isn't absolute, and a server's working directory isn't its caller's`,
      {
        hint: "give the whole path of the checkout",
        details: { mismatched: ["dir"] },
      },
    );
  }
  const repo = await resolveRepo(ctx, dir);
  if (worksInTree(request)) requireTree(repo);
  // A queue is the same from all checkouts, sound or not; but a place that is none of them wasn't meant by anybody.
  const insideGitDir = repo.workRoot === null && repo.kind !== "bare";
  if (
    insideGitDir ||
    (repo.workRoot !== null && brokenWorktreeAround(repo.start, repo.workRoot, repo.commonDir) !== null)
  )
    requireTree(repo);
  return repo;
}

/** A queue can be used from a checkout that can't be worked in. */
function worksInTree({ rule, op }: Request): boolean {
  return rule.rule === "guard" || (rule.rule === "tree" && op.effect !== "read");
}

/** The worktree of the task that a call names; null when it has none and the call can do without. */
async function taskTree(request: Request, repo: Repo | null): Promise<string | null> {
  if (repo === null || request.taskId === null) return null;
  const { worktreeOf } = await import("./task.ts");
  const tree = worktreeOf(repo, request.taskId, (task) =>
    spell(request.op, request.ctx.surface, { ...request.input, task_id: task }),
  );
  if (tree !== null || request.branchGiven || request.dir !== null) return tree;
  throw new DotbotError("NOT_FOUND", `the task ${quote(request.taskId)} has no worktree, so it names no checkout`, {
    hint: "name the checkout with dir, or make the task's worktree first",
  });
}

interface Selecting {
  readonly facts: SelectionFacts;
  readonly inside: readonly Inside[];
  readonly queue: Repo | null;
}

async function selectionFacts(request: Request, caller: Caller): Promise<Selecting> {
  const { ctx, rule, guardOp } = request;
  const { repo } = caller;
  const mcp = ctx.caller.kind === "mcp";
  const facts = {
    surface: ctx.surface,
    rule: rule.rule,
    op: guardOp,
    // A command line without a repository fails with the reason why there is none.
    callerKnown: repo !== null || !mcp,
    hint: repo === null ? ("none" as const) : await hintOf(ctx, repo),
    roots: repo === null ? ("none" as const) : await rootsOf(ctx, repo),
    checkouts: repo === null || !mcp ? 1 : checkoutsOf(repo, isBare(repo)).filter(({ present }) => present).length,
    inside: 0,
    oneQueue: false,
    branchGiven: request.branchGiven,
    filesGiven: request.files.length > 0,
  };
  if (!mcp || repo === null || facts.hint === "same") return { facts, inside: [], queue: null };
  const inside = await repositoriesInside(ctx, repo);
  const withQueue = [repo, ...inside.map((it) => it.repo)].filter((it) => exists(join(it.stateRoot, ".bot")));
  const roots = new Set(withQueue.map((it) => it.stateRoot));
  return {
    facts: { ...facts, inside: inside.length, oneQueue: roots.size === 1 },
    inside,
    queue: roots.size === 1 ? (withQueue[0] ?? null) : null,
  };
}

async function hintOf(ctx: Ctx, repo: Repo): Promise<SelectionFacts["hint"]> {
  const hint = (ctx.env["DOTBOT_CALLER_REPO"] ?? "").trim();
  if (hint === "") return "none";
  if (parseOwnerRepo(hint) === null) return "malformed";
  return isNamed(await readIdentity(ctx, repo), hint) ? "same" : "differs";
}

async function rootsOf(ctx: Ctx, repo: Repo): Promise<SelectionFacts["roots"]> {
  const root = await soleRoot(ctx);
  if (root === null) return "none";
  return samePath(root.commonDir, repo.commonDir) ? "same" : "differs";
}

/** The repository of the one root that a client advertises. */
export async function soleRoot(ctx: Ctx): Promise<Repo | null> {
  const roots = ctx.caller.kind === "mcp" ? (ctx.caller.roots ?? []) : [];
  const [only] = roots;
  if (only === undefined || roots.length > 1) return null;
  try {
    return await repoOrNull(ctx, only.startsWith("file:") ? fileURLToPath(only) : only);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

async function unselected(
  request: Request,
  caller: Caller,
  selection: Exclude<Selection, { ok: true }>,
  inside: readonly Inside[],
): Promise<DotbotError> {
  const { ctx } = request;
  const { repo } = caller;
  const root = selection.because === "signal" ? await soleRoot(ctx) : null;
  const candidates: Candidate[] = [
    ...(root === null ? [] : presentCheckouts(root)),
    ...(repo === null ? [] : presentCheckouts(repo)),
    ...(selection.because === "inside" || selection.because === "signal"
      ? inside.map(({ dir, ownerRepo }) => ({ dir, ownerRepo }))
      : []),
  ];
  const why =
    selection.because === "caller"
      ? `${selection.why} (looked at: ${caller.tried.join("; ") || "nothing"})`
      : selection.why;
  const target = repo === null ? null : { repo, kind: kindAt(caller, repo) };
  return await refusal(request, caller, target, { ...selection, why }, candidates);
}

/** An error whose example is another folder alone, with the caller's whole command in its place. */
function withWholeExample(error: unknown, { op, input }: Request): unknown {
  if (!(error instanceof DotbotError) || error.example?.startsWith("--dir ") !== true) return error;
  const command = `dotbot ${op.name}`;
  const rest = spell(op, "cli", { ...input, dir: undefined }).slice(command.length);
  const { hint, details } = error;
  return new DotbotError(error.code, error.message, {
    ...(hint === undefined ? {} : { hint }),
    example: `${command} ${error.example}${rest}`,
    ...(details === undefined ? {} : { details }),
  });
}

/** Another folder is a field of a tool's call; a command that mends the place would be one for a shell. */
function dirField(example: string | undefined): { example?: string } {
  const word = /^--dir (.+)$/s.exec(example ?? "")?.[1];
  if (word === undefined) return {};
  const dir = word.startsWith("'") ? word.slice(1, -1).replaceAll(String.raw`'\''`, "'") : word;
  return { example: JSON.stringify({ dir }) };
}

/** An error that speaks of a command line, for a caller that has none. Refusals and bad input speak its language already. */
function forTool(error: unknown): unknown {
  if (
    !(error instanceof DotbotError) ||
    error.details?.["op"] !== undefined ||
    error.details?.["mismatched"] !== undefined
  )
    return error;
  const aboutPlace = ["NOT_A_REPOSITORY", "NOT_FOUND", "STATE_ROOT_UNKNOWN", "REFUSED", "INVALID_INPUT"].includes(
    error.code,
  );
  return new DotbotError(error.code, error.message, {
    ...(aboutPlace ? { hint: "give dir: the whole path of a checkout that exists and is sound" } : {}),
    ...dirField(error.example),
    ...(error.details === undefined ? {} : { details: error.details }),
  });
}
