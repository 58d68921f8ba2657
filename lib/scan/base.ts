/** What a checkout's change is measured against: the branch that its task's worktree was cut from, or the repository's base. */
import { join } from "node:path";

import { DotbotError } from "../error.ts";
import { exists } from "../files.ts";
import { branchRef, commitOf, mergeBase } from "../git/refs.ts";
import { readHead, samePath, type Repo } from "../git/repo.ts";
import { gitText, refuseOption, type GitCtx } from "../git/run.ts";
import type { Settings } from "../settings.ts";
import { WORKTREE_RECORDS } from "../task/here.ts";
import { Ledger, ledgerFolder } from "../task/ledger.ts";
import { quote } from "../text.ts";

/** What is recorded of a task's worktree, as far as its base goes. */
export interface WorktreeBase {
  readonly taskId: string;
  readonly path: string;
  /** The base branch's short name; "" where it isn't known. */
  readonly base: string;
  /** The commit that the worktree was cut from. */
  readonly baseSha: string | null;
}

const LEDGER_WAIT_MS = 5000;

/** Reads a worktree's record; null when it isn't one. */
export function worktreeBase(taskId: string, record: unknown): WorktreeBase | null {
  if (typeof record !== "object" || record === null) return null;
  const text = (name: string): string | null => {
    const value: unknown = Object.entries(record).find(([key]) => key === name)?.[1];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const [path, base] = [text("path"), text("base")];
  return path === null || base === null ? null : { taskId, path, base, baseSha: text("baseSha") };
}

/** The record of the task whose worktree a checkout is, or null. Doesn't make a ledger where there is none. */
export function recordedBase(repo: Repo): WorktreeBase | null {
  if (repo.workRoot === null || repo.kind !== "linked" || !exists(join(ledgerFolder(repo.stateCommonDir), "queue.db")))
    return null;
  const ledger = Ledger.open(repo.stateCommonDir, LEDGER_WAIT_MS);
  try {
    for (const [id, record] of ledger.records(WORKTREE_RECORDS)) {
      const found = worktreeBase(id, record);
      if (found !== null && samePath(found.path, repo.workRoot)) return found;
    }
    return null;
  } finally {
    ledger.close();
  }
}

/** A checkout's HEAD, and the commit from which its change counts. */
export interface ChangeBase {
  /** Null before the first commit. */
  readonly head: string | null;
  /**
   * Where HEAD left the base. Null where there is nothing but what isn't committed: on the base branch itself, before the first
   * commit, without any base.
   */
  readonly base: string | null;
}

/** By what is recorded of the worktree that the checkout is, else by the repository's own base branch. */
export async function baseFrom(
  ctx: GitCtx,
  repo: Repo,
  workRoot: string,
  settings: Settings,
  recorded: WorktreeBase | null,
): Promise<ChangeBase> {
  const { sha: head, branch } = await readHead(ctx, repo);
  if (head === null) return { head, base: null };
  // A worktree that only dotbot 3's map knows may have no base in it.
  const own = recorded === null || recorded.base === "" ? null : recorded;
  const tip = own === null ? await baseTip(ctx, workRoot, settings, branch) : await recordedTip(ctx, workRoot, own);
  return { head, base: tip === null ? null : await mergeBase(ctx, workRoot, head, tip) };
}

async function recordedTip(ctx: GitCtx, workRoot: string, { base, baseSha }: WorktreeBase): Promise<string | null> {
  return (
    (await commitOf(ctx, workRoot, branchRef(base))) ??
    (await commitOf(ctx, workRoot, `refs/remotes/origin/${base}`)) ??
    (baseSha === "" ? null : baseSha)
  );
}

/**
 * The tip of the repository's base branch: by setting, the remote's default, main or master. Null where none of them exists,
 * and where `branch`, the one that is checked out, is it.
 */
async function baseTip(
  ctx: GitCtx,
  workRoot: string,
  settings: Settings,
  branch: string | null,
): Promise<string | null> {
  const wanted = settings.git.base_branch;
  if (wanted !== null && wanted === branch) return null;
  const names = wanted === null ? ["main", "master"] : [wanted];
  const refs = names.flatMap((name) => [branchRef(name), `refs/remotes/origin/${name}`]);
  const format = "--format=%(refname)%00%(objectname)%00%(symref)";
  const text = await gitText(ctx, ["for-each-ref", format, "--", ...refs, "refs/remotes/origin/HEAD"], {
    cwd: workRoot,
    probe: true,
  });
  const tips = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [ref = "", oid = "", target = ""] = line.split("\0");
    tips.set(ref, oid);
    if (ref !== "refs/remotes/origin/HEAD" || wanted !== null) continue;
    tips.set(target, oid);
    names.unshift(target.replace("refs/remotes/origin/", ""));
  }
  for (const name of names) {
    const tip =
      tips.get(branchRef(name)) ??
      tips.get(`refs/remotes/origin/${name}`) ??
      (await commitOf(ctx, workRoot, branchRef(name)));
    if (tip !== null) return name === branch ? null : tip;
  }
  return null;
}

/** The same for a checkout as it comes, or for a base that the caller names. Throws NOT_FOUND when that doesn't exist. */
export async function changeBase(
  ctx: GitCtx,
  repo: Repo,
  workRoot: string,
  settings: Settings,
  named?: string,
): Promise<ChangeBase> {
  if (named === undefined) return await baseFrom(ctx, repo, workRoot, settings, recordedBase(repo));
  const tip = await commitOf(ctx, workRoot, refuseOption(named, "base"));
  if (tip === null) {
    throw new DotbotError("NOT_FOUND", `there is no commit ${quote(named)} to compare with`, {
      hint: "name a branch, a tag or a commit",
      example: "dotbot guard scan --base main",
    });
  }
  const { sha: head } = await readHead(ctx, repo);
  return { head, base: head === null ? null : await mergeBase(ctx, workRoot, head, tip) };
}
