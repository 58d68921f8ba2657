/** Ahead and behind for many pairs of commits at two git processes, however many there are. */
import { git, gitText, type GitCtx } from "../git/run.ts";

export interface Ancestry {
  /** Null where the pair wasn't asked for, or git couldn't say. */
  counts(tip: string, base: string): { ahead: number; behind: number } | null;
}

/** Reads the commits that aren't common to all, once, and counts on them. */
export async function ancestry(
  ctx: GitCtx,
  cwd: string,
  pairs: readonly { readonly tip: string; readonly base: string }[],
): Promise<Ancestry> {
  const heads = [...new Set(pairs.flatMap(({ tip, base }) => [tip, base]))];
  if (heads.length === 0) return { counts: () => null };
  const common = await git(ctx, ["merge-base", "--octopus", "--end-of-options", ...heads], { cwd, probe: true });
  const boundary = common.status === 0 ? common.stdout.trim() : "";
  const input = `${heads.join("\n")}\n${boundary === "" ? "" : `^${boundary}\n`}`;
  const text = await gitText(ctx, ["rev-list", "--parents", "--stdin"], { cwd, probe: true, input });
  const parents = new Map<string, readonly string[]>();
  for (const line of text.split("\n")) {
    const [commit, ...rest] = line.split(" ");
    if (commit !== undefined && commit !== "") parents.set(commit, rest);
  }
  const reached = new Map<string, ReadonlySet<string>>();
  const reach = (from: string): ReadonlySet<string> => {
    const known = reached.get(from);
    if (known !== undefined) return known;
    const seen = new Set<string>();
    const waiting = [from];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (seen.has(at) || !parents.has(at)) continue;
      seen.add(at);
      waiting.push(...(parents.get(at) ?? []));
    }
    reached.set(from, seen);
    return seen;
  };
  return {
    counts(tip, base) {
      if (!heads.includes(tip) || !heads.includes(base)) return null;
      const [ours, theirs] = [reach(tip), reach(base)];
      let ahead = 0;
      let behind = 0;
      for (const commit of ours) if (!theirs.has(commit)) ahead += 1;
      for (const commit of theirs) if (!ours.has(commit)) behind += 1;
      return { ahead, behind };
    },
  };
}
