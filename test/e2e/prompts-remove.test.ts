/** `wt remove` at a terminal: what would be lost is shown, a yes covers that and nothing else, a no and Ctrl-C change nothing. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { binary } from "../kit/binary.ts";
import { run, write } from "../kit/git.ts";
import { openPty, type Pty } from "../kit/pty.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { begin, branches, checkoutState, commit, type Worktree } from "./wt-kit.ts";

const CTRL_C = "\u0003";
const ESCAPE = "\u001B";
const QUESTION = /Remove it all the same\?/;

let world: World;
beforeAll(async () => {
  world = await makeWorld({ files: { ".gitignore": "*.env\n" } });
});
afterAll(async () => await world[Symbol.asyncDispose]());

async function remove(worktree: Worktree, ...flags: readonly string[]): Promise<Pty> {
  return openPty([await binary(), "wt", "remove", worktree.id, ...flags], { cwd: world.main });
}

let made = 0;

/** A task's worktree with a commit, an uncommitted change, an untracked and an ignored file. */
async function busy(): Promise<Worktree> {
  const worktree = await begin(world, `Task ${++made}`);
  await commit(worktree.path, { "form.txt": "draft\n" }, "Draft the form");
  write(worktree.path, { "README.md": "changed\n", "notes.txt": "mine\n", "local.env": "KEY=1\n" });
  return worktree;
}

/** Everything that a removal could change. */
async function state(worktree: Worktree): Promise<unknown> {
  const trash = join(world.main, ".git/dotbot/trash");
  return {
    checkout: await checkoutState(worktree.path),
    branches: await branches(world.main),
    kept: await run(world.main, "for-each-ref", "refs/dotbot"),
    trash: existsSync(trash) ? readdirSync(trash) : [],
    task: at(await world.ok(["task", "show", worktree.id]), "task"),
  };
}

describe("what is shown", () => {
  test("everything that would go, and where it would be kept", async () => {
    const worktree = await busy();
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    const shown = pty.shown();
    expect(shown).toContain(worktree.path);
    expect(shown).toMatch(/1 commit on task\/\S+\n +[0-9a-f]{7,} Draft the form\n/);
    expect(shown).toMatch(/1 uncommitted change\n +README\.md\n/);
    expect(shown).toMatch(/1 untracked file\n +notes\.txt\n/);
    expect(shown).toMatch(/1 ignored file or folder\n +local\.env\n/);
    expect(shown).toContain("the commits would be kept under refs/dotbot/lost");
    expect(shown).toContain(`the files would be kept for 7 days in "${world.main}/.git/dotbot/trash"`);
    pty.type(CTRL_C);
    expect(await pty.exited).toBe(130);
  });

  test("also with --quiet", async () => {
    const worktree = await busy();
    await using pty = await remove(worktree, "--quiet");
    await pty.sees(QUESTION);
    expect(pty.shown()).toContain("Draft the form");
    pty.type(CTRL_C);
    await pty.exited;
  });

  test.each<[flags: readonly string[], asked: readonly RegExp[], not: readonly RegExp[]]>([
    [["--force-dirty"], [/Draft the form/], [/notes\.txt/, /local\.env/]],
    [["--force-unmerged"], [/notes\.txt/, /local\.env/], [/Draft the form/]],
    [["--discard-ignored"], [/Draft the form/, /notes\.txt/], [/local\.env/]],
    [["--keep-branch"], [/notes\.txt/], [/Draft the form/]],
  ])("with %p only what the flag doesn't let go", async (flags, asked, not) => {
    const worktree = await busy();
    await using pty = await remove(worktree, ...flags);
    await pty.sees(QUESTION);
    const shown = pty.shown();
    for (const pattern of asked) expect(shown).toMatch(pattern);
    for (const pattern of not) expect(shown).not.toMatch(pattern);
    pty.type(CTRL_C);
    await pty.exited;
  });

  test("a long list is cut, and counted", async () => {
    const worktree = await begin(world, "Many files");
    write(worktree.path, Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`file${i}.txt`, "x\n"])));
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    expect(pty.shown()).toMatch(/25 untracked files\n(?: +file\d+\.txt\n){20} +and 5 more\n/);
    pty.type(CTRL_C);
    await pty.exited;
  });

  test("a name that would move the cursor can't", async () => {
    const worktree = await begin(world, "Odd name");
    write(worktree.path, { "a\u001B[2Jb": "x\n" });
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    expect(pty.shown()).toContain("a\\x1b[2Jb");
    pty.type(CTRL_C);
    await pty.exited;
  });
});

describe("the answer", () => {
  test("yes: gone, the commits under a ref, the folder in the trash", async () => {
    const worktree = await busy();
    const tip = await run(worktree.path, "rev-parse", "HEAD");
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    pty.type("y");
    const [, ref = ""] = await pty.sees(/its tip is (refs\/dotbot\/lost\/\S+)/);
    expect(await pty.exited).toBe(0);
    expect(await run(world.main, "rev-parse", ref)).toBe(tip);
    expect(existsSync(worktree.path)).toBe(false);
    expect(Object.keys(await branches(world.main))).not.toContain(worktree.branch);
    const trash = join(world.main, ".git/dotbot/trash");
    const [kept = ""] = readdirSync(trash).filter((name) => name.includes(worktree.id8));
    expect(readFileSync(join(trash, kept, "tree/notes.txt"), "utf8")).toBe("mine\n");
    expect(readFileSync(join(trash, kept, "tree/local.env"), "utf8")).toBe("KEY=1\n");
  });

  test("yes to commits on a detached HEAD keeps their tip", async () => {
    const worktree = await begin(world, "Detached");
    await run(worktree.path, "checkout", "-q", "--detach");
    await commit(worktree.path, { "aside.txt": "x\n" }, "On the side");
    const tip = await run(worktree.path, "rev-parse", "HEAD");
    await using pty = await remove(worktree);
    await pty.sees(/1 commit on a detached HEAD\n +[0-9a-f]+ On the side\n/);
    await pty.sees(QUESTION);
    pty.type("y");
    const [, ref = ""] = await pty.sees(/its tip is (refs\/dotbot\/lost\/\S+)/);
    expect(await pty.exited).toBe(0);
    expect(await run(world.main, "rev-parse", ref)).toBe(tip);
  });

  test.each<[what: string, keys: string, status: number, says: RegExp]>([
    ["Enter, which is no", "\r", 1, /: nothing was removed/],
    ["n", "n", 1, /: nothing was removed/],
    // A question that was taken back has no answer to show.
    ["Ctrl-C", CTRL_C, 130, /Remove it all the same\?\n(?!.*Yes$)[^■]*taken back: nothing has changed\n$/m],
    ["Escape", ESCAPE, 130, /Remove it all the same\?\n(?!.*Yes$)[^■]*taken back: nothing has changed\n$/m],
  ])("%s: nothing has changed", async (_, keys, status, says) => {
    const worktree = await busy();
    const before = await state(worktree);
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    pty.type(keys);
    expect(await pty.exited).toBe(status);
    expect(pty.shown()).toMatch(says);
    expect(await state(worktree)).toEqual(before);
  });

  test("a no leaves somebody else's claim, whatever --steal says; a yes takes it", async () => {
    const worktree = await busy();
    await world.ok(["task", "claim", worktree.id, "--owner", "bob"]);
    const owner = async (): Promise<unknown> => at(await world.ok(["task", "show", worktree.id]), "claim", "owner");
    for (const [keys, status, holder] of [
      ["n", 1, "bob"],
      ["y", 0, undefined],
    ] as const) {
      await using pty = await remove(worktree, "--steal", "bob is away");
      await pty.sees(QUESTION);
      pty.type(keys);
      expect(await pty.exited).toBe(status);
      expect(await owner()).toBe(holder);
    }
  });
});

describe("while the question stands", () => {
  test("others change this repository's worktrees", async () => {
    const worktree = await busy();
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    await begin(world, "Meanwhile", "--lock-wait", "0s");
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect(existsSync(worktree.path)).toBe(false);
  });

  test.each<[what: string, change: (worktree: Worktree) => Promise<void>, shows: RegExp]>([
    ["another file", async ({ path }) => write(path, { "late.txt": "late\n" }), /late\.txt/],
    ["an edit of a file that was shown", async ({ path }) => write(path, { "notes.txt": "more\n" }), /notes\.txt/],
    ["an ignored file", async ({ path }) => write(path, { "late.env": "KEY=2\n" }), /late\.env/],
    ["a commit", async ({ path }) => await commit(path, { "late.txt": "x\n" }, "A late commit"), /A late commit/],
    ["less than was shown", async ({ path }) => void (await run(path, "checkout", "--", "README.md")), /notes\.txt/],
  ])("%s appears: a yes doesn't cover it, and the question is put again", async (_, change, shows) => {
    const worktree = await busy();
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    await change(worktree);
    const before = await state(worktree);
    pty.mark();
    pty.type("y");
    await pty.sees(/It has changed since you were asked\.[^]*Remove it all the same\?/);
    expect(pty.shown()).toMatch(shows);
    expect(await state(worktree)).toEqual(before);
    pty.mark();
    pty.type("n");
    expect(await pty.exited).toBe(1);
    expect(await state(worktree)).toEqual(before);
  });

  test("nothing is left to lose: the yes is more than enough", async () => {
    const worktree = await begin(world, "Tidied");
    write(worktree.path, { "notes.txt": "mine\n" });
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    await run(worktree.path, "clean", "-qf");
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect(existsSync(worktree.path)).toBe(false);
  });

  test("somebody claims the task: refused", async () => {
    const worktree = await busy();
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    await world.ok(["task", "claim", worktree.id, "--owner", "bob"]);
    const before = await state(worktree);
    pty.type("y");
    expect(await pty.exited).toBe(4);
    expect(pty.shown()).toContain("is claimed by bob");
    expect(await state(worktree)).toEqual(before);
  });

  test("somebody removes it: that is what was wanted", async () => {
    const worktree = await busy();
    await using pty = await remove(worktree);
    await pty.sees(QUESTION);
    await world.ok(["wt", "remove", worktree.id, "--force-unmerged", "--force-dirty"]);
    pty.type("y");
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).toContain("has no worktree");
  });
});

describe("no question", () => {
  test("where nothing would be lost", async () => {
    const worktree = await begin(world, "Fresh");
    await using pty = await remove(worktree);
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).not.toMatch(QUESTION);
    expect(existsSync(worktree.path)).toBe(false);
  });

  test("where leave is given by flags", async () => {
    const worktree = await busy();
    await using pty = await remove(worktree, "--force-unmerged", "--force-dirty");
    expect(await pty.exited).toBe(0);
    expect(pty.shown()).not.toMatch(QUESTION);
  });

  test.each<[what: string, flags: readonly string[], env: Record<string, string>]>([
    ["--yes, which is no --force", ["--yes"], {}],
    ["--json", ["--json"], {}],
    ["--dry-run", ["--dry-run"], {}],
    ["CI", [], { CI: "true" }],
  ])("with %s at a terminal: refused, naming the flag", async (_, flags, env) => {
    const worktree = await busy();
    const before = await state(worktree);
    await using pty = openPty([await binary(), "wt", "remove", worktree.id, ...flags], { cwd: world.main, env });
    expect(await pty.exited).toBe(4);
    expect(pty.shown()).not.toMatch(QUESTION);
    expect(pty.shown()).toContain(`dotbot wt remove ${worktree.id8} --force-dirty`);
    expect(await state(worktree)).toEqual(before);
  });

  test("without a terminal: the same words as ever", async () => {
    const worktree = await busy();
    const before = await state(worktree);
    const first = await world.dotbot(["wt", "remove", worktree.id]);
    expect(first).toEqual({
      status: 4,
      stdout: "",
      stderr:
        `dotbot: the worktree of "Task ${made}" (${worktree.id8}) can't be removed: 1 uncommitted change: "README.md"; and 1 untracked file: "notes.txt"; 1 ignored file or folder: "local.env"\n` +
        `  hint: commit or discard them\n  try:  dotbot wt remove ${worktree.id8} --force-dirty\n`,
    });
    const second = await world.dotbot(["wt", "remove", worktree.id, "--force-dirty"]);
    expect(second.status).toBe(4);
    expect(second.stderr).toContain("commits that are nowhere else");
    expect(second.stderr).toContain(`try:  dotbot wt remove ${worktree.id8} --force-unmerged`);
    expect(await state(worktree)).toEqual(before);
  });

  test("a refusal leaves somebody else's claim, whatever --steal says", async () => {
    const worktree = await busy();
    await world.ok(["task", "claim", worktree.id, "--owner", "bob"]);
    await world.refused("DIRTY", ["wt", "remove", worktree.id, "--steal", "bob is away"]);
    expect(at(await world.ok(["task", "show", worktree.id]), "claim", "owner")).toBe("bob");
  });

  test("where no leave would help: the caller stands in it", async () => {
    const worktree = await busy();
    await using pty = openPty([await binary(), "wt", "remove"], { cwd: worktree.path });
    expect(await pty.exited).toBe(4);
    expect(pty.shown()).not.toMatch(QUESTION);
    expect(pty.shown()).toContain("you stand in it");
  });
});
