/** What the operations of guard share: their tree, branches by name, refusals of their own, how answers begin. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { echoFields, echoLine, echoOf, type Echo } from "../../git/echo.ts";
import type { Checkout } from "../../git/commit.ts";
import { branchRef, checkBranchName, commitOf, listRefs } from "../../git/refs.ts";
import { requireTree, type Repo } from "../../git/repo.ts";
import { requireGit } from "../../git/run.ts";
import { isQueuePath, QUEUE_PATHS } from "../../git/state.ts";
import { toolName, type AnyOperation, type Call } from "../../op.ts";
import { loadSettings, type Settings } from "../../settings.ts";
import { nearest, quote } from "../../text.ts";
import { git } from "../../git/run.ts";
import { oneLine } from "../../git/parse.ts";
import { spell, type Arguments } from "../spell.ts";

export const filesField = v.optional(
  v.pipe(
    v.array(v.string()),
    v.description(
      "Paths, each taken literally: no globs. Relative to dir. A folder stands for all that is changed in it.",
    ),
  ),
);

export const branchField = (description: string) => v.optional(v.pipe(v.string(), v.description(description)));

export const remoteField = v.optional(
  v.pipe(v.string(), v.description("The name of a configured remote. By default the branch's own, else the only one.")),
);

export const echoOutput = echoFields;

export interface Tree extends Checkout {
  readonly repo: Repo;
}

/** The oldest git whose commands guard uses. */
export const MINIMUM_GIT = "2.38";

/** The checkout that the target rule let the call have. */
export async function treeOf(call: Call, op: string): Promise<Tree> {
  const { repo } = call.target;
  const workRoot = requireTree(repo);
  await requireGit({ env: call.env, signal: call.signal, cwd: workRoot }, MINIMUM_GIT, op);
  return { repo, workRoot, gitDir: repo.gitDir };
}

export async function echo(call: Call, done: string): Promise<Echo> {
  return await echoOf(call, call.target.repo, done);
}

/** The head of an answer and its facts, a line each. */
export function told(result: Echo, ...facts: readonly string[]): string {
  return echoLine(result) + facts.map((fact) => `${fact}\n`).join("");
}

/** Network children end before a client that waits for the answer gives up; at a terminal a large push may take its time. */
export function networkTimeout(call: Call): number {
  return call.surface === "mcp" ? 45_000 : 600_000;
}

/** A remote that says nothing for this long is gone. For transports that git itself speaks. */
export const STALLED = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30"] as const;

export function settingsOf(call: Call): Settings {
  return loadSettings(call, call.target.repo.stateRoot);
}

/** What an operation refuses that only it can know, in the form of the contract's refusals. */
export function refused(
  call: Call,
  op: AnyOperation,
  input: Arguments,
  refusal: {
    readonly why: string;
    readonly missing?: readonly string[];
    readonly mismatched?: readonly string[];
    readonly code?: "REFUSED" | "DIRTY" | "UNMERGED";
    readonly hint?: string;
    /** Keys with which the call works. Without it no example is given. */
    readonly works?: Arguments;
    readonly candidates?: readonly string[];
    readonly details?: Readonly<Record<string, unknown>>;
  },
): DotbotError {
  const { repo, kind, ownerRepo } = call.target;
  const { code = "REFUSED", missing = [], mismatched = [], why, works } = refusal;
  const args = works === undefined ? undefined : defined({ ...input, ...works });
  return new DotbotError(code, `${op.name} is refused at ${repo.workRoot ?? repo.mainRoot}: ${why}`, {
    ...(refusal.hint === undefined ? {} : { hint: refusal.hint }),
    ...(args === undefined ? {} : { example: spell(op, call.surface, args) }),
    details: {
      code,
      op: op.name,
      missing,
      mismatched,
      target: { repoPath: repo.workRoot ?? repo.mainRoot, ownerRepo: ownerRepo ?? null, kind },
      ...(refusal.candidates === undefined ? {} : { candidates: refusal.candidates }),
      why,
      ...(args === undefined ? {} : { example: { tool: toolName(op), arguments: args } }),
      ...refusal.details,
    },
  });
}

function defined(args: Arguments): Arguments {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined && value !== null));
}

/** A text that was given, without blanks around it; undefined for none, and for one that is blank. */
export function given(value: string | undefined): string | undefined {
  const text = value?.trim();
  return text === "" ? undefined : text;
}

// ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function branchNames(call: Call): Promise<string[]> {
  const { repo } = call.target;
  return [...(await listRefs(call, repo.mainRoot, "refs/heads/")).keys()].map((ref) => ref.slice("refs/heads/".length));
}

/** The tip of a local branch. Throws INVALID_INPUT for what can't be a branch's name, NOT_FOUND with the nearest one. */
export async function branchTip(
  call: Call,
  op: AnyOperation,
  input: Arguments,
  key: string,
  branch: string,
): Promise<string> {
  const { repo } = call.target;
  await checkBranchName(call, repo.mainRoot, branch);
  const tip = await commitOf(call, repo.mainRoot, branchRef(branch));
  if (tip !== null) return tip;
  const names = await branchNames(call);
  const near = nearest(branch, names) ?? names[0];
  throw new DotbotError("NOT_FOUND", `there is no branch ${quote(branch)} in ${quote(repo.mainRoot, 200)}`, {
    hint:
      names.length === 0
        ? "it has no branch with a commit yet"
        : `its branches: ${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`,
    ...(near === undefined ? {} : { example: spell(op, call.surface, { ...input, [key]: near }) }),
    details: { branch, branches: names.slice(0, 50) },
  });
}

/**
 * Branches on which others build, the first of them the default one: the setting, what a remote says is its default, else main
 * or master. Empty when there is none.
 */
export async function protectedBranches(call: Call): Promise<string[]> {
  const { mainRoot } = call.target.repo;
  const setting = settingsOf(call).git.base_branch;
  const args = ["for-each-ref", "--format=%(refname) %(symref)", "refs/remotes/**/HEAD"];
  const { stdout } = await git(call, args, { cwd: mainRoot, probe: true, okStatus: [0] });
  const heads = stdout.split("\n").flatMap((line) => {
    const match = /^refs\/remotes\/(.+)\/HEAD refs\/remotes\/(.+)$/.exec(line);
    const [, remote = "", ref = ""] = match ?? [];
    return match !== null && ref.startsWith(`${remote}/`) ? [{ remote, branch: ref.slice(remote.length + 1) }] : [];
  });
  const first = heads
    .toSorted((a, b) => Number(b.remote === "origin") - Number(a.remote === "origin"))
    .map(({ branch }) => branch);
  const usual = first.length > 0 || setting !== null ? [] : await usualNames(call);
  return [...new Set([...(setting === null ? [] : [setting]), ...first, ...usual])];
}

async function usualNames(call: Call): Promise<string[]> {
  const names = new Set(await branchNames(call));
  const found = ["main", "master"].filter((name) => names.has(name));
  if (found.length > 0) return found;
  const { mainRoot } = call.target.repo;
  // A repository whose only branch is called otherwise: the one that its main checkout was made with.
  const configured = oneLine(
    (await git(call, ["config", "--get", "init.defaultBranch"], { cwd: mainRoot, probe: true })).stdout,
  );
  return names.has(configured) ? [configured] : [];
}

// ── the queue's files ────────────────────────────────────────────────────────────────────────────────────────────────

/** Refuses the queue's own paths in a linked worktree: they travel with no branch. */
export function refuseQueuePaths(call: Call, op: AnyOperation, input: Arguments): (paths: readonly string[]) => void {
  return (paths) => {
    if (call.target.repo.kind !== "linked") return;
    const queue = paths.filter((path) => isQueuePath(path));
    if (queue.length === 0) return;
    const kept = paths.filter((path) => !isQueuePath(path));
    throw refused(call, op, input, {
      why: `${queue
        .slice(0, 5)
        .map((path) => quote(path))
        .join(", ")} belong${queue.length === 1 ? "s" : ""} to the queue, which no branch carries`,
      mismatched: ["files"],
      hint: `leave out what is in ${QUEUE_PATHS.join(" and ")}: the queue changes by its own verbs, from any checkout`,
      ...(kept.length === 0 ? {} : { works: { files: kept.slice(0, 20) } }),
      details: { queuePaths: queue },
    });
  };
}
