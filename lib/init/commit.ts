/** Init's commit: what HEAD has, what git ignores, and the failure of a commit after the files have been written. */
import { DotbotError, type ErrorCode } from "../error.ts";
import { commitPaths, type Checkout, type CommitCtx } from "../git/commit.ts";
import { parseNul } from "../git/parse.ts";
import { git, type GitCtx } from "../git/run.ts";
import { operationInProgress } from "../git/state.ts";

/** The content of a path in HEAD; null when it isn't there, or there is no commit. */
export async function inHead(ctx: GitCtx, tree: Checkout, path: string): Promise<string | null> {
  const result = await git(ctx, ["cat-file", "blob", `HEAD:${path}`], { cwd: tree.workRoot, probe: true });
  return result.status === 0 ? result.stdout : null;
}

/** Those of the paths that git ignores: untracked ones alone. */
export async function ignored(ctx: GitCtx, tree: Checkout, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const args = ["check-ignore", "-z", "--stdin"];
  const input = paths.map((path) => `${path}\0`).join("");
  const result = await git(ctx, args, { cwd: tree.workRoot, probe: true, input, okStatus: [0, 1] });
  return new Set(parseNul(result.stdout));
}

/**
 * Commits exactly the paths; the commit's name, null when git found nothing to commit. Throws REJECTED, in git's own words and
 * with a remedy: the files are in place then, and the next run commits them. Also SWEPT_IN, UNVERIFIED, LOCKED, READ_ONLY.
 */
export async function commitFiles(
  ctx: CommitCtx,
  tree: Checkout,
  paths: readonly string[],
  message: string,
): Promise<string | null> {
  const running = operationInProgress(tree.gitDir);
  if (running !== null) {
    throw notCommitted(`a ${running} is in progress in ${tree.workRoot}`, {
      hint: "finish or abort it, then run the command again",
      example: "git status",
    });
  }
  try {
    return (await commitPaths(ctx, tree, { paths, message }))?.sha ?? null;
  } catch (error) {
    if (!(error instanceof DotbotError) || !REFUSALS.has(error.code)) throw error;
    const { hint, example, details } = error.facts();
    throw notCommitted(error.message, {
      hint: `${hint ?? "mend what it names"}; then run the command again`,
      example: example ?? "dotbot init",
      ...(details === undefined ? {} : { details }),
    });
  }
}

/** The ways in which git says no to a commit; the others say that it was made, or have a status of their own. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(["REJECTED", "REFUSED", "GIT_FAILED", "INVALID_INPUT"]);

export function notCommitted(why: string, extra: ConstructorParameters<typeof DotbotError>[2]): DotbotError {
  return new DotbotError("REJECTED", `the files are in place, but not committed: ${why}`, extra);
}
