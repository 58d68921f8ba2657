/** What a task's worktree is called, what is remembered of it, and what a completion was. Pure. */
import * as v from "valibot";

import type { JsonObject } from "../json.ts";
import type { TaskRow } from "../task/ledger.ts";
import { id8, slugify } from "../task/model.ts";

const SLUG_MAX = 50;

export function branchName(task: Pick<TaskRow, "id" | "name">): string {
  return `task/${id8(task.id)}-${slugify(task.name, SLUG_MAX)}`;
}

export function folderName(task: Pick<TaskRow, "id" | "name">): string {
  return `task-${id8(task.id)}-${slugify(task.name, SLUG_MAX)}`;
}

/** Why git finds a worktree locked that is ours: nobody but complete and remove unlocks it. */
export function lockReason(task: Pick<TaskRow, "id">): string {
  return `dotbot:${id8(task.id)}`;
}

/** The id8 of a lock reason of ours, or null. */
export function lockedFor(reason: string | null): string | null {
  return /^dotbot:([0-9a-f]{8})$/.exec(reason ?? "")?.[1] ?? null;
}

/** The id8 that a branch's or folder's name carries, or null. */
export function namedFor(name: string): string | null {
  return /(?:^|\/)task[-/]([0-9a-f]{8})(?:-|$)/.exec(name)?.[1] ?? null;
}

/** The subject of the commit that completes a task, by the setting `commit.format`. */
export function subjectOf(format: string, task: Pick<TaskRow, "id" | "name" | "category">): string {
  const values: Readonly<Record<string, string>> = {
    type: task.category === "bugfix" ? "fix" : "feat",
    name: task.name.replace(/\s+/g, " ").trim(),
    id8: id8(task.id),
    id: task.id,
    slug: slugify(task.name, SLUG_MAX),
    category: task.category ?? "",
  };
  return format.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole);
}

const setupShape = v.object({
  state: v.picklist(["none", "pending", "running", "done", "failed"]),
  /** The command at work, or the one that failed. */
  command: v.optional(v.string()),
  status: v.optional(v.number()),
  /** The end of its output. */
  output: v.optional(v.string()),
  startedAt: v.optional(v.string()),
  endedAt: v.optional(v.string()),
  /** Who runs it: pid, and what tells it from another of that number. */
  process: v.optional(v.object({ pid: v.number(), start: v.string(), boot: v.string(), namespace: v.string() })),
});
export type Setup = v.InferOutput<typeof setupShape>;

const madeShape = v.object({
  /** From the worktree's root; a folder ends in a slash. */
  path: v.string(),
  size: v.nullable(v.number()),
  mtimeMs: v.nullable(v.number()),
});
/** An ignored file or folder that setting the worktree up brought there. */
export type Made = v.InferOutput<typeof madeShape>;

const worktreeShape = v.object({
  path: v.string(),
  branch: v.string(),
  base: v.string(),
  baseSha: v.string(),
  createdAt: v.string(),
  slot: v.number(),
  adopted: v.boolean(),
  /** Links that were made, from the worktree's root. */
  links: v.array(v.string()),
  setup: setupShape,
  made: v.array(madeShape),
});
/** What the ledger keeps of a task's worktree, by task id. `path` is physical. */
export type TaskWorktree = v.InferOutput<typeof worktreeShape>;

export function parseWorktree(value: unknown): TaskWorktree | null {
  const parsed = v.safeParse(worktreeShape, value);
  return parsed.success ? parsed.output : null;
}

/** One line of dotbot 3's `worktree-map.json`, with the commit that the branch was cut from besides. */
export function mapEntry(worktree: TaskWorktree, taskName: string): JsonObject {
  return {
    worktree_path: worktree.path,
    branch_name: worktree.branch,
    base_branch: worktree.base,
    base_sha: worktree.baseSha,
    task_name: taskName,
    created_at: worktree.createdAt,
  };
}

const mapShape = v.object({
  worktree_path: v.string(),
  branch_name: v.string(),
  base_branch: v.optional(v.nullable(v.string())),
  base_sha: v.optional(v.nullable(v.string())),
  created_at: v.optional(v.nullable(v.string())),
});

/** A line of the map as a worktree, as far as it says enough; `baseSha` may be "" where dotbot 3 wrote it. */
export function fromMap(value: unknown): TaskWorktree | null {
  const parsed = v.safeParse(mapShape, value);
  if (!parsed.success) return null;
  const { worktree_path, branch_name, base_branch, base_sha, created_at } = parsed.output;
  return {
    path: worktree_path,
    branch: branch_name,
    base: base_branch ?? "",
    baseSha: base_sha ?? "",
    createdAt: created_at ?? "",
    slot: 0,
    adopted: false,
    links: [],
    setup: { state: "none" },
    made: [],
  };
}

const completionShape = v.object({
  taskId: v.string(),
  n: v.number(),
  branch: v.string(),
  path: v.nullable(v.string()),
  base: v.string(),
  baseSha: v.string(),
  /** The branch's tip that was landed. */
  tip: v.string(),
  /** The base before, and the commit that landed; equal to `old` when there was nothing to merge. */
  old: v.string(),
  commit: v.string(),
  at: v.string(),
  /** The commit that took it back, or null. */
  undone: v.nullable(v.string()),
});
/** One completion of a task, as the ledger keeps it under `<task id>/<n>`. */
export type Completion = v.InferOutput<typeof completionShape>;

export function parseCompletion(value: unknown): Completion | null {
  const parsed = v.safeParse(completionShape, value);
  return parsed.success ? parsed.output : null;
}

export function doneRef(id: string, n: number): string {
  return `refs/dotbot/done/${id8(id)}-${n}`;
}

export function lostRef(key: string, n: number): string {
  return `refs/dotbot/lost/${key}-${n}`;
}
