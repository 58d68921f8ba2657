/**
 * Shell scripts in a repository of their own, with the program on PATH: for command lines as documentation shows them.
 *
 *     await using sandbox = await openSandbox();
 *     const { status, stdout } = await sandbox.sh("dotbot init && dotbot task list");
 */
import { cpSync, mkdirSync, symlinkSync } from "node:fs";

import { binary, cleanEnv } from "./binary.ts";
import { makeRepo, run, tempDir, type TempDir } from "./git.ts";

export interface Sandbox extends AsyncDisposable {
  readonly root: string;
  /** The repository; it has a commit, an identity and the bare remote `origin`. */
  readonly main: string;
  /** Runs a script by bash, which stops at the first failure. */
  readonly sh: (script: string) => Promise<Ended>;
}

export interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

let template: Promise<TempDir> | undefined;

/** Made once a process, and copied. */
async function makeTemplate(): Promise<TempDir> {
  const dir = await tempDir("dotbot-sandbox-");
  process.once("exit", () => void dir[Symbol.asyncDispose]());
  const main = dir.path("main");
  await run(dir.root, "init", "-q", "--bare", "origin.git");
  await makeRepo(main);
  await run(main, "config", "user.name", "Ada Tester");
  await run(main, "config", "user.email", "ada@example.invalid");
  await run(main, "remote", "add", "origin", "../origin.git");
  mkdirSync(dir.path("bin"));
  symlinkSync(await binary(), dir.path("bin", "dotbot"));
  return dir;
}

export async function openSandbox(): Promise<Sandbox> {
  const made = await (template ??= makeTemplate());
  const dir = await tempDir("dotbot-sandbox-");
  for (const name of ["main", "origin.git"]) cpSync(made.path(name), dir.path(name), { recursive: true });
  return {
    root: dir.root,
    main: dir.path("main"),
    sh: async (script) => {
      const child = Bun.spawn(["bash", "-eu", "-o", "pipefail", "-c", script], {
        cwd: dir.path("main"),
        env: cleanEnv({ PATH: `${made.path("bin")}:${process.env["PATH"] ?? ""}` }),
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return { status: await child.exited, stdout, stderr };
    },
    [Symbol.asyncDispose]: async () => await dir[Symbol.asyncDispose](),
  };
}
