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

/** Whether an operation is a tool at all. */
export function isTool(op: AnyOperation): boolean {
  return onSurface(op, "mcp") && TOOLSETS.some((set) => set === nounOf(op));
}

export function isOffered(op: AnyOperation, { toolsets, readOnly }: Offer): boolean {
  if (readOnly && op.effect !== "read") return false;
  if (toolsets.includes("all")) return true;
  return (op.toolset ?? "default") === "default" && toolsets.some((set) => set === nounOf(op));
}

function nounOf(op: AnyOperation): string {
  return op.name.split(" ")[0] ?? "";
}
