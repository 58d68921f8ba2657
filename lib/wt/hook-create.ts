/**
 * The worktree for an agent that wants one by a name of its own: the task's where the name is a task's, otherwise a plain one.
 *
 * Invariants: what is answered is whole, and the same for the same name; a task's worktree is only given to who may hold the task.
 */
import { basename, dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import { exists, isDirectory, listNames, lstatOrNull, makeDirectory, writeHint } from "../files.ts";
import { gitDirAt, linkedBothWays, listCheckouts } from "../git/checkouts.ts";
import { physical, samePath } from "../git/native.ts";
import type { WorktreeRecord } from "../git/parse.ts";
import { branchRef, commitOf, readRef } from "../git/refs.ts";
import type { Call } from "../op.ts";
import type { TaskRow } from "../task/ledger.ts";
import { isClosed, slugify } from "../task/model.ts";
import { namedTask } from "../task/ops/common.ts";
import { quote, shellWord } from "../text.ts";
import { makeLocal, resolveBase, type Base } from "./base.ts";
import { createAndSetUp } from "./begin.ts";
import { hasQueue, locked, nowStamp, unhurried, type Bench, type Ground } from "./bench.ts";
import { addWorktree, deadRegistration, INITIALIZING, rootFor, takeBack, type CreatePlan } from "./create.ts";
import { callIn, exampleOf, folderFor, PLAIN_PREFIX, readTold, spotAt, withGround, type Spot } from "./hook.ts";
import { forget, record, type CreateEntry } from "./journal.ts";
import { makeLinks } from "./links.ts";
import { namedFor, type Setup } from "./model.ts";
import type { HookCreated } from "./ops/hook.ts";
import { shownSetup } from "./ops/shapes.ts";
import { worktreeOf, worktrees } from "./records.ts";
import { dropRegistration, emptyTrash } from "./remove.ts";
import { setUpPlain } from "./setup.ts";

const VERB = "wt hook create";
const LIKE = { name: "add-a-login-page" };
/** Where agents put worktrees when nobody tells them otherwise. */
const AGENTS_OWN = [".claude", "worktrees"] as const;
/** In the git dir of a plain worktree once it is set up: an agent that gave up waiting, or was killed, asks again. */
const SET_UP = "dotbot-set-up";

export async function hookCreate(call: Call, dir: string | undefined): Promise<HookCreated> {
  const told = await readTold(call, VERB, LIKE);
  if (told.name === undefined) {
    throw new DotbotError("INVALID_INPUT", "the hook's JSON has no name", {
      hint: "`name` is what the agent calls the worktree",
      example: exampleOf(VERB, LIKE),
      details: { missing: ["name"] },
    });
  }
  const name = told.name.trim();
  const spot = await spotAt(call, dir ?? told.cwd);
  const { repo, gitRoot } = spot;
  const there = callIn(call, spot, repo?.start ?? gitRoot, told.session);
  return await withGround(there, VERB, spot, async (ground) => {
    if (!hasQueue(ground)) return await plain(ground, name, async () => rootWithoutQueue(spot));
    const row = await meantTask(ground, name);
    return row === null ? await plain(ground, name, async () => await rootFor(ground)) : await ofTask(there, row);
  });
}

async function ofTask(call: Call, row: TaskRow): Promise<HookCreated> {
  const { path, branch, created, setup } = await createAndSetUp(call, { task_id: row.id });
  call.note(`the worktree of ${quote(row.name)} (${row.id8})`);
  return told(call, { path, branch: branch ?? null, created, taskId: row.id, setup });
}

/** A set-up that failed is told, and no reason to send the session away: it can be mended from inside, and nowhere better. */
function told(call: Call, result: HookCreated): HookCreated {
  const { setup } = result;
  if (setup.state === "failed") {
    call.note(`set-up failed: ${setup.command ?? ""} (status ${setup.status ?? "?"}); the worktree is there`);
    if (setup.output !== undefined) call.note(setup.output.trimEnd());
  }
  return result;
}

// ── which task ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The task that a name is meant for, or null. Error: AMBIGUOUS_TASK. */
async function meantTask(bench: Bench, name: string): Promise<TaskRow | null> {
  const { call, queue } = bench;
  try {
    return await namedTask(call, queue, name, "start");
  } catch (error) {
    if (!(error instanceof DotbotError) || error.code !== "TASK_NOT_FOUND") throw error;
  }
  const id8 = namedFor(name);
  const carried = id8 === null ? undefined : queue.ledger.taskById8(id8);
  if (carried !== undefined && carried.place !== "removed") return carried;

  const folder = folderFor(name);
  const adopted = [...worktrees(queue)].find(([, it]) => it.branch === PLAIN_PREFIX + folder)?.[0];
  const owner = adopted === undefined ? undefined : queue.ledger.task(adopted);
  if (owner !== undefined && owner.place !== "removed") return owner;

  // Agents turn "Add a login page" into add-a-login-page. Work that is over doesn't keep its name from others.
  const named = queue.ledger
    .tasks("place <> 'removed'")
    .filter((row) => isNamed(row, name) && (!isClosed(row.status) || worktreeOf(queue, row.id) !== null));
  const [only] = named;
  if (named.length < 2) return only ?? null;
  throw new DotbotError(
    "AMBIGUOUS_TASK",
    `${quote(name)} means ${named.length} tasks: ${named.map((row) => `${row.id8} (${row.name})`).join(", ")}`,
    {
      hint: "call the worktree by the id of the one that is meant",
      example: exampleOf(VERB, { name: only?.id8 }),
      details: { candidates: named.map((row) => ({ id: row.id, name: row.name, status: row.status })) },
    },
  );
}

function isNamed(row: TaskRow, name: string): boolean {
  // What has no letter of ASCII in it is called "task", and that is nobody's name.
  return name !== "task" && (slugify(row.name) === name || slugify(row.name, Infinity) === name);
}

// ── a worktree of no task ────────────────────────────────────────────────────────────────────────────────────────────

/** Where a plain worktree is, or goes; without the folder in which worktrees lie. */
interface Wanted {
  readonly path: string;
  readonly branch: string;
}

/** `queue: null`: in a repository that has none dotbot is a guest, and the worktree is the one that the agent would have made. */
async function plain(ground: Ground, name: string, rootOf: () => Promise<string>): Promise<HookCreated> {
  const { call, place } = ground;
  const folder = folderFor(name);
  const made = await locked(ground, VERB, async () => {
    const root = await rootOf();
    emptyTrash(ground, root);
    const wanted = { path: join(root, folder), branch: PLAIN_PREFIX + folder };
    const there = await present(ground, wanted);
    if (there !== null) return { ...there, created: false };
    const base = hasQueue(ground) ? await resolveBase(ground, undefined) : await remotesDefault(ground);
    const plan = await planPlain(ground, wanted, base);
    const dead = await deadRegistration(ground, plan.path, null);
    const { name: entryName, entry } = begin(ground, folder, plan);
    try {
      if (dead !== null) await dropRegistration(ground, dead, folder);
      if (hasQueue(ground)) await makeLocal(ground, plan.base);
      makeDirectory(root);
      await addWorktree(ground, plan, null);
      if (hasQueue(ground)) await makeLinks(call, plan.path, ground.queue.stateRoot);
    } catch (error) {
      await unhurried(ground, VERB, async (calm) => void (await takeBack(calm, entryName, entry, 2_000)));
      throw error;
    }
    forget(place.commonDir, entryName);
    return { path: plan.path, branch: plan.branch, created: true };
  });
  return told(call, { ...made, taskId: null, setup: shownSetup(await finish(ground, made.path)) });
}

/**
 * Where the worktrees go in a repository without a queue: always the same place, and never in a checkout that may itself be
 * taken away, whichever the agent works in.
 */
function rootWithoutQueue({ repo, commonDir }: Spot): string {
  return repo === null
    ? join(dirname(commonDir), "worktrees", basename(commonDir))
    : join(repo.mainRoot, ...AGENTS_OWN);
}

/** Written down before the first change. In the journal it stands for a task that there isn't: no queue has to do with it. */
function begin({ call, place }: Ground, folder: string, plan: CreatePlan): { name: string; entry: CreateEntry } {
  const entry: CreateEntry = {
    op: "create",
    at: nowStamp(call),
    taskId: folder,
    path: plan.path,
    branch: plan.branch,
    base: plan.base.branch,
    baseSha: plan.base.sha,
    tip: plan.tip,
    newBranch: !plan.reusesBranch,
    madeBase: plan.base.from === null ? null : { ref: branchRef(plan.base.branch), sha: plan.base.sha },
    before: null,
  };
  const name = `create-${PLAIN_PREFIX}${folder}`;
  record(place.commonDir, name, entry);
  return { name, entry };
}

/** As agents do it: from what the remote has as its default, else from where the checkout stands. */
async function remotesDefault({ call, place }: Ground): Promise<Base> {
  for (const branch of ["refs/remotes/origin/HEAD", "HEAD"]) {
    const sha = await commitOf(call, place.mainRoot, branch);
    if (sha !== null) return { branch, sha, from: null };
  }
  throw new DotbotError("REFUSED", "the repository has no commit yet, so there is nothing to cut a worktree from", {
    hint: "make the first commit",
    example: "git commit --allow-empty -m 'first commit'",
  });
}

/** The worktree of that name, sound and whole. Error: REFUSED where something else is in its place, or half of it. */
async function present(
  { call, place }: Ground,
  wanted: Wanted,
): Promise<{ path: string; branch: string | null } | null> {
  const records = (await listCheckouts(call, place.mainRoot)).slice(1);
  const at = (record: WorktreeRecord): string => physical(record.path) ?? record.path;
  const found =
    records.find((it) => samePath(at(it), physical(wanted.path) ?? wanted.path)) ??
    records.find((it) => it.branch === branchRef(wanted.branch));
  if (found === undefined || !isDirectory(found.path)) {
    if (lstatOrNull(wanted.path) === null || listNames(wanted.path)?.length === 0) return null;
    throw new DotbotError("REFUSED", `${quote(wanted.path, 300)} is taken, and isn't a worktree of this repository`, {
      hint: "move it away, or give the worktree another name",
      example: `mv ${shellWord(wanted.path)} ${shellWord(`${wanted.path}.old`)}`,
    });
  }
  const path = at(found);
  const gitDir = gitDirAt(path);
  if (gitDir === null || !linkedBothWays(path, gitDir)) {
    throw new DotbotError(
      "REFUSED",
      `the worktree at ${quote(path, 300)} isn't sound: folder and registration don't name each other`,
      { hint: "mend it first", example: `git worktree repair ${shellWord(path)}` },
    );
  }
  // It was killed then, and the files are there in part.
  if (found.locked === INITIALIZING) {
    throw new DotbotError("REFUSED", `the making of the worktree at ${quote(path, 300)} was cut short`, {
      hint: "nobody has worked in it: remove it, and ask again",
      example: `git worktree remove --force --force ${shellWord(path)}`,
    });
  }
  return { path, branch: found.branch?.replace(/^refs\/heads\//, "") ?? null };
}

async function planPlain({ call, place }: Ground, { path, branch }: Wanted, base: Base): Promise<CreatePlan> {
  const tip = await readRef(call, place.mainRoot, branchRef(branch));
  return { path, branch, base, reusesBranch: tip !== null, tip: tip ?? base.sha };
}

async function finish(ground: Ground, tree: string): Promise<Setup> {
  const gitDir = gitDirAt(tree);
  const mark = gitDir === null ? null : join(gitDir, SET_UP);
  if (mark === null || exists(mark)) return { state: "none" };
  const setup = await setUpPlain(ground, tree);
  if (setup.state !== "failed") writeHint(mark, "");
  return setup;
}
