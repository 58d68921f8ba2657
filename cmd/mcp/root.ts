/**
 * Where the server stands: the repository that a call means when it names none. Looked for anew at each call, since
 * checkouts vanish, move and come into being while the server runs.
 */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

import type { Caller, Ctx } from "../../lib/ctx.ts";
import { DotbotError } from "../../lib/error.ts";
import { resolveRepo, type Repo } from "../../lib/git/repo.ts";

export interface Standing {
  readonly caller: Caller & { readonly kind: "mcp" };
  readonly repo: Repo | null;
}

interface Place {
  readonly from: NonNullable<Standing["caller"]["rootFrom"]>;
  readonly name: string;
  readonly path: string;
  /** Somebody chose it: when it is no repository, another place isn't what they meant. */
  readonly chosen: boolean;
}

export interface Start {
  /** `--root` */
  readonly root: string | null;
  /** The server's working directory. */
  readonly cwd: string;
  /** What a handshake client advertised, as `file:` URIs; null when it can't advertise any. */
  readonly roots: readonly string[] | null;
}

/** The first place that is a repository. Throws nothing: without one the caller's root is null, and `tried` tells why. */
export async function stand(ctx: Pick<Ctx, "env" | "signal">, { root, cwd, roots }: Start): Promise<Standing> {
  const paths = roots === null ? null : roots.flatMap(pathOf);
  const tried: string[] = [];
  for (const place of placesOf(root, ctx.env, cwd, paths, tried)) {
    try {
      const repo = await resolveRepo({ env: ctx.env, signal: ctx.signal, cwd }, place.path);
      return { caller: { kind: "mcp", root: place.path, repo, rootFrom: place.from, tried, roots: paths }, repo };
    } catch (error) {
      if (!(error instanceof DotbotError)) throw error;
      tried.push(`${place.name} ${place.path}: ${REASONS[error.code] ?? error.message}`);
      if (place.chosen) break;
    }
  }
  return { caller: { kind: "mcp", root: null, rootFrom: null, tried, roots: paths }, repo: null };
}

const REASONS: Readonly<Partial<Record<DotbotError["code"], string>>> = {
  NOT_A_REPOSITORY: "not in a git repository",
  NOT_FOUND: "no such folder",
};

function* placesOf(
  root: string | null,
  env: Ctx["env"],
  cwd: string,
  roots: readonly string[] | null,
  tried: string[],
): Generator<Place> {
  const given = (from: Place["from"], name: string, value: string | null | undefined, chosen: boolean): Place[] => {
    if (value !== null && value !== undefined && value.trim() !== "")
      return [{ from, name, path: resolve(cwd, value), chosen }];
    tried.push(`${name}: not set`);
    return [];
  };
  yield* given("flag", "the server's root flag", root, true);
  yield* given("DOTBOT_ROOT", "DOTBOT_ROOT", env["DOTBOT_ROOT"], true);
  yield* given("CLAUDE_PROJECT_DIR", "CLAUDE_PROJECT_DIR", env["CLAUDE_PROJECT_DIR"], false);
  yield* given("cwd", "the server's working directory", cwd, false);
  const [only] = roots ?? [];
  if (roots === null) tried.push("roots of the client: none advertised");
  else if (only === undefined || roots.length > 1)
    tried.push(`roots of the client: ${roots.length} folders, where one would do`);
  else yield* given("roots", "the client's root", only, false);
}

/** The folder of a `file:` URI; roots of other kinds are no folders. */
function pathOf(uri: string): readonly string[] {
  try {
    return [fileURLToPath(uri)];
  } catch {
    return [];
  }
}
