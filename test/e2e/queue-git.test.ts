/**
 * What people do with git and with files all day, with tasks in motion: nothing that dotbot acknowledged is lost, whether the
 * task files are tracked or ignored, and whether it is done in the main checkout or in a linked worktree.
 */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { gitEnv, run } from "../kit/git.ts";
import { fileTree, plainSeeds, taskFileName, taskId, taskId8, tasksFolder } from "../kit/tasks.ts";
import { at, commitFiles, makeWorld, type World } from "../kit/world.ts";

const TASKS = ".bot/workspace/tasks";

interface Deed {
  readonly what: string;
  /** A line of shell, run in the checkout; git may well refuse it. `$FILE` is a task's file name, `$MAIN` the main checkout. */
  readonly line: string;
  /** What the deed itself, a person's own edit, makes of task 5; or may make of it, where git decides. */
  readonly changes?: Readonly<Record<string, unknown>>;
}

const DEEDS: readonly Deed[] = [
  { what: "clean -fd", line: "git clean -fdq" },
  { what: "clean -fdx", line: "git clean -fdxq" },
  { what: "stash", line: "git stash -q" },
  { what: "stash -u", line: "git stash -q -u" },
  { what: "stash --all", line: "git stash -q --all" },
  { what: "stash and pop", line: "git stash -q -u && git stash pop -q" },
  { what: "reset --hard", line: "git reset -q --hard" },
  { what: "reset --hard HEAD~", line: "git reset -q --hard HEAD~" },
  { what: "checkout of a branch", line: "git checkout -q -f other", changes: { description: "A teammate's words." } },
  { what: "there and back", line: "git checkout -q -f other; git checkout -q -f -" },
  { what: "checkout -- of the queue", line: `git checkout -q -- ${TASKS}` },
  {
    what: "checkout of the queue from a branch",
    line: `git checkout -q other -- ${TASKS}`,
    changes: { description: "A teammate's words." },
  },
  {
    what: "switch --discard-changes",
    line: "git switch -q --discard-changes other",
    changes: { description: "A teammate's words." },
  },
  { what: "restore .", line: "git restore ." },
  {
    what: "rm -r --cached, commit, switch",
    line: `git rm -r -q --cached ${TASKS}; git commit -q -m untrack; git checkout -q -f other`,
    changes: { description: "A teammate's words." },
  },
  { what: "rm -rf of the queue", line: `rm -rf ${TASKS}` },
  { what: "rm -rf of .bot", line: "rm -rf .bot" },
  {
    what: "mv of a file by hand",
    line: `mkdir -p ${TASKS}/done && mv ${TASKS}/todo/$FILE ${TASKS}/done/$FILE`,
    changes: { status: "done" },
  },
  { what: "cp -r of a status folder", line: `cp -r ${TASKS}/todo/. ${TASKS}/analysed/` },
  { what: "touch of every file", line: `find ${TASKS} -name '*.json' -exec touch {} +` },
  {
    what: "pull",
    line: "git stash -q -u; git pull -q --no-rebase origin main; git stash pop -q",
    changes: { description: "From the remote." },
  },
  { what: "merge", line: "git merge -q other -m merged", changes: { description: "A teammate's words." } },
  {
    what: "merge -X theirs after a commit of everything",
    line: "git add -A; git commit -q -m all; git merge -q -X theirs other -m merged",
    changes: { description: "A teammate's words." },
  },
  {
    what: "rebase",
    line: "git stash -q -u; git rebase -q other || git rebase --abort; git stash pop -q",
    changes: { description: "A teammate's words." },
  },
  {
    what: "cherry-pick",
    line: "git stash -q; git cherry-pick other || git cherry-pick --abort",
    changes: { description: "A teammate's words." },
  },
  { what: "revert", line: "git stash -q; git revert --no-edit HEAD" },
  {
    what: "worktree remove, branch -D",
    line: 'cd "$MAIN" && git worktree remove --force ../wt; git branch -q -D work',
  },
  {
    what: "gc --prune=now",
    line: "git stash -q -u; git stash drop -q; git reflog expire --expire=now --all; git gc -q --prune=now",
  },
  { what: "commit --amend of everything", line: "git add -A; git commit -q --amend -m amended" },
  { what: "sparse-checkout", line: "git sparse-checkout set src" },
  { what: "checkout --orphan", line: "git checkout -q --orphan fresh && git rm -rfq ." },
  { what: "read-tree -u", line: "git read-tree --reset -u HEAD~" },
];

/** Where task 5's file lies before the deed. */
const FILE = taskFileName(5);

/**
 * A repository with a branch `other` and a remote, both with another version of task 5 (and of task 1, which has moved on since), a
 * worktree, and six tasks in all sorts of states: moved, done, edited, added, edited by hand.
 */
async function stage(world: World): Promise<Map<string, unknown>> {
  const { main, tracked } = world;
  const other = world.path("elsewhere");
  const theirs = (n: number, words: string): Record<string, string> => {
    const path = `${TASKS}/todo/${taskFileName(n)}`;
    return tracked
      ? { [path]: readFileSync(join(main, path), "utf8").replace(/What task \d is about\.\\nSecond line\./, words) }
      : {};
  };
  const versions = (words: string): Record<string, string> => ({
    ...theirs(5, words),
    ...theirs(1, `${words} Of task 1.`),
    "src/code.txt": `${words}\n`,
  });
  await commitFiles(main, { "src/second.txt": "2\n" }, "second");
  await run(world.root, "clone", "-q", "--bare", main, "origin.git");
  await world.git("remote", "add", "origin", world.path("origin.git"));
  await world.git("worktree", "add", "-q", "-b", "other", other);
  await commitFiles(other, versions("A teammate's words."), "other");
  await world.git("worktree", "remove", other);
  await run(world.root, "clone", "-q", "origin.git", "clone");
  await commitFiles(world.path("clone"), versions("From the remote."), "remote");
  await run(world.path("clone"), "push", "-q");
  await commitFiles(main, { "src/third.txt": "3\n" }, "third");
  await world.git("worktree", "add", "-q", "-b", "work", world.path("wt"));

  await world.ok(["task", "list"]);
  await world.ok(["task", "start", taskId8(1)]);
  await world.ok(["task", "start", taskId8(2)]);
  await world.ok(["task", "done", taskId8(2)]);
  await world.ok(["task", "edit", taskId8(3), "--description", "Edited by command."]);
  await world.ok(["task", "add", "Added later"]);
  const byHand = join(tasksFolder(main), "todo", taskFileName(4));
  writeFileSync(byHand, readFileSync(byHand, "utf8").replace("What task 4 is about.", "Edited by hand."));
  return await documents(world);
}

async function documents(world: World): Promise<Map<string, unknown>> {
  const { tasks } = await world.ok(["task", "list"]);
  return new Map((Array.isArray(tasks) ? tasks : []).map((doc: unknown) => [String(at(doc, "id")), doc]));
}

/** What is wrong with the queue after a deed, in words; empty when nothing is. */
async function losses(
  world: World,
  deed: Deed,
  linked: boolean,
  before: ReadonlyMap<string, unknown>,
): Promise<string[]> {
  const lost: string[] = [];
  // Somebody's own things, there before dotbot looks again: they stay.
  const strange = {
    [`${TASKS}/todo/notes.txt`]: "mine",
    [`${TASKS}/todo/broken-abcd.json`]: "{",
    [`${TASKS}/samples/x.json`]: "{}",
  };
  for (const [path, text] of Object.entries(strange)) {
    mkdirSync(dirname(join(world.main, path)), { recursive: true });
    writeFileSync(join(world.main, path), text);
  }
  const same = (a: unknown, b: unknown): boolean => Bun.deepEquals(a, b);
  const fits = (id: string, doc: unknown): boolean => {
    if (same(doc, before.get(id))) return true;
    if (linked || deed.changes === undefined) return false;
    // Git may have put a teammate's words into what we had committed: an edit of the present version like anybody's.
    if (id === taskId(1) && world.tracked) {
      return (
        same({ ...(doc as object), description: "" }, { ...(before.get(id) as object), description: "" }) &&
        /Of task 1/.test(String(at(doc, "description")))
      );
    }
    if (id !== taskId(5)) return false;
    return Object.entries(deed.changes).every(([field, value]) => at(doc, field) === value);
  };
  const check = (when: string, docs: ReadonlyMap<string, unknown>): void => {
    for (const [id, doc] of before) {
      const now = docs.get(id);
      if (now === undefined) lost.push(`${when}: ${String(at(doc, "name"))} is missing`);
      else if (!fits(id, now))
        lost.push(`${when}: ${String(at(doc, "name"))} was ${JSON.stringify(doc)}, is ${JSON.stringify(now)}`);
    }
    for (const id of docs.keys()) if (!before.has(id)) lost.push(`${when}: ${id} came from nowhere`);
  };
  check("at once", await documents(world));
  // The next write puts the files right.
  await world.ok(["task", "edit", taskId8(6), "--priority", "9"]);
  await world.ok(["task", "edit", taskId8(6), "--priority", "50"]);
  const healed = await documents(world);
  healed.set(taskId(6), before.get(taskId(6)));
  check("after the next write", healed);
  const { broken } = await world.ok(["task", "list"]);
  const unreadable = (Array.isArray(broken) ? broken : []).map((file: unknown) => String(at(file, "path")));
  const files = fileTree(world.tasks);
  for (const [id, doc] of healed) {
    if (id === taskId(6)) continue;
    const name = `-${id.slice(0, 8)}.json`;
    const shown = [...files].filter(([path]) => path.endsWith(name));
    if (unreadable.some((path) => path.endsWith(name))) continue;
    const [only] = shown;
    if (only === undefined || shown.length > 1)
      lost.push(`${String(at(doc, "name"))} is shown ${shown.length} times: ${shown.map(([path]) => path).join(", ")}`);
    else if (!same(JSON.parse(Buffer.from(only[1], "latin1").toString("utf8")), doc))
      lost.push(`the file of ${String(at(doc, "name"))} isn't as the ledger says`);
  }
  for (const [path, text] of Object.entries(strange)) {
    if (!existsSync(join(world.main, path)) || readFileSync(join(world.main, path), "utf8") !== text)
      lost.push(`${path} was touched`);
  }
  return lost;
}

describe.each([
  ["untracked queue, main checkout", false, false],
  ["untracked queue, linked worktree", false, true],
  ["tracked queue, main checkout", true, false],
  ["tracked queue, linked worktree", true, true],
] as const)("%s", (title, tracked, linked) => {
  test("git and file commands take nothing back", async () => {
    await using world = await makeWorld({ seeds: plainSeeds(6), tracked });
    const before = await stage(world);
    const saved = `${world.root}.saved`;
    cpSync(world.root, saved, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    try {
      const lost: string[] = [];
      for (const deed of DEEDS) {
        rmSync(world.root, { recursive: true });
        cpSync(saved, world.root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
        const ran = Bun.spawnSync(["sh", "-c", deed.line], {
          cwd: linked ? world.path("wt") : world.main,
          env: gitEnv({ FILE, MAIN: world.main, GIT_EDITOR: "true" }),
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe",
        });
        const found = await losses(world, deed, linked, before).catch((error: unknown) => [String(error)]);
        if (found.length > 0) lost.push(`${deed.what} (status ${ran.exitCode}):\n  ${found.join("\n  ")}`);
      }
      expect(lost).toEqual([]);
      console.log(`» ${title}: lost after ${lost.length} of ${DEEDS.length} commands`);
    } finally {
      rmSync(saved, { recursive: true, force: true });
    }
  });
});
