/**
 * What comes into a new worktree besides the commit: what `.worktreeinclude` names, then the project's own commands. Runs
 * without the repository's lock; how far it came is in the worktree's record.
 */
import { basename, dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import {
  copyTree,
  exists,
  isDirectory,
  lstatOrNull,
  makeDirectory,
  removeTree,
  rename,
  symlink,
  TEMP_PREFIX,
} from "../files.ts";
import { isWithin } from "../git/native.ts";
import { parseNul } from "../git/parse.ts";
import { git } from "../git/run.ts";
import { lifeOf, markOf } from "../process.ts";
import { milliseconds } from "../settings.ts";
import { isQueuePath } from "../task/queue-paths.ts";
import { sessionOf } from "../task/provenance.ts";
import { stripControlKeepLines } from "../text.ts";
import { nowStamp, type Bench, type Ground } from "./bench.ts";
import { disposableIn, ignoredNow } from "./inspect.ts";
import type { Setup, TaskWorktree } from "./model.ts";
import { changeWorktree, worktreeOf } from "./records.ts";

const INCLUDE_FILE = ".worktreeinclude";
const TAIL = 2_000;

/** What a project's command is told about where it runs. */
export function worktreeEnv(bench: Bench, taskId: string, worktree: TaskWorktree): Record<string, string> {
  return {
    DOTBOT_TASK_ID: taskId,
    DOTBOT_SESSION: sessionOf(bench.call, undefined),
    DOTBOT_SLOT: String(worktree.slot),
  };
}

/** Sets the worktree up, and records how that went. A failure of a command is an answer: the worktree stays. */
export async function setUp(bench: Bench, taskId: string, worktree: TaskWorktree): Promise<Setup> {
  const commands = bench.settings.worktree.post_create;
  const startedAt = nowStamp(bench.call);
  const mark = markOf(bench.call.pid);
  const running: Setup = { state: "running", startedAt, ...(mark === null ? {} : { process: mark }) };
  const keep = async (setup: Setup): Promise<void> => {
    await changeWorktree(bench.queue, taskId, (it) => ({ ...it, setup }));
  };
  const included = await include(bench, worktree.path);
  if (commands.length === 0) {
    const setup: Setup = { state: included > 0 ? "done" : "none" };
    const made = included > 0 ? await ignoredNow(bench.call, worktree.path, disposableIn(bench)) : [];
    await changeWorktree(bench.queue, taskId, (it) => ({ ...it, setup, made }));
    return setup;
  }
  const result = await runCommands(bench, worktree.path, worktreeEnv(bench, taskId, worktree), async (command) => {
    await keep({ ...running, command });
  });
  const ended: Setup = { ...result, startedAt, endedAt: nowStamp(bench.call) };
  const made = await ignoredNow(bench.call, worktree.path, disposableIn(bench));
  await changeWorktree(bench.queue, taskId, (it) => ({ ...it, setup: ended, made }));
  return ended;
}

/** The same for a worktree that is no task's: nothing is recorded. */
export async function setUpPlain(ground: Ground, tree: string): Promise<Setup> {
  const included = await include(ground, tree);
  if (ground.settings.worktree.post_create.length === 0) return { state: included > 0 ? "done" : "none" };
  return await runCommands(ground, tree, { DOTBOT_SESSION: sessionOf(ground.call, undefined) }, async () => {});
}

/** The project's commands, one after the other, up to the first that fails. */
async function runCommands(
  { call, settings }: Ground,
  tree: string,
  env: Readonly<Record<string, string>>,
  begins: (command: string) => Promise<void>,
): Promise<Setup> {
  const commands = settings.worktree.post_create;
  const { runShell } = await import("../shell.ts");
  try {
    for (const [i, command] of commands.entries()) {
      await begins(command);
      call.progress(`${i + 1}/${commands.length} ${command}`);
      const ran = await runShell(call, command, {
        cwd: tree,
        env,
        timeoutMs: milliseconds(settings.worktree.post_create_timeout),
      });
      if (ran.status === 0 && !ran.timedOut) continue;
      const output = stripControlKeepLines([ran.stdout, ran.stderr].filter((it) => it !== "").join("\n")).slice(-TAIL);
      return {
        state: "failed",
        command,
        status: ran.status,
        output: ran.timedOut ? `${output}\nstopped after ${settings.worktree.post_create_timeout}` : output,
      };
    }
    return { state: "done" };
  } finally {
    call.progress(null);
  }
}

/** The set-up as it stands: one whose process has died never ended. */
export function setupNow(worktree: TaskWorktree): Setup {
  const { setup } = worktree;
  if (setup.state !== "running" || setup.process === undefined) return setup;
  return lifeOf(setup.process) === "dead"
    ? { ...setup, state: "failed", output: `${setup.output ?? ""}it was cut short` }
    : setup;
}

/** Copies, or links, what `.worktreeinclude` of the main checkout names and git doesn't track there; returns how much. */
async function include(bench: Ground, tree: string): Promise<number> {
  const { mainRoot } = bench.place;
  if (!exists(join(mainRoot, INCLUDE_FILE))) return 0;
  const args = [
    "ls-files",
    "-z",
    "--others",
    "--ignored",
    `--exclude-from=${join(mainRoot, INCLUDE_FILE)}`,
    "--directory",
    "--no-empty-directory",
  ];
  const listed = await git(bench.call, args, { cwd: mainRoot, probe: true, okStatus: [0] });
  let count = 0;
  for (const entry of parseNul(listed.stdout)) {
    const path = entry.replace(/\/$/, "");
    const from = join(mainRoot, path);
    const to = join(tree, path);
    // Never the queue, the worktrees themselves, or what the branch brings along.
    if (isQueuePath(path) || isWithin(tree, from) || lstatOrNull(to) !== null || !isPlainBelow(tree, path)) continue;
    makeDirectory(dirname(to));
    if (bench.settings.worktree.include_mode === "link") symlink(from, to);
    else copyWhole(from, to);
    count += 1;
  }
  return count;
}

/** Under another name until it is whole: what is there isn't copied again, and a kill may come at any time. */
function copyWhole(from: string, to: string): void {
  const part = join(dirname(to), `${TEMP_PREFIX}${basename(to)}`);
  removeTree(part);
  copyTree(from, part);
  rename(part, to);
}

/** Whether the way to a path is folders only: what the branch has as a link may lead anywhere. */
function isPlainBelow(tree: string, path: string): boolean {
  let at = tree;
  for (const part of path.split("/").slice(0, -1)) {
    at = join(at, part);
    const stat = lstatOrNull(at);
    if (stat === null) return true;
    if (stat.isSymbolicLink() || !isDirectory(at)) return false;
  }
  return true;
}

/**
 * Sets up after a create, on a bench that stays open until it ends. Over MCP the answer doesn't wait: it says `running`, and
 * the end is in the record. Run again for a worktree whose set-up never ended.
 */
export async function setUpAfterCreate(bench: Bench, taskId: string): Promise<Setup> {
  const worktree = worktreeOf(bench.queue, taskId);
  if (worktree === null) throw new DotbotError("INTERNAL", "the worktree that was made isn't recorded");
  const now = setupNow(worktree);
  if (now.state === "done" || now.state === "none" || now.state === "running") return now;
  return await setUp(bench, taskId, worktree);
}
