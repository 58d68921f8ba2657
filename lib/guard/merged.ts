/** Whether a branch's commits are safe without it. */
import type { GitCtx } from "../git/run.ts";
import { git } from "../git/run.ts";
import { isAncestor, isOid, listRefs, treeOf } from "../git/refs.ts";
import { parseNul } from "../git/parse.ts";
import { withoutFilters } from "../git/state.ts";

/** How it is known that a branch may go. */
export type Integrated = "ancestor" | "completed" | "adds-nothing";

/**
 * How `tip` is in `base`: by ancestry, by the recorded completion of exactly this tip, or because merging it would change
 * nothing. Null when none holds: commits would be lost. `foreign`: no merge driver that the repository configures is run.
 */
export async function integratedIn(
  ctx: GitCtx,
  cwd: string,
  commits: { readonly tip: string; readonly base: string; readonly foreign: boolean },
): Promise<Integrated | null> {
  const { tip, base } = commits;
  if (await isAncestor(ctx, cwd, tip, base)) return "ancestor";
  const done = await listRefs(ctx, cwd, "refs/dotbot/done/");
  if ([...done.values()].includes(tip)) return "completed";
  const env = commits.foreign ? await withoutFilters(ctx, cwd) : {};
  const args = ["merge-tree", "--write-tree", "-z", "--no-messages", "--end-of-options", base, tip];
  const result = await git(ctx, args, { cwd, probe: true, env });
  const [tree = ""] = parseNul(result.stdout);
  if (result.status !== 0 || !isOid(tree)) return null;
  return tree === (await treeOf(ctx, cwd, base)) ? "adds-nothing" : null;
}
