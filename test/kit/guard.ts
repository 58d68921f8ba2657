/**
 * Guard's operations in process, from whichever place and over whichever surface, and what a repository is, whole, so that
 * "changed nothing" can be said.
 *
 *     const before = await stateOf(repo);
 *     const facts = await refusedFacts(guard("commit", { message: "x", dir: repo }, { cwd: elsewhere }));
 *     expect(await stateOf(repo)).toEqual(before);
 */
import { createHash } from "node:crypto";
import { cpSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Caller, Ctx } from "../../lib/ctx.ts";
import { DotbotError, type ErrorFacts } from "../../lib/error.ts";
import { GUARD_OPERATIONS } from "../../lib/guard/ops.ts";
import { invoke, toolWording } from "../../lib/invoke.ts";
import { toolName, type AnyOperation } from "../../lib/op.ts";
import { resolveTarget } from "../../lib/target.ts";
import { gitEnv } from "./git.ts";

export interface Place {
  /** Where a person stands, or a server: its root. */
  readonly cwd: string;
  /** Over MCP; a server that found no root has null. */
  readonly mcp?: { readonly root: string | null; readonly roots?: readonly string[] };
  readonly env?: Readonly<Record<string, string>>;
  readonly lockWaitMs?: number;
  readonly signal?: AbortSignal;
}

/** A server that stands at a place. */
export function server(root: string | null, roots?: readonly string[]): Place {
  return { cwd: root ?? "/", mcp: { root, ...(roots === undefined ? {} : { roots }) } };
}

export function contextAt(place: Place): Ctx {
  const caller: Caller =
    place.mcp === undefined
      ? { kind: "cli" }
      : {
          kind: "mcp",
          root: place.mcp.root,
          rootFrom: place.mcp.root === null ? null : "cwd",
          tried: ["/nowhere"],
          roots: place.mcp.roots ?? null,
        };
  return {
    surface: caller.kind,
    caller,
    cwd: place.cwd,
    env: gitEnv(place.env),
    now: () => new Date("2024-05-06T07:08:09Z"),
    uuid: () => crypto.randomUUID(),
    pid: process.pid,
    hostname: "here",
    signal: place.signal ?? new AbortController().signal,
    note: () => {},
    progress: () => {},
    readStdin: async () => "",
    prompt: undefined,
    style: { color: false, width: 100 },
    lockWaitMs: place.lockWaitMs ?? 10_000,
    yes: false,
    executable: "/usr/bin/dotbot",
  };
}

/** The result of an operation, as far as a test reads it. */
export type Result = Readonly<Record<string, unknown>>;

/** Runs an operation of guard by its name without the noun, or by its tool's name. */
export async function guard(name: string, input: Readonly<Record<string, unknown>>, place: Place): Promise<Result> {
  const op = GUARD_OPERATIONS.find((it) => it.name === `guard ${name}` || toolName(it) === name);
  if (op === undefined) throw new Error(`guard has no ${name}`);
  return await run(op, input, place);
}

export async function run(op: AnyOperation, input: Readonly<Record<string, unknown>>, place: Place): Promise<Result> {
  const answer = await invoke(
    { op, ctx: contextAt(place), resolve: resolveTarget, wording: toolWording(op, input) },
    input,
  );
  return { ...answer.result };
}

/** What an operation refuses with; fails when it doesn't refuse. */
export async function failure(call: Promise<Result>): Promise<ErrorFacts> {
  let result: Result;
  try {
    result = await call;
  } catch (error) {
    if (error instanceof DotbotError) return error.facts();
    throw error;
  }
  throw new Error(`expected a refusal, got ${JSON.stringify(result)}`);
}

/** The tool's name and the arguments of the example in a refusal. */
export function exampleIn(facts: ErrorFacts): { readonly tool: string; readonly arguments: Result } {
  const example = facts.details?.["example"];
  if (typeof example !== "object" || example === null || !("tool" in example) || !("arguments" in example))
    throw new Error(`no example in ${JSON.stringify(facts)}`);
  const { tool, arguments: args } = example;
  if (typeof tool !== "string" || typeof args !== "object" || args === null)
    throw new Error(`no example in ${JSON.stringify(facts)}`);
  return { tool, arguments: { ...args } };
}

/**
 * All that a change could change: the tree, and every file of the git dir but the objects: refs, their logs, HEADs, indexes,
 * stash, configuration, what is in progress.
 */
export function stateOf(checkout: string): Result {
  const entry = join(checkout, ".git");
  const link = lstatSync(entry).isFile() ? readFileSync(entry, "utf8").slice("gitdir: ".length).trimEnd() : null;
  // A worktree's git dir is <common dir>/worktrees/<name>, a submodule's is its own.
  const common = link === null ? entry : (/^(.*)\/worktrees\/[^/]+$/.exec(link)?.[1] ?? resolve(checkout, link));
  return { tree: treeState(checkout), git: treeState(common, ["objects"]) };
}

/** Every file below a folder, with its content's hash; what is in a git dir isn't part of the tree. */
export function treeState(root: string, without: readonly string[] = [".git"]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const walk = (folder: string): void => {
    for (const name of readdirSync(join(root, folder)).toSorted()) {
      if (without.includes(name)) continue;
      const path = folder === "" ? name : `${folder}/${name}`;
      const stat = lstatSync(join(root, path));
      if (stat.isSymbolicLink()) found[path] = `-> ${readlinkSync(join(root, path))}`;
      else if (stat.isDirectory()) walk(path);
      else
        found[path] = `${stat.mode & 0o111 ? "x" : "-"} ${createHash("sha256")
          .update(readFileSync(join(root, path)))
          .digest("hex")
          .slice(0, 16)}`;
    }
  };
  walk("");
  return found;
}

/** Copies repositories made elsewhere, worktrees and remotes on disk included: their absolute paths follow. */
export function transplant(from: string, to: string): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  const mend = (path: string): void => {
    const text = readFileSync(path, "utf8");
    if (text.includes(from)) writeFileSync(path, text.replaceAll(from, to));
  };
  const walk = (folder: string): void => {
    for (const { name, parentPath, ...entry } of readdirSync(folder, { withFileTypes: true }).map((it) => ({
      name: it.name,
      parentPath: folder,
      folder: it.isDirectory(),
    }))) {
      const path = join(parentPath, name);
      if (entry.folder && name !== "objects") walk(path);
      else if (name === ".git" || name === "gitdir" || name === "config") mend(path);
    }
  };
  walk(to);
}
