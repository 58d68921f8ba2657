/**
 * A refusal as its caller gets it: what is missing or doesn't match, what the call would have reached, and an example of a
 * call that works, made of the caller's own arguments and real values.
 */
import { join, relative, resolve, sep } from "node:path";

import { DotbotError } from "../error.ts";
import { PLACEHOLDER } from "../explain.ts";
import { lstatOrNull } from "../files.ts";
import { readIdentity } from "../git/remote.ts";
import { readHead, resolveRepo, type Repo } from "../git/repo.ts";
import { git } from "../git/run.ts";
import { checkoutsOf, isBare, isQueuePath, trackedChanges } from "../git/state.ts";
import { toolName } from "../op.ts";
import type { Refusal, TargetKind } from "./intent.ts";
import { judge, requestOf, type Caller, type Request } from "./judge.ts";
import { spell, type Arguments } from "./spell.ts";
import { shellWord } from "../text.ts";

/** A checkout that a call could mean. */
export interface Candidate {
  readonly dir: string;
  readonly ownerRepo?: string | null;
}

/** What a refused call would have reached. */
export interface Reached {
  readonly repo: Repo;
  readonly kind: TargetKind;
}

interface Example {
  readonly tool: string;
  readonly arguments: Arguments;
}

/** The checkouts that are there, linked ones first: work is done in those, and a server stands in the main one. */
export function presentCheckouts(repo: Repo): Candidate[] {
  const present = checkoutsOf(repo, isBare(repo)).filter((checkout) => checkout.present);
  return present.toSorted((a, b) => Number(a.main) - Number(b.main)).map(({ path }) => ({ dir: path }));
}

export async function refusal(
  request: Request,
  caller: Caller,
  reached: Reached | null,
  verdict: Refusal,
  candidates: readonly Candidate[] = [],
): Promise<DotbotError> {
  const { ctx, op } = request;
  const { code, missing, mismatched, why } = verdict;
  const { ownerRepo = null } = reached === null ? {} : await ownerOf(request, reached.repo);
  const { ways, text } = await exampleOf(request, caller, reached, verdict, candidates);
  const place =
    reached === null
      ? ""
      : ` at ${ownerRepo === null ? "" : `${ownerRepo} @ `}${reached.repo.workRoot ?? reached.repo.mainRoot}`;
  return new DotbotError(code, `${op.name} is refused${place}: ${why}`, {
    ...hintOf(verdict, ctx.surface, candidates),
    ...(text === null ? {} : { example: text }),
    details: {
      code,
      op: op.name,
      missing,
      mismatched,
      target:
        reached === null
          ? null
          : { repoPath: reached.repo.workRoot ?? reached.repo.mainRoot, ownerRepo, kind: reached.kind },
      ...(candidates.length === 0 ? {} : { candidates }),
      why,
      ...(ways === null ? {} : { example: ways }),
    },
  });
}

function hintOf(
  { missing, mismatched }: Refusal,
  surface: "cli" | "mcp",
  candidates: readonly Candidate[],
): { hint?: string } {
  const spelt = (keys: readonly string[]): string =>
    keys
      .map((key) =>
        surface === "mcp" || key === "files"
          ? key
          : key === "DOTBOT_CALLER_REPO"
            ? key
            : `--${key.replaceAll("_", "-")}`,
      )
      .join(" and ");
  if (missing.length > 0) {
    const among =
      candidates.length === 0
        ? ""
        : `; it could be ${candidates
            .slice(0, 6)
            .map(({ dir }) => JSON.stringify(dir))
            .join(", ")}${candidates.length > 6 ? ", …" : ""}`;
    return { hint: `give ${spelt(missing)}${among}` };
  }
  return mismatched.length > 0
    ? { hint: `${spelt(mismatched)} has to match, and chooses nothing: mend it, or name the checkout that is meant` }
    : {};
}

async function ownerOf(request: Request, repo: Repo): Promise<{ ownerRepo: string | null }> {
  try {
    return await readIdentity(request.ctx, repo);
  } catch (error) {
    // Who it is only adorns a refusal that stands without it.
    if (error instanceof DotbotError) return { ownerRepo: null };
    throw error;
  }
}

// ── a call that works ────────────────────────────────────────────────────────────────────────────────────────────────

async function exampleOf(
  request: Request,
  caller: Caller,
  reached: Reached | null,
  verdict: Refusal,
  candidates: readonly Candidate[],
): Promise<{ ways: Example | null; text: string | null }> {
  const { ctx, op } = request;
  const shown = (args: Arguments | null): { ways: Example | null; text: string | null } =>
    args === null
      ? { ways: null, text: null }
      : { ways: { tool: toolName(op), arguments: args }, text: spell(op, ctx.surface, args) };
  if (verdict.missing.includes("dir")) {
    const dirs = candidates.length > 0 ? candidates.map(({ dir }) => dir) : [PLACEHOLDER];
    return shown((await firstThatWorks(request, caller, dirs)) ?? { ...request.input, dir: dirs[0] });
  }
  if (reached === null) return { ways: null, text: null };
  if (!verdict.outright) return shown(await completed(request, caller, reached.repo, request.input));
  const others = presentCheckouts(reached.repo).filter(
    ({ dir }) => dir !== reached.repo.workRoot && dir !== reached.repo.mainRoot,
  );
  const elsewhere = await firstThatWorks(
    request,
    caller,
    others.map(({ dir }) => dir),
  );
  return elsewhere === null ? await newWorktree(request, reached.repo) : shown(elsewhere);
}

/**
 * The arguments with one of these folders as `dir`, for which the contract allows them, the keys it demands filled in. A
 * checkout that has the files comes first; where none has, the files are what is changed there.
 */
async function firstThatWorks(request: Request, caller: Caller, dirs: readonly string[]): Promise<Arguments | null> {
  const { task_id: _, ...rest } = request.input;
  let second: Arguments | null = null;
  for (const dir of dirs.slice(0, 20)) {
    try {
      const repo = await resolveRepo(request.ctx, dir);
      const fits = request.files.every((file) => lstatOrNull(resolve(repo.start, file)) !== null);
      if (!fits && second !== null) continue;
      const files = fits ? {} : { files: await changedFiles(request, repo) };
      const args = await completed(request, caller, repo, { ...rest, ...files, dir });
      if (args !== null && fits) return args;
      second ??= args;
    } catch (error) {
      if (!(error instanceof DotbotError)) throw error;
    }
  }
  return second;
}

/** The arguments with what the contract demands on this target filled in; null when it allows them in no way. */
async function completed(request: Request, caller: Caller, repo: Repo, input: Arguments): Promise<Arguments | null> {
  let args = input;
  // Each round fills in all that is missing or wrong; a second one is needed where a key changes what else is demanded.
  for (let round = 0; round < 4; round++) {
    const asked = requestOf(request.ctx, request.op, request.rule, args);
    const { verdict } = await judge(asked, caller, repo);
    if (verdict.ok) return args;
    if (verdict.outright) return null;
    const { [verdict.mismatched[0] ?? ""]: _, ...kept } = args;
    args = kept;
    for (const key of [...verdict.missing, ...verdict.mismatched]) {
      const value = await valueOf(asked, repo, key);
      if (value !== null) args = { ...args, [key]: value };
    }
  }
  return null;
}

/** A real value for a key, from the target itself; null where only leaving the key out is right. */
async function valueOf(request: Request, repo: Repo, key: string): Promise<unknown> {
  const { ctx } = request;
  switch (key) {
    case "owner_repo":
      return (await readIdentity(ctx, repo)).ownerRepo;
    case "expect_sha":
      return (await readHead(ctx, repo)).sha;
    case "files":
      return await changedFiles(request, repo);
    case "branch":
      return await branchFor(request, repo);
    default:
      return null;
  }
}

async function branchFor(request: Request, repo: Repo): Promise<string | null> {
  const head = await readHead(request.ctx, repo);
  if (head.branch !== null && head.sha !== null && request.guardOp !== "finish") return head.branch;
  // Before the first commit there is no branch to send; a remote may have one to pull.
  return (
    (await someBranch(request, repo, head.sha)) ??
    (head.sha === null && request.guardOp !== "pull" ? null : head.branch)
  );
}

/** What is changed in the tree, as the call would name it. */
async function changedFiles(request: Request, repo: Repo): Promise<string[]> {
  const root = repo.workRoot ?? repo.mainRoot;
  const changes = await trackedChanges(request.ctx, root, { foreign: true, untracked: true });
  const paths = changes
    .filter(({ kind, path }) => kind !== "unmerged" && !path.endsWith("/") && !isQueuePath(path))
    .map(({ path }) => path);
  const files = paths.slice(0, 3).map((path) => relative(repo.start, join(root, path)).split(sep).join("/"));
  return files.length === 0 ? [PLACEHOLDER] : files;
}

/** A branch for which the operation makes sense: for a pull one at a remote that HEAD leads to, for a finish one with work of its own. */
async function someBranch({ ctx, guardOp }: Request, repo: Repo, head: string | null): Promise<string | null> {
  const cwd = repo.mainRoot;
  const refs = async (...args: string[]): Promise<string[]> => {
    const asked = await git(
      ctx,
      ["for-each-ref", "--format=%(refname)%00%(symref)", "--sort=-committerdate", ...args],
      { cwd, probe: true },
    );
    return asked.status === 0
      ? asked.stdout.split("\n").flatMap((line) => (line.endsWith("\0") ? [line.slice(0, -1)] : []))
      : [];
  };
  const short = (ref: string | undefined, parts: number): string | null =>
    ref?.split("/").slice(parts).join("/") ?? null;
  if (guardOp === "pull")
    return short((await refs(...(head === null ? [] : [`--contains=${head}`]), "refs/remotes"))[0], 3);
  if (guardOp === "finish") {
    const bases = await refs("refs/remotes/*/main", "refs/remotes/*/master", "refs/heads/main", "refs/heads/master");
    const own = await refs(...bases.map((base) => `--no-merged=${base}`), "refs/heads");
    return short(
      own.find((ref) => !bases.includes(ref)),
      2,
    );
  }
  return short((await refs("refs/heads"))[0], 2);
}

/** No checkout of that repository will do: the tool that makes one. */
async function newWorktree(request: Request, repo: Repo): Promise<{ ways: Example; text: string }> {
  const { anyOpenTask } = await import("./task.ts");
  const task = anyOpenTask(repo) ?? PLACEHOLDER;
  const args = { dir: repo.mainRoot, task_id: task };
  return {
    ways: { tool: "wt_create", arguments: args },
    text:
      request.ctx.surface === "mcp"
        ? `wt_create ${JSON.stringify(args)}`
        : `dotbot wt create -C ${shellWord(repo.mainRoot)} ${shellWord(task)}`,
  };
}
