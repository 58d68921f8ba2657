/** A disk that is full, folders that may not be written, a ledger that is gone or damaged: told clearly, and nothing is lost. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { binary, type Outcome } from "../kit/binary.ts";
import { run, tempDir } from "../kit/git.ts";
import { killedAt, writeCalls } from "../kit/strace.ts";
import { fileTree, plainSeeds, shownTask, taskId8 } from "../kit/tasks.ts";
import { requireTool } from "../kit/tools.ts";
import { at, makeWorld, type World } from "../kit/world.ts";

const ledgerOf = (world: World): string => join(world.main, ".git", "dotbot", "queue.db");

/** Statuses by name, as a list tells them. */
async function statuses(world: World): Promise<Record<string, unknown>> {
  const { tasks } = await world.ok(["task", "list"]);
  return Object.fromEntries(
    (Array.isArray(tasks) ? tasks : []).map((doc: unknown) => [String(at(doc, "name")), at(doc, "status")]),
  );
}

/** Three tasks, of which one has been started and one is done. */
async function moving(world: World): Promise<void> {
  await world.ok(["task", "start", taskId8(1)]);
  await world.ok(["task", "done", taskId8(2)]);
}
const MOVED = { "Task 1": "in-progress", "Task 2": "done", "Task 3": "todo" };

describe("a ledger that is", () => {
  const damages: readonly (readonly [what: string, damage: (path: string) => void, told: RegExp])[] = [
    ["gone", (path) => rmSync(path), /^there was no ledger: rebuilt from 3 task files$/m],
    ["empty", (path) => truncateSync(path, 0), /^there was no ledger: rebuilt from 3 task files$/m],
    [
      "cut in half",
      (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
      /^the ledger was damaged: moved to .*queue\.db\.damaged-/m,
    ],
    ["cut within a page", (path) => truncateSync(path, 5000), /^the ledger was damaged: moved to /m],
    [
      "something else",
      (path) => writeFileSync(path, "This is not a database, and never was one.\n".repeat(999)),
      /^the ledger was damaged: moved to /m,
    ],
    [
      "overwritten in the middle",
      (path) => writeFileSync(path, readFileSync(path).fill(0xa5, 8192)),
      /^the ledger was damaged: moved to /m,
    ],
  ];
  test.each(damages)("%s: rebuilt from the files, and said", async (_, damage, told) => {
    await using world = await makeWorld({ seeds: plainSeeds(3) });
    await moving(world);
    const files = fileTree(world.tasks);
    damage(ledgerOf(world));
    const result = await world.dotbot(["task", "list", "--json"]);
    expect(result.status).toBe(0);
    expect(await statuses(world)).toEqual(MOVED);
    expect((await world.dotbot(["task", "history", taskId8(1)])).status).toBe(0);
    expect(fileTree(world.tasks)).toEqual(files);
    // For people; a program that reads JSON isn't disturbed.
    await using again = await makeWorld({ seeds: plainSeeds(3) });
    await moving(again);
    damage(ledgerOf(again));
    expect((await again.dotbot(["task", "list"])).stderr).toMatch(told);
    await again.ok(["task", "done", taskId8(1)]);
    expect(shownTask(again.main, 1).status).toBe("done");
  });

  test("beside a journal of garbage: ignored, as SQLite does with what isn't a journal", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(3) });
    await moving(world);
    writeFileSync(`${ledgerOf(world)}-journal`, "garbage ".repeat(1000));
    expect(await statuses(world)).toEqual(MOVED);
    await world.ok(["task", "done", taskId8(1)]);
    expect(shownTask(world.main, 1).status).toBe("done");
  });

  test("from a newer dotbot: refused, and left as it is", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(3) });
    await moving(world);
    const bytes = readFileSync(ledgerOf(world));
    bytes.writeUInt32BE(999, 60); // user_version, in SQLite's file header
    writeFileSync(ledgerOf(world), bytes);
    const error = await world.refused("LEDGER_DAMAGED", ["task", "list"]);
    expect([error.message, error.hint].join()).toContain("newer dotbot");
    expect(readFileSync(ledgerOf(world))).toEqual(bytes);
  });
});

const tmpfs = requireTool("root") && requireTool("tmpfs");

describe.skipIf(!tmpfs)("a full disk", () => {
  test("a write is refused by name and changes nothing, reads go on, and with space again all goes on", async () => {
    await using dir = await tempDir();
    await run(dir.root, "init", "-q", "--template=", "unused");
    const disk = dir.path("disk");
    mkdirSync(disk);
    const mount = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk]);
    expect(mount.exitCode).toBe(0);
    try {
      await using world = await makeWorld({ seeds: plainSeeds(3), at: disk });
      await moving(world);
      const filler = join(disk, "filler");
      const fill = (leave: number): void => {
        rmSync(filler, { force: true });
        for (let size = 2 * 1024 * 1024; size >= 4096; size /= 2) {
          const part = Buffer.alloc(size);
          try {
            for (;;) writeFileSync(filler, part, { flag: "a" });
          } catch {
            // Full to within this size.
          }
        }
        if (leave > 0) truncateSync(filler, Math.max(0, statSync(filler).size - leave));
      };
      const outcomes = new Set<string>();
      // From no space at all to just enough: the end comes at another call each time.
      for (let pages = 0; pages <= 60; pages += 4) {
        fill(pages * 4096);
        const before = await statuses(world);
        const result = await world.dotbot([
          "task",
          "edit",
          taskId8(3),
          "--description",
          `words ${pages} ${"x".repeat(3000)}`,
          "--json",
        ]);
        if (result.status === 0) outcomes.add("done");
        else {
          expect(result.status).toBe(5);
          const error = at(JSON.parse(result.stdout), "error");
          expect(String(at(error, "message"))).toContain(disk);
          expect(String(at(error, "message"))).toContain("no space is left");
          outcomes.add("refused");
        }
        expect(await statuses(world)).toEqual(before);
        rmSync(filler);
        const stored = at(await world.ok(["task", "show", taskId8(3)]), "task", "description");
        if (result.status === 0) expect(String(stored)).toStartWith(`words ${pages} `);
        else expect(String(stored)).not.toStartWith(`words ${pages} `);
      }
      expect(outcomes).toEqual(new Set(["refused", "done"]));
      await world.ok(["task", "done", taskId8(1)]);
      expect(await statuses(world)).toEqual({ ...MOVED, "Task 1": "done" });
      expect([...fileTree(world.tasks).keys()].filter((path) => path.includes("dotbot-tmp"))).toEqual([]);
    } finally {
      Bun.spawnSync(["umount", "-l", disk]);
    }
  });
});

const asNobody = requireTool("root") && requireTool("setpriv");

describe.skipIf(!asNobody)("what may not be written", () => {
  const NOBODY = 65534;

  /** A world that an ordinary user owns, and the program run as that user. */
  async function ordinary(): Promise<{ world: World; program: (...args: string[]) => Promise<Outcome> }> {
    const world = await makeWorld({ seeds: plainSeeds(3) });
    const program = world.path("dotbot");
    copyFileSync(await binary(), program);
    chmodSync(program, 0o755);
    await moving(world);
    chown(world, NOBODY);
    return {
      world,
      program: async (...args) => {
        const child = Bun.spawnSync(
          ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", program, ...args],
          {
            cwd: world.main,
            env: {
              PATH: process.env["PATH"] ?? "",
              HOME: world.root,
              USER: "nobody",
              GIT_CONFIG_NOSYSTEM: "1",
              TZ: "UTC",
              LC_ALL: "C",
            },
            stdin: "ignore",
            stdout: "pipe",
            stderr: "pipe",
          },
        );
        return { status: child.exitCode, stdout: child.stdout.toString(), stderr: child.stderr.toString() };
      },
    };
  }
  const chown = (world: World, user: number): void => {
    Bun.spawnSync(["chown", "-R", String(user), world.root]);
  };
  const mode = (world: World, change: string, ...paths: string[]): void => {
    Bun.spawnSync(["chmod", "-R", change, ...paths.map((path) => join(world.main, path))]);
  };
  const tasksIn = ({ stdout }: Outcome): unknown => at(JSON.parse(stdout), "total");

  test("the task folders: the change is made, the file follows later, and that is said", async () => {
    const { world, program } = await ordinary();
    await using _ = world;
    mode(world, "a-w", ".bot/workspace/tasks");
    const result = await program("task", "done", taskId8(1));
    expect([result.status, result.stdout]).toEqual([0, `${taskId8(1)}  Task 1: in-progress → done\n`]);
    expect(result.stderr).toContain("the change is made, but its file isn't");
    expect(result.stderr).toContain(".bot/workspace/tasks/done");
    expect(tasksIn(await program("task", "list", "--json"))).toBe(3);
    expect(shownTask(world.main, 1).status).toBe("in-progress");
    mode(world, "u+w", ".bot/workspace/tasks");
    expect((await program("task", "start", taskId8(3))).status).toBe(0);
    expect(shownTask(world.main, 1).status).toBe("done");
  });

  test("the ledger: reads answer, writes are refused with the folder and what opens it", async () => {
    const { world, program } = await ordinary();
    await using _ = world;
    mode(world, "a-w", ".git");
    const list = await program("task", "list", "--json");
    expect([list.status, tasksIn(list)]).toEqual([0, 3]);
    expect((await program("task", "next")).status).toBe(0);
    const refused = await program("task", "done", taskId8(1), "--json");
    expect([refused.status, at(JSON.parse(refused.stdout), "error", "code")]).toEqual([5, "READ_ONLY"]);
    expect(refused.stdout).toContain(join(world.main, ".git", "dotbot"));
    expect(refused.stdout).toContain("writable_roots");
    expect(shownTask(world.main, 1).status).toBe("in-progress");
  });

  test("settings that may not be read are named", async () => {
    const { world, program } = await ordinary();
    await using _ = world;
    const path = join(world.main, ".bot", "settings.json");
    writeFileSync(path, "{}", { mode: 0 });
    const refused = await program("task", "done", taskId8(1), "--json");
    expect([refused.status, at(JSON.parse(refused.stdout), "error", "code")]).toEqual([2, "INVALID_SETTINGS"]);
    expect(refused.stdout).toContain(path);
    expect(shownTask(world.main, 1).status).toBe("in-progress");
  });

  test("a common dir without a ledger: reads answer from the files", async () => {
    const { world, program } = await ordinary();
    await using _ = world;
    rmSync(join(world.main, ".git", "dotbot"), { recursive: true });
    mode(world, "a-w", ".git");
    const list = await program("task", "list", "--json");
    expect([list.status, tasksIn(list)]).toEqual([0, 3]);
    expect(existsSync(join(world.main, ".git", "dotbot"))).toBe(false);
    const refused = await program("task", "done", taskId8(1), "--json");
    expect([refused.status, at(JSON.parse(refused.stdout), "error", "code")]).toEqual([5, "READ_ONLY"]);
  });

  test.skipIf(!requireTool("strace"))(
    "a ledger that a killed writer left in the middle of a commit: an answer or a clear refusal, never a wrong one",
    async () => {
      const { world, program } = await ordinary();
      await using _ = world;
      chown(world, 0);
      const { calls } = await writeCalls(["task", "start", taskId8(3)], { cwd: world.main });
      await world.ok(["task", "reset", taskId8(3)]);
      // The first page that is written into the database itself: the journal is complete then, and hot.
      const syncs = calls.map((call, index) => ({ call, index })).filter(({ call }) => call.name === "fsync");
      const intoDatabase = calls[(syncs[2]?.index ?? 0) + 2];
      await killedAt(intoDatabase ?? { name: "fsync", nth: 3 }, ["task", "start", taskId8(3)], { cwd: world.main });
      expect(statSync(`${ledgerOf(world)}-journal`).size).toBeGreaterThan(0);
      chown(world, NOBODY);
      mode(world, "a-w", ".git");
      const list = await program("task", "list", "--json");
      if (list.status === 0) expect(tasksIn(list)).toBe(3);
      else expect([list.status, at(JSON.parse(list.stdout), "error", "code")]).toEqual([5, "READ_ONLY"]);
      mode(world, "u+w", ".git");
      const after = await program("task", "list", "--json");
      expect([after.status, tasksIn(after)]).toEqual([0, 3]);
      expect(readdirSync(join(world.main, ".git", "dotbot")).filter((name) => name.includes("damaged"))).toEqual([]);
    },
  );
});

describe("a ledger that somebody else has open", () => {
  test("for reading, all the while: a write gives up as one that found it locked, and changes nothing", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    await world.ok(["task", "list"]);
    using db = new Database(ledgerOf(world), { readonly: true });
    db.run("BEGIN");
    db.query("SELECT * FROM task").all();
    const error = await world.refused("LOCKED", ["task", "add", "No", "--lock-wait", "50ms"]);
    expect(error.message).toMatch(/open for reading.*waited 50 ms$/);
    db.run("COMMIT");
    expect(await statuses(world)).toEqual({ "Task 1": "todo" });
  });

  test("for writing: a read answers, whatever times its files have", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(2) });
    await world.ok(["task", "list"]);
    for (const path of fileTree(world.tasks).keys()) utimesSync(join(world.tasks, path), 1_700_000_000, 1_700_000_000);
    using db = new Database(ledgerOf(world));
    db.run("BEGIN IMMEDIATE");
    expect(await statuses(world)).toEqual({ "Task 1": "todo", "Task 2": "todo" });
  });
});

test("an older copy of the ledger in its place: what has been added since is there at once", async () => {
  await using world = await makeWorld({ seeds: plainSeeds(1) });
  await world.ok(["task", "list"]);
  copyFileSync(ledgerOf(world), world.path("copy"));
  await world.ok(["task", "add", "Later"]);
  await world.ok(["task", "list"]);
  renameSync(world.path("copy"), ledgerOf(world));
  expect(await statuses(world)).toEqual({ "Task 1": "todo", Later: "todo" });
});
