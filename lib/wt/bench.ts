/** What every verb on worktrees works at: the queue, the settings, and the repository, locked and with nothing left half-done. */
import { DotbotError } from "../error.ts";
import type { AdvancePlace } from "../git/advance.ts";
import { isWithin, physical } from "../git/native.ts";
import { requireGit } from "../git/run.ts";
import { withRepositoryLock } from "../lock.ts";
import type { Call } from "../op.ts";
import type { Settings } from "../settings.ts";
import { timestamp } from "../task/model.ts";
import { withQueue } from "../task/ops/common.ts";
import type { Queue } from "../task/queue.ts";
import { quote } from "../text.ts";

export const MINIMUM_GIT = "2.38";

export interface Bench {
  readonly call: Call;
  readonly queue: Queue;
  readonly settings: Settings;
  readonly place: AdvancePlace;
}

/** The same where there may be no queue: agents make worktrees in any repository, and in each of them nothing may be lost. */
export type Ground = Omit<Bench, "queue"> & { readonly queue: Queue | null };

export function hasQueue(ground: Ground): ground is Bench {
  return ground.queue !== null;
}

/** Opens the queue that the call means, for looking. */
export async function withBench<T>(call: Call, verb: string, work: (bench: Bench) => Promise<T>): Promise<T> {
  await requireGit(call, MINIMUM_GIT, verb);
  return await withQueue(call, async ({ queue, settings }) => {
    const { mainRoot, commonDir } = call.target.repo;
    return await work({ call, queue, settings, place: { mainRoot, commonDir } });
  });
}

/**
 * The same for changing: holds the repository's lock, and first finishes or takes back what a killed command left. Errors:
 * LOCKED, and what recovery says when it can't explain what it finds.
 */
export async function withLockedBench<T>(call: Call, verb: string, work: (bench: Bench) => Promise<T>): Promise<T> {
  return await withBench(call, verb, async (bench) => await locked(bench, verb, async () => await work(bench)));
}

/** Takes the lock for a bench that is open. */
export async function locked<T>(ground: Ground, purpose: string, work: () => Promise<T>): Promise<T> {
  return await withRepositoryLock(ground.call, ground.place.commonDir, purpose, async () => {
    // Loaded here: recovery knows every verb, and every verb begins here.
    const { recover } = await import("./recover.ts");
    await recover(ground);
    return await work();
  });
}

/** Takes back what an interrupt cut short: the signal that ended the work doesn't end that as well. */
export async function unhurried(ground: Ground, verb: string, work: (ground: Ground) => Promise<void>): Promise<void> {
  if (!ground.call.signal.aborted) return await work(ground);
  const call: Call = Object.create(Object.prototype, {
    ...Object.getOwnPropertyDescriptors(ground.call),
    signal: { value: new AbortController().signal, enumerable: true },
  });
  if (!hasQueue(ground)) return await work({ ...ground, call });
  // The queue that is open heeds the signal that it was opened with.
  await withBench(call, verb, work);
}

/** Whether the caller stands in a folder that is about to go. */
export function callerIsIn(call: Pick<Call, "cwd">, path: string): boolean {
  const cwd = physical(call.cwd);
  return cwd !== null && isWithin(cwd, path);
}

export function nowStamp(call: Pick<Call, "now">): string {
  return timestamp(call.now());
}

/** A corrected call in the words of the caller's surface. */
export function wtExample(
  call: Pick<Call, "surface">,
  verb: string,
  task: string,
  rest: Readonly<Record<string, boolean | string>> = {},
): string {
  if (call.surface === "mcp") return JSON.stringify({ task_id: task, ...rest });
  const flags = Object.entries(rest).map(
    ([key, value]) => ` --${key.replaceAll("_", "-")}${value === true ? "" : ` ${String(value)}`}`,
  );
  return `dotbot wt ${verb} ${task}${flags.join("")}`;
}

export function noWorktree(
  call: Pick<Call, "surface">,
  task: { readonly id8: string; readonly name: string },
): DotbotError {
  return new DotbotError("NOT_FOUND", `${quote(task.name)} (${task.id8}) has no worktree`, {
    hint: "make one first",
    example: wtExample(call, "create", task.id8),
  });
}
