/** Whether the project's own branches track the queue's files: a setting, else what git has in its index. */
import type { Ctx } from "../ctx.ts";
import type { Repo } from "../git/repo.ts";
import { git } from "../git/run.ts";
import type { Settings } from "../settings.ts";

export async function isTracked(ctx: Ctx, repo: Repo, settings: Settings): Promise<boolean> {
  if (settings.queue.tracked !== null) return settings.queue.tracked;
  const args = ["--literal-pathspecs", "ls-files", "-z", "--", ".bot/workspace/tasks"];
  const listed = await git(ctx, args, { cwd: repo.stateRoot, probe: true });
  return listed.status === 0 && listed.stdout !== "";
}
