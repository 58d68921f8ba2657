/**
 * From a call's arguments to the one repository it may touch: the one place where every operation of every noun passes. Facts
 * are read, then pure rules decide (guard/intent.ts), then either the operation gets its target or the call is refused with
 * what is missing.
 *
 * The plain call, on a command line in the repository that is meant, is settled here from files; everything else loads the
 * rest.
 */
import type { Ctx } from "./ctx.ts";
import { DotbotError } from "./error.ts";
import { requireTree, resolveRepo, type Repo } from "./git/repo.ts";
import type { TargetKind } from "./guard/intent.ts";
import type { AnyOperation } from "./op.ts";

export type { TargetKind } from "./guard/intent.ts";

/** The repository that a call may touch. */
export interface Target {
  /** Files of the call are relative to `repo.start`. An operation whose rule is `none` has none: reading it is a fault. */
  readonly repo: Repo;
  readonly kind: TargetKind;
  /** The caller said which repository it means: by `dir`, by standing in it, or by a hint that matches. */
  readonly confirmed: boolean;
  /** owner/repo of its origin, where a rule needed it; null when it has none. */
  readonly ownerRepo?: string | null;
}

/** Whether a target belongs to another repository than its caller's. */
export function isForeign({ kind }: Pick<Target, "kind">): boolean {
  return kind !== "same-main" && kind !== "same-worktree";
}

/**
 * The target of a call; `input` has been validated. Throws REFUSED or DIRTY with the refusal in `details` (`missing`,
 * `mismatched`, `target`, `candidates`, `why`, `example`), and what `resolveRepo` throws for a place that is no repository.
 */
export async function resolveTarget(
  ctx: Ctx,
  op: AnyOperation,
  input: Readonly<Record<string, unknown>>,
): Promise<Target> {
  const { rule } = op.target;
  if (rule === "none") return noTarget(op);
  if (rule === "guard" || !isPlain(ctx, input)) {
    const { resolveGuarded } = await import("./guard/resolve.ts");
    return await resolveGuarded(ctx, op, op.target, input);
  }
  const repo = await resolveRepo(ctx);
  if (rule === "tree" && op.effect !== "read") requireTree(repo);
  return { repo, kind: repo.kind === "linked" ? "same-worktree" : "same-main", confirmed: true };
}

/** Nothing but the working directory says which repository is meant, and on a command line that is enough. */
function isPlain(ctx: Ctx, input: Readonly<Record<string, unknown>>): boolean {
  const given = (key: string): boolean => {
    const value = input[key];
    return typeof value === "string" && value.trim() !== "";
  };
  return (
    ctx.caller.kind === "cli" &&
    !given("dir") &&
    !given("owner_repo") &&
    (ctx.env["DOTBOT_CALLER_REPO"] ?? "").trim() === ""
  );
}

function noTarget(op: AnyOperation): Target {
  return {
    get repo(): Repo {
      throw new DotbotError("INTERNAL", `${op.name} says that it touches no repository, and asked for one`);
    },
    kind: "unknown",
    confirmed: false,
  };
}
