/**
 * From an input to an answer, the same for the command line and for tools: validate, find the repository, run.
 * A batch runs the operation once per task and goes on after failures, so that one bad name doesn't hide the others' results.
 */
import type { Ctx } from "./ctx.ts";
import { errorFacts, ERRORS, stackOf, type ErrorFacts } from "./error.ts";
import { pathText, validate, type Correction, type Path, type Wording } from "./explain.ts";
import { answerStatus, toolName, type AnyOperation, type Call } from "./op.ts";
import type { Target } from "./target.ts";

/** Finds the one repository that a call may touch, by the operation's target rule; `input` has been validated. */
export type ResolveTarget = (ctx: Ctx, op: AnyOperation, input: Readonly<Record<string, unknown>>) => Promise<Target>;

export interface Answer {
  readonly result: object;
  /** The exit status, 0–255. */
  readonly status: number;
}

/** One task's outcome in a batch, under the name that the caller gave. */
export type Outcome =
  | { readonly task: string; readonly result: object }
  | { readonly task: string; readonly error: ErrorFacts };

export interface BatchAnswer {
  readonly result: { readonly results: readonly Outcome[] };
  /** The highest status among the outcomes. */
  readonly status: number;
}

export interface Invocation {
  readonly op: AnyOperation;
  readonly ctx: Ctx;
  readonly resolve: ResolveTarget;
  readonly wording: Wording;
}

/** Runs an operation once. Throws DotbotError; anything else that escapes is a fault of ours. */
export async function invoke({ op, ctx, resolve, wording }: Invocation, input: unknown): Promise<Answer> {
  const valid = validate(op.input, input, wording);
  const target = await resolve(ctx, op, valid);
  const result = await op.run(await callOf(ctx, op, target), valid);
  return { result, status: answerStatus(op, result) };
}

/**
 * Runs a batch operation for several tasks, in the order given. An abort ends the loop after the task at work: what was done
 * is told, the rest is left undone.
 */
export async function invokeEach(
  invocation: Invocation,
  input: Readonly<Record<string, unknown>>,
  tasks: readonly string[],
): Promise<BatchAnswer> {
  const { op, ctx } = invocation;
  if (op.batch === undefined) throw new TypeError(`${op.name} takes one task at a time`);
  const results: Outcome[] = [];
  let status = 0;
  for (const task of tasks) {
    if (ctx.signal.aborted) break;
    try {
      const answer = await invoke(invocation, { ...input, [op.batch]: task });
      results.push({ task, result: answer.result });
      status = Math.max(status, answer.status);
    } catch (error) {
      if (ctx.signal.aborted && error === ctx.signal.reason) break;
      const facts = errorFacts(error);
      if (facts.code === "INTERNAL") ctx.note(stackOf(error));
      results.push({ task, error: facts });
      status = Math.max(status, ERRORS[facts.code][0]);
    }
  }
  return { result: { results }, status };
}

/** How a tool call is told what is wrong with its arguments: fields by their own names, the corrected arguments as JSON. */
export function toolWording(op: AnyOperation, input: unknown): Wording {
  return {
    nameOf: (path) => pathText(path),
    correct: (corrections) => `${toolName(op)} ${JSON.stringify(corrected(input, corrections))}`,
  };
}

// Not a spread: members of the context that cost something (the host's name) are getters, and stay unread until asked for.
async function callOf(ctx: Ctx, op: AnyOperation, target: Target): Promise<Call> {
  const call: Call = Object.create(Object.prototype, {
    ...Object.getOwnPropertyDescriptors(ctx),
    target: { value: target, enumerable: true },
    ...(await lockWait(ctx, op, target)),
  });
  return call;
}

/** How long the target's settings say to wait for a lock. Only those who write take one, and settings cost more than most reads. */
async function lockWait(ctx: Ctx, op: AnyOperation, target: Target): Promise<PropertyDescriptorMap> {
  if (ctx.lockWaitOpen !== true || op.effect === "read" || op.target.rule === "none") return {};
  const { milliseconds, tryLoadSettings } = await import("./settings.ts");
  const work = (): number => milliseconds(tryLoadSettings(ctx, target.repo.stateRoot).settings.lock.wait);
  return { lockWaitMs: { get: settled(work), enumerable: true } };
}

/** Worked out when it is asked for first. */
function settled<T>(work: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => (known ??= { value: work() }).value;
}

function corrected(input: unknown, corrections: readonly Correction[]): unknown {
  return corrections.reduce<unknown>((value, correction) => place(value, correction.path, correction), input);
}

function place(value: unknown, path: Path, correction: Correction): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return correction.value;
  if (typeof key === "number") {
    const items: readonly unknown[] = Array.isArray(value) ? value : [];
    return items.map((item, i) => (i === key ? place(item, rest, correction) : item));
  }
  const object: Record<string, unknown> = typeof value === "object" && value !== null ? { ...value } : {};
  const present = object[key];
  if (rest.length > 0) return { ...object, [key]: place(present, rest, correction) };
  if (correction.value !== undefined) return { ...object, [key]: correction.value };
  delete object[key];
  return correction.rename === undefined ? object : { ...object, [correction.rename]: present };
}
