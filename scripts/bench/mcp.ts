/** The server: how soon it is there, how fast a call is over an open session, and whether it grows. */
import { makeRepo } from "../../test/kit/git.ts";
import { plainSeeds, seedTasks, taskId8 } from "../../test/kit/tasks.ts";
import { IGNORE_QUEUE } from "../../test/kit/world.ts";
import { openSession, type Session } from "../../test/mcp/kit.ts";
import { figuresOf, timeProcess, type Bench, type Measured, type Row } from "./kit.ts";

const TASKS = 1_000;
const RUNS = 40;
const WARM_UP = 5;

async function project(bench: Bench, name: string): Promise<string> {
  const root = await makeRepo(await bench.folder(name), {
    files: { "README.md": "hello\n", ".bot/.gitignore": IGNORE_QUEUE },
  });
  seedTasks(root, plainSeeds(TASKS));
  bench.run(["task", "next"], root);
  return root;
}

async function open(bench: Bench, cwd: string): Promise<Session> {
  const session = await openSession({ cwd, program: [bench.dotbot], onlyEnv: bench.env });
  await session.handshake();
  return session;
}

export async function rows(bench: Bench): Promise<readonly Row[]> {
  const root = await project(bench, "mcp");
  return [
    { kind: "measured", what: "mcp: start to tools/list", bound: 18, measure: async () => await starts(bench, root) },
    {
      kind: "measured",
      what: "mcp: a read over an open session",
      bound: 0.3,
      measure: async () => await calls(bench, root, read),
    },
    {
      kind: "measured",
      what: "mcp: a write over an open session",
      bound: 1,
      measure: async () => await calls(bench, root, write),
    },
    {
      kind: "measured",
      what: "mcp: memory after 11,000 calls, against 1,000",
      bound: 1.1,
      measure: async () => await memory(bench, root),
    },
  ];
}

/** Each start in turn with a floor, so that both see the same machine. */
async function starts(bench: Bench, cwd: string): Promise<Measured> {
  const own: number[] = [];
  const floors: number[] = [];
  for (let n = 0; n < RUNS + WARM_UP; n++) {
    const floor = timeProcess([bench.floor], cwd, bench.env);
    const began = performance.now();
    await using session = await open(bench, cwd);
    await session.request("tools/list");
    const took = performance.now() - began;
    if (n >= WARM_UP) {
      own.push(took);
      floors.push(floor);
    }
  }
  return against(figuresOf(own).medianMs, figuresOf(floors).medianMs, figuresOf(own).p95Ms);
}

type Call = (session: Session, n: number) => Promise<unknown>;

const read: Call = async (session) => await session.call("task_get_next");
const write: Call = async (session, n) =>
  await session.call("task_mark_in_progress", { task_id: taskId8(n + 1), session_id: "bench" });

async function calls(bench: Bench, cwd: string, call: Call): Promise<Measured> {
  await using session = await open(bench, cwd);
  const own: number[] = [];
  const floors: number[] = [];
  for (let n = 0; n < 5 * RUNS + WARM_UP; n++) {
    if (n % 5 === 0) floors.push(timeProcess([bench.floor], cwd, bench.env));
    const began = performance.now();
    await call(session, n);
    if (n >= WARM_UP) own.push(performance.now() - began);
  }
  return against(figuresOf(own).medianMs, figuresOf(floors).medianMs, figuresOf(own).p95Ms);
}

async function memory(bench: Bench, cwd: string): Promise<Measured> {
  await using session = await open(bench, cwd);
  const many = async (count: number): Promise<number> => {
    for (let n = 0; n < count; n += 10)
      await Promise.all(Array.from({ length: 10 }, async () => await read(session, n)));
    return await residentKb(session.pid);
  };
  const first = await many(1_000);
  const last = await many(10_000);
  return { ratio: last / first, note: `${Math.round(first / 1024)} MB, then ${Math.round(last / 1024)} MB` };
}

async function residentKb(pid: number): Promise<number> {
  const child = Bun.spawn(["ps", "-o", "rss=", "-p", String(pid)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  return Number((await child.stdout.text()).trim());
}

function against(ownMs: number, floorMs: number, p95Ms: number): Measured {
  return {
    ratio: ownMs / floorMs,
    note: `${ownMs.toFixed(2)} ms, p95 ${p95Ms.toFixed(2)}; floor ${floorMs.toFixed(2)}`,
  };
}
