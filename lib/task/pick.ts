/**
 * Pure: which task comes next, and why the others don't. Order: analysed before todo, then priority, created_at, id, so that
 * the same queue always gives the same answer.
 */
import type { TaskRow } from "./ledger.ts";
import { INTENTIONAL_SKIPS, isClosed, type Status } from "./model.ts";

export interface Reason {
  readonly id: string;
  readonly name: string;
  readonly why: "waits" | "missing-dependency" | "cycle" | "condition" | "claimed";
  /** For people: one line. */
  readonly detail: string;
  readonly waitingOn: readonly string[];
}

/** All tasks that a dependency's word means within the first class in which it means any; more than one: ambiguous. */
export interface Finder {
  find(word: string): readonly TaskRow[];
}

export interface ById {
  get(id: string): TaskRow | undefined;
}

/** Dependencies name tasks exactly: full id, file name with or without `.json`, slug, exact name, in this order. */
export class DependencyIndex implements Finder {
  private readonly maps: readonly ReadonlyMap<string, readonly TaskRow[]>[];

  constructor(rows: readonly TaskRow[]) {
    const by = (keys: (row: TaskRow) => readonly (string | null)[]): ReadonlyMap<string, readonly TaskRow[]> => {
      const map = new Map<string, TaskRow[]>();
      for (const row of rows) {
        for (const key of keys(row)) {
          if (key === null) continue;
          const list = map.get(key);
          if (list === undefined) map.set(key, [row]);
          else list.push(row);
        }
      }
      return map;
    };
    this.maps = [
      by((row) => [row.id.toLowerCase()]),
      by((row) => [row.file, row.file.slice(0, -".json".length)]),
      by((row) => [row.slug]),
      by((row) => [row.name]),
    ];
  }

  find(name: string): readonly TaskRow[] {
    for (const map of this.maps) {
      const found = map.get(name) ?? map.get(name.toLowerCase());
      if (found !== undefined) return found;
    }
    return [];
  }
}

export type Satisfaction = "satisfied" | "waits" | "blocked";

/** Whether what depends on this task may go on. `blocked`: it never will by itself. */
export function satisfaction(row: TaskRow, byId: ById, seen: ReadonlySet<string> = new Set()): Satisfaction {
  switch (row.status) {
    case "done":
    case "cancelled":
      return "satisfied";
    case "skipped":
      return (INTENTIONAL_SKIPS as readonly (string | null)[]).includes(row.skipReason) ? "satisfied" : "blocked";
    case "failed":
      return "blocked";
    case "split": {
      if (seen.has(row.id)) return "waits";
      const next = new Set(seen).add(row.id);
      const children = row.children.map((id) => byId.get(id));
      if (children.some((child) => child === undefined)) return "blocked";
      const states = children.map((child) => (child === undefined ? "blocked" : satisfaction(child, byId, next)));
      return states.includes("blocked") ? "blocked" : states.includes("waits") ? "waits" : "satisfied";
    }
    case "todo":
    case "analysing":
    case "analysed":
    case "in-progress":
    case "needs-input":
    case "needs-review":
      return "waits";
  }
}

/** What keeps a task from being picked because of its dependencies, or null. */
export function dependencyReason(row: TaskRow, index: Finder, byId: ById): Reason | null {
  const waiting: TaskRow[] = [];
  for (const name of row.dependencies) {
    const found = index.find(name);
    const [only] = found;
    if (only === undefined) {
      return {
        id: row.id,
        name: row.name,
        why: "missing-dependency",
        detail: `depends on "${name}", which doesn't exist`,
        waitingOn: [name],
      };
    }
    if (found.length > 1) {
      return {
        id: row.id,
        name: row.name,
        why: "missing-dependency",
        detail: `depends on "${name}", which ${found.length} tasks answer to`,
        waitingOn: found.map((task) => task.id),
      };
    }
    if (satisfaction(only, byId) !== "satisfied") waiting.push(only);
  }
  if (waiting.length === 0) return null;
  const cycle = cycleThrough(row, index);
  if (cycle !== null) {
    return {
      id: row.id,
      name: row.name,
      why: "cycle",
      detail: `waits for itself: ${[...cycle, row].map((task) => task.slug ?? task.id8).join(" → ")}`,
      waitingOn: cycle.map((task) => task.id),
    };
  }
  const words = waiting.map(
    (task) =>
      `${task.slug ?? task.id8} (${task.status === "skipped" ? `skipped: ${task.skipReason ?? "no reason"}` : task.status})`,
  );
  return {
    id: row.id,
    name: row.name,
    why: "waits",
    detail: `waits for ${words.join(", ")}`,
    waitingOn: waiting.map((task) => task.id),
  };
}

/** The tasks of a dependency cycle that begins and ends at this task, or null. Closed tasks break a cycle. */
export function cycleThrough(start: TaskRow, index: Finder): TaskRow[] | null {
  const path: TaskRow[] = [];
  const visited = new Set<string>();
  const walk = (row: TaskRow): boolean => {
    path.push(row);
    for (const name of row.dependencies) {
      for (const next of index.find(name)) {
        if (next.id === start.id) return true;
        if (visited.has(next.id) || isClosed(next.status)) continue;
        visited.add(next.id);
        if (walk(next)) return true;
      }
    }
    path.pop();
    return false;
  };
  return walk(start) ? path : null;
}

export interface PickOptions {
  /** Statuses to take from, in order of preference. */
  readonly pool: readonly Status[];
  /** Whether the caller may take the task: unclaimed, or its own. Returns the holder's name when not. */
  readonly claimedBy: (row: TaskRow) => string | null;
  /** The first condition that isn't true now, or null. Asked only when the dependencies are satisfied. */
  readonly unmet: (row: TaskRow) => string | null;
}

export interface Picked {
  readonly row: TaskRow | null;
  /** How many tasks were in the pool. */
  readonly candidates: number;
  /** Why each of the others can't be had; only as far as the pool was looked through. */
  readonly reasons: readonly Reason[];
  /** The others themselves, in the same order. */
  readonly passed: readonly TaskRow[];
}

/** The tasks to take from, those that are preferred first, each status in pick order. Read only as far as needed. */
export interface Pool {
  readonly rows: Iterable<TaskRow>;
  /** How many there are. */
  readonly size: number;
}

/** `rows`: every task of the queue, in pick order. */
export function pick(rows: readonly TaskRow[], everything: readonly TaskRow[], options: PickOptions): Picked {
  const pool = options.pool.flatMap((status) => rows.filter((row) => row.status === status));
  const byId = new Map(everything.map((task) => [task.id, task]));
  return pickFrom({ rows: pool, size: pool.length }, new DependencyIndex(everything), byId, options);
}

/** The same, from a pool that is read while it is looked through, with tasks that are looked up when one depends on them. */
export function pickFrom(pool: Pool, index: Finder, byId: ById, options: Omit<PickOptions, "pool">): Picked {
  const reasons: Reason[] = [];
  const passed: TaskRow[] = [];
  for (const row of pool.rows) {
    const reason = reasonAgainst(row, index, byId, options);
    if (reason === null) return { row, candidates: pool.size, reasons, passed };
    reasons.push(reason);
    passed.push(row);
  }
  return { row: null, candidates: pool.size, reasons, passed };
}

/** Why a task of the pool can't be had, or null. */
function reasonAgainst(row: TaskRow, index: Finder, byId: ById, options: Omit<PickOptions, "pool">): Reason | null {
  const reason = row.dependencies.length === 0 ? null : dependencyReason(row, index, byId);
  if (reason !== null) return reason;
  const unmet = options.unmet(row);
  if (unmet !== null) {
    const detail = `condition isn't met: ${unmet}`;
    return { id: row.id, name: row.name, why: "condition", detail, waitingOn: [] };
  }
  const holder = options.claimedBy(row);
  if (holder === null) return null;
  return { id: row.id, name: row.name, why: "claimed", detail: `claimed by ${holder}`, waitingOn: [] };
}
