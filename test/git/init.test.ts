/** `init` on real repositories, in the states that people have them in. */
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "bun:test";

import { INIT_OPERATIONS, initOperations } from "../../lib/init/ops.ts";
import type { InitResult, LoadQueue } from "../../lib/init/run.ts";
import type { Ctx } from "../../lib/ctx.ts";
import type { AnyOperation } from "../../lib/op.ts";
import { inProcess } from "../kit/call.ts";
import { gitEnv, makeRepo, rejection, run, tempDir, tryRun, write } from "../kit/git.ts";

const FILES = [".bot/.gitignore", ".bot/README.md", ".bot/settings.json"];

// For its context alone: each test makes its own repositories.
const world = await inProcess();
afterAll(() => world[Symbol.asyncDispose]());

async function init(
  cwd: string,
  input: Record<string, unknown> = {},
  changes: Partial<Ctx> = {},
  operations: readonly AnyOperation[] = INIT_OPERATIONS,
): Promise<InitResult> {
  const [op] = operations;
  if (op === undefined) throw new Error("there is no init");
  const { result } = await world.call(op, input, { cwd, ...changes });
  return result as unknown as InitResult;
}

const committedFiles = async (root: string, rev = "HEAD"): Promise<string[]> =>
  (await run(root, "show", "--format=", "--name-only", rev)).split("\n").filter((line) => line !== "");
const status = async (root: string): Promise<string> =>
  await run(root, "status", "--porcelain", "--untracked-files=all");
const read = (...path: string[]): string => readFileSync(join(...path), "utf8");

describe("a fresh repository", () => {
  test("gets the folder, and one commit of exactly what was written", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    const result = await init(main);
    const head = await run(main, "rev-parse", "HEAD");
    expect(result).toEqual({
      repoPath: main,
      ownerRepo: null,
      branch: "main",
      headSha: head,
      stateRoot: main,
      written: [".bot/README.md", ".bot/.gitignore", ".bot/settings.json"],
      kept: [],
      removed: [],
      uncommitted: [],
      left: [],
      committed: head,
      tracked: false,
      recordedRoot: null,
      loaded: null,
      notes: [],
    });
    expect(await committedFiles(main)).toEqual(FILES);
    expect(await run(main, "log", "-1", "--format=%s")).toBe("chore: set up dotbot");
    expect(read(main, ".bot/settings.json")).toBe("{}\n");
    expect(lstatSync(join(main, ".bot/workspace/tasks/in-progress")).isDirectory()).toBe(true);
    expect(await status(main)).toBe("");
  });

  test("a second time changes nothing and commits nothing", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    const { headSha } = await init(main);
    expect(await init(main)).toMatchObject({ written: [], committed: null, headSha, uncommitted: [] });
  });

  test("without a commit yet: it is the first one", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: {} });
    write(main, { "mine.txt": "1\n" });
    await run(main, "add", "mine.txt");
    const result = await init(main);
    expect(await committedFiles(main)).toEqual(FILES);
    expect(result.committed).toBe(await run(main, "rev-parse", "HEAD"));
    expect(await status(main)).toBe("A  mine.txt");
  });

  test("--no-commit leaves the files, and a later init commits them", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    expect(await init(main, { no_commit: true })).toMatchObject({ committed: null });
    expect(await status(main)).toBe(FILES.map((file) => `?? ${file}`).join("\n"));
    expect(await init(main)).toMatchObject({ written: [], committed: await run(main, "rev-parse", "HEAD") });
    expect(await committedFiles(main)).toEqual(FILES);
  });

  test("what it ignores is ignored, as a folder and as a link", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    await init(main);
    for (const path of [".bot/.control", ".bot/workspace/tasks"]) {
      write(main, { [`${path}/x.json`]: "{}" });
      expect(await status(main)).toBe("");
      rmSync(join(main, path), { recursive: true });
      symlinkSync(dir.root, join(main, path));
      expect(await status(main)).toBe("");
    }
  });
});

describe("other people's work", () => {
  test("staged, half-staged, changed and untracked files stay what they are, and out of the commit", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), {
      files: { "half.txt": "1\n", "dirty.txt": "1\n", "gone.txt": "1\n" },
    });
    write(main, { "staged.txt": "new\n", "half.txt": "1\n2\n" });
    await run(main, "add", "staged.txt", "half.txt");
    await run(main, "rm", "-q", "--cached", "gone.txt");
    write(main, { "half.txt": "1\n2\n3\n", "dirty.txt": "2\n", "untracked.txt": "x\n" });
    const before = [await status(main), await run(main, "diff"), await run(main, "diff", "--cached")];
    await init(main);
    expect(await committedFiles(main)).toEqual(FILES);
    expect([await status(main), await run(main, "diff"), await run(main, "diff", "--cached")]).toEqual(before);
  });

  test("files that are there already are kept, byte by byte", async () => {
    await using dir = await tempDir();
    const mine = {
      ".bot/README.md": "mine\n",
      ".bot/settings.json": `{"git":{"base_branch":"dev"}}`,
      ".bot/hooks/verify/a.sh": "x\n",
    };
    const main = await makeRepo(dir.path("main"), { files: mine });
    expect(await init(main)).toMatchObject({
      written: [".bot/.gitignore"],
      kept: [".bot/README.md", ".bot/settings.json"],
    });
    for (const [path, content] of Object.entries(mine)) expect(read(main, path)).toBe(content);
    expect(await committedFiles(main)).toEqual([".bot/.gitignore"]);
  });

  test("ignore rules are added below those that are there", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), {
      files: { ".bot/.gitignore": "logs/\r\n.control/\r\n/worktrees\r\n" },
    });
    await init(main);
    expect(read(main, ".bot/.gitignore")).toBe(
      "logs/\r\n.control/\r\n/worktrees\r\n\r\n# >>> dotbot: what belongs to this clone alone\r\n.control\r\n.dotbot-tmp-*\r\nworkspace/tasks\r\n# <<< dotbot\r\n",
    );
    expect((await init(main)).written).toEqual([]);
  });

  test("a file with somebody's own changes isn't committed for them", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: { ".bot/.gitignore": "logs/\n" } });
    write(main, { ".bot/.gitignore": "logs/\nmine/\n" });
    expect(await init(main)).toMatchObject({
      uncommitted: [{ path: ".bot/.gitignore", why: "it holds changes that aren't dotbot's" }],
    });
    expect(await committedFiles(main)).toEqual([".bot/README.md", ".bot/settings.json"]);
  });

  test("--force makes README and rules anew; settings, tasks and .control stay", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    await init(main);
    const fresh = read(main, ".bot/README.md");
    const mine = {
      ".bot/settings.json": `{ "lock": {"wait":"1s"} }`,
      ".bot/workspace/tasks/todo/a.json": "{}",
      ".bot/.control/x": "1",
    };
    write(main, { ...mine, ".bot/README.md": "mine\n" });
    expect((await init(main)).written).toEqual([]);
    expect(await init(main, { force: true })).toMatchObject({ written: [".bot/README.md"], committed: null });
    expect(read(main, ".bot/README.md")).toBe(fresh);
    for (const [path, content] of Object.entries(mine)) expect(read(main, path)).toBe(content);
  });

  test("a repository that ignores .bot gets no commit, and is told why", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: { ".gitignore": ".bot\n" } });
    const { committed, uncommitted } = await init(main);
    expect(committed).toBeNull();
    expect(uncommitted.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual(
      FILES.map((path) => ({ path, why: "git ignores it" })),
    );
  });

  test("a file called .bot is in the way", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: { ".bot": "x\n" } });
    expect(await rejection(init(main))).toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining("it isn't a folder"),
    });
  });

  test("broken settings are refused before anything is written", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: { ".bot/settings.json": `{\n  "git": 5\n}\n` } });
    expect(await rejection(init(main))).toMatchObject({
      code: "INVALID_SETTINGS",
      message: expect.stringContaining("settings.json:2:10"),
    });
    expect(existsSync(join(main, ".bot/README.md"))).toBe(false);
  });

  test("names that git could take for patterns are only names", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("a [b]*?"), { files: { "x.txt": "1\n" } });
    write(main, { "y.txt": "1\n" });
    await init(main);
    expect(await committedFiles(main)).toEqual(FILES);
  });
});

describe("a commit that fails", () => {
  const hook = (root: string, name: string, body: string): void => {
    const path = join(root, ".git/hooks", name);
    mkdirSync(join(root, ".git/hooks"), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  };

  test("without an identity: git's words, a remedy, the files in place; a retry works", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    write(main, { "mine.txt": "1\n" });
    await run(main, "add", "mine.txt");
    const env = gitEnv();
    for (const name of ["AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"]) delete env[`GIT_${name}`];
    await run(main, "config", "user.useConfigOnly", "true");
    expect(await rejection(init(main, {}, { env }))).toMatchObject({
      code: "REJECTED",
      status: 4,
      message: expect.stringContaining("no email was given and auto-detection is disabled"),
      example: expect.stringContaining("git config user.name"),
    });
    expect(await status(main)).toBe(["A  mine.txt", ...FILES.map((file) => `?? ${file}`)].join("\n"));
    expect((await init(main)).committed).toBe(await run(main, "rev-parse", "HEAD"));
    expect(await committedFiles(main)).toEqual(FILES);
    expect(await status(main)).toBe("A  mine.txt");
  });

  test("a hook that says no is told in its own words", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    hook(main, "pre-commit", "echo 'no commits on Fridays' >&2; exit 1");
    expect(await rejection(init(main))).toMatchObject({
      code: "REJECTED",
      message: expect.stringContaining("no commits on Fridays"),
    });
    expect(await status(main)).toBe(FILES.map((file) => `?? ${file}`).join("\n"));
  });

  test("a hook that says yes has run", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    hook(main, "commit-msg", 'echo "Change-Id: 1" >> "$1"');
    await init(main);
    expect(await run(main, "log", "-1", "--format=%B")).toContain("Change-Id: 1");
  });

  test("signing that fails is a refusal, never a commit without a signature", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    const head = await run(main, "rev-parse", "HEAD");
    await run(main, "config", "commit.gpgSign", "true");
    await run(main, "config", "gpg.program", "false");
    expect(await rejection(init(main))).toMatchObject({
      code: "REJECTED",
      hint: expect.stringContaining("hook or signing"),
    });
    expect(await run(main, "rev-parse", "HEAD")).toBe(head);
  });

  test("what a hook sweeps in is named", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    hook(main, "pre-commit", "echo x > swept.txt; git add swept.txt");
    expect(await rejection(init(main))).toMatchObject({ code: "SWEPT_IN", details: { sweptIn: ["swept.txt"] } });
  });

  test("in the middle of a merge nothing is committed", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: { "a.txt": "1\n" } });
    await run(main, "checkout", "-q", "-b", "other");
    write(main, { "a.txt": "2\n" });
    await run(main, "commit", "-qam", "other");
    await run(main, "checkout", "-q", "main");
    write(main, { "a.txt": "3\n" });
    await run(main, "commit", "-qam", "main");
    expect((await tryRun(main, ["merge", "other"])).status).toBe(1);
    expect(await rejection(init(main))).toMatchObject({
      code: "REJECTED",
      message: expect.stringContaining("a merge is in progress"),
    });
  });
});

describe("where it is called from, and layouts", () => {
  test("inside a linked worktree the main checkout is set up, and it says so", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    await run(main, "worktree", "add", "-q", "-b", "feat", dir.path("feat"));
    const result = await init(dir.path("feat"));
    expect(result).toMatchObject({ stateRoot: main, repoPath: main, branch: "main" });
    expect(result.notes).toEqual([
      `this is a worktree of it, ${dir.path("feat")}: the queue is one, and lies in ${main}`,
    ]);
    expect(existsSync(dir.path("feat", ".bot"))).toBe(false);
  });

  test("a hook's own git variables lead nowhere else", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    const other = await makeRepo(dir.path("other"));
    // A hook's index variable makes its identity the hook's own as well, so the repository has to have one.
    await run(main, "config", "user.name", "Ada");
    await run(main, "config", "user.email", "ada@example.invalid");
    const env = gitEnv({
      GIT_DIR: join(other, ".git"),
      GIT_INDEX_FILE: join(other, ".git/index"),
      GIT_WORK_TREE: other,
    });
    await init(main, {}, { env });
    expect(await committedFiles(main)).toEqual(FILES);
    expect(await status(other)).toBe("");
  });

  test("a separate git dir: the root is recorded, so that worktrees find it", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { init: ["--separate-git-dir", dir.path("store.git")] });
    await run(main, "worktree", "add", "-q", "-b", "feat", dir.path("feat"));
    expect(await rejection(init(dir.path("feat")))).toMatchObject({ code: "STATE_ROOT_UNKNOWN" });
    expect((await init(main)).recordedRoot).toBe(main);
    expect(await run(main, "config", "dotbot.root")).toBe(main);
    expect((await init(dir.path("feat"))).stateRoot).toBe(main);
    expect((await init(main)).recordedRoot).toBeNull();
    await init(main, { remove: true });
    expect((await tryRun(main, ["config", "dotbot.root"])).status).toBe(1);
  });

  test("a bare layout: files beside the worktrees, nothing to commit", async () => {
    await using dir = await tempDir();
    const source = await makeRepo(dir.path("source"));
    await run(dir.root, "clone", "-q", "--bare", source, dir.path("proj/.bare"));
    write(dir.path("proj"), { ".git": "gitdir: ./.bare\n" });
    await run(dir.path("proj"), "worktree", "add", "-q", "main");
    const result = await init(dir.path("proj/main"));
    expect(result).toMatchObject({ stateRoot: dir.path("proj"), committed: null, recordedRoot: null });
    expect(result.notes).toContain(`${dir.path("proj")} isn't a checkout, so nothing is committed there`);
    expect(existsSync(dir.path("proj/.bot/workspace/tasks/todo"))).toBe(true);
    expect(await status(dir.path("proj/main"))).toBe("");
  });

  test("a detached HEAD takes the commit", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    await run(main, "checkout", "-q", "--detach");
    const result = await init(main);
    expect(result).toMatchObject({ branch: null, committed: result.headSha });
  });

  test("no repository is refused with what makes one", async () => {
    await using dir = await tempDir();
    expect(await rejection(init(dir.root))).toMatchObject({
      code: "NOT_A_REPOSITORY",
      example: `git init ${dir.root}`,
    });
  });

  test("a project that tracks its queue goes on to", async () => {
    await using dir = await tempDir();
    const task = ".bot/workspace/tasks/todo/a-12345678.json";
    const main = await makeRepo(dir.path("main"), { files: { [task]: "{}\n", ".bot/.gitignore": ".control/\n" } });
    const result = await init(main);
    expect(result).toMatchObject({ tracked: true, notes: [expect.stringContaining("queue.tracked")] });
    expect(JSON.parse(read(main, ".bot/settings.json"))).toEqual({ queue: { tracked: true } });
    expect(read(main, ".bot/.gitignore")).not.toContain("workspace/tasks");
    write(main, { [task]: "{ }\n" });
    expect(await status(main)).toBe(` M ${task}`);
    expect((await init(main)).written).toEqual([]);
  });
});

describe("--remove", () => {
  test("takes back what init wrote, with a commit of exactly that", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    await init(
      main,
      { agents: ["vscode"] },
      { env: await withDotbot(dir.path("bin")), executable: dir.path("bin/dotbot") },
    );
    write(main, { "mine.txt": "1\n" });
    await run(main, "add", "mine.txt");
    const result = await init(main, { remove: true });
    expect(result).toMatchObject({
      removed: [".bot/README.md", ".bot/.gitignore", ".bot/settings.json", ".vscode/mcp.json"],
      left: [],
    });
    expect(await committedFiles(main)).toEqual([...FILES, ".vscode/mcp.json"]);
    expect(existsSync(join(main, ".bot"))).toBe(false);
    expect(existsSync(join(main, ".vscode"))).toBe(false);
    expect(await status(main)).toBe("A  mine.txt");
    expect(await init(main, { remove: true })).toMatchObject({ removed: [], committed: null });
  });

  test("leaves tasks, edited files and everybody else's, and names them", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    await init(main);
    write(main, {
      ".bot/workspace/tasks/todo/a.json": "{}",
      ".bot/README.md": "mine\n",
      ".bot/hooks/verify/a.sh": "x\n",
      ".bot/.control/x": "1",
    });
    const result = await init(main, { remove: true });
    expect(result.removed).toEqual([".bot/settings.json"]);
    expect(result.left).toEqual([
      { path: ".bot/README.md", why: "it was edited" },
      { path: ".bot/.gitignore", why: "it keeps the tasks that are left out of git" },
      { path: ".bot/workspace/tasks", why: "1 task" },
      { path: ".bot/.control", why: "init didn't write it" },
      { path: ".bot/hooks", why: "init didn't write it" },
    ]);
    expect(read(main, ".bot/workspace/tasks/todo/a.json")).toBe("{}");
    expect(await committedFiles(main)).toEqual([".bot/settings.json"]);
  });

  test("takes only its own rules out of a .gitignore", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: { ".bot/.gitignore": "logs/\n" } });
    await init(main);
    await init(main, { remove: true });
    expect(read(main, ".bot/.gitignore")).toBe("logs/\n");
    expect(await status(main)).toBe("");
  });
});

describe("--agents", () => {
  test("adds the server to each file, and commits those that name no path of this machine", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: { ".mcp.json": `{"mcpServers":{"git":{}}}` } });
    const agents = ["claude", "codex", "cursor", "vscode", "gemini"];
    const env = await withDotbot(dir.path("bin"));
    const result = await init(main, { agents }, { env, executable: dir.path("bin/dotbot") });
    const files = [".mcp.json", ".codex/config.toml", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json"];
    expect(result.written).toEqual([".bot/README.md", ".bot/.gitignore", ".bot/settings.json", ...files]);
    expect((await committedFiles(main)).toSorted()).toEqual([...FILES, ...files].toSorted());
    expect(read(main, ".mcp.json")).toBe(`{"mcpServers":{"git":{},"dotbot":{"command":"dotbot","args":["mcp"]}}}`);
    expect(await init(main, { agents }, { env, executable: dir.path("bin/dotbot") })).toMatchObject({
      written: [],
      committed: null,
    });
  });

  test("a path of this machine is written, and left out of the commit", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    const result = await init(main, { agents: ["claude"] }, { executable: "/opt/my tools/dotbot" });
    expect(JSON.parse(read(main, ".mcp.json"))).toEqual({
      mcpServers: { dotbot: { command: "/opt/my tools/dotbot", args: ["mcp"] } },
    });
    expect(result.uncommitted).toEqual([{ path: ".mcp.json", why: expect.stringContaining("/opt/my tools/dotbot") }]);
    expect(await committedFiles(main)).toEqual(FILES);
  });

  test("one broken file: refused, and nothing at all is changed", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { files: { ".cursor/mcp.json": "{\n  nope\n}\n" } });
    expect(await rejection(init(main, { agents: ["claude", "cursor"] }))).toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining(".cursor/mcp.json:2:3"),
    });
    expect(existsSync(join(main, ".bot"))).toBe(false);
    expect(existsSync(join(main, ".mcp.json"))).toBe(false);
  });
});

describe("a fresh clone", () => {
  test("takes the queue from the remote's branch, once", async () => {
    await using dir = await tempDir();
    const source = await makeRepo(dir.path("source"));
    await run(source, "branch", "dotbot/queue");
    await run(dir.root, "clone", "-q", source, "clone");
    const refs: string[] = [];
    const loadQueue: LoadQueue = async (target, ref) => {
      refs.push(ref);
      write(target.target.repo.stateRoot, { ".bot/workspace/tasks/todo/a.json": "{}" });
      return await Promise.resolve(1);
    };
    const operations = initOperations(loadQueue);
    expect((await init(dir.path("clone"), {}, {}, operations)).loaded).toBe(1);
    expect((await init(dir.path("clone"), {}, {}, operations)).loaded).toBeNull();
    expect(refs).toEqual(["refs/remotes/origin/dotbot/queue"]);
  });

  test("without such a branch there is nothing to take", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    const operations = initOperations(() => Promise.reject(new Error("not asked for")));
    expect((await init(main, {}, {}, operations)).loaded).toBeNull();
  });
});

/** An environment in which `dotbot` is on PATH: an executable in a folder of its own. */
async function withDotbot(bin: string): Promise<Record<string, string>> {
  mkdirSync(bin, { recursive: true });
  await Bun.write(join(bin, "dotbot"), "#!/bin/sh\n");
  await Bun.$`chmod +x ${join(bin, "dotbot")}`.quiet();
  return gitEnv({ PATH: `${bin}:${process.env["PATH"] ?? ""}` });
}
