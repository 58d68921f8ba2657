/** Verbs that only look: `wt list`, `status`, `path`, `switch`, `diff`, `log`. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { isDirectory } from "../../files.ts";
import { mergeBase, readRef, branchRef } from "../../git/refs.ts";
import { gitText } from "../../git/run.ts";
import { parseNul } from "../../git/parse.ts";
import { operation, type Call } from "../../op.ts";
import type { TaskRow } from "../../task/ledger.ts";
import { namedTask, paintStatus } from "../../task/ops/common.ts";
import { paint, quote, table } from "../../text.ts";
import { goalOf, mergedBy } from "../base.ts";
import { noWorktree, withBench, wtExample, type Bench } from "../bench.ts";
import { inspect } from "../inspect.ts";
import { listWorktrees, type Listed } from "../list.ts";
import type { TaskWorktree } from "../model.ts";
import { completionBlockers } from "../plan.ts";
import { completions, worktreeOf } from "../records.ts";
import { unfinished } from "../recover.ts";
import { setupNow } from "../setup.ts";
import { onTask, plural, setupOutput, shownSetup, wtFields } from "./shapes.ts";
import { dirField } from "../../task/ops/common.ts";

const given = ["task add 'Add a login page'", "wt create 'Add a login page'"] as const;

const listedShape = v.object({
  taskId: v.nullable(v.string()),
  name: v.nullable(v.string()),
  status: v.nullable(v.string()),
  branch: v.nullable(v.string()),
  path: v.string(),
  base: v.nullable(v.string()),
  baseSha: v.nullable(v.string()),
  headSha: v.nullable(v.string()),
  ahead: v.nullable(v.number()),
  behind: v.nullable(v.number()),
  dirty: v.nullable(v.boolean()),
  merged: v.nullable(v.boolean()),
  locked: v.nullable(v.string()),
  createdAt: v.nullable(v.string()),
  operation: v.nullable(v.string()),
  fault: v.nullable(v.string()),
  setup: v.string(),
  slot: v.nullable(v.number()),
});

export const list = operation({
  name: "wt list",
  aliases: ["wt ls"],
  summary: "List the worktrees, and how each stands to its base",
  details:
    "Task, status, branch, folder, commits ahead of and behind the base, uncommitted work, merged, and what is wrong with its place. Worktrees that belong to no task are listed as well; `wt adopt` takes them over.",
  examples: [{ given, run: "wt list", does: "where work goes on" }],
  effect: "read",
  target: { rule: "queue" },
  toolset: "people",
  input: v.strictObject({ ...dirField }),
  output: v.object({
    worktrees: v.array(listedShape),
    total: v.number(),
    unfinished: v.array(v.object({ name: v.string(), op: v.string(), at: v.string() })),
    stateRoot: v.string(),
  }),
  async run(call) {
    return await withBench(call, "wt list", async (bench) => {
      const found = await listWorktrees(bench);
      await bench.queue.finishRead();
      return {
        worktrees: found.map((it) => ({ ...it })),
        total: found.length,
        unfinished: unfinished(bench) ?? [{ name: "journal", op: "unreadable", at: "" }],
        stateRoot: bench.queue.stateRoot,
      };
    });
  },
  text(result, style) {
    if (result.worktrees.length === 0) return "no worktrees\n";
    const rows = result.worktrees.map((it) => [
      it.taskId?.slice(0, 8) ?? "-",
      it.status === null ? "-" : paintStatus(style, it.status),
      it.name ?? it.branch ?? "-",
      standing(it),
      paint(style, "dim", it.path),
    ]);
    const cut =
      result.unfinished.length === 0
        ? ""
        : `${plural(result.unfinished.length, "piece")} of work was cut short; the next change settles it, or \`dotbot doctor --fix\`\n`;
    return table(rows) + cut;
  },
  ids: (result) => result.worktrees.flatMap((it) => (it.taskId === null ? [] : [it.taskId])),
});

function standing(
  it: Omit<Listed, "fault" | "operation"> & { readonly fault: string | null; readonly operation: string | null },
): string {
  const facts = [
    it.fault,
    it.operation,
    it.merged === true ? "merged" : null,
    it.dirty === true ? "dirty" : null,
    it.ahead === null || it.ahead === 0 ? null : `+${it.ahead}`,
    it.behind === null || it.behind === 0 ? null : `-${it.behind}`,
    it.setup === "failed" || it.setup === "running" ? `set-up ${it.setup}` : null,
  ].filter((fact) => fact !== null);
  return facts.length === 0 ? "clean" : facts.join(" ");
}

/** The task, and its worktree. Error: NOT_FOUND when it has none. */
async function withWorktree(bench: Bench, task: string | undefined): Promise<{ row: TaskRow; worktree: TaskWorktree }> {
  const row = await namedTask(bench.call, bench.queue, task, "show");
  const worktree = worktreeOf(bench.queue, row.id);
  if (worktree === null) throw noWorktree(bench.call, row);
  return { row, worktree };
}

function requireFolder(call: Call, row: TaskRow, worktree: TaskWorktree): string {
  if (isDirectory(worktree.path)) return worktree.path;
  throw new DotbotError(
    "NOT_FOUND",
    `the worktree of ${quote(row.name)} (${row.id8}) isn't at ${quote(worktree.path, 300)}`,
    {
      hint: "if it was moved, say where to; otherwise make it again",
      example: wtExample(call, "create", row.id8),
      details: { path: worktree.path },
    },
  );
}

const blockerShape = v.object({
  kind: v.string(),
  message: v.string(),
  hint: v.string(),
  paths: v.optional(v.array(v.string())),
});

export const status = operation({
  ...onTask,
  name: "wt status",
  summary: "Show a task's worktree, and what stands against completing it",
  details:
    "Branch, base, commits, uncommitted work, the set-up's state, earlier completions, and everything that wt complete would refuse for.",
  examples: [{ given, run: "wt status 'Add a login page'", does: "is it ready?" }],
  effect: "read",
  input: v.strictObject({ ...wtFields }),
  output: v.object({
    taskId: v.string(),
    name: v.string(),
    status: v.string(),
    branch: v.string(),
    path: v.string(),
    base: v.string(),
    baseSha: v.string(),
    headSha: v.nullable(v.string()),
    exists: v.boolean(),
    dirty: v.array(v.string()),
    untracked: v.array(v.string()),
    operation: v.nullable(v.string()),
    locked: v.nullable(v.string()),
    merged: v.nullable(v.string()),
    links: v.record(v.string(), v.string()),
    setup: setupOutput,
    slot: v.number(),
    blockers: v.array(blockerShape),
    completions: v.array(
      v.object({
        n: v.number(),
        base: v.string(),
        commit: v.string(),
        tip: v.string(),
        at: v.string(),
        undone: v.nullable(v.string()),
      }),
    ),
    stateRoot: v.string(),
  }),
  async run(call, input) {
    return await withBench(call, "wt status", async (bench) => {
      const { row, worktree } = await withWorktree(bench, input.task_id);
      const facts = await inspect(bench, { path: worktree.path, base: worktree.base, made: worktree.made });
      const tip = await readRef(call, bench.place.mainRoot, branchRef(worktree.branch));
      const { base } = await goalOf(bench, worktree.base);
      const merged =
        tip === null ? null : await mergedBy(bench, { tip, base, baseSha: worktree.baseSha, taskId: row.id });
      await bench.queue.finishRead();
      return {
        taskId: row.id,
        name: row.name,
        status: row.status,
        branch: worktree.branch,
        path: worktree.path,
        base,
        baseSha: worktree.baseSha,
        headSha: tip,
        exists: facts.exists,
        dirty: [...facts.dirty],
        untracked: [...facts.untracked],
        operation: facts.operation,
        locked: facts.locked,
        merged,
        links: { ...facts.links },
        setup: shownSetup(setupNow(worktree)),
        slot: worktree.slot,
        blockers: completionBlockers(facts, branchRef(worktree.branch), { dirty: false, ignored: false }).map(
          ({ kind, message, hint, paths }) => ({
            kind,
            message,
            hint,
            ...(paths === undefined ? {} : { paths: [...paths] }),
          }),
        ),
        completions: completions(bench.queue.ledger, row.id).map(
          ({ n, base: onto, commit, tip: landed, at, undone }) => ({ n, base: onto, commit, tip: landed, at, undone }),
        ),
        stateRoot: bench.queue.stateRoot,
      };
    });
  },
  text(result, style) {
    const lines = [
      `${result.taskId.slice(0, 8)}  ${result.name}: ${paintStatus(style, result.status)}\n`,
      `  ${result.path}${result.exists ? "" : paint(style, "red", "  (isn't there)")}\n`,
      `  ${result.branch} at ${(result.headSha ?? "nothing").slice(0, 12)}, from ${result.base} ${paint(style, "dim", result.baseSha.slice(0, 12))}${result.merged === null || result.merged === "fresh" ? "" : `, merged (${result.merged})`}\n`,
    ];
    if (result.setup.state !== "none" && result.setup.state !== "done")
      lines.push(
        `  set-up ${result.setup.state}${result.setup.command === undefined ? "" : `: ${result.setup.command}`}\n`,
      );
    for (const it of result.blockers) lines.push(`  ${paint(style, "yellow", "!")} ${it.message}\n`);
    for (const it of result.completions)
      lines.push(
        `  landed on ${it.base} as ${it.commit.slice(0, 12)}${it.undone === null ? "" : `, undone by ${it.undone.slice(0, 12)}`}\n`,
      );
    return lines.join("");
  },
});

const pathOutput = v.object({ taskId: v.nullable(v.string()), path: v.string(), branch: v.nullable(v.string()) });

export const path = operation({
  ...onTask,
  name: "wt path",
  summary: "Print the folder of a task's worktree",
  examples: [{ given, run: "wt path 'Add a login page'", does: 'for scripts: cd "$(dotbot wt path …)"' }],
  effect: "read",
  toolset: "people",
  input: v.strictObject({ ...wtFields }),
  output: pathOutput,
  async run(call, input) {
    return await withBench(call, "wt path", async (bench) => {
      const { row, worktree } = await withWorktree(bench, input.task_id);
      return { taskId: row.id, path: requireFolder(call, row, worktree), branch: worktree.branch };
    });
  },
  text: (result) => `${result.path}\n`,
});

export const switchTo = operation({
  ...onTask,
  name: "wt switch",
  aliases: ["wt cd"],
  surfaces: ["cli"],
  summary: "Go to a task's worktree; without a task, to the main checkout",
  details:
    "Prints the folder. A program can't change its shell's folder: the function that `dotbot shell-init` defines does, with what this prints.",
  examples: [{ given, run: "wt switch 'Add a login page'", does: "the folder to go to" }],
  effect: "read",
  input: v.strictObject({ ...wtFields }),
  output: pathOutput,
  async run(call, input) {
    return await withBench(call, "wt switch", async (bench) => {
      if (call.env["DOTBOT_CD_FILE"] === undefined) {
        call.note('to change the folder as well, let your shell define the function: eval "$(dotbot shell-init bash)"');
      }
      if (input.task_id === undefined) return { taskId: null, path: bench.place.mainRoot, branch: null };
      const { row, worktree } = await withWorktree(bench, input.task_id);
      return { taskId: row.id, path: requireFolder(call, row, worktree), branch: worktree.branch };
    });
  },
  text: (result) => `${result.path}\n`,
  goTo: (result) => result.path,
});

/** What the branch's own work is measured from, now. */
async function startOf(bench: Bench, worktree: TaskWorktree): Promise<string> {
  const { call, place } = bench;
  const { base } = await goalOf(bench, worktree.base);
  const [tip, baseTip] = [
    await readRef(call, place.mainRoot, branchRef(worktree.branch)),
    await readRef(call, place.mainRoot, branchRef(base)),
  ];
  const fork = tip === null || baseTip === null ? null : await mergeBase(call, place.mainRoot, baseTip, tip);
  return fork ?? worktree.baseSha;
}

export const diff = operation({
  ...onTask,
  name: "wt diff",
  summary: "Show what a task's worktree changes against its base",
  details:
    "Committed and uncommitted changes of tracked files, against the commit that the branch was cut from, or that was synced last. Untracked files are named.",
  examples: [{ given, run: "wt diff 'Add a login page'", does: "what would land" }],
  effect: "read",
  toolset: "people",
  input: v.strictObject({
    ...wtFields,
    stat: v.optional(v.pipe(v.boolean(), v.description("Only how much, file by file."))),
    committed: v.optional(v.pipe(v.boolean(), v.description("Without what isn't committed."))),
  }),
  output: v.object({
    taskId: v.string(),
    path: v.string(),
    base: v.string(),
    from: v.string(),
    files: v.array(v.string()),
    untracked: v.array(v.string()),
    diff: v.string(),
  }),
  async run(call, input) {
    return await withBench(call, "wt diff", async (bench) => {
      const { row, worktree } = await withWorktree(bench, input.task_id);
      const cwd = requireFolder(call, row, worktree);
      const from = await startOf(bench, worktree);
      const to = input.committed === true ? [branchRef(worktree.branch)] : [];
      const args = (how: readonly string[]) => [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        ...how,
        "--end-of-options",
        from,
        ...to,
        "--",
      ];
      const [names, text, untracked] = await Promise.all([
        gitText(call, args(["--name-only", "-z"]), { cwd, probe: true }),
        gitText(call, args(input.stat === true ? ["--stat"] : []), { cwd, probe: true }),
        gitText(call, ["ls-files", "--others", "--exclude-standard", "-z"], { cwd, probe: true }),
      ]);
      return {
        taskId: row.id,
        path: cwd,
        base: worktree.base,
        from,
        files: parseNul(names),
        untracked: parseNul(untracked),
        diff: text,
      };
    });
  },
  text: (result, style) =>
    result.diff + result.untracked.map((file) => `${paint(style, "dim", `untracked: ${file}`)}\n`).join(""),
});

export const log = operation({
  ...onTask,
  name: "wt log",
  summary: "Show the commits of a task's branch since its base",
  examples: [{ given, run: "wt log 'Add a login page'", does: "its own commits, newest first" }],
  effect: "read",
  toolset: "people",
  input: v.strictObject({ ...wtFields }),
  output: v.object({
    taskId: v.string(),
    branch: v.string(),
    base: v.string(),
    from: v.string(),
    commits: v.array(v.object({ sha: v.string(), author: v.string(), at: v.string(), subject: v.string() })),
  }),
  async run(call, input) {
    return await withBench(call, "wt log", async (bench) => {
      const { row, worktree } = await withWorktree(bench, input.task_id);
      const from = await startOf(bench, worktree);
      const ref = branchRef(worktree.branch);
      const tip = await readRef(call, bench.place.mainRoot, ref);
      const text =
        tip === null
          ? ""
          : await gitText(
              call,
              ["log", "-z", "--no-show-signature", "--format=%H%n%an%n%aI%n%s", "--end-of-options", `${from}..${ref}`],
              { cwd: bench.place.mainRoot, probe: true },
            );
      const commits = parseNul(text).map((it) => {
        const [sha = "", author = "", at = "", subject = ""] = it.split("\n");
        return { sha, author, at, subject };
      });
      return { taskId: row.id, branch: worktree.branch, base: worktree.base, from, commits };
    });
  },
  text: (result, style) =>
    result.commits.length === 0
      ? `no commits since ${result.base}\n`
      : result.commits
          .map(
            (it) =>
              `${paint(style, "yellow", it.sha.slice(0, 12))} ${it.subject} ${paint(style, "dim", `(${it.author})`)}\n`,
          )
          .join(""),
});
