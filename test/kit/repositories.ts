/**
 * Repositories in states that take some steps to reach; above all one with a real remote on disk:
 *
 *     const { repo, remote, commit } = await withRemote(dir);
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { gitEnv, makeRepo, run as git, tryRun, write, type TempDir } from "./git.ts";

export interface World {
  readonly repo: string;
  readonly remote: string;
  readonly commit: (path: string, message?: string) => Promise<string>;
}

/** A repository on `main`, pushed to the bare `origin.git`, and the branch `topic`, checked out, one commit ahead. */
export async function withRemote(dir: TempDir): Promise<World> {
  const repo = await makeRepo(dir.path("repo"), { init: ["--initial-branch=main"] });
  const remote = dir.path("origin.git");
  await git(dir.root, "init", "-q", "--bare", "--initial-branch=main", remote);
  await git(repo, "remote", "add", "origin", remote);
  await git(repo, "push", "-q", "-u", "origin", "main");
  await git(repo, "switch", "-q", "-c", "topic");
  const commit = async (path: string, message = path): Promise<string> => {
    write(repo, { [path]: `${path}\n` });
    await git(repo, "add", path);
    await git(repo, "commit", "-q", "-m", message);
    return await git(repo, "rev-parse", "HEAD");
  };
  await commit("topic.txt", "Add a topic");
  return { repo, remote, commit };
}

export async function refsOf(remote: string): Promise<string> {
  return await git(remote, "for-each-ref", "--format=%(refname) %(objectname)");
}

/** An executable script, for a hooks folder or a folder on PATH. */
export function script(folder: string, name: string, text: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(folder, name), 0o755);
}

/**
 * A repository `name` with a bare remote `name.git`, and its linked worktree `name-wt`, which is on `side`. Both checkouts are a
 * commit behind what their branches follow; `topic` is ahead of main, `old` is merged, both checked out nowhere.
 */
export async function withWorktree(dir: TempDir, name: string): Promise<void> {
  // Without a template: nothing to copy but what counts.
  const main = await makeRepo(dir.path(name), {
    files: { "a.txt": "1\n", "b.txt": "1\n" },
    init: ["--template=", "--initial-branch=main"],
  });
  const on = async (...args: string[]): Promise<string> => await git(main, ...args);
  await git(dir.root, "init", "-q", "--bare", "--template=", "--initial-branch=main", `${name}.git`);
  await on("remote", "add", "origin", dir.path(`${name}.git`));
  const commit = async (path: string, date = "2024-01-02T03:04:06Z"): Promise<void> => {
    write(main, { [path]: "new\n" });
    await on("add", path);
    await tryRun(main, ["commit", "-q", "-m", path], gitEnv({ GIT_COMMITTER_DATE: date }));
  };
  await on("branch", "old");
  await on("switch", "-q", "-c", "topic");
  // The newest branch is what examples name.
  await commit("topic.txt", "2024-02-03T04:05:06Z");
  await on("switch", "-q", "-c", "side", "main");
  await commit("side.txt");
  await on("push", "-q", "-u", "origin", "main", "side");
  // What a pull brings: one more commit on each.
  for (const branch of ["main", "side"]) {
    await on("switch", "-q", branch);
    await commit(`more-${branch}.txt`);
    await on("push", "-q", "origin", branch);
    await on("reset", "-q", "--hard", "HEAD~1");
    await on("update-ref", `refs/remotes/origin/${branch}`, "HEAD");
  }
  await on("remote", "set-head", "origin", "main");
  await on("switch", "-q", "main");
  await on("worktree", "add", "-q", dir.path(`${name}-wt`), "side");
}

/** Leaves `main` in the middle of a merge, with a conflict in `a.txt`. */
export async function conflicted(repo: string): Promise<void> {
  await git(repo, "switch", "-q", "-c", "other");
  write(repo, { "a.txt": "theirs\n" });
  await git(repo, "commit", "-q", "-am", "theirs");
  await git(repo, "switch", "-q", "main");
  write(repo, { "a.txt": "ours\n" });
  await git(repo, "commit", "-q", "-am", "ours");
  await tryRun(repo, ["merge", "other"]);
}
