/** What a task waits for, and what waits for it: resolved exactly, over all statuses, from as few rows as will do. */
import type { Ledger, TaskRow } from "./ledger.ts";
import { Lookup } from "./lookup.ts";
import { type ById, DependencyIndex, type Finder, satisfaction } from "./pick.ts";

/** One dependency of a task. */
export interface Dependency {
  /** As the task's document spells it. */
  readonly word: string;
  /** Absent where the word means no task, or several. */
  readonly row?: TaskRow;
  /** `blocked`: finished in a way that never satisfies by itself; `missing` and `ambiguous` never do either. */
  readonly state: "satisfied" | "waits" | "blocked" | "missing" | "ambiguous";
}

/** Pure: the dependencies of a task among these rows. */
export function dependenciesAmong(row: TaskRow, index: Finder, byId: ById): Dependency[] {
  return row.dependencies.map((word): Dependency => {
    const found = index.find(word);
    const [only] = found;
    if (only === undefined) return { word, state: "missing" };
    if (found.length > 1) return { word, state: "ambiguous" };
    return { word, row: only, state: satisfaction(only, byId) };
  });
}

/** The same, looked up one by one. */
export function dependenciesOf(ledger: Ledger, row: TaskRow): Dependency[] {
  if (row.dependencies.length === 0) return [];
  const lookup = new Lookup(ledger);
  return dependenciesAmong(row, lookup, lookup);
}

/** Tasks of which a dependency means this one, in pick order. */
export function dependentsOf(ledger: Ledger, row: TaskRow): TaskRow[] {
  const names = [
    row.id,
    row.file,
    row.file.slice(0, -".json".length),
    row.name,
    ...(row.slug === null ? [] : [row.slug]),
  ];
  // A first sieve in SQL; whether the word really means this task is decided by the same index as everywhere.
  const sieve = names.map(() => "instr(lists, ?) > 0").join(" OR ");
  const maybe = ledger
    .tasks(`place <> 'removed' AND lists IS NOT NULL AND (${sieve})`, ...names.map((name) => JSON.stringify(name)))
    .filter(
      (other) =>
        other.id !== row.id && other.dependencies.some((word) => names.includes(word) || word.toLowerCase() === row.id),
    );
  if (maybe.length === 0) return [];
  const byName = maybe.some((other) => other.dependencies.some((word) => word !== row.id && names.includes(word)));
  if (!byName) return maybe;
  const index = new DependencyIndex(ledger.tasks("place <> 'removed'"));
  return maybe.filter((other) =>
    other.dependencies.some((word) => index.find(word).some((found) => found.id === row.id)),
  );
}
