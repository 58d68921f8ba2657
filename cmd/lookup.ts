/**
 * Candidates that have to be looked up: tasks, branches, remotes, categories. Reads the ledger as it stands, without looking
 * at task files, and starts git only for what git alone knows. Finds nothing where nothing can be found: Tab never complains.
 */
import { dirname, join } from "node:path";

import { exists, listNames } from "../lib/files.ts";
import type { Repo, RepoCtx } from "../lib/git/repo.ts";
import type { JsonObject } from "../lib/json.ts";
import { Ledger, ledgerFolder } from "../lib/task/ledger.ts";
import { senseOf, tells, type Sense } from "../lib/task/legal.ts";
import { STATUSES } from "../lib/task/model.ts";
import { stripControl } from "../lib/text.ts";
import type { Candidate, Place } from "./complete.ts";

export interface LookupCtx extends RepoCtx {
  /** Milliseconds to wait for a commit in progress. */
  readonly lockWaitMs: number;
}

/** What the word at the cursor may become, of what is looked up and of what is known already. */
export async function candidatesOf(ctx: LookupCtx, place: Place): Promise<readonly Candidate[]> {
  const { begun, taken, candidates } = place;
  const found = new Map<string, Candidate>();
  const add = (candidate: Candidate): void => {
    const { value } = candidate;
    if (value.startsWith(begun) && !taken.has(value) && !found.has(value)) found.set(value, candidate);
  };
  for (const candidate of candidates) add(candidate);
  const lookedUp = await lookUp(ctx, place);
  // A thousand tasks, each with an id of its own, needn't be told apart once more.
  if (found.size === 0 && begun === "" && taken.size === 0 && place.lookup?.what === "task") return lookedUp;
  for (const candidate of lookedUp) add(candidate);
  return [...found.values()];
}

async function lookUp(ctx: LookupCtx, place: Place): Promise<readonly Candidate[]> {
  try {
    return await find(ctx, place);
  } catch {
    return [];
  }
}

async function find(ctx: LookupCtx, { lookup, dir, begun, taken }: Place): Promise<readonly Candidate[]> {
  if (lookup === null) return [];
  const repo = async (): Promise<Repo> => {
    const { resolveRepo } = await import("../lib/git/repo.ts");
    return await resolveRepo(ctx, dir ?? undefined);
  };
  switch (lookup.what) {
    case "task": {
      const sense = senseOf(lookup.verb ?? "");
      // In the folder of a main checkout there is nothing to resolve, and nothing of what resolving takes is loaded. A
      // repository that lies in another one may be its submodule, whose queue is the other one's.
      const ledger = dir === null && !liesInRepository(ctx.cwd) ? Ledger.glance(join(ctx.cwd, ".git")) : null;
      const found = ledger === null ? await tasksOf(ctx, await repo(), sense) : await tasksIn(ledger, sense);
      return candidates(found, begun, taken);
    }
    case "branch": {
      const { listRefs } = await import("../lib/git/refs.ts");
      const refs = await listRefs(ctx, (await repo()).mainRoot, "refs/heads/");
      return [...refs.keys()].map((ref) => ({ value: ref.slice("refs/heads/".length), description: "" }));
    }
    case "remote": {
      const { remoteNames } = await import("../lib/git/remote.ts");
      return (await remoteNames(ctx, await repo())).map((value) => ({ value, description: "" }));
    }
    case "status":
      return STATUSES.map((value) => ({ value, description: "" }));
    case "category": {
      const { CATEGORIES } = await import("../lib/task/model.ts");
      const { tryLoadSettings } = await import("../lib/settings.ts");
      const { settings } = tryLoadSettings(ctx, (await repo()).stateRoot);
      return [...CATEGORIES, ...settings.task.categories].map((value) => ({ value, description: "" }));
    }
    case "session": {
      const { SESSION_VARIABLES } = await import("../lib/task/provenance.ts");
      return SESSION_VARIABLES.flatMap((name) => {
        const value = stripControl(ctx.env[name] ?? "").trim();
        return value === "" ? [] : [{ value, description: name }];
      });
    }
    case "path":
    case "directory":
      // The shell's own business.
      return [];
  }
}

/** Whether a folder above this one looks like a checkout. Loads no file system: that would cost as much as all the rest. */
function liesInRepository(folder: string): boolean {
  const above = dirname(folder);
  if (above === folder) return false;
  const git = join(above, ".git");
  return [git, join(git, "HEAD")].some((path) => Bun.file(path).size > 0) || liesInRepository(above);
}

/** The first eight digits of the id, `name (status)`. */
type Seen = readonly [id8: string, shown: string];

function nameIn([, shown]: Seen): string {
  return shown.slice(0, shown.lastIndexOf(" ("));
}

/**
 * Tasks by the first eight digits of their id; where what is typed begins no id, by their names, as far as a name means one
 * task.
 */
function candidates(found: readonly Seen[], begun: string, taken: ReadonlySet<string>): readonly Candidate[] {
  const left = taken.size === 0 ? found : found.filter((task) => !taken.has(task[0]) && !taken.has(nameIn(task)));
  const byId = begun === "" ? left : left.filter(([id8]) => id8.startsWith(begun));
  if (begun === "" || byId.length > 0) return byId.map(([value, description]) => ({ value, description }));
  const named = Map.groupBy(left, nameIn);
  return [...named].flatMap(([name, [task, another]]) =>
    task === undefined || another !== undefined || name !== stripControl(name)
      ? []
      : [{ value: name, description: `${task[0]} ${task[1].slice(name.length + 1)}` }],
  );
}

async function tasksOf(ctx: LookupCtx, repo: Repo, sense: Sense): Promise<readonly Seen[]> {
  return exists(join(ledgerFolder(repo.stateCommonDir), "queue.db"))
    ? await tasksIn(Ledger.open(repo.stateCommonDir, ctx.lockWaitMs), sense)
    : await tasksInFiles(repo, sense.statuses);
}

/** Closes the ledger. */
async function tasksIn(ledger: Ledger, { statuses, only, removedToo = false }: Sense): Promise<readonly Seen[]> {
  try {
    const marks = statuses.map(() => "?").join(", ");
    const found = ledger.names(`${removedToo ? "" : "place = 'view' AND "}status IN (${marks})`, statuses);
    if (only === undefined) return found;
    const ids = new Set((await idsOf(ledger, only, statuses)).map((id) => id.slice(0, 8)));
    return found.filter(([id8]) => ids.has(id8) !== (only === "unclaimed" || only === "without-worktree"));
  } finally {
    ledger.close();
  }
}

/** The tasks of which that is true, or, for the two that deny something, isn't. */
async function idsOf(
  ledger: Ledger,
  only: Exclude<Sense["only"], undefined>,
  statuses: Sense["statuses"],
): Promise<readonly string[]> {
  switch (only) {
    case "claimed":
    case "unclaimed":
      return [...ledger.claims().keys()];
    case "with-worktree":
    case "without-worktree": {
      const { WORKTREE_RECORDS } = await import("../lib/task/here.ts");
      return [...ledger.records(WORKTREE_RECORDS).keys()];
    }
    case "in-conflict":
      return ledger.conflicts().flatMap(({ id }) => id ?? []);
    case "asks":
    case "proposes-split": {
      const { parseJson } = await import("../lib/json.ts");
      const marks = statuses.map(() => "?").join(", ");
      // Few tasks wait for a person at a time.
      return ledger
        .tasks(`place = 'view' AND status IN (${marks})`, ...statuses)
        .filter(({ id }) => tells(only, parseJson(ledger.document(id)) as JsonObject))
        .map(({ id }) => id);
    }
  }
}

/** Before the first command there is no ledger: file names tell as much as Tab needs. */
async function tasksInFiles(repo: Repo, statuses: readonly string[]): Promise<readonly Seen[]> {
  const { tasksFolder } = await import("../lib/task/view.ts");
  return statuses.flatMap((status) =>
    (listNames(join(tasksFolder(repo.stateRoot), status)) ?? []).toSorted().flatMap((file): Seen[] => {
      const match = /^(.+)-([0-9a-f]{8})\.json$/.exec(file);
      return match === null ? [] : [[match[2] ?? "", `${match[1]} (${status})`]];
    }),
  );
}
