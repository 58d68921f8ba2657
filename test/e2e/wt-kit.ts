/** What tests on worktrees share: a task in a worktree with work in it, and the whole state of a checkout to compare. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

import { run, tryRun, write } from "../kit/git.ts";
import { at, makeWorld, type World, type WorldSpec } from "../kit/world.ts";

export interface Worktree {
  readonly id: string;
  readonly id8: string;
  readonly path: string;
  readonly branch: string;
}

/** A task with this name, started in a worktree. */
export async function begin(world: World, name: string, ...flags: readonly string[]): Promise<Worktree> {
  const id = String(at(await world.ok(["task", "add", name]), "task", "id"));
  return await beginTask(world, id, ...flags);
}

export async function beginTask(world: World, id: string, ...flags: readonly string[]): Promise<Worktree> {
  const made = await world.ok(["wt", "create", id, ...flags]);
  return { id, id8: id.slice(0, 8), path: String(made["path"]), branch: String(made["branch"]) };
}

/** Commits these files in the worktree (null removes one), and says that its task is done. */
export async function work(
  world: World,
  worktree: Worktree,
  files: Readonly<Record<string, string | null>>,
  message = "work",
): Promise<void> {
  await commit(worktree.path, files, message);
  await world.ok(["task", "done", worktree.id]);
}

export async function commit(
  checkout: string,
  files: Readonly<Record<string, string | null>>,
  message = "work",
): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    if (content === null) await run(checkout, "rm", "-q", "--", path);
    else write(checkout, { [path]: content });
  }
  await run(checkout, "add", "-A");
  await run(checkout, "commit", "-q", "-m", message);
}

/** A world, and in it a done task with one commit in its worktree. */
export async function readyWorld(
  files: Readonly<Record<string, string | null>> = { "work.txt": "work\n" },
  spec: WorldSpec = {},
): Promise<{ world: World; worktree: Worktree } & AsyncDisposable> {
  const world = await makeWorld(spec);
  const worktree = await begin(world, "Add a login page");
  await work(world, worktree, files);
  return { world, worktree, [Symbol.asyncDispose]: async () => await world[Symbol.asyncDispose]() };
}

/** Everything of a checkout that is the user's: index entry by entry, every file byte by byte, HEAD. */
export async function checkoutState(checkout: string): Promise<unknown> {
  const index = await run(checkout, "ls-files", "--stage", "-z");
  const head = await run(checkout, "rev-parse", "--symbolic-full-name", "HEAD");
  return { index: index.split("\0"), head, files: Object.fromEntries(filesBelow(checkout)) };
}

/** Files below a folder, without git's own and the queue's. */
export function filesBelow(root: string, folder = ""): [string, string][] {
  return readdirSync(join(root, folder)).flatMap((name): [string, string][] => {
    const path = folder === "" ? name : `${folder}/${name}`;
    if (path === ".git" || path === ".bot/.control" || path === ".bot/workspace/tasks") return [];
    const stat = lstatSync(join(root, path));
    if (stat.isSymbolicLink()) return [[path, `link to ${readlinkSync(join(root, path))}`]];
    return stat.isDirectory()
      ? filesBelow(root, path)
      : [[path, `${(stat.mode & 0o111) !== 0 ? "x " : ""}${readFileSync(join(root, path), "latin1")}`]];
  });
}

/** Refs without what dotbot keeps, as `name → commit`. */
export async function branches(repo: string): Promise<Record<string, string>> {
  const text = await run(repo, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads");
  return Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split(" ") as [string, string]),
  );
}

export async function subjects(repo: string, rev = "main"): Promise<string[]> {
  return (await run(repo, "log", "--first-parent", "--format=%s", rev)).split("\n");
}

export async function fails(cwd: string, ...args: readonly string[]): Promise<string> {
  const ran = await tryRun(cwd, args);
  if (ran.status === 0) throw new Error(`git ${args.join(" ")} succeeded`);
  return ran.stderr;
}
