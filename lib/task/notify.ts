/** Tells the project's own commands about a status change: after the commit, outside every lock, never undoing it. */
import type { Ctx } from "../ctx.ts";
import { parseDuration } from "../duration.ts";
import type { Settings } from "../settings.ts";
import { firstLine } from "../text.ts";

export interface StatusChange {
  readonly task: Record<string, unknown>;
  readonly path: string;
  readonly stateRoot: string;
  readonly oldStatus: string;
  readonly newStatus: string;
  readonly by: string;
  readonly session_id: string;
  readonly at: string;
}

/** Runs `hooks.on_status`, each with the change as JSON on stdin. A failure is told on stderr and changes nothing. */
export async function notifyStatus(ctx: Ctx, settings: Settings, change: StatusChange): Promise<void> {
  if (settings.hooks.on_status.length === 0) return;
  const { runShell } = await import("../shell.ts");
  const timeoutMs = parseDuration(settings.hooks.timeout) ?? 30_000;
  for (const command of settings.hooks.on_status) {
    const result = await runShell(ctx, command, {
      cwd: change.stateRoot,
      stdin: `${JSON.stringify(change)}\n`,
      timeoutMs,
    });
    if (result.timedOut)
      ctx.note(`hooks.on_status: ${JSON.stringify(command)} was stopped after ${settings.hooks.timeout}`);
    else if (result.status !== 0)
      ctx.note(
        `hooks.on_status: ${JSON.stringify(command)} failed with status ${result.status}: ${firstLine(result.stderr)}`,
      );
  }
}
