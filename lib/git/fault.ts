/**
 * Why a checkout mustn't be worked in although its repository is sound: what git itself is content with, and what then makes
 * a commit move another checkout's branch, or a file land in the wrong one. Read from files.
 */
import { dirname, join } from "node:path";

import type { ErrorCode } from "../error.ts";
import { quote, shellWord } from "../text.ts";
import { backLinkOf, brokenWorktreeAround, gitDirOf, physical, samePath, type Place } from "./native.ts";

/** Why an operation on a checkout has to refuse here. */
export interface TreeFault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly example?: string;
}

/** Inside a git dir there is nothing to work on. */
export function insideGitDir(start: string, mainRoot: string): TreeFault {
  return {
    code: "REFUSED",
    message: `${quote(start, 200)} is inside a git dir, where there is no checkout`,
    hint: "name a checkout",
    example: `--dir ${shellWord(mainRoot)}`,
  };
}

/** Git runs there and shows no checkout: the repository is bare, or was made so. */
export function noCheckout(start: string, commonDir: string, mainRoot: string): TreeFault {
  return {
    code: "REFUSED",
    message: `git sees no checkout at ${quote(start, 200)}: the repository ${quote(commonDir, 200)} is bare`,
    hint: "work in one of its worktrees; if it was made bare by accident, undo that",
    example: `git -C ${shellWord(mainRoot)} config core.bare false`,
  };
}

/** What git doesn't tell about a checkout that it is content with. `configured` is core.worktree. */
export function checkoutFault(start: string, place: Place, configured: string | null): TreeFault | null {
  const { workRoot, gitDir, commonDir, mainRoot } = place;
  const broken = brokenWorktreeAround(start, workRoot, commonDir);
  if (broken !== null) {
    return {
      code: "REFUSED",
      message: `${quote(broken, 200)} is a registered worktree that lost its .git file; git takes it for a part of ${quote(workRoot, 200)}`,
      hint: "repair the worktree, or remove its folder and prune it",
      example: `git -C ${shellWord(mainRoot)} worktree repair ${shellWord(broken)}`,
    };
  }
  if (samePath(gitDir, commonDir)) {
    if (samePath(workRoot, mainRoot) || (configured !== null && samePath(workRoot, configured))) return null;
    return {
      code: "REFUSED",
      message: `${quote(workRoot, 200)} uses the git dir of ${quote(mainRoot, 200)}: two checkouts, one index and one HEAD`,
      hint: "work in the main checkout, or make a worktree of its own",
      example: `--dir ${shellWord(mainRoot)}`,
    };
  }
  const link = backLinkOf(gitDir);
  const named = link === null ? null : physical(link);
  const own = physical(join(workRoot, ".git"));
  if (named !== null && own !== null && samePath(named, own)) return null;
  if (named !== null && gitDirOf(named) === gitDir) {
    return {
      code: "REFUSED",
      message: `${quote(workRoot, 200)} is a copy: its git dir belongs to the worktree ${quote(dirname(named), 200)}, with one index and one HEAD for both`,
      hint: "work in that worktree, or make another one",
      example: `--dir ${shellWord(dirname(named))}`,
    };
  }
  return {
    code: "REFUSED",
    message: `the worktree ${quote(workRoot, 200)} was moved: it is registered as ${quote(link === null ? "" : dirname(link), 200)}, and a prune would end it`,
    hint: "repair its registration",
    example: `git -C ${shellWord(mainRoot)} worktree repair ${shellWord(workRoot)}`,
  };
}
