/**
 * What all checks look at, read once. Whatever can't be read is null, and is itself a finding: half of `.bot` may be missing,
 * settings may not parse, the checkout may be broken.
 */
import { join } from "node:path";

import { DotbotError } from "../error.ts";
import { exists } from "../files.ts";
import { parseConfig } from "../git/parse.ts";
import type { Repo } from "../git/repo.ts";
import { checkoutsOf, isBare, type Checkout } from "../git/state.ts";
import { git, gitVersion } from "../git/run.ts";
import type { GitVersion } from "../git/parse.ts";
import type { Call } from "../op.ts";
import { tryLoadSettings, type LoadedSettings } from "../settings.ts";
import { ledgerFolder, type TaskRow } from "../task/ledger.ts";
import { Queue } from "../task/queue.ts";
import type { TaskWorktree } from "../wt/model.ts";
import { worktrees } from "../wt/records.ts";

export type Config = ReadonlyMap<string, readonly (string | null)[]>;

export interface Patient {
  readonly call: Call;
  readonly repo: Repo;
  readonly git: GitVersion;
  readonly loaded: LoadedSettings;
  /** Null where it can't be opened; then `queueFault` says why. */
  readonly queue: Queue | null;
  readonly queueFault: DotbotError | null;
  /** Tasks in pick order, by a condition of the ledger's; none where the queue can't be opened. */
  readonly tasks: (where: string, ...values: readonly string[]) => readonly TaskRow[];
  readonly worktrees: ReadonlyMap<string, TaskWorktree>;
  /** The main checkout and all registered worktrees, present or not. */
  readonly checkouts: readonly Checkout[];
  /** The repository's own config, without the user's. */
  readonly config: Config;
}

/** Error: NO_QUEUE in a repository that has never seen dotbot. */
export async function examine<T>(call: Call, look: (patient: Patient) => Promise<T>): Promise<T> {
  const { repo } = call.target;
  if (!exists(join(repo.stateRoot, ".bot")) && !exists(join(ledgerFolder(repo.stateCommonDir), "queue.db"))) {
    throw new DotbotError(
      "NO_QUEUE",
      `this repository has never seen dotbot: there is no .bot in ${JSON.stringify(repo.stateRoot)}`,
      {
        hint: "there is nothing to examine; `dotbot init` makes a queue",
        example: "dotbot init",
        details: { stateRoot: repo.stateRoot },
      },
    );
  }
  const [version, config, opened] = await Promise.all([
    gitVersion(call),
    readConfig(call, repo),
    openQueue(call, repo),
  ]);
  const { queue, fault } = opened;
  try {
    return await look({
      call,
      repo,
      git: version,
      loaded: tryLoadSettings(call, repo.stateRoot),
      queue,
      queueFault: fault,
      tasks: (where, ...values) => queue?.ledger.tasks(where, ...values) ?? [],
      worktrees: queue === null ? new Map() : worktrees(queue),
      checkouts: checkoutsOf(repo, isBare(repo)),
      config,
    });
  } finally {
    queue?.close();
  }
}

async function openQueue(call: Call, repo: Repo): Promise<{ queue: Queue | null; fault: DotbotError | null }> {
  try {
    const queue = await Queue.open(call, repo);
    await queue.checkAll();
    return { queue, fault: null };
  } catch (error) {
    if (error instanceof DotbotError) return { queue: null, fault: error };
    throw error;
  }
}

async function readConfig(call: Call, repo: Repo): Promise<Config> {
  const listed = await git(call, ["config", "--local", "-z", "--list"], { cwd: repo.mainRoot, probe: true });
  return listed.status === 0 ? parseConfig(listed.stdout) : new Map();
}
