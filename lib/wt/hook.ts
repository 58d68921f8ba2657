/** What an agent's hooks for worktrees are told on stdin, and the call that is made of it. */
import { resolve } from "node:path";

import { DotbotError } from "../error.ts";
import { gitDirAt } from "../git/checkouts.ts";
import { commonDirOf, physical, samePath } from "../git/native.ts";
import { resolveRepo, type Repo } from "../git/repo.ts";
import { git } from "../git/run.ts";
import { isBare } from "../git/state.ts";
import { isJsonObject, tryParseJson } from "../json.ts";
import type { Call } from "../op.ts";
import { milliseconds, tryLoadSettings } from "../settings.ts";
import { slugify } from "../task/model.ts";
import { codePoints, quote, stripControl } from "../text.ts";

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

/** Where a hook's folder lies. `repo` is null for a checkout of a bare repository whose root nothing records: it has no queue. */
export interface Spot {
  readonly repo: Repo | null;
  readonly workRoot: string | null;
  readonly commonDir: string;
}

/** Errors: those of `resolveRepo`, but for a bare repository's checkouts. */
export async function spotAt(call: Call, dir: string | undefined): Promise<Spot> {
  try {
    const repo = await resolveRepo(call, dir);
    return { repo, workRoot: repo.workRoot, commonDir: repo.commonDir };
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
  return sound ? { repo: null, workRoot: top, commonDir: common } : null;
}

/** The call as the agent's session would make it itself, from `cwd`, in the repository that was found. */
export function callIn(call: Call, repo: Repo | null, cwd: string, session: string | undefined): Call {
  const id = codePoints(stripControl(session ?? "").trim())
    .slice(0, 256)
    .join("");
  return Object.create(Object.prototype, {
    ...Object.getOwnPropertyDescriptors(call),
    cwd: { value: cwd, enumerable: true },
    ...(id === "" ? {} : { env: { value: { ...call.env, DOTBOT_SESSION: id }, enumerable: true } }),
    ...(repo === null ? {} : targetOf(call, repo)),
  });
}

function targetOf(call: Call, repo: Repo): PropertyDescriptorMap {
  const kind = repo.kind === "linked" ? "same-worktree" : "same-main";
  const target = { value: { repo, kind, confirmed: true }, enumerable: true };
  if (call.lockWaitOpen !== true) return { target };
  const { settings } = tryLoadSettings(call, repo.stateRoot);
  return { target, lockWaitMs: { value: milliseconds(settings.lock.wait), enumerable: true } };
}

export const PLAIN_PREFIX = "worktree-";

/**
 * The one folder's name that stands for what an agent calls its worktree: letters, digits and dashes, whatever the name has in it.
 * Where that isn't the name itself, a digest tells it from others that look the same then.
 */
export function folderFor(name: string): string {
  const slug = slugify(name);
  if (slug === name) return slug;
  return `${slug}-${new Bun.CryptoHasher("sha256").update(name).digest("hex").slice(0, 8)}`;
}
