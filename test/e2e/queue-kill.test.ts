/**
 * SIGKILL at every call by which a command writes, for every kind of write, and at calls of the recovery from that. After each:
 * what was acknowledged is there, every task is wholly old or wholly new, the next writer puts the files right, and nothing of
 * ours is left lying about.
 */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { dotbot } from "../kit/binary.ts";
import { killedAt, type WriteCall, writeCalls } from "../kit/strace.ts";
import { fileTree, plainSeeds, taskFileName, taskId, taskId8, tasksFolder } from "../kit/tasks.ts";
import { requireTool } from "../kit/tools.ts";
import { at, makeWorld, type World } from "../kit/world.ts";

const strace = requireTool("strace");
const AT_ONCE = 3;
/** Only this task is touched by the healing write, and by nothing else. */
const BYSTANDER = 4;

interface Kind {
  readonly name: string;
  readonly args: readonly string[];
  readonly stdin?: string;
  /** Done to each copy before the command runs. */
  readonly before?: (root: string) => void;
  /** A read that takes something in: the next reader takes it in as well, so that the old state can't be seen any more. */
  readonly inevitable?: boolean;
}

/** Older than any tick of a clock: what is noted of a file or folder depends on that. */
const LONG_AGO = new Date("2024-01-01T00:00:00Z");

const KINDS: readonly Kind[] = [
  { name: "add", args: ["task", "add", "A new task", "--criteria", "it is there", "--depends-on", taskId(2)] },
  { name: "edit", args: ["task", "edit", taskId8(1), "--description", "other words", "--tag", "x"] },
  { name: "a transition", args: ["task", "start", taskId8(1), "--session", "s"] },
  { name: "a claim", args: ["task", "claim", taskId8(1), "--owner", "ada"] },
  {
    name: "add-bulk",
    args: ["task", "add-bulk", "-"],
    stdin: JSON.stringify(["one", "two", "three"].map((name) => ({ name }))),
  },
  { name: "remove", args: ["task", "remove", taskId8(1), "--yes"] },
  {
    name: "taking in an edited file",
    args: ["task", "list"],
    inevitable: true,
    before: (root) => {
      const path = join(tasksFolder(root), "todo", taskFileName(1));
      writeFileSync(path, readFileSync(path, "utf8").replace("What task 1 is about.", "What a person wrote."));
      utimesSync(path, LONG_AGO, LONG_AGO);
    },
  },
];

const OF_THE_MOMENT = new Set([
  "id",
  "created_at",
  "updated_at",
  "started_at",
  "completed_at",
  "at",
  "since",
  "heartbeat",
  "token",
]);

/** A value without what differs from run to run. */
function timeless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(timeless);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !OF_THE_MOMENT.has(key))
      .map(([key, inner]) => [key, timeless(inner)]),
  );
}

type Docs = ReadonlyMap<string, unknown>;

/** Every task's document by name, as the ledger has it, and who holds what. */
async function queueOf(root: string): Promise<{ docs: Docs; claims: unknown }> {
  const { status, stdout, stderr } = await dotbot(["task", "list", "--json"], { cwd: root });
  if (status !== 0) throw new Error(`task list: status ${status}\n${stdout}${stderr}`);
  const answer: unknown = JSON.parse(stdout);
  expect([at(answer, "broken"), at(answer, "conflicts")]).toEqual([[], []]);
  const tasks = at(answer, "tasks");
  const docs = new Map((Array.isArray(tasks) ? tasks : []).map((doc: unknown) => [String(at(doc, "name")), doc]));
  // By id, and the id of a task that is added is never the same.
  return { docs, claims: Object.values(at(answer, "marks") ?? {}) };
}

const stateOf = ({ docs, claims }: { docs: Docs; claims: unknown }): string =>
  JSON.stringify([[...docs].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, doc]) => timeless(doc)), claims]);

/** Every file is whole: between two steps of a move a task may be shown in both its places. */
function checkWhole(root: string): void {
  for (const [path, text] of fileTree(tasksFolder(root))) {
    if (!path.includes("/.dotbot-tmp-")) expect(() => JSON.parse(text)).not.toThrow();
  }
}

/** The documents that the files show, by name, each once and in its folder. */
function shownIn(root: string): Map<string, unknown> {
  const docs = new Map<string, unknown>();
  for (const [path, text] of fileTree(tasksFolder(root))) {
    const doc: unknown = JSON.parse(Buffer.from(text, "latin1").toString("utf8"));
    const name = String(at(doc, "name"));
    expect(docs.has(name) ? `${name} is shown twice` : null).toBeNull();
    expect(at(doc, "status")).toBe(path.split("/")[0]);
    docs.set(name, doc);
  }
  return docs;
}

const HEAL = ["task", "edit", taskId8(BYSTANDER), "--priority", "8"];

/** Nothing of ours is left, and the files show what the ledger had before, and the healing write. */
function checkHealed(root: string, docs: Docs): void {
  const leftovers = [...fileTree(tasksFolder(root)).keys(), ...fileTree(join(root, ".git", "dotbot")).keys()].filter(
    (path) => path.includes("dotbot-tmp"),
  );
  expect(leftovers).toEqual([]);
  // SQLite plays a journal back unless it is empty or begins with a zero.
  const journal = join(root, ".git", "dotbot", "queue.db-journal");
  expect(existsSync(journal) ? (readFileSync(journal)[0] ?? 0) : 0).toBe(0);
  const shown = shownIn(root);
  expect([...shown.keys()].toSorted()).toEqual([...docs.keys()].toSorted());
  for (const [name, doc] of docs) {
    if (name === `Task ${BYSTANDER}`) expect(shown.get(name)).toMatchObject({ priority: 8 });
    else expect(shown.get(name)).toEqual(doc);
  }
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.slice();
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Copies that begin alike. */
class Bed implements Disposable {
  readonly world: World;
  readonly kind: Kind;
  private serial = 0;

  constructor(world: World, kind: Kind) {
    this.world = world;
    this.kind = kind;
  }

  copy(from = this.world.main): string {
    this.serial += 1;
    const root = this.world.path(`copy-${this.serial}`);
    cpSync(from, root, { recursive: true, preserveTimestamps: true });
    if (from === this.world.main) this.kind.before?.(root);
    // What is noted of folders depends on whether they are older than a tick of the clock: here all of them are.
    for (const folder of [
      tasksFolder(root),
      ...readdirSync(tasksFolder(root)).map((name) => join(tasksFolder(root), name)),
    ]) {
      if (statSync(folder).isDirectory()) utimesSync(folder, LONG_AGO, LONG_AGO);
    }
    return root;
  }

  [Symbol.dispose](): void {
    for (let n = 1; n <= this.serial; n++) rmSync(this.world.path(`copy-${n}`), { recursive: true, force: true });
  }
}

/** The state before the command and after it, and how many writing calls it makes. */
async function survey(bed: Bed) {
  const { args, stdin } = bed.kind;
  const options = (root: string) => ({ cwd: root, ...(stdin === undefined ? {} : { stdin }) });
  const old = stateOf(await queueOf(bed.copy()));
  const done = bed.copy();
  const { calls, result } = await writeCalls([...args, "--json"], options(done));
  expect([result.status, result.stderr.replace(/^took in an edit .*\n/, "")]).toEqual([0, ""]);
  return { old, fresh: stateOf(await queueOf(done)), calls, options };
}

describe.skipIf(!strace)("killed at every write", () => {
  test.each(KINDS.map((kind) => [kind.name, kind] as const))("of %s", async (name, kind) => {
    await using world = await makeWorld({ seeds: plainSeeds(BYSTANDER) });
    await world.ok(["task", "list"]);
    using bed = new Bed(world, kind);
    const { old, fresh, calls, options } = await survey(bed);
    if (kind.inevitable !== true) expect(fresh).not.toBe(old);
    const ends = { old: 0, fresh: 0 };
    const never: WriteCall[] = [];
    await each(calls, async (call) => {
      const root = bed.copy();
      const result = await killedAt(call, [...kind.args, "--json"], options(root));
      if (result.status !== 137) never.push(call);
      checkWhole(root);
      const queue = await queueOf(root);
      const state = stateOf(queue);
      // What was answered is done.
      if (result.stdout.endsWith("\n")) expect(state).toBe(fresh);
      else expect([old, fresh]).toContain(state);
      ends[state === fresh ? "fresh" : "old"]++;
      expect((await dotbot(HEAL, { cwd: root })).status).toBe(0);
      checkHealed(root, queue.docs);
      rmSync(root, { recursive: true });
    });
    expect(never).toEqual([]);
    if (kind.inevitable !== true) expect(Math.min(ends.old, ends.fresh)).toBeGreaterThan(0);
    console.log(
      `» ${name}: killed at each of ${calls.length} writing calls: ${ends.old} wholly old, ${ends.fresh} wholly new, all healed`,
    );
  });

  test.each(
    KINDS.filter(({ name }) => ["a transition", "add-bulk"].includes(name)).map((kind) => [kind.name, kind] as const),
  )("and again while recovering from a kill of %s", async (name, kind) => {
    await using world = await makeWorld({ seeds: plainSeeds(BYSTANDER) });
    await world.ok(["task", "list"]);
    using bed = new Bed(world, kind);
    const { old, fresh, calls, options } = await survey(bed);
    let points = 0;
    // Of both kills every so many, the most of them once something has reached the disk.
    for (let first = 20; first < calls.length; first += Math.ceil(calls.length / 8)) {
      const broken = bed.copy();
      await killedAt(calls[first] ?? { name: "fsync", nth: 1 }, [...kind.args, "--json"], options(broken));
      const before = await queueOf(bed.copy(broken));
      expect([old, fresh]).toContain(stateOf(before));
      const healing = (await writeCalls(HEAL, { cwd: bed.copy(broken) })).calls.filter(
        (_, nth) => nth % 6 === first % 6,
      );
      await each(healing, async (call) => {
        const root = bed.copy(broken);
        if ((await killedAt(call, HEAL, { cwd: root })).status === 137) points++;
        const { docs } = await queueOf(root);
        for (const [task, doc] of before.docs) if (task !== `Task ${BYSTANDER}`) expect(docs.get(task)).toEqual(doc);
        // The bystander may have its new priority already, and then repeating the edit is no write.
        expect((await dotbot(["task", "edit", taskId8(BYSTANDER), "--priority", "9"], { cwd: root })).status).toBe(0);
        expect((await dotbot(HEAL, { cwd: root })).status).toBe(0);
        checkHealed(root, before.docs);
        rmSync(root, { recursive: true });
      });
    }
    expect(points).toBeGreaterThan(10);
    console.log(`» recovery from ${name}: killed at ${points} points, all healed`);
  });
});
