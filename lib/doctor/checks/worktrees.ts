/** Worktrees of tasks: what was cut short, what is missing, what belongs to nobody, what was written to the wrong place. */
import { basename, dirname, join } from "node:path";

import { DotbotError } from "../../error.ts";
import { isDirectory, listNames, makeDirectory, readBytes, removeFile, writeAtomic } from "../../files.ts";
import { samePath } from "../../git/native.ts";
import { parseNul } from "../../git/parse.ts";
import { branchRef, listRefs } from "../../git/refs.ts";
import { git } from "../../git/run.ts";
import { journalFolder, readEntries } from "../../journal.ts";
import { isJsonObject, tryParseJson, decodeUtf8 } from "../../json.ts";
import { withRepositoryLock } from "../../lock.ts";
import { QUEUE_PATHS } from "../../task/queue-paths.ts";
import { contentHash, FOLDERS } from "../../task/view.ts";
import { UUID } from "../../task/model.ts";
import { count, quote, shellWord } from "../../text.ts";
import type { Bench } from "../../wt/bench.ts";
import { linkState, makeLinks } from "../../wt/links.ts";
import { namedFor, type TaskWorktree } from "../../wt/model.ts";
import { recover } from "../../wt/recover.ts";
import { manual, NOTHING_TO_DO, some, type Check, type Finding } from "../finding.ts";
import type { Patient } from "../patient.ts";

const TASKS = ".bot/workspace/tasks";

const journals: Check<Patient> = {
  id: "interrupted-work",
  about: "no completion, removal or creation of a worktree was cut short",
  async run(patient) {
    const { call, repo, queue } = patient;
    const entries = readEntries(repo.commonDir);
    if (entries.length === 0) return [];
    if (await isAtWork(patient)) {
      return [
        {
          severity: "info",
          finding: "a dotbot is at work on this repository's worktrees just now",
          evidence: entries.map(({ path }) => path),
          remedy: NOTHING_TO_DO,
        },
      ];
    }
    const unreadable = entries.filter(({ value }) => value === null);
    if (unreadable.length > 0 || queue === null) {
      return [
        {
          severity: "error",
          finding:
            "the journal of work that was cut short can't be read: nobody may change worktrees until it is settled",
          evidence: unreadable.map(({ path }) => path),
          remedy: manual("look at the branches and worktrees; when all is well, move those files elsewhere"),
        },
      ];
    }
    const what = entries.map(
      ({ name, value }) =>
        `${name}: ${typeof value?.["op"] === "string" ? value["op"] : "?"}, begun ${typeof value?.["at"] === "string" ? value["at"] : "?"}`,
    );
    return [
      {
        severity: "error",
        finding: `${count(entries.length, "piece")} of work on worktrees ${entries.length === 1 ? "was" : "were"} cut short`,
        evidence: [...what, journalFolder(repo.commonDir)],
        remedy: {
          kind: "auto",
          plan: "finish what had come so far that it stands, take back what hadn't, from the journal alone; stops where it meets content that it can't explain",
          apply: async () => {
            const bench: Bench = {
              call,
              queue,
              settings: patient.loaded.settings,
              place: { mainRoot: repo.mainRoot, commonDir: repo.commonDir },
            };
            const settled = await withRepositoryLock(call, repo.commonDir, "doctor", async () => await recover(bench));
            return settled.map(({ name, outcome }) => `${name}: ${outcome}`).join(", ");
          },
        },
      },
    ];
  },
};

/** Whether somebody holds the repository's lock: then what is begun isn't left behind. */
async function isAtWork({ call, repo }: Patient): Promise<boolean> {
  try {
    await withRepositoryLock(
      { signal: call.signal, pid: call.pid, lockWaitMs: 0 },
      repo.commonDir,
      "doctor",
      async () => undefined,
    );
    return false;
  } catch (error) {
    if (error instanceof DotbotError && error.code === "LOCKED") return true;
    throw error;
  }
}

function present({ worktrees }: Patient): [string, TaskWorktree][] {
  return [...worktrees].filter(([, { path }]) => isDirectory(path));
}

const missing: Check<Patient> = {
  id: "missing-worktrees",
  about: "recorded worktrees are there, and so are their tasks",
  run(patient) {
    const { queue, worktrees, checkouts } = patient;
    const findings: Finding[] = [];
    for (const [id, { path, branch }] of worktrees) {
      const row = queue?.ledger.task(id);
      const label = row === undefined ? id.slice(0, 8) : `${quote(row.name)} (${row.id8})`;
      if (!isDirectory(path)) {
        const parent = isDirectory(dirname(path));
        findings.push({
          severity: "warn",
          finding: `the worktree of ${label} isn't there`,
          evidence: [path, `branch ${branch}`],
          remedy: manual(
            parent
              ? `if it was moved: dotbot wt repair ${id.slice(0, 8)}; if it is gone: dotbot wt remove ${id.slice(0, 8)} (its branch stays)`
              : "its parent folder isn't there either: is a disk or a container missing?",
          ),
        });
      } else if (!checkouts.some((checkout) => samePath(checkout.path, path))) {
        findings.push({
          severity: "error",
          finding: `git doesn't know the worktree of ${label} any more`,
          evidence: [path, `branch ${branch}`],
          remedy: manual(
            `save what is in it first; then git worktree repair ${shellWord(path)}, or remove the folder and dotbot wt create ${id.slice(0, 8)}`,
          ),
        });
      }
      if (row === undefined || row.place === "removed") {
        findings.push({
          severity: "warn",
          finding: `the worktree ${quote(path, 200)} belongs to a task that isn't in the queue`,
          evidence: [id, `branch ${branch}`],
          remedy: manual(
            row === undefined
              ? "`dotbot wt prune` shows what would be lost"
              : `dotbot task restore ${row.id8}, or dotbot wt prune`,
          ),
        });
      }
    }
    return findings;
  },
};

const orphans: Check<Patient> = {
  id: "orphans",
  about: "no worktree, folder or branch of a task without a task",
  async run({ call, repo, checkouts, worktrees, queue }) {
    const known = [...worktrees.values()];
    const owned = (path: string): boolean => known.some((worktree) => samePath(worktree.path, path));
    const findings: Finding[] = [];
    const strangers = checkouts.filter(
      ({ main, path, present: here }) => !main && here && !owned(path) && namedFor(basename(path)) !== null,
    );
    if (strangers.length > 0) {
      findings.push({
        severity: "warn",
        finding: `${count(strangers.length, "worktree")} ${strangers.length === 1 ? "is named" : "are named"} like a task's, and no record says whose`,
        evidence: some(strangers.map(({ path }) => path)),
        remedy: manual("`dotbot wt adopt <path>` takes one over; `dotbot wt prune` lists what can go"),
      });
    }
    const folders = [...new Set(known.map(({ path }) => dirname(path)))].flatMap((parent) =>
      (listNames(parent) ?? []).filter((name) => namedFor(name) !== null).map((name) => join(parent, name)),
    );
    const loose = folders.filter(
      (path) => isDirectory(path) && !owned(path) && !checkouts.some((checkout) => samePath(checkout.path, path)),
    );
    if (loose.length > 0) {
      findings.push({
        severity: "warn",
        finding: `${count(loose.length, "folder")} beside the worktrees ${loose.length === 1 ? "is" : "are"} no worktree of this repository`,
        evidence: some(loose),
        remedy: manual("look whether there is work in them; `dotbot wt prune` lists what can go"),
      });
    }
    const refs = await listRefs(call, repo.mainRoot, "refs/heads/task/");
    const branches = [...refs.keys()].filter((ref) => !known.some(({ branch }) => branchRef(branch) === ref));
    const lost = branches.filter((ref) => {
      const id = namedFor(ref.slice("refs/heads/".length));
      const row = id === null ? undefined : queue?.ledger.taskById8(id);
      return id !== null && (row === undefined || row.place === "removed");
    });
    if (lost.length > 0) {
      findings.push({
        severity: "warn",
        finding: `${count(lost.length, "branch", "branches")} of tasks that aren't in the queue`,
        evidence: some(
          lost.map((ref) => `${ref.slice("refs/heads/".length)} at ${(refs.get(ref) ?? "").slice(0, 12)}`),
        ),
        remedy: manual("`dotbot wt prune` says which of them hold work that is nowhere else"),
      });
    }
    return findings;
  },
};

const links: Check<Patient> = {
  id: "queue-links",
  about: "worktrees' links lead to the queue",
  async run(patient) {
    const { call, repo } = patient;
    const absent: string[] = [];
    const seen: string[] = [];
    const findings: Finding[] = [];
    for (const [, { path, links: made }] of present(patient)) {
      for (const link of QUEUE_PATHS) {
        const state = linkState(path, repo.stateRoot, link);
        // Where none was made git would see it, or somebody doesn't want one.
        if (state === "absent" && made.includes(link))
          ((await isIgnored(patient, path, link)) ? absent : seen).push(path);
        if (state === "foreign") {
          findings.push({
            severity: "warn",
            finding: `a link in a worktree leads to another queue`,
            evidence: [join(path, link)],
            remedy: manual(
              `dotbot doesn't follow it, other tools do: rm ${shellWord(join(path, link))}, then dotbot doctor --fix`,
            ),
          });
        }
      }
    }
    if (seen.length > 0) {
      findings.push({
        severity: "warn",
        finding: "worktrees lost their links to the queue, and git doesn't ignore a link there",
        evidence: some([...new Set(seen)]),
        remedy: manual(
          "write .control and workspace/tasks into .bot/.gitignore, without slashes at their ends, and commit it: `dotbot init --force`",
        ),
      });
    }
    const trees = [...new Set(absent)];
    if (trees.length > 0) {
      findings.push({
        severity: "warn",
        finding: `${count(trees.length, "worktree")} lost ${trees.length === 1 ? "its link" : "their links"} to the queue; dotbot finds it none the less, tools that read files don't`,
        evidence: some(trees),
        remedy: {
          kind: "auto",
          plan: "make the links again, where git ignores them",
          apply: async () => {
            const made: string[] = [];
            for (const tree of trees) made.push(...(await makeLinks(call, tree, repo.stateRoot)));
            return `${count(made.length, "link")} there`;
          },
        },
      });
    }
    return findings;
  },
};

async function isIgnored({ call }: Patient, tree: string, path: string): Promise<boolean> {
  const { status } = await git(call, ["check-ignore", "--quiet", "--no-index", "--", path], { cwd: tree, probe: true });
  return status === 0;
}

interface Stray {
  readonly path: string;
  /** `copy`: the ledger has exactly this · `new`: a task that it never had · `other`: something else about a task that it has. */
  readonly is: "copy" | "new" | "other";
  readonly folder: string;
}

const strayTasks: Check<Patient> = {
  id: "stray-task-files",
  about: "no task file was written into a worktree",
  async run(patient) {
    const { repo } = patient;
    const strays: Stray[] = [];
    for (const checkout of patient.checkouts) {
      if (checkout.main || !checkout.present || linkState(checkout.path, repo.stateRoot, TASKS) !== "real") continue;
      strays.push(...(await straysIn(patient, checkout.path)));
    }
    const movable = strays.filter(({ is }) => is !== "other");
    const others = strays.filter(({ is }) => is === "other");
    const findings: Finding[] = [];
    if (movable.length > 0) {
      findings.push({
        severity: "error",
        finding: `${count(movable.length, "task file")} ${movable.length === 1 ? "was" : "were"} written into a worktree, where no queue is`,
        evidence: some(movable.map(({ path, is }) => `${path} (${is === "new" ? "a new task" : "the queue has it"})`)),
        remedy: {
          kind: "auto",
          plan: "take new ones into the queue, and remove from the worktree what the queue then has",
          apply: async () => await bringHome(patient, movable),
        },
      });
    }
    if (others.length > 0) {
      findings.push({
        severity: "error",
        finding: `${count(others.length, "task file")} in a worktree ${others.length === 1 ? "says" : "say"} something else than the queue`,
        evidence: some(others.map(({ path }) => path)),
        remedy: manual(
          "compare each with `dotbot task show`; bring over what counts with `dotbot task edit`, then remove the file",
        ),
      });
    }
    return findings;
  },
};

/** Task files of a worktree that its branch doesn't track. */
async function straysIn({ call, queue }: Patient, tree: string): Promise<Stray[]> {
  if (queue === null) return [];
  const folders = FOLDERS.filter((folder) =>
    (listNames(join(tree, TASKS, folder)) ?? []).some((name) => name.endsWith(".json")),
  );
  if (folders.length === 0) return [];
  const listed = await git(call, ["--literal-pathspecs", "ls-files", "-z", "--", TASKS], { cwd: tree, probe: true });
  if (listed.status !== 0) return [];
  const tracked = new Set(parseNul(listed.stdout));
  return folders.flatMap((folder) =>
    (listNames(join(tree, TASKS, folder)) ?? []).flatMap((name): Stray[] => {
      const path = join(tree, TASKS, folder, name);
      const bytes = tracked.has(`${TASKS}/${folder}/${name}`) || !name.endsWith(".json") ? null : readBytes(path);
      if (bytes === null) return [];
      if (queue.ledger.knowsContent(contentHash(bytes))) return [{ path, folder, is: "copy" }];
      const parsed = tryParseJson(decodeUtf8(bytes).text);
      const id = parsed.ok && isJsonObject(parsed.value) ? parsed.value["id"] : undefined;
      const isNew =
        typeof id === "string" && UUID.test(id) && queue.ledger.taskById8(id.slice(0, 8).toLowerCase()) === undefined;
      return [{ path, folder, is: isNew ? "new" : "other" }];
    }),
  );
}

/** Copies new ones into the state root's folders, has them taken in, and only then removes what the ledger knows. */
async function bringHome({ queue }: Patient, strays: readonly Stray[]): Promise<string> {
  if (queue === null) return "nothing";
  let taken = 0;
  for (const { path, folder, is } of strays) {
    const bytes = readBytes(path);
    const to = join(queue.view.root, folder, basename(path));
    if (is !== "new" || bytes === null || readBytes(to) !== null) continue;
    makeDirectory(dirname(to));
    writeAtomic(to, bytes);
    taken += 1;
  }
  await queue.checkAll();
  let removed = 0;
  for (const { path } of strays) {
    const bytes = readBytes(path);
    if (bytes === null || !queue.ledger.knowsContent(contentHash(bytes))) continue;
    removeFile(path);
    removed += 1;
  }
  return `${count(taken, "task")} taken in, ${count(removed, "file")} removed from worktrees`;
}

export const WORKTREE_CHECKS: readonly Check<Patient>[] = [journals, missing, orphans, links, strayTasks];
