/** The first `init` at a terminal asks which agents are told and whether to commit; nothing is written before the last answer. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";

import { binary, dotbot } from "../kit/binary.ts";
import { makeRepo, run, tempDir } from "../kit/git.ts";
import { openPty, type Pty } from "../kit/pty.ts";

const CTRL_C = "\u0003";
const ESCAPE = "\u001B";
const SPACE = " ";
const DOWN = "\u001B[B";
const AGENTS = /Which agents are to have dotbot as an MCP server\?/;
const COMMIT = /Commit these, and nothing else, to "main"\?/;
const OWN = [".bot/.gitignore", ".bot/README.md", ".bot/settings.json"];

interface Fresh extends AsyncDisposable {
  readonly main: string;
  /** `init` at a terminal. */
  readonly init: (args?: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Pty>;
}

async function fresh(files: Readonly<Record<string, string>> = { "README.md": "hello\n" }): Promise<Fresh> {
  const dir = await tempDir();
  const main = await makeRepo(dir.path("main"), { files });
  return {
    main,
    init: async (args = [], env = {}) => openPty([await binary(), "init", ...args], { cwd: main, env }),
    [Symbol.asyncDispose]: async () => await dir[Symbol.asyncDispose](),
  };
}

async function committed(main: string): Promise<string[]> {
  return (await run(main, "show", "--format=", "--name-only", "HEAD")).split("\n").toSorted();
}

async function untouched(main: string): Promise<void> {
  expect(await run(main, "status", "--porcelain", "--ignored")).toBe("");
  expect(existsSync(join(main, ".bot"))).toBe(false);
  expect(existsSync(join(main, ".git/dotbot"))).toBe(false);
}

describe("answers", () => {
  test("Enter and Enter, where no agent is used: the queue, committed", async () => {
    await using repo = await fresh();
    await using pty = await repo.init();
    await pty.sees(AGENTS);
    expect(pty.shown()).not.toContain("◼");
    pty.type("\r");
    await pty.sees(COMMIT);
    for (const path of OWN) expect(pty.shown()).toContain(`  ${path}\n`);
    pty.type("\r");
    expect(await pty.exited).toBe(0);
    expect(await committed(repo.main)).toEqual(OWN);
    expect(await run(repo.main, "status", "--porcelain")).toBe("");
  });

  test("agents whose files are there are chosen beforehand, and others can be added", async () => {
    await using repo = await fresh({ "CLAUDE.md": "x\n", ".cursor/rules.md": "x\n", "AGENTS.md": "many read it\n" });
    await using pty = await repo.init();
    await pty.sees(AGENTS);
    expect(pty.shown()).toMatch(/◼ Claude Code[^]*◻ Codex[^]*◼ Cursor[^]*◻ VS Code[^]*◻ Gemini CLI/);
    pty.type(`${DOWN}${SPACE}\r`);
    await pty.sees(COMMIT);
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect(readFileSync(join(repo.main, ".codex/config.toml"), "utf8")).toContain("[mcp_servers.dotbot]");
    for (const path of [".mcp.json", ".cursor/mcp.json"]) expect(existsSync(join(repo.main, path))).toBe(true);
    for (const path of [".vscode", ".gemini"]) expect(existsSync(join(repo.main, path))).toBe(false);
  });

  test("an agent that was chosen beforehand can be left out", async () => {
    await using repo = await fresh({ "CLAUDE.md": "x\n" });
    await using pty = await repo.init();
    await pty.sees(/◼ Claude Code/);
    pty.type(`${SPACE}\r`);
    await pty.sees(COMMIT);
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect(existsSync(join(repo.main, ".mcp.json"))).toBe(false);
  });

  test("no to the commit: the files, and no commit", async () => {
    await using repo = await fresh();
    const head = await run(repo.main, "rev-parse", "HEAD");
    await using pty = await repo.init();
    await pty.sees(AGENTS);
    pty.type("\r");
    await pty.sees(COMMIT);
    pty.type("n");
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).toContain("nothing committed");
    expect(await run(repo.main, "rev-parse", "HEAD")).toBe(head);
    expect(existsSync(join(repo.main, ".bot/README.md"))).toBe(true);
  });

  test("a yes is for the branch that was shown: when it is another one meanwhile, it asks again", async () => {
    await using repo = await fresh();
    const head = await run(repo.main, "rev-parse", "HEAD");
    await using pty = await repo.init();
    await pty.sees(AGENTS);
    pty.type("\r");
    await pty.sees(COMMIT);
    await run(repo.main, "switch", "-q", "-c", "other");
    pty.type("y");
    await pty.sees(/Commit these, and nothing else, to "other"\?/);
    expect(await run(repo.main, "rev-parse", "HEAD")).toBe(head);
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect(await run(repo.main, "rev-parse", "main")).toBe(head);
    expect(await committed(repo.main)).toEqual(OWN);
  });

  test("what can't be committed isn't asked about", async () => {
    await using repo = await fresh({ ".gitignore": ".bot\n" });
    await using pty = await repo.init();
    await pty.sees(AGENTS);
    pty.type("\r");
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).not.toContain("Commit these");
    expect(pty.shown()).toContain("nothing committed");
  });

  test("in a repository without a commit", async () => {
    await using dir = await tempDir();
    mkdirSync(dir.path("new"));
    await run(dir.path("new"), "init", "-q", "-b", "main");
    await using pty = openPty([await binary(), "init"], { cwd: dir.path("new") });
    await pty.sees(AGENTS);
    pty.type("\r");
    await pty.sees(COMMIT);
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect(await committed(dir.path("new"))).toEqual(OWN);
  });

  test("the answer alone is on stdout", async () => {
    await using repo = await fresh();
    await using pty = openPty(["sh", "-c", `${await binary()} init > .git/answer`], { cwd: repo.main });
    await pty.sees(AGENTS);
    pty.type("\r");
    await pty.sees(COMMIT);
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect(readFileSync(join(repo.main, ".git/answer"), "utf8")).toMatch(
      /^\S*main \(main\)\nwrote {3}\.bot\/README\.md\n/,
    );
  });
});

describe("taking it back", () => {
  test.each([
    ["Ctrl-C", CTRL_C],
    ["Escape", ESCAPE],
  ])("%s at either question: 130, and nothing is written", async (_, key) => {
    await using repo = await fresh();
    await using first = await repo.init();
    await first.sees(AGENTS);
    first.type(key);
    expect(await first.exited).toBe(130);
    await untouched(repo.main);

    await using second = await repo.init();
    await second.sees(AGENTS);
    second.type(`${SPACE}\r`);
    await second.sees(COMMIT);
    second.type(key);
    expect(await second.exited).toBe(130);
    await untouched(repo.main);
  });

  test("a commit that is made while the question stands stays below dotbot's", async () => {
    await using repo = await fresh();
    await using pty = await repo.init();
    await pty.sees(AGENTS);
    pty.type("\r");
    await pty.sees(COMMIT);
    await run(repo.main, "commit", "-q", "--allow-empty", "-m", "meanwhile");
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect((await run(repo.main, "log", "-2", "--format=%s")).split("\n")).toEqual([
      "chore: set up dotbot",
      "meanwhile",
    ]);
  });
});

describe("no question", () => {
  test.each<[args: readonly string[], env: Record<string, string>]>([
    [["--yes"], {}],
    [["--json"], {}],
    [["--agents", "claude"], {}],
    [["--agents", "none"], {}],
    [["--no-commit"], {}],
    [["--force"], {}],
    [["--remove"], {}],
    [[], { CI: "true" }],
  ])("init %j %j at a terminal", async (args, env) => {
    await using repo = await fresh({ "CLAUDE.md": "x\n" });
    await using pty = await repo.init(args, env);
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).not.toMatch(AGENTS);
    expect(pty.shown()).not.toContain("Commit these");
    expect(existsSync(join(repo.main, ".mcp.json"))).toBe(args.includes("claude"));
  });

  test("without a terminal", async () => {
    await using repo = await fresh({ "CLAUDE.md": "x\n" });
    const { status, stderr } = await dotbot(["init"], { cwd: repo.main });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(existsSync(join(repo.main, ".mcp.json"))).toBe(false);
  });

  test("the second time, committed or not, or with something missing", async () => {
    await using repo = await fresh();
    await dotbot(["init", "--no-commit"], { cwd: repo.main });
    await run(repo.main, "clean", "-qfx", ".bot/README.md");
    for (const says of ["wrote   .bot/README.md", "nothing committed"]) {
      await using pty = await repo.init();
      expect(await pty.exited).toBe(0);
      expect(pty.shown()).not.toMatch(AGENTS);
      expect(pty.shown()).toContain(says);
    }
  });

  test("in a clone of a repository that has it", async () => {
    await using repo = await fresh();
    await dotbot(["init"], { cwd: repo.main });
    await run(repo.main, "clone", "-q", repo.main, join(repo.main, "../clone"));
    await using pty = openPty([await binary(), "init"], { cwd: join(repo.main, "../clone") });
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).not.toMatch(AGENTS);
  });
});

describe("--agents none", () => {
  test("beside a name it is refused, with a call that works", async () => {
    await using repo = await fresh();
    const { status, stderr } = await dotbot(["init", "--agents", "none,claude"], { cwd: repo.main });
    expect(status).toBe(2);
    expect(stderr).toContain("try:  dotbot init --agents claude\n");
    await untouched(repo.main);
  });

  test("with --remove it leaves the agents' files", async () => {
    await using repo = await fresh();
    await dotbot(["init", "--agents", "claude"], { cwd: repo.main });
    await dotbot(["init", "--remove", "--agents", "none"], { cwd: repo.main });
    expect(existsSync(join(repo.main, ".bot/README.md"))).toBe(false);
    expect(existsSync(join(repo.main, ".mcp.json"))).toBe(true);
    await dotbot(["init", "--remove"], { cwd: repo.main });
    expect(existsSync(join(repo.main, ".mcp.json"))).toBe(false);
  });
});
