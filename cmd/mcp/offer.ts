/** Which operations are tools, and which of them a server offers. Pure. */
import { onSurface, type AnyOperation } from "../../lib/op.ts";

export const TOOLSETS = ["task", "wt", "guard", "doctor", "all"] as const;
export type Toolset = (typeof TOOLSETS)[number];

/** What flags and settings say about the tools. */
export interface Offer {
  readonly toolsets: readonly Toolset[];
  readonly readOnly: boolean;
  readonly requireSession: boolean;
}

/** The same for offers that come to the same list. */
export function listKey({ toolsets, readOnly, requireSession }: Offer): string {
  const chosen = TOOLSETS.filter((set) => toolsets.includes(set));
  return JSON.stringify([chosen.includes("all") ? ["all"] : chosen, readOnly, requireSession]);
}

/** Whether an operation is a tool at all. */
export function isTool(op: AnyOperation): boolean {
  return onSurface(op, "mcp") && TOOLSETS.some((set) => set === nounOf(op));
}

export function isOffered(op: AnyOperation, { toolsets, readOnly }: Offer): boolean {
  if (readOnly && op.effect !== "read") return false;
  return toolsets.includes("all") || toolsets.some((set) => set === toolsetOf(op));
}

/** The smallest toolset that has it. */
export function toolsetOf(op: AnyOperation): string {
  return (op.toolset ?? "default") === "default" ? nounOf(op) : "all";
}

function nounOf(op: AnyOperation): string {
  return op.name.split(" ")[0] ?? "";
}
