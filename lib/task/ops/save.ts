/** Sharing the queue: a snapshot as a commit, and taking one in. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { commitPaths } from "../../git/commit.ts";
import { echoFields, echoLine, echoOf } from "../../git/echo.ts";
import { remoteNames } from "../../git/remote.ts";
import { readHead, requireTree, resolveRepo, type Repo } from "../../git/repo.ts";
import { operation, type Call } from "../../op.ts";
import type { Settings } from "../../settings.ts";
import { count, quote } from "../../text.ts";
import { timestamp } from "../model.ts";
import { oneLine } from "../provenance.ts";
import type { Queue } from "../queue.ts";
import {
  commitOf,
  fetchSnapshot,
  forgetLoaded,
  noteLoaded,
  pushSnapshot,
  readSnapshot,
  saveSnapshot,
} from "../snapshot.ts";
import { isTracked } from "../tracked.ts";
import { dirField, withQueue } from "./common.ts";

const pushedShape = v.object({ remote: v.string(), ref: v.string(), sha: v.string() });

const saveOutput = v.object({
  ...echoFields,
  commit: v.pipe(
    v.nullable(v.string()),
    v.description("The snapshot's commit; null when a tracked queue had nothing to commit."),
  ),
  onBranch: v.pipe(v.nullable(v.string()), v.description("The branch that the commit is on.")),
  changed: v.boolean(),
  files: v.number(),
  tracked: v.pipe(v.boolean(), v.description("Whether the project's own branches track the queue.")),
  pushed: v.optional(pushedShape),
  conflicts: v.pipe(
    v.number(),
    v.description("Task files with a second version that isn't settled; the snapshot has the ledger's."),
  ),
});

export const save = operation({
  name: "task save",
  summary: "Commit a snapshot of the queue, for the team",
  details:
    "With an untracked queue (the default) the snapshot is a commit on its own branch, dotbot/queue, made without touching any checkout, index or hook. Where the project tracks the queue, exactly the queue's paths are committed on the branch that is checked out.",
  examples: [{ given: ["task add 'Add a login page'"], run: "task save", does: "commit the queue as it is now" }],
  effect: "write",
  idempotent: true,
  openWorld: true,
  toolset: "all",
  target: { rule: "queue" },
  input: v.strictObject({
    message: v.optional(v.pipe(v.string(), v.description("The commit's message."))),
    push: v.optional(v.pipe(v.boolean(), v.description("Send it to the remote as well."))),
    remote: v.optional(v.pipe(v.string(), v.description("Which remote; the only one, or origin, by default."))),
    ...dirField,
  }),
  flags: { message: { short: "m", value: "text" }, remote: { value: "name" } },
  complete: { remote: "remote" },
  output: saveOutput,
  async run(call, input) {
    return await withQueue(call, async ({ queue, settings }) => {
      const { repo } = queue;
      await queue.checkAll();
      const message =
        oneLine(call, input.message ?? "", "message") ||
        `Save the task queue: ${count(queue.ledger.tasks().length, "task")}`;
      const tracked = await isTracked(call, repo, settings);
      const saved = tracked
        ? await saveTracked(call, repo, message, queue)
        : await saveOnBranch(call, repo, message, queue, settings);
      const pushed = input.push === true ? await push(call, repo, input.remote, saved.onBranch) : undefined;
      return {
        ...(await echoOf(call, repo, "the queue is saved")),
        ...saved,
        tracked,
        ...(pushed === undefined ? {} : { pushed }),
        conflicts: queue.conflicts.length,
      };
    });
  },
  text: (result) => {
    const where = result.onBranch === null ? "" : ` on ${result.onBranch}`;
    const first = result.changed
      ? `${(result.commit ?? "").slice(0, 12)}${where}: ${count(result.files, "task file")}\n`
      : `nothing new to save${where}\n`;
    const pushed =
      result.pushed === undefined ? "" : `pushed to ${result.pushed.remote}: ${result.pushed.sha.slice(0, 12)}\n`;
    return echoLine(result) + first + pushed;
  },
});

async function saveOnBranch(call: Call, repo: Repo, message: string, queue: Queue, settings: Settings) {
  const { branch } = settings.queue;
  const { commit, changed, files } = await saveSnapshot(call, repo, queue.ledger, branch, message);
  if (changed) await queue.write("task save", (tx) => forgetLoaded(tx.ledger));
  return { commit, changed, files, onBranch: branch };
}

async function saveTracked(call: Call, repo: Repo, message: string, queue: Queue) {
  await queue.repair();
  // The main checkout as a repository of its own: the call may have come from a worktree.
  const main = await resolveRepo(call, repo.stateRoot);
  const tree = { workRoot: requireTree(main), gitDir: main.gitDir };
  const committed = await commitPaths(call, tree, { paths: [".bot/workspace/tasks"], message });
  return {
    commit: committed?.sha ?? null,
    changed: committed !== null,
    files: queue.ledger.tasks("place <> 'removed'").length,
    onBranch: (await readHead(call, main)).branch,
  };
}

async function push(call: Call, repo: Repo, named: string | undefined, branch: string | null) {
  if (branch === null)
    throw new DotbotError("REFUSED", "HEAD is detached: there is no branch to push", {
      hint: "check out a branch first",
    });
  return await pushSnapshot(call, repo, await remoteOf(call, repo, named), branch);
}

/** The remote that is meant: the named one, the only one, or origin. */
async function remoteOf(call: Call, repo: Repo, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const names = await remoteNames(call, repo);
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  if (names.includes("origin")) return "origin";
  throw new DotbotError("INVALID_INPUT", names.length === 0 ? "this repository has no remote" : "which remote?", {
    hint: names.length === 0 ? "add one with `git remote add origin <url>`" : `remotes: ${names.join(", ")}`,
    ...(only === undefined ? {} : { example: `dotbot task save --push --remote ${only}` }),
    details: { missing: ["remote"] },
  });
}

const loadOutput = v.object({
  ...echoFields,
  source: v.pipe(v.string(), v.description("The branch or commit that was read.")),
  commit: v.string(),
  added: v.number(),
  updated: v.number(),
  same: v.number(),
  older: v.pipe(v.number(), v.description("Earlier states of tasks that have moved on here; kept as versions.")),
  conflicts: v.pipe(
    v.number(),
    v.description("Versions that neither continue ours nor are continued by it; settle them with task resolve."),
  ),
  broken: v.number(),
});

export const load = operation({
  name: "task load",
  summary: "Take in a snapshot of the queue",
  details:
    "Reads a snapshot from the local branch, a remote or any commit. Each task follows the rules of an edited file: what continues our version is taken, an earlier state is kept aside, and where both moved on it becomes a conflict. Nothing of ours is lost or removed.",
  examples: [
    { given: ["task add 'Add a login page'", "task save"], run: "task load", does: "take in what the branch has" },
  ],
  effect: "write",
  idempotent: true,
  openWorld: true,
  toolset: "all",
  target: { rule: "queue" },
  input: v.strictObject({
    remote: v.optional(v.pipe(v.string(), v.description("Fetch the snapshot from this remote first."))),
    from: v.optional(v.pipe(v.string(), v.description("Read this branch or commit instead of the setting's branch."))),
    ...dirField,
  }),
  flags: { remote: { value: "name" }, from: { value: "commit" } },
  complete: { remote: "remote", from: "branch" },
  output: loadOutput,
  async run(call, input) {
    return await withQueue(call, async ({ queue, settings }) => {
      const { source, commit } = await snapshotMeant(call, queue.repo, settings, input);
      const documents = await readSnapshot(call, queue.repo, commit);
      const taken = await queue.takeInForeign(documents, source, (ledger) =>
        noteLoaded(ledger, commit, timestamp(call.now())),
      );
      return { ...(await echoOf(call, queue.repo, "the snapshot is taken in")), source, commit, ...taken };
    });
  },
  text: (result) => {
    const parts = [
      `${result.added} added`,
      `${result.updated} updated`,
      `${result.same + result.older} known`,
      ...(result.conflicts > 0 ? [`${count(result.conflicts, "conflict")}: see \`dotbot task resolve\``] : []),
      ...(result.broken > 0 ? [`${result.broken} unreadable`] : []),
    ];
    return `${echoLine(result)}${result.source} (${result.commit.slice(0, 12)}): ${parts.join(", ")}\n`;
  },
});

async function snapshotMeant(
  call: Call,
  repo: Repo,
  settings: Settings,
  input: { remote?: string | undefined; from?: string | undefined },
): Promise<{ source: string; commit: string }> {
  const { branch } = settings.queue;
  if (input.from !== undefined && input.remote !== undefined) {
    throw new DotbotError("USAGE", "load reads from a commit or from a remote, not both", {
      example: `dotbot task load --remote ${input.remote}`,
    });
  }
  if (input.from !== undefined) {
    const commit = await commitOf(call, repo, input.from);
    if (commit === null)
      throw new DotbotError("NOT_FOUND", `no commit answers to ${quote(input.from)}`, { example: "dotbot task load" });
    return { source: input.from, commit };
  }
  const local = input.remote === undefined ? await commitOf(call, repo, `refs/heads/${branch}`) : null;
  if (local !== null) return { source: branch, commit: local };
  const remote = await remoteOf(call, repo, input.remote);
  const commit = await fetchSnapshot(call, repo, remote, branch);
  if (commit === null) {
    throw new DotbotError("NOT_FOUND", `${quote(remote)} has no snapshot: no branch ${quote(branch)}`, {
      hint: "somebody makes one with `dotbot task save --push`",
    });
  }
  return { source: `${remote}/${branch}`, commit };
}
