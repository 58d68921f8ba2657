/** The layouts of the resolution tests: each builds one in a temp dir. Their folders are named in the comments. */
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";

import { makeRepo, run, write, type TempDir } from "../kit/git.ts";

export type Layout = (dir: TempDir) => Promise<unknown>;

export async function nothing(dir: TempDir): Promise<void> {
  await folder(dir, "plain");
}

/** `main`, with a subfolder `sub`. */
export async function main(dir: TempDir): Promise<string> {
  return await makeRepo(dir.path("main"), { files: { "README.md": "hello\n", "sub/a.txt": "1\n" } });
}

/** A `main` whose name and whose worktree's name are given. */
export function named(name: string): Layout {
  return async (dir) => {
    await run(await makeRepo(dir.path(name)), "worktree", "add", "-q", "-b", "wt", dir.path(`${name}!wt`));
  };
}

export async function unborn(dir: TempDir): Promise<void> {
  await makeRepo(dir.path("main"), { files: {} });
}

export async function sha256(dir: TempDir): Promise<void> {
  await makeRepo(dir.path("main"), { init: ["--object-format=sha256"] });
}

/** `main` with the linked worktree `wt`. */
export async function worktree(dir: TempDir): Promise<void> {
  await run(await main(dir), "worktree", "add", "-q", dir.path("wt"));
}

/** `main` with the linked worktree `main/wt`. */
export async function nestedWorktree(dir: TempDir): Promise<void> {
  await run(await main(dir), "worktree", "add", "-q", dir.path("main/wt"));
}

/** `main`, and links to it (`link`), to its subfolder (`sublink`) and to its worktree (`wtlink`). */
export async function linked(dir: TempDir): Promise<void> {
  await worktree(dir);
  symlinkSync(dir.path("main"), dir.path("link"));
  symlinkSync(dir.path("main/sub"), dir.path("sublink"));
  symlinkSync(dir.path("wt"), dir.path("wtlink"));
}

/** `main`, and `a` beside it. */
export async function two(dir: TempDir): Promise<void> {
  await main(dir);
  await makeRepo(dir.path("a"));
}

/** `main`, which has a queue, and `main/clone`, which isn't its submodule. */
export async function clone(dir: TempDir): Promise<void> {
  await main(dir);
  await folder(dir, "main/.bot");
  await makeRepo(dir.path("main/clone"));
}

/** The bare `x.git` with the worktree `xwt`. */
export async function bare(dir: TempDir): Promise<void> {
  await run(dir.root, "clone", "-q", "--bare", await main(dir), dir.path("x.git"));
  await run(dir.path("x.git"), "worktree", "add", "-q", "-b", "x", dir.path("xwt"));
}

/** …and the folder `x` recorded as its root. */
export async function bareRecorded(dir: TempDir): Promise<void> {
  await bare(dir);
  write(dir.path("x"), { ".git": "gitdir: ../x.git\n" });
  await run(dir.root, "config", "--file", dir.path("x.git/config"), "dotbot.root", "../x");
}

/** …and a folder recorded that doesn't exist. */
export async function bareMisrecorded(dir: TempDir): Promise<void> {
  await bare(dir);
  await run(dir.root, "config", "--file", dir.path("x.git/config"), "dotbot.root", dir.path("elsewhere"));
}

/** `main/evil`, plain files of `main` in the shape of a bare repository that claims `main` as its root. */
export async function bareShaped(dir: TempDir): Promise<void> {
  await main(dir);
  const config = `[core]\n\tbare = true\n[dotbot]\n\troot = ${dir.path("main")}\n`;
  write(dir.path("main/evil"), { HEAD: "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", config });
}

/** `proj/.bare`, `proj/.git` leading to it, and the worktree `proj/feat`. */
export async function dotBare(dir: TempDir): Promise<void> {
  await run(dir.root, "clone", "-q", "--bare", await main(dir), dir.path("proj/.bare"));
  write(dir.path("proj"), { ".git": "gitdir: ./.bare\n" });
  await run(dir.path("proj"), "worktree", "add", "-q", "-b", "feat", dir.path("proj/feat"));
}

/** The bare `proj/.git`, and its worktree `proj/feat`. */
export async function bareAtDotGit(dir: TempDir): Promise<void> {
  await run(dir.root, "clone", "-q", "--bare", await main(dir), dir.path("proj/.git"));
  await run(dir.path("proj"), "worktree", "add", "-q", "-b", "feat", dir.path("proj/feat"));
}

/** `main` and `wt`, and core.bare true, as a leaked GIT_DIR leaves it. */
export async function bareFlipped(dir: TempDir): Promise<void> {
  await worktree(dir);
  await run(dir.path("main"), "config", "core.bare", "true");
}

/** `main` and `wt`, and per-worktree config in use. */
export async function worktreeConfig(dir: TempDir): Promise<void> {
  await worktree(dir);
  await run(dir.path("main"), "config", "core.repositoryformatversion", "1");
  await run(dir.path("main"), "config", "extensions.worktreeConfig", "true");
}

/** …and core.bare true for all of them. */
export async function worktreeConfigBare(dir: TempDir): Promise<void> {
  await worktreeConfig(dir);
  await run(dir.path("main"), "config", "core.bare", "true");
}

/** `sup` with the submodule `mods/lib`, a worktree `libwt` of that, and a worktree `supwt` of `sup` with a submodule clone. */
export async function superproject(dir: TempDir): Promise<void> {
  const lib = await makeRepo(dir.path("lib"));
  const sup = await makeRepo(dir.path("sup"));
  await run(sup, "submodule", "--quiet", "add", lib, "mods/lib");
  await run(sup, "commit", "-q", "-m", "submodule");
  await run(dir.path("sup/mods/lib"), "worktree", "add", "-q", dir.path("libwt"));
  await run(sup, "worktree", "add", "-q", dir.path("supwt"));
  await run(dir.path("supwt"), "submodule", "--quiet", "update", "--init");
}

/** …and `sup` has a queue. */
export async function superprojectWithQueue(dir: TempDir): Promise<void> {
  await superproject(dir);
  await folder(dir, "sup/.bot");
}

/** `sup`, which has a queue, with the submodule `sup/lib` whose git dir was never absorbed. */
export async function submoduleOfOldForm(dir: TempDir): Promise<void> {
  const sup = await makeRepo(dir.path("sup"));
  await makeRepo(dir.path("sup/lib"));
  await run(sup, "add", "lib");
  await folder(dir, "sup/.bot");
}

/** `tree`, whose git dir is `store.git`, with the worktree `wt`. */
export async function separate(dir: TempDir): Promise<void> {
  const tree = await makeRepo(dir.path("tree"), { init: ["--separate-git-dir", dir.path("store.git")] });
  await run(tree, "worktree", "add", "-q", dir.path("wt"));
}

/** …and `tree` recorded as the root. */
export async function separateRecorded(dir: TempDir): Promise<void> {
  await separate(dir);
  await run(dir.path("tree"), "config", "dotbot.root", dir.path("tree"));
}

/** `main`, whose `.git` is a link to `.git.nosync` beside it, with the worktree `wt`. */
export async function nosync(dir: TempDir): Promise<void> {
  await main(dir);
  renameSync(dir.path("main/.git"), dir.path("main/.git.nosync"));
  symlinkSync(".git.nosync", dir.path("main/.git"));
  await run(dir.path("main"), "worktree", "add", "-q", dir.path("wt"));
}

/** `main`, whose `.git` is a link to `realgit`, with the worktree `wt`. */
export async function gitElsewhere(dir: TempDir): Promise<void> {
  await main(dir);
  renameSync(dir.path("main/.git"), dir.path("realgit"));
  symlinkSync(dir.path("realgit"), dir.path("main/.git"));
  await run(dir.path("main"), "worktree", "add", "-q", dir.path("wt"));
}

/** …and `main` recorded as the root, relative to the git dir. */
export async function gitElsewhereRecorded(dir: TempDir): Promise<void> {
  await gitElsewhere(dir);
  await run(dir.path("main"), "config", "dotbot.root", "../main");
}

/** `main`, which records itself as the root, and its copy `copy`. */
export async function copiedWithRoot(dir: TempDir): Promise<void> {
  await run(await main(dir), "config", "dotbot.root", dir.path("main"));
  cpSync(dir.path("main"), dir.path("copy"), { recursive: true });
}

/** `main`, whose checkout core.worktree puts into `other`, with the worktree `wt`. */
export async function coreWorktree(dir: TempDir): Promise<void> {
  await worktree(dir);
  await folder(dir, "other");
  await run(dir.path("main"), "config", "core.worktree", dir.path("other"));
}

/** `main`, and `twin`, whose `.git` file names main's git dir. */
export async function twin(dir: TempDir): Promise<void> {
  await main(dir);
  write(dir.path("twin"), { ".git": `gitdir: ${dir.path("main/.git")}\n` });
}

/** `new`, which was `main` when it got the worktree `wt`. */
export async function moved(dir: TempDir): Promise<void> {
  await worktree(dir);
  renameSync(dir.path("main"), dir.path("new"));
}

/** …and git was used there since. */
export async function movedAndListed(dir: TempDir): Promise<void> {
  await moved(dir);
  await run(dir.path("new"), "worktree", "list");
}

/** …and the worktree was repaired. */
export async function movedAndRepaired(dir: TempDir): Promise<void> {
  await moved(dir);
  await run(dir.path("new"), "worktree", "repair", dir.path("wt"));
}

/** `main`, and `wt2`, which was `wt` when it was made. */
export async function worktreeMoved(dir: TempDir): Promise<void> {
  await worktree(dir);
  renameSync(dir.path("wt"), dir.path("wt2"));
}

/** `main`, its worktree `wt`, and the copy `wt2` of that. */
export async function worktreeCopied(dir: TempDir): Promise<void> {
  await worktree(dir);
  cpSync(dir.path("wt"), dir.path("wt2"), { recursive: true });
}

/** `main`, its worktree `wt`, and `forged`, whose `.git` file is that of `wt`. */
export async function worktreeForged(dir: TempDir): Promise<void> {
  await worktree(dir);
  write(dir.path("forged"), { ".git": `gitdir: ${dir.path("main/.git/worktrees/wt")}\n` });
}

/** `wt`, the worktree of a repository that is gone. */
export async function mainDeleted(dir: TempDir): Promise<void> {
  await worktree(dir);
  rmSync(dir.path("main"), { recursive: true });
}

/** `main`, and the worktree `main/wt` that it no longer knows. */
export async function unregistered(dir: TempDir): Promise<void> {
  await nestedWorktree(dir);
  rmSync(dir.path("main/.git/worktrees/wt"), { recursive: true });
}

/** `main`, and the worktree `main/wt` without its `.git` file. */
export async function unlinked(dir: TempDir): Promise<void> {
  await nestedWorktree(dir);
  rmSync(dir.path("main/wt/.git"));
}

/** `main`, with an empty `.git` folder in `sub`. */
export async function emptyGitInside(dir: TempDir): Promise<void> {
  await main(dir);
  await folder(dir, "main/sub/.git");
}

/** `dir` with an empty `.git` folder. */
export async function emptyGit(dir: TempDir): Promise<void> {
  await folder(dir, "dir/.git");
}

/** `wt`, made on another machine. */
export async function otherMachine(dir: TempDir): Promise<void> {
  await folder(dir, "wt");
  write(dir.path("wt"), { ".git": "gitdir: /host/main/.git/worktrees/wt\n" });
}

/** `main`, with something in `sub/.git`. */
export async function nonsense(dir: TempDir): Promise<void> {
  await main(dir);
  write(dir.path("main/sub"), { ".git": "nonsense\n" });
}

/** `main` in a format that no git knows. */
export async function fromTheFuture(dir: TempDir): Promise<void> {
  await run(await main(dir), "config", "core.repositoryformatversion", "1");
  await run(dir.path("main"), "config", "extensions.fromTheFuture", "true");
}

async function folder(dir: TempDir, path: string): Promise<void> {
  await Promise.resolve(mkdirSync(dir.path(path), { recursive: true }));
}
