/**
 * Taking the worktree away that an agent has done with, as far as nothing is lost. An agent can't be asked, so there is no force
 * here: what would be lost stays where it is, and the answer is no.
 */
import { isAbsolute } from "node:path";

import { DotbotError } from "../error.ts";
import { lstatOrNull } from "../files.ts";
import { physical, samePath } from "../git/native.ts";
import { errorLines } from "../git/parse.ts";
import { branchRef, readRef } from "../git/refs.ts";
import { requireTree, resolveRepo, type Repo } from "../git/repo.ts";
import { git, gitFailure, requireGit } from "../git/run.ts";
import { withRepositoryLock } from "../lock.ts";
import type { Call } from "../op.ts";
import { holderOf, standingClaim } from "../task/ops/common.ts";
import { holds } from "../task/claim.ts";
import { quote, shellWord } from "../text.ts";
import { mergedBy, resolveBase } from "./base.ts";
import { MINIMUM_GIT, withLockedBench, type Bench, type Ground } from "./bench.ts";
import { removeTask } from "./discard.ts";
import { callIn, exampleOf, PLAIN_PREFIX, readTold, spotAt, type Spot } from "./hook.ts";
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
  if (lstatOrNull(given) === null) {
    call.note(`there is nothing at ${quote(given, 300)} any more`);
    return { path: given, removed: false, taskId: null, branchDeleted: false, trash: null };
  }
  const { path, repo, commonDir } = await worktreeAt(call, given, dir ?? told.cwd);
  // From the main checkout: the agent, whose folder this may be, is about to leave it.
  const main = repo === null ? null : await resolveRepo(call, repo.mainRoot);
  const there = callIn(call, main, main?.mainRoot ?? commonDir, told.session);
  const removed = await taken(there, main, path, commonDir);
  call.note(`${path} is gone${removed.trash === null ? "" : `; it is kept in ${removed.trash} for seven days`}`);
  return { path, removed: true, ...removed };
}

type Taken = Pick<HookRemoved, "taskId" | "branchDeleted" | "trash">;

async function taken(call: Call, repo: Repo | null, path: string, commonDir: string): Promise<Taken> {
  if (repo === null) return await removeWithoutQueue(call, path, { mainRoot: commonDir, commonDir });
  try {
    return await withLockedBench(call, VERB, async (bench) => {
      const [owner] = [...worktrees(bench.queue)].find(([, it]) => samePath(physical(it.path) ?? it.path, path)) ?? [];
      const row = owner === undefined ? undefined : bench.queue.ledger.task(owner);
      if (row === undefined || row.place === "removed") return await removePlain(bench, path);
      const { trash, branchDeleted } = await removeTask(bench, { task_id: row.id });
      await letGo(bench, row.id);
      return { taskId: row.id, branchDeleted, trash };
    });
  } catch (error) {
    if (!(error instanceof DotbotError) || error.code !== "NO_QUEUE") throw error;
    return await removeWithoutQueue(call, path, { mainRoot: repo.mainRoot, commonDir });
  }
}

/** The linked worktree at the path, and its repository. Errors: REFUSED for everything else, with nothing touched. */
async function worktreeAt(call: Call, given: string, cwd: string | undefined): Promise<Spot & { path: string }> {
  const refuse = (why: string): DotbotError =>
    new DotbotError("REFUSED", `${quote(given, 300)} ${why}`, {
      hint: "nothing was touched: only a worktree of the repository that the agent works in is taken away",
    });
  const path = physical(given);
  const spot = path === null ? null : await spotOrNull(call, path);
  if (path === null || spot === null) throw refuse("is no worktree");
  const { repo, workRoot, commonDir } = spot;
  if (workRoot === null || !samePath(workRoot, path)) throw refuse("isn't the folder of a worktree");
  if (repo !== null) requireTree(repo);
  if (repo !== null && repo.kind !== "linked") throw refuse("is the main checkout");
  const caller = await spotOrNull(call, cwd);
  if (caller !== null && !samePath(caller.commonDir, commonDir)) throw refuse("is another repository's worktree");
  return { ...spot, path };
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

async function removePlain(bench: Bench, path: string): Promise<Taken> {
  const base = await baseOf(bench);
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
  const { facts, blockers } = await removalFacts(bench, removal);
  if (blockers.length > 0) throw refusal(what, blockers);
  if (facts.branch === null && facts.head !== null) await requireReachable(bench, facts.head, what);
  const tip = facts.branch === null ? null : await readRef(bench.call, bench.place.mainRoot, facts.branch);
  const goes =
    tip !== null &&
    base !== null &&
    isAgents(facts.branch) &&
    (await mergedBy(bench, { tip, base, baseSha: "", taskId: null })) !== null;
  const branch = goes && facts.branch !== null ? { ref: facts.branch, tip } : null;
  const { trash, branchDeleted } = await removeWorktree(bench, { ...removal, branch }, what, facts);
  return { taskId: null, branchDeleted, trash };
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
function isAgents(branch: string | null): boolean {
  return branch?.startsWith(branchRef(PLAIN_PREFIX)) === true;
}

async function requireReachable(
  { call, place }: Pick<Ground, "call" | "place">,
  head: string,
  what: string,
): Promise<void> {
  const args = ["for-each-ref", "--count=1", "--format=%(refname)", `--contains=${head}`];
  const { stdout } = await git(call, args, { cwd: place.mainRoot, probe: true, okStatus: [0] });
  if (stdout.trim() !== "") return;
  throw new DotbotError("UNMERGED", `${what}: its detached HEAD has commits that are on no branch`, {
    hint: "put them on one",
    example: `git branch my-branch ${head.slice(0, 12)}`,
    details: { tip: head },
  });
}

/** By git alone, which refuses what isn't committed; `branch -d` refuses what isn't merged. */
async function removeWithoutQueue(call: Call, path: string, place: Ground["place"]): Promise<Taken> {
  await requireGit(call, MINIMUM_GIT, VERB);
  const { mainRoot, commonDir } = place;
  return await withRepositoryLock(call, commonDir, VERB, async () => {
    const what = `the worktree ${quote(path, 300)} stays`;
    const named = await git(call, ["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"], { cwd: path, probe: true });
    const [head = "", branch = ""] = named.status === 0 ? named.stdout.split("\n") : [];
    if (head !== "" && !branch.startsWith("refs/heads/")) await requireReachable({ call, place }, head, what);
    const args = ["worktree", "remove", "--", path];
    const result = await git(call, args, { cwd: mainRoot });
    if (result.status !== 0) {
      const words = errorLines(result.stderr);
      if (words === "") throw gitFailure(args, result);
      throw new DotbotError("REFUSED", `${what}: ${words}`, {
        hint: "look at what is in it",
        example: `git -C ${shellWord(path)} status`,
      });
    }
    if (!isAgents(branch)) return { taskId: null, branchDeleted: false, trash: null };
    const short = branch.slice("refs/heads/".length);
    const gone = await git(call, ["branch", "--quiet", "-d", "--", short], { cwd: mainRoot });
    return { taskId: null, branchDeleted: gone.status === 0, trash: null };
  });
}
