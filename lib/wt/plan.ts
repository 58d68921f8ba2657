/**
 * What keeps a worktree from being completed or removed, decided from facts alone. Pure.
 *
 * Invariant: nothing that would go is left unnamed. A fact that couldn't be found out counts against going on.
 */
import { DotbotError, type ErrorCode } from "../error.ts";
import type { GitOperation } from "../git/state.ts";
import { count, quote } from "../text.ts";
import type { LinkState } from "./links.ts";
import { lockedFor } from "./model.ts";

/** What was found at a worktree's place. Paths in lists are from its root, sorted. */
export interface WorktreeFacts {
  readonly path: string;
  readonly exists: boolean;
  /** Whether git knows a worktree at that path. */
  readonly registered: boolean;
  /** Folder and registration name each other. */
  readonly linked: boolean;
  readonly sameRepository: boolean;
  /** Why git has it locked; null when it isn't. */
  readonly locked: string | null;
  /** Full name of the branch that is checked out; null when detached. */
  readonly branch: string | null;
  readonly head: string | null;
  /** Where that branch stands by its own. */
  readonly branchTip: string | null;
  readonly operation: GitOperation | null;
  /** Tracked paths with uncommitted changes. */
  readonly dirty: readonly string[];
  /** Tracked paths with changes that no status shows: git was told not to look at them. */
  readonly hidden: readonly string[];
  readonly untracked: readonly string[];
  /** Ignored, and neither made by the set-up nor disposable. */
  readonly ignored: readonly string[];
  readonly links: Readonly<Record<string, LinkState>>;
  /** Files in a real folder that stands in a link's place. */
  readonly inLinkPlace: readonly string[];
  /** Repositories and registered worktrees below it. */
  readonly below: readonly string[];
  /** Submodules with work that is nowhere else, and what it is. */
  readonly submodules: readonly { readonly path: string; readonly why: string }[];
  readonly callerIsIn: boolean;
  /** The primary checkout, or the checkout that has the base branch. */
  readonly isBase: boolean;
}

export interface Blocker {
  readonly code: ErrorCode;
  readonly kind:
    | "missing"
    | "unregistered"
    | "moved"
    | "foreign"
    | "locked"
    | "base"
    | "detached"
    | "other-branch"
    | "operation"
    | "dirty"
    | "hidden"
    | "untracked"
    | "ignored"
    | "link"
    | "below"
    | "submodule"
    | "caller";
  readonly message: string;
  readonly hint: string;
  readonly paths?: readonly string[];
}

export interface Permissions {
  /** Uncommitted and untracked work, and work in submodules, may go (it is kept in the trash for a while). */
  readonly dirty: boolean;
  readonly ignored: boolean;
}

/** The branch that a worktree should be on; null: whatever it is on, or none. */
export type Expected = string | null;

/** What stands against taking the worktree away, most basic first. */
export function removalBlockers(
  facts: WorktreeFacts,
  expected: Expected,
  id8: string | null,
  may: Permissions,
): Blocker[] {
  const found = placeBlockers(facts);
  if (found.length > 0) return found;
  const blockers: Blocker[] = [];
  const owner = lockedFor(facts.locked);
  if (facts.locked !== null && (owner === null || (id8 !== null && owner !== id8))) {
    blockers.push({
      code: "REFUSED",
      kind: "locked",
      message: `it is locked${facts.locked === "" ? "" : `: ${quote(facts.locked)}`}`,
      hint: `whoever locked it wants it kept; \`git worktree unlock\` it first`,
    });
  }
  if (facts.isBase)
    blockers.push({
      code: "REFUSED",
      kind: "base",
      message: "it is the checkout of the base branch",
      hint: "only a task's own worktree can go",
    });
  if (facts.callerIsIn)
    blockers.push({ code: "REFUSED", kind: "caller", message: "you stand in it", hint: "run it from another folder" });
  if (expected !== null && facts.branch !== null && facts.branch !== expected) {
    blockers.push({
      code: "REFUSED",
      kind: "other-branch",
      message: `it is on ${shortName(facts.branch)}, not on ${shortName(expected)}`,
      hint: "switch it back, or adopt it for the task whose branch it has",
    });
  }
  blockers.push(...workBlockers(facts, may));
  return blockers;
}

/** What stands against completing from the worktree. That the caller stands in it only keeps the folder, and isn't here. */
export function completionBlockers(facts: WorktreeFacts, expected: string, may: Permissions): Blocker[] {
  const found = placeBlockers(facts);
  if (found.length > 0) return found;
  const blockers: Blocker[] = [];
  if (facts.branch === null) {
    blockers.push({
      code: "REFUSED",
      kind: "detached",
      message: `its HEAD is detached at ${(facts.head ?? "").slice(0, 12)}: commits there aren't on ${shortName(expected)}`,
      hint: `bring them to the branch: git -C ${facts.path} switch ${shortName(expected)}, then merge what is missing`,
    });
  } else if (facts.branch !== expected) {
    blockers.push({
      code: "REFUSED",
      kind: "other-branch",
      message: `it is on ${shortName(facts.branch)}, not on ${shortName(expected)}`,
      hint: `switch it back: git -C ${facts.path} switch ${shortName(expected)}`,
    });
  } else if (facts.head !== facts.branchTip) {
    blockers.push({
      code: "REFUSED",
      kind: "other-branch",
      message: "its HEAD and its branch differ",
      hint: "look at it with git status",
    });
  }
  blockers.push(...workBlockers(facts, { dirty: false, ignored: may.ignored }));
  return blockers;
}

function placeBlockers(facts: WorktreeFacts): Blocker[] {
  if (!facts.exists) {
    return [
      {
        code: "NOT_FOUND",
        kind: "missing",
        message: "its folder isn't there",
        hint: "if it was moved, `dotbot wt repair` with its new place; otherwise `dotbot wt create` makes it again",
      },
    ];
  }
  if (!facts.sameRepository)
    return [
      {
        code: "REFUSED",
        kind: "foreign",
        message: "it isn't a checkout of this repository",
        hint: "look at what is there",
      },
    ];
  if (!facts.linked) {
    return [
      {
        code: "REFUSED",
        kind: "moved",
        message: "the folder and git's registration don't name each other: it was moved or copied",
        hint: "`dotbot wt repair` mends a move; a copy has to be removed by hand",
      },
    ];
  }
  if (!facts.registered)
    return [
      {
        code: "REFUSED",
        kind: "unregistered",
        message: "git has no such worktree",
        hint: "`dotbot wt repair` it first",
      },
    ];
  return [];
}

function workBlockers(facts: WorktreeFacts, may: Permissions): Blocker[] {
  const blockers: Blocker[] = [];
  const paths = (
    kind: Blocker["kind"],
    list: readonly string[],
    what: string,
    hint: string,
    code: ErrorCode = "DIRTY",
  ): void => {
    if (list.length > 0)
      blockers.push({ code, kind, message: `${count(list.length, what)}: ${listed(list)}`, hint, paths: list });
  };
  if (facts.operation !== null) {
    blockers.push({
      code: "REFUSED",
      kind: "operation",
      message: `a ${facts.operation} goes on in it`,
      hint: `finish it, or abort it with git ${facts.operation} ${facts.operation === "bisect" ? "reset" : "--abort"}`,
    });
  }
  if (!may.dirty) {
    paths("dirty", facts.dirty, "uncommitted change", "commit or discard them");
    paths(
      "hidden",
      facts.hidden,
      "change that git was told not to look at",
      "commit or discard it, once `git update-index --no-assume-unchanged` or `--no-skip-worktree` has it looked at again",
    );
    paths("untracked", facts.untracked, "untracked file", "commit, ignore or remove them");
    for (const { path, why } of facts.submodules) {
      blockers.push({
        code: "DIRTY",
        kind: "submodule",
        message: `the submodule ${quote(path)} has ${why}`,
        hint: "push or commit it there first",
        paths: [path],
      });
    }
  }
  if (facts.inLinkPlace.length > 0 && !may.dirty) {
    paths(
      "link",
      facts.inLinkPlace,
      "file",
      "these were written where the link to the queue was; bring what they say into the queue with `dotbot task add` or `edit`, then remove them",
    );
  }
  const foreign = Object.entries(facts.links)
    .filter(([, state]) => state === "foreign")
    .map(([path]) => path);
  paths("link", foreign, "link", "these point elsewhere than to the queue; remove them");
  if (!may.ignored)
    paths(
      "ignored",
      facts.ignored,
      "ignored file or folder",
      "they would go as well: keep what you need, then repeat with --discard-ignored; the setting worktree.disposable names what never counts",
    );
  paths("below", facts.below, "repository", "a repository or worktree lies in it; move it elsewhere", "REFUSED");
  return blockers;
}

/** One refusal that names everything: the first fact in front, all of them in the details. */
export function refusal(what: string, blockers: readonly Blocker[], example?: string): DotbotError {
  const [first] = blockers;
  if (first === undefined) throw new TypeError("nothing blocks");
  const more =
    blockers.length === 1
      ? ""
      : `; and ${blockers
          .slice(1)
          .map((it) => it.message)
          .join("; ")}`;
  return new DotbotError(first.code, `${what}: ${first.message}${more}`, {
    hint: first.hint,
    ...(example === undefined ? {} : { example }),
    details: { blockers },
  });
}

export function shortName(ref: string): string {
  return quote(ref.replace(/^refs\/heads\//, ""));
}

function listed(names: readonly string[], max = 8): string {
  const shown = names.slice(0, max).map((name) => quote(name, 120));
  return names.length > max ? `${shown.join(", ")} and ${names.length - max} more` : shown.join(", ");
}

/** Whether a path, or a folder above it, answers to one of the globs of `worktree.disposable`. */
export function isDisposable(path: string, matches: readonly ((name: string) => boolean)[]): boolean {
  return path
    .split("/")
    .filter((part) => part !== "")
    .some((part) => matches.some((match) => match(part)));
}
