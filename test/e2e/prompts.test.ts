/** Questions at a terminal: the answer is taken, Ctrl-C changes nothing and ends with 130, and without a terminal none is asked. */
import { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { binary } from "../kit/binary.ts";
import { openPty, type Pty } from "../kit/pty.ts";
import { fileTree, taskId8, type Seed } from "../kit/tasks.ts";
import { at, makeWorld, type World } from "../kit/world.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const ESCAPE = "\u001B";
const DOWN = "\u001B[B";

const SEEDS: readonly Seed[] = [
  {
    name: "Asks",
    status: "needs-input",
    fields: {
      pending_questions: [
        {
          id: "q1",
          question: "Which store?",
          options: [
            { key: "A", label: "SQLite" },
            { key: "B", label: "files" },
          ],
        },
      ],
    },
  },
  {
    name: "Asks freely",
    status: "needs-input",
    fields: { pending_questions: [{ id: "q1", question: "Which colour?" }] },
  },
  {
    name: "Asks twice",
    status: "needs-input",
    fields: {
      pending_questions: [
        { id: "q1", question: "Which port?" },
        { id: "q2", question: "Which host?" },
      ],
    },
  },
];

let world: World;
beforeAll(async () => {
  world = await makeWorld({ seeds: SEEDS });
  await world.ok(["task", "list"]);
});
afterAll(async () => await world[Symbol.asyncDispose]());

async function open(...args: string[]): Promise<Pty> {
  return openPty([await binary(), ...args], { cwd: world.main });
}

describe("task add", () => {
  test("asks for what is missing", async () => {
    await using pty = await open("task", "add");
    await pty.sees(/What is to be done\?/);
    pty.type("Größe prüfen\r");
    await pty.sees(/What is it about\?/);
    pty.type("Beyond ASCII\r");
    await pty.sees(/Priority/);
    pty.type("\r");
    expect(await pty.exited).toBe(0);
    expect(at(await world.ok(["task", "show", "Größe prüfen"]), "task")).toMatchObject({
      description: "Beyond ASCII",
      priority: 50,
    });
  });

  test("asks on stderr: stdout holds the answer and nothing else", async () => {
    await using pty = openPty(["sh", "-c", `${await binary()} task add > answer.txt`], { cwd: world.main });
    for (const question of [/What is to be done\?/, /What is it about\?/, /Priority/]) {
      await pty.sees(question);
      pty.type(question.source.startsWith("What is to") ? "Into a file\r" : "\r");
    }
    expect(await pty.exited).toBe(0);
    expect(readFileSync(`${world.main}/answer.txt`, "utf8")).toMatch(/^[0-9a-f]{8} {2}Into a file.*\n$/);
  });

  test("asks again where an answer can't be one", async () => {
    await using pty = await open("task", "add");
    await pty.sees(/What is to be done\?/);
    pty.type("\r");
    await pty.sees(/a task needs a name/);
    pty.type("Mended\r");
    await pty.sees(/What is it about\?/);
    pty.type("\r");
    await pty.sees(/Priority/);
    pty.type("x\r");
    await pty.sees(/a whole number from 1 to 100/);
    // Backspaces.
    pty.type("\u007F\u007F\u007F7\r");
    expect(await pty.exited).toBe(0);
    expect(at(await world.ok(["task", "show", "Mended"]), "task")).toMatchObject({ priority: 7 });
  });

  test("a terminal that doesn't know its size is asked in lines", async () => {
    const line = `stty rows 0 cols 0; exec ${await binary()} task add`;
    await using pty = openPty(["sh", "-c", line], { cwd: world.main });
    await pty.sees(/What is to be done\?[^]*Add a login page/);
    pty.type("Without a size\r");
    await pty.sees(/What is it about\?/);
    pty.type(CTRL_C);
    expect(await pty.exited).toBe(130);
  });

  test("asks nothing when it is told", async () => {
    await using pty = await open("task", "add", "Told");
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).not.toContain("What is");
  });
});

describe("task answer", () => {
  test("shows the question, and its options to choose from", async () => {
    await using pty = await open("task", "answer", taskId8(1));
    await pty.sees(/Which store\?[^]*A {2}SQLite[^]*B {2}files[^]*another answer/);
    pty.type(`${DOWN}\r`);
    expect(await pty.exited).toBe(0);
    expect(at(await world.ok(["task", "show", taskId8(1)]), "task", "questions_resolved", 0)).toMatchObject({
      id: "q1",
      answer: "B - files",
    });
  });

  test("takes free text where there are no options", async () => {
    await using pty = await open("task", "answer", taskId8(2));
    await pty.sees(/Which colour\?/);
    pty.type("teal\r");
    expect(await pty.exited).toBe(0);
    expect(at(await world.ok(["task", "show", taskId8(2)]), "task", "questions_resolved", 0)).toMatchObject({
      answer: "teal",
    });
  });

  test("is for the question that was shown, even when somebody else was faster", async () => {
    await using pty = await open("task", "answer", taskId8(3));
    await pty.sees(/Which port\?/);
    await world.ok(["task", "answer", taskId8(3), "8080"]);
    pty.type("9090\r");
    expect(await pty.exited).toBe(3);
    expect(at(await world.ok(["task", "show", taskId8(3)]), "task")).toMatchObject({
      pending_questions: [{ id: "q2" }],
      questions_resolved: [{ id: "q1", answer: "8080" }],
    });
  });
});

describe("doctor --fix", () => {
  /** A repository whose bare flag was flipped: an error that is safe to fix. */
  async function hurt(): Promise<World> {
    const hurtWorld = await makeWorld();
    await hurtWorld.ok(["task", "list"]);
    await hurtWorld.git("config", "core.bare", "true");
    return hurtWorld;
  }
  const isBare = async ({ main }: World): Promise<boolean> =>
    /bare = true/.test(readFileSync(`${main}/.git/config`, "utf8"));

  test.each<[what: string, keys: string, status: number, left: boolean]>([
    ["Enter, which is yes", "\r", 0, false],
    ["y", "y", 0, false],
    ["n", "n", 1, true],
    ["Ctrl-C", CTRL_C, 130, true],
    ["Escape", ESCAPE, 130, true],
  ])("%s", async (_, keys, status, left) => {
    await using hurtWorld = await hurt();
    await using pty = openPty([await binary(), "doctor", "--fix", "--quiet"], { cwd: hurtWorld.main });
    await pty.sees(/core-bare: git config core\.bare false[^]*Do /);
    pty.type(keys);
    expect(await pty.exited).toBe(status);
    expect(await isBare(hurtWorld)).toBe(left);
  });

  test.each<[what: string, flags: readonly string[], env: Record<string, string>, status: number, left: boolean]>([
    ["--yes", ["--yes"], {}, 0, false],
    ["--json", ["--json"], {}, 2, true],
    ["CI", [], { CI: "true" }, 2, true],
  ])("with %s at a terminal it doesn't ask", async (_, flags, env, status, left) => {
    await using hurtWorld = await hurt();
    await using pty = openPty([await binary(), "doctor", "--fix", ...flags], { cwd: hurtWorld.main, env });
    expect(await pty.exited).toBe(status);
    expect(pty.shown()).not.toMatch(/Do (?:that|these)/);
    expect(await isBare(hurtWorld)).toBe(left);
  });
});

describe("taking the question back", () => {
  test.each<[key: string, keys: string, args: readonly string[], question: RegExp]>([
    ["Ctrl-C", CTRL_C, ["task", "add"], /What is to be done\?/],
    ["Escape", ESCAPE, ["task", "add"], /What is to be done\?/],
  ])("%s ends with 130, and nothing has changed: dotbot %#", async (_, keys, args, question) => {
    const before = fileTree(world.tasks);
    await using pty = await open(...args);
    await pty.sees(question);
    pty.type(keys);
    expect(await pty.exited).toBe(130);
    expect(pty.shown()).toContain("taken back: nothing has changed");
    expect(fileTree(world.tasks)).toEqual(before);
  });

  test("a key typed behind it is no answer", async () => {
    await using hurtWorld = await makeWorld();
    await hurtWorld.ok(["task", "list"]);
    await hurtWorld.git("config", "core.bare", "true");
    await using pty = openPty([await binary(), "doctor", "--fix"], { cwd: hurtWorld.main });
    await pty.sees(/Do /);
    pty.type(`${CTRL_C}y`);
    expect(await pty.exited).toBe(130);
    expect(readFileSync(`${hurtWorld.main}/.git/config`, "utf8")).toMatch(/bare = true/);
  });

  test("so does Ctrl-C at a later question", async () => {
    const before = fileTree(world.tasks);
    await using pty = await open("task", "add");
    await pty.sees(/What is to be done\?/);
    pty.type("Never mind\r");
    await pty.sees(/What is it about\?/);
    pty.type(CTRL_C);
    expect(await pty.exited).toBe(130);
    expect(fileTree(world.tasks)).toEqual(before);
  });
});

describe("the terminal's end", () => {
  interface Asking extends AsyncDisposable {
    readonly pty: Pty;
    readonly main: string;
  }
  /** A question of each kind, in a repository of its own. */
  const KINDS: readonly (readonly [kind: string, ask: () => Promise<Asking>])[] = [
    ["text", async () => await asking(["task", "add"], /What is to be done\?/)],
    ["confirm", async () => await asking(["doctor", "--fix"], /Do /, { bare: true })],
    ["select", async () => await asking(["task", "answer", taskId8(1)], /Which store\?/)],
    ["multiselect", async () => await asking(["init"], /Which agents/, { fresh: true })],
  ];

  /** All but what a reader of the ledger leaves there. */
  const filesOf = ({ main }: Asking): readonly (readonly [string, string])[] =>
    [...fileTree(main)].filter(([path]) => !path.startsWith(".git/dotbot/"));

  async function asking(
    args: readonly string[],
    question: RegExp,
    { bare = false, fresh = false }: { bare?: boolean; fresh?: boolean } = {},
  ): Promise<Asking> {
    const own = await makeWorld({ seeds: SEEDS.slice(0, 1) });
    if (fresh) rmSync(`${own.main}/.bot`, { recursive: true });
    else await own.ok(["task", "list"]);
    if (bare) await own.git("config", "core.bare", "true");
    const pty = openPty([await binary(), ...args], { cwd: own.main });
    await pty.sees(question);
    return {
      pty,
      main: own.main,
      [Symbol.asyncDispose]: async () => {
        await pty[Symbol.asyncDispose]();
        await own[Symbol.asyncDispose]();
      },
    };
  }

  test.each(KINDS)("Ctrl-D at a %s ends with 130, and nothing has changed", async (_, ask) => {
    await using asked = await ask();
    const before = filesOf(asked);
    asked.pty.type(CTRL_D);
    expect(await asked.pty.exited).toBe(130);
    expect(asked.pty.shown()).toContain("taken back: nothing has changed");
    expect(filesOf(asked)).toEqual(before);
  });

  test.each(KINDS)("a window that is shut at a %s ends it, and nothing has changed", async (_, ask) => {
    await using asked = await ask();
    const before = filesOf(asked);
    asked.pty.hangUp();
    // As an end of input, or by the signal that comes with it.
    expect([129, 130]).toContain(await asked.pty.exited);
    expect(filesOf(asked)).toEqual(before);
  });
});

describe("nobody to ask", () => {
  test.each<[what: string, args: readonly string[]]>([
    ["--json", ["task", "add", "--json"]],
    ["--yes", ["task", "add", "--yes"]],
  ])("%s at a terminal: an error that names what to say", async (_, args) => {
    await using pty = await open(...args);
    expect(await pty.exited).toBe(2);
    expect(pty.shown()).not.toContain("What is to be done");
  });

  test.each<[what: string, args: readonly string[], env: Record<string, string>]>([
    ["no terminal", ["task", "add"], {}],
    ["no terminal, to answer", ["task", "answer", "Told"], {}],
  ])("%s", async (_, args, env) => {
    const { status, stdout } = await world.dotbot(args, { env });
    expect(status).toBeGreaterThanOrEqual(2);
    expect(stdout).toBe("");
  });

  test.each<[what: string, env: Record<string, string>]>([
    ["CI", { CI: "true" }],
    ["a terminal that can't move its cursor", { TERM: "dumb" }],
  ])("%s", async (_, env) => {
    await using pty = openPty([await binary(), "task", "add"], { cwd: world.main, env });
    expect(await pty.exited).toBe(2);
    expect(pty.shown()).toMatch(/try: +dotbot task add/);
    expect(pty.shown()).not.toContain("What is to be done");
  });
});
