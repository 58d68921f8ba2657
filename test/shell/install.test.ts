/** `completion --install`: what it writes, once however often, and what it says. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import { dotbot } from "../kit/binary.ts";
import { tempDir } from "../kit/git.ts";
import { openShell } from "../kit/pty.ts";
import { fileTree } from "../kit/tasks.ts";

const SHELLS: readonly (readonly [shell: string, stub: string, startup: string | null])[] = [
  ["bash", ".local/share/bash-completion/completions/dotbot", ".bashrc"],
  ["zsh", ".local/share/zsh/site-functions/_dotbot", ".zshrc"],
  ["fish", ".config/fish/completions/dotbot.fish", null],
  ["powershell", ".config/powershell/dotbot-completion.ps1", ".config/powershell/Microsoft.PowerShell_profile.ps1"],
  ["pwsh", ".config/powershell/dotbot-completion.ps1", ".config/powershell/Microsoft.PowerShell_profile.ps1"],
];

test.each(SHELLS)("%s", async (shell, stub, startup) => {
  await using home = await tempDir();
  const call = async (...args: string[]) =>
    await dotbot(["completion", shell, ...args], {
      cwd: home.root,
      env: { HOME: home.root, XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" },
    });
  const installed = await call("--install");
  expect(installed).toMatchObject({ status: 0, stderr: "" });
  expect(installed.stdout).toContain(`wrote ${home.path(stub)}\n`);
  expect(installed.stdout).toContain(`To undo it: remove ${home.path(stub)}`);
  expect(readFileSync(home.path(stub), "utf8")).toBe((await call()).stdout);
  if (startup !== null) expect(readFileSync(home.path(startup), "utf8")).toMatch(/^\. .* # dotbot\n$/);

  const before = fileTree(home.root);
  await call("--install");
  expect(fileTree(home.root)).toEqual(before);
});

test("a new bash completes, whether or not the machine's start-up files load the bash-completion package", async () => {
  await using folder = await tempDir();
  await using shell = await openShell("bash", { cwd: folder.root, setup: ["dotbot completion bash --install"] });
  // Started like any other, it reads the start-up file.
  shell.pty.type("bash\r");
  await shell.does("");
  expect(await shell.runs("dotbot gua\t")).toEqual(["guard"]);
});

test.each<[args: readonly string[], message: string]>([
  [["completion"], "which shell? bash, zsh, fish, powershell"],
  [["completion", "zhs"], 'did you mean "zsh"?'],
  [["completion", "bash", "--instal"], "its flags are --install"],
  [["completion", "bash", "zsh"], "one shell at a time"],
  [["shell-init", "bash", "--install"], "it has none of its own"],
])("dotbot %j is told what would be right", async (args, message) => {
  const { status, stdout, stderr } = await dotbot(args, { cwd: "/" });
  expect(status).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toContain(message);
});
