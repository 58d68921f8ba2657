/**
 * Repositories right inside another one, by their structure on disk: where there are any, a call that names none of them may
 * mean any of them. Only the folder's own children are looked at, never what lies beside it: a flat collection of clones
 * isn't a workspace that its members could know of.
 */
import { basename, join } from "node:path";

import { listEntries, lstatOrNull } from "../files.ts";
import { physical, samePath } from "../git/native.ts";
import { readIdentity } from "../git/remote.ts";
import { resolveRepo, type Repo, type RepoCtx } from "../git/repo.ts";

/** Another repository that a call could mean. */
export interface Inside {
  /** Its toplevel, physical. */
  readonly dir: string;
  readonly ownerRepo: string | null;
  readonly repo: Repo;
}

/** How many children that are repositories are asked about at a time. */
const AT_ONCE = 8;

/**
 * The immediate children (dot folders too, links followed) of the checkout and of the main checkout that are the toplevel of a
 * repository of their own with another identity: another owner/repo or path, or the one around them has none. Not counted:
 * plain folders, checkouts of the same repository, those without an origin, and broken ones.
 */
export async function repositoriesInside(ctx: RepoCtx, repo: Repo): Promise<Inside[]> {
  const tops = new Set([repo.workRoot ?? repo.mainRoot, repo.mainRoot]);
  // Only a `.git` makes a child worth a question: thousands of plain ones cost a look at each and no process.
  const hits = [...tops].flatMap((top) =>
    listEntries(top).flatMap(({ name, mayBeFolder }) =>
      mayBeFolder && name !== ".git" && lstatOrNull(`${top}/${name}/.git`) !== null ? [join(top, name)] : [],
    ),
  );
  if (hits.length === 0) return [];
  const around = await readIdentity(ctx, repo);
  const found = new Map<string, Inside>();
  for (let at = 0; at < hits.length; at += AT_ONCE) {
    const asked = await Promise.all(hits.slice(at, at + AT_ONCE).map((hit) => insideAt(ctx, hit, repo, around.key)));
    for (const inside of asked) if (inside !== null) found.set(inside.dir, inside);
  }
  return [...found.values()].toSorted((a, b) => (basename(a.dir) < basename(b.dir) ? -1 : 1));
}

async function insideAt(ctx: RepoCtx, hit: string, repo: Repo, around: string | null): Promise<Inside | null> {
  const dir = physical(hit);
  if (dir === null) return null;
  try {
    const child = await resolveRepo(ctx, dir);
    if (child.workRoot === null || !samePath(child.workRoot, dir) || samePath(child.commonDir, repo.commonDir))
      return null;
    const { key, ownerRepo } = await readIdentity(ctx, child);
    return key === null || key === around ? null : { dir, ownerRepo, repo: child };
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    // A dangling link, a repository of somebody else's, a format that is too new: nobody can work there by accident.
    return null;
  }
}
