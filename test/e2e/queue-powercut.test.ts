/**
 * Power is cut after every sync of every kind of write, and whatever wasn't synced is gone: the task is wholly old or wholly new,
 * new once it was acknowledged, and the next writer puts the files right.
 */
import { describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";

import { dotbot } from "../kit/binary.ts";
import { Disk, record } from "../kit/replay.ts";
import { plainSeeds, shownTask, taskId8 } from "../kit/tasks.ts";
import { requireTool } from "../kit/tools.ts";
import { at, makeWorld } from "../kit/world.ts";

const strace = requireTool("strace");

const KINDS: readonly (readonly [
  what: string,
  args: readonly string[],
  field: string,
  old: unknown,
  fresh: unknown,
])[] = [
  ["a transition", ["task", "start", taskId8(1)], "status", "todo", "in-progress"],
  [
    "an edit",
    ["task", "edit", taskId8(1), "--description", "new words"],
    "description",
    "What task 1 is about.\nSecond line.",
    "new words",
  ],
];

describe.skipIf(!strace)("a power cut", () => {
  test.each(KINDS)("during %s", async (what, args, field, old, fresh) => {
    await using world = await makeWorld({ seeds: plainSeeds(3) });
    // The ledger is there and has been written to before, as it has in every project but at its first command.
    await world.ok(["task", "start", taskId8(3)]);
    await world.ok(["task", "reset", taskId8(3)]);
    const { main } = world;
    const before = world.path("before");
    cpSync(main, before, { recursive: true, preserveTimestamps: true });
    const disk = new Disk(main);
    const { steps, result } = await record(main, args, { cwd: main });
    expect(result.status).toBe(0);
    const syncs = steps.filter((step) => step.does === "sync").length;
    expect(syncs).toBeGreaterThan(4);

    const ends: string[] = [];
    const look = async (acknowledged: boolean): Promise<void> => {
      disk.restore(main);
      const shown = await dotbot(["task", "show", taskId8(1), "--json"], { cwd: main });
      expect([shown.status, at(JSON.parse(shown.stdout), "error")]).toEqual([0, undefined]);
      const value = at(JSON.parse(shown.stdout), "task", field);
      if (acknowledged) expect(value).toEqual(fresh);
      else expect([old, fresh]).toContainEqual(value);
      ends.push(value === fresh ? "new" : "old");
      expect((await dotbot(["task", "edit", taskId8(2), "--priority", "8"], { cwd: main })).status).toBe(0);
      expect(shownTask(main, 1).doc[field]).toEqual(value);
    };
    for (const step of steps) {
      disk.apply(step);
      if (step.does === "sync") await look(false);
    }
    await look(true);
    // Once new, new for good.
    expect(ends.join(" ")).toMatch(/^(old )+(new ?)+$/);
    console.log(`» ${what}: cut after each of ${syncs} syncs and at the end: ${ends.join(" ")}`);
  });
});
