/** doctor: a queue of ten thousand tasks and fifty worktrees, all in order. */
import { makeRepo } from "../../test/kit/git.ts";
import { plainSeeds, seedTasks, taskId8 } from "../../test/kit/tasks.ts";
import type { Bench, Row } from "./kit.ts";

const TASKS = 10_000;
const WORKTREES = 50;

export async function rows(bench: Bench): Promise<readonly Row[]> {
  const root = await makeRepo(`${await bench.folder("doctor")}/main`, {
    files: { "README.md": "hello\n", ".bot/.gitignore": ".control\nworkspace/tasks\n" },
  });
  seedTasks(
    root,
    plainSeeds(TASKS).map((seed, n) => (n % 10 === 9 ? { fields: { dependencies: [`task-${n - 1}`] } } : seed)),
  );
  bench.run(["task", "next"], root);
  for (let n = 1; n <= WORKTREES; n++) bench.run(["wt", "create", taskId8(n)], root);
  return [
    {
      kind: "process",
      what: `doctor, ${TASKS.toLocaleString("en")} tasks and ${WORKTREES} worktrees`,
      bound: 60,
      gitAtMost: 8,
      runs: 10,
      command: () => ({ args: ["doctor"], cwd: root }),
    },
  ];
}
