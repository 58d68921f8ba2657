/**
 * Worktrees against the plain git commands that they stand for, run in turn on one repository: what the disk does touches both.
 * The ratio is dotbot's median to git's.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { figuresOf, timeProcess, type Bench, type Measured, type Row } from "./kit.ts";

const ROUNDS = 5;
const MANY = 50;

export async function rows(bench: Bench): Promise<readonly Row[]> {
  // One life gives both figures.
  let life: ReturnType<typeof lives> | undefined;
  const ofFiveThousand = (): ReturnType<typeof lives> => (life ??= lives(bench, 5_000));
  return [
    {
      kind: "measured",
      what: "wt create, 5,000 files",
      bound: 1.5,
      measure: async () => (await ofFiveThousand()).create,
    },
    {
      kind: "measured",
      what: "wt create, 20,000 files",
      bound: 1,
      measure: async () => (await lives(bench, 20_000)).create,
    },
    {
      kind: "measured",
      what: "wt complete, 5,000 files",
      bound: 1.5,
      measure: async () => (await ofFiveThousand()).complete,
    },
    { kind: "measured", what: `wt list of ${MANY}`, bound: 2, measure: async () => await list(bench) },
  ];
}

async function repository(bench: Bench, name: string, files: number): Promise<string> {
  const main = join(await bench.folder(name), "main");
  for (let folder = 0; folder < files / 100; folder++) {
    const path = join(main, "src", `part-${folder}`);
    await mkdir(path, { recursive: true });
    await Promise.all(
      Array.from(
        { length: 100 },
        async (_, n) => await writeFile(join(path, `file-${n}.txt`), `${folder} ${n}\n`.repeat(40)),
      ),
    );
  }
  await mkdir(join(main, ".bot"), { recursive: true });
  await writeFile(join(main, ".bot", ".gitignore"), ".control\nworkspace/tasks\n");
  git(bench, main, "init", "-q", "-b", "main");
  git(bench, main, "add", "-A");
  git(bench, main, "commit", "-q", "-m", "all");
  return main;
}

function git(bench: Bench, cwd: string, ...args: readonly string[]): number {
  return timeProcess(["git", ...args], cwd, bench.env);
}

/** The same life by dotbot and by git, in turn. */
async function lives(bench: Bench, files: number): Promise<{ create: Measured; complete: Measured }> {
  const main = await repository(bench, `wt-${files}-${Bun.nanoseconds()}`, files);
  const times: Record<"create" | "complete", { own: number[]; plain: number[] }> = {
    create: { own: [], plain: [] },
    complete: { own: [], plain: [] },
  };
  for (let n = 0; n < ROUNDS; n++) {
    const name = `Task ${n}`;
    bench.run(["task", "add", name], main);
    times.create.own.push(timeProcess([bench.dotbot, "wt", "create", name], main, bench.env));
    const path = Bun.spawnSync([bench.dotbot, "wt", "path", name], { cwd: main, env: bench.env })
      .stdout.toString()
      .trimEnd();
    await change(bench, path, n, "own");
    bench.run(["task", "done", name], main);
    times.complete.own.push(timeProcess([bench.dotbot, "wt", "complete", name], main, bench.env));

    const plain = join(main, "..", `plain-${n}`);
    times.create.plain.push(
      git(bench, main, "worktree", "add", "-q", "--no-track", "-b", `plain-${n}`, plain, "main") +
        git(bench, main, "worktree", "lock", plain),
    );
    await change(bench, plain, n, "plain");
    times.complete.plain.push(
      git(bench, plain, "status", "--porcelain") +
        git(bench, main, "merge", "-q", "--squash", `plain-${n}`) +
        git(bench, main, "commit", "-q", "-m", `plain ${n}`) +
        git(bench, main, "worktree", "unlock", plain) +
        git(bench, main, "worktree", "remove", plain) +
        git(bench, main, "branch", "-q", "-D", `plain-${n}`),
    );
  }
  return { create: against(times.create), complete: against(times.complete) };
}

/** Ten files of a task. */
async function change(bench: Bench, path: string, n: number, who: string): Promise<void> {
  for (let i = 0; i < 10; i++) await writeFile(join(path, "src", `part-${i}`, `${who}-${n}.txt`), "work\n");
  git(bench, path, "add", "-A");
  git(bench, path, "commit", "-q", "-m", "work");
}

async function list(bench: Bench): Promise<Measured> {
  const main = await repository(bench, `wt-list-${Bun.nanoseconds()}`, 500);
  const paths: string[] = [];
  for (let n = 0; n < MANY; n++) {
    bench.run(["task", "add", `Task ${n}`], main);
    bench.run(["wt", "create", `Task ${n}`], main);
    paths.push(
      Bun.spawnSync([bench.dotbot, "wt", "path", `Task ${n}`], { cwd: main, env: bench.env })
        .stdout.toString()
        .trimEnd(),
    );
  }
  const times: { own: number[]; plain: number[] } = { own: [], plain: [] };
  for (let n = 0; n < ROUNDS; n++) {
    times.own.push(timeProcess([bench.dotbot, "wt", "list"], main, bench.env));
    const began = performance.now();
    git(bench, main, "worktree", "list", "--porcelain");
    await Promise.all(
      paths.map(
        async (cwd) =>
          await Bun.spawn(["git", "--no-optional-locks", "status", "--porcelain=v2"], {
            cwd,
            env: bench.env,
            stdin: "ignore",
            stdout: "ignore",
          }).exited,
      ),
    );
    times.plain.push(performance.now() - began);
  }
  return against(times);
}

function against({ own, plain }: { own: readonly number[]; plain: readonly number[] }): Measured {
  const [ours, theirs] = [figuresOf(own).medianMs, figuresOf(plain).medianMs];
  return { ratio: ours / theirs, note: `${ours.toFixed(0)} ms, git ${theirs.toFixed(0)} ms` };
}
