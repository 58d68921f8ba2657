/** What every change of a repository answers with, read back from git after it, in the tree that was changed. */
import * as v from "valibot";

import { DotbotError } from "../error.ts";
import { readIdentity } from "./remote.ts";
import { readHead, type Repo, type RepoCtx } from "./repo.ts";

export const echoFields = {
  repoPath: v.pipe(v.string(), v.description("The tree that was changed, absolute.")),
  ownerRepo: v.pipe(v.nullable(v.string()), v.description("owner/repo of its origin; null without a hosted one.")),
  branch: v.pipe(v.nullable(v.string()), v.description("The branch checked out there; null when detached.")),
  headSha: v.pipe(v.nullable(v.string()), v.description("The commit checked out there; null before the first one.")),
  stateRoot: v.pipe(v.string(), v.description("The folder that holds .bot.")),
};

export interface Echo {
  repoPath: string;
  ownerRepo: string | null;
  branch: string | null;
  headSha: string | null;
  stateRoot: string;
}

/** Reads back. Throws UNVERIFIED, since what was asked for is done by then; `done` says what in the words of the message. */
export async function echoOf(ctx: RepoCtx, repo: Repo, done: string): Promise<Echo> {
  try {
    const [head, identity] = await Promise.all([readHead(ctx, repo, { native: false }), readIdentity(ctx, repo)]);
    return {
      repoPath: repo.workRoot ?? repo.mainRoot,
      ownerRepo: identity.ownerRepo,
      branch: head.branch,
      headSha: head.sha,
      stateRoot: repo.stateRoot,
    };
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new DotbotError("UNVERIFIED", `${done}, but reading the result back failed: ${why}`, {
      hint: "look at the repository before going on",
      example: "git status",
    });
  }
}

/** `owner/repo @ path (branch)`: how an answer about a changed tree begins. */
export function echoLine({ ownerRepo, repoPath, branch, headSha }: Echo): string {
  const at = branch ?? (headSha === null ? "no commit yet" : `detached at ${headSha.slice(0, 12)}`);
  return `${ownerRepo === null ? "" : `${ownerRepo} @ `}${repoPath} (${at})\n`;
}
