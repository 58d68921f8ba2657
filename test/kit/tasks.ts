/** Task files as a dotbot 3 project has them, for tests that begin with a full queue. Deterministic. */
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const STATUS_FOLDERS = [
  "todo",
  "analysing",
  "analysed",
  "in-progress",
  "needs-input",
  "needs-review",
  "done",
  "failed",
  "skipped",
  "split",
  "cancelled",
] as const;
export type StatusFolder = (typeof STATUS_FOLDERS)[number];

/** The id of the nth seeded task; its first eight digits are `taskId8(n)`. */
export function taskId(n: number): string {
  return `${taskId8(n)}-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
}

export function taskId8(n: number): string {
  // Spread, so that no id is a short prefix's only meaning by luck; odd multiplier: a bijection on 32 bits.
  return (Math.imul(n, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
}

export interface Seed {
  /** Default: `Task <n>`. */
  readonly name?: string;
  readonly status?: StatusFolder;
  /** Further fields, or other values of the usual ones. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export function taskFileName(n: number): string {
  return `task-${n}-${taskId8(n)}.json`;
}

/** The nth task's document. Odd fields and number spellings are there to be kept. */
export function taskDocument(
  n: number,
  { name = `Task ${n}`, status = "todo", fields = {} }: Seed = {},
): Record<string, unknown> {
  return {
    id: taskId(n),
    name,
    slug: `task-${n}`,
    description: `What task ${n} is about.\nSecond line.`,
    category: "feature",
    priority: 50,
    effort: "M",
    status,
    dependencies: [],
    acceptance_criteria: ["It works", "It is tested"],
    steps: ["Begin", "End"],
    tags: ["seed"],
    x_custom: { nested: [1, { deep: true }], text: "ümläut" },
    created_at: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString().replace(".000Z", "Z"),
    updated_at: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString().replace(".000Z", "Z"),
    ...fields,
  };
}

export function tasksFolder(stateRoot: string): string {
  return join(stateRoot, ".bot", "workspace", "tasks");
}

/** Writes the seeds, numbered from 1, into a state root. Their times lie in the past, as files of a project at rest do. */
export function seedTasks(stateRoot: string, seeds: readonly Seed[], first = 1): void {
  const folder = tasksFolder(stateRoot);
  for (const status of STATUS_FOLDERS) mkdirSync(join(folder, status), { recursive: true });
  const past = new Date(Date.UTC(2026, 0, 2));
  for (const [index, seed] of seeds.entries()) {
    const n = first + index;
    const path = join(folder, seed.status ?? "todo", taskFileName(n));
    writeFileSync(path, `${JSON.stringify(taskDocument(n, seed), null, 2)}\n`);
    utimesSync(path, past, past);
  }
}

/** Plain seeds: `count` todo tasks without dependencies. */
export function plainSeeds(count: number): Seed[] {
  return Array.from({ length: count }, () => ({}));
}

/** Every file below a folder: relative path to bytes as text (latin1, so that any content survives the comparison). */
export function fileTree(root: string): Map<string, string> {
  const tree = new Map<string, string>();
  const walk = (relative: string): void => {
    for (const name of readdirSync(join(root, relative)).sort()) {
      const path = relative === "" ? name : `${relative}/${name}`;
      if (statSync(join(root, path)).isDirectory()) walk(path);
      else tree.set(path, readFileSync(join(root, path), "latin1"));
    }
  };
  walk("");
  return tree;
}

/** Where the view shows a task, as `status`, and its document; throws unless it is shown exactly once. */
export function shownTask(
  stateRoot: string,
  n: number,
): { status: string; path: string; doc: Record<string, unknown> } {
  const found = [...fileTree(tasksFolder(stateRoot))].filter(([path]) => path.endsWith(`-${taskId8(n)}.json`));
  const [only] = found;
  if (only === undefined || found.length !== 1) {
    throw new Error(`task ${n} is shown ${found.length} times: ${found.map(([path]) => path).join(", ")}`);
  }
  const path = join(tasksFolder(stateRoot), only[0]);
  return { status: dirname(only[0]), path, doc: JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown> };
}
