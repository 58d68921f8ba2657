/**
 * The intent contract: from facts, read before, to whether an operation may touch the repository that a call leads to. Pure.
 * These rules detect accidents: distance is never a reason to refuse, ambiguity is.
 *
 * Three questions, in this order: which repository does a call without `dir` mean (`decideSelection`), are the keys given
 * that this target demands (`decideKeys`), and does the state of its checkout allow it (`decideState`). The second reads
 * nothing that could run a foreign repository's configuration, so that the third is only asked where the answer matters.
 */
import type { GuardOp } from "../op.ts";

/** What a target is to its caller. Foreign: its common dir isn't the caller's. */
export type TargetKind =
  | "same-main"
  | "same-worktree"
  | "own-submodule"
  | "foreign-worktree"
  | "foreign-primary"
  | "unknown";

/** Why a call isn't carried out. `missing` and `mismatched` are input keys. */
export interface Refusal {
  readonly ok: false;
  readonly code: "REFUSED" | "DIRTY";
  readonly missing: readonly string[];
  readonly mismatched: readonly string[];
  readonly why: string;
  /** No key would help on this target: another one has to be named. */
  readonly outright: boolean;
}

export type Verdict = { readonly ok: true } | Refusal;

const OK: Verdict = { ok: true };

function refuse(
  why: string,
  keys: Partial<Pick<Refusal, "missing" | "mismatched" | "outright" | "code">> = {},
): Refusal {
  return { ok: false, code: "REFUSED", missing: [], mismatched: [], outright: false, why, ...keys };
}

// ── which repository a call without dir means ────────────────────────────────────────────────────────────────────────

export interface SelectionFacts {
  readonly surface: "cli" | "mcp";
  readonly rule: "queue" | "tree" | "guard";
  readonly op: GuardOp | null;
  /** A tool's caller stands somewhere: a server that stands in no repository leads nowhere without `dir`. */
  readonly callerKnown: boolean;
  /** DOTBOT_CALLER_REPO, compared with the caller's repository. */
  readonly hint: "none" | "same" | "differs" | "malformed";
  /** The one root that a client advertises, likewise; none, several or no repository are no signal. */
  readonly roots: "none" | "same" | "differs";
  /** How many checkouts the repository has. */
  readonly checkouts: number;
  /** Other repositories right inside the caller's. */
  readonly inside: number;
  /** Whether exactly one of the repository and those inside it has a queue. */
  readonly oneQueue: boolean;
  readonly branchGiven: boolean;
  readonly filesGiven: boolean;
}

export type Selection =
  | { readonly ok: true; readonly confirmed: boolean; readonly meant: "caller" | "the-one-queue" }
  | (Refusal & { readonly because: "caller" | "signal" | "checkouts" | "inside" });

/** Operations that change, or go out from, the checkout that they run in. */
function concernsTree(facts: SelectionFacts): boolean {
  switch (facts.op) {
    case "add":
    case "commit":
    case "pull":
    case "branch_create":
    case "checkout":
      return true;
    case "push":
    case "finish":
      return !facts.branchGiven;
    case "branch_delete":
    case "read":
    case null:
      return false;
  }
}

export function decideSelection(facts: SelectionFacts): Selection {
  const noDir = (because: "caller" | "signal" | "checkouts" | "inside", why: string): Selection => ({
    ...refuse(why, {
      missing: ["dir", ...(needsFiles(facts.op, facts.surface, "same") && !facts.filesGiven ? ["files"] : [])],
    }),
    because,
  });
  if (!facts.callerKnown)
    return noDir("caller", "the server stands in no repository, so dir has to name the one that is meant");
  if (facts.hint === "malformed")
    return noDir("signal", "DOTBOT_CALLER_REPO isn't of the form owner/repo, so whose call this is can't be known");
  // A mismatch wins over any match.
  if (facts.hint === "differs")
    return noDir("signal", "DOTBOT_CALLER_REPO names another repository than the one that the call would reach");
  if (facts.roots === "differs")
    return noDir("signal", "the client works in another repository than the one that the server stands in");
  if (facts.surface === "cli") return { ok: true, confirmed: true, meant: "caller" };
  const confirmed = facts.hint === "same";
  if (facts.op === "checkout")
    return noDir("checkouts", "a checkout changes what is in a tree, so the tree is always named");
  if (facts.checkouts > 1 && concernsTree(facts)) {
    return noDir(
      "checkouts",
      `the repository has ${facts.checkouts} checkouts, and the server can't know in which of them the caller works`,
    );
  }
  if (facts.inside > 0 && !confirmed) {
    if (facts.rule === "queue" && facts.oneQueue) return { ok: true, confirmed: false, meant: "the-one-queue" };
    return noDir(
      "inside",
      `the repository holds ${facts.inside === 1 ? "another one" : `${facts.inside} others`}, so which of them is meant has to be said`,
    );
  }
  return { ok: true, confirmed, meant: "caller" };
}

// ── the keys that a target demands ───────────────────────────────────────────────────────────────────────────────────

/** A column of the contract. An unknown caller's target, and a submodule of the caller's, count as foreign once confirmed. */
export type Column = "same" | "foreign-worktree" | "foreign-primary";

export interface KeyFacts {
  readonly op: GuardOp;
  readonly surface: "cli" | "mcp";
  readonly kind: TargetKind;
  /** Whether the target is its repository's primary checkout. */
  readonly primary: boolean;
  /** owner/repo of the target; null when it has none. Undefined: not read, since nothing depended on it. */
  readonly ownerRepo?: string | null | undefined;
  readonly headSha: string | null;
  readonly detached: boolean;
  /** By which key, given and matching, the caller showed that it knows the target. */
  readonly confirmedBy: readonly ("owner_repo" | "expect_sha")[];
  readonly filesGiven: boolean;
  readonly branchGiven: boolean;
}

/** What each operation may do to the primary checkout of a foreign repository: other people's, or other agents', work lies there. */
const NEVER_FOREIGN_PRIMARY: ReadonlySet<GuardOp> = new Set<GuardOp>(["commit", "pull", "branch_create", "checkout"]);

/** Whether a rule may turn on the target's owner/repo: then it is read before the keys are judged. */
export function needsIdentity(op: GuardOp, kind: TargetKind, primary: boolean): boolean {
  if (op === "read" || !primary) return false;
  return kind === "unknown" || (kind === "own-submodule" && NEVER_FOREIGN_PRIMARY.has(op));
}

export function columnOf(kind: TargetKind): Column {
  switch (kind) {
    case "same-main":
    case "same-worktree":
      return "same";
    case "foreign-primary":
      return "foreign-primary";
    case "foreign-worktree":
    case "own-submodule":
    case "unknown":
      return "foreign-worktree";
  }
}

function needsFiles(op: GuardOp | null, surface: "cli" | "mcp", column: Column): boolean {
  return op === "add" || (op === "commit" && (surface === "mcp" || column !== "same"));
}

export function decideKeys(facts: KeyFacts): Verdict {
  const { op, kind } = facts;
  if (op === "read") return OK;
  if (kind === "foreign-primary" && NEVER_FOREIGN_PRIMARY.has(op)) {
    return refuse(
      `${VERBS[op]} in the main checkout of another repository isn't done: whoever works there would find it changed. A linked worktree of it will do`,
      {
        outright: true,
      },
    );
  }
  const missing: string[] = [];
  const reasons: string[] = [];
  if (needsIdentity(op, kind, facts.primary)) {
    const key = confirmingKey(facts);
    if (key === null) {
      return refuse(
        "it is a main checkout without owner/repo, so nothing can show that it is the one that is meant. A linked worktree of it will do",
        {
          outright: true,
        },
      );
    }
    const accepted = kind === "unknown" ? facts.confirmedBy.length > 0 : facts.confirmedBy.includes(key);
    if (!accepted) {
      missing.push(key);
      reasons.push(
        kind === "unknown"
          ? `the caller's repository is unknown, so ${key} has to show that this main checkout is meant`
          : `it is a submodule's main checkout, so ${key} has to show that the submodule is meant and not the repository around it`,
      );
    }
  }
  const column = columnOf(kind);
  if (needsFiles(op, facts.surface, column) && !facts.filesGiven) {
    missing.push("files");
    reasons.push(op === "add" ? "what is staged is always declared" : "what is committed there has to be named");
  }
  if ((op === "push" || op === "finish") && column !== "same" && !facts.branchGiven) {
    missing.push("branch");
    reasons.push("the branch of another repository has to be named");
  } else if (
    (op === "push" || op === "pull" || op === "finish") &&
    !facts.branchGiven &&
    (facts.detached || facts.headSha === null)
  ) {
    missing.push("branch");
    reasons.push(facts.detached ? "HEAD is detached there" : "there is no commit yet");
  }
  return missing.length === 0 ? OK : refuse(reasons.join("; "), { missing });
}

/** The key that can show that a primary checkout is meant; for a checkout expect_sha is what it shall be, not what it is. */
function confirmingKey(facts: KeyFacts): "owner_repo" | "expect_sha" | null {
  if (facts.ownerRepo !== null && facts.ownerRepo !== undefined) return "owner_repo";
  return facts.op === "checkout" || facts.headSha === null ? null : "expect_sha";
}

const VERBS: Readonly<Record<GuardOp, string>> = {
  add: "staging",
  commit: "a commit",
  push: "a push",
  pull: "a pull",
  branch_create: "a new branch",
  branch_delete: "deleting a branch",
  finish: "finishing a branch",
  checkout: "a checkout",
  read: "reading",
};

// ── the state that a checkout is in ──────────────────────────────────────────────────────────────────────────────────

export interface StateFacts {
  readonly op: GuardOp;
  readonly column: Column;
  /** `merge`, `rebase`, …: what git is in the middle of there; null when nothing. */
  readonly operation: string | null;
  readonly detached: boolean;
  /** Tracked files that are modified or staged. Empty where `needsStatus` says that it isn't asked. */
  readonly dirty: readonly string[];
  /** Declared paths with conflicts. */
  readonly unmerged: readonly string[];
}

/** Whether the tracked files' state decides: it is read only then. */
export function needsStatus(op: GuardOp, column: Column): "dirty" | "unmerged" | null {
  if (op === "checkout") return "dirty";
  if (column === "same") return null;
  if (op === "pull" || op === "branch_create") return "dirty";
  return op === "add" ? "unmerged" : null;
}

export function decideState(facts: StateFacts): Verdict {
  const { op, operation, column } = facts;
  const foreign = column !== "same";
  if (
    operation !== null &&
    (op === "pull" || op === "finish" || op === "checkout" || (foreign && (op === "commit" || op === "branch_create")))
  ) {
    return refuse(
      `a ${operation} is in progress there, and ${VERBS[op]} would get into its way: it has to be concluded or aborted first`,
      { outright: true },
    );
  }
  if (foreign && op === "commit" && facts.detached) {
    return refuse("HEAD is detached there, so the commit would be on no branch of its owner's", { outright: true });
  }
  if (needsStatus(op, column) === "dirty" && facts.dirty.length > 0) {
    return refuse(`tracked files are modified or staged there: ${list(facts.dirty)}`, {
      code: "DIRTY",
      outright: true,
    });
  }
  if (needsStatus(op, column) === "unmerged" && facts.unmerged.length > 0) {
    return refuse(`there are conflicts in ${list(facts.unmerged)}, and staging would mark them as resolved`, {
      outright: true,
    });
  }
  return OK;
}

function list(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).map((path) => JSON.stringify(path));
  return shown.join(", ") + (paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "");
}

// ── keys that have to match ──────────────────────────────────────────────────────────────────────────────────────────

/** Reads `owner/repo`, with a longer namespace where there is one; null for any other form. */
export function parseOwnerRepo(text: string): string | null {
  const trimmed = text.trim();
  return /^[^\s/:@\\]+(?:\/[^\s/:@\\]+)+$/.test(trimmed) && !trimmed.startsWith("-") ? trimmed : null;
}

/** Whether a caller's sha names that commit: all of it, or at least the first seven digits. */
export function shaMatches(expected: string, actual: string | null): boolean {
  return actual !== null && /^[0-9a-f]{7,64}$/i.test(expected) && actual.startsWith(expected.toLowerCase());
}
