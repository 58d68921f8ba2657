/**
 * SIGKILL while worktrees and the base change, in three ways: at every call by which dotbot itself writes, before and after
 * every git that it runs, and at calls by which a git writes that it runs (then dotbot lives on, or dies with it). After each
 * the same command is run again, for some with a second kill on the way, and everything must be as after an undisturbed run:
 * branches, commits, the queue, the worktrees, and the user's staged, edited and untracked files. The number of kill points is
 * printed. By default a sample is taken, evenly; DOTBOT_TEST_ALL_KILLS=1 takes all.
 */
import { describe, expect, test } from "bun:test";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { binary, dotbot, type Outcome } from "../kit/binary.ts";
import { run, write } from "../kit/git.ts";
import { killedAt, writeCalls } from "../kit/strace.ts";
import { requireTool } from "../kit/tools.ts";
import { at, makeWorld, type World } from "../kit/world.ts";
import { begin, checkoutState, work } from "./wt-kit.ts";

const strace = requireTool("strace");
const ALL = process.env["DOTBOT_TEST_ALL_KILLS"] === "1";
/** Points of each sort per command. */
const SAMPLE = 8;

interface Kind {
  readonly name: string;
  readonly before: (world: World, id: string) => Promise<unknown>;
  readonly args: (id: string) => string[];
}

const KINDS: readonly Kind[] = [
  {
    name: "create",
    before: async (world, id) => await world.ok(["task", "reset", id, "--discard-worktree"]),
    args: (id) => ["wt", "create", id],
  },
  { name: "complete", before: async () => undefined, args: (id) => ["wt", "complete", id] },
  {
    name: "undo",
    before: async (world, id) => await world.ok(["wt", "complete", id]),
    args: (id) => ["wt", "undo", id, "--worktree", "--reset"],
  },
  { name: "remove", before: async () => undefined, args: (id) => ["wt", "remove", id, "--force-unmerged"] },
];

/** A world at a point of its life that can be gone back to: everything lies in one folder, at one place. */
class Bed implements AsyncDisposable {
  readonly world: World;
  readonly id: string;
  private readonly copy: string;
  readonly bin: string;

  private constructor(world: World, id: string) {
    this.world = world;
    this.id = id;
    this.copy = `${world.root}.copy`;
    this.bin = `${world.root}.bin`;
  }

  static async make(kind: Kind): Promise<Bed> {
    const world = await makeWorld({
      files: {
        "both.txt": "b\n",
        "dirty.txt": "d\n",
        "old/gone.txt": "g\n",
        ".bot/.gitignore": ".control\nworkspace/tasks\n",
      },
    });
    const worktree = await begin(world, "Add a login page");
    await work(world, worktree, {
      "src/code.txt": "one\nTWO\nthree\n",
      "new/file.txt": "new\n",
      "old/gone.txt": null,
      "big.txt": "x".repeat(200_000),
    });
    await kind.before(world, worktree.id);
    write(world.main, { "both.txt": "staged\n", "staged.txt": "s\n" });
    await world.git("add", "both.txt", "staged.txt");
    write(world.main, { "both.txt": "and edited\n", "dirty.txt": "dirty\n", "untracked.txt": "u\n" });
    // The trash may hold what earlier steps moved there.
    rmSync(join(world.main, ".git", "dotbot", "trash"), { recursive: true, force: true });
    const bed = new Bed(world, worktree.id);
    cpSync(world.root, bed.copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    bed.shim();
    return bed;
  }

  /** A git on PATH that can kill its dotbot before or after its nth call, or be killed itself at a call by which it writes. */
  private shim(): void {
    mkdirSync(this.bin);
    const real = Bun.which("git") ?? "git";
    const script = `#!/bin/bash
n=$(( $(cat "$KILL_DIR/n" 2>/dev/null || echo 0) + 1 )); echo $n > "$KILL_DIR/n"
if [ -n "$KILL_LOG" ]; then printf '%s\\n' "$*" >> "$KILL_DIR/log"; fi
if [ "$n" = "$KILL_N" ] && [ "$KILL_HOW" = before ]; then kill -9 $PPID; exit 1; fi
if [ "$n" = "$KILL_N" ] && [ "\${KILL_HOW:0:5}" = inner ]; then
  strace -f -qq -o /dev/null -e trace=$KILL_CALL -e signal=none -e "inject=$KILL_CALL:signal=KILL:when=$KILL_WHEN" "${real}" "$@"; s=$?
  if [ "$KILL_HOW" = inner-both ]; then kill -9 $PPID; fi
  exit $s
fi
if [ "$n" = "$KILL_N" ] && [ "$KILL_HOW" = after ]; then "${real}" "$@"; kill -9 $PPID; exit 1; fi
exec "${real}" "$@"
`;
    writeFileSync(join(this.bin, "git"), script);
    chmodSync(join(this.bin, "git"), 0o755);
  }

  reset(): void {
    for (const name of readdirSync(this.world.root))
      rmSync(join(this.world.root, name), { recursive: true, force: true });
    cpSync(this.copy, this.world.root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    rmSync(join(this.bin, "n"), { force: true });
  }

  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    return await dotbot(args, { cwd: this.world.main, env });
  }

  async shimmed(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Outcome> {
    rmSync(join(this.bin, "n"), { force: true });
    return await this.run(args, { PATH: `${this.bin}:${process.env["PATH"] ?? ""}`, KILL_DIR: this.bin, ...env });
  }

  /** All that has to be alike, without times. */
  async state(): Promise<unknown> {
    const { main } = this.world;
    const refs = await run(main, "for-each-ref", "--format=%(refname)");
    const trees: string[] = [];
    for (const ref of refs.split("\n"))
      trees.push(
        `${ref} ${await run(main, "rev-parse", `${ref}^{tree}`)} ${await run(main, "log", "--format=%s", ref)}`,
      );
    const worktrees = (await run(main, "worktree", "list", "--porcelain"))
      .split("\n")
      .filter((line) => !line.startsWith("HEAD "));
    const shown = await this.world.ok(["task", "show", this.id]);
    const list = await this.world.ok(["wt", "list"]);
    const folder = this.world.path("worktrees", "main");
    const inside: Record<string, unknown> = {};
    for (const name of existsSync(folder) ? readdirSync(folder) : [])
      inside[name] = await checkoutState(join(folder, name));
    const admin = join(main, ".git", "worktrees");
    return {
      trees,
      worktrees,
      inside,
      registered: existsSync(admin) ? readdirSync(admin).toSorted() : [],
      main: await checkoutState(main),
      status: at(shown, "task", "status"),
      committed: typeof at(shown, "task", "commit_sha"),
      unfinished: list["unfinished"],
      listed: (Array.isArray(list["worktrees"]) ? list["worktrees"] : []).map((it: unknown) => [
        at(it, "path"),
        at(it, "fault"),
        at(it, "merged"),
        at(it, "dirty"),
        at(it, "locked"),
        at(it, "slot"),
      ]),
      // What a killed git left in the trash is where it belongs.
      locks: [...new Bun.Glob("**/*.lock").scanSync({ cwd: join(main, ".git"), dot: true })].filter(
        (path) => !path.startsWith("dotbot/trash/"),
      ),
      fsck: await run(main, "fsck", "--no-dangling", "--no-progress"),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.copy, { recursive: true, force: true });
    rmSync(this.bin, { recursive: true, force: true });
    await this.world[Symbol.asyncDispose]();
  }
}

function sample<T>(items: readonly T[], n = SAMPLE): readonly T[] {
  if (ALL || items.length <= n) return items;
  return Array.from({ length: n }, (_, i) => items[Math.floor((i * items.length) / n)]).filter(
    (it) => it !== undefined,
  );
}

/** Runs again, and compares: converges, whatever was left. A refusal for good would be as bad as a loss. */
async function converges(
  bed: Bed,
  kind: Kind,
  expected: unknown,
  what: string,
  killAgain?: (args: readonly string[]) => Promise<unknown>,
): Promise<void> {
  const args = kind.args(bed.id);
  if (killAgain !== undefined) await killAgain(args);
  const again = await bed.run(args);
  const state = await bed.state();
  expect({ what, status: again.status, stderr: again.status === 0 ? "" : again.stderr, state }).toEqual({
    what,
    status: 0,
    stderr: "",
    state: expected,
  });
}

describe.skipIf(!strace)("killed", () => {
  test.concurrent.each(KINDS)(
    "$name",
    async (kind) => {
      await binary();
      await using bed = await Bed.make(kind);
      const args = kind.args(bed.id);
      expect(await bed.run(args)).toMatchObject({ status: 0 });
      const expected = await bed.state();

      // What there is to be killed at.
      bed.reset();
      const { calls } = await writeCalls(args, { cwd: bed.world.main });
      bed.reset();
      await bed.shimmed(args, { KILL_LOG: "1" });
      const gits = readFileSync(join(bed.bin, "log"), "utf8")
        .split("\n")
        .filter((line) => line !== "");
      rmSync(join(bed.bin, "log"));
      const mutating = gits.flatMap((line, i) =>
        / (?:merge|worktree add|update-ref|commit-tree|read-tree) /.test(` ${line} `) ? [i + 1] : [],
      );
      const inner = mutating.flatMap((n) =>
        ["openat", "write", "renameat2", "rename", "unlink", "mkdir"].flatMap((call) =>
          [1, 2, 4, 8].map((when) => ({ n, call, when })),
        ),
      );

      let points = 0;
      for (const [i, call] of sample(calls).entries()) {
        bed.reset();
        await killedAt(call, args, { cwd: bed.world.main });
        points += 1;
        // Every third time another kill comes during the recovery.
        const again =
          i % 3 === 2
            ? async (words: readonly string[]) => (
                (points += 1),
                await killedAt({ ...call, nth: Math.max(1, call.nth - 2) }, words, { cwd: bed.world.main })
              )
            : undefined;
        await converges(bed, kind, expected, `${call.name} ${call.nth}`, again);
      }
      for (const [i, n] of sample(gits.map((_, index) => index + 1)).entries()) {
        for (const how of ALL ? ["before", "after"] : [i % 2 === 0 ? "before" : "after"]) {
          bed.reset();
          await bed.shimmed(args, { KILL_N: String(n), KILL_HOW: how });
          points += 1;
          const again =
            i % 3 === 2
              ? async (words: readonly string[]) => (
                  (points += 1),
                  await bed.shimmed(words, { KILL_N: String(Math.max(1, n - 3)), KILL_HOW: how })
                )
              : undefined;
          await converges(bed, kind, expected, `${how} git ${n}: ${gits[n - 1]}`, again);
        }
      }
      // Between making the registration and writing what it is for: an empty file that names nothing.
      const nameless = inner.filter(
        ({ n, call, when }) => call === "write" && when === 2 && gits[n - 1]?.includes("worktree add") === true,
      );
      for (const [i, { n, call, when }] of [...new Set([...sample(inner), ...nameless])].entries()) {
        bed.reset();
        await bed.shimmed(args, {
          KILL_N: String(n),
          KILL_HOW: i % 2 === 1 || nameless.some((it) => it.n === n && it.when === when) ? "inner-both" : "inner",
          KILL_CALL: call,
          KILL_WHEN: String(when),
        });
        points += 1;
        await converges(bed, kind, expected, `in git ${n} at ${call} ${when}: ${gits[n - 1]}`);
      }
      const all = calls.length + 2 * gits.length + inner.length;
      console.log(`» wt: ${points} kills, at up to ${all} points (${kind.name})`);
    },
    900_000,
  );
});
