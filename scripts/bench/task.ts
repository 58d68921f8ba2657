/** The queue: reading and moving tasks among a thousand and ten thousand, and many processes at once. */
import { join } from "node:path";

import { makeRepo } from "../../test/kit/git.ts";
import { plainSeeds, seedTasks, taskId8 } from "../../test/kit/tasks.ts";
import { IGNORE_QUEUE } from "../../test/kit/world.ts";
import type { Bench, Command, ProcessRow, Row } from "./kit.ts";

/** A repository with `count` plain tasks, whose ledger has been made. */
async function project(bench: Bench, name: string, count: number): Promise<string> {
  const root = await makeRepo(await bench.folder(name), {
    files: { "README.md": "hello\n", ".bot/.gitignore": IGNORE_QUEUE },
  });
  // A few with dependencies, as real queues have them: then picking has to look at everything.
  const seeds = plainSeeds(count).map((seed, n) =>
    n % 10 === 9 ? { fields: { dependencies: [`task-${n - 1}`] } } : seed,
  );
  seedTasks(root, seeds);
  bench.run(["task", "next"], root);
  bench.run(["task", "list"], root);
  return root;
}

function reading(root: string, count: number, bound: number): ProcessRow[] {
  const size = count.toLocaleString("en");
  const read = (verb: string, ...args: string[]): ProcessRow => ({
    kind: "process",
    what: `task ${verb}, ${size} tasks`,
    bound,
    gitAtMost: 1,
    command: () => ({ args: ["task", verb, ...args], cwd: root }),
  });
  return [read("list"), read("next"), read("show", taskId8(Math.floor(count / 2)))];
}

export async function rows(bench: Bench): Promise<readonly Row[]> {
  const small = await project(bench, "thousand", 1_000);
  const big = await project(bench, "ten-thousand", 10_000);
  const started = (n: number): Command => ({ args: ["task", "start", taskId8(n * 10 + 1)], cwd: big });
  return [
    {
      kind: "process",
      what: "--version",
      bound: 1.5,
      gitAtMost: 0,
      command: () => ({ args: ["--version"], cwd: small }),
    },
    ...reading(small, 1_000, 2.2),
    {
      kind: "process",
      what: "Tab behind task start, 1,000 tasks",
      bound: 2.2,
      gitAtMost: 0,
      command: () => ({ args: ["__complete", "zsh", "--", "task", "start", ""], cwd: small }),
    },
    ...reading(big, 10_000, 2.5),
    { kind: "process", what: "task start, 10,000 tasks", bound: 2.8, gitAtMost: 1, command: started },
    {
      kind: "measured",
      what: "64 claims at once: rate, against 64 floors at once",
      bound: 0.25,
      atLeast: true,
      measure: claims,
    },
  ];
}

/** How fast 64 processes that claim at once are done, compared with 64 empty ones that start at once. */
async function claims(bench: Bench) {
  const together = async (
    commands: readonly (readonly string[])[],
    cwd: string,
  ): Promise<{ ms: number; outputs: string[] }> => {
    const began = performance.now();
    const children = commands.map((command) =>
      Bun.spawn(command.slice(), { cwd, env: bench.env, stdin: "ignore", stdout: "pipe", stderr: "ignore" }),
    );
    const outputs = await Promise.all(children.map(async (child) => await child.stdout.text()));
    await Promise.all(children.map((child) => child.exited));
    return { ms: performance.now() - began, outputs };
  };
  const ratios: { ratio: number; floorMs: number; claimMs: number }[] = [];
  for (let round = 0; round < 5; round++) {
    const root = await project(bench, join("claims", String(round)), 128);
    const floors = await together(
      Array.from({ length: 64 }, () => [bench.floor]),
      root,
    );
    const { ms, outputs } = await together(
      Array.from({ length: 64 }, (_, i) => [bench.dotbot, "task", "claim", "--owner", `worker-${i}`, "--ids"]),
      root,
    );
    const ids = outputs.map((output) => output.trim());
    if (ids.includes("") || new Set(ids).size !== 64) throw new Error(`64 claims gave ${new Set(ids).size} tasks`);
    ratios.push({ ratio: floors.ms / ms, floorMs: floors.ms, claimMs: ms });
  }
  const { ratio, floorMs, claimMs } = ratios.toSorted((a, b) => a.ratio - b.ratio)[2] ?? {
    ratio: 0,
    floorMs: 0,
    claimMs: 0,
  };
  return { ratio, note: `${claimMs.toFixed(0)} ms, floors ${floorMs.toFixed(0)} ms; every claim unique` };
}
