/** Progress of long work: on stderr, at a terminal, gone before the answer; nowhere else a byte of it. */
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";

import { binary } from "../kit/binary.ts";
import { openPty } from "../kit/pty.ts";
import { commitFiles, makeWorld, type World } from "../kit/world.ts";
import { begin } from "./wt-kit.ts";

/** How one long verb is called, the world that it needs, and what it shows meanwhile. */
interface Case {
  readonly verb: string;
  readonly world: () => Promise<World>;
  /** Makes the work to be done; returns the call that does it. */
  readonly call: (world: World) => Promise<readonly string[]>;
  readonly shows: RegExp;
}

const CREATE: Case = {
  verb: "wt create with post-create commands",
  world: async () =>
    await makeWorld({
      files: { ".bot/settings.json": JSON.stringify({ worktree: { post_create: ["true", "echo ready"] } }) },
    }),
  call: async (world) => {
    await world.ok(["task", "add", "Add a login page"]);
    return ["wt", "create", "Add a login page"];
  },
  shows: /1\/2 true[^]*2\/2 echo ready/,
};

const CASES: readonly Case[] = [
  CREATE,
  {
    verb: "guard scan of a big tree",
    world: async () => await makeWorld(),
    call: async (world) => {
      const files = Array.from({ length: 600 }, (_, i) => [`src/file${i}.txt`, `line ${i}\n`]);
      await commitFiles(world.main, Object.fromEntries(files), "many files");
      return ["guard", "scan", "--all"];
    },
    shows: /scanning: 500 of 6\d\d files/,
  },
  {
    verb: "wt prune --yes",
    world: async () => await makeWorld(),
    call: async (world) => {
      for (const name of ["Stays", "Stays too", "Goes"]) await begin(world, name);
      const gone = await begin(world, "Gone");
      renameSync(gone.path, world.path("elsewhere"));
      return ["wt", "prune", "--yes"];
    },
    shows: /looking at [^]*removing \S+-gone/,
  },
];

describe.each(CASES.map((it) => [it.verb, it] as const))("%s", (_, { world: make, call, shows }) => {
  test("at a terminal it shows", async () => {
    await using world = await make();
    await using pty = openPty([await binary(), ...(await call(world))], { cwd: world.main });
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).toMatch(shows);
  });

  test("elsewhere stderr stays empty, and the answer has none of it", async () => {
    await using world = await make();
    const { status, stdout, stderr } = await world.dotbot(await call(world));
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).not.toMatch(shows);
  });
});

describe("one of the two at a terminal", () => {
  test.each([
    ["stdout elsewhere: shown, and the answer has none of it", ">", true],
    ["stderr elsewhere: not shown, and not written there", "2>", false],
  ] as const)("%s", async (_, redirect, shown) => {
    const { world: make, call, shows } = CREATE;
    await using world = await make();
    const words = (await call(world)).map((word) => `'${word}'`).join(" ");
    await using pty = openPty(["sh", "-c", `${await binary()} ${words} ${redirect} .git/other`], { cwd: world.main });
    expect(await pty.exited).toBe(0);
    if (shown) expect(pty.shown()).toMatch(shows);
    else expect(pty.shown()).not.toMatch(shows);
    const other = readFileSync(join(world.main, ".git/other"), "utf8");
    expect(other).not.toMatch(shows);
    expect(other).not.toMatch(/\u001B|\r/);
  });

  test.each([["--quiet"], ["--json"]])("%s silences it", async (flag) => {
    const { world: make, call, shows } = CREATE;
    await using world = await make();
    await using pty = openPty([await binary(), ...(await call(world)), flag], { cwd: world.main });
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).not.toMatch(shows);
  });
});
