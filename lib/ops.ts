/**
 * The registry: every noun, and where its operations are. A noun's operations are loaded when the noun is used, so that
 * `dotbot --version` reads none of them and `dotbot task …` only the queue's.
 *
 * To add a verb: one object in its noun's operations. To add a noun: one entry here.
 */
import type { AnyOperation, Example } from "./op.ts";
import { TASK_VERBS } from "./task/ops.ts";

export interface Noun {
  /** One line for `dotbot help`, imperative or a list of what it holds, no full stop. */
  readonly summary: string;
  /** What `dotbot help` begins with: one line that works. */
  readonly example: Example;
  /** Other spellings: `worktree` for `wt`. */
  readonly aliases?: readonly string[];
  /** The operation that the bare noun runs: `"task list"`. Not needed where one is named like the noun itself. */
  readonly bare?: string;
  /** Set-up that is needed once: `dotbot help` names it without a line of its own. */
  readonly minor?: boolean;
  readonly load: () => Promise<readonly AnyOperation[]>;
  /**
   * Where the operation of one verb is, by its whole name, for nouns with so many verbs that loading them all would be felt:
   * running one loads nothing else. `load` is then all of these.
   */
  readonly verbs?: Verbs;
}

export type Verbs = Readonly<Record<string, () => Promise<AnyOperation>>>;

export type Nouns = Readonly<Record<string, Noun>>;

/** A noun whose verbs are loaded one by one. */
function oneByOne(verbs: Verbs): Pick<Noun, "load" | "verbs"> {
  return { verbs, load: async () => await Promise.all(Object.values(verbs).map((load) => load())) };
}

export const NOUNS: Nouns = {
  status: {
    summary: "Where you stand and what to do next: dotbot alone",
    example: { run: "status", does: "where you stand" },
    minor: true,
    load: async () => (await import("./status/ops.ts")).STATUS_OPERATIONS,
  },
  task: {
    summary: "The queue: add, pick, claim, move, ask, history",
    example: { given: ["task add 'Add a login page'"], run: "task next", does: "what to work on" },
    bare: "task list",
    ...oneByOne(TASK_VERBS),
  },
  wt: {
    summary: "A worktree per task, back as exactly one commit",
    example: { given: ["task add 'Add a login page'"], run: "wt list", does: "where work goes on" },
    aliases: ["worktree"],
    bare: "wt list",
    load: async () => (await import("./wt/ops.ts")).WT_OPERATIONS,
  },
  guard: {
    summary: "git that knows which repository you meant",
    example: { run: "guard identity", does: "who and where" },
    load: async () => (await import("./guard/ops.ts")).GUARD_OPERATIONS,
  },
  doctor: {
    summary: "Find what is wrong, and fix what is safe",
    example: { run: "doctor", does: "check everything" },
    load: async () => (await import("./doctor/ops.ts")).DOCTOR_OPERATIONS,
  },
  config: {
    summary: "Settings: where they come from, and what they may be",
    example: { run: "config show --origin", does: "every setting and its source" },
    bare: "config show",
    load: async () => (await import("./config/ops.ts")).CONFIG_OPERATIONS,
  },
  init: {
    summary: "Make a queue in this repository",
    example: { run: "init", does: "once per repository" },
    load: async () => (await import("./init/ops.ts")).INIT_OPERATIONS,
  },
  prime: {
    summary: "Tell an agent what it needs to know to work here",
    example: { run: "prime", does: "the loop, this queue, the rules" },
    minor: true,
    load: async () => (await import("./prime/ops.ts")).PRIME_OPERATIONS,
  },
};

/** Every operation, in registry order: for tools, the reference and tests. */
export async function allOperations(nouns: Nouns = NOUNS): Promise<readonly AnyOperation[]> {
  const loaded = await Promise.all(Object.values(nouns).map((noun) => noun.load()));
  return loaded.flat();
}
