/**
 * Running a command in tasks' worktrees: in one, as if the caller had typed it there, or in one after the other of the queue's
 * next tasks, several at a time, completing what succeeded.
 */
import { DotbotError } from "../error.ts";
import type { Call } from "../op.ts";
import { runForeground, runProgram } from "../shell.ts";
import { isStatus, type Status } from "../task/model.ts";
import { asText, firstLine, quote, stripControlKeepLines } from "../text.ts";
import { createAndSetUp } from "./begin.ts";
import { withBench } from "./bench.ts";
import type { CreateInput } from "./create.ts";
import { completeAll } from "./finish.ts";
import { worktreeOf } from "./records.ts";
import { worktreeEnv } from "./setup.ts";
import { runVerb } from "./verbs.ts";

const TAIL = 2_000;

export interface Ran {
  readonly taskId: string;
  readonly name: string;
  readonly path: string | null;
  /** Of the command; null when it never ran. */
  readonly exitStatus: number | null;
  /** `ran`: one task, whose status stays. The others are what became of a task of the queue. */
  readonly outcome: "ran" | "completed" | "done" | "needs-input" | "failed" | "left";
  readonly commit: string | null;
  readonly why: string | null;
  readonly tail: string | null;
}

/** One named task: claimed while the command runs, which has the caller's terminal. */
export async function runOne(call: Call, input: CreateInput, command: readonly string[]): Promise<Ran> {
  const made = await createAndSetUp(call, { ...input, pid: input.pid ?? call.pid });
  if (made.setup.state === "failed") throw setupFailed(made.path, made.setup.command);
  const env = await environment(call, made.taskId, made.claim?.token);
  const { status } = await runForeground(call, command, { cwd: made.path, env });
  return {
    taskId: made.taskId,
    name: asText(made.task["name"]),
    path: made.path,
    exitStatus: status,
    outcome: "ran",
    commit: null,
    why: null,
    tail: null,
  };
}

export interface QueueRun {
  readonly loop: boolean;
  readonly slots: number;
  readonly owner: string | undefined;
  readonly session_id: string | undefined;
  readonly prefer: "analysed" | "todo" | undefined;
}

/** The queue's next tasks, until there is none (or one, without `loop`). */
export async function runNext(call: Call, wish: QueueRun, command: readonly string[]): Promise<Ran[]> {
  const results: Ran[] = [];
  const worker = async (slot: number): Promise<void> => {
    for (;;) {
      if (call.signal.aborted) return;
      const ran = await runNextOne(call, { ...wish, owner: `${wish.owner ?? "wt-run"}-${call.pid}-${slot}` }, command);
      if (ran === null) return;
      results.push(ran);
      call.note(
        `${ran.taskId.slice(0, 8)} ${ran.name}: ${ran.outcome}${ran.why === null ? "" : `, ${firstLine(ran.why)}`}`,
      );
      if (!wish.loop) return;
    }
  };
  await Promise.all(Array.from({ length: wish.slots }, async (_, slot) => await worker(slot + 1)));
  return results;
}

async function runNextOne(
  call: Call,
  wish: QueueRun & { readonly owner: string },
  command: readonly string[],
): Promise<Ran | null> {
  const held = { owner: wish.owner, ...(wish.session_id === undefined ? {} : { session_id: wish.session_id }) };
  const next = await runVerb(call, "task", "task start", {
    next: true,
    worktree: false,
    pid: call.pid,
    ...held,
    ...(wish.prefer === undefined ? {} : { prefer: wish.prefer }),
  });
  const started = startedTask(next);
  if (started === null) return null;
  const { taskId, name } = started;
  const facts = { taskId, name, path: null, exitStatus: null, commit: null, tail: null };
  let path: string;
  try {
    const made = await createAndSetUp(call, { task_id: taskId, ...held, pid: call.pid });
    path = made.path;
    if (made.setup.state === "failed") throw setupFailed(path, made.setup.command);
  } catch (error) {
    return { ...facts, ...(await giveUp(call, taskId, held, errorText(error))) };
  }
  const env = await environment(call, taskId, started.token);
  const ran = await runProgram(call, command, { cwd: path, env: { ...env, DOTBOT_OWNER: wish.owner } });
  const tail = stripControlKeepLines([ran.stdout, ran.stderr].filter((it) => it !== "").join("\n")).slice(-TAIL);
  const after = { ...facts, path, exitStatus: ran.status, tail };
  const status = await statusOf(call, taskId);
  // The command may have moved its task itself, as an agent does that asks or gives up.
  if (status !== "in-progress" && status !== "done")
    return { ...after, outcome: "left", why: `it is ${status ?? "gone"}` };
  if (ran.status !== 0)
    return {
      ...after,
      ...(await giveUp(call, taskId, held, `${quote(command.join(" "))} ended with status ${ran.status}\n${tail}`)),
    };
  return { ...after, ...(await bringHome(call, taskId, held)) };
}

type End = Pick<Ran, "outcome" | "why"> & { readonly commit?: string | null };

async function bringHome(call: Call, taskId: string, held: Readonly<Record<string, string>>): Promise<End> {
  try {
    const done = await runVerb(call, "task", "task done", { task_id: taskId, complete: false, ...held });
    if ("ok" in done && done.ok === false)
      return await ask(
        call,
        taskId,
        held,
        `verification failed: ${JSON.stringify("verification" in done ? done.verification : null)}`.slice(0, TAIL),
      );
    const landed = await completeAll(call, { task_id: taskId });
    return { outcome: "completed", why: landed.leftovers[0] ?? null, commit: landed.commit };
  } catch (error) {
    if (!(error instanceof DotbotError)) throw error;
    const status = await statusOf(call, taskId);
    if (status === "needs-input") return { outcome: "needs-input", why: error.message };
    if (status === "done") return { outcome: "done", why: error.message };
    return await ask(call, taskId, held, error.message);
  }
}

async function ask(call: Call, taskId: string, held: Readonly<Record<string, string>>, why: string): Promise<End> {
  await runVerb(call, "task", "task ask", {
    task_id: taskId,
    ...held,
    questions: [{ question: "The command succeeded, but its work can't be completed. What now?", context: why }],
  });
  return { outcome: "needs-input", why };
}

async function giveUp(call: Call, taskId: string, held: Readonly<Record<string, string>>, why: string): Promise<End> {
  const status = await statusOf(call, taskId);
  if (status !== "in-progress") return { outcome: "left", why };
  await runVerb(call, "task", "task fail", {
    task_id: taskId,
    ...held,
    reason: why.replace(/\s+/g, " ").slice(0, 250),
  });
  return { outcome: "failed", why };
}

async function statusOf(call: Call, taskId: string): Promise<Status | null> {
  return await withBench(call, "wt run", async ({ queue }) => queue.ledger.task(taskId)?.status ?? null);
}

async function environment(call: Call, taskId: string, token: string | undefined): Promise<Record<string, string>> {
  return await withBench(call, "wt run", async (bench) => {
    const worktree = worktreeOf(bench.queue, taskId);
    if (worktree === null) throw new DotbotError("NOT_FOUND", "the worktree has gone meanwhile");
    return { ...worktreeEnv(bench, taskId, worktree), ...(token === undefined ? {} : { DOTBOT_CLAIM: token }) };
  });
}

function startedTask(result: object): { taskId: string; name: string; token: string | undefined } | null {
  if (!("task" in result) || typeof result.task !== "object" || result.task === null || !("newStatus" in result))
    return null;
  const task: Record<string, unknown> = { ...result.task };
  if (!isStatus(result.newStatus)) return null;
  const claim = "claim" in result && typeof result.claim === "object" && result.claim !== null ? result.claim : {};
  return {
    taskId: asText(task["id"]),
    name: asText(task["name"]),
    token: "token" in claim && typeof claim.token === "string" ? claim.token : undefined,
  };
}

function setupFailed(path: string, command: string | undefined): DotbotError {
  return new DotbotError(
    "REJECTED",
    `setting up ${quote(path, 300)} failed at ${quote(command ?? "")}, so nothing was run`,
    {
      hint: "`dotbot wt status` shows its output; `dotbot wt create` runs the set-up again",
    },
  );
}

function errorText(error: unknown): string {
  if (error instanceof DotbotError) return error.message;
  throw error;
}
