/** How long an agent's hook waits for its turn: minutes, where neither the call nor the settings say. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";

import { resolveTarget } from "../../lib/target.ts";
import { callIn, spotAt } from "../../lib/wt/hook.ts";
import { hookCreateOperation } from "../../lib/wt/ops/hook.ts";
import { inProcess } from "../kit/call.ts";

const MINUTES = 9 * 60_000;

test.each<[what: string, open: boolean, settings: string | null, env: Record<string, string>, wait: number]>([
  ["as the call says", false, '{"lock":{"wait":"90s"}}', {}, 700],
  ["as the settings say", true, '{"lock":{"wait":"90s"}}', {}, 90_000],
  ["as the settings say, be it what is said without them", true, '{"lock":{"wait":"10s"}}', {}, 10_000],
  ["as the environment says", true, null, { DOTBOT_LOCK_WAIT: "2s" }, 2000],
  ["nobody says", true, '{"worktree":{"root":null}}', {}, MINUTES],
])("%s", async (_, lockWaitOpen, settings, env, wait) => {
  await using world = await inProcess();
  if (settings !== null) writeFileSync(`${world.repo}/.bot/settings.json`, `${settings}\n`);
  const ctx = world.ctx({ lockWaitMs: 700, lockWaitOpen, env: { ...world.ctx().env, ...env } });
  const call = { ...ctx, target: await resolveTarget(ctx, hookCreateOperation, {}) };
  expect(callIn(call, await spotAt(call, undefined), world.repo, "5e55").lockWaitMs).toBe(wait);
});
