/**
 * Real repositories in temp dirs, hermetic: no configuration of the user or the machine, a pinned identity, clock, locale and
 * HOME, and no `GIT_*` variable of whoever runs the tests.
 *
 *     await using dir = await tempDir();
 *     const repo = await makeRepo(dir.path("main"), { files: { "a.txt": "1\n" } });
 *     await run(repo, "worktree", "add", "-b", "feat", "../feat");
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface TempDir extends AsyncDisposable {
  /** Physical. */
  readonly root: string;
  /** A path in it; nothing is created. */
  path(...parts: string[]): string;
}

/** A fresh folder, removed at the end of the scope: `await using dir = await tempDir()`. */
export async function tempDir(prefix = "dotbot-"): Promise<TempDir> {
  const root = await realpath(await mkdtemp(join(tmpdir(), prefix)));
  return {
    root,
    path: (...parts) => join(root, ...parts),
    [Symbol.asyncDispose]: async () => await rm(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** A HOME in which nothing is configured. */
const HOME = join(tmpdir(), "dotbot-test-home-that-does-not-exist");

/** The environment for git and for what starts git, built from nothing but PATH. Author and clock are the same every time. */
export function gitEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME,
    XDG_CONFIG_HOME: join(HOME, ".config"),
    TMPDIR: tmpdir(),
    LC_ALL: "C",
    TZ: "UTC",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: process.platform === "win32" ? "NUL" : "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: "false",
    GIT_AUTHOR_NAME: "Ada Tester",
    GIT_AUTHOR_EMAIL: "ada@example.invalid",
    GIT_AUTHOR_DATE: "2024-01-02T03:04:05Z",
    GIT_COMMITTER_NAME: "Ada Tester",
    GIT_COMMITTER_EMAIL: "ada@example.invalid",
    GIT_COMMITTER_DATE: "2024-01-02T03:04:05Z",
    ...extra,
  };
}

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs git and answers with whatever it did. */
export async function tryRun(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = gitEnv(),
): Promise<Ran> {
  const child = Bun.spawn(["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", ...args], {
    cwd,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { status, stdout, stderr };
}

/** Runs git, which has to succeed; answers with stdout without its last newline. */
export async function run(cwd: string, ...args: string[]): Promise<string> {
  const ran = await tryRun(cwd, args);
  if (ran.status !== 0) throw new Error(`git ${args.join(" ")} in ${cwd}: status ${ran.status}\n${ran.stderr}`);
  return ran.stdout.replace(/\n$/, "");
}

/** Writes files below a folder: path to content. */
export function write(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

export interface RepoSpec {
  /** What the first commit holds. Default: one file, `README.md`. An empty object leaves HEAD unborn. */
  readonly files?: Readonly<Record<string, string>>;
  /** Further commits on `main`, each writing these files. */
  readonly commits?: readonly Readonly<Record<string, string>>[];
  /** Further arguments of `git init`. */
  readonly init?: readonly string[];
}

/** A repository with `main` checked out at `path`, which it returns. */
export async function makeRepo(path: string, spec: RepoSpec = {}): Promise<string> {
  mkdirSync(path, { recursive: true });
  await run(path, "init", "-q", ...(spec.init ?? []));
  const commits = [spec.files ?? { "README.md": "hello\n" }, ...(spec.commits ?? [])];
  for (const [index, files] of commits.entries()) {
    if (Object.keys(files).length === 0) continue;
    write(path, files);
    await run(path, "add", "-A");
    await run(path, "commit", "-q", "-m", `commit ${index + 1}`);
  }
  return path;
}

/** What a promise rejects with; fails when it doesn't. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${Bun.inspect(value)}`);
}
