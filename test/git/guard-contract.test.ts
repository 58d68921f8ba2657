/**
 * The intent contract on real repositories, cell by cell. What is allowed did what it says; what is refused changed nothing
 * anywhere, names exactly the missing keys, and its example works.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { run as git, tempDir, tryRun, write, type TempDir } from "../kit/git.ts";
import { exampleIn, failure, guard, server, stateOf, transplant, type Place, type Result } from "../kit/guard.ts";
import { withWorktree } from "../kit/repositories.ts";

type Where = "same-main" | "same-worktree" | "foreign-worktree" | "foreign-primary";
type State = "clean" | "dirty" | "merging" | "detached";
type Op = "add" | "commit" | "push" | "pull" | "branch create" | "branch delete" | "finish" | "checkout";

const FOLDERS: Readonly<Record<Where, string>> = {
  "same-main": "home",
  "same-worktree": "home-wt",
  "foreign-worktree": "far-wt",
  "foreign-primary": "far",
};

/** Made once, copied for every cell. */
let template: TempDir;
beforeAll(async () => {
  template = await tempDir();
  await withWorktree(template, "home");
  await withWorktree(template, "far");
});
afterAll(async () => await template[Symbol.asyncDispose]());

async function repositories(): Promise<TempDir> {
  const dir = await tempDir();
  transplant(template.root, dir.root);
  return dir;
}

async function put(tree: string, op: Op, state: State): Promise<void> {
  // What is behind its remote can be pulled, and can't be pushed.
  if (op === "push") await git(tree, "pull", "-q", "--ff-only");
  if (state === "dirty") write(tree, { "b.txt": "dirty\n" });
  if (state === "detached") await git(tree, "switch", "-q", "--detach");
  if (state === "merging") {
    await git(tree, "branch", "other");
    write(tree, { "a.txt": "ours\n" });
    await git(tree, "commit", "-q", "-m", "ours", "a.txt");
    const ours = await git(tree, "symbolic-ref", "--short", "HEAD");
    await git(tree, "switch", "-q", "other");
    write(tree, { "a.txt": "theirs\n" });
    await git(tree, "commit", "-q", "-m", "theirs", "a.txt");
    await git(tree, "switch", "-q", ours);
    await tryRun(tree, ["merge", "other"]);
  }
}

/** The call with all the keys that an operation could need beside `dir`. */
const FULL: Readonly<Record<Op, Result>> = {
  add: { files: ["new.txt"] },
  commit: { message: "one more", files: ["new.txt"] },
  push: { branch: "topic" },
  pull: { branch: "" },
  "branch create": { name: "fresh" },
  "branch delete": { name: "old" },
  finish: { branch: "topic" },
  checkout: { ref: "topic" },
};
/** …and with none that the contract could demand. */
const BARE: Readonly<Record<Op, Result>> = {
  ...FULL,
  add: {},
  commit: { message: "one more" },
  push: {},
  pull: {},
  finish: {},
};

/** What an allowed operation did, seen with git itself. */
async function prove(op: Op, tree: string, result: Result, before: Result): Promise<void> {
  const head = await git(tree, "rev-parse", "HEAD");
  expect(result["repoPath"]).toBe(tree);
  expect(result["headSha"]).toBe(head);
  const branch = await tryRun(tree, ["symbolic-ref", "-q", "--short", "HEAD"]);
  expect(result["branch"]).toBe(branch.status === 0 ? branch.stdout.trim() : null);
  switch (op) {
    case "add":
      expect((await git(tree, "diff", "--cached", "--name-only")).split("\n")).toContain("new.txt");
      return;
    case "commit":
      expect(await git(tree, "show", "--format=%s", "--name-only", "HEAD")).toBe("one more\n\nnew.txt");
      return;
    case "push":
      expect(result["remoteSha"]).toBe(await git(await remoteOf(tree), "rev-parse", String(result["ref"])));
      return;
    case "pull":
      expect(result["changed"]).toBe(true);
      expect(head).toBe(await git(await remoteOf(tree), "rev-parse", String(result["ref"])));
      return;
    case "branch create":
      expect(await git(tree, "rev-parse", "refs/heads/fresh")).toBe(String(result["sha"]));
      return;
    case "branch delete":
      expect((await tryRun(tree, ["rev-parse", "-q", "--verify", "refs/heads/old"])).status).toBe(1);
      expect(await git(tree, "rev-parse", String(result["keptAs"]))).toBe(String(result["deletedSha"]));
      expect(stateOf(tree)["tree"]).toEqual(before["tree"]);
      return;
    case "finish":
      expect(result["push"]).toMatchObject({ ref: "refs/heads/topic", outcome: "created" });
      expect(stateOf(tree)["tree"]).toEqual(before["tree"]);
      return;
    case "checkout":
      expect(result["branch"]).toBe("topic");
      return;
  }
}

async function remoteOf(tree: string): Promise<string> {
  return await git(tree, "remote", "get-url", "origin");
}

/** `A`, or the code and missing keys of a refusal. */
async function cell(
  op: Op,
  where: Where,
  state: State,
  input: Result,
  expected: string,
  place: (dir: TempDir) => Place,
): Promise<void> {
  await using dir = await repositories();
  const tree = dir.path(FOLDERS[where]);
  // Everywhere something that an add or a commit could take.
  for (const folder of Object.values(FOLDERS)) write(dir.path(folder), { "new.txt": "new\n" });
  await put(tree, op, state);
  const everywhere = (): Result =>
    Object.fromEntries(Object.values(FOLDERS).map((folder) => [folder, stateOf(dir.path(folder))]));
  const before = everywhere();
  const call = { dir: tree, ...input };
  if (expected === "A") {
    const untouched = stateOf(tree);
    await prove(op, tree, await guard(op, call, place(dir)), untouched);
    return;
  }
  const facts = await failure(guard(op, call, place(dir)));
  expect(everywhere()).toEqual(before);
  expect(facts.details).toMatchObject({ op: `guard ${op}`, target: { repoPath: tree, kind: where } });
  const missing = facts.details?.["missing"];
  expect(`${facts.code}(${Array.isArray(missing) ? missing.join(", ") : ""})`).toBe(expected);
  const example = exampleIn(facts);
  if (example.tool === "wt_create") return;
  const again = await guard(example.tool, example.arguments, place(dir));
  expect(again["repoPath"]).toBe(String(example.arguments["dir"]));
}

type Row = readonly [same: string, foreignWorktree: string, foreignPrimary: string];
const OUTRIGHT = "REFUSED()";

const CLEAN: Readonly<Record<Op, Row>> = {
  add: ["A", "A", "A"],
  commit: ["A", "A", OUTRIGHT],
  push: ["A", "A", "A"],
  pull: ["A", "A", OUTRIGHT],
  "branch create": ["A", "A", OUTRIGHT],
  "branch delete": ["A", "A", "A"],
  finish: ["A", "A", "A"],
  checkout: ["A", "A", OUTRIGHT],
};
const OMITTED: Partial<Record<Op, Row>> = {
  add: ["REFUSED(files)", "REFUSED(files)", "REFUSED(files)"],
  push: ["A", "REFUSED(branch)", "REFUSED(branch)"],
  commit: ["-", "REFUSED(files)", OUTRIGHT],
  finish: ["-", "REFUSED(branch)", "REFUSED(branch)"],
};
const DIRTY: Partial<Record<Op, Row>> = {
  add: ["A", "A", "A"],
  commit: ["A", "A", OUTRIGHT],
  push: ["A", "A", "A"],
  pull: ["A", "DIRTY()", OUTRIGHT],
  "branch create": ["A", "DIRTY()", OUTRIGHT],
  "branch delete": ["A", "A", "A"],
  finish: ["A", "A", "A"],
  checkout: ["DIRTY()", "DIRTY()", OUTRIGHT],
};
const MERGING: Partial<Record<Op, Row>> = {
  add: ["A", "A", "A"],
  commit: ["-", OUTRIGHT, OUTRIGHT],
  push: ["A", "A", "A"],
  pull: [OUTRIGHT, OUTRIGHT, OUTRIGHT],
  "branch create": ["A", OUTRIGHT, OUTRIGHT],
  "branch delete": ["A", "A", "A"],
  finish: [OUTRIGHT, OUTRIGHT, OUTRIGHT],
  checkout: [OUTRIGHT, OUTRIGHT, OUTRIGHT],
};
const DETACHED: Partial<Record<Op, Row>> = {
  add: ["A", "A", "A"],
  commit: ["A", OUTRIGHT, OUTRIGHT],
  "branch create": ["A", "A", OUTRIGHT],
  "branch delete": ["A", "A", "A"],
  checkout: ["A", "A", OUTRIGHT],
};
const DETACHED_OMITTED: Partial<Record<Op, Row>> = {
  push: ["REFUSED(branch)", "REFUSED(branch)", "REFUSED(branch)"],
  pull: ["REFUSED(branch)", "REFUSED(branch)", OUTRIGHT],
  finish: ["REFUSED(branch)", "REFUSED(branch)", "REFUSED(branch)"],
};

const TABLES: readonly (readonly [string, State, Readonly<Record<Op, Result>>, Partial<Record<Op, Row>>])[] = [
  ["clean", "clean", FULL, CLEAN],
  ["keys omitted", "clean", BARE, OMITTED],
  ["dirty", "dirty", FULL, DIRTY],
  ["in the middle of a merge", "merging", FULL, MERGING],
  ["detached", "detached", FULL, DETACHED],
  ["detached, keys omitted", "detached", BARE, DETACHED_OMITTED],
];

const SURFACES: Readonly<Record<string, (dir: TempDir) => Place>> = {
  "a command line": (dir) => ({ cwd: dir.path("home") }),
  "a server": (dir) => server(dir.path("home")),
};

/** A server differs in what a call leaves out; what a checkout's state allows is the same for both. */
const BY_SERVER = ["clean", "keys omitted", "detached, keys omitted"];

for (const [surface, place] of Object.entries(SURFACES)) {
  for (const [title, state, input, table] of TABLES) {
    if (surface === "a server" && !BY_SERVER.includes(title)) continue;
    describe(`${surface}, ${title}`, () => {
      for (const [op, [same, worktree, primary]] of Object.entries(table) as [Op, Row][]) {
        const cells: readonly (readonly [Where, string])[] = [
          ["same-main", same],
          ["same-worktree", same],
          ["foreign-worktree", worktree],
          ["foreign-primary", primary],
        ];
        for (const [where, expected] of cells) {
          if (expected === "-") continue;
          test(
            `${op}, ${where}: ${expected}`,
            async () => await cell(op, where, state, input[op], expected, place),
            30_000,
          );
        }
      }
    });
  }
}
