/**
 * For which tasks a verb makes sense, so that Tab offers no others: by the status that the verb leads to where it is a move,
 * by the little that is said here where it isn't. Pure.
 */
import { CLOSED, mayMove, OPEN, type Status, STATUSES } from "./model.ts";

export interface Sense {
  readonly statuses: readonly Status[];
  /** Only tasks of which this is true, beside their status. */
  readonly only?: "claimed" | "unclaimed" | "with-worktree" | "without-worktree";
  /** Tasks that were removed as well. */
  readonly removedToo?: boolean;
}

/** Verbs that are no move, or that make sense from fewer statuses than their move. */
const SENSES: Readonly<Record<string, Sense>> = {
  "task answer": { statuses: ["needs-input"] },
  "task split": { statuses: ["needs-input"] },
  "task claim": { statuses: ["analysed", "todo"], only: "unclaimed" },
  "task heartbeat": { statuses: STATUSES, only: "claimed" },
  "task release": { statuses: STATUSES, only: "claimed" },
  "task archive": { statuses: CLOSED },
  "task restore": { statuses: STATUSES, removedToo: true },
  "wt run": { statuses: OPEN },
  "wt undo": { statuses: ["done"] },
  "wt create": { statuses: OPEN, only: "without-worktree" },
};

/**
 * @param verb an operation's name: `"task start"`
 * @param leadsTo the status that it moves a task to, where it does
 */
export function senseOf(verb: string, leadsTo: Status | undefined): Sense {
  const own = Object.hasOwn(SENSES, verb) ? SENSES[verb] : undefined;
  if (own !== undefined) return own;
  // Repeating a move is legal, and nothing that anybody looks for with Tab.
  if (leadsTo !== undefined) return { statuses: STATUSES.filter((from) => from !== leadsTo && mayMove(from, leadsTo)) };
  if (verb.startsWith("wt ")) return { statuses: STATUSES, only: "with-worktree" };
  return { statuses: STATUSES };
}
