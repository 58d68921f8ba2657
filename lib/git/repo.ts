/**
 * Which repository a folder belongs to, where its checkout is, and where its one state root is. Everything else in dotbot
 * takes that answer from here; nothing is cached, since checkouts vanish and are replaced between two calls.
 *
 * Invariants:
 * - The state root depends on the common dir alone (and on the superproject that owns a queue), never on where one stands.
 * - A link that is broken is a refusal. Nothing here walks up past it: the folder found that way would be the wrong one.
 * - Common layouts are resolved from files; the rest is asked of git, with probes that run nothing from the repository's
 *   configuration. Both ways give the same answer.
 */
import { basename, dirname, join, parse, resolve } from "node:path";

import { DotbotError } from "../error.ts";
import { quote, shellWord } from "../text.ts";
import {
  commonDirOf,
  exists,
  findAnchor,
  gitDirOf,
  gitFileTarget,
  headOf,
  isFolder,
  isWithin,
  physical,
  placeOf,
  samePath,
  type Anchor,
  type Head,
} from "./native.ts";
import { checkoutFault, insideGitDir, noCheckout, type TreeFault } from "./fault.ts";
import { configBool, errorLines, oneLine, parseConfig } from "./parse.ts";
import { git, gitFailure, type GitCtx, type GitResult } from "./run.ts";

export type { TreeFault } from "./fault.ts";
export { isWithin, samePath, type Head } from "./native.ts";

export interface RepoCtx extends GitCtx {
  /** Absolute. */
  readonly cwd: string;
}

/** All paths are absolute and physical. */
export interface Repo {
  /** Where the question was asked. */
  readonly start: string;
  readonly commonDir: string;
  readonly gitDir: string;
  /** The checkout at `start`; null when there is none (a bare repository, inside a git dir), and then `fault` says so. */
  readonly workRoot: string | null;
  /** The main checkout's folder of this repository: git can run there, and sees the common dir as its git dir. */
  readonly mainRoot: string;
  /** The folder that holds `.bot/`: `mainRoot`, or the state root of the superproject that has a queue. */
  readonly stateRoot: string;
  /** The common dir of the repository that `stateRoot` belongs to. */
  readonly stateCommonDir: string;
  readonly kind: "primary" | "linked" | "bare";
  /** State can be used; the checkout must not be read or changed as if it were sound. */
  readonly fault: TreeFault | null;
  /** The checkout of the superproject, when this repository is a submodule of it. */
  readonly superproject?: string;
  readonly resolvedBy: "native" | "git";
}

/**
 * Resolves the repository at `start` (against `ctx.cwd`; `ctx.cwd` itself when omitted). Throws INVALID_INPUT (empty, a file),
 * NOT_FOUND (no such folder), NOT_A_REPOSITORY (no `.git` anywhere above), STATE_ROOT_UNKNOWN (a broken link, or a layout
 * whose root nothing tells), REFUSED (ownership), GIT_TOO_OLD, NO_GIT. `native: false` always asks git.
 */
export async function resolveRepo(ctx: RepoCtx, start?: string, options: { native?: boolean } = {}): Promise<Repo> {
  const from = physicalStart(ctx, start);
  const place = options.native === false ? null : placeOf(from);
  if (place === null) return await askGit(ctx, from, options);
  const { gitDir, commonDir, workRoot, mainRoot } = place;
  return {
    start: from,
    commonDir,
    gitDir,
    workRoot,
    mainRoot,
    stateRoot: mainRoot,
    stateCommonDir: commonDir,
    kind: gitDir === commonDir ? "primary" : "linked",
    fault: checkoutFault(from, place, null),
    resolvedBy: "native",
  };
}

/** Throws the fault of a checkout that can't be worked in; returns its root otherwise. */
export function requireTree(repo: Repo): string {
  if (repo.fault !== null) {
    const { code, message, hint, example } = repo.fault;
    throw new DotbotError(code, message, { hint, ...(example === undefined ? {} : { example }) });
  }
  if (repo.workRoot === null)
    throw new DotbotError("INTERNAL", `no checkout at ${quote(repo.start, 200)}, and no fault`);
  return repo.workRoot;
}

/** Where HEAD of the checkout stands; from files where they are plain, otherwise from git. */
export async function readHead(ctx: GitCtx, repo: Repo, options: { native?: boolean } = {}): Promise<Head> {
  const head = options.native === false ? null : headOf(repo.gitDir, repo.commonDir);
  if (head !== null) return head;
  const cwd = repo.workRoot ?? (samePath(repo.gitDir, repo.commonDir) ? repo.mainRoot : null);
  if (cwd === null) return { branch: null, sha: null };
  // One process, so that the pair is of one moment; never --abbrev-ref, which a tag of the branch's name disturbs.
  const pair = await git(ctx, ["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"], { cwd, probe: true });
  const [sha = "", name = ""] = pair.status === 0 ? pair.stdout.split("\n") : [];
  if (name === "HEAD" || name.startsWith("refs/heads/")) return { branch: branchName(name), sha };
  // Unborn, or a branch called HEAD makes the name ambiguous.
  const ref = await git(ctx, ["symbolic-ref", "-q", "HEAD"], { cwd, probe: true, okStatus: [0, 1] });
  return { branch: branchName(oneLine(ref.stdout)), sha: sha === "" ? null : sha };
}

function branchName(ref: string): string | null {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : null;
}

const RENAME = "rename the folder: a path that isn't UTF-8 can't be stored or handed to other programs";

function physicalStart(ctx: RepoCtx, start: string | undefined): string {
  if (start === "" || start?.includes("\0") === true) {
    throw new DotbotError(
      "INVALID_INPUT",
      start === "" ? "the folder is empty" : "the folder contains a NUL character",
      {
        hint: "leave it out for the current folder, or name an existing one",
        example: `--dir ${shellWord(ctx.cwd)}`,
      },
    );
  }
  const path = resolve(ctx.cwd, start ?? ".");
  const from = physical(path);
  if (from?.includes("\uFFFD") === true && !exists(from)) {
    throw new DotbotError("NOT_FOUND", `the name of the folder ${quote(path, 200)} isn't valid UTF-8`, {
      hint: RENAME,
    });
  }
  if (from === null) {
    const what = start === undefined ? "the current folder" : "the folder";
    throw new DotbotError("NOT_FOUND", `${what} ${quote(path, 200)} doesn't exist or can't be entered`, {
      hint: start === undefined ? "it was deleted or moved: change to one that exists" : "name an existing folder",
    });
  }
  if (!isFolder(from)) {
    throw new DotbotError("INVALID_INPUT", `${quote(path, 200)} is a file, not a folder`, {
      hint: "name the folder that it is in",
      example: `--dir ${shellWord(dirname(path))}`,
    });
  }
  return from;
}

/** What step 1 of the resolution finds out: the two git dirs, the checkout if any, and whether git calls it bare. */
interface Found {
  readonly gitDir: string;
  readonly commonDir: string;
  readonly workRoot: string | null;
  readonly bare: boolean;
}

async function askGit(ctx: RepoCtx, start: string, options: { native?: boolean }): Promise<Repo> {
  const anchor = findAnchor(start);
  if (anchor === null) {
    throw new DotbotError("NOT_A_REPOSITORY", `there is no git repository at ${quote(start, 200)} or above`, {
      hint: "run it in a checkout, or make one first",
      example: `git init ${shellWord(start)}`,
    });
  }
  const found = anchor.kind === "entry" ? await discover(ctx, start, anchor) : inGitDir(anchor.dir);
  const config = await sharedConfig(ctx, found.commonDir);
  const mainRoot = await findMainRoot(ctx, start, found, config);
  const state = await findState(ctx, found.commonDir, mainRoot, options);
  const bare = anchor.kind === "entry" ? found.bare : configBool(last(config, "core.bare") ?? "false") === true;
  const linked = !samePath(found.gitDir, found.commonDir);
  return {
    start,
    commonDir: found.commonDir,
    gitDir: found.gitDir,
    workRoot: found.workRoot,
    mainRoot,
    ...state,
    kind: linked ? "linked" : bare ? "bare" : "primary",
    fault: anchor.kind === "git-dir" ? insideGitDir(start, mainRoot) : askedFault(start, found, mainRoot, config),
    resolvedBy: "git",
  };
}

async function discover(ctx: GitCtx, start: string, anchor: Anchor & { kind: "entry" }): Promise<Found> {
  const [common, own, top, bare] = await Promise.all([
    revParse(ctx, start, "--git-common-dir"),
    revParse(ctx, start, "--git-dir"),
    revParse(ctx, start, "--show-toplevel"),
    revParse(ctx, start, "--is-bare-repository"),
  ]);
  if (common.status !== 0) throw discoveryFailure(common, anchor);
  const commonDir = printedPath(common, start);
  const gitDir = printedPath(own, start);
  const nearest = gitDirOf(anchor.entry);
  if (nearest === null || !samePath(nearest, gitDir)) {
    // Git ignores a `.git` folder that isn't a git dir and answers for the repository around it.
    throw new DotbotError(
      "STATE_ROOT_UNKNOWN",
      `${quote(anchor.entry, 200)} isn't a git dir, and git answers for ${quote(gitDir, 200)}`,
      {
        hint: "mend or remove that .git entry: which repository is meant can't be known",
      },
    );
  }
  return {
    commonDir,
    gitDir,
    workRoot: top.status === 0 ? printedPath(top, start) : null,
    bare: oneLine(bare.stdout) === "true",
  };
}

/** Git is never run inside a git dir: files tell which repository it is, and the root found from it is verified by git. */
function inGitDir(gitDir: string): Found {
  const commonDir = commonDirOf(gitDir);
  if (commonDir === null) {
    throw new DotbotError(
      "STATE_ROOT_UNKNOWN",
      `the git dir ${quote(gitDir, 200)} belongs to a repository that isn't there any more`,
      {
        hint: "run it in a checkout of that repository",
      },
    );
  }
  return { gitDir, commonDir, workRoot: null, bare: false };
}

type Config = ReadonlyMap<string, readonly (string | null)[]>;

/** The repository's own config files, without includes, as git's discovery reads them. */
async function sharedConfig(ctx: GitCtx, commonDir: string): Promise<Config> {
  const read = async (file: string): Promise<Map<string, (string | null)[]>> => {
    // Any folder will do for --file, and the file system's root is inside no repository of anybody's making.
    const args = ["config", "-z", "--no-includes", "--file", file, "--list"];
    const result = await git(ctx, args, { cwd: parse(commonDir).root, probe: true });
    return result.status === 0 ? parseConfig(result.stdout) : new Map<string, (string | null)[]>();
  };
  const config = await read(join(commonDir, "config"));
  if (configBool(last(config, "extensions.worktreeconfig") ?? "false") === true) {
    for (const [key, values] of await read(join(commonDir, "config.worktree"))) {
      config.set(key, [...(config.get(key) ?? []), ...values]);
    }
  }
  return config;
}

function last(config: Config, key: string): string | null | undefined {
  return config.get(key)?.at(-1);
}

/** The main checkout's folder, by the first rule that applies, verified: git there sees `commonDir` as its git dir. */
async function findMainRoot(ctx: GitCtx, start: string, found: Found, config: Config): Promise<string> {
  const { commonDir } = found;
  const recorded = last(config, "dotbot.root");
  if (typeof recorded === "string" && recorded !== "") {
    const root = physical(resolve(commonDir, recorded));
    if (root !== null && (await verify(ctx, root, found)) === null) return root;
  }
  const root = candidateRoot(found, config);
  if (root === null) throw rootUnknown(start, commonDir, recorded ?? null, null);
  const failed = await verify(ctx, root, found);
  if (failed === null) return root;
  if (failed.status !== 0) {
    const failure = gitFailure(["rev-parse"], failed);
    if (failure.code === "REFUSED" || failure.code === "GIT_TOO_OLD") throw failure;
  }
  throw rootUnknown(start, commonDir, recorded ?? null, root);
}

function candidateRoot(found: Found, config: Config): string | null {
  const { commonDir, gitDir, workRoot } = found;
  const parent = dirname(commonDir);
  if (basename(commonDir) === ".git") return parent;
  const worktree = last(config, "core.worktree");
  if (typeof worktree === "string" && worktree !== "") return physical(resolve(commonDir, worktree));
  const beside = gitDirOf(join(parent, ".git"));
  if (beside !== null && samePath(beside, commonDir)) return parent;
  return samePath(gitDir, commonDir) ? workRoot : null;
}

/** Null when git at `root` answers with the same common dir as its git dir; otherwise what it said instead. */
async function verify(ctx: GitCtx, root: string, found: Found): Promise<GitResult | null> {
  // Asked there already: git's own answer for `start` named this folder as the checkout.
  if (found.workRoot === root && samePath(found.gitDir, found.commonDir)) return null;
  const [common, own] = await Promise.all([revParse(ctx, root, "--git-common-dir"), revParse(ctx, root, "--git-dir")]);
  if (common.status !== 0) return common;
  const same = [common, own].every((result) => samePath(printedPath(result, root), found.commonDir));
  return same ? null : common;
}

/** The superproject's queue is the submodule's as well; without one the submodule's own main checkout is the root. */
async function findState(
  ctx: RepoCtx,
  commonDir: string,
  mainRoot: string,
  options: { native?: boolean },
): Promise<Pick<Repo, "stateRoot" | "stateCommonDir"> & { superproject?: string }> {
  const own = { stateRoot: mainRoot, stateCommonDir: commonDir };
  if (dirname(mainRoot) === mainRoot || findAnchor(dirname(mainRoot)) === null) return own;
  // Asked at the main root: a linked worktree of a submodule doesn't know its superproject.
  const answer = await revParse(ctx, mainRoot, "--show-superproject-working-tree");
  if (answer.status !== 0 || answer.bytes.byteLength <= 1) return own;
  const superproject = printedPath(answer, mainRoot);
  const above = await resolveRepo(ctx, superproject, options);
  if (isFolder(join(above.stateRoot, ".bot"))) {
    return { stateRoot: above.stateRoot, stateCommonDir: above.stateCommonDir, superproject };
  }
  if (above.kind === "linked" && (isWithin(commonDir, above.gitDir) || isWithin(commonDir, superproject))) {
    throw new DotbotError(
      "STATE_ROOT_UNKNOWN",
      `the submodule ${quote(mainRoot, 200)} is a clone that belongs to the linked worktree ${quote(superproject, 200)} and goes with it`,
      {
        hint: "a queue there would be lost: make one in the superproject's main checkout, which its submodules then share",
        example: `dotbot init --dir ${shellWord(above.stateRoot)}`,
      },
    );
  }
  return { ...own, superproject };
}

async function revParse(ctx: GitCtx, cwd: string, question: string): Promise<GitResult> {
  return await git(ctx, ["rev-parse", "--path-format=absolute", question], { cwd, probe: true });
}

/** The path that a call printed, physical. Throws when it is none that can be used. */
function printedPath(result: GitResult, cwd: string): string {
  const text = oneLine(result.stdout);
  let valid = true;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(result.bytes);
  } catch {
    valid = false;
  }
  if (!valid) {
    throw new DotbotError("STATE_ROOT_UNKNOWN", `the path of the repository at ${quote(cwd, 200)} isn't valid UTF-8`, {
      hint: RENAME,
    });
  }
  // A git before 2.31 doesn't know --path-format and echoes it.
  if (text.startsWith("--path-format"))
    throw new DotbotError("GIT_TOO_OLD", "git is older than 2.31", { hint: "update git" });
  const path = text === "" ? null : physical(text);
  if (path === null) {
    throw new DotbotError(
      "STATE_ROOT_UNKNOWN",
      `git names a path for ${quote(cwd, 200)} that can't be reached: ${quote(text, 200)}`,
      {
        hint: "make that path reachable, or run it where it is",
      },
    );
  }
  return path;
}

function discoveryFailure(result: GitResult, anchor: Anchor & { kind: "entry" }): DotbotError {
  const failure = gitFailure(["rev-parse"], result);
  if (failure.code !== "NOT_A_REPOSITORY") return failure;
  const words = errorLines(result.stderr, 1);
  const target = gitFileTarget(anchor.entry);
  if (target === null) {
    return new DotbotError("STATE_ROOT_UNKNOWN", `${quote(anchor.entry, 200)} isn't a usable git dir: ${words}`, {
      hint: "mend or remove it; nothing is looked for above it",
    });
  }
  return new DotbotError(
    "STATE_ROOT_UNKNOWN",
    `the checkout ${quote(anchor.tree, 200)} points to a git dir that can't be reached: ${quote(target, 200)} (${words})`,
    {
      hint: "if the main checkout was moved, run this in it; if the path only exists on another machine or outside a container, work there",
      example: `git worktree repair ${shellWord(anchor.tree)}`,
    },
  );
}

function rootUnknown(start: string, commonDir: string, recorded: string | null, tried: string | null): DotbotError {
  const why =
    tried !== null
      ? `${quote(tried, 200)} isn't a main checkout of it`
      : recorded !== null
        ? `the recorded root ${quote(recorded, 200)} isn't one of it`
        : "nothing tells where its main checkout is";
  return new DotbotError("STATE_ROOT_UNKNOWN", `the state root of ${quote(commonDir, 200)} can't be known: ${why}`, {
    hint: "record the root: a folder whose .git leads to that repository, and which no worktree takes with it when it goes",
    example: `git config --file ${shellWord(join(commonDir, "config"))} dotbot.root FOLDER`,
    details: { start, commonDir, recorded, tried },
  });
}

/** The fault of a place that git was asked about. */
function askedFault(start: string, found: Found, mainRoot: string, config: Config): TreeFault | null {
  const { workRoot, gitDir, commonDir } = found;
  if (workRoot === null) return noCheckout(start, commonDir, mainRoot);
  const worktree = last(config, "core.worktree");
  const configured = typeof worktree === "string" ? physical(resolve(commonDir, worktree)) : null;
  return checkoutFault(start, { workRoot, gitDir, commonDir, mainRoot }, configured);
}
