/**
 * Every check of doctor, with the fault that it finds planted, and beside it the innocent twin that looks nearly the same.
 * Real repositories; after a repair the second look finds nothing.
 */
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { DOCTOR_OPERATIONS } from "../../lib/doctor/ops.ts";
import { CHECKS } from "../../lib/doctor/examine.ts";
import { resolveRepo } from "../../lib/git/repo.ts";
import type { AnyOperation } from "../../lib/op.ts";
import { markOf } from "../../lib/process.ts";
import { WORKTREE_RECORDS } from "../../lib/task/here.ts";
import { add } from "../../lib/task/ops/add.ts";
import { start } from "../../lib/task/ops/transitions.ts";
import { Queue } from "../../lib/task/queue.ts";
import type { Tx } from "../../lib/task/tx.ts";
import { record } from "../../lib/wt/journal.ts";
import { inProcess, type Loose, type InProcess } from "../kit/call.ts";
import { run, tempDir, write } from "../kit/git.ts";

function operationCalled(name: string): AnyOperation {
  const found = DOCTOR_OPERATIONS.find((op) => op.name === name);
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
}
const doctor = operationCalled("doctor");
const doctorFix = operationCalled("doctor fix");

/** Files are of today, so the doctor's clock has to be as well. */
const today = { now: () => new Date() };

async function clinic(): Promise<InProcess> {
  return await inProcess({ "README.md": "hello\n", ".bot/.gitignore": ".control\nworkspace/tasks\n" });
}

interface Told {
  readonly check: string;
  readonly severity: string;
  readonly finding: string;
  readonly evidence: readonly string[];
  readonly fix: { readonly kind: string; readonly what?: string };
}

async function look(
  world: InProcess,
  changes: Parameters<InProcess["call"]>[2] = {},
  input: Loose = {},
): Promise<readonly Told[]> {
  const { result } = await world.call(doctor, input, { ...today, ...changes });
  return result["findings"] as readonly Told[];
}

async function newTask(world: InProcess, input: Loose = {}): Promise<string> {
  const { result } = await world.call(add, { name: "Add a login page", ...input });
  return (result["task"] as Loose)["id"] as string;
}

async function inLedger(world: InProcess, change: (tx: Tx) => void): Promise<void> {
  const ctx = world.ctx();
  using queue = await Queue.open(ctx, await resolveRepo(ctx));
  await queue.write("test", change);
}

const taskFile = (world: InProcess, status: string): string => {
  const folder = join(world.repo, ".bot/workspace/tasks", status);
  const [name] = readdirSync(folder).filter((it) => it.endsWith(".json"));
  return join(folder, name ?? "none");
};

async function worktree(
  world: InProcess,
  options: { readonly links?: boolean; readonly record?: boolean } = {},
): Promise<{ id: string; tree: string }> {
  const id = await newTask(world, { name: `Task of ${Math.random()}` });
  const tree = world.dir.path("worktrees", `task-${id.slice(0, 8)}-x`);
  const branch = `task/${id.slice(0, 8)}-x`;
  await run(world.repo, "worktree", "add", "-q", "-b", branch, tree);
  mkdirSync(join(world.repo, ".bot/.control"), { recursive: true });
  const links = [".bot/workspace/tasks", ".bot/.control"];
  if (options.links !== false) {
    mkdirSync(join(tree, ".bot/workspace"), { recursive: true });
    for (const link of links) symlinkSync(join(world.repo, link), join(tree, link));
  }
  if (options.record !== false) {
    const baseSha = await run(world.repo, "rev-parse", "HEAD");
    await inLedger(world, (tx) =>
      tx.ledger.putRecord(WORKTREE_RECORDS, id, {
        path: tree,
        branch,
        base: "main",
        baseSha,
        createdAt: "2024-05-06T07:08:09Z",
        slot: 1,
        adopted: false,
        links: options.links === false ? [] : links,
        setup: { state: "none" },
        made: [],
      }),
    );
  }
  return { id, tree };
}

const LONG_AGO = new Date("2020-01-01T00:00:00Z");

interface Case {
  readonly check: string;
  readonly fault: string;
  readonly plant: (world: InProcess) => Promise<void> | void;
  /** Found as: severity, and a part of the finding or its evidence. */
  readonly expected: readonly [severity: string, part: RegExp];
  readonly fixable?: boolean;
  readonly twin: string;
  readonly innocent: (world: InProcess) => Promise<void> | void;
  /** Changes of the context, for both. */
  readonly changes?: (world: InProcess) => Parameters<InProcess["call"]>[2];
}

const CASES: readonly Case[] = [
  {
    check: "core-bare",
    fault: "core.bare was flipped in a repository with a checkout",
    plant: async (world) => void (await run(world.repo, "config", "core.bare", "true")),
    expected: ["error", /core\.bare is true/],
    fixable: true,
    twin: "core.bare is false",
    innocent: async (world) => void (await run(world.repo, "config", "core.bare", "false")),
  },
  {
    check: "git-config",
    fault: "core.hooksPath names a folder that isn't there",
    plant: async (world) => void (await run(world.repo, "config", "core.hooksPath", ".husky/_")),
    expected: ["warn", /no hook runs/],
    twin: "the folder is there",
    innocent: async (world) => {
      mkdirSync(join(world.repo, ".husky/_"), { recursive: true });
      await run(world.repo, "config", "core.hooksPath", ".husky/_");
    },
  },
  {
    check: "git-config",
    fault: "core.worktree sends git elsewhere",
    plant: async (world) => {
      mkdirSync(world.dir.path("elsewhere"));
      await run(world.repo, "config", "core.worktree", world.dir.path("elsewhere"));
    },
    expected: ["warn", /core\.worktree sends git elsewhere/],
    twin: "another key of that section",
    innocent: async (world) => void (await run(world.repo, "config", "core.autocrlf", "false")),
  },
  {
    check: "git-environment",
    fault: "GIT_DIR in the environment",
    plant: () => {},
    changes: (world) => ({ env: { ...world.ctx().env, GIT_DIR: "/nowhere" } }),
    expected: ["info", /sends git elsewhere/],
    twin: "GIT_SSH in it",
    innocent: () => {},
  },
  {
    check: "lock-files",
    fault: "an index.lock that is years old",
    plant: (world) => {
      writeFileSync(join(world.repo, ".git/index.lock"), "");
      utimesSync(join(world.repo, ".git/index.lock"), LONG_AGO, LONG_AGO);
    },
    expected: ["warn", /index\.lock/],
    twin: "one of a moment ago",
    innocent: (world) => writeFileSync(join(world.repo, ".git/index.lock"), ""),
  },
  {
    check: "task-branch",
    fault: "a branch called task",
    plant: async (world) => void (await run(world.repo, "branch", "task")),
    expected: ["error", /keeps git from making any branch task/],
    twin: "a branch called tasks",
    innocent: async (world) => void (await run(world.repo, "branch", "tasks")),
  },
  {
    check: "registrations",
    fault: "a registered worktree that is gone",
    plant: async (world) => {
      await run(world.repo, "worktree", "add", "-q", "-b", "x", "../x");
      rmSync(world.dir.path("x"), { recursive: true });
    },
    expected: ["warn", /isn't there/],
    twin: "one that is there",
    innocent: async (world) => void (await run(world.repo, "worktree", "add", "-q", "-b", "x", "../x")),
  },
  {
    check: "moved-worktrees",
    fault: "a worktree whose registration names another place",
    plant: async (world) => {
      await run(world.repo, "worktree", "add", "-q", "-b", "x", "../x");
      await run(world.repo, "worktree", "add", "-q", "-b", "y", "../y");
      writeFileSync(world.dir.path("x/.git"), readFileSync(world.dir.path("y/.git")));
    },
    expected: ["error", /is a copy/],
    twin: "two sound ones",
    innocent: async (world) => {
      await run(world.repo, "worktree", "add", "-q", "-b", "x", "../x");
      await run(world.repo, "worktree", "add", "-q", "-b", "y", "../y");
    },
  },
  {
    check: "settings",
    fault: "a value of the wrong type",
    plant: (world) => write(world.repo, { ".bot/settings.json": '{\n  "git": { "base_branch": 7 }\n}' }),
    expected: ["error", /settings\.json:2:27/],
    twin: "a right one",
    innocent: (world) => write(world.repo, { ".bot/settings.json": '{ "git": { "base_branch": "main" } }' }),
  },
  {
    check: "settings",
    fault: "settings that don't parse",
    plant: (world) => write(world.repo, { ".bot/settings.json": "{" }),
    expected: ["error", /isn't valid JSON/],
    twin: "an empty object",
    innocent: (world) => write(world.repo, { ".bot/settings.json": "{}" }),
  },
  {
    check: "settings",
    fault: "an unknown key",
    plant: (world) => write(world.repo, { ".bot/settings.json": '{ "git": { "base_brunch": "main" } }' }),
    expected: ["warn", /base_brunch.*isn't a setting/],
    twin: "$schema",
    innocent: (world) => write(world.repo, { ".bot/settings.json": '{ "$schema": "x" }' }),
  },
  {
    check: "scan-patterns",
    fault: "an expression that can't be matched in bounded time",
    plant: (world) =>
      write(world.repo, { ".bot/settings.json": '{ "scan": { "patterns": [{ "name": "x", "pattern": "(?=a)b" }] } }' }),
    expected: ["error", /is refused/],
    twin: "one that can",
    innocent: (world) =>
      write(world.repo, { ".bot/settings.json": '{ "scan": { "patterns": [{ "name": "x", "pattern": "(a+)+b" }] } }' }),
  },
  {
    check: "scan-baseline",
    fault: "an entry without a reason",
    plant: (world) =>
      write(world.repo, {
        ".bot/scan-baseline.json": '{"salt":"s","findings":[{"file":"a","pattern":"jwt","mark":"00"}]}',
      }),
    expected: ["warn", /give no reason/],
    twin: "one with a reason",
    innocent: (world) =>
      write(world.repo, {
        ".bot/scan-baseline.json":
          '{"salt":"s","findings":[{"file":"a","pattern":"jwt","mark":"00","reason":"made up"}]}',
      }),
  },
  {
    check: "scan-baseline",
    fault: "a baseline that can't be read",
    plant: (world) => write(world.repo, { ".bot/scan-baseline.json": "[]" }),
    expected: ["error", /can't be read/],
    twin: "none",
    innocent: () => {},
  },
  {
    check: "queue-in-git",
    fault: "neither ignored nor tracked",
    plant: async (world) => {
      await newTask(world);
      rmSync(join(world.repo, ".bot/.gitignore"));
    },
    expected: ["warn", /neither ignored nor tracked/],
    twin: "ignored",
    innocent: async (world) => void (await newTask(world)),
  },
  {
    check: "queue-in-git",
    fault: "tracked, which has a price",
    plant: async (world) => {
      await newTask(world);
      await run(world.repo, "add", "-f", ".bot/workspace/tasks");
    },
    expected: ["info", /branches of this project track the queue/],
    twin: "ignored",
    innocent: async (world) => void (await newTask(world)),
  },
  {
    check: "task-files-lag",
    fault: "a task file that git took back",
    plant: async (world) => {
      await newTask(world);
      unlinkSync(taskFile(world, "todo"));
    },
    expected: ["warn", /isn't as the ledger says/],
    fixable: true,
    twin: "a file that was only touched",
    innocent: async (world) => {
      await newTask(world);
      utimesSync(taskFile(world, "todo"), LONG_AGO, LONG_AGO);
    },
  },
  {
    check: "broken-files",
    fault: "a task file cut in the middle",
    plant: (world) => write(world.repo, { ".bot/workspace/tasks/todo/x-12345678.json": '{\n  "id": ' }),
    expected: ["error", /x-12345678\.json:2/],
    twin: "a note beside them",
    innocent: (world) => write(world.repo, { ".bot/workspace/tasks/todo/notes.md": "{" }),
  },
  {
    check: "conflicts",
    fault: "two versions of which neither continues the other",
    plant: async (world) => {
      await newTask(world);
      const path = taskFile(world, "todo");
      const old = readFileSync(path, "utf8");
      await world.call(start, { task_id: "Add a login page" });
      unlinkSync(taskFile(world, "in-progress"));
      writeFileSync(
        path,
        old
          .replace('"Add a login page"', '"Edited elsewhere"')
          .replace(/"updated_at": "[^"]*"/, '"updated_at": "2030-01-01T00:00:00Z"'),
      );
    },
    expected: ["warn", /two versions/],
    twin: "an edit by hand",
    innocent: async (world) => {
      await newTask(world);
      const path = taskFile(world, "todo");
      writeFileSync(path, readFileSync(path, "utf8").replace('"Add a login page"', '"Add another page"'));
    },
  },
  {
    check: "folder-and-status",
    fault: "a status field that isn't the folder's",
    plant: (world) =>
      write(world.repo, {
        ".bot/workspace/tasks/todo/x-12345678.json":
          '{"id":"12345678-0000-4000-8000-000000000000","name":"x","status":"done"}',
      }),
    expected: ["warn", /the folder counts/],
    fixable: true,
    twin: "a nested field of that name",
    innocent: (world) =>
      write(world.repo, {
        ".bot/workspace/tasks/todo/x-12345678.json":
          '{"x":{"status":"done"},"id":"12345678-0000-4000-8000-000000000000","name":"x","status":"todo"}',
      }),
  },
  {
    check: "dependencies",
    fault: "a dependency that doesn't exist",
    plant: (world) =>
      write(world.repo, {
        ".bot/workspace/tasks/todo/x-12345678.json":
          '{"id":"12345678-0000-4000-8000-000000000000","name":"x","status":"todo","dependencies":["nobody"]}',
      }),
    expected: ["warn", /nobody.*doesn't exist/],
    twin: "one of a task that is done already",
    innocent: (world) =>
      write(world.repo, {
        ".bot/workspace/tasks/done/x-12345678.json":
          '{"id":"12345678-0000-4000-8000-000000000000","name":"x","status":"done","dependencies":["nobody"]}',
      }),
  },
  {
    check: "dependencies",
    fault: "tasks that wait for each other",
    plant: (world) =>
      write(world.repo, {
        ".bot/workspace/tasks/todo/x-12345678.json":
          '{"id":"12345678-0000-4000-8000-000000000000","name":"x","slug":"x","status":"todo","dependencies":["y"]}',
        ".bot/workspace/tasks/todo/y-22345678.json":
          '{"id":"22345678-0000-4000-8000-000000000000","name":"y","slug":"y","status":"todo","dependencies":["x"]}',
      }),
    expected: ["warn", /in a ring/],
    twin: "a chain",
    innocent: (world) =>
      write(world.repo, {
        ".bot/workspace/tasks/todo/x-12345678.json":
          '{"id":"12345678-0000-4000-8000-000000000000","name":"x","slug":"x","status":"todo","dependencies":["y"]}',
        ".bot/workspace/tasks/todo/y-22345678.json":
          '{"id":"22345678-0000-4000-8000-000000000000","name":"y","slug":"y","status":"todo"}',
      }),
  },
  {
    check: "temporary-files",
    fault: "a temporary file of a write that was cut short years ago",
    plant: (world) => {
      write(world.repo, { ".bot/.dotbot-tmp-1-settings.json": "{" });
      utimesSync(join(world.repo, ".bot/.dotbot-tmp-1-settings.json"), LONG_AGO, LONG_AGO);
    },
    expected: ["warn", /cut short/],
    fixable: true,
    twin: "one of a write that goes on now",
    innocent: (world) => write(world.repo, { ".bot/.dotbot-tmp-1-settings.json": "{" }),
  },
  {
    check: "status-folders",
    fault: "a task file beside the status folders",
    plant: (world) => write(world.repo, { ".bot/workspace/tasks/x-12345678.json": "{}" }),
    expected: ["warn", /beside the status folders/],
    twin: "one in a folder that is no status",
    innocent: (world) => write(world.repo, { ".bot/workspace/tasks/samples/x.json": "{}" }),
  },
  {
    check: "claims",
    fault: "a claim of a process that has ended",
    plant: async (world) => {
      const id = await newTask(world);
      const child = Bun.spawn(["sleep", "600"]);
      const process = markOf(child.pid);
      child.kill(9);
      await child.exited;
      await inLedger(world, (tx) =>
        tx.ledger.putClaim(
          id,
          JSON.stringify({
            owner: "ada",
            session: "unknown",
            token: "t",
            process,
            host: "here",
            since: new Date().toISOString(),
            heartbeat: new Date().toISOString(),
            ttlMs: 7_200_000,
          }),
        ),
      );
    },
    expected: ["warn", /held by nobody any more/],
    fixable: true,
    twin: "a claim of one that runs",
    innocent: async (world) => {
      const id = await newTask(world);
      await inLedger(world, (tx) =>
        tx.ledger.putClaim(
          id,
          JSON.stringify({
            owner: "ada",
            session: "unknown",
            token: "t",
            process: markOf(process.pid),
            host: "here",
            since: "2020-01-01T00:00:00Z",
            heartbeat: "2020-01-01T00:00:00Z",
            ttlMs: 1,
          }),
        ),
      );
    },
  },
  {
    check: "unowned-work",
    fault: "in progress for days, and nobody's",
    plant: (world) =>
      write(world.repo, {
        ".bot/workspace/tasks/in-progress/x-12345678.json":
          '{"id":"12345678-0000-4000-8000-000000000000","name":"x","status":"in-progress","updated_at":"2024-01-01T00:00:00Z"}',
      }),
    expected: ["warn", /without an owner and without a worktree/],
    twin: "one that somebody holds",
    innocent: async (world) => {
      await newTask(world);
      await world.call(start, { task_id: "Add a login page", owner: "ada" }, today);
    },
  },
  {
    check: "missing-worktrees",
    fault: "a recorded worktree that was deleted",
    plant: async (world) => rmSync((await worktree(world)).tree, { recursive: true }),
    expected: ["warn", /isn't there/],
    twin: "one that is there",
    innocent: async (world) => void (await worktree(world)),
  },
  {
    check: "orphans",
    fault: "a branch of a task that isn't in the queue",
    plant: async (world) => void (await run(world.repo, "branch", "task/deadbeef-gone")),
    expected: ["warn", /task\/deadbeef-gone/],
    twin: "a branch that is only called alike",
    innocent: async (world) => void (await run(world.repo, "branch", "task/force-push-guard")),
  },
  {
    check: "orphans",
    fault: "a worktree of which no record says whose it is",
    plant: async (world) => void (await worktree(world, { record: false })),
    expected: ["warn", /no record says whose/],
    twin: "somebody's own worktree",
    innocent: async (world) => void (await run(world.repo, "worktree", "add", "-q", "-b", "mine", "../mine")),
  },
  {
    check: "queue-links",
    fault: "a worktree that lost its links",
    plant: async (world) => unlinkSync(join((await worktree(world)).tree, ".bot/.control")),
    expected: ["warn", /lost its link/],
    fixable: true,
    twin: "one that never had any",
    innocent: async (world) => void (await worktree(world, { links: false })),
  },
  {
    check: "queue-links",
    fault: "a link to another queue",
    plant: async (world) => {
      const { tree } = await worktree(world);
      unlinkSync(join(tree, ".bot/.control"));
      mkdirSync(world.dir.path("other"));
      symlinkSync(world.dir.path("other"), join(tree, ".bot/.control"));
    },
    expected: ["warn", /leads to another queue/],
    twin: "a relative link to the right one",
    innocent: async (world) => {
      const { tree } = await worktree(world);
      unlinkSync(join(tree, ".bot/.control"));
      symlinkSync("../../../main/.bot/.control", join(tree, ".bot/.control"));
    },
  },
  {
    check: "stray-task-files",
    fault: "a task written into a worktree",
    plant: async (world) => {
      const { tree } = await worktree(world, { links: false });
      write(tree, {
        ".bot/workspace/tasks/todo/lost-12345678.json":
          '{"id":"12345678-0000-4000-8000-000000000000","name":"lost","status":"todo"}',
      });
    },
    expected: ["error", /written into a worktree/],
    fixable: true,
    twin: "an empty status folder",
    innocent: async (world) =>
      void mkdirSync(join((await worktree(world, { links: false })).tree, ".bot/workspace/tasks/todo"), {
        recursive: true,
      }),
  },
  {
    check: "stray-task-files",
    fault: "another version of a task in a worktree",
    plant: async (world) => {
      const { id, tree } = await worktree(world, { links: false });
      write(tree, {
        [`.bot/workspace/tasks/todo/x-${id.slice(0, 8)}.json`]: JSON.stringify({
          id,
          name: "edited there",
          status: "todo",
        }),
      });
    },
    expected: ["error", /something else than the queue/],
    twin: "task files that the branch tracks",
    innocent: async (world) => {
      const { id, tree } = await worktree(world, { links: false });
      write(tree, {
        [`.bot/workspace/tasks/todo/x-${id.slice(0, 8)}.json`]: JSON.stringify({
          id,
          name: "as the branch has it",
          status: "todo",
        }),
      });
      await run(tree, "add", "-f", ".bot/workspace/tasks");
    },
  },
  {
    check: "interrupted-work",
    fault: "a journal that can't be read",
    plant: (world) => write(world.repo, { ".git/dotbot/journal/x.json": "{" }),
    expected: ["error", /can't be read/],
    twin: "an empty journal",
    innocent: (world) => void mkdirSync(join(world.repo, ".git/dotbot/journal"), { recursive: true }),
  },
  {
    check: "mcp-config",
    fault: "an MCP entry whose program isn't there",
    plant: (world) =>
      write(world.repo, { ".mcp.json": '{"mcpServers":{"dotbot":{"command":"/no/such/dotbot","args":["mcp"]}}}' }),
    expected: ["warn", /Claude Code is told to start "\/no\/such\/dotbot"/],
    twin: "one whose program is there",
    innocent: (world) =>
      write(world.repo, {
        ".mcp.json": `{"mcpServers":{"dotbot":{"command":${JSON.stringify(process.execPath)},"args":["mcp"]}}}`,
      }),
  },
  {
    check: "mcp-config",
    fault: "the same in TOML",
    plant: (world) =>
      write(world.repo, { ".codex/config.toml": '[mcp_servers.dotbot]\nargs = ["mcp"]\ncommand = "no-such-dotbot"\n' }),
    expected: ["warn", /Codex is told/],
    twin: "another server's",
    innocent: (world) =>
      write(world.repo, {
        ".codex/config.toml": '[mcp_servers.dotbot]\n[mcp_servers.other]\ncommand = "no-such-dotbot"\n',
      }),
  },
  {
    check: "workspace",
    fault: "another repository right inside",
    plant: async (world) => {
      await run(world.repo, "init", "-q", "inner");
      await run(join(world.repo, "inner"), "remote", "add", "origin", "https://example.com/o/inner.git");
    },
    expected: ["info", /right inside this one/],
    twin: "one without an origin",
    innocent: async (world) => void (await run(world.repo, "init", "-q", "inner")),
  },
];

describe("each check finds its fault and leaves the twin alone", () => {
  for (const { check, fault, plant, expected, fixable, twin, innocent, changes } of CASES) {
    test(`${check}: ${fault}`, async () => {
      await using world = await clinic();
      await plant(world);
      const found = (await look(world, changes?.(world))).filter((it) => it.check === check);
      const [severity, part] = expected;
      expect(
        found.map((it) => `${it.severity} ${it.finding} ${it.evidence.join(" ")}`.replaceAll("\n", " ")),
      ).toContainEqual(expect.stringMatching(new RegExp(`^${severity} .*${part.source}`)));
      expect(found.some(({ fix }) => fix.kind === "auto")).toBe(fixable === true);
      if (severity !== "info")
        expect(found.every(({ fix }) => fix.what !== undefined && fix.what.length > 10)).toBe(true);
      if (fixable !== true) return;
      const fixed = await world.call(doctorFix, {}, { ...today, ...changes?.(world) });
      expect((fixed.result["findings"] as readonly Told[]).filter((it) => it.check === check)).toEqual([]);
      expect(fixed.result["repairs"]).toMatchObject([{ check, ok: true }]);
      const again = await world.call(doctorFix, {}, { ...today, ...changes?.(world) });
      expect(again.result["repairs"]).toEqual([]);
    });

    test(`${check}: not with ${twin}`, async () => {
      await using world = await clinic();
      await innocent(world);
      const found = await look(world, check === "git-environment" ? { env: { ...world.ctx().env, GIT_SSH: "x" } } : {});
      expect(found.filter((it) => it.check === check)).toEqual([]);
    });
  }

  test("every check has a case, or a test of its own below", () => {
    const own = ["git-version", "state-root", "ledger"];
    expect([...new Set([...CASES.map(({ check }) => check), ...own])].sort()).toEqual(
      CHECKS.map(({ id }) => id).sort(),
    );
  });
});

describe("cases of their own", () => {
  test("git that is too old, and what a sound repository says", async () => {
    await using world = await clinic();
    await using bin = await tempDir();
    const fake = (version: string): string => {
      const folder = bin.path(version);
      mkdirSync(folder);
      writeFileSync(
        join(folder, "git"),
        `#!/bin/sh\nfor word; do case "$word" in version) echo "git version ${version}"; exit;; esac; done\nPATH="$REAL_PATH" exec git "$@"\n`,
        { mode: 0o755 },
      );
      return folder;
    };
    const env = world.ctx().env;
    const seen = async (version: string): Promise<string[]> =>
      (await look(world, { env: { ...env, REAL_PATH: env["PATH"], PATH: `${fake(version)}:${env["PATH"]}` } })).map(
        ({ check, severity }) => `${severity} ${check}`,
      );
    expect(await seen("2.20.1")).toEqual(["error git-version"]);
    expect(await seen("2.34.1")).toEqual(["warn git-version"]);
    expect(await seen("2.38.0")).toEqual([]);
    expect(await world.text(doctor, {}, today)).toMatch(/^all is well \(\d+ checks\)\n$/);
  });

  test("a repository that has never seen dotbot says so", async () => {
    await using world = await clinic();
    rmSync(join(world.repo, ".bot"), { recursive: true });
    expect(await world.call(doctor, {}, today).catch((error: unknown) => error)).toMatchObject({
      code: "NO_QUEUE",
      status: 5,
      message: expect.stringContaining("never seen dotbot"),
    });
    expect(existsSync(join(world.repo, ".git/dotbot"))).toBe(false);
  });

  test("with all of .bot gone and the ledger there", async () => {
    await using world = await clinic();
    await newTask(world);
    rmSync(join(world.repo, ".bot"), { recursive: true });
    const found = await look(world);
    expect(found.map(({ check }) => check)).toContain("state-root");
    expect(found.map(({ check }) => check)).toContain("task-files-lag");
  });

  test("a ledger that isn't one is rebuilt, and that it was is told", async () => {
    await using world = await clinic();
    await newTask(world);
    writeFileSync(
      join(world.repo, ".git/dotbot/queue.db"),
      "not a database, but long enough to be looked at as one ".repeat(40),
    );
    expect(await look(world)).toMatchObject([
      { check: "ledger", severity: "info", finding: "a damaged ledger was set aside and rebuilt" },
    ]);
  });

  test("a journal of work that was cut short is settled, and not while somebody is at work", async () => {
    await using world = await clinic();
    await newTask(world);
    const commonDir = join(world.repo, ".git");
    const sha = await run(world.repo, "rev-parse", "HEAD");
    record(commonDir, "fetch-main", {
      op: "land",
      at: "2026-01-01T00:00:00Z",
      next: { is: "advance" },
      move: { ref: "refs/heads/main", old: sha, to: sha, checkout: world.repo },
    });
    const { withRepositoryLock } = await import("../../lib/lock.ts");
    await withRepositoryLock(world.ctx(), commonDir, "wt complete", async () => {
      expect((await look(world)).map(({ check, severity }) => `${severity} ${check}`)).toEqual([
        "info interrupted-work",
      ]);
    });
    expect((await look(world)).map(({ check, severity, fix }) => `${severity} ${check} ${fix.kind}`)).toEqual([
      "error interrupted-work auto",
    ]);
    expect((await world.call(doctorFix, {}, today)).result).toMatchObject({
      ok: true,
      findings: [],
      repairs: [{ check: "interrupted-work", ok: true }],
    });
  });

  test("inside a worktree it looks at the same queue", async () => {
    await using world = await clinic();
    const { tree } = await worktree(world);
    unlinkSync(taskFile(world, "todo"));
    const { result } = await world.call(doctor, { dir: tree }, today);
    expect(result).toMatchObject({ stateRoot: world.repo, repoPath: tree, findings: [{ check: "task-files-lag" }] });
  });
});

describe("what --fix does, and what it doesn't", () => {
  const wreck = async (world: InProcess): Promise<void> => {
    await newTask(world);
    unlinkSync(taskFile(world, "todo"));
    await run(world.repo, "config", "core.bare", "true");
    write(world.repo, { ".bot/workspace/tasks/todo/x-12345678.json": "{" });
  };

  test("without it nothing is written into the working tree or the configuration", async () => {
    await using world = await clinic();
    await wreck(world);
    const before = [
      readdirSync(join(world.repo, ".bot/workspace/tasks/todo")),
      readFileSync(join(world.repo, ".git/config"), "utf8"),
    ];
    expect((await world.call(doctor, {}, today)).status).toBe(1);
    expect([
      readdirSync(join(world.repo, ".bot/workspace/tasks/todo")),
      readFileSync(join(world.repo, ".git/config"), "utf8"),
    ]).toEqual(before);
  });

  test("without a terminal and without --yes it is refused, with the plan", async () => {
    await using world = await clinic();
    await wreck(world);
    expect(await world.call(doctor, { fix: true }, today).catch((error: unknown) => error)).toMatchObject({
      code: "NEEDS_ANSWER",
      example: "dotbot doctor --fix --yes",
      details: { planned: [{ check: "core-bare", plan: "git config core.bare false" }, { check: "task-files-lag" }] },
    });
    expect(readFileSync(join(world.repo, ".git/config"), "utf8")).toContain("bare = true");
  });

  test("a no at the terminal changes nothing, a yes repairs; what a person has to do is left and told", async () => {
    await using world = await clinic();
    await wreck(world);
    const shown: string[] = [];
    const answering = (answer: boolean) => ({
      ...today,
      prompt: {
        confirm: async ({ about = [] }: { about?: readonly string[] }) => {
          shown.push(...about);
          return answer;
        },
        text: async () => "",
        select: async () => "",
        multiselect: async () => [],
      },
    });
    expect((await world.call(doctor, { fix: true }, answering(false))).result).toMatchObject({
      repairs: [],
      counts: { error: 2, warn: 1 },
    });
    const { result, status } = await world.call(doctor, { fix: true }, answering(true));
    expect(result).toMatchObject({
      ok: false,
      repairs: [
        { check: "core-bare", ok: true },
        { check: "task-files-lag", ok: true },
      ],
      findings: [{ check: "broken-files" }],
    });
    expect(status).toBe(1);
    expect(shown).toContain("core-bare: git config core.bare false");
    expect(existsSync(taskFile(world, "todo"))).toBe(true);
    expect(readFileSync(join(world.repo, ".bot/workspace/tasks/todo/x-12345678.json"), "utf8")).toBe("{");
  });

  test("what a person reads", async () => {
    await using world = await clinic();
    await wreck(world);
    const { result } = await world.call(doctor, {}, today);
    const name =
      (result["findings"] as readonly Told[]).find(({ check }) => check === "task-files-lag")?.evidence[0] ?? "";
    expect(name).toMatch(/^add-a-login-page-[0-9a-f]{8}\.json$/);
    expect(await world.text(doctor, {}, { ...today, style: { color: false, width: 80 } })).toBe(
      [
        "error  core.bare is true, and there is a checkout: git refuses to work in it  core-bare",
        `         core.bare=true in ${world.repo}/.git/config`,
        "         usually `git init` or a test that ran in a hook, with GIT_DIR in its environment",
        "       --fix will: git config core.bare false",
        "error  a task file can't be read: the text ends where a key in double quotes should be  broken-files",
        `         ${world.repo}/.bot/workspace/tasks/todo/x-12345678.json:1:2`,
        "       to do: mend it there, or move it out of the queue's folders; it counts as a task that exists, and protects its worktree",
        "warn   1 task file isn't as the ledger says: a git command took them back, or a write was cut short  task-files-lag",
        `         ${name}`,
        "       --fix will: draw those files again from the ledger; content that the ledger hasn't seen is kept as a conflict",
        "3 findings: `dotbot doctor --fix` puts 2 of them right, losing nothing",
        "",
      ].join("\n"),
    );
  });

  test("a worktree that moved is left to a person", async () => {
    await using world = await clinic();
    const { tree } = await worktree(world);
    renameSync(tree, `${tree}-moved`);
    const found = await look(world);
    expect(found.map(({ check, fix }) => `${check} ${fix.kind}`)).toContain("missing-worktrees manual");
    expect((await world.call(doctorFix, {}, today)).result["repairs"]).toEqual([]);
    expect(existsSync(`${tree}-moved`)).toBe(true);
  });
});
