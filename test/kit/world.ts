/**
 * A repository with a queue, and the program to use it with:
 *
 *     await using world = await makeWorld({ seeds: plainSeeds(3) });
 *     await world.ok(["task", "start", taskId8(1)]);
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { dotbot, type Options, type Outcome } from "./binary.ts";
import { makeRepo, run, tempDir, write } from "./git.ts";
import { seedTasks, tasksFolder, type Seed } from "./tasks.ts";

export interface WorldSpec {
  readonly seeds?: readonly Seed[];
  /** The task files are committed, as dotbot 3 projects have it. Default: ignored. */
  readonly tracked?: boolean;
  /** Further files of the first commit. */
  readonly files?: Readonly<Record<string, string>>;
  /** Where everything is made; a fresh temporary folder by default. */
  readonly at?: string;
}

export interface World extends AsyncDisposable {
  /** The temporary folder. */
  readonly root: string;
  /** The main checkout, which is the state root. */
  readonly main: string;
  readonly tasks: string;
  readonly tracked: boolean;
  /** A path in the temporary folder; nothing is created. */
  path(...parts: string[]): string;
  /** Runs the program; in the main checkout unless told otherwise. */
  dotbot(args: readonly string[], options?: Partial<Options>): Promise<Outcome>;
  /** The same with `--json`, which has to succeed; returns the answer. */
  ok(args: readonly string[], options?: Partial<Options>): Promise<Answer>;
  /** The same, which has to be refused with this error code. */
  refused(code: string, args: readonly string[], options?: Partial<Options>): Promise<Refusal>;
  /** Runs git in the main checkout, which has to succeed. */
  git(...args: string[]): Promise<string>;
}

/** An answer as it was printed. Narrow what a test looks at with `toMatchObject`, or read a path of it with `at`. */
export type Answer = Readonly<Record<string, unknown>>;

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly example?: string;
  readonly details?: unknown;
}

export const IGNORE_QUEUE = ".control/\nworkspace/tasks\n";

export async function makeWorld({ seeds = [], tracked = false, files = {}, at }: WorldSpec = {}): Promise<World> {
  const dir = at === undefined ? await tempDir("dotbot-world-") : null;
  const root = dir?.root ?? at ?? "";
  const main = join(root, "main");
  await makeRepo(main, {
    // No sample hooks: tests copy repositories by the hundred.
    init: ["--template="],
    files: {
      "README.md": "hello\n",
      "src/code.txt": "one\ntwo\nthree\n",
      ".bot/.gitignore": tracked ? ".control/\n" : IGNORE_QUEUE,
      ...files,
    },
  });
  seedTasks(main, seeds);
  if (tracked) {
    writeFileSync(join(main, ".bot", "settings.json"), '{"queue":{"tracked":true}}\n');
    await run(main, "add", "-A");
    await run(main, "commit", "-q", "-m", "queue");
  }
  const call = async (args: readonly string[], options: Partial<Options> = {}): Promise<Outcome> =>
    await dotbot(args, { cwd: main, ...options });
  return {
    root,
    main,
    tasks: tasksFolder(main),
    tracked,
    path: (...parts) => join(root, ...parts),
    dotbot: call,
    ok: async (args, options) => {
      const result = await call([...args, "--json"], options);
      if (result.status !== 0)
        throw new Error(`dotbot ${args.join(" ")}: status ${result.status}\n${result.stdout}${result.stderr}`);
      return JSON.parse(result.stdout) as Answer;
    },
    refused: async (code, args, options) => {
      const result = await call([...args, "--json"], options);
      const answer = JSON.parse(result.stdout === "" ? "{}" : result.stdout) as { error?: Refusal };
      if (answer.error?.code !== code) {
        throw new Error(
          `dotbot ${args.join(" ")}: expected ${code}, got status ${result.status}\n${result.stdout}${result.stderr}`,
        );
      }
      return answer.error;
    },
    git: async (...args) => await run(main, ...args),
    [Symbol.asyncDispose]: async () => await dir?.[Symbol.asyncDispose](),
  };
}

/** Reads a nested value: `at(answer, "task", "status")`. undefined where the way ends. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = Reflect.get(here, key);
  }
  return here;
}

/** Writes files into a checkout and commits them there. */
export async function commitFiles(
  checkout: string,
  files: Readonly<Record<string, string>>,
  message: string,
): Promise<void> {
  write(checkout, files);
  await run(checkout, "add", "--", ...Object.keys(files));
  await run(checkout, "commit", "-q", "-m", message);
}
