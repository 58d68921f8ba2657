/** Which repository a checkout's remotes name: git's configured URLs, with its rewrites applied, read as identities. */
import { resolve } from "node:path";

import { identityKey, parseRemote, type Remote } from "./identity.ts";
import { physical } from "./native.ts";
import { parseNul } from "./parse.ts";
import type { Repo } from "./repo.ts";
import { git, refuseOption, type GitCtx } from "./run.ts";

/** Who a repository is, by its origin. */
export interface Identity {
  /** `owner/repo` for people and for comparing with what a caller writes; null without a hosted origin. */
  readonly ownerRepo: string | null;
  /** For comparing two repositories; null without a usable origin, and then it equals nothing. */
  readonly key: string | null;
  readonly remote: Remote | null;
}

/** The identity of `origin`'s fetch URL; all null without one. */
export async function readIdentity(ctx: GitCtx, repo: Pick<Repo, "mainRoot">): Promise<Identity> {
  const [url] = await urls(ctx, repo, "origin", []);
  return identityOf(url, repo.mainRoot);
}

/** Every URL that a push to a configured remote goes to, rewrites applied; may hold secrets: show `identityOf` instead. */
export async function pushUrls(ctx: GitCtx, repo: Pick<Repo, "mainRoot">, remote: string): Promise<string[]> {
  return await urls(ctx, repo, refuseOption(remote, "remote"), ["--push", "--all"]);
}

/** A URL as an identity; a path is taken against `base` and made physical, so that two spellings of it are equal. */
export function identityOf(url: string | undefined, base: string): Identity {
  const parsed = url === undefined ? null : parseRemote(url);
  if (parsed === null) return { ownerRepo: null, key: null, remote: null };
  if (!("pathKey" in parsed)) return { ownerRepo: parsed.display, key: identityKey(parsed), remote: parsed };
  const path = resolve(base, parsed.pathKey);
  const remote = { pathKey: physical(path) ?? path };
  return { ownerRepo: null, key: identityKey(remote), remote };
}

/** Names of the configured remotes, in git's order. */
export async function remoteNames(ctx: GitCtx, repo: Pick<Repo, "mainRoot">): Promise<string[]> {
  const { stdout } = await git(ctx, ["remote"], { cwd: repo.mainRoot, probe: true, okStatus: [0] });
  return parseNul(stdout.replaceAll("\n", "\0"));
}

/** Empty when there is no such remote; other failures throw. */
async function urls(ctx: GitCtx, repo: Pick<Repo, "mainRoot">, remote: string, flags: string[]): Promise<string[]> {
  const args = ["remote", "get-url", ...flags, "--", remote];
  const result = await git(ctx, args, { cwd: repo.mainRoot, probe: true, okStatus: [0, 2] });
  return result.status === 0 ? parseNul(result.stdout.replaceAll("\n", "\0")) : [];
}
