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

/**
 * What people use more than agents do, who pay for each tool in every conversation. Offered with the toolset `all`, like the
 * operations that are rare for everybody (`toolset`).
 */
const RARE_FOR_AGENTS: ReadonlySet<string> = new Set([
  "task add-bulk",
  "task analysing",
  "task analysed",
  "task cancel",
  "task edit",
  "task heartbeat",
  "task release",
  "task remove",
  "task review",
  "task split",
  "task stats",
  "wt adopt",
  "wt diff",
  "wt list",
  "wt log",
  "wt path",
  "wt prune",
  "wt remove",
  "wt repair",
  "wt sync",
  "wt undo",
  "guard branch create",
  "guard branch delete",
  "guard check",
  "guard finish",
  "guard identity",
  "guard pull",
  "guard scan",
  "doctor fix",
]);

export function isOffered(op: AnyOperation, { toolsets, readOnly }: Offer): boolean {
  if (readOnly && op.effect !== "read") return false;
  if (toolsets.includes("all")) return true;
  const rare = op.toolset === "all" || RARE_FOR_AGENTS.has(op.name);
  return !rare && toolsets.some((set) => set === nounOf(op));
}

function nounOf(op: AnyOperation): string {
  return op.name.split(" ")[0] ?? "";
}
