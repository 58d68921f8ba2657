/**
 * All worktrees, and how each stands to its base: four git processes, and one more per worktree that looks into it.
 */
import { dirname } from "node:path";

import { DotbotError } from "../error.ts";
import { isDirectory } from "../files.ts";
import { gitDirAt, linkedBothWays, listCheckouts } from "../git/checkouts.ts";
import { operationInProgress, type GitOperation } from "../git/state.ts";
import { physical, samePath } from "../git/native.ts";
import { parseStatus, type WorktreeRecord } from "../git/parse.ts";
import { branchRef } from "../git/refs.ts";
import { git, gitText } from "../git/run.ts";
import type { Bench } from "./bench.ts";
import { ancestry, type Ancestry } from "./graph.ts";
import { lockedFor, namedFor, type TaskWorktree } from "./model.ts";
import { completions, worktrees } from "./records.ts";
import { setupNow } from "./setup.ts";

export interface Listed {
  readonly taskId: string | null;
  readonly name: string | null;
  readonly status: string | null;
  readonly branch: string | null;
  readonly path: string;
  readonly base: string | null;
  readonly baseSha: string | null;
  readonly headSha: string | null;
  readonly ahead: number | null;
  readonly behind: number | null;
  readonly dirty: boolean | null;
  readonly merged: boolean | null;
  readonly locked: string | null;
  readonly createdAt: string | null;
  readonly operation: GitOperation | null;
  /** What is wrong with its place, or null. */
  readonly fault: "missing" | "moved" | "unregistered" | "no-task" | null;
  readonly setup: string;
  readonly slot: number | null;
}

/** Sorted by path. Includes worktrees that belong to no task, but not the main checkout. */
export async function listWorktrees(bench: Bench): Promise<Listed[]> {
  const { call, place, queue } = bench;
  const [records, refs] = await Promise.all([listCheckouts(call, place.mainRoot), branchTips(bench)]);
  const linked = records.slice(1).filter((record) => !record.bare);
  const known = worktrees(queue);
  const merged = new Set(
    completions(queue.ledger)
      .filter((it) => it.undone === null)
      .map((it) => `${it.taskId} ${it.tip}`),
  );
  const rows = [
    ...linked.map((record) => ({ record, task: taskOf(known, record) })),
    ...[...known]
      .filter(([, it]) => !linked.some((record) => isAt(record, it.path)))
      .map(([id, worktree]) => ({ record: null, task: { id, worktree } })),
  ];
  const pairs = rows.flatMap(({ record, task }) => {
    const tip = record?.head ?? (task === null ? undefined : refs.get(branchRef(task.worktree.branch))) ?? null;
    const base = task === null ? undefined : refs.get(branchRef(task.worktree.base));
    return tip === null || base === undefined ? [] : [{ tip, base }];
  });
  const graph = await ancestry(call, place.mainRoot, pairs);
  const dirt = await inParallel(
    rows,
    async ({ record, task }) => await isDirty(bench, record?.path ?? task?.worktree.path ?? ""),
  );
  return rows
    .map(({ record, task }, i): Listed => {
      const branch = record?.branch?.replace(/^refs\/heads\//, "") ?? task?.worktree.branch ?? null;
      const head = record?.head ?? (branch === null ? null : (refs.get(branchRef(branch)) ?? null));
      const row = task === null ? undefined : queue.ledger.task(task.id);
      const base = task === null || task.worktree.base === "" ? null : task.worktree.base;
      const counts = countsOf(graph, head, base === null ? undefined : refs.get(branchRef(base)));
      const path = physical(record?.path ?? task?.worktree.path ?? "") ?? record?.path ?? task?.worktree.path ?? "";
      const gitDir = gitDirAt(path);
      const own = head !== null && task !== null && head !== task.worktree.baseSha;
      return {
        taskId: task?.id ?? null,
        name: row?.name ?? null,
        status: row?.status ?? null,
        branch,
        path,
        base,
        baseSha: task?.worktree.baseSha ?? null,
        headSha: head,
        ahead: counts?.ahead ?? null,
        behind: counts?.behind ?? null,
        dirty: dirt[i] ?? null,
        merged:
          task === null || head === null ? null : merged.has(`${task.id} ${head}`) || (own && counts?.ahead === 0),
        locked: record?.locked ?? null,
        createdAt: task === null || task.worktree.createdAt === "" ? null : task.worktree.createdAt,
        operation: gitDir === null ? null : operationInProgress(gitDir),
        fault: faultOf(record, path, gitDir, row !== undefined && row.place !== "removed"),
        setup: task === null ? "none" : setupNow(task.worktree).state,
        slot: task === null || task.worktree.slot === 0 ? null : task.worktree.slot,
      };
    })
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function isAt(record: WorktreeRecord, path: string): boolean {
  return samePath(physical(record.path) ?? record.path, physical(path) ?? path);
}

function taskOf(
  known: ReadonlyMap<string, TaskWorktree>,
  record: WorktreeRecord,
): { id: string; worktree: TaskWorktree } | null {
  for (const [id, worktree] of known) if (isAt(record, worktree.path)) return { id, worktree };
  return null;
}

function faultOf(
  record: WorktreeRecord | null,
  path: string,
  gitDir: string | null,
  hasTask: boolean,
): Listed["fault"] {
  if (!isDirectory(path)) return "missing";
  if (gitDir === null || !linkedBothWays(path, gitDir)) return "moved";
  if (record === null) return "unregistered";
  const ours = lockedFor(record.locked) !== null || namedFor(record.branch ?? "") !== null;
  return ours && !hasTask ? "no-task" : null;
}

function countsOf(
  graph: Ancestry,
  tip: string | null,
  base: string | undefined,
): { ahead: number; behind: number } | null {
  return tip === null || base === undefined ? null : graph.counts(tip, base);
}

async function branchTips(bench: Bench): Promise<Map<string, string>> {
  const text = await gitText(bench.call, ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/"], {
    cwd: bench.place.mainRoot,
    probe: true,
  });
  return new Map(
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => [line.slice(line.indexOf(" ") + 1), line.slice(0, line.indexOf(" "))]),
  );
}

async function isDirty(bench: Bench, path: string): Promise<boolean | null> {
  if (!isDirectory(path) || gitDirAt(path) === null) return null;
  try {
    const args = ["status", "--porcelain=v2", "-z", "--untracked-files=normal", "--no-renames", "--no-ahead-behind"];
    const { stdout } = await git(bench.call, args, { cwd: path, probe: true, okStatus: [0] });
    return parseStatus(stdout).entries.length > 0;
  } catch (error) {
    if (error instanceof DotbotError) return null;
    throw error;
  }
}

const AT_ONCE = 8;

async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Map<number, R>();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) {
      const item = items[i];
      if (item !== undefined) results.set(i, await work(item));
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return items.flatMap((_, i) => {
    const result = results.get(i);
    return result === undefined ? [] : [result];
  });
}

/** Folders in which worktrees of tasks lie. */
export function parentsOf(known: ReadonlyMap<string, TaskWorktree>): Set<string> {
  return new Set([...known.values()].map((it) => dirname(it.path)));
}
