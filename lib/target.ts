/**
 * From a call's arguments to the one repository it may touch. Facts are read here (lib/git/repo.ts); which of them suffice
 * is decided in lib/guard/intent.ts, which is pure.
 */
import type { Ctx } from "./ctx.ts";
import { resolveRepo, type Repo } from "./git/repo.ts";
import type { AnyOperation } from "./op.ts";

export interface Target {
  readonly repo: Repo;
}

/** The repository of a call: the one that `dir` names, else the caller's. */
export async function resolveTarget(
  ctx: Ctx,
  op: AnyOperation,
  input: Readonly<Record<string, unknown>>,
): Promise<Target> {
  const dir = typeof input["dir"] === "string" && input["dir"].trim() !== "" ? input["dir"] : undefined;
  void op;
  return { repo: await resolveRepo(ctx, dir) };
}
