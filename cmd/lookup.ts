/**
 * Candidates that have to be looked up: tasks, branches, remotes, categories. Reads the ledger as it stands, without looking
 * at task files, and starts git only for what git alone knows. Finds nothing where nothing can be found: Tab never complains.
 */
import { join } from "node:path";

import type { Ctx } from "../lib/ctx.ts";
import { exists, listNames } from "../lib/files.ts";
import { resolveRepo, type Repo } from "../lib/git/repo.ts";
import { stripControl } from "../lib/text.ts";
import type { Candidate, Place } from "./complete.ts";

/** What the word at the cursor may become, of what is looked up and of what is known already. */
export async function candidatesOf(ctx: Ctx, place: Place): Promise<readonly Candidate[]> {
  const found = [...place.candidates, ...(await lookedUp(ctx, place))];
  const seen = new Set<string>();
  return found.filter(({ value }) => {
    const fits = value.startsWith(place.begun) && !place.taken.has(value) && !seen.has(value);
    seen.add(value);
    return fits;
  });
}

async function lookedUp(ctx: Ctx, place: Place): Promise<readonly Candidate[]> {
  try {
    return await find(ctx, place);
  } catch {
    return [];
  }
}

async function find(ctx: Ctx, { lookup, dir, begun, taken }: Place): Promise<readonly Candidate[]> {
  if (lookup === null) return [];
  const repo = async (): Promise<Repo> => await resolveRepo(ctx, dir ?? undefined);
  switch (lookup.what) {
    case "task":
      return await tasks(ctx, await repo(), lookup.verb, begun, taken);
    case "branch": {
      const { listRefs } = await import("../lib/git/refs.ts");
      const refs = await listRefs(ctx, (await repo()).mainRoot, "refs/heads/");
      return [...refs.keys()].map((ref) => ({ value: ref.slice("refs/heads/".length), description: "" }));
    }
    case "remote": {
      const { remoteNames } = await import("../lib/git/remote.ts");
      return (await remoteNames(ctx, await repo())).map((value) => ({ value, description: "" }));
    }
    case "status": {
      const { STATUSES } = await import("../lib/task/model.ts");
      return STATUSES.map((value) => ({ value, description: "" }));
    }
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

interface Seen {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

/**
 * Tasks by the first eight digits of their id; where what is typed begins no id, by their names, as far as a name means one
 * task.
 */
async function tasks(
  ctx: Ctx,
  repo: Repo,
  verb: string | null,
  begun: string,
  taken: ReadonlySet<string>,
): Promise<readonly Candidate[]> {
  const found = await tasksFor(ctx, repo, verb);
  const byId = found.map(({ id, name, status }) => ({
    value: id.slice(0, 8),
    description: `${name} (${status})`,
    name,
  }));
  const left = byId.filter(({ value, name }) => !taken.has(value) && !taken.has(name));
  if (begun === "" || left.some(({ value }) => value.startsWith(begun))) return left;
  const named = Map.groupBy(left, ({ name }) => name);
  return [...named].flatMap(([name, [task, another]]) =>
    task === undefined || another !== undefined || name !== stripControl(name)
      ? []
      : [{ value: name, description: `${task.value} ${task.description.slice(name.length + 1)}` }],
  );
}

async function tasksFor(ctx: Ctx, repo: Repo, verb: string | null): Promise<readonly Seen[]> {
  const { Ledger, ledgerFolder } = await import("../lib/task/ledger.ts");
  const { WORKTREE_RECORDS } = await import("../lib/task/here.ts");
  const { senseOf } = await import("../lib/task/legal.ts");
  const { statuses, only, removedToo = false } = senseOf(verb ?? "", await leadsTo(verb));
  if (!exists(join(ledgerFolder(repo.stateCommonDir), "queue.db"))) return await tasksInFiles(repo, statuses);
  const ledger = Ledger.open(repo.stateCommonDir, ctx.lockWaitMs);
  try {
    const marks = statuses.map(() => "?").join(", ");
    const lines = ledger.lines(`${removedToo ? "" : "place = 'view' AND "}status IN (${marks})`, statuses, -1);
    if (only === undefined) return lines;
    const chosen = only === "claimed" || only === "unclaimed" ? ledger.claims() : ledger.records(WORKTREE_RECORDS);
    return lines.filter(({ id }) => chosen.has(id) === (only === "claimed" || only === "with-worktree"));
  } finally {
    ledger.close();
  }
}

/** The status that a verb of the queue moves tasks to. */
async function leadsTo(verb: string | null) {
  const [noun, word = ""] = verb?.split(" ") ?? [];
  if (noun !== "task") return undefined;
  const { VERB_TO } = await import("../lib/task/ops/move.ts");
  const { STATUSES } = await import("../lib/task/model.ts");
  return STATUSES.find((status) => VERB_TO[status] === word);
}

/** Before the first command there is no ledger: file names tell as much as Tab needs. */
async function tasksInFiles(repo: Repo, statuses: readonly string[]): Promise<readonly Seen[]> {
  const { tasksFolder } = await import("../lib/task/view.ts");
  return statuses.flatMap((status) =>
    (listNames(join(tasksFolder(repo.stateRoot), status)) ?? []).toSorted().flatMap((file) => {
      const match = /^(.+)-([0-9a-f]{8})\.json$/.exec(file);
      return match === null ? [] : [{ id: match[2] ?? "", name: match[1] ?? "", status }];
    }),
  );
}
