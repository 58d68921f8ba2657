/**
 * Making a task's worktree: the task is started first, so that of two callers one gets it; then branch, folder, registration
 * and lock in one git command, then the links, then the record. A failure at any point takes all of it back.
 */
import { basename, dirname, join, resolve } from "node:path";

import { DotbotError } from "../error.ts";
import {
  existingAncestor,
  exists,
  isDirectory,
  listNames,
  lstatOrNull,
  makeDirectory,
  readText,
  removeEmptyDirectory,
  removeFile,
} from "../files.ts";
import { gitDirAt, linkedBothWays, listCheckouts } from "../git/checkouts.ts";
import { backLinkOf, gitFileTarget, isWithin, physical, samePath } from "../git/native.ts";
import { errorLines } from "../git/parse.ts";
import { branchRef, deleteRef, listRefs, mergeBase, readRef } from "../git/refs.ts";
import { git, gitFailure } from "../git/run.ts";
import { clearLockFiles, workMark } from "../git/stale.ts";
import type { TaskRow } from "../task/ledger.ts";
import { moveTask, type Moved, type MoveInput } from "../task/ops/move.ts";
import { termsOf } from "../task/ops/terms.ts";
import { quote, shellWord } from "../text.ts";
import { makeLocal, resolveBase, type Base } from "./base.ts";
import { hasQueue, nowStamp, unhurried, wtExample, type Bench, type Ground } from "./bench.ts";
import { inspect } from "./inspect.ts";
import { forget, record, type CreateEntry } from "./journal.ts";
import { makeLinks } from "./links.ts";
import { branchName, folderName, lockedFor, lockReason, namedFor, type TaskWorktree } from "./model.ts";
import type { WorktreeFacts } from "./plan.ts";
import { freeSlot, putWorktree, worktreeOf, worktrees } from "./records.ts";
import { dropRegistration, toTrash } from "./remove.ts";
import { putTaskBack } from "./restore.ts";

/** The reason by which git itself locks a worktree while it makes it. */
export const INITIALIZING = "initializing";

export interface CreateInput extends MoveInput {
  readonly base?: string | undefined;
  readonly no_start?: boolean | undefined;
  readonly ttl?: string | undefined;
  readonly pid?: number | undefined;
  /** The task was started for it already, and goes back to where it was when this fails. */
  readonly started?: Moved | undefined;
}

export interface Created {
  readonly worktree: TaskWorktree;
  /** false: it was there already. */
  readonly created: boolean;
  /** The branch was there before, with its commits. */
  readonly reusedBranch: boolean;
  readonly started: Moved | null;
}

/** What a create would do. */
export interface CreatePlan {
  readonly path: string;
  readonly branch: string;
  readonly base: Base;
  readonly reusesBranch: boolean;
  /** Where the branch will stand. */
  readonly tip: string;
}

/**
 * Makes the worktree of a task, or gives the one that it has. The caller holds the repository's lock. Errors: those of starting
 * the task; NOT_FOUND (base), REFUSED (no commit, a branch or folder in the way), READ_ONLY, REJECTED (a hook), GIT_FAILED.
 */
export async function createWorktree(bench: Bench, row: TaskRow, input: CreateInput): Promise<Created> {
  const there = await present(bench, row);
  if (there !== null) {
    const started = input.no_start === true ? null : await start(bench, row, input);
    return { worktree: there, created: false, reusedBranch: true, started };
  }
  const plan = await planCreate(bench, row, input.base);
  const dead = await deadRegistration(bench, plan.path, row.id8);
  const claim = bench.queue.ledger.claim(row.id) ?? null;
  const startedAt = bench.queue.document(row)["started_at"];
  const entry: CreateEntry = {
    op: "create",
    at: nowStamp(bench.call),
    taskId: row.id,
    path: plan.path,
    branch: plan.branch,
    base: plan.base.branch,
    baseSha: plan.base.sha,
    tip: plan.tip,
    newBranch: !plan.reusesBranch,
    madeBase: plan.base.from === null ? null : { ref: branchRef(plan.base.branch), sha: plan.base.sha },
    before:
      input.started === undefined
        ? statusBefore(row, input, typeof startedAt === "string" ? startedAt : null, claim)
        : startedFrom(row, input.started),
  };
  const name = `create-${row.id8}`;
  record(bench.place.commonDir, name, entry);
  try {
    const started = input.no_start === true ? null : await start(bench, row, input);
    if (dead !== null) await dropRegistration(bench, dead, row.id8);
    await makeLocal(bench, plan.base);
    await addWorktree(bench, plan, lockReason(row));
    const worktree = await describe(bench, row, plan);
    await putWorktree(bench.queue, row.id, worktree);
    forget(bench.place.commonDir, name);
    return { worktree, created: true, reusedBranch: plan.reusesBranch, started };
  } catch (error) {
    await unhurried(bench, "wt create", async (calm) => void (await takeBack(calm, name, entry, 2_000)));
    throw error;
  }
}

/** How the task is before this starts it; null when it doesn't. */
function statusBefore(
  row: TaskRow,
  input: CreateInput,
  startedAt: string | null,
  claim: string | null,
): CreateEntry["before"] {
  return input.no_start === true || row.status === "in-progress"
    ? null
    : { status: row.status, rev: row.rev, startedAt, claim };
}

function startedFrom(row: TaskRow, started: Moved): CreateEntry["before"] {
  return started.changed && started.oldStatus !== "in-progress"
    ? { status: started.oldStatus, rev: row.rev - 1, startedAt: null, claim: null }
    : null;
}

async function start(bench: Bench, row: TaskRow, input: CreateInput): Promise<Moved> {
  return await moveTask(bench.call, bench, row, input, {
    verb: "start",
    to: "in-progress",
    claims: true,
    ...termsOf(input),
  });
}

/** The task's worktree, when it is there and sound. Error: REFUSED when it is there and isn't. */
async function present(bench: Bench, row: TaskRow): Promise<TaskWorktree | null> {
  const known = worktreeOf(bench.queue, row.id);
  if (known === null || !isDirectory(known.path)) return null;
  const gitDir = gitDirAt(known.path);
  if (gitDir !== null && linkedBothWays(known.path, gitDir)) return known;
  throw new DotbotError(
    "REFUSED",
    `the worktree of ${quote(row.name)} at ${quote(known.path, 300)} isn't sound: folder and registration don't name each other`,
    {
      hint: "mend it first",
      example: wtExample(bench.call, "repair", row.id8),
      details: { path: known.path },
    },
  );
}

/** Where the worktree goes and from what, with everything that can be known to be in its way. Changes nothing. */
export async function planCreate(bench: Bench, row: TaskRow, given: string | undefined): Promise<CreatePlan> {
  const old = worktreeOf(bench.queue, row.id);
  const base = await resolveBase(bench, given ?? (old === null || old.base === "" ? undefined : old.base));
  const path = join(await rootFor(bench), folderName(row));
  const { branch, tip } = await branchFor(bench, row, old?.branch ?? null, path);
  refuseOccupied(path, row);
  return { path, base, branch, reusesBranch: tip !== null, tip: tip ?? base.sha };
}

/** The branch to make, or to take up again when it is this task's and checked out nowhere. */
async function branchFor(
  bench: Bench,
  row: TaskRow,
  old: string | null,
  path: string,
): Promise<{ branch: string; tip: string | null }> {
  const { call, place } = bench;
  const refs = await listRefs(call, place.mainRoot, "refs/heads/task");
  if (refs.has("refs/heads/task")) {
    throw new DotbotError("REFUSED", 'a branch called "task" is in the way of branches called "task/…"', {
      hint: "git can't have both: rename that branch",
      example: `git -C ${shellWord(place.mainRoot)} branch -m task task-old`,
    });
  }
  // Renaming a task doesn't rename its branch.
  const own = [...refs.keys()]
    .map((ref) => ref.slice("refs/heads/".length))
    .filter((it) => it.startsWith(`task/${row.id8}-`));
  const branch =
    old !== null && (await readRef(call, place.mainRoot, branchRef(old))) !== null ? old : (own[0] ?? branchName(row));
  const tip = await readRef(call, place.mainRoot, branchRef(branch));
  if (tip === null) return { branch, tip };
  const taken = (await listCheckouts(call, place.mainRoot)).find((it) => it.branch === branchRef(branch));
  if (taken !== undefined && !(samePath(taken.path, path) && !isDirectory(taken.path))) {
    throw new DotbotError("REFUSED", `the branch ${quote(branch)} is checked out in ${quote(taken.path, 300)}`, {
      hint: "take that worktree over for the task",
      example: `dotbot wt adopt ${shellWord(taken.path)} --task ${row.id8}`,
      details: { branch, path: taken.path },
    });
  }
  return { branch, tip };
}

/** The folder for worktrees, made if need be. Errors: READ_ONLY, REFUSED, each with the setting that helps. */
export async function rootFor(bench: Bench): Promise<string> {
  const { queue, settings, place } = bench;
  const { stateRoot } = queue;
  const setting = settings.worktree.root;
  const root =
    setting === null ? join(dirname(stateRoot), "worktrees", basename(stateRoot)) : resolve(stateRoot, setting);
  const inside = {
    hint: "keep worktrees inside the repository instead",
    example: "dotbot config set worktree.root .bot/worktrees",
  };
  const above = existingAncestor(root);
  if (setting === null && lstatOrNull(above)?.dev !== lstatOrNull(stateRoot)?.dev) {
    throw new DotbotError(
      "REFUSED",
      `${quote(above, 300)} is on another file system than ${quote(stateRoot, 300)}, as in a container: worktrees there may not outlive it`,
      inside,
    );
  }
  try {
    makeDirectory(root);
  } catch (error) {
    if (!(error instanceof DotbotError) || error.code !== "READ_ONLY" || setting !== null) throw error;
    throw new DotbotError("READ_ONLY", error.message, {
      ...inside,
      ...(error.details === undefined ? {} : { details: error.details }),
    });
  }
  const real = physical(root) ?? root;
  if (isWithin(real, place.mainRoot)) await requireIgnored(bench, real.slice(place.mainRoot.length + 1));
  return real;
}

async function requireIgnored(bench: Bench, folder: string): Promise<void> {
  const { status } = await git(bench.call, ["check-ignore", "--quiet", "--no-index", "--", `${folder}/`], {
    cwd: bench.place.mainRoot,
    probe: true,
  });
  if (status === 0) return;
  throw new DotbotError(
    "REFUSED",
    `${quote(folder)} is inside the repository, and git doesn't ignore it: a commit there would take the worktrees in`,
    {
      hint: "have git ignore it",
      example: `echo '/${folder}/' >> ${shellWord(join(bench.place.mainRoot, ".gitignore"))}`,
    },
  );
}

function refuseOccupied(path: string, row: TaskRow): void {
  const stat = lstatOrNull(path);
  if (stat === null) return;
  const names = stat.isDirectory() ? (listNames(path) ?? []) : null;
  if (names?.length === 0) return;
  const gitDir = names?.includes(".git") === true ? gitDirAt(path) : null;
  const adopt = gitDir !== null && linkedBothWays(path, gitDir);
  throw new DotbotError(
    "REFUSED",
    `${quote(path, 300)} is taken: ${
      names === null
        ? "a file"
        : `a folder with ${names
            .slice(0, 5)
            .map((it) => quote(it))
            .join(", ")}${names.length > 5 ? ", …" : ""}`
    }`,
    {
      hint: adopt ? "it is a worktree: take it over" : "move it away, or remove it",
      example: adopt
        ? `dotbot wt adopt ${shellWord(path)} --task ${row.id8}`
        : `mv ${shellWord(path)} ${shellWord(`${path}.old`)}`,
      details: { path, entries: names },
    },
  );
}

/**
 * The registration for that very place whose folder is gone, from an earlier worktree: it would be in git's way. Error: REFUSED
 * for one that is locked, unless for the task `id8`.
 */
export async function deadRegistration(ground: Ground, path: string, id8: string | null): Promise<string | null> {
  const records = await listCheckouts(ground.call, ground.place.mainRoot);
  const record = records.find((it) => samePath(it.path, path) || samePath(physical(it.path) ?? it.path, path));
  if (record === undefined || isDirectory(path)) return null;
  if (record.locked !== null && (id8 === null || lockedFor(record.locked) !== id8)) {
    throw new DotbotError(
      "REFUSED",
      `git has a worktree registered at ${quote(path, 300)}, locked: ${quote(record.locked)}`,
      { hint: "whoever locked it wants it kept" },
    );
  }
  return adminOf(ground.place.commonDir, path);
}

/** The git dir that is registered for a folder, whether that is there or not. */
export function adminOf(commonDir: string, path: string): string | null {
  for (const id of listNames(join(commonDir, "worktrees")) ?? []) {
    const admin = join(commonDir, "worktrees", id);
    const link = backLinkOf(admin);
    if (link !== null && (samePath(dirname(link), path) || samePath(physical(dirname(link)) ?? "", path))) return admin;
  }
  return null;
}

/** Branch, folder and registration in one git command; locked from the first moment, where there is a reason to. */
export async function addWorktree(bench: Ground, plan: CreatePlan, lock: string | null): Promise<void> {
  const args = [
    // As many as there are processors; below a hundred files git decides against it.
    "-c",
    "checkout.workers=0",
    "worktree",
    "add",
    "--quiet",
    "--no-track",
    ...(lock === null ? [] : ["--lock", "--reason", lock]),
    ...(plan.reusesBranch ? ["--", plan.path, plan.branch] : ["-b", plan.branch, "--", plan.path, plan.base.sha]),
  ];
  const result = await git(bench.call, plan.reusesBranch ? args.filter((it) => it !== "--no-track") : args, {
    cwd: bench.place.mainRoot,
    env: workMark(bench.place.commonDir),
  });
  if (result.status === 0 && (await isSound(bench, plan))) return;
  const failure = gitFailure(["worktree", "add"], result);
  const words = errorLines(result.stderr);
  if (failure.code !== "GIT_FAILED" || words === "") throw failure;
  throw new DotbotError(/filter|hook/.test(result.stderr) ? "REJECTED" : "GIT_FAILED", `git worktree add: ${words}`, {
    hint: `nothing of it was kept: no branch, no folder${lock === null ? "" : ", and the task is where it was"}`,
    details: { status: result.status },
  });
}

/** Read back: what is there now is what was asked for. */
async function isSound(bench: Ground, plan: CreatePlan): Promise<boolean> {
  const gitDir = gitDirAt(plan.path);
  if (gitDir === null || !linkedBothWays(plan.path, gitDir)) return false;
  const tip = await readRef(bench.call, bench.place.mainRoot, branchRef(plan.branch));
  return tip !== null && (plan.reusesBranch || tip === plan.base.sha);
}

async function describe(bench: Bench, row: TaskRow, plan: CreatePlan): Promise<TaskWorktree> {
  const old = worktreeOf(bench.queue, row.id);
  const links = await makeLinks(bench.call, plan.path, bench.queue.stateRoot);
  const tip = await readRef(bench.call, bench.place.mainRoot, branchRef(plan.branch));
  const fork =
    plan.reusesBranch && tip !== null
      ? await mergeBase(bench.call, bench.place.mainRoot, plan.base.sha, tip)
      : plan.base.sha;
  return {
    path: physical(plan.path) ?? plan.path,
    branch: plan.branch,
    base: plan.base.branch,
    baseSha: fork ?? plan.base.sha,
    createdAt: nowStamp(bench.call),
    slot: old !== null && old.slot > 0 ? old.slot : freeSlot(worktrees(bench.queue).values()),
    adopted: false,
    links,
    setup: { state: "pending" },
    made: [],
  };
}

/**
 * Undoes a create from its entry, however far it came, when nobody can have worked in it yet. What was made goes into the trash,
 * not away; returns where the folder is there, or null.
 */
export async function takeBack(
  ground: Ground,
  name: string,
  entry: CreateEntry,
  waitMs: number,
): Promise<string | null> {
  const known = hasQueue(ground) ? worktreeOf(ground.queue, entry.taskId) : null;
  await waitForGit(ground, entry, waitMs);
  const trash = await unmake(ground, entry, known !== null && samePath(known.path, entry.path));
  if (hasQueue(ground)) await putTaskBack(ground, entry, "its worktree couldn't be made");
  forget(ground.place.commonDir, name);
  return trash;
}

/**
 * After a kill: a worktree that was made whole, and in which somebody has worked since, stands, and is its task's. Any other is
 * taken back; `trash` is where its folder is then.
 */
export async function settleCreate(
  ground: Ground,
  name: string,
  entry: CreateEntry,
  waitMs: number,
): Promise<{ readonly kept: boolean; readonly trash: string | null }> {
  await waitForGit(ground, entry, waitMs);
  if (!(await hasWork(ground, entry))) return { kept: false, trash: await takeBack(ground, name, entry, waitMs) };
  const mark = join(gitDirAt(entry.path) ?? "", "locked");
  if (readText(mark)?.trim() === INITIALIZING) removeFile(mark);
  const row = hasQueue(ground) ? ground.queue.ledger.task(entry.taskId) : undefined;
  if (hasQueue(ground) && row !== undefined && row.place !== "removed") {
    const known = worktreeOf(ground.queue, row.id);
    const base = { branch: entry.base, sha: entry.baseSha, from: null };
    const plan = { path: entry.path, branch: entry.branch, base, reusesBranch: !entry.newBranch, tip: entry.tip };
    if (known === null || samePath(known.path, entry.path))
      await putWorktree(ground.queue, row.id, await describe(ground, row, plan));
  }
  forget(ground.place.commonDir, name);
  return { kept: true, trash: null };
}

/** Whether there is a whole worktree that isn't as it was made. */
async function hasWork(ground: Ground, entry: CreateEntry): Promise<boolean> {
  const gitDir = gitDirAt(entry.path);
  // Git writes the index when all files are there.
  if (gitDir === null || !exists(join(gitDir, "index"))) return false;
  const facts = await readable(ground, entry.path);
  return (
    facts?.linked === true &&
    (facts.head !== entry.tip ||
      facts.branch !== branchRef(entry.branch) ||
      facts.operation !== null ||
      [facts.dirty, facts.hidden, facts.untracked, facts.inLinkPlace, facts.below, facts.submodules].some(
        (found) => found.length > 0,
      ))
  );
}

/** Null where git can't read what is there: after a loss of power files may be empty, and then it was never whole. */
async function readable(ground: Ground, path: string): Promise<WorktreeFacts | null> {
  try {
    return await inspect(ground, { path, base: null, made: [] });
  } catch (error) {
    if (error instanceof DotbotError) return null;
    throw error;
  }
}

/** The git of a dotbot that was killed may be at work still. */
async function waitForGit({ call, place }: Ground, entry: CreateEntry, waitMs: number): Promise<void> {
  await clearLockFiles(call.signal, {
    paths: [entry.branch, "HEAD"].map((it) =>
      it === "HEAD" ? join(place.commonDir, "packed-refs.lock") : join(place.commonDir, `${branchRef(it)}.lock`),
    ),
    folders: [entry.path],
    commonDir: place.commonDir,
    since: new Date(entry.at),
    waitMs,
  });
}

/** The part of it that is git's: folder, registration, branches. `keepsTree`: another create has made the folder its own since. */
async function unmake(ground: Ground, entry: CreateEntry, keepsTree: boolean): Promise<string | null> {
  const { call, place } = ground;
  let trash: string | null = null;
  if (!keepsTree) {
    trash = clearFolder(ground, entry.path);
    for (const admin of registrationsOf(place.commonDir, entry))
      await dropRegistration(ground, admin, namedFor(entry.branch) ?? entry.taskId);
    removeEmptyDirectory(join(place.commonDir, "worktrees"));
  }
  if (entry.newBranch) await deleteRef(call, place.mainRoot, branchRef(entry.branch), entry.tip);
  if (entry.madeBase !== null) await deleteRef(call, place.mainRoot, entry.madeBase.ref, entry.madeBase.sha);
  return trash;
}

/** The folder, as far as it is git's: at first it is empty, and its first file is the one that names its git dir. */
function clearFolder(ground: Ground, path: string): string | null {
  const names = listNames(path);
  if (names === null) return null;
  const target = gitFileTarget(join(path, ".git"));
  const begun = names.length === 1 && lstatOrNull(join(path, ".git"))?.size === 0;
  if (names.length === 0) removeEmptyDirectory(path);
  else if (begun || (target !== null && isWithin(target, join(ground.place.commonDir, "worktrees"))))
    return toTrash(ground, path, "tree");
  return null;
}

/** Registrations for the folder, and those of its name that didn't come far enough to say for which. */
function registrationsOf(commonDir: string, entry: CreateEntry): string[] {
  const folder = join(commonDir, "worktrees");
  const whole = adminOf(commonDir, entry.path);
  const begun = (listNames(folder) ?? []).filter((name) => {
    if (name.replace(/\d+$/, "") !== basename(entry.path).replace(/\d+$/, "")) return false;
    const stat = lstatOrNull(join(folder, name));
    return stat !== null && stat.mtimeMs >= Date.parse(entry.at) - 2_000 && backLinkOf(join(folder, name)) === null;
  });
  return [...(whole === null ? [] : [whole]), ...begun.map((name) => join(folder, name))];
}
