/**
 * Every way in which dotbot says no, in one table: the code is what programs match, the status is what shells see.
 * A message states the fact, a hint the next step, an example a corrected call built from the caller's own values.
 * REFERENCE.md prints the table.
 */
import { printable } from "./text.ts";

export const ERRORS = {
  USAGE: [2, "the command line, or the arguments of a tool call, can't be understood"],
  INVALID_INPUT: [2, "a value is of the wrong type, too long, empty or not among the allowed ones"],
  UNKNOWN_COMMAND: [2, "no such noun or verb"],
  UNKNOWN_FLAG: [2, "the verb has no such flag"],
  NEEDS_ANSWER: [2, "a question would have to be asked, and there is no terminal to ask at"],
  AMBIGUOUS_TASK: [2, "more than one task answers to that name"],
  CYCLE: [2, "the dependency would make a task wait for itself"],
  OUTSIDE_REPOSITORY: [2, "a path leaves the repository"],
  INVALID_SETTINGS: [2, "a settings file can't be read as settings"],
  TASK_NOT_FOUND: [3, "no task answers to that name"],
  NOT_FOUND: [3, "what was named doesn't exist"],
  ILLEGAL_TRANSITION: [4, "the transition table doesn't allow that move"],
  NOT_HOLDER: [4, "somebody else holds the task's claim"],
  CONFLICT: [4, "two versions exist and neither continues the other"],
  REFUSED: [4, "refused, to protect work or a repository"],
  DIRTY: [4, "uncommitted work would be lost or left out"],
  UNMERGED: [4, "commits would be lost"],
  MERGE_CONFLICT: [4, "the branch doesn't merge cleanly"],
  REJECTED: [4, "a hook, a filter, signing or the remote rejected it"],
  SWEPT_IN: [4, "a hook added paths to a commit that weren't declared"],
  UNVERIFIED: [4, "done, but reading the result back failed"],
  NO_GIT: [5, "git isn't installed"],
  GIT_TOO_OLD: [5, "git is older than the verb needs"],
  NOT_A_REPOSITORY: [5, "there is no git repository here"],
  STATE_ROOT_UNKNOWN: [5, "the repository's state root can't be known from here"],
  NO_QUEUE: [5, "the repository has no .bot folder"],
  READ_ONLY: [5, "the ledger, a folder or the disk can't be written"],
  LEDGER_DAMAGED: [5, "the ledger can't be read and couldn't be rebuilt"],
  GIT_FAILED: [5, "git failed; its own words are in the message"],
  NETWORK: [5, "a remote or a forge couldn't be reached in time"],
  LOCKED: [6, "another process holds the lock, after waiting"],
  INTERNAL: [70, "a fault of ours"],
} as const satisfies Record<string, readonly [status: number, meaning: string]>;

export type ErrorCode = keyof typeof ERRORS;

/** What a caller can be told about a failure, as `--json` prints it under `error`. */
export interface ErrorFacts {
  code: ErrorCode;
  message: string;
  hint?: string;
  example?: string;
  details?: Readonly<Record<string, unknown>>;
}

export class DotbotError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly example: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, extra: Omit<ErrorFacts, "code" | "message"> = {}) {
    super(message);
    this.name = "DotbotError";
    this.code = code;
    this.hint = extra.hint;
    this.example = extra.example;
    this.details = extra.details;
  }

  /** The exit status of a process that ends with this error. */
  get status(): number {
    return ERRORS[this.code][0];
  }

  facts(): ErrorFacts {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      ...(this.example === undefined ? {} : { example: this.example }),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

/** The one way a failure is told to a person. Lines: fact, hint, example; never a stack, never a control character. */
export function errorText(facts: ErrorFacts, prefix = "dotbot: "): string {
  const lines = [prefix + printable(facts.message)];
  if (facts.hint !== undefined) lines.push(`  hint: ${printable(facts.hint)}`);
  if (facts.example !== undefined) lines.push(`  try:  ${printable(facts.example)}`);
  return lines.join("\n") + "\n";
}

/** Any thrown value as facts; what isn't a DotbotError is INTERNAL. */
export function errorFacts(error: unknown): ErrorFacts {
  if (error instanceof DotbotError) return error.facts();
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    code: "INTERNAL",
    message: `a fault of dotbot's own: ${said}`,
    hint: "please report it, with the command and this text",
  };
}

export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
