/** The queue: its ledger, its files, what tasks say of each other. */
import { join } from "node:path";

import { listNames, readText, removeFile, stampOf, TEMP_PREFIX } from "../../files.ts";
import { git } from "../../git/run.ts";
import { isJsonObject, parseJson } from "../../json.ts";
import { ledgerFolder, type TaskRow } from "../../task/ledger.ts";
import { isClosed, timestamp } from "../../task/model.ts";
import { cycleThrough, DependencyIndex } from "../../task/pick.ts";
import { ARCHIVE, FOLDERS } from "../../task/view.ts";
import { count, quote } from "../../text.ts";
import { manual, NOTHING_TO_DO, some, type Check, type Finding } from "../finding.ts";
import type { Patient } from "../patient.ts";

const TASKS = ".bot/workspace/tasks";

const ignored: Check<Patient> = {
  id: "queue-in-git",
  about: "the queue's files are either ignored or tracked",
  async run({ call, repo, loaded }) {
    // A bare state root has no checkout in which git could track or ignore anything.
    if (repo.kind === "bare") return [];
    const options = { cwd: repo.stateRoot, probe: true } as const;
    const [tracked, hidden] = await Promise.all([
      git(call, ["--literal-pathspecs", "ls-files", "-z", "--", TASKS], options),
      git(call, ["check-ignore", "--quiet", "--no-index", "--", `${TASKS}/todo/x.json`], options),
    ]);
    if (tracked.status !== 0) return [];
    const files = tracked.stdout.split("\0").filter((path) => path.endsWith(".json"));
    if (files.length === 0 && hidden.status === 0) return [];
    if (files.length === 0) {
      return [
        {
          severity: "warn",
          finding:
            "the queue's files are neither ignored nor tracked: every status shows them, and any `git add -A` takes them along",
          evidence: [join(repo.stateRoot, TASKS)],
          remedy: manual(
            "`dotbot init` writes .bot/.gitignore; or set queue.tracked and commit them with `dotbot task save`",
          ),
        },
      ];
    }
    const meant = loaded.settings.queue.tracked !== false;
    return [
      {
        severity: meant ? "info" : "warn",
        finding: meant
          ? "branches of this project track the queue: switching, stashing or resetting moves task files, and the next change puts them right"
          : "queue.tracked is false, and branches track the queue's files",
        evidence: [`${count(files.length, "tracked task file")} in ${TASKS}`],
        remedy: meant ? NOTHING_TO_DO : manual(`git rm -r --cached ${TASKS}, then commit`),
      },
    ];
  },
};

const ledger: Check<Patient> = {
  id: "ledger",
  about: "the ledger can be read, written, and is whole",
  run({ queue, queueFault, repo }) {
    if (queue === null) {
      return [
        {
          severity: "error",
          finding: queueFault?.message ?? "the queue can't be opened",
          evidence: [ledgerFolder(repo.stateCommonDir)],
          remedy: manual(queueFault?.hint ?? "see the message"),
        },
      ];
    }
    const findings: Finding[] = [];
    if (queue.ledger.mode !== "file") {
      findings.push({
        severity: "error",
        finding: "the ledger can't be written from here: reads work, changes don't",
        evidence: [queue.ledger.path],
        remedy: manual(
          "make the folder writable; an agent's sandbox needs the repository's git dir among its writable roots",
        ),
      });
    }
    const broken = queue.ledger.integrity();
    if (broken.length > 0) {
      findings.push({
        severity: "error",
        finding: "the ledger is damaged",
        evidence: some(broken, 5),
        remedy: manual(
          `keep a copy of ${queue.ledger.path}, then move it away: the next command rebuilds it from the task files; claims and removed tasks are only in the old one`,
        ),
      });
    }
    const aside = (listNames(ledgerFolder(repo.stateCommonDir)) ?? []).filter((name) =>
      name.startsWith("queue.db.damaged-"),
    );
    if (aside.length > 0) {
      findings.push({
        severity: "info",
        finding: "a damaged ledger was set aside and rebuilt",
        evidence: aside.map((name) => join(ledgerFolder(repo.stateCommonDir), name)),
        remedy: NOTHING_TO_DO,
      });
    }
    return findings;
  },
};

const view: Check<Patient> = {
  id: "task-files-lag",
  about: "task files show what the ledger says",
  run({ queue }) {
    if (queue === null) return [];
    const { tasks, stale } = queue.lag;
    if (tasks.length + stale.length === 0) return [];
    return [
      {
        severity: "warn",
        finding: `${count(tasks.length + stale.length, "task file")} ${tasks.length + stale.length === 1 ? "isn't" : "aren't"} as the ledger says: a git command took them back, or a write was cut short`,
        evidence: some([...tasks.map((id) => queue.ledger.task(id)?.file ?? id), ...stale]),
        remedy: {
          kind: "auto",
          plan: "draw those files again from the ledger; content that the ledger hasn't seen is kept as a conflict",
          apply: async () => `${count(await queue.repair(), "file")} put right`,
        },
      },
    ];
  },
};

const broken: Check<Patient> = {
  id: "broken-files",
  about: "task files can be read",
  run({ queue }) {
    return (queue?.broken ?? []).map(({ path, message, line, column }) => ({
      severity: "error",
      finding: `a task file can't be read: ${message}`,
      evidence: [line === null ? path : `${path}:${line}:${column ?? 1}`],
      remedy: manual(
        "mend it there, or move it out of the queue's folders; it counts as a task that exists, and protects its worktree",
      ),
    }));
  },
};

const conflicts: Check<Patient> = {
  id: "conflicts",
  about: "no task has two versions",
  run({ queue }) {
    return (queue?.conflicts ?? []).map(({ id, name, path }) => ({
      severity: "warn",
      finding:
        id === null
          ? "content that was met in the queue's folders is kept, and is no readable task"
          : `two versions of ${quote(name ?? id)}: neither continues the other`,
      evidence: [path],
      remedy: manual(id === null ? "`dotbot task resolve --list` shows it" : `dotbot task resolve ${id.slice(0, 8)}`),
    }));
  },
};

const statusField: Check<Patient> = {
  id: "folder-and-status",
  about: "a task's status field repeats its folder",
  run({ queue, call }) {
    if (queue === null) return [];
    const wrong = queue.ledger.doubtfulStatuses().filter(({ doc, status }) => saysOther(doc, status));
    if (wrong.length === 0) return [];
    return [
      {
        severity: "warn",
        finding: `${count(wrong.length, "task")} ${wrong.length === 1 ? "has" : "have"} a status field that isn't the folder's name; the folder counts`,
        evidence: some(wrong.map((row) => `${row.status}/${row.file}`)),
        remedy: {
          kind: "auto",
          plan: "write the folder's name into the status field",
          apply: async () => {
            const at = timestamp(call.now());
            await queue.write("doctor: status fields", (tx) => {
              for (const { id } of wrong) {
                const row = tx.row(id);
                tx.save(row, { ...tx.document(row), status: row.status }, { at, by: "doctor" });
              }
            });
            return `${count(wrong.length, "status field")} written`;
          },
        },
      },
    ];
  },
};

function saysOther(text: string, status: string): boolean {
  const doc = parseJson(text);
  return isJsonObject(doc) && doc["status"] !== undefined && doc["status"] !== status;
}

/** How many words are asked for in one query. */
const WORDS = 200;

/** The tasks themselves, and every task that one of their dependencies could mean. */
function meant(open: readonly TaskRow[], tasks: Patient["tasks"]): TaskRow[] {
  const words = [...new Set(open.flatMap((row) => row.dependencies))];
  const rows = new Map(open.map((row) => [row.id, row]));
  for (let at = 0; at < words.length; at += WORDS) {
    const part = words.slice(at, at + WORDS);
    const marks = part.map(() => "?").join(", ");
    const lower = part.map((word) => word.toLowerCase());
    // One search per index: as alternatives of one condition they would be looked for row by row.
    const by = (column: string): string => `SELECT n FROM task WHERE ${column} IN (${marks})`;
    const where = `place <> 'removed' AND n IN (${["id", "file", "file", "slug", "slug", "name"].map(by).join(" UNION ")})`;
    const files = part.map((word) => `${word}.json`);
    for (const row of tasks(where, ...lower, ...part, ...files, ...part, ...lower, ...part)) rows.set(row.id, row);
  }
  return [...rows.values()];
}

const dependencies: Check<Patient> = {
  id: "dependencies",
  about: "dependencies of open tasks exist, mean one task, and don't go round",
  run({ tasks }) {
    // Asked for by their text first: most tasks have no dependencies, and thousands of rows cost something to read.
    const open = tasks(`place <> 'removed' AND lists LIKE '%"dependencies"%'`).filter(
      (row) => row.dependencies.length > 0 && !isClosed(row.status),
    );
    if (open.length === 0) return [];
    const index = new DependencyIndex(meant(open, tasks));
    const findings: Finding[] = [];
    const told = new Set<string>();
    for (const row of open) {
      for (const name of row.dependencies) {
        const found = index.find(name).length;
        if (found === 1) continue;
        findings.push({
          severity: "warn",
          finding: `${quote(row.name)} (${row.id8}) depends on ${quote(name)}, ${found === 0 ? "which doesn't exist" : `which ${found} tasks answer to`}: it is never picked`,
          evidence: [`${row.status}/${row.file}`],
          remedy: manual(`dotbot task edit ${row.id8} --depends-on …, or add the task that is missing`),
        });
      }
      const cycle = told.has(row.id) ? null : cycleThrough(row, index);
      if (cycle === null) continue;
      for (const { id } of cycle) told.add(id);
      findings.push({
        severity: "warn",
        finding: `tasks wait for each other in a ring: none of them is ever picked`,
        evidence: [...cycle, row].map(({ slug, id8, name }) => `${slug ?? id8} (${name})`),
        remedy: manual(`take one dependency out: dotbot task edit ${row.id8} --depends-on …`),
      });
    }
    return findings;
  },
};

const HOUR_MS = 60 * 60 * 1000;

const leftovers: Check<Patient> = {
  id: "temporary-files",
  about: "no temporary file of ours is left of a kill",
  run({ call, repo, queue }) {
    const now = call.now().getTime();
    const swept =
      queue === null
        ? []
        : queue.view
            .leftovers()
            .filter(
              ({ writer, folder, name }) =>
                writer === "dead" || (writer === "unknown" && isOld(queue.view.path(folder, name), now)),
            );
    const folders = [
      join(repo.stateRoot, ".bot"),
      join(repo.stateRoot, ".bot", ".control"),
      ledgerFolder(repo.stateCommonDir),
      join(ledgerFolder(repo.stateCommonDir), "journal"),
      join(ledgerFolder(repo.stateCommonDir), "verified"),
    ];
    const others = folders
      .flatMap((folder) =>
        (listNames(folder) ?? []).filter((name) => name.startsWith(TEMP_PREFIX)).map((name) => join(folder, name)),
      )
      .filter((path) => isOld(path, now));
    const paths = [
      ...(queue === null ? [] : swept.map(({ folder, name }) => queue.view.path(folder, name))),
      ...others,
    ];
    if (paths.length === 0) return [];
    return [
      {
        severity: "warn",
        finding: `${count(paths.length, "temporary file")} of ours ${paths.length === 1 ? "is" : "are"} left of writes that were cut short`,
        evidence: some(paths),
        remedy: {
          kind: "auto",
          plan: "remove them; former content of task files that the ledger hasn't seen is kept as a conflict",
          apply: async () => {
            await queue?.repair();
            for (const path of others) removeFile(path);
            return `${count(paths.length, "file")} removed`;
          },
        },
      },
    ];
  },
};

function isOld(path: string, now: number): boolean {
  const stamp = stampOf(path);
  return stamp !== null && now - stamp.mtimeMs > HOUR_MS;
}

const strangers: Check<Patient> = {
  id: "status-folders",
  about: "the queue's folders are there",
  run({ queue, repo }) {
    if (queue === null || !queue.view.exists) return [];
    const root = join(repo.stateRoot, TASKS);
    const odd = (listNames(root) ?? []).filter((name) => name.endsWith(".json") && readText(join(root, name)) !== null);
    if (odd.length === 0) return [];
    const folders = FOLDERS.filter((folder) => folder !== ARCHIVE).join(", ");
    return [
      {
        severity: "warn",
        finding: `${count(odd.length, "file")} ${odd.length === 1 ? "lies" : "lie"} beside the status folders, where no task is looked for`,
        evidence: some(odd.map((name) => join(root, name))),
        remedy: manual(`move each into its status's folder (${folders})`),
      },
    ];
  },
};

export const QUEUE_CHECKS: readonly Check<Patient>[] = [
  ledger,
  ignored,
  view,
  broken,
  conflicts,
  statusField,
  dependencies,
  leftovers,
  strangers,
];
