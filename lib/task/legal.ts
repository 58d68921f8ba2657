/**
 * For which tasks a verb makes sense, so that Tab offers no others: by the status that the verb leads to where it is a move,
 * by the little that is said here where it isn't. Pure.
 */
import type { JsonObject } from "../json.ts";
import { CLOSED, isObject, mayMove, OPEN, pendingQuestions, type Status, STATUSES, VERB_TO } from "./model.ts";

export interface Sense {
  readonly statuses: readonly Status[];
  /** Only tasks of which this is true, beside their status. */
  readonly only?: Told | "claimed" | "unclaimed" | "with-worktree" | "without-worktree" | "in-conflict";
  /** Tasks that were removed as well. */
  readonly removedToo?: boolean;
}

/** What a task's document tells. */
export type Told = "asks" | "proposes-split";

export function tells(told: Told, doc: JsonObject): boolean {
  if (told === "asks") return pendingQuestions(doc).length > 0;
  const proposal = doc["split_proposal"];
  return isObject(proposal) && proposal["status"] === undefined;
}

/** Verbs that are no move, or that make sense from fewer statuses than their move. */
const SENSES: Readonly<Record<string, Sense>> = {
  "task answer": { statuses: ["needs-input"], only: "asks" },
  "task split": { statuses: ["needs-input"], only: "proposes-split" },
  "task resolve": { statuses: STATUSES, only: "in-conflict" },
  "task claim": { statuses: ["analysed", "todo"], only: "unclaimed" },
  "task heartbeat": { statuses: STATUSES, only: "claimed" },
  "task release": { statuses: STATUSES, only: "claimed" },
  "task archive": { statuses: CLOSED },
  "task restore": { statuses: STATUSES, removedToo: true },
  "wt run": { statuses: OPEN },
  "wt undo": { statuses: ["done"] },
  "wt create": { statuses: OPEN, only: "without-worktree" },
};

/** @param verb an operation's name: `"task start"` */
export function senseOf(verb: string): Sense {
  const own = Object.hasOwn(SENSES, verb) ? SENSES[verb] : undefined;
  if (own !== undefined) return own;
  const leadsTo = STATUSES.find((status) => verb === `task ${VERB_TO[status] ?? ""}`);
  // Repeating a move is legal, and nothing that anybody looks for with Tab.
  if (leadsTo !== undefined) return { statuses: STATUSES.filter((from) => from !== leadsTo && mayMove(from, leadsTo)) };
  if (verb.startsWith("wt ")) return { statuses: STATUSES, only: "with-worktree" };
  return { statuses: STATUSES };
}
