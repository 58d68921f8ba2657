/** Tab, pressed in the real shells. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";

import { openShell, type Shell, type ShellName } from "../kit/pty.ts";
import { taskId8, type Seed } from "../kit/tasks.ts";
import { requireTool } from "../kit/tools.ts";
import { makeWorld, type World } from "../kit/world.ts";

const seeds: readonly Seed[] = [
  { name: "Add a login page" },
  { name: `Fix it's "quoted" name` },
  { name: "Größe prüfen" },
  { name: "Wait for an answer", status: "needs-input" },
  { name: "Work on it", status: "in-progress" },
  { name: "Done with it", status: "done" },
  { name: "Mind the parents'" },
];
const [login, quoted, , asked, working, done] = seeds.map((_, i) => taskId8(i + 1));

/** What a user puts into the shell's start-up file, by the way it comes about. */
const SETUPS: readonly (readonly [name: string, shell: ShellName, setup: readonly string[]])[] = [
  ["bash without the bash-completion package", "bash", ['eval "$(dotbot completion bash)"']],
  [
    "bash with the package, installed",
    "bash",
    ["dotbot completion bash --install", ". /usr/share/bash-completion/bash_completion"],
  ],
  ["zsh", "zsh", ['eval "$(dotbot completion zsh)"']],
  [
    "zsh, from a folder of fpath",
    "zsh",
    ["mkdir ~/f; dotbot completion zsh > ~/f/_dotbot; fpath=(~/f $fpath); autoload -Uz compinit; compinit -u"],
  ],
  ["fish", "fish", ["dotbot completion fish | source"]],
  ["fish, installed", "fish", ["dotbot completion fish --install"]],
];

const LEFT = "\u001B[D";

/** Keys, and the words that dotbot is called with when Enter follows. */
const ROWS: readonly (readonly [what: string, keys: string, words: readonly string[]])[] = [
  ["a noun", "dotbot gua\t", ["guard"]],
  ["a verb", "dotbot task star\t", ["task", "start"]],
  ["a noun's other name", "dotbot worktree --js\t", ["worktree", "--json"]],
  ["a flag", "dotbot task start --pre\t", ["task", "start", "--prefer"]],
  ["a flag turned round", "dotbot task next --no-col\t", ["task", "next", "--no-color"]],
  ["a choice", "dotbot task next --status an\t", ["task", "next", "--status", "analysed"]],
  ["a choice behind =", "dotbot task next --status=an\t", ["task", "next", "--status=analysed"]],
  ["a task by its id", `dotbot task start ${login?.slice(0, 3)}\t`, ["task", "start", login ?? ""]],
  ["the only task that a verb is legal for", "dotbot task review \t", ["task", "review", working ?? ""]],
  ["a task by its name", "dotbot task start Add\t", ["task", "start", "Add a login page"]],
  ["a name in single quotes", "dotbot task start 'Add a\t", ["task", "start", "Add a login page"]],
  ["a name in double quotes", 'dotbot task start "Add a\t', ["task", "start", "Add a login page"]],
  ["a name behind a backslash", "dotbot task start Add\\ a\t", ["task", "start", "Add a login page"]],
  ["a name with quotes", "dotbot task start Fix\t", ["task", "start", `Fix it's "quoted" name`]],
  ["a name with quotes, in quotes", 'dotbot task start "Fix it\t', ["task", "start", `Fix it's "quoted" name`]],
  ["a name that ends in the quote", "dotbot task start 'Mind\t", ["task", "start", "Mind the parents'"]],
  ["a name beyond ASCII", "dotbot task start Gr\t", ["task", "start", "Größe prüfen"]],
  [
    "a task that isn't named yet",
    `dotbot task done ${login} ${quoted?.slice(0, 2)}\t`,
    ["task", "done", login ?? "", quoted ?? ""],
  ],
  ["in the middle of a line", `dotbot task rev --json${LEFT.repeat(7)}\t`, ["task", "review", "--json"]],
  ["behind a global flag", "dotbot --json task star\t", ["--json", "task", "start"]],
  ["a folder", "dotbot -C sub\t", ["-C", "subfolder/"]],
  ["a folder behind =", "dotbot --dir=sub\t", ["--dir=subfolder/"]],
  [
    "a task of another repository",
    "dotbot -C ../other/main task start \t",
    ["-C", "../other/main", "task", "start", login ?? ""],
  ],
  [
    "a file that holds JSON",
    "dotbot task analysed x --analysis ana\t",
    ["task", "analysed", "x", "--analysis", "analysis file.json"],
  ],
  ["a verb of two words", "dotbot guard branch cr\t", ["guard", "branch", "create"]],
  ["a branch", "dotbot guard checkout feat\t", ["guard", "checkout", "feature/größe"]],
  ["a branch with an at sign", "dotbot guard checkout fix@\t", ["guard", "checkout", "fix@2"]],
  ["a branch, as a flag's value", "dotbot wt create --base feat\t", ["wt", "create", "--base", "feature/größe"]],
  ["a remote", "dotbot guard push --remote up\t", ["guard", "push", "--remote", "upstream"]],
  ["a category", "dotbot task list --category bug\t", ["task", "list", "--category", "bugfix"]],
  ["a second item of a list", "dotbot task list --status todo,fai\t", ["task", "list", "--status", "todo,failed"]],
  ["the only task with a worktree", "dotbot wt path \t", ["wt", "path", working ?? ""]],
  ["a file", "dotbot guard add src/co\t", ["guard", "add", "src/code.txt"]],
  ["help's nouns", "dotbot help gua\t", ["help", "guard"]],
  ["a surface's word", "dotbot mcp --rea\t", ["mcp", "--read-only"]],
];

describe.each(SETUPS)("%s", (name, shellName, setup) => {
  const missing =
    (shellName !== "bash" && !requireTool(shellName)) || (name.includes("package,") && !requireTool("bash-completion"));
  let world: World;
  let other: World;
  let shell: Shell;

  beforeAll(async () => {
    if (missing) return;
    world = await makeWorld({ seeds });
    other = await makeWorld({ seeds: [{}], at: world.path("other") });
    mkdirSync(`${world.main}/subfolder`);
    writeFileSync(`${world.main}/analysis file.json`, "{}\n");
    await world.git("branch", "feature/größe");
    await world.git("branch", "fix@2");
    await world.git("remote", "add", "upstream", "../upstream.git");
    await world.ok(["wt", "create", working ?? ""]);
    shell = await openShell(shellName, { cwd: world.main, setup });
  });
  afterAll(async () => {
    await shell?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test.skipIf(missing).each(ROWS)("%s: %j", async (_, keys, words) => {
    expect(await shell.runs(keys)).toEqual([...words]);
  });

  test.skipIf(missing)("several candidates are listed with what they mean", async () => {
    const shown = await shell.shows("dotbot task reset \t\t", /Work on it/);
    for (const id of [asked, working, done]) expect(shown).toContain(id ?? "");
    expect(shown).not.toContain("Add a login page");
  });
});
