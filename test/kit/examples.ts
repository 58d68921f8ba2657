/** How an operation's examples are run: what comes first, and which can't be. */
import type { AnyOperation, Example } from "../../lib/op.ts";

/** Beginnings of examples that need what no test has, and what that is. */
export const ELSEWHERE: readonly (readonly [start: string, why: string])[] = [
  ["guard finish", "a forge"],
  ["guard checkout --pr", "a forge"],
];

/** The script that makes an example's world: a queue, and what the example says it is given. */
export function preparation(op: AnyOperation, { given = [] }: Example): string {
  const needsQueue = op.name !== "init" && !given.includes("init");
  return [...(needsQueue ? ["init --quiet"] : []), ...given].map((line) => `dotbot ${line} >/dev/null\n`).join("");
}
