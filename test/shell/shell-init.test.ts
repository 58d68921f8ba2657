/** The function around dotbot that changes a shell's folder, in the real shells. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { openShell, type Shell, type ShellName } from "../kit/pty.ts";
import { taskId8 } from "../kit/tasks.ts";
import { requireTool } from "../kit/tools.ts";
import { makeWorld, type World } from "../kit/world.ts";

const SETUPS: readonly (readonly [shell: ShellName, setup: readonly string[]])[] = [
  ["bash", ['eval "$(dotbot shell-init bash)"']],
  ["bash", ['set -u; eval "$(dotbot shell-init bash)"']],
  ["zsh", ['eval "$(dotbot shell-init zsh)"']],
  ["fish", ["dotbot shell-init fish | source"]],
];
const id = taskId8(1);

describe.each(SETUPS)("%s, after %j", (name, setup) => {
  const missing = name !== "bash" && !requireTool(name);
  let world: World;
  let shell: Shell;

  beforeAll(async () => {
    if (missing) return;
    world = await makeWorld({ seeds: [{ name: "Größe 'prüfen'" }, {}] });
    await world.ok(["wt", "create", id]);
    shell = await openShell(name, { cwd: world.main, setup, real: true });
  });
  afterAll(async () => {
    await shell?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const status = name === "fish" ? "$status" : "$?";

  test.skipIf(missing)("wt switch goes to a task's worktree, and back without a task", async () => {
    const path = String((await world.ok(["wt", "path", id]))["path"]);
    expect(await shell.does(`cd ${world.main}; dotbot wt switch ${id} >/dev/null; pwd`)).toBe(`${path}\n`);
    expect(await shell.does("dotbot worktree switch >/dev/null; pwd")).toBe(`${world.main}\n`);
  });

  test.skipIf(missing)("what fails, and what changes no folder, leave it alone; the status is dotbot's", async () => {
    expect(
      await shell.does(`cd ${world.main}; dotbot wt switch no-such-task 2>/dev/null; echo "status ${status}"; pwd`),
    ).toBe(`status 3\n${world.main}\n`);
    expect(await shell.does(`dotbot wt list >/dev/null; echo "status ${status}"; pwd`)).toBe(
      `status 0\n${world.main}\n`,
    );
    expect(await shell.does(`dotbot task no-such-verb 2>/dev/null; echo "status ${status}"`)).toBe("status 2\n");
  });

  test.skipIf(missing)("words arrive as they are, and so does stdin", async () => {
    expect(await shell.does(`dotbot task add 'two  words "and" $more' --ids`)).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(
      await shell.does(
        `echo 'From a pipe' | dotbot task edit ${taskId8(2)} --description - --json | grep -c 'From a pipe'`,
      ),
    ).toBe("1\n");
  });

  test.skipIf(missing)("completion comes with it", async () => {
    expect(await shell.shows("dotbot shell-i\t", /dotbot shell-init/)).toContain("shell-init");
  });
});
