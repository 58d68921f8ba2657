/** Many processes on one queue: what SQLite's lock, the claims and the transition table promise together. */
import { describe, expect, test } from "bun:test";

import { mayMove, type Status } from "../../lib/task/model.ts";
import { dotbot, outcome, start } from "../kit/binary.ts";
import { plainSeeds, shownTask, taskId, taskId8 } from "../kit/tasks.ts";
import { at, makeWorld, type World } from "../kit/world.ts";

/** Runs the calls at once; the answers in the calls' order, with `--json`. */
async function together(
  world: World,
  calls: readonly (readonly string[])[],
): Promise<{ status: number; answer: unknown; stderr: string }[]> {
  const results = await Promise.all(calls.map(async (args) => await dotbot([...args, "--json"], { cwd: world.main })));
  return results.map(({ status, stdout, stderr }) => ({ status, answer: JSON.parse(stdout), stderr }));
}

describe("one queue, many processes", () => {
  test("64 claim: each task goes to exactly one, in pick order, and none is lost", async () => {
    const seeds = plainSeeds(80).map((_, index) => ({ fields: { priority: 1 + ((index * 37) % 90) } }));
    await using world = await makeWorld({ seeds });
    const inPickOrder = seeds
      .map(({ fields }, index) => ({ n: index + 1, priority: fields.priority }))
      .toSorted((a, b) => a.priority - b.priority || a.n - b.n)
      .map(({ n }) => taskId(n));

    const results = await together(
      world,
      Array.from({ length: 64 }, (_, i) => ["task", "claim", "--owner", `worker-${i}`]),
    );

    expect(results.filter(({ status, stderr }) => status !== 0 || stderr !== "")).toEqual([]);
    const claimed = results.map(({ answer }, i) => ({
      id: String(at(answer, "task", "id")),
      owner: at(answer, "claim", "owner"),
      since: String(at(answer, "claim", "since")),
      expected: `worker-${i}`,
    }));
    expect(claimed.filter(({ owner, expected: caller }) => owner !== caller)).toEqual([]);
    const sinceOf = new Map(claimed.map(({ id, since }) => [id, since]));
    expect([...sinceOf.keys()].toSorted()).toEqual(inPickOrder.slice(0, 64).toSorted());
    // A claim's time is read inside its transaction: the order of times is the order in which tasks were given away.
    const times = inPickOrder.slice(0, 64).map((id) => sinceOf.get(id) ?? "");
    expect(times).toEqual(times.toSorted());

    const next = await world.ok(["task", "next"]);
    expect(at(next, "task", "id")).toBe(inPickOrder[64]);
  });

  test("one task, claimed by 16 at once, goes to one; the others are told who has it", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(1) });
    const results = await together(
      world,
      Array.from({ length: 16 }, (_, i) => ["task", "claim", taskId8(1), "--owner", `worker-${i}`]),
    );
    const winners = results.filter(({ status }) => status === 0).map(({ answer }) => at(answer, "claim", "owner"));
    expect(winners).toHaveLength(1);
    const [winner] = winners;
    for (const { status, answer } of results.filter((result) => result.status !== 0)) {
      expect([status, at(answer, "error", "code"), at(answer, "error", "details", "claim", "owner")]).toEqual([
        4,
        "NOT_HOLDER",
        winner,
      ]);
    }
  });

  test("20 edit one task at once, each another field: all edits are there", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(2) });
    const results = await together(
      world,
      Array.from({ length: 20 }, (_, i) => ["task", "edit", taskId8(1), "--fields", `{"edit_${i}":${i}}`]),
    );
    expect(results.filter(({ status, stderr }) => status !== 0 || stderr !== "")).toEqual([]);
    const { doc } = shownTask(world.main, 1);
    expect(doc).toMatchObject(Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`edit_${i}`, i])));
    expect(doc["revision"]).toBe(21);
  });

  test("a list is a snapshot: a task on the move is never missing and never doubled", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(6) });
    const stop = new AbortController();
    const lists: Promise<void>[] = [];
    const seen: string[][] = [];
    const reader = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const { tasks } = await world.ok(["task", "list"]);
        seen.push((Array.isArray(tasks) ? tasks : []).map((task: unknown) => String(at(task, "id"))).toSorted());
      }
    };
    lists.push(reader(), reader());
    for (let round = 0; round < 8; round++) {
      for (const verb of ["start", "reset"]) await world.ok(["task", verb, taskId8(1)]);
    }
    stop.abort();
    await Promise.all(lists);
    const all = Array.from({ length: 6 }, (_, i) => taskId(i + 1)).toSorted();
    expect(seen.length).toBeGreaterThan(4);
    for (const ids of seen) expect(ids).toEqual(all);
  });
});

/** A small generator with a seed, so that a failing run can be run again. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("random work", () => {
  // DOTBOT_TEST_LONG=1: a minute instead of a quarter.
  const WORKERS = 8;
  const TASKS = 24;
  const SECONDS = process.env["DOTBOT_TEST_LONG"] === "1" ? 60 : 15;
  const SEED = Number(process.env["DOTBOT_TEST_SEED"] ?? 20260301);
  const VERBS: readonly (readonly string[])[] = [
    ["start"],
    ["done"],
    ["reset"],
    ["analysing"],
    ["analysed"],
    ["review"],
    ["fail", "--reason", "x"],
    ["skip", "--reason", "superseded"],
    ["ask", "--question", "Which?", "--option", "A=this", "--option", "B=that"],
    ["answer", "A"],
    ["edit", "--priority", "7"],
  ];

  test("eight processes with kills among them: every history is legal, and no acknowledged move is lost", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(TASKS) });
    const acknowledged: { n: number; session: string; to: string }[] = [];
    const unexpected: string[] = [];
    let calls = 0;
    let killed = 0;
    const until = performance.now() + SECONDS * 1000;

    const worker = async (index: number): Promise<void> => {
      const dice = random(SEED + index);
      for (let turn = 0; performance.now() < until; turn++) {
        const n = 1 + Math.floor(dice() * TASKS);
        const [verb = "", ...rest] = VERBS[Math.floor(dice() * VERBS.length)] ?? [];
        const session = `session-${index}-${turn}`;
        const words = [taskId8(n), ...rest];
        const child = await start(["task", verb, ...words, "--session", session, "--json"], { cwd: world.main });
        calls++;
        const deadline = dice() < 0.2 ? setTimeout(() => child.kill("SIGKILL"), dice() * 40) : undefined;
        const result = await outcome(child);
        clearTimeout(deadline);
        if (result.status === 137) killed++;
        if (result.stdout.endsWith("}\n") && (result.status === 0 || result.status === 137)) {
          const answer: unknown = JSON.parse(result.stdout);
          if (
            at(answer, "changed") === true &&
            typeof at(answer, "newStatus") === "string" &&
            at(answer, "oldStatus") !== at(answer, "newStatus")
          ) {
            acknowledged.push({ n, session, to: String(at(answer, "newStatus")) });
          }
          // Held by nobody from here on, or every other worker would be refused.
          if (at(answer, "claim") !== undefined)
            await dotbot(["task", "release", taskId8(n), "--session", session], { cwd: world.main });
        } else if (![4, 137].includes(result.status)) {
          unexpected.push(`${verb} ${words.join(" ")}: status ${result.status} ${result.stdout}${result.stderr}`);
        }
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, index) => worker(index)));

    expect(unexpected).toEqual([]);
    await world.dotbot(["doctor", "--fix", "--yes"]);
    for (let n = 1; n <= TASKS; n++) {
      const { history } = await world.ok(["task", "history", taskId8(n)]);
      const entries = (Array.isArray(history) ? history : []).map((entry: unknown) => ({
        from: at(entry, "from") as Status | undefined,
        to: at(entry, "to") as Status,
        session: String(at(entry, "session_id")),
      }));
      let status: Status = "todo";
      for (const { from, to } of entries) {
        expect({ n, from, legal: mayMove(status, to) }).toEqual({ n, from: status, legal: true });
        status = to;
      }
      const sessions = new Map(entries.map(({ session, to }) => [session, to]));
      for (const move of acknowledged.filter((one) => one.n === n))
        expect(sessions.get(move.session)).toBe(move.to as Status);
      expect(shownTask(world.main, n).status).toBe(status);
      expect(shownTask(world.main, n).doc["status"]).toBe(status);
    }
    console.log(
      `» ${calls} calls by ${WORKERS} processes, ${killed} of them killed, ${acknowledged.length} moves acknowledged, none lost`,
    );
  });
});
