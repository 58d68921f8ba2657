/** Completion and the function around dotbot in PowerShell, asked as its own completion engine is asked. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";

import { binary, cleanEnv } from "../kit/binary.ts";
import { taskId8 } from "../kit/tasks.ts";
import { requireTool } from "../kit/tools.ts";
import { makeWorld, type World } from "../kit/world.ts";

const missing = !requireTool("pwsh");
let world: World;

beforeAll(async () => {
  if (missing) return;
  world = await makeWorld({ seeds: [{ name: "Add a login page" }, { name: "It's busy", status: "in-progress" }] });
  mkdirSync(world.path("bin"));
  symlinkSync(await binary(), world.path("bin", "dotbot"));
  await world.ok(["task", "next"]);
});
afterAll(async () => await world?.[Symbol.asyncDispose]());

async function pwsh(script: string): Promise<string> {
  const child = Bun.spawn(["pwsh", "-NoProfile", "-NonInteractive", "-Command", script], {
    cwd: world.main,
    env: cleanEnv({ PATH: `${world.path("bin")}:${process.env["PATH"] ?? ""}`, HOME: world.root }),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  return (await child.stdout.text()).trim();
}

describe("Tab", () => {
  const rows: readonly (readonly [line: string, texts: readonly string[]])[] = [
    ["dotbot gua", ["guard"]],
    ["dotbot task star", ["start"]],
    ["dotbot task next --status an", ["analysed"]],
    ["dotbot task next --status=an", ["--status=analysed"]],
    ["dotbot task review ", [taskId8(2)]],
    ["dotbot task start Add", ["'Add a login page'"]],
    ["dotbot task review It", ["'It''s busy'"]],
  ];
  test.skipIf(missing).each(rows)("%j", async (line, texts) => {
    const quoted = line.replaceAll("'", "''");
    const found = await pwsh(
      `dotbot completion powershell | Out-String | Invoke-Expression; (TabExpansion2 '${quoted}' ${line.length}).CompletionMatches.CompletionText`,
    );
    expect(found.split(/\r?\n/)).toEqual([...texts]);
  });
});

test.skipIf(missing)("wt switch changes the folder, and the status is dotbot's", async () => {
  const { path } = await world.ok(["wt", "create", taskId8(1)]);
  const init = "dotbot shell-init powershell | Out-String | Invoke-Expression";
  expect(await pwsh(`${init}; dotbot wt switch ${taskId8(1)} | Out-Null; (Get-Location).Path`)).toBe(String(path));
  expect(await pwsh(`${init}; dotbot wt switch no-such-task 2>$null; $LASTEXITCODE`)).toBe("3");
});
