/** Who calls, as far as claims are concerned, and whose claim stands. */
import type { Ctx } from "../ctx.ts";
import { lifeOf } from "../process.ts";
import { type Claim, type Holder, standing } from "./claim.ts";
import { oneLine, sessionOf } from "./provenance.ts";

export interface HolderInput {
  owner?: string | undefined;
  claim_token?: string | undefined;
  session_id?: string | undefined;
}

/** The caller by what it says, else by its environment (command line only). */
export function holderOf(ctx: Ctx, input: HolderInput): Holder {
  const token = input.claim_token ?? (ctx.surface === "cli" ? ctx.env["DOTBOT_CLAIM"] : undefined);
  const owner = input.owner ?? (ctx.surface === "cli" ? ctx.env["DOTBOT_OWNER"] : undefined);
  const name = owner === undefined ? "" : oneLine(ctx, owner, "owner");
  return {
    owner: name === "" ? null : name,
    session: sessionOf(ctx, input.session_id),
    token: token === undefined || token.trim() === "" ? null : token.trim(),
  };
}

/** The claim on a task that stands now, or null. */
export function standingClaim(ctx: Ctx, text: string | undefined): Claim | null {
  if (text === undefined) return null;
  const claim = JSON.parse(text) as Claim;
  const life = claim.process === null || claim.host !== ctx.hostname ? "unknown" : lifeOf(claim.process);
  return standing(claim, ctx.now(), life) === "held" ? claim : null;
}
