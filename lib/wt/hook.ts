/** What an agent's hooks for worktrees are told on stdin, and the call that is made of it. */
import { resolve } from "node:path";

import { DotbotError } from "../error.ts";
import { gitDirAt } from "../git/checkouts.ts";
import { commonDirOf, physical, samePath } from "../git/native.ts";
import { resolveRepo, type Repo } from "../git/repo.ts";
import { git, requireGit } from "../git/run.ts";
import { isBare } from "../git/state.ts";
import { isJsonObject, tryParseJson } from "../json.ts";
import type { Call } from "../op.ts";
import { milliseconds, tryLoadSettings } from "../settings.ts";
import type { Target } from "../target.ts";
import { slugify } from "../task/model.ts";
import { codePoints, quote, stripControl } from "../text.ts";
import { MINIMUM_GIT, withBench, type Ground } from "./bench.ts";
import { namedFor } from "./model.ts";

/** Fields that nobody knows here are somebody else's: agents add some with every version. */
export interface Told {
  readonly name: string | undefined;
  readonly worktreePath: string | undefined;
  readonly cwd: string | undefined;
  readonly session: string | undefined;
}

/** Reads the hook's JSON. Errors: USAGE at a terminal, INVALID_INPUT for what isn't a JSON object. */
export async function readTold(call: Call, verb: string, like: object): Promise<Told> {
  const text = await call.readStdin();
  const parsed = tryParseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) {
    throw new DotbotError(
      "INVALID_INPUT",
      text.trim() === "" ? "stdin is empty" : `stdin isn't a JSON object: ${quote(text)}`,
      {
        hint: "an agent's hook pipes its JSON in",
        example: exampleOf(verb, like),
      },
    );
  }
  const { value } = parsed;
  const of = (key: string): string | undefined => {
    const it = value[key];
    return typeof it === "string" && it.trim() !== "" ? it : undefined;
  };
  return {
    name: of("name") ?? of("worktree_name"),
    worktreePath: of("worktree_path"),
    cwd: of("cwd"),
    session: of("session_id"),
  };
}

export function exampleOf(verb: string, like: object): string {
  return `echo '${JSON.stringify(like)}' | dotbot ${verb}`;
}

/**
 * Where a hook's folder lies. `repo` is null for a checkout of a bare repository whose root nothing records: it has no queue.
 * `gitRoot`: the main checkout; where there is none, the checkout in which git is asked.
 */
export interface Spot {
  readonly repo: Repo | null;
  readonly workRoot: string | null;
  readonly gitRoot: string;
  readonly commonDir: string;
}

/** Errors: those of `resolveRepo`, but for a bare repository's checkouts. */
export async function spotAt(call: Call, dir: string | undefined): Promise<Spot> {
  try {
    const repo = await resolveRepo(call, dir);
    return { repo, workRoot: repo.workRoot, gitRoot: repo.mainRoot, commonDir: repo.commonDir };
  } catch (error) {
    const bare = error instanceof DotbotError && error.code === "STATE_ROOT_UNKNOWN" ? await bareSpot(call, dir) : null;
    if (bare === null) throw error;
    return bare;
  }
}

/** Agents work in such checkouts as in any, and a hook in somebody's own settings fires there as well. */
async function bareSpot(call: Call, dir: string | undefined): Promise<Spot | null> {
  const args = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel"];
  const asked = await git(call, args, { cwd: resolve(call.cwd, dir ?? "."), probe: true });
  const [common, top] = asked.status === 0 ? asked.stdout.split("\n").map((it) => physical(it)) : [];
  if (common === undefined || common === null || top === undefined || top === null) return null;
  const gitDir = gitDirAt(top);
  const own = gitDir === null ? null : commonDirOf(gitDir);
  const sound = own !== null && samePath(own, common) && isBare({ commonDir: common, kind: "linked" });
  return sound ? { repo: null, workRoot: top, gitRoot: top, commonDir: common } : null;
}

/** Opens the spot's queue, where there is one. */
export async function withGround<T>(
  call: Call,
  verb: string,
  { repo, gitRoot, commonDir }: Spot,
  work: (ground: Ground) => Promise<T>,
): Promise<T> {
  let opened = false;
  try {
    if (repo !== null)
      return await withBench(call, verb, async (bench) => {
        opened = true;
        return await work(bench);
      });
  } catch (error) {
    if (opened || !(error instanceof DotbotError) || error.code !== "NO_QUEUE") throw error;
  }
  await requireGit(call, MINIMUM_GIT, verb);
  const { settings } = tryLoadSettings(call, gitRoot);
  return await work({ call, settings, place: { mainRoot: gitRoot, commonDir }, queue: null });
}

/**
 * How long a hook waits for its turn where neither the caller nor the settings say: agents start many at once, and give each of
 * them ten minutes.
 */
const WAIT_MS = 9 * 60_000;

/** The call as the agent's session would make it itself, from `cwd`, in the repository that was found. */
export function callIn(call: Call, { repo, gitRoot }: Spot, cwd: string, session: string | undefined): Call {
  const id = codePoints(stripControl(session ?? "").trim())
    .slice(0, 256)
    .join("");
  return Object.create(Object.prototype, {
    ...Object.getOwnPropertyDescriptors(call),
    cwd: { value: cwd, enumerable: true },
    ...(id === "" ? {} : { env: { value: { ...call.env, DOTBOT_SESSION: id }, enumerable: true } }),
    ...(repo === null ? {} : { target: { value: targetOf(repo), enumerable: true } }),
    ...(call.lockWaitOpen === true
      ? { lockWaitMs: { value: waitOf(call, repo?.stateRoot ?? gitRoot), enumerable: true } }
      : {}),
  });
}

function targetOf(repo: Repo): Target {
  return { repo, kind: repo.kind === "linked" ? "same-worktree" : "same-main", confirmed: true };
}

function waitOf(call: Call, root: string): number {
  const { settings, origins } = tryLoadSettings(call, root);
  return origins.has("lock.wait") ? milliseconds(settings.lock.wait) : WAIT_MS;
}

export const PLAIN_PREFIX = "worktree-";

/**
 * The one folder's name that stands for what an agent calls its worktree: letters, digits and dashes, whatever the name has in it.
 * Where that isn't the name itself, or reads as a task's folder, a digest tells it from others that look the same then.
 */
export function folderFor(name: string): string {
  const slug = slugify(name);
  if (slug === name && namedFor(slug) === null) return slug;
  // What has no letter of ASCII in it is called "task", and that with a digest behind it is how tasks' folders begin.
  const stem = slug === "task" ? "agent" : slug.startsWith("task-") ? `agent-${slug}` : slug;
  return `${stem}-${new Bun.CryptoHasher("sha256").update(name).digest("hex").slice(0, 8)}`;
}
