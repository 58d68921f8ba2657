/**
 * Taking the worktree away that an agent has done with, as far as nothing is lost. An agent can't be asked, so there is no force
 * here: what would be lost stays where it is, and the answer is no.
 */
import { isAbsolute, resolve } from "node:path";

import { DotbotError } from "../error.ts";
import { existingAncestor, isDirectory, lstatOrNull } from "../files.ts";
import { checkoutsOn, listCheckouts } from "../git/checkouts.ts";
import { isWithin, physical, samePath } from "../git/native.ts";
import { branchRef, commitOf, isAncestor, readRef } from "../git/refs.ts";
import { requireTree } from "../git/repo.ts";
import { git } from "../git/run.ts";
import type { Call } from "../op.ts";
import { holderOf, standingClaim } from "../task/ops/common.ts";
import { holds } from "../task/claim.ts";
import { quote, shellWord } from "../text.ts";
import { mergedBy, resolveBase } from "./base.ts";
import { hasQueue, locked, type Bench, type Ground } from "./bench.ts";
import { removeTask } from "./discard.ts";
import { callIn, exampleOf, PLAIN_PREFIX, readTold, spotAt, withGround, type Spot } from "./hook.ts";
import type { HookRemoved } from "./ops/hook.ts";
import { refusal } from "./plan.ts";
import { worktrees } from "./records.ts";
import { removalFacts, removeWorktree, type Removal } from "./remove.ts";

const VERB = "wt hook remove";
const LIKE = { worktree_path: "/path/of/the/worktree" };

export async function hookRemove(call: Call, dir: string | undefined): Promise<HookRemoved> {
  const told = await readTold(call, VERB, LIKE);
  const given = told.worktreePath;
  if (given === undefined || !isAbsolute(given)) {
    throw new DotbotError(
      "INVALID_INPUT",
      given === undefined
        ? "the hook's JSON has no worktree_path"
        : `worktree_path ${quote(given, 300)} isn't absolute`,
      {
        hint: "`worktree_path` is the whole path of the worktree",
        example: exampleOf(VERB, LIKE),
        details: { [given === undefined ? "missing" : "mismatched"]: ["worktree_path"] },
      },
    );
  }
  const found = await worktreeAt(call, given, dir ?? told.cwd);
  // From the main checkout: the agent, whose folder this may be, is about to leave it.
  const taken = found === null ? null : await takeAway(call, found, told.session);
  if (taken === null) {
    call.note(`there is nothing at ${quote(given, 300)} any more`);
    return { path: found?.path ?? given, removed: false, taskId: null, branchDeleted: false, trash: null };
  }
  const { path, ...rest } = taken;
  call.note(`${path} is gone${rest.trash === null ? "" : `; it is kept in ${rest.trash} for seven days`}`);
  return { path, removed: true, ...rest };
}

type Taken = Omit<HookRemoved, "removed">;
type Found = Spot & { readonly path: string };

/** Null: somebody else has taken it away meanwhile. */
async function takeAway(
  call: Call,
  { path, repo, commonDir }: Found,
  session: string | undefined,
): Promise<Taken | null> {
  const spot = repo === null ? await besides(call, path, commonDir) : await spotAt(call, repo.mainRoot);
  const there = callIn(call, spot, spot.gitRoot, session);
  return await withGround(
    there,
    VERB,
    spot,
    async (ground) =>
      await locked(ground, VERB, async () => {
        if (lstatOrNull(path) === null) return null;
        const owner = hasQueue(ground) ? ownerOf(ground, path) : null;
        if (!hasQueue(ground) || owner === null) return await removePlain(ground, path);
        const { trash, branchDeleted } = await removeTask(ground, { task_id: owner });
        await letGo(ground, owner);
        return { path, taskId: owner, branchDeleted, trash };
      }),
  );
}

/** The task whose worktree it is, by the records. */
function ownerOf({ queue }: Bench, path: string): string | null {
  const [id] = [...worktrees(queue)].find(([, it]) => samePath(physical(it.path) ?? it.path, path)) ?? [];
  const row = id === undefined ? undefined : queue.ledger.task(id);
  return row === undefined || row.place === "removed" ? null : row.id;
}

/** Git has to stand somewhere while the worktree goes, and a bare repository is no place where it may be asked. */
async function besides(call: Call, path: string, commonDir: string): Promise<Spot> {
  for (const record of await listCheckouts(call, path)) {
    const other = record.bare || record.prunable !== null ? null : physical(record.path);
    if (other !== null && !samePath(other, path) && !isWithin(other, path))
      return { repo: null, workRoot: other, gitRoot: other, commonDir };
  }
  throw new DotbotError(
    "REFUSED",
    `${quote(path, 300)} is the only checkout of the bare repository ${quote(commonDir, 300)}`,
    {
      hint: "make another one, from which this one can be taken away",
      example: `git -C ${shellWord(commonDir)} worktree add <path>`,
    },
  );
}

/**
 * The linked worktree at the path, and its repository; null where nothing is there, or nothing any more. Errors: REFUSED for
 * everything else, with nothing touched.
 */
async function worktreeAt(call: Call, given: string, cwd: string | undefined): Promise<Found | null> {
  if (lstatOrNull(given) === null) return null;
  try {
    return await soundWorktree(call, given, cwd);
  } catch (error) {
    // Nothing was done to it here: it went while it was looked at.
    if (error instanceof DotbotError && lstatOrNull(given) === null) return null;
    throw error;
  }
}

async function soundWorktree(call: Call, given: string, cwd: string | undefined): Promise<Found> {
  const refuse = (why: string, example?: string): DotbotError =>
    new DotbotError("REFUSED", `${quote(given, 300)} ${why}`, {
      hint: "nothing was touched: only a worktree of the repository that the agent works in is taken away",
      ...(example === undefined ? {} : { example }),
    });
  const path = physical(given);
  const spot = path === null ? null : await spotOrNull(call, path);
  if (path === null || spot === null) throw refuse("is no worktree");
  const { repo, workRoot, commonDir } = spot;
  if (workRoot === null || !samePath(workRoot, path)) throw refuse("isn't the folder of a worktree");
  if (repo !== null) requireTree(repo);
  if (repo !== null && repo.kind !== "linked") throw refuse("is the main checkout");
  const from = resolve(call.cwd, cwd ?? ".");
  const works = await worksIn(call, from, path, commonDir);
  if (works === "another") throw refuse("is another repository's worktree");
  if (works === "none") {
    throw refuse(
      `may be anybody's: the agent works in ${quote(from, 300)}, which is in no repository`,
      `${exampleOf(VERB, { worktree_path: given })} --dir ${shellWord(repo?.mainRoot ?? path)}`,
    );
  }
  return { ...spot, path };
}

/**
 * Where the agent works: in the worktree itself, whatever repositories lie in it and whether its folder is there still, or
 * elsewhere in the same repository, its submodules included.
 */
async function worksIn(
  call: Call,
  from: string,
  path: string,
  commonDir: string,
): Promise<"here" | "another" | "none"> {
  const known = existingAncestor(from);
  if (isWithin(physical(known) ?? known, path)) return "here";
  let at = known === from && isDirectory(from) ? from : "";
  let found: "another" | "none" = "none";
  while (at !== "") {
    const args = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--show-superproject-working-tree"];
    const { status, stdout } = await git(call, args, { cwd: at, probe: true });
    if (status !== 0) return found;
    const [common = "", superproject = ""] = stdout.split("\n");
    if (samePath(physical(common) ?? common, commonDir)) return "here";
    found = "another";
    at = superproject;
  }
  return found;
}

/** Null for a place that is none, or that is gone: hooks fire from wherever the agent has been left. */
async function spotOrNull(call: Call, dir: string | undefined): Promise<Spot | null> {
  try {
    return await spotAt(call, dir);
  } catch (error) {
    if (error instanceof DotbotError && ["NOT_A_REPOSITORY", "NOT_FOUND", "INVALID_INPUT"].includes(error.code))
      return null;
    throw error;
  }
}

/** The session doesn't work on it any more: the next one that comes for the task needn't wait until the claim runs out. */
async function letGo({ call, queue }: Bench, id: string): Promise<void> {
  await queue.write(`${VERB} ${id.slice(0, 8)}`, (tx) => {
    const claim = standingClaim(call, tx.ledger.claim(id));
    if (claim !== null && holds(claim, holderOf(call, {}))) tx.ledger.dropClaim(id);
  });
}

// ── a worktree of no task ────────────────────────────────────────────────────────────────────────────────────────────

async function removePlain(ground: Ground, path: string): Promise<Taken> {
  const { call, place } = ground;
  const base = hasQueue(ground) ? await baseOf(ground) : null;
  const removal: Removal = {
    taskId: null,
    id8: null,
    path,
    expected: null,
    base,
    made: [],
    // As with git's own removal; the trash keeps them besides.
    may: { dirty: false, ignored: true },
    branch: null,
    keep: [],
  };
  const what = `the worktree ${quote(path, 300)} stays`;
  const { facts, blockers } = await removalFacts(ground, removal);
  if (blockers.length > 0) throw refusal(what, blockers);
  if (facts.branch === null && facts.head !== null) await requireReachable(ground, facts.head, what);
  const tip = facts.branch === null ? null : await readRef(call, place.mainRoot, facts.branch);
  const goes =
    facts.branch !== null &&
    tip !== null &&
    isAgents(facts.branch) &&
    checkoutsOn(await listCheckouts(call, place.mainRoot), facts.branch).length === 1 &&
    (await isMerged(ground, tip, base));
  const branch = goes && facts.branch !== null && tip !== null ? { ref: facts.branch, tip } : null;
  const { trash, branchDeleted } = await removeWorktree(ground, { ...removal, branch }, what, facts);
  return { path, taskId: null, branchDeleted, trash };
}

async function isMerged(ground: Ground, tip: string, base: string | null): Promise<boolean> {
  if (hasQueue(ground))
    return base !== null && (await mergedBy(ground, { tip, base, baseSha: "", taskId: null })) !== null;
  const { call, place } = ground;
  for (const name of ["refs/remotes/origin/HEAD", "main-worktree/HEAD"]) {
    const commit = await commitOf(call, place.mainRoot, name);
    if (commit !== null && (await isAncestor(call, place.mainRoot, tip, commit))) return true;
  }
  return false;
}

async function baseOf(bench: Bench): Promise<string | null> {
  try {
    return (await resolveBase(bench, undefined)).branch;
  } catch (error) {
    if (error instanceof DotbotError && error.code === "NOT_FOUND") return null;
    throw error;
  }
}

/** Whether a branch was made for an agent's worktree: any other that it has switched to is somebody's. */
function isAgents(branch: string): boolean {
  return branch.startsWith(branchRef(PLAIN_PREFIX));
}

async function requireReachable({ call, place }: Ground, head: string, what: string): Promise<void> {
  const args = ["for-each-ref", "--count=1", "--format=%(refname)", `--contains=${head}`];
  const { stdout } = await git(call, args, { cwd: place.mainRoot, probe: true, okStatus: [0] });
  if (stdout.trim() !== "") return;
  throw new DotbotError("UNMERGED", `${what}: its detached HEAD has commits that are on no branch`, {
    hint: "put them on one",
    example: `git branch my-branch ${head.slice(0, 12)}`,
    details: { tip: head },
  });
}
