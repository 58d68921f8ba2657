/** How long an operation that writes waits for a lock: as the call says, else as the repository's settings do. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";

import * as v from "valibot";

import { operation } from "../../lib/op.ts";
import { inProcess } from "../kit/call.ts";

const probe = (effect: "read" | "write") =>
  operation({
    name: "probe",
    summary: "Tell how long it would wait",
    examples: [],
    effect,
    target: { rule: "queue" },
    input: v.strictObject({}),
    output: v.object({ wait: v.number() }),
    run: async ({ lockWaitMs }) => ({ wait: lockWaitMs }),
    text: () => "",
  });

test.each<
  [what: string, given: { lockWaitMs: number; lockWaitOpen: boolean }, env: Record<string, string>, wait: number]
>([
  ["the call's", { lockWaitMs: 700, lockWaitOpen: false }, {}, 700],
  ["the settings file's", { lockWaitMs: 10_000, lockWaitOpen: true }, {}, 90_000],
  ["the environment's", { lockWaitMs: 10_000, lockWaitOpen: true }, { DOTBOT_LOCK_WAIT: "2s" }, 2000],
])("%s", async (_, given, env, wait) => {
  await using world = await inProcess();
  writeFileSync(`${world.repo}/.bot/settings.json`, '{"lock":{"wait":"90s"}}\n');
  const { result } = await world.call(probe("write"), {}, { ...given, env: { ...world.ctx().env, ...env } });
  expect(result).toEqual({ wait });
});

test("a read doesn't look the settings up: it only waits for a commit in progress", async () => {
  await using world = await inProcess();
  writeFileSync(`${world.repo}/.bot/settings.json`, '{"lock":{"wait":"90s"}}\n');
  const { result } = await world.call(probe("read"), {}, { lockWaitMs: 10_000, lockWaitOpen: true });
  expect(result).toEqual({ wait: 10_000 });
});
