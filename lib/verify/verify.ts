/**
 * Verification before done: the privacy scan, git-clean (in the task's own worktree), and the project's verify scripts, in the
 * task's work root. The judge (scripts, their config, the baseline) is the base's. Reads and runs; records nothing: who moves
 * the task also stores what was verified.
 */
import { join } from "node:path";

import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { listNames, readContent, removeTree, statOrNull } from "../files.ts";
import { statusOf } from "../git/checkouts.ts";
import { operationInProgress } from "../git/state.ts";
import type { StatusEntry } from "../git/parse.ts";
import { commitOf, treeOf } from "../git/refs.ts";
import { requireTree, resolveRepo, samePath, type Repo } from "../git/repo.ts";
import { baseFrom, type WorktreeBase } from "../scan/base.ts";
import { BASELINE_FILE } from "../scan/exemptions.ts";
import { scan, type ScanResult } from "../scan/scan.ts";
import { milliseconds, type Settings } from "../settings.ts";
import { ledgerFolder } from "../task/ledger.ts";
import { isQueuePath } from "../task/queue-paths.ts";
import { count, quote } from "../text.ts";
import { Cache } from "./cache.ts";
import { CONFIG_FILE, parseConfig, planScripts, type ScriptPlan } from "./plan.ts";
import { runScript } from "./run.ts";
import { changedJudge, loadJudge, ScriptFolder, type Scripts } from "./scripts.ts";

export interface Check {
  /** `scan`, `git-clean`, or a script's file name. */
  name: string;
  status: "passed" | "failed" | "skipped";
  /** An optional one that fails is told and isn't in the way. */
  required: boolean;
  /** One line. */
  message: string;
  durationMs?: number | undefined;
  /** It passed before, on the same tree; it wasn't run again. */
  cached?: boolean | undefined;
  /** What a failed script printed. */
  output?: string | undefined;
  /** What a script says failed. */
  failures?: Record<string, unknown>[] | undefined;
}

export interface Verification {
  /** No required check failed. */
  ok: boolean;
  workRoot: string;
  /** What was verified; null before the first commit. */
  head: string | null;
  /** What it was measured against; null: on the base itself. */
  base: string | null;
  checks: Check[];
  scan: ScanResult | null;
  /** Files of the judge that the work changes; it was judged by the base's. */
  verifyChanged: string[];
  /** Why nothing was verified. */
  skipped?: string | undefined;
}

export interface VerifyRequest {
  readonly taskId: string;
  readonly category: string | null;
  /** The task's worktree, where one is recorded. */
  readonly worktree: WorktreeBase | null;
  /** The caller named a checkout: that one is meant, whatever is recorded. */
  readonly isNamed: boolean;
  readonly settings: Settings;
}

/** Errors: NOT_FOUND (the recorded worktree is gone), INVALID_SETTINGS, INVALID_INPUT (the baseline), git's own, an abort's. */
export async function verify(ctx: Ctx, repo: Repo, request: VerifyRequest): Promise<Verification> {
  const place = await placeOf(ctx, repo, request);
  const { workRoot } = place;
  const { head, base } = await baseFrom(ctx, place.repo, workRoot, request.settings, request.worktree);
  const judge = base ?? head;
  const { baseline, scripts } = await loadJudge(ctx, place.repo, workRoot, judge);
  ctx.progress("verifying: scan");
  try {
    const source = { kind: "changes", base, head } as const;
    const scanned = await scan(ctx, { workRoot, source, settings: request.settings.scan, baseline });
    const checks: Check[] = [scanCheck(scanned)];
    if (place.isOwn) checks.push(await cleanCheck(ctx, place.repo, workRoot));
    checks.push(...(await new Runner(ctx, place, request, { head, base }, scripts).run(checks.some(isInTheWay))));
    return {
      ok: !checks.some(isInTheWay),
      workRoot,
      head,
      base,
      checks,
      scan: scanned,
      verifyChanged:
        judge === null || scripts.files.length === 0 ? [] : await changedJudge(ctx, workRoot, judge, [BASELINE_FILE]),
    };
  } finally {
    ctx.progress(null);
  }
}

/** What is recorded when verification is passed over: nothing was looked at, and this is what is there. */
export async function unverified(ctx: Ctx, repo: Repo, request: VerifyRequest, reason: string): Promise<Verification> {
  const { repo: own, workRoot } = await placeOf(ctx, repo, request);
  const { head, base } = await baseFrom(ctx, own, workRoot, request.settings, request.worktree);
  return { ok: true, workRoot, head, base, checks: [], scan: null, verifyChanged: [], skipped: reason };
}

interface Place {
  readonly repo: Repo;
  readonly workRoot: string;
  /** It is the task's own worktree, where nothing but the task's work may lie. */
  readonly isOwn: boolean;
}

/** The task's work root: the checkout that was named, else its worktree, else the caller's checkout. */
async function placeOf(ctx: Ctx, repo: Repo, { worktree, isNamed }: VerifyRequest): Promise<Place> {
  if (worktree === null || isNamed) {
    const workRoot = requireTree(repo);
    return { repo, workRoot, isOwn: worktree !== null && samePath(worktree.path, workRoot) };
  }
  if (statOrNull(worktree.path) === null) {
    throw new DotbotError(
      "NOT_FOUND",
      `the task's worktree ${quote(worktree.path, 300)} isn't there, so its work can't be verified`,
      {
        hint: "put it back or repair it; or say why it needs no verification",
        example: `dotbot task done ${worktree.taskId.slice(0, 8)} --skip-verify 'the work was landed by hand'`,
        details: { worktree: worktree.path },
      },
    );
  }
  const own = await resolveRepo(ctx, worktree.path);
  return { repo: own, workRoot: requireTree(own), isOwn: true };
}

function isInTheWay({ status, required }: Check): boolean {
  return status === "failed" && required;
}

function scanCheck({ ok, counts, files }: ScanResult): Check {
  const theirs = counts.framework === 0 ? "" : `; ${count(counts.framework, "violation")} in the framework's files`;
  const message = ok
    ? `${count(files, "changed file")} looked at${theirs}`
    : `${count(counts.project, "violation")}${theirs}`;
  return { name: "scan", status: ok ? "passed" : "failed", required: true, message };
}

async function cleanCheck(ctx: Ctx, repo: Repo, workRoot: string): Promise<Check> {
  const check = { name: "git-clean", required: true } as const;
  const operation = operationInProgress(repo.gitDir);
  if (operation !== null)
    return { ...check, status: "failed", message: `a ${operation} is in progress: end or abort it` };
  const { entries } = await statusOf(ctx, workRoot, { untracked: "all" });
  const dirty = entries.filter(({ path }) => !isQueuePath(path)).map(({ path }) => path);
  if (dirty.length === 0) return { ...check, status: "passed", message: "everything is committed" };
  const shown = dirty
    .slice(0, 10)
    .map((path) => quote(path))
    .join(", ");
  return {
    ...check,
    status: "failed",
    message: `not committed: ${shown}${dirty.length > 10 ? `, and ${dirty.length - 10} more` : ""}`,
  };
}

const SCRIPTS = "verify-";

/** Runs the planned scripts in order, until one fails that is required. */
class Runner {
  private readonly ctx: Ctx;
  private readonly place: Place;
  private readonly request: VerifyRequest;
  private readonly commits: { readonly head: string | null; readonly base: string | null };
  private readonly scripts: Scripts;

  constructor(ctx: Ctx, place: Place, request: VerifyRequest, commits: Runner["commits"], scripts: Scripts) {
    this.ctx = ctx;
    this.place = place;
    this.request = request;
    this.commits = commits;
    this.scripts = scripts;
  }

  async run(stopped: boolean): Promise<Check[]> {
    const { files } = this.scripts;
    if (files.length === 0) return [];
    const { category, settings } = this.request;
    const text = files.find(({ name }) => name === CONFIG_FILE)?.bytes;
    const config = text === undefined ? null : parseConfig(new TextDecoder().decode(text));
    if (config !== null && "fault" in config) {
      return [
        {
          name: CONFIG_FILE,
          status: "failed",
          required: true,
          message: `the verify folder's ${CONFIG_FILE} can't be followed: ${config.fault}`,
        },
      ];
    }
    const plans = planScripts(files, config, category, milliseconds(settings.verify.timeout));
    return await this.runAll(plans, stopped ? "what was found before it comes first" : null);
  }

  private async runAll(plans: readonly ScriptPlan[], stop: string | null): Promise<Check[]> {
    const checks: Check[] = [];
    const deadline = performance.now() + milliseconds(this.request.settings.verify.total_timeout);
    const folder = stop === null && plans.some(({ step }) => step === "run") ? this.export() : null;
    const cache = folder === null ? null : await this.cache();
    let why = stop;
    try {
      for (const [index, plan] of plans.entries()) {
        this.ctx.progress(`verifying: ${plan.name} (${index + 1} of ${plans.length})`);
        const check =
          why === null || plan.step === "skip" ? await this.one(plan, folder, cache, deadline) : notRun(plan, why);
        checks.push(check);
        if (isInTheWay(check)) why ??= `${plan.name} failed before it`;
      }
    } finally {
      folder?.[Symbol.dispose]();
    }
    return checks;
  }

  private async one(
    plan: ScriptPlan,
    folder: ScriptFolder | null,
    cache: Cache | null,
    deadline: number,
  ): Promise<Check> {
    const { name, required } = plan;
    if (plan.step !== "run")
      return { name, required, status: plan.step === "skip" ? "skipped" : "failed", message: plan.why };
    if (folder === null) return notRun(plan, "there is nothing to run it from");
    const known = cache?.get(name) ?? null;
    if (known !== null)
      return { name, required, status: "passed", message: known.message, durationMs: known.durationMs, cached: true };
    const left = deadline - performance.now();
    if (left <= 0)
      return {
        name,
        required,
        status: "failed",
        message: "not run: all scripts together took too long (setting verify.total_timeout)",
      };
    const { taskId, category, settings } = this.request;
    const started = performance.now();
    const ran = await runScript(this.ctx, {
      folder: folder.path,
      name,
      program: plan.program,
      timeoutMs: Math.ceil(Math.min(plan.timeoutMs, left)),
      maxBytes: settings.verify.max_output_bytes,
      cwd: this.place.workRoot,
      taskId,
      category,
      env: this.env(),
    });
    const durationMs = Math.round(performance.now() - started);
    if (ran.passed) cache?.put(name, { message: ran.message, durationMs });
    return {
      name,
      required,
      status: ran.passed ? "passed" : "failed",
      message: ran.message,
      durationMs,
      ...(ran.output === null ? {} : { output: ran.output }),
      ...(ran.failures.length === 0 ? {} : { failures: [...ran.failures] }),
    };
  }

  private env(): Record<string, string> {
    const { head, base } = this.commits;
    const { taskId, category } = this.request;
    const { repo, workRoot } = this.place;
    return {
      DOTBOT_TASK_ID: taskId,
      DOTBOT_CATEGORY: category ?? "",
      DOTBOT_WORK_ROOT: workRoot,
      DOTBOT_STATE_ROOT: repo.stateRoot,
      DOTBOT_HEAD: head ?? "",
      DOTBOT_BASE: base ?? head ?? "",
    };
  }

  private export(): ScriptFolder {
    const above = join(ledgerFolder(this.place.repo.commonDir), "tmp");
    forgetLeftovers(above, this.ctx.now());
    return new ScriptFolder(join(above, `${SCRIPTS}${this.ctx.uuid()}`), this.scripts);
  }

  /** Null where results can't be told apart by what is there. */
  private async cache(): Promise<Cache | null> {
    const { settings, taskId, category } = this.request;
    const { repo, workRoot } = this.place;
    if (!settings.verify.cache) return null;
    const tree = await treeId(this.ctx, workRoot, this.commits.head);
    if (tree === null) return null;
    const scripts = this.scripts.files.map(({ name, hash }) => `${name} ${hash}`);
    return new Cache(repo.stateCommonDir, [
      "1",
      tree,
      this.commits.base ?? "",
      workRoot,
      taskId,
      category ?? "",
      ...scripts,
    ]);
  }
}

function notRun({ name, required }: ScriptPlan, why: string): Check {
  return { name, required, status: "skipped", message: `not run: ${why}` };
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Exported scripts of a call that was killed: nobody's any more after a day. */
function forgetLeftovers(folder: string, now: Date): void {
  for (const name of listNames(folder) ?? []) {
    const path = join(folder, name);
    const stat = statOrNull(path);
    if (name.startsWith(SCRIPTS) && stat !== null && now.getTime() - stat.mtimeMs > DAY_MS) removeTree(path);
  }
}

/** Most bytes of uncommitted files that are read to tell one state from another. */
const MOST_BYTES = 32 * 1024 * 1024;

/** Names what is in a checkout: its commit's tree, and what isn't committed. Null when that is too much to read. */
async function treeId(ctx: Ctx, workRoot: string, head: string | null): Promise<string | null> {
  if (head === null || (await commitOf(ctx, workRoot, head)) === null) return null;
  const { entries } = await statusOf(ctx, workRoot, { untracked: "all" });
  const dirty = entries.filter(({ path }) => !isQueuePath(path));
  const tree = await treeOf(ctx, workRoot, head);
  if (dirty.length === 0) return tree;
  const hasher = new Bun.CryptoHasher("sha256").update(tree);
  let left = MOST_BYTES;
  for (const entry of dirty) {
    const content = readContent(workRoot, new TextEncoder().encode(entry.path), left);
    if (content.is === "too-large" || content.is === "unreadable") return null;
    hasher.update(`\0${markOf(entry)}\0${content.is}\0`);
    if ("bytes" in content) {
      hasher.update(content.bytes);
      left -= content.bytes.length;
    }
  }
  return `${tree}+${hasher.digest("hex")}`;
}

function markOf({ path, index, tree, from }: StatusEntry): string {
  return [index, tree, path, from ?? ""].join("\0");
}
