/**
 * Claims and real processes: what a killed one held is free at once, what a living one holds never is, seen from another pid
 * namespace too; a recycled pid is nobody's; of two that start at once one wins.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";

import { lifeOf, markOf, type ProcessMark } from "../../lib/process.ts";
import { resolveRepo } from "../../lib/git/repo.ts";
import { Queue } from "../../lib/task/queue.ts";
import { binary, cleanEnv } from "../kit/binary.ts";
import { inProcess } from "../kit/call.ts";
import { taskId8 } from "../kit/tasks.ts";
import { makeWorld, type World } from "../kit/world.ts";

const linux = process.platform === "linux";

/** A process that waits to be killed, by the number that it has here. */
interface Sleeper extends AsyncDisposable {
  readonly pid: number;
  /** Kills it and waits for its end. */
  kill(): Promise<void>;
}

async function ended(child: Bun.Subprocess): Promise<void> {
  child.kill(9);
  await child.exited;
}

function sleeper(): Sleeper {
  const child = Bun.spawn(["sleep", "600"], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const kill = async (): Promise<void> => await ended(child);
  return { pid: child.pid, kill, [Symbol.asyncDispose]: kill };
}

const canUnshare =
  linux && Bun.spawnSync(["unshare", "-pf", "--mount-proc", "true"], { stderr: "ignore" }).exitCode === 0;

/** Runs something in a pid namespace of its own, with a /proc of its own. */
function inNamespace(
  words: readonly string[],
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
) {
  return Bun.spawn(["unshare", "-pf", "--kill-child", "--mount-proc", ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    ...options,
  });
}

const KIT = join(import.meta.dir, "..", "..", "lib", "process.ts");

/** What a process in another namespace says of a mark. */
async function lifeSeenFromInside(mark: ProcessMark): Promise<string> {
  const script = `import { lifeOf } from ${JSON.stringify(KIT)}; console.log(lifeOf(${JSON.stringify(mark)}));`;
  return (await inNamespace([process.execPath, "-e", script]).stdout.text()).trim();
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}

function mark(pid: number): ProcessMark {
  const made = markOf(pid);
  if (made === null) throw new Error(`no process ${pid}`);
  return made;
}

describe("whether a process lives", () => {
  test("a living one does, a killed one doesn't, reaped or not", async () => {
    await using one = sleeper();
    const made = mark(one.pid);
    expect(lifeOf(made)).toBe("alive");
    await one.kill();
    expect(lifeOf(made)).toBe("dead");
  });

  test.skipIf(!linux)("a zombie has ended", async () => {
    // The shell has become a sleep before its child ends, and a sleep reaps nobody.
    const child = Bun.spawn(["sh", "-c", "sleep 600 & echo $!; exec sleep 600"], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    await using _ = { [Symbol.asyncDispose]: async () => await ended(child) };
    const { value } = await child.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    await until(
      async () =>
        (await Bun.file(`/proc/${child.pid}/comm`).text()) === "sleep\n" &&
        (await Bun.file(`/proc/${pid}/comm`).text()) === "sleep\n",
    );
    const made = mark(pid);
    expect(lifeOf(made)).toBe("alive");
    process.kill(pid, "SIGKILL");
    await until(async () => (await Bun.file(`/proc/${pid}/stat`).text()).includes(") Z "));
    expect(lifeOf(made)).toBe("dead");
  });

  test.skipIf(!linux)("a recycled pid isn't the owner's", () => {
    expect(lifeOf({ ...mark(process.pid), start: "1" })).toBe("dead");
  });

  test.skipIf(!linux)("after a reboot nobody of before lives", () => {
    expect(lifeOf({ ...mark(process.pid), boot: "another boot" })).toBe("dead");
  });

  test.skipIf(!canUnshare)("from within another namespace a living one isn't taken for dead", async () => {
    await using one = sleeper();
    expect(await lifeSeenFromInside(mark(one.pid))).toBe("unknown");
    // Not even when the number means nothing there, or somebody else.
    expect(await lifeSeenFromInside({ ...mark(one.pid), pid: 1 })).toBe("unknown");
  });

  test.skipIf(!canUnshare)("from around it one in another namespace is seen to live, and to have ended", async () => {
    const script = `import { markOf } from ${JSON.stringify(KIT)}; console.log(JSON.stringify(markOf(process.pid))); setInterval(() => {}, 1000);`;
    const child = inNamespace([process.execPath, "-e", script]);
    await using _ = { [Symbol.asyncDispose]: async () => await ended(child) };
    const { value } = await child.stdout.getReader().read();
    const made = JSON.parse(new TextDecoder().decode(value)) as ProcessMark;
    expect(made.namespace).not.toBe(mark(process.pid).namespace);
    expect(lifeOf(made)).toBe("alive");
    await ended(child);
    await until(async () => lifeOf(made) !== "alive");
    expect(["dead", "unknown"]).toContain(lifeOf(made));
  });
});

const TASK = taskId8(1);

async function claimed(world: World, owner: string): Promise<unknown> {
  return await world.ok(["task", "claim", TASK, "--owner", owner]);
}

describe("claims of processes, by the program itself", () => {
  test("what a killed process held is free for the next command, and what a living one holds isn't", async () => {
    await using world = await makeWorld({ seeds: [{}] });
    await using holder = sleeper();
    await world.ok(["task", "claim", TASK, "--owner", "ada", "--pid", String(holder.pid), "--ttl", "1ms"]);
    await world.refused("NOT_HOLDER", ["task", "claim", TASK, "--owner", "bob"]);
    await holder.kill();
    expect(await claimed(world, "bob")).toMatchObject({ claim: { owner: "bob" } });
  });

  test.skipIf(!canUnshare)("from another pid namespace a living holder's claim stands", async () => {
    await using world = await makeWorld({ seeds: [{}] });
    await using holder = sleeper();
    await world.ok(["task", "claim", TASK, "--owner", "ada", "--pid", String(holder.pid)]);
    const child = inNamespace([await binary(), "task", "claim", TASK, "--owner", "bob", "--json"], {
      cwd: world.main,
      env: cleanEnv(),
    });
    expect(JSON.parse(await child.stdout.text())).toMatchObject({ error: { code: "NOT_HOLDER" } });
  });

  test("of twenty that start one task at once one wins, and it is the one that the ledger names", async () => {
    await using world = await makeWorld({ seeds: [{}] });
    const outcomes = await Promise.all(
      Array.from(
        { length: 20 },
        async (_, n) => await world.dotbot(["task", "start", TASK, "--owner", `owner-${n}`, "--json"]),
      ),
    );
    const winners = outcomes.flatMap(({ status }, n) => (status === 0 ? [`owner-${n}`] : []));
    expect(outcomes.filter(({ status }) => status !== 0).every(({ stdout }) => stdout.includes("NOT_HOLDER"))).toBe(
      true,
    );
    expect(winners).toHaveLength(1);
    const ctx = { ...(await contextOf(world)) };
    using queue = await Queue.open(ctx, await resolveRepo(ctx));
    expect([...queue.ledger.claims().values()].map((text) => (JSON.parse(text) as { owner: string }).owner)).toEqual(
      winners,
    );
  });
});

async function contextOf(world: World) {
  await using other = await inProcess();
  return other.ctx({ cwd: world.main });
}
