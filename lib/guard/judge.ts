/**
 * The facts about one call and one repository, and the contract's verdict on the two. Facts are read in the order in which they
 * may be: who the repository is first, and only then what state its checkout is in, by probes that run nothing that its
 * configuration names.
 */
import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { sameIdentity, type HostedRemote } from "../git/identity.ts";
import { declaredPaths, isDeclared } from "../git/paths.ts";
import { readIdentity, type Identity } from "../git/remote.ts";
import { readHead, resolveRepo, samePath, type Head, type Repo, type RepoCtx } from "../git/repo.ts";
import { isQueuePath, operationInProgress, trackedChanges } from "../git/state.ts";
import type { AnyOperation, GuardOp, TargetRule } from "../op.ts";
import { quote } from "../text.ts";
import {
  columnOf,
  decideKeys,
  decideState,
  needsIdentity,
  needsStatus,
  parseOwnerRepo,
  shaMatches,
  type Refusal,
  type TargetKind,
  type Verdict,
} from "./intent.ts";

export type Input = Readonly<Record<string, unknown>>;
export type ActiveRule = Exclude<TargetRule, { rule: "none" }>;

/** What a call says, read once. */
export interface Request {
  readonly ctx: Ctx;
  readonly op: AnyOperation;
  readonly rule: ActiveRule;
  readonly guardOp: GuardOp | null;
  /** As given; what is blank is left out. */
  readonly input: Input;
  readonly dir: string | null;
  readonly ownerRepo: string | null;
  readonly expectSha: string | null;
  readonly taskId: string | null;
  readonly files: readonly string[];
  readonly branchGiven: boolean;
}

/** The repository that the caller stands in; null when there is none or it isn't known, and then `tried` says where it was looked for. */
export interface Caller {
  readonly repo: Repo | null;
  readonly tried: readonly string[];
}

// ── the call ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export function requestOf(ctx: Ctx, op: AnyOperation, rule: ActiveRule, input: Input): Request {
  const text = (key: string): string | null => {
    const value = input[key];
    return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
  };
  const files = namedFiles(input["files"]);
  const blank = (key: string, value: unknown): boolean =>
    value === undefined ||
    (typeof value === "string" && value.trim() === "") ||
    (key === "files" && files.length === 0);
  const dir = text("dir");
  return {
    ctx,
    op,
    rule,
    guardOp: rule.rule === "guard" ? rule.op : null,
    input: Object.fromEntries(Object.entries(input).filter(([key, value]) => !blank(key, value))),
    dir,
    ownerRepo: text("owner_repo"),
    expectSha: text("expect_sha"),
    // Verbs of other nouns read `task_id` as the task to work on, whose checkout says nothing about where the caller stands.
    taskId: rule.rule === "guard" ? text("task_id") : null,
    files,
    branchGiven: text("branch") !== null,
  };
}

/** The files of an input; blank ones are as good as none. */
export function namedFiles(value: unknown): string[] {
  const listed: readonly unknown[] = [value].flat();
  return listed.filter((file): file is string => typeof file === "string" && file.trim() !== "");
}

export async function callerOf(ctx: Ctx): Promise<Caller> {
  if (ctx.caller.kind === "cli") {
    return { repo: await repoOrNull(ctx, ctx.cwd), tried: [ctx.cwd] };
  }
  const { root, repo, tried } = ctx.caller;
  return {
    repo: repo ?? (root === null ? null : await repoOrNull(ctx, root)),
    tried: root === null ? tried : [...tried, root],
  };
}

export async function repoOrNull(ctx: RepoCtx, dir: string): Promise<Repo | null> {
  try {
    return await resolveRepo(ctx, dir);
  } catch (error) {
    if (error instanceof DotbotError && error.code !== "NO_GIT") return null;
    throw error;
  }
}

// ── what it is to the caller, and whether that will do ───────────────────────────────────────────────────────────────

export interface Judged {
  readonly repo: Repo;
  readonly kind: TargetKind;
  readonly identity: Identity | null;
  readonly head: Head | null;
  readonly verdict: Verdict;
}

/** Decides about one repository. Throws only where facts can't be read. */
export async function judge(request: Request, caller: Caller, repo: Repo): Promise<Judged> {
  const { ctx, guardOp } = request;
  const kind = await kindOf(ctx, caller, repo);
  const wantsIdentity =
    request.ownerRepo !== null || (guardOp !== null && needsIdentity(guardOp, kind, repo.kind !== "linked"));
  const identity = wantsIdentity ? await readIdentity(ctx, repo) : null;
  const wrong = ownerMismatch(request, identity);
  if (wrong !== null) return { repo, kind, identity, head: null, verdict: wrong };
  if (guardOp === null) return { repo, kind, identity, head: null, verdict: { ok: true } };

  const head = await readHead(ctx, repo);
  const expected = guardOp === "checkout" ? null : request.expectSha;
  const judged = { repo, kind, identity, head };
  if (expected !== null && !shaMatches(expected, head.sha)) {
    const verdict = mismatch(
      "expect_sha",
      `expect_sha is ${quote(expected)}, and HEAD there is ${head.sha ?? "before its first commit"}`,
    );
    return { ...judged, verdict };
  }
  const keys = decideKeys({
    op: guardOp,
    surface: ctx.surface,
    kind,
    primary: repo.kind !== "linked",
    ownerRepo: identity?.ownerRepo,
    headSha: head.sha,
    detached: head.branch === null,
    confirmedBy: [
      ...(request.ownerRepo === null ? [] : ["owner_repo" as const]),
      ...(expected === null ? [] : ["expect_sha" as const]),
    ],
    filesGiven: request.files.length > 0,
    branchGiven: request.branchGiven,
  });
  return { ...judged, verdict: keys.ok ? await judgeState(request, guardOp, repo, kind, head) : keys };
}

async function judgeState(request: Request, op: GuardOp, repo: Repo, kind: TargetKind, head: Head): Promise<Verdict> {
  const column = columnOf(kind);
  const wanted = needsStatus(op, column);
  const operation = operationInProgress(repo.gitDir);
  const base = { op, column, operation, detached: head.branch === null, dirty: [], unmerged: [] };
  // What needs no process is settled first.
  const early = decideState(base);
  if (!early.ok || wanted === null || repo.workRoot === null) return early;
  const changes = (await trackedChanges(request.ctx, repo.workRoot, { foreign: column !== "same" })).filter(
    ({ path }) => !isQueuePath(path),
  );
  if (wanted === "dirty") return decideState({ ...base, dirty: changes.map(({ path }) => path) });
  const declared = declaredPaths(repo, repo.workRoot, request.files);
  const unmerged = changes.filter(({ kind: change, path }) => change === "unmerged" && isDeclared(path, declared));
  return decideState({ ...base, unmerged: unmerged.map(({ path }) => path) });
}

function ownerMismatch(request: Request, identity: Identity | null): Refusal | null {
  const { ownerRepo } = request;
  if (ownerRepo === null || identity === null) return null;
  if (parseOwnerRepo(ownerRepo) === null)
    return mismatch("owner_repo", `owner_repo ${quote(ownerRepo)} isn't of the form owner/repo`);
  if (isNamed(identity, ownerRepo)) return null;
  return mismatch(
    "owner_repo",
    `owner_repo is ${quote(ownerRepo)}, and the repository there is ${identity.ownerRepo ?? "none with an owner: its origin is on no host"}`,
  );
}

/** Whether `owner/repo`, as a caller writes it, names this repository: its last two names, or all of them. */
export function isNamed({ remote }: Identity, name: string): boolean {
  if (remote === null || "pathKey" in remote) return false;
  const as = (path: string): HostedRemote => ({ ...remote, path });
  return [remote.path, remote.display].some((path) => sameIdentity(as(path), as(name.trim())));
}

export function mismatch(key: string, why: string): Refusal {
  return { ok: false, code: "REFUSED", missing: [], mismatched: [key], why, outright: false };
}

/** The kind, as far as the two repositories alone tell it. */
export function kindAt(caller: Caller, repo: Repo): TargetKind {
  if (caller.repo === null) return "unknown";
  const linked = repo.kind === "linked";
  if (samePath(caller.repo.commonDir, repo.commonDir)) return linked ? "same-worktree" : "same-main";
  return linked ? "foreign-worktree" : "foreign-primary";
}

async function kindOf(ctx: RepoCtx, caller: Caller, repo: Repo): Promise<TargetKind> {
  const kind = kindAt(caller, repo);
  if (kind !== "foreign-primary" || caller.repo === null) return kind;
  for (let at = repo; at.superproject !== undefined;) {
    at = await resolveRepo(ctx, at.superproject);
    if (samePath(at.commonDir, caller.repo.commonDir)) return "own-submodule";
  }
  return kind;
}
