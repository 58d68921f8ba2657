/**
 * What the bench is made of. A file `scripts/bench/<noun>.ts` exports `rows`: a function that makes its world once and
 * returns what is to be measured there.
 *
 * Everything is measured as whole processes, interleaved with the floor (an empty program compiled the same way), and told
 * as a ratio to the floor's median in the same run: what the machine does besides then touches both. Interference only adds
 * time, so the median of many is taken, and p95 is shown beside it.
 */
import { mkdir, mkdtemp, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { gitEnv } from "../../test/kit/git.ts";
import { compile } from "../compile.ts";

export interface Command {
  readonly args: readonly string[];
  readonly cwd: string;
}

interface RowBase {
  /** As the table shows it. */
  readonly what: string;
  /** Highest ratio to the floor that is good enough; for `atLeast`, the lowest. */
  readonly bound: number;
}

/** A command of dotbot, run many times. */
export interface ProcessRow extends RowBase {
  readonly kind: "process";
  /** The nth run's command, from 0; the first ones warm up. */
  readonly command: (n: number) => Command;
  /** Most git processes that one run may start. */
  readonly gitAtMost?: number;
  /** Default: the kit's. For long commands. */
  readonly runs?: number;
  /** Statuses that are no failure. Default: 0. */
  readonly statuses?: readonly number[];
}

/** Something that isn't one command: it measures itself and says how it compares with the floor. */
export interface MeasuredRow extends RowBase {
  readonly kind: "measured";
  /** The ratio has to be at least the bound (a rate), not at most. */
  readonly atLeast?: boolean;
  readonly measure: (bench: Bench) => Promise<Measured>;
}

export interface Measured {
  readonly ratio: number;
  /** What else the table should say: absolute figures, counts. */
  readonly note?: string;
}

export type Row = ProcessRow | MeasuredRow;
export type RowsOf = (bench: Bench) => Promise<readonly Row[]>;

export interface Bench {
  /** The program, compiled. */
  readonly dotbot: string;
  /** The empty program. */
  readonly floor: string;
  readonly env: Record<string, string>;
  /** A fresh folder, removed at the end. */
  folder(name: string): Promise<string>;
  /** Median milliseconds of the floor, just now. */
  floorMs(): number;
  /** Runs dotbot to its end, unmeasured; throws when it fails. */
  run(args: readonly string[], cwd: string): void;
}

export interface Figures {
  readonly medianMs: number;
  readonly p95Ms: number;
}

export function figuresOf(times: readonly number[]): Figures {
  const sorted = times.toSorted((a, b) => a - b);
  const quantile = (q: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
  return { medianMs: quantile(0.5), p95Ms: quantile(0.95) };
}

/** Milliseconds that a whole process takes, from its start to its end. */
export function timeProcess(
  command: readonly string[],
  cwd: string,
  env: Record<string, string>,
  statuses: readonly number[] = [0],
): number {
  const began = performance.now();
  // Pipes, as an agent has them.
  const ended = Bun.spawnSync(command.slice(), { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const took = performance.now() - began;
  if (!statuses.includes(ended.exitCode)) throw new Error(`status ${ended.exitCode}: ${command.join(" ")} in ${cwd}`);
  return took;
}

/** Compiles both programs and makes the folder in which everything happens. */
export async function makeBench(root: string): Promise<Bench & AsyncDisposable> {
  const out = join(root, "dist", "bench");
  const dotbot = join(out, "dotbot");
  const floor = join(out, "floor");
  await mkdir(out, { recursive: true });
  const empty = join(out, "floor.ts");
  await writeFile(empty, "export {};\n");
  await compile({ entry: join("cmd", "dotbot.ts"), outfile: dotbot });
  await compile({ entry: empty, outfile: floor });
  // Not below the project: a repository inside another is a layout of its own, in which git has to be asked.
  const scratch = await realpath(await mkdtemp(join(tmpdir(), "dotbot-bench-")));
  const env = gitEnv({ USER: "bench" });
  return {
    dotbot,
    floor,
    env,
    folder: async (name) => {
      const path = join(scratch, name);
      await mkdir(path, { recursive: true });
      return path;
    },
    floorMs: () => figuresOf(Array.from({ length: 21 }, () => timeProcess([floor], scratch, env))).medianMs,
    run: (args, cwd) => {
      const ended = Bun.spawnSync([dotbot, ...args], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
      if (ended.exitCode !== 0)
        throw new Error(`dotbot ${args.join(" ")}: status ${ended.exitCode}\n${ended.stderr.toString()}`);
    },
    [Symbol.asyncDispose]: async () => await rm(scratch, { recursive: true, force: true }),
  };
}

/** How many git processes a command starts. */
export async function countGit(bench: Bench, command: Command): Promise<number> {
  const log = join(await bench.folder("trace"), `git-${Bun.nanoseconds()}`);
  Bun.spawnSync([bench.dotbot, ...command.args], {
    cwd: command.cwd,
    env: { ...bench.env, DOTBOT_TRACE_GIT: log },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  const present = await stat(log).catch(() => null);
  return present === null ? 0 : (await Bun.file(log).text()).trimEnd().split("\n").length;
}
