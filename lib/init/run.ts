/**
 * `init`: the `.bot` folder of a repository's state root, made, refreshed or taken back.
 *
 * Read everything → decide → write → commit. Whatever can be refused is refused before the first write; nothing that is there
 * is overwritten, except, with `--force`, what dotbot owns; tasks and machine state are never touched.
 */
import { dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import {
  exists,
  isDirectory,
  listNames,
  lstatOrNull,
  makeDirectory,
  readBytes,
  realPath,
  removeEmptyDirectory,
  removeFile,
  statOrNull,
  writeAtomic,
} from "../files.ts";
import type { Checkout } from "../git/commit.ts";
import { echoOf, type Echo } from "../git/echo.ts";
import { readHead, resolveRepo, samePath, type Repo } from "../git/repo.ts";
import { git } from "../git/run.ts";
import { oneLine } from "../git/parse.ts";
import { decodeUtf8 } from "../json.ts";
import type { Call } from "../op.ts";
import { loadSettings } from "../settings.ts";
import { STATUSES } from "../task/model.ts";
import { isTracked } from "../task/tracked.ts";
import { count, quote } from "../text.ts";
import { AGENT_NAMES, agentFile, type AgentName, type Launcher } from "./agents.ts";
import { commitFiles, ignored, inHead, notCommitted } from "./commit.ts";
import { botFiles, sameText, type OwnedFile } from "./content.ts";

export interface InitInput {
  readonly force: boolean;
  readonly no_commit: boolean;
  readonly remove: boolean;
  /** Absent: none; with `remove`, all. */
  readonly agents?: readonly AgentName[];
  /** The branch to which a person wants the commit, null on a detached HEAD. Absent: to whichever it is. */
  readonly onto?: string | null;
}

/**
 * Fills the queue of a fresh clone from a snapshot: called when the repository has the queue's branch (`ref`, its full name,
 * local or of a remote) and no task files. Returns how many tasks there are then.
 */
export type LoadQueue = (call: Call, ref: string) => Promise<number>;

export interface Left {
  path: string;
  why: string;
}

export interface InitResult extends Echo {
  /** Files, from the state root, with slashes. */
  written: string[];
  kept: string[];
  removed: string[];
  /** Written, or found as dotbot writes them, and not committed. */
  uncommitted: Left[];
  /** With `remove`: what is still there. */
  left: Left[];
  /** Null: there was nothing to commit, or no commit was wanted or possible. */
  committed: string | null;
  tracked: boolean;
  /** The state root, when it had to be recorded in the repository's configuration. */
  recordedRoot: string | null;
  /** Tasks taken from the queue's branch; null when there was nothing to take. */
  loaded: number | null;
  notes: string[];
}

interface Step {
  readonly file: OwnedFile;
  readonly current: string | null;
  /** Null: there is to be no file. */
  readonly next: string | null;
}

export async function runInit(call: Call, input: InitInput, loadQueue?: LoadQueue): Promise<InitResult> {
  const { repo } = call.target;
  const { stateRoot } = repo;
  const bot = join(stateRoot, ".bot");
  const settings = loadSettings(call, stateRoot);
  const state = await resolveRepo(call, stateRoot);
  const tree = treeOf(state);
  refuseOddFolder(bot);

  const tracked = await isTracked(call, state, settings);
  const launcher = launcherOf(call);
  const files = [
    ...botFiles({ tracked, force: input.force }),
    ...(input.agents ?? (input.remove ? AGENT_NAMES : [])).map((name) => agentFile(name, launcher)),
  ];
  const steps = files.map((file) => plan(stateRoot, file, input.remove));

  const done = input.remove ? takeBack(call, stateRoot, steps) : give(stateRoot, steps);
  const recordedRoot = input.remove ? null : await recordRoot(call, state);
  if (input.remove && !exists(bot)) await forgetRoot(call, state);
  const loaded = input.remove ? null : await load(call, settings.queue.branch, loadQueue);

  const { committed, uncommitted } = await commit(call, state, tree, steps, input);
  const echo = await echoOf(call, state, input.remove ? "the files are removed" : "the files are in place");
  return {
    ...echo,
    repoPath: stateRoot,
    ...done,
    uncommitted,
    committed,
    tracked,
    recordedRoot,
    loaded,
    notes: notesOf(repo, tree, tracked, input),
  };
}

/** The state root as a checkout that can take a commit. */
export function treeOf(state: Repo): Checkout | null {
  if (state.fault !== null || state.workRoot === null || !samePath(state.workRoot, state.stateRoot)) return null;
  return { workRoot: state.stateRoot, gitDir: state.gitDir };
}

function refuseOddFolder(bot: string): void {
  const there = lstatOrNull(bot);
  if (there === null || there.isDirectory() || (there.isSymbolicLink() && isDirectory(bot))) return;
  throw new DotbotError("REFUSED", `${quote(bot, 200)} is in the way: it isn't a folder`, {
    hint: "move it away; dotbot keeps its queue in a folder of that name",
  });
}

/** The name by which everybody can start dotbot, where that is this one; else this one's path. */
export function launcherOf(call: Call): Launcher {
  const onPath = Bun.which("dotbot", { PATH: call.env["PATH"] ?? "" });
  const same = onPath !== null && realPath(onPath) === realPath(call.executable);
  return { command: same ? "dotbot" : call.executable, exists };
}

function plan(stateRoot: string, file: OwnedFile, remove: boolean): Step {
  const current = read(stateRoot, file.path);
  if (remove) return { file, current, next: current === null ? null : file.remove(current) };
  return { file, current, next: file.write(current) };
}

function read(stateRoot: string, path: string): string | null {
  const full = join(stateRoot, path);
  const bytes = readBytes(full);
  if (bytes === null) {
    if (!isDirectory(full)) return null;
    throw new DotbotError("REFUSED", `${quote(full, 200)} is a folder, where a file is needed`, {
      hint: "move it away; nothing was changed",
    });
  }
  const { text, valid } = decodeUtf8(bytes);
  if (valid) return text;
  throw new DotbotError("REFUSED", `${quote(full, 200)} isn't UTF-8 text`, { hint: "mend it; nothing was changed" });
}

type Done = Pick<InitResult, "written" | "kept" | "removed" | "left">;

function give(stateRoot: string, steps: readonly Step[]): Done {
  const tasks = join(stateRoot, ".bot", "workspace", "tasks");
  for (const status of STATUSES) makeDirectory(join(tasks, status));
  makeDirectory(join(stateRoot, ".bot", ".control"));
  const done: Done = { written: [], kept: [], removed: [], left: [] };
  for (const { file, current, next } of steps) {
    if (next === null || next === current) {
      done.kept.push(file.path);
      continue;
    }
    put(stateRoot, file.path, next);
    done.written.push(file.path);
  }
  return done;
}

function put(stateRoot: string, path: string, content: string): void {
  const full = join(stateRoot, path);
  makeDirectory(dirname(full));
  // A file that is a link stays one.
  const file = realPath(full) ?? full;
  const mode = statOrNull(file)?.mode;
  writeAtomic(file, content, mode === undefined ? {} : { mode: mode & 0o777 });
}

function takeBack(call: Call, stateRoot: string, steps: readonly Step[]): Done {
  const bot = join(stateRoot, ".bot");
  const tasks = join(bot, "workspace", "tasks");
  const taskCount = (listNames(tasks) ?? []).flatMap((status) => listNames(join(tasks, status)) ?? []).length;
  const done: Done = { written: [], kept: [], removed: [], left: [] };
  for (const { file, current, next } of steps) {
    if (current === null) continue;
    if (file.path === ".bot/.gitignore" && taskCount > 0) {
      done.left.push({ path: file.path, why: "it keeps the tasks that are left out of git" });
    } else if (next === null) {
      removeFile(join(stateRoot, file.path));
      removeEmptyDirectory(dirname(join(stateRoot, file.path)));
      done.removed.push(file.path);
    } else if (next === current) {
      if (file.path.startsWith(".bot/")) done.left.push({ path: file.path, why: "it was edited" });
    } else {
      put(stateRoot, file.path, next);
      done.written.push(file.path);
    }
  }
  for (const status of STATUSES) removeEmptyDirectory(join(tasks, status));
  for (const folder of [tasks, join(bot, "workspace"), join(bot, ".control"), bot]) removeEmptyDirectory(folder);
  if (taskCount > 0) done.left.push({ path: ".bot/workspace/tasks", why: count(taskCount, "task") });
  const named = new Set([".gitignore", ".bot", "README.md", "settings.json", ...(taskCount > 0 ? ["workspace"] : [])]);
  for (const name of (listNames(bot) ?? []).toSorted()) {
    if (!named.has(name)) done.left.push({ path: `.bot/${name}`, why: "init didn't write it" });
  }
  const ledger = join(call.target.repo.stateCommonDir, "dotbot");
  if (exists(ledger)) done.left.push({ path: ledger, why: "the ledger, with every version of every task" });
  return done;
}

interface Commit {
  readonly committed: string | null;
  readonly uncommitted: Left[];
}

async function commit(
  call: Call,
  state: Repo,
  tree: Checkout | null,
  steps: readonly Step[],
  input: InitInput,
): Promise<Commit> {
  if (tree === null || input.no_commit) return { committed: null, uncommitted: [] };
  if (lstatOrNull(join(tree.workRoot, ".bot"))?.isSymbolicLink() === true) return { committed: null, uncommitted: [] };
  const hidden = await ignored(
    call,
    tree,
    steps.map(({ file }) => file.path),
  );
  const paths: string[] = [];
  const uncommitted: Left[] = [];
  for (const { file } of steps) {
    const disk = read(tree.workRoot, file.path);
    const head = await inHead(call, tree, file.path);
    if (same(disk, head)) continue;
    // dotbot's to commit is what it would have made of the last commit's file: nobody else's change is in it.
    const made = input.remove ? (head === null ? null : file.remove(head)) : file.write(head);
    if (hidden.has(file.path)) uncommitted.push({ path: file.path, why: "git ignores it" });
    else if (!same(disk, made)) uncommitted.push({ path: file.path, why: "it holds changes that aren't dotbot's" });
    else if (file.uncommittable !== undefined && !input.remove)
      uncommitted.push({ path: file.path, why: file.uncommittable });
    else paths.push(file.path);
  }
  if (paths.length === 0) return { committed: null, uncommitted };
  const first = (await inHead(call, tree, ".bot/README.md")) === null;
  await refuseOtherBranch(call, state, input);
  const subject = input.remove ? "chore: remove dotbot" : first ? "chore: set up dotbot" : "chore: refresh dotbot";
  return { committed: await commitFiles(call, tree, paths, subject), uncommitted };
}

/** A yes to a commit is for the branch that was shown. */
async function refuseOtherBranch(call: Call, state: Repo, { onto }: InitInput): Promise<void> {
  if (onto === undefined) return;
  const { branch } = await readHead(call, state);
  if (branch === onto) return;
  const named = (name: string | null): string => (name === null ? "a detached HEAD" : quote(name));
  throw notCommitted(`the commit was to go to ${named(onto)}, and ${named(branch)} is checked out now`, {
    hint: "run the command again: it commits to what is checked out then",
    example: "dotbot init",
  });
}

function same(a: string | null, b: string | null): boolean {
  return a === null || b === null ? a === b : sameText(a, b);
}

/**
 * Records the state root where a linked worktree couldn't find it: the common dir lies neither in it nor names it. Returns it
 * when it is recorded now.
 */
async function recordRoot(call: Call, state: Repo): Promise<string | null> {
  const { commonDir, mainRoot } = state;
  if (samePath(dirname(commonDir), mainRoot)) return null;
  if ((await config(call, state, ["--get", "core.worktree"])) !== null) return null;
  const recorded = await config(call, state, ["--get", "dotbot.root"]);
  if (recorded !== null && samePath(recorded, mainRoot)) return null;
  await config(call, state, ["dotbot.root", mainRoot]);
  return mainRoot;
}

async function forgetRoot(call: Call, state: Repo): Promise<void> {
  const recorded = await config(call, state, ["--get", "dotbot.root"]);
  if (recorded !== null && samePath(recorded, state.mainRoot)) await config(call, state, ["--unset", "dotbot.root"]);
}

/** `git config` on the file that all worktrees share; null when the key isn't there. */
async function config(call: Call, state: Repo, args: readonly string[]): Promise<string | null> {
  const file = join(state.commonDir, "config");
  const result = await git(call, ["config", "--file", file, ...args], { cwd: state.mainRoot, okStatus: [0, 1, 5] });
  return result.status === 0 ? oneLine(result.stdout) : null;
}

async function load(call: Call, branch: string, loadQueue: LoadQueue | undefined): Promise<number | null> {
  if (loadQueue === undefined) return null;
  const { stateRoot } = call.target.repo;
  const tasks = join(stateRoot, ".bot", "workspace", "tasks");
  if ((listNames(tasks) ?? []).some((status) => (listNames(join(tasks, status)) ?? []).length > 0)) return null;
  const patterns = [`refs/heads/${branch}`, `refs/remotes/*/${branch}`];
  const listed = await git(call, ["for-each-ref", "--format=%(refname)", ...patterns], {
    cwd: stateRoot,
    probe: true,
    okStatus: [0],
  });
  const [ref] = listed.stdout.split("\n").filter((line) => line !== "");
  return ref === undefined ? null : await loadQueue(call, ref);
}

function notesOf(repo: Repo, tree: Checkout | null, tracked: boolean, input: InitInput): string[] {
  const notes: string[] = [];
  if (repo.workRoot !== null && !samePath(repo.workRoot, repo.stateRoot)) {
    notes.push(`this is a worktree of it, ${repo.workRoot}: the queue is one, and lies in ${repo.stateRoot}`);
  }
  if (tree === null) notes.push(`${repo.stateRoot} isn't a checkout, so nothing is committed there`);
  else if (lstatOrNull(join(tree.workRoot, ".bot"))?.isSymbolicLink() === true)
    notes.push(".bot is a link, so nothing is committed");
  if (tracked && !input.remove) notes.push("the project's branches track the task files, and go on to (queue.tracked)");
  if (input.agents?.includes("codex") === true && !input.remove)
    notes.push("Codex reads .codex/config.toml in projects that it was told to trust");
  return notes;
}
