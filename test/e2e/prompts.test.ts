/** Questions at a terminal: the answer is taken, Ctrl-C changes nothing and ends with 130, and without a terminal none is asked. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { binary } from "../kit/binary.ts";
import { openPty, type Pty } from "../kit/pty.ts";
import { fileTree, taskId8 } from "../kit/tasks.ts";
import { at, makeWorld, type World } from "../kit/world.ts";

const CTRL_C = "\u0003";
const ESCAPE = "\u001B";
const DOWN = "\u001B[B";

let world: World;
beforeAll(async () => {
  world = await makeWorld({
    seeds: [
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
    ],
  });
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
    expect(fileTree(world.tasks)).toEqual(before);
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

  test("CI at a terminal", async () => {
    await using pty = openPty([await binary(), "task", "add"], { cwd: world.main, env: { CI: "true" } });
    expect(await pty.exited).toBe(2);
  });
});
