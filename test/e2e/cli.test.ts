/**
 * The command line as a process: what stands on stdout and stderr, and the exit status, compared whole. The operations are
 * dummies, so that these tests are about the derivation, and hold for every verb.
 */
import { describe, expect, test } from "bun:test";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { dotbot } from "./dummy/run.ts";

describe("answers", () => {
  const rows: readonly (readonly [title: string, args: readonly string[], stdout: string])[] = [
    ["--version", ["--version"], "dotbot 1.2.3\n"],
    ["version", ["version"], "dotbot 1.2.3\n"],
    ["--version wins wherever it stands", ["task", "list", "--version"], "dotbot 1.2.3\n"],
    ["a verb", ["task", "list"], "1a2b  Fix the login\n007  Tidy up\n"],
    ["its alias", ["task", "ls"], "1a2b  Fix the login\n007  Tidy up\n"],
    ["the bare noun", ["task"], "1a2b  Fix the login\n007  Tidy up\n"],
    [
      "the bare noun with flags of its verb",
      ["task", "--status", "done", "--json"],
      '{"tasks":[{"id":"1a2b","name":"Fix the login"},{"id":"007","name":"Tidy up"}],"status":["done"]}\n',
    ],
    ["a name of three words", ["guard", "branch", "create", "x"], '{"name":"x"}\n'],
    ["an alias of a noun", ["worktree", "run", "--", "ls"], '{"command":["ls"]}\n'],
    ["--ids", ["task", "list", "--ids"], "1a2b\n007\n"],
    [
      "--json before --ids",
      ["task", "list", "--ids", "--json"],
      '{"tasks":[{"id":"1a2b","name":"Fix the login"},{"id":"007","name":"Tidy up"}]}\n',
    ],
    ["global flags in front", ["-C", "/x", "--json", "task", "add", "a"], '{"name":"a","priority":50,"dir":"/x"}\n'],
    ["global flags between", ["task", "--json", "add", "-C/x", "a"], '{"name":"a","priority":50,"dir":"/x"}\n'],
    [
      "number-like and empty text stays text",
      ["task", "add", "007", "-d", "", "--session=1e3"],
      '{"name":"007","description":"","priority":50,"session_id":"1e3"}\n',
    ],
    [
      "values that look like flags",
      ["task", "add", "-d", "-5", "--session=--json", "--", "--yes"],
      '{"name":"--yes","description":"-5","priority":50,"session_id":"--json"}\n',
    ],
    [
      "numbers only where the schema says so",
      ["task", "add", "1", "--priority", "1e1"],
      '{"name":"1","priority":10}\n',
    ],
    [
      "a list with commas",
      ["task", "add", "a", "--depends-on", "b,c"],
      '{"name":"a","priority":50,"dependencies":["b","c"]}\n',
    ],
    [
      "a list by repetition keeps commas",
      ["task", "add", "a", "--depends-on=b,c", "--depends-on", "d"],
      '{"name":"a","priority":50,"dependencies":["b,c","d"]}\n',
    ],
    [
      "prose keeps its commas",
      ["task", "add", "a", "--criteria", "Log in,out"],
      '{"name":"a","priority":50,"acceptance_criteria":["Log in,out"]}\n',
    ],
    [
      "a list as JSON",
      ["task", "add", "a", "--criteria", '["x,y","z"]'],
      '{"name":"a","priority":50,"acceptance_criteria":["x,y","z"]}\n',
    ],
    [
      "booleans, both ways",
      ["task", "add", "a", "--no-skip-analysis", "--no-commit"],
      '{"name":"a","priority":50,"skip_analysis":false,"no_commit":true}\n',
    ],
    [
      "inline JSON",
      ["task", "add", "a", "--analysis", '{"n":1.50}'],
      '{"name":"a","priority":50,"analysis":{"n":1.5}}\n',
    ],
    [
      "flags in the order typed",
      ["task", "ask", "a", "--question", "Q", "--option", "A=1", "--question", "R", "--option", "B=2"],
      '{"task_id":"a","questions":[{"question":"Q","options":["A=1"]},{"question":"R","options":["B=2"]}]}\n',
    ],
    ["an optional word left out", ["task", "answer", "A"], '{"answer":"A"}\n'],
    [
      "words behind -- pass through",
      ["wt", "run", "a", "--", "npm", "--help", "--", "x"],
      '{"task_id":"a","command":["npm","--help","--","x"]}\n',
    ],
    ["one task of a batch", ["task", "start", "a", "--json"], '{"task":"a"}\n'],
    [
      "several",
      ["task", "start", "a", "b", "--json"],
      '{"results":[{"task":"a","result":{"task":"a"}},{"task":"b","result":{"task":"b"}}]}\n',
    ],
    [
      "a context without a terminal",
      ["context", "--quiet"],
      '{"yes":false,"lockWaitMs":10000,"color":false,"width":null,"asks":false}\n',
    ],
    [
      "a context by flags",
      ["context", "--quiet", "--yes", "--lock-wait", "2h", "--color"],
      '{"yes":true,"lockWaitMs":7200000,"color":true,"width":null,"asks":false}\n',
    ],
  ];
  test.each(rows)("%s", async (_title, args, stdout) => {
    expect(await dotbot(args)).toEqual({ stdout, stderr: "", status: 0 });
  });

  test("an answer that is no", async () => {
    expect(await dotbot(["no"])).toEqual({ stdout: "2 findings\n", stderr: "", status: 1 });
    expect(await dotbot(["no", "--json"])).toEqual({ stdout: '{"ok":false,"findings":2}\n', stderr: "", status: 1 });
  });

  test("notes are narration: stderr, and none with --quiet", async () => {
    expect((await dotbot(["context"])).stderr).toBe("a note\n");
    expect((await dotbot(["context", "--json"])).stderr).toBe("a note\n");
  });

  test("colour follows the environment, and flags win", async () => {
    const color = async (env: Readonly<Record<string, string>>, ...flags: readonly string[]) =>
      (await dotbot(["context", "--quiet", ...flags], { env })).stdout.includes('"color":true');
    expect(await color({ FORCE_COLOR: "1" })).toBe(true);
    expect(await color({ FORCE_COLOR: "0" })).toBe(false);
    expect(await color({ FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(false);
    expect(await color({ NO_COLOR: "1" }, "--color")).toBe(true);
    expect(await color({ FORCE_COLOR: "1" }, "--no-color")).toBe(false);
  });
});

describe("errors", () => {
  const rows: readonly (readonly [title: string, args: readonly string[], status: number, stderr: string])[] = [
    [
      "an unknown noun",
      ["tsak"],
      2,
      'dotbot: unknown command "tsak"\n  hint: did you mean "task"?\n  try:  dotbot task\n',
    ],
    [
      "a verb without its noun",
      ["list"],
      2,
      'dotbot: unknown command "list"\n  hint: did you mean "task list"? List the tasks\n  try:  dotbot task list --help\n',
    ],
    [
      "an unknown verb",
      ["task", "ad", "x"],
      2,
      'dotbot: "task" has no verb "ad"\n  hint: did you mean "add"?\n  try:  dotbot task add x\n',
    ],
    [
      "a verb far from all",
      ["wt", "zzzz"],
      2,
      'dotbot: "wt" has no verb "zzzz"\n  hint: its verbs are run\n  try:  dotbot help wt\n',
    ],
    [
      "the name of a built-in property",
      ["constructor"],
      2,
      'dotbot: unknown command "constructor"\n  hint: the commands are task, wt, guard, big, fault, no, wait, stdin, confirm, context, help, version\n  try:  dotbot help\n',
    ],
    [
      "a misspelt flag",
      ["task", "add", "x", "--priorty=3"],
      2,
      'dotbot: unknown flag "--priorty" for "task add"\n  hint: did you mean --priority?\n  try:  dotbot task add x --priority=3\n',
    ],
    [
      "a field's name for its flag",
      ["task", "add", "x", "--dependencies", "a"],
      2,
      'dotbot: unknown flag "--dependencies" for "task add"\n  hint: did you mean --depends-on?\n  try:  dotbot task add x --depends-on a\n',
    ],
    [
      "a flag for agents only",
      ["task", "add", "x", "--agent-only", "a"],
      2,
      'dotbot: unknown flag "--agent-only" for "task add"\n  hint: its flags are --description, --priority, --effort, --depends-on, --criteria, --skip-analysis, --no-commit, --analysis, --session\n  try:  dotbot task add --help\n',
    ],
    [
      "a value forgotten",
      ["task", "add", "-d", "--quiet"],
      2,
      "dotbot: -d needs a value\n  hint: a value that looks like a flag is written --description=--quiet\n",
    ],
    [
      "a flag twice",
      ["task", "add", "x", "-d", "a", "-d", "b"],
      2,
      "dotbot: --description is given twice, and takes one value\n  try:  dotbot task add x -d a\n",
    ],
    [
      "a choice that isn't one",
      ["task", "add", "x", "--effort", "xs"],
      2,
      `dotbot: --effort "xs" isn't one of XS, S, M, L, XL\n  hint: did you mean "XS"?\n  try:  dotbot task add x --effort XS\n`,
    ],
    [
      "one of a list",
      ["task", "list", "--status", "todo,don"],
      2,
      `dotbot: --status "don" isn't one of todo, done, in-progress\n  hint: did you mean "done"?\n  try:  dotbot task list --status todo,done\n`,
    ],
    [
      "a number out of bounds",
      ["task", "add", "x", "--priority", "500"],
      2,
      "dotbot: --priority 500 isn't an integer from 1 to 100\n  hint: --priority: lower is sooner\n  try:  dotbot task add x --priority 50\n",
    ],
    [
      "no number",
      ["task", "add", "x", "--priority=high"],
      2,
      `dotbot: --priority "high" isn't an integer from 1 to 100\n  hint: --priority: lower is sooner\n  try:  dotbot task add x --priority=50\n`,
    ],
    [
      "a word too many",
      ["task", "add", "Fix", "the", "login"],
      2,
      `dotbot: unexpected word "the"\n  hint: usage: dotbot task add [<name>] [options]\n  try:  dotbot task add 'Fix the login'\n`,
    ],
    [
      "a word too few",
      ["guard", "branch", "create"],
      2,
      "dotbot: <name> is missing\n  hint: <name>: the branch\n  try:  dotbot guard branch create fix/login\n",
    ],
    [
      "a command without --",
      ["wt", "run", "a", "npm"],
      2,
      'dotbot: unexpected word "npm"\n  hint: -- <command>… takes the words behind --\n  try:  dotbot wt run a -- npm\n',
    ],
    [
      "a place to work for what has none",
      ["stdin", "-C", "x"],
      2,
      'dotbot: "stdin" touches no repository, so it takes no --dir\n  try:  dotbot stdin --help\n',
    ],
    [
      "no length of time",
      ["context", "--lock-wait", "soon"],
      2,
      `dotbot: --lock-wait "soon" isn't a length of time such as 30s, 10m, 2h or 1h30m\n  try:  dotbot context --lock-wait 30s\n`,
    ],
    ["a question that nobody can answer", ["confirm"], 2, "dotbot: remove it?\n  hint: pass --yes\n"],
    ["what an operation throws", ["task", "start", "missing"], 3, 'dotbot: no task "missing"\n'],
  ];
  test.each(rows)("%s", async (_title, args, status, stderr) => {
    expect(await dotbot(args)).toEqual({ stdout: "", stderr, status });
  });

  test("with --json they stand on stdout, once", async () => {
    expect(await dotbot(["task", "start", "busy", "--json"])).toEqual({
      stdout: '{"error":{"code":"NOT_HOLDER","message":"\\"busy\\" is somebody else\'s","hint":"take another"}}\n',
      stderr: "",
      status: 4,
    });
    const { stdout, stderr, status } = await dotbot(["--json", "tsak"]);
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: "UNKNOWN_COMMAND",
        message: 'unknown command "tsak"',
        hint: 'did you mean "task"?',
        example: "dotbot --json task",
      },
    });
    expect([stderr, status]).toEqual(["", 2]);
  });

  test("a batch goes on, and ends with the highest status", async () => {
    expect(await dotbot(["task", "start", "missing", "a", "busy", "b"])).toEqual({
      stdout: "started a\nstarted b\n",
      stderr:
        'dotbot: "missing": no task "missing"\ndotbot: "busy": "busy" is somebody else\'s\n  hint: take another\n',
      status: 4,
    });
    const { stdout, status } = await dotbot(["task", "start", "missing", "a", "--json"]);
    expect(JSON.parse(stdout)).toEqual({
      results: [
        { task: "missing", error: { code: "TASK_NOT_FOUND", message: 'no task "missing"' } },
        { task: "a", result: { task: "a" } },
      ],
    });
    expect(status).toBe(3);
  });

  test("a fault of ours: the stack on stderr, status 70", async () => {
    const { stdout, stderr, status } = await dotbot(["fault", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "INTERNAL" } });
    expect(stderr).toStartWith("TypeError: something is undefined\n    at ");
    expect(status).toBe(70);
  });
});

describe("input", () => {
  test("a value - is stdin, as text", async () => {
    const { stdout } = await dotbot(["task", "add", "a", "-d", "-"], { stdin: new Blob(["line 1\nline 2"]) });
    expect(JSON.parse(stdout)).toMatchObject({ description: "line 1\nline 2" });
  });

  test("JSON from stdin and from a file", async () => {
    const file = join(await mkdtemp(join(tmpdir(), "dotbot-cli-")), "analysis.json");
    await writeFile(file, '\uFEFF{"from":"file"}');
    expect(JSON.parse((await dotbot(["task", "add", "a", "--analysis", file])).stdout)).toMatchObject({
      analysis: { from: "file" },
    });
    const piped = await dotbot(["task", "add", "a", "--analysis", "-"], { stdin: new Blob(['{"from":"stdin"}']) });
    expect(JSON.parse(piped.stdout)).toMatchObject({ analysis: { from: "stdin" } });
  });

  test("stdin can be read once", async () => {
    const { stderr, status } = await dotbot(["task", "add", "-d", "-", "--analysis", "-"], { stdin: new Blob(["{}"]) });
    expect(stderr).toBe("dotbot: two values say - for stdin, which can be read once\n");
    expect(status).toBe(2);
  });

  test("/dev/null is empty", async () => {
    expect(await dotbot(["stdin", "--quiet"])).toEqual({ stdout: '{"text":""}\n', stderr: "", status: 0 });
  });
});
