/**
 * The server as a process, on the real binary: how it ends, what it leaves, and what a rude client, a big message or a crowd
 * of calls can do to it. Children are a project's own hooks on status changes, which run after the change is written.
 */
import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";

import { makeRepo, run } from "../kit/git.ts";
import { plainSeeds, seedTasks, shownTask, taskId, taskId8 } from "../kit/tasks.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { answerOf, openSession, textOf, type Message, type Session } from "./kit.ts";

/** A world in which every status change runs a hook: it says its pid, and takes what the test gives it. */
async function worldWithHook(tail: string, seeds = 3): Promise<World> {
  const hook = `echo $$ >> pids; ${tail}`;
  return await makeWorld({
    seeds: plainSeeds(seeds),
    files: { ".bot/settings.json": JSON.stringify({ hooks: { on_status: [hook] } }) },
  });
}

const ENDLESS = "sleep 300 & sleep 300; wait";

/** The hook's process, once it runs. */
async function hookPid(world: World): Promise<number> {
  return await until(() => {
    const path = world.path("main", "pids");
    return existsSync(path) ? Number.parseInt(readFileSync(path, "utf8"), 10) || undefined : undefined;
  });
}

/** Waits for a condition, which has no event of its own. */
async function until<T>(look: () => T | undefined | false): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await Bun.sleep(5);
  }
}

/** Whether anybody is left of a process group. */
function lives(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

const start = (n: number, more: object = {}) => ({
  name: "task_mark_in_progress",
  arguments: { task_id: taskId8(n), session_id: "s", ...more },
});

function callLine(id: number, params: object): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
}

async function opened(world: World, cwd = world.main): Promise<Session> {
  const session = await openSession({ cwd, args: ["--toolsets", "all"] });
  await session.handshake();
  return session;
}

describe.skipIf(process.platform === "win32")("how it ends", () => {
  test("stdin's end: what was asked is answered, then it is gone", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    await using session = await opened(world);
    for (let id = 1; id <= 50; id++) session.send(callLine(id, { name: "task_get_next", arguments: {} }));
    session.end();
    expect(await session.exited).toBe(0);
    expect(session.messages.filter((message) => "result" in message)).toHaveLength(51);
    expect(await session.stderr).toBe("");
  });

  test("stdin's end while a child runs: no orphan, and the change stays", async () => {
    await using world = await worldWithHook(ENDLESS);
    await using session = await opened(world);
    session.send(callLine(1, start(1)));
    const child = await hookPid(world);
    session.end();
    expect(await session.exited).toBe(0);
    expect(lives(child)).toBe(false);
    expect(shownTask(world.main, 1).status).toBe("in-progress");
  });

  test("a reader that goes away: the next answer ends it, and its children", async () => {
    await using world = await worldWithHook(ENDLESS);
    await using session = await opened(world);
    session.send(callLine(1, start(1)));
    const child = await hookPid(world);
    await session.hangUp();
    session.send({ jsonrpc: "2.0", id: 2, method: "ping" });
    expect(await session.exited).toBe(0);
    expect(lives(child)).toBe(false);
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s during a write: it is finished and answered, its child ended",
    async (signal) => {
      await using world = await worldWithHook(ENDLESS);
      await using session = await opened(world);
      session.send(callLine(1, start(1)));
      session.send(callLine(2, start(2)));
      const child = await hookPid(world);
      session.kill(signal);
      expect(await session.exited).toBe({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal]);
      expect(lives(child)).toBe(false);
      expect(shownTask(world.main, 1).status).toBe("in-progress");
      // The one that waited for its turn never began, and says so.
      expect(await session.reply(2)).toMatchObject({ result: { isError: true } });
      expect(shownTask(world.main, 2).status).toBe("todo");
      expect(await session.reply(1)).toHaveProperty("result");
    },
  );

  test("SIGKILL amid writes: what was acknowledged is there, and the next server goes on", async () => {
    const count = 40;
    for (const after of [0, 1, 7, 20]) {
      await using world = await makeWorld({ seeds: plainSeeds(count) });
      const acknowledged: number[] = [];
      {
        await using session = await opened(world);
        for (let n = 1; n <= count; n++) session.send(callLine(n, start(n)));
        if (after > 0) await session.reply(after);
        session.kill("SIGKILL");
        await session.exited;
        for (const message of session.messages) {
          const id = message["id"];
          if (typeof id === "number" && id <= count && "result" in message) acknowledged.push(id);
        }
      }
      await using session = await opened(world);
      for (let n = 1; n <= count; n++) {
        const now = answerOf(await session.call("task_mark_in_progress", start(n).arguments));
        if (acknowledged.includes(n)) expect(now).toMatchObject({ changed: false });
        expect(now).toMatchObject({ newStatus: "in-progress" });
        expect(shownTask(world.main, n).status).toBe("in-progress");
      }
    }
  });
});

describe("a cancelled call", () => {
  test.skipIf(process.platform === "win32")("ends its children and gets no reply; the others go on", async () => {
    await using world = await worldWithHook(ENDLESS);
    await using session = await opened(world);
    session.send(callLine(1, start(1)));
    const child = await hookPid(world);
    session.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, reason: "enough" } });
    await until(() => !lives(child));
    expect(await session.call("task_get_next")).toMatchObject({ structuredContent: { claimed: false } });
    expect(session.messages.filter((message) => message["id"] === 1)).toEqual([]);
    session.end();
    expect(await session.exited).toBe(0);
  });

  test("that waits for its turn never runs", async () => {
    await using world = await worldWithHook("until [ -e go ]; do sleep 0.02; done");
    await using session = await opened(world);
    session.send(callLine(1, start(1)));
    await hookPid(world);
    session.send(callLine(2, start(2)));
    session.send(callLine(3, start(3)));
    session.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
    await session.request("ping");
    await Bun.write(world.path("main", "go"), "");
    expect(answerOf((await session.reply(3))["result"] as Message)).toMatchObject({ changed: true });
    expect(shownTask(world.main, 2).status).toBe("todo");
  });
});

describe("size and number", () => {
  test("a line of 20 MB is a message like any other", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    await using session = await opened(world);
    const huge = "x".repeat(20 * 1024 * 1024);
    expect(await session.request("ping", { huge })).toMatchObject({ result: {} });
    expect(
      await session.call("task_mark_analysed", { task_id: taskId(1), session_id: "s", analysis: { huge } }),
    ).toMatchObject({ isError: true });
    answerOf(await session.call("task_mark_analysing", { task_id: taskId(1), session_id: "s" }));
    const result = await session.call("task_mark_analysed", {
      task_id: taskId(1),
      session_id: "s",
      analysis: { huge },
    });
    // Kept whole, shown in part.
    expect(answerOf(result)).toMatchObject({ newStatus: "analysed", changed: true });
    expect(textOf(result).length).toBeLessThan(100_000);
    expect(JSON.stringify(result)).toContain("the answer was too long");
    const doc = shownTask(world.main, 1).doc as { analysis: { huge: string } };
    expect(doc.analysis.huge.length).toBe(huge.length);
  });

  test("1,000 calls at once, each answered once", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(200) });
    await using session = await opened(world);
    const lines: string[] = [];
    for (let n = 1; n <= 1000; n++)
      lines.push(callLine(n, n % 5 === 0 ? start(n / 5) : { name: "task_get_next", arguments: {} }));
    session.send(lines.join("\n"));
    await Promise.all(Array.from({ length: 1000 }, async (_, i) => await session.reply(i + 1)));
    await session.request("ping");
    const ids = session.messages.map((message) => message["id"]).filter((id) => typeof id === "number" && id <= 1000);
    expect(ids).toHaveLength(1000);
    expect(new Set(ids).size).toBe(1000);
    expect(
      session.messages.filter((message) => (message["result"] as Message | undefined)?.["isError"] === true),
    ).toEqual([]);
    for (let n = 1; n <= 200; n++) expect(shownTask(world.main, n).status).toBe("in-progress");
  }, 60_000);

  test("a slow write keeps the next write to its repository waiting, and nobody else", async () => {
    await using world = await worldWithHook("until [ -e go ]; do sleep 0.02; done");
    await using other = await makeWorld({ seeds: plainSeeds(1) });
    await using session = await opened(world);
    session.send(callLine(1, start(1)));
    await hookPid(world);
    session.send(callLine(2, start(2)));
    expect(answerOf(await session.call("task_get_next"))).toMatchObject({ task: { name: "Task 2" } });
    const elsewhere = await session.call("task_mark_in_progress", { ...start(1).arguments, dir: other.main });
    expect(answerOf(elsewhere)).toMatchObject({ changed: true, stateRoot: other.main });
    expect(session.messages.filter((message) => message["id"] === 1 || message["id"] === 2)).toEqual([]);
    expect(shownTask(world.main, 2).status).toBe("todo");
    await Bun.write(world.path("main", "go"), "");
    await Promise.all([session.reply(1), session.reply(2)]);
    const order = session.messages.map((message) => message["id"]).filter((id) => id === 1 || id === 2);
    expect(order).toEqual([1, 2]);
  });
});

describe("a world that changes", () => {
  test("the working directory vanishes: calls with dir go on, others say where the server looked", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    await using doomed = await makeWorld();
    await using session = await opened(doomed);
    rmSync(doomed.main, { recursive: true });
    const result = await session.call("task_get_next");
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toContain(doomed.main);
    expect(answerOf(await session.call("task_get_next", { dir: world.main }))).toMatchObject({
      task: { name: "Task 1" },
    });
  });

  test("a worktree comes, goes and comes back between two calls", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    await using session = await opened(world);
    const tree = world.path("tree");
    await run(world.main, "worktree", "add", "-q", "-b", "feat", tree);
    expect(answerOf(await session.call("task_get_next", { dir: tree }))).toMatchObject({ stateRoot: world.main });
    rmSync(tree, { recursive: true });
    expect(await session.call("task_get_next", { dir: tree })).toMatchObject({ isError: true });
    await run(world.main, "worktree", "prune");
    await run(world.main, "worktree", "add", "-q", tree, "feat");
    expect(answerOf(await session.call("task_get_next", { dir: tree }))).toMatchObject({ stateRoot: world.main });
  });

  test("a changed settings file counts from the next call on", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    await using session = await opened(world);
    const names = async () =>
      ((await session.request("tools/list"))["result"] as { tools: { name: string }[] }).tools.map((tool) => tool.name);
    expect(await names()).toContain("task_mark_in_progress");
    await Bun.write(world.path("main", ".bot", "settings.json"), '{"mcp":{"read_only":true}}');
    expect(await names()).toEqual(expect.arrayContaining(["task_get_next"]));
    expect(await names()).not.toContain("task_mark_in_progress");
    expect(await session.call("task_mark_in_progress", start(1).arguments)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining("this server only reads") },
    });
  });

  describe("the ledger", () => {
    const ledger = (world: World): string => world.path("main", ".git", "dotbot", "queue.db");
    /** What the server answers for the first task after something was done to the ledger that it had open a moment before. */
    async function statusAfter(meddle: (world: World) => unknown): Promise<[status: unknown, told: string]> {
      await using world = await makeWorld({ seeds: plainSeeds(2) });
      await using session = await opened(world);
      answerOf(await session.call("task_mark_in_progress", start(1).arguments));
      await meddle(world);
      const result = await session.call("task_get", { task_id: taskId8(1) });
      const answer = result["isError"] === true ? {} : answerOf(result);
      return [at(answer, "task", "status"), JSON.stringify(result)];
    }

    test("is removed: it is read anew from the files", async () => {
      const [status] = await statusAfter((world) => rmSync(world.path("main", ".git", "dotbot"), { recursive: true }));
      expect(status).toBe("in-progress");
    });

    test("is exchanged for an older copy: that is the one that counts, and files that are ahead of it are an edit", async () => {
      await using world = await makeWorld({ seeds: plainSeeds(2) });
      await using session = await opened(world);
      answerOf(await session.call("task_get_next"));
      copyFileSync(ledger(world), world.path("copy"));
      answerOf(await session.call("task_mark_in_progress", start(1).arguments));
      renameSync(world.path("copy"), ledger(world));
      const shown = answerOf(await session.call("task_get", { task_id: taskId8(1) }));
      expect(shown).toEqual(await world.ok(["task", "show", taskId8(1)]));
    });

    test("is written over with an older copy, and a command line goes on from there: nothing that it wrote is undone", async () => {
      await using world = await makeWorld({ seeds: plainSeeds(6) });
      await using session = await opened(world);
      answerOf(await session.call("task_get_next"));
      const copy = readFileSync(ledger(world));
      answerOf(await session.call("task_create", { name: "Before", session_id: "s" }));
      writeFileSync(ledger(world), copy);
      await world.ok(["task", "remove", taskId8(5)]);
      await world.ok(["task", "add", "Meanwhile"]);
      answerOf(await session.call("task_create", { name: "After", session_id: "s" }));
      const names = (list: unknown): string[] => (list as { name: string }[]).map(({ name }) => name);
      const seen = names((await world.ok(["task", "list"]))["tasks"]);
      expect(seen).toEqual(expect.arrayContaining(["Meanwhile", "After"]));
      expect(seen).not.toContain("Task 5");
      expect(names(answerOf(await session.call("task_list"))["tasks"])).toEqual(seen);
    });

    test("is locked by somebody else: calls for other repositories don't wait, nor do those that need nothing of it", async () => {
      await using world = await makeWorld({ seeds: plainSeeds(1) });
      await using other = await makeWorld({ seeds: plainSeeds(1) });
      await using session = await opened(world);
      answerOf(await session.call("task_get_next"));
      using db = new Database(ledger(world));
      db.run("BEGIN EXCLUSIVE");
      const waiting = session.call("task_get_next");
      answerOf(await session.call("task_get_next", { dir: other.main }));
      expect(await Promise.race([waiting.then(() => "answered"), Promise.resolve("waits")])).toBe("waits");
      db.run("ROLLBACK");
      answerOf(await waiting);
    });

    test("is held open by a reader: a write waits for it without keeping others, and goes through when it has done", async () => {
      await using world = await makeWorld({ seeds: plainSeeds(1) });
      await using session = await opened(world);
      answerOf(await session.call("task_get_next"));
      using db = new Database(ledger(world), { readonly: true });
      db.run("BEGIN");
      db.query("SELECT * FROM task").all();
      const waiting = session.call("task_create", { name: "Late", session_id: "s" });
      await session.request("ping");
      db.run("COMMIT");
      expect(answerOf(await waiting)).toMatchObject({ task: { name: "Late" } });
    });

    test("are many: no more than a few stay open", async () => {
      await using world = await makeWorld({ seeds: plainSeeds(1) });
      await using session = await opened(world);
      for (let n = 0; n < 30; n++) {
        const main = await makeRepo(world.path(`repo-${n}`));
        seedTasks(main, plainSeeds(1));
        answerOf(await session.call("task_get_next", { dir: main }));
      }
      const open = readdirSync(`/proc/${session.pid}/fd`).filter((fd) => {
        try {
          return readlinkSync(`/proc/${session.pid}/fd/${fd}`).endsWith("queue.db");
        } catch {
          return false;
        }
      });
      expect(open.length).toBeLessThan(20);
    });

    test.each<[what: string, meddle: (path: string) => void]>([
      ["is overwritten with something else", (path) => writeFileSync(path, "no database\n".repeat(2_000))],
      ["is cut within a page", (path) => truncateSync(path, 5_000)],
      ["is cut within the first page", (path) => truncateSync(path, 1_000)],
    ])("%s: it is rebuilt, and said", async (_, meddle) => {
      const [status, text] = await statusAfter((world) => meddle(ledger(world)));
      expect(status).toBe("in-progress");
      expect(text).toContain("the ledger was damaged");
    });

    test("is emptied: it is read anew from the files", async () => {
      const [status] = await statusAfter((world) => truncateSync(ledger(world), 0));
      expect(status).toBe("in-progress");
    });

    test("is of a newer program: refused, and left as it is", async () => {
      const [, text] = await statusAfter((world) => {
        using db = new Database(ledger(world));
        db.run("PRAGMA user_version = 999");
      });
      expect(text).toContain("LEDGER_DAMAGED");
      expect(text).toContain("newer dotbot");
    });

    test("is changed by a command line between two calls: the next call knows", async () => {
      const [status] = await statusAfter(
        async (world) => await world.ok(["task", "done", taskId8(1), "--session", "s"]),
      );
      expect(status).toBe("done");
    });
  });

  test("two servers and ten command lines on one queue: each task to exactly one", async () => {
    const count = 40;
    await using world = await makeWorld({ seeds: plainSeeds(count) });
    await using one = await opened(world);
    await mkdir(world.path("elsewhere"));
    await using two = await opened(world, world.path("elsewhere"));
    const claims: Promise<unknown>[] = [];
    for (let n = 0; n < 15; n++) {
      claims.push(one.call("task_claim", { session_id: `one-${n}` }).then(answerOf));
      claims.push(two.call("task_claim", { session_id: `two-${n}`, dir: world.main }).then(answerOf));
      if (n < 10) claims.push(world.ok(["task", "claim", "--owner", `person-${n}`]));
    }
    const taken = (await Promise.all(claims)).map((answer) => (answer as { task: { name: string } }).task.name);
    expect(taken.toSorted()).toEqual(Array.from({ length: count }, (_, i) => `Task ${i + 1}`).toSorted());
  }, 60_000);
});
