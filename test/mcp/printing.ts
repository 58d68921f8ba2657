/** A dotbot whose one tool prints in every way there is, as a process of its own. */
import { writeSync } from "node:fs";

import * as v from "valibot";

import { realHost } from "../../cmd/host.ts";
import { main } from "../../cmd/main.ts";
import { mcpSurface } from "../../cmd/mcp.ts";
import { resolveRepo } from "../../lib/git/repo.ts";
import { operation } from "../../lib/op.ts";
import type { Nouns } from "../../lib/ops.ts";

export const WAYS = [
  "console.log",
  "console.table",
  "process.stdout",
  "Bun.stdout",
  "descriptor 1",
  "a child",
] as const;

const print = operation({
  name: "task print",
  summary: "Print",
  examples: [],
  effect: "read",
  target: { rule: "queue" },
  input: v.strictObject({}),
  output: v.object({ done: v.boolean() }),
  async run(call) {
    console.log("stray console.log");
    console.table([["stray console.table"]]);
    process.stdout.write("stray process.stdout\n");
    await Bun.write(Bun.stdout, "stray Bun.stdout\n");
    writeSync(1, "stray descriptor 1\n");
    await Bun.spawn(["sh", "-c", "echo stray a child"], { stdin: "ignore", stdout: "inherit", stderr: "inherit" })
      .exited;
    call.note("a note");
    return { done: true };
  },
  text: () => "",
});

const nouns: Nouns = { task: { summary: "", example: { run: "task print", does: "" }, load: async () => [print] } };
const program = {
  version: "1.2.3",
  nouns,
  resolve: async (ctx: Parameters<typeof resolveRepo>[0]) => ({
    repo: await resolveRepo(ctx),
    kind: "same-main" as const,
    confirmed: true,
  }),
};

if (import.meta.main) process.exitCode = await main(realHost(), { ...program, surfaces: { mcp: mcpSurface(program) } });
