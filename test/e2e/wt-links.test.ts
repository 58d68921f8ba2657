/**
 * The links from a worktree to the queue: a view for tools that read files, which no git command of an agent's takes away, takes
 * along, or reaches through. And what a branch does to the queue's own files stays behind.
 */
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { run, tryRun, write } from "../kit/git.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { begin, checkoutState, commit, work, type Worktree } from "./wt-kit.ts";

const LINKS = [".bot/workspace/tasks", ".bot/.control"];
const IGNORE = { ".bot/.gitignore": ".control\nworkspace/tasks\n" };

async function linkedWorld(): Promise<{ world: World; wt: Worktree; other: Worktree } & AsyncDisposable> {
  const world = await makeWorld({ files: { ...IGNORE, ".gitignore": "*.log\n" } });
  const [wt, other] = [await begin(world, "One"), await begin(world, "Two")];
  return { world, wt, other, [Symbol.asyncDispose]: async () => await world[Symbol.asyncDispose]() };
}

function queueFiles(main: string): string[] {
  return readdirSync(join(main, ".bot", "workspace", "tasks"), { recursive: true })
    .map(String)
    .toSorted();
}

const COMMANDS: readonly (readonly [title: string, run: (path: string) => Promise<unknown>])[] = [
  [
    "add -A and commit",
    async (path) => (
      write(path, { "new.txt": "n\n" }),
      await run(path, "add", "-A"),
      await run(path, "commit", "-q", "-m", "x")
    ),
  ],
  [
    "commit -a",
    async (path) => (write(path, { "README.md": "x\n" }), await run(path, "commit", "-q", "-a", "-m", "x")),
  ],
  ["reset --hard", async (path) => (write(path, { "README.md": "x\n" }), await run(path, "reset", "-q", "--hard"))],
  [
    "stash -u and pop",
    async (path) => (
      write(path, { "README.md": "x\n", "u.txt": "u\n" }),
      await run(path, "stash", "-q", "-u"),
      await run(path, "stash", "pop", "-q"),
      rmSync(join(path, "u.txt")),
      await run(path, "checkout", "-q", "--", ".")
    ),
  ],
  [
    "rebase",
    async (path) => (
      write(path, { "new.txt": "n\n" }),
      await run(path, "add", "-A"),
      await run(path, "commit", "-q", "-m", "x"),
      await run(path, "rebase", "-q", "--force-rebase", "main")
    ),
  ],
  [
    "checkout away and back",
    async (path) => {
      const branch = await run(path, "branch", "--show-current");
      await run(path, "checkout", "-q", "-b", "away");
      await run(path, "checkout", "-q", branch);
    },
  ],
  ["clean -fd", async (path) => (write(path, { "u.txt": "u\n" }), await run(path, "clean", "-q", "-f", "-d"))],
];

describe("links", () => {
  test.each(COMMANDS)(
    "survive %s, and nothing of the queue is committed or changed elsewhere",
    async (_title, command) => {
      await using linked = await linkedWorld();
      const { world, wt, other } = linked;
      const before = [await checkoutState(world.main), queueFiles(world.main), await checkoutState(other.path)];
      await command(wt.path);
      for (const link of LINKS) expect(readlinkSync(join(wt.path, link))).toBe(join(world.main, link));
      expect(await run(wt.path, "log", "--format=", "--name-only", "main..HEAD", "--", ".bot")).toBe("");
      expect(await run(wt.path, "status", "--porcelain")).toBe("");
      expect([await checkoutState(world.main), queueFiles(world.main), await checkoutState(other.path)]).toEqual(
        before,
      );
    },
  );

  test("go with the worktree, and not what they lead to", async () => {
    await using linked = await linkedWorld();
    const { world, wt, other } = linked;
    const before = queueFiles(world.main);
    await world.ok(["wt", "remove", wt.id]);
    expect(existsSync(wt.path)).toBe(false);
    expect(queueFiles(world.main)).toEqual(before);
    for (const link of LINKS) expect(readlinkSync(join(other.path, link))).toBe(join(world.main, link));
  });

  test("clean -fdx takes them, real task files come in their place: nothing of it is lost, and completing says so", async () => {
    await using linked = await linkedWorld();
    const { world, wt } = linked;
    const before = queueFiles(world.main);
    await work(world, wt, { "work.txt": "w\n" });
    await run(wt.path, "clean", "-q", "-f", "-d", "-x");
    expect(lstatSync(join(wt.path, LINKS[0] ?? ""), { throwIfNoEntry: false })).toBeUndefined();
    expect(queueFiles(world.main)).toHaveLength(before.length);
    write(wt.path, { ".bot/workspace/tasks/todo/mine.json": '{"name":"precious"}\n' });
    await world.ok(["task", "add", "Still the one queue"], { cwd: wt.path });
    const refusal = await world.refused("DIRTY", ["wt", "complete", wt.id]);
    expect(refusal.message).toContain(".bot/workspace/tasks/");
    await world.refused("DIRTY", ["wt", "remove", wt.id, "--force-unmerged"]);
    expect(readFileSync(join(wt.path, ".bot/workspace/tasks/todo/mine.json"), "utf8")).toContain("precious");
    // Without the file in their place the links come back, and it completes.
    rmSync(join(wt.path, ".bot", "workspace", "tasks"), { recursive: true });
    expect(await world.ok(["wt", "repair", wt.id])).toMatchObject({ ok: true, worktrees: [{ mended: LINKS }] });
    expect(await world.ok(["wt", "complete", wt.id])).toMatchObject({ outcome: "landed", removed: true });
  });

  test("aren't made in a project that tracks its queue", async () => {
    await using world = await makeWorld({ tracked: true });
    const wt = await begin(world, "One");
    for (const link of LINKS)
      expect(lstatSync(join(wt.path, link), { throwIfNoEntry: false })?.isSymbolicLink() ?? false).toBe(false);
  });

  test("aren't made where git wouldn't ignore them", async () => {
    await using world = await makeWorld({ files: { ".bot/.gitignore": "" } });
    const id = String(at(await world.ok(["task", "add", "One"]), "task", "id"));
    expect(await world.ok(["wt", "create", id])).toMatchObject({ links: [] });
  });
});

describe("a branch and the queue's files", () => {
  const rows: readonly (readonly [title: string, change: (path: string, file: string) => void, ignored: RegExp])[] = [
    [
      "edited one",
      (path, file) =>
        writeFileSync(
          join(path, file),
          readFileSync(join(path, file), "utf8").replace('"priority"', '"x_edited":1,"priority"'),
        ),
      /\.json$/,
    ],
    ["deleted them", (path) => rmSync(join(path, ".bot", "workspace", "tasks"), { recursive: true }), /\.json$/],
    [
      "put a link in their place",
      (path) => {
        rmSync(join(path, ".bot", "workspace", "tasks"), { recursive: true });
        symlinkSync("/nowhere", join(path, ".bot", "workspace", "tasks"));
      },
      /tasks/,
    ],
    [
      "put a link in place of .bot",
      (path) => {
        rmSync(join(path, ".bot"), { recursive: true });
        symlinkSync("/nowhere", join(path, ".bot"));
      },
      /^\.bot$/,
    ],
    [
      "added some of its own",
      (path) => write(path, { ".bot/workspace/tasks/samples/own.json": "{}\n", ".bot/.control/state": "x\n" }),
      /own\.json$/,
    ],
  ];
  test.each(rows)("that %s leaves that behind, and lands the rest", async (_title, change, ignored) => {
    await using world = await makeWorld({ tracked: true, files: { ".bot/.gitignore": "" } });
    await world.ok(["task", "add", "Bystander"]);
    await world.git("add", "-A");
    await world.git("commit", "-q", "-m", "queue");
    const wt = await begin(world, "One");
    const file = (await run(wt.path, "ls-files", ".bot/workspace/tasks")).split("\n")[0] ?? "";
    change(wt.path, file);
    await commit(wt.path, { "work.txt": "w\n" });
    await world.ok(["task", "done", wt.id]);
    const before = await run(world.main, "rev-parse", "HEAD:.bot");
    const done = await world.ok(["wt", "complete", wt.id]);
    expect(done).toMatchObject({ outcome: "landed", files: ["work.txt"] });
    const named: unknown = done["queueChangesIgnored"];
    expect(Array.isArray(named) && named.some((it) => ignored.test(String(it)))).toBe(true);
    expect(await run(world.main, "rev-parse", "HEAD:.bot")).toBe(before);
  });

  test("a smuggled transition refuses, and is left behind on request", async () => {
    await using world = await makeWorld({ tracked: true });
    await world.ok(["task", "add", "Bystander"]);
    await world.git("add", "-A");
    await world.git("commit", "-q", "-m", "queue");
    const wt = await begin(world, "One");
    const file = (await run(wt.path, "ls-files", ".bot/workspace/tasks/todo")).split("\n")[0] ?? "";
    mkdirSync(join(wt.path, ".bot", "workspace", "tasks", "done"), { recursive: true });
    await run(wt.path, "mv", file, file.replace("/todo/", "/done/"));
    await commit(wt.path, { "work.txt": "w\n" });
    await world.ok(["task", "done", wt.id]);
    const refusal = await world.refused("REFUSED", ["wt", "complete", wt.id]);
    expect(refusal.message).toContain("as done, and the queue has that task as todo");
    expect(await world.ok(["wt", "complete", wt.id, "--ignore-queue-changes"])).toMatchObject({
      outcome: "landed",
      files: ["work.txt"],
    });
    expect(at(await world.ok(["task", "list", "--status", "todo"]), "tasks", 0, "name")).toBe("Bystander");
  });

  test("sync takes the base's queue, whatever the branch made of it", async () => {
    await using world = await makeWorld({ tracked: true });
    await world.ok(["task", "add", "Bystander"]);
    await world.git("add", "-A");
    await world.git("commit", "-q", "-m", "queue");
    const wt = await begin(world, "One");
    const file = (await run(wt.path, "ls-files", ".bot/workspace/tasks/todo")).split("\n")[0] ?? "";
    writeFileSync(join(wt.path, file), "{}\n");
    await commit(wt.path, { "work.txt": "w\n" });
    await world.ok(["task", "edit", "Bystander", "--priority", "3"]);
    await commit(world.main, { "base.txt": "b\n" });
    expect(await world.ok(["wt", "sync", wt.id])).toMatchObject({ outcome: "synced" });
    expect(readFileSync(join(wt.path, file), "utf8")).toBe(readFileSync(join(world.main, file), "utf8"));
    expect((await tryRun(wt.path, ["status", "--porcelain"])).stdout).toBe("");
  });
});
