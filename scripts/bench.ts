/**
 * `npm run bench`: how long each verb takes, against its bound. Prints a table, writes dist/bench/bench.json; status 1 when a
 * bound is missed.
 *
 *   bun scripts/bench.ts                    everything
 *   bun scripts/bench.ts task --runs 60     the rows of scripts/bench/task.ts, 60 runs each
 */
import { join } from "node:path";

import { table } from "../lib/text.ts";
import {
  countGit,
  figuresOf,
  makeBench,
  timeProcess,
  type Bench,
  type Figures,
  type ProcessRow,
  type Row,
  type RowsOf,
} from "./bench/kit.ts";

const root = join(import.meta.dir, "..");
const RUNS = 40;
const WARM_UP = 3;

interface Line {
  readonly what: string;
  readonly ratio: number;
  readonly bound: number;
  readonly ok: boolean;
  readonly medianMs?: number;
  readonly p95Ms?: number;
  readonly gitProcesses?: number;
  readonly note?: string;
}

/** One run of each command in turn, round after round, so that they share whatever the machine does meanwhile. */
function interleave(
  bench: Bench,
  rows: readonly ProcessRow[],
  runs: number,
): { floor: Figures; figures: Map<ProcessRow, Figures> } {
  const floor: number[] = [];
  const times = new Map<ProcessRow, number[]>(rows.map((row) => [row, []]));
  for (let n = 0; n < runs + WARM_UP; n++) {
    const floorTime = timeProcess([bench.floor], root, bench.env);
    if (n >= WARM_UP) floor.push(floorTime);
    for (const [row, own] of times) {
      if (n >= (row.runs ?? runs) + WARM_UP) continue;
      const { args, cwd } = row.command(n);
      const time = timeProcess([bench.dotbot, ...args], cwd, bench.env, row.statuses);
      if (n >= WARM_UP) own.push(time);
    }
  }
  return { floor: figuresOf(floor), figures: new Map([...times].map(([row, own]) => [row, figuresOf(own)])) };
}

async function processLines(bench: Bench, rows: readonly ProcessRow[], runs: number): Promise<Line[]> {
  const { floor, figures } = interleave(bench, rows, runs);
  const lines: Line[] = [{ what: "floor: an empty program", ratio: 1, bound: 1, ok: true, ...floor }];
  for (const row of rows) {
    const own = figures.get(row) ?? { medianMs: Number.NaN, p95Ms: Number.NaN };
    const ratio = own.medianMs / floor.medianMs;
    const gitProcesses = await countGit(bench, row.command(runs + WARM_UP));
    const ok = ratio <= row.bound && gitProcesses <= (row.gitAtMost ?? Infinity);
    lines.push({ what: row.what, ratio, bound: row.bound, ok, ...own, gitProcesses });
  }
  return lines;
}

async function measuredLines(bench: Bench, rows: readonly Row[]): Promise<Line[]> {
  const lines: Line[] = [];
  for (const row of rows) {
    if (row.kind !== "measured") continue;
    const { ratio, note } = await row.measure(bench);
    const ok = row.atLeast === true ? ratio >= row.bound : ratio <= row.bound;
    lines.push({ what: row.what, ratio, bound: row.bound, ok, ...(note === undefined ? {} : { note }) });
  }
  return lines;
}

function show(lines: readonly Line[]): string {
  const ms = (value: number | undefined): string => (value === undefined ? "" : value.toFixed(2));
  return table([
    ["", "median ms", "p95 ms", "× floor", "bound", "git", ""],
    ...lines.map((line) => [
      line.what,
      ms(line.medianMs),
      ms(line.p95Ms),
      line.ratio.toFixed(2),
      String(line.bound),
      line.gitProcesses === undefined ? "" : String(line.gitProcesses),
      [line.ok ? "" : "MISSED", line.note ?? ""].filter((part) => part !== "").join("  "),
    ]),
  ]);
}

const args = process.argv.slice(2);
const runsAt = args.indexOf("--runs");
const runs = runsAt < 0 ? RUNS : Number(args[runsAt + 1]);
const words = args.filter((_, at) => runsAt < 0 || (at !== runsAt && at !== runsAt + 1));

await using bench = await makeBench(root);
const lines: Line[] = [];
const files = [...new Bun.Glob("*.ts").scanSync({ cwd: join(root, "scripts", "bench") })]
  .filter((file) => file !== "kit.ts")
  .toSorted();
for (const file of files) {
  if (words.length > 0 && !words.some((word) => file === `${word}.ts`)) continue;
  const { rows } = (await import(join(root, "scripts", "bench", file))) as { rows: RowsOf };
  const all = await rows(bench);
  const found = [
    ...(await processLines(
      bench,
      all.filter((row) => row.kind === "process"),
      runs,
    )),
    ...(await measuredLines(bench, all)),
  ];
  console.log(`\n${file.replace(/\.ts$/, "")}\n\n${show(found)}`);
  lines.push(...found);
}
await Bun.write(join(root, "dist", "bench", "bench.json"), `${JSON.stringify({ runs, lines }, null, 2)}\n`);
const missed = lines.filter((line) => !line.ok);
console.log(missed.length === 0 ? "every bound is met" : `missed: ${missed.map((line) => line.what).join("; ")}`);
process.exitCode = missed.length === 0 ? 0 : 1;
