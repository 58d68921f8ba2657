/**
 * An operation is one verb, as data: command line, MCP tool, JSON Schema, completion, help and REFERENCE.md are all derived
 * from it, so what is advertised and what is validated can't drift apart. To add a verb: one object, one line in ops.ts.
 */
import type * as v from "valibot";

import type { Ctx } from "./ctx.ts";
import type { Style } from "./text.ts";
import type { Target } from "./target.ts";

export type InputSchema = v.StrictObjectSchema<v.ObjectEntries, undefined>;
export type OutputSchema = v.GenericSchema<unknown, object>;

/**
 * Which repository an operation may touch, and by which rule it knows that its caller meant it.
 * - `queue`: the state root of the repository that `dir`, or else the caller, names; every checkout of it will do.
 * - `tree`: one checkout (the work root) of that repository.
 * - `guard`: the intent contract's row for `op`.
 * - `none`: touches no repository; `why` says so in REFERENCE.md.
 */
export type TargetRule =
  | { readonly rule: "queue" }
  | { readonly rule: "tree" }
  | { readonly rule: "guard"; readonly op: GuardOp }
  | { readonly rule: "none"; readonly why: string };

export type GuardOp =
  | "add"
  | "commit"
  | "push"
  | "pull"
  | "branch_create"
  | "branch_delete"
  | "finish"
  | "checkout"
  | "read";

/** Where a value's candidates for Tab come from. `task` is narrowed to those for which the verb is legal. */
export type Completion =
  | "task"
  | "branch"
  | "status"
  | "category"
  | "remote"
  | "path"
  | "directory"
  | "session"
  | "none";

/** How one input field is spelt on the command line, where kebab-case of its name isn't it. */
export interface Flag {
  readonly name?: string;
  readonly short?: string;
  /** What stands for the value in help, without brackets: `text` shows as `<text>`. */
  readonly value?: string;
  /** Values of a list are never split at their commas: prose. Otherwise `a,b` is two. */
  readonly whole?: boolean;
  /** Not offered on the command line (a positional, or a field that only agents need). */
  readonly hidden?: boolean;
  /** The string value may be `-` (stdin) or a file's path: the field gets the parsed JSON. */
  readonly json?: boolean;
  /** The value `-` is replaced with all of stdin, as text. */
  readonly stdin?: boolean;
  /** A field of the command line alone: no tool has it, in its schema or otherwise. */
  readonly cliOnly?: boolean;
}

export interface Positional {
  readonly field: string;
  /** Takes all the remaining words: the field is a list, or the operation is a batch. */
  readonly variadic?: boolean;
  readonly optional?: boolean;
  /** Takes the words after `--` as they are. */
  readonly passthrough?: boolean;
}

export interface Example {
  /** A command line as a user types it, without the leading `dotbot`. Run by a test. */
  readonly run: string;
  readonly does: string;
  /** Commands that make the example's world: run first, without the leading `dotbot`. */
  readonly given?: readonly string[];
}

/** What `run` gets: the caller's context, and the repository that the target rule resolved to. */
export interface Call extends Ctx {
  readonly target: Target;
}

export interface Operation<I extends InputSchema = InputSchema, O extends OutputSchema = OutputSchema> {
  /** One to three words: `"task add"`, `"guard branch create"`, `"doctor"`. */
  readonly name: string;
  /** The MCP tool's name where an established one exists; otherwise the words joined with `_`. */
  readonly tool?: string;
  /** Other spellings on the command line, whole: `"task ls"`. */
  readonly aliases?: readonly string[];
  /** One line, imperative, no full stop. */
  readonly summary: string;
  /** When to use it and what it promises; under 1 KB together with the summary. */
  readonly details?: string;
  readonly examples: readonly Example[];
  readonly effect: "read" | "write" | "destroy";
  /** Calling it twice with the same input changes nothing more. */
  readonly idempotent?: boolean;
  /** It talks to something beyond this machine (a remote, a forge). */
  readonly openWorld?: boolean;
  readonly target: TargetRule;
  /**
   * Agents pay for every tool in each conversation. `people`: of everyday use on a command line, and rarely called by an agent;
   * `all`: rare for everybody. Both are in the tool list only when all tools are asked for.
   */
  readonly toolset?: "default" | "people" | "all";
  /**
   * Whether a tool's caller has to say in whose session it works, where the operation takes a session: it has to where a task's
   * history is written, which is the rule. `optional`: the session is taken for the claim that it may hold, and no task moves.
   */
  readonly session?: "required" | "optional";
  /** Fields that a person is asked for where they are missing. Nobody is asked by a tool: its caller has to give them. */
  readonly asks?: readonly string[];
  readonly input: I;
  readonly output: O;
  readonly positional?: readonly Positional[];
  readonly flags?: Readonly<Record<string, Flag>>;
  readonly complete?: Readonly<Record<string, Completion>>;
  /**
   * The field that names one task; on the command line it takes several. Each is run on its own, failures don't stop the
   * rest, the result is `{results: […]}` and the exit status the highest.
   */
  readonly batch?: string;
  readonly surfaces?: readonly ("cli" | "mcp")[];
  /**
   * Flags of the command line that together describe a list of objects (`task ask`): turns the words, in the order typed,
   * into input fields. Pure.
   */
  readonly assemble?: Assemble;
  run(call: Call, input: v.InferOutput<I>): Promise<v.InferOutput<O>>;
  /** What a person reads, ending with a newline unless empty. Pure. */
  text(result: v.InferOutput<O>, style: Style): string;
  /** Ids alone, one a line, for `--ids`; present where the result is a list. */
  ids?(result: v.InferOutput<O>): readonly string[];
  /** The folder to which the caller's shell should go now, where `shell-init` lets it; absolute. */
  goTo?(result: v.InferOutput<O>): string | null;
  /**
   * The exit status, 0–255: 1 where the answer is no (a finding, nothing to pick), a command's own where one was run, otherwise
   * 0. By default: 1 when `ok` is false.
   */
  status?(result: v.InferOutput<O>): number;
}

export interface Assemble {
  /** Flags that exist beside the fields' own, in the order help shows them. */
  readonly flags: Readonly<Record<string, { readonly value: string; readonly description: string }>>;
  /** Builds input fields from the flags in the order they were typed; throws DotbotError on nonsense. */
  readonly build: (typed: readonly { readonly flag: string; readonly value: string }[]) => Record<string, unknown>;
}

/** Identity, for inference: `run` and `text` get their types from `input` and `output`. */
export function operation<I extends InputSchema, O extends OutputSchema>(op: Operation<I, O>): Operation<I, O> {
  return op;
}

/** An operation as the registry holds it: methods are bivariant, and every edge validates before it calls. */
export type AnyOperation = Operation;

/** The name under which an operation is a tool. */
export function toolName(op: AnyOperation): string {
  return op.tool ?? op.name.replaceAll(/[ -]/g, "_");
}

export function onSurface(op: AnyOperation, surface: "cli" | "mcp"): boolean {
  return (op.surfaces ?? ["cli", "mcp"]).includes(surface);
}

/** The exit status of an answer, 0–255. */
export function answerStatus(op: AnyOperation, result: object): number {
  if (op.status !== undefined) return op.status(result);
  return "ok" in result && result.ok === false ? 1 : 0;
}
