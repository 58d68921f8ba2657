/**
 * Every layout in which a repository's state root was ever found in the wrong place, on real git, resolved from files and by
 * asking git. Paths are relative to a temp dir.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync } from "node:fs";
import { relative } from "node:path";

import { DotbotError } from "../../lib/error.ts";
import { resolveRepo, type Repo } from "../../lib/git/repo.ts";
import { gitEnv, makeRepo, rejection, run, tempDir, write, type TempDir } from "../kit/git.ts";
import * as layout from "./layouts.ts";

interface Answer {
  readonly stateRoot: string;
  /** Null: no checkout there. */
  readonly workRoot: string | null;
  readonly kind: Repo["kind"];
  /** The main checkout, where it isn't the state root. */
  readonly mainRoot?: string;
  /** What the refusal of tree operations says; absent: they may run. */
  readonly fault?: RegExp;
  /** Has to be found without a spawn. */
  readonly spawns?: 0;
}

interface Refusal {
  readonly refuses: string;
  readonly says: RegExp;
  /** What the hint or the example says. */
  readonly remedy?: RegExp;
}

type Row = readonly [what: string, build: layout.Layout, start: string, gives: Answer | Refusal];

const MAIN: Answer = { stateRoot: "main", workRoot: "main", kind: "primary" };
const WT: Answer = { stateRoot: "main", workRoot: "wt", kind: "linked" };
const NATIVE = { spawns: 0 } as const;
const IN_GIT_DIR = { workRoot: null, fault: /is inside a git dir/ } as const;
const BARE = { workRoot: null, fault: /is bare$/ } as const;

function root(name: string, kind: Repo["kind"] = "primary", workRoot = name): Answer {
  return { stateRoot: name, workRoot, kind };
}

function unknown(says: RegExp, remedy?: RegExp): Refusal {
  return { refuses: "STATE_ROOT_UNKNOWN", says, ...(remedy === undefined ? {} : { remedy }) };
}

const PLAIN: readonly Row[] = [
  ["main checkout", layout.main, "main", { ...MAIN, ...NATIVE }],
  ["its subfolder", layout.main, "main/sub", { ...MAIN, ...NATIVE }],
  ["linked worktree", layout.worktree, "wt", { ...WT, ...NATIVE }],
  ["its subfolder", layout.worktree, "wt/sub", { ...WT, ...NATIVE }],
  ["linked worktree inside main", layout.nestedWorktree, "main/wt", { ...WT, workRoot: "main/wt", ...NATIVE }],
  ["unborn HEAD", layout.unborn, "main", { ...MAIN, ...NATIVE }],
  ["sha256", layout.sha256, "main", { ...MAIN, ...NATIVE }],
  ["clone inside another repository", layout.clone, "main/clone", root("main/clone")],
  ["symlink to the checkout", layout.linked, "link", { ...MAIN, ...NATIVE }],
  ["symlink to its subfolder", layout.linked, "sublink", { ...MAIN, ...NATIVE }],
  ["symlink to a worktree", layout.linked, "wtlink", { ...WT, ...NATIVE }],
  [
    "no repository",
    layout.nothing,
    "plain",
    { refuses: "NOT_A_REPOSITORY", says: /no git repository at ".*plain"/, remedy: /git init/ },
  ],
  ["no folder", layout.nothing, "gone", { refuses: "NOT_FOUND", says: /the folder ".*gone" doesn't exist/ }],
  ["file", layout.main, "main/README.md", { refuses: "INVALID_INPUT", says: /is a file/, remedy: /--dir .*main$/ }],
];

const INSIDE_GIT_DIRS: readonly Row[] = [
  ["the git dir", layout.main, "main/.git", { ...MAIN, ...IN_GIT_DIR }],
  ["below it", layout.main, "main/.git/refs", { ...MAIN, ...IN_GIT_DIR }],
  ["a linked worktree's", layout.worktree, "main/.git/worktrees/wt", { ...WT, ...IN_GIT_DIR }],
  ["a submodule's", layout.superproject, "sup/.git/modules/mods/lib", { ...root("sup/mods/lib"), ...IN_GIT_DIR }],
];

const BARES: readonly Row[] = [
  ["bare repository", layout.bare, "x.git", unknown(/nothing tells/, /dotbot\.root/)],
  ["its worktree", layout.bare, "xwt", unknown(/nothing tells/, /dotbot\.root/)],
  ["bare repository, root recorded", layout.bareRecorded, "x.git", { ...root("x", "bare"), ...IN_GIT_DIR }],
  ["its recorded root", layout.bareRecorded, "x", { ...root("x", "bare"), ...BARE }],
  ["its worktree", layout.bareRecorded, "xwt", root("x", "linked", "xwt")],
  ["recorded root that isn't one", layout.bareMisrecorded, "xwt", unknown(/the recorded root ".*elsewhere" isn't/)],
  ["tracked folder in the shape of one", layout.bareShaped, "main/evil", unknown(/evil/)],
  [".bare beside a .git file", layout.dotBare, "proj", { ...root("proj", "bare"), ...BARE }],
  ["inside .bare", layout.dotBare, "proj/.bare", { ...root("proj", "bare"), ...IN_GIT_DIR }],
  ["its worktree", layout.dotBare, "proj/feat", root("proj", "linked", "proj/feat")],
  ["bare at .git", layout.bareAtDotGit, "proj", { ...root("proj", "bare"), ...BARE }],
  ["its worktree", layout.bareAtDotGit, "proj/feat", root("proj", "linked", "proj/feat")],
  ["core.bare flipped by accident", layout.bareFlipped, "main/sub", { ...MAIN, kind: "bare", ...BARE }],
  ["its worktree", layout.bareFlipped, "wt", WT],
  ["core.bare shared by worktreeConfig", layout.worktreeConfigBare, "wt", { ...WT, ...BARE }],
  ["worktreeConfig, sound", layout.worktreeConfig, "wt", WT],
];

const LIB: Answer = { ...root("sup"), mainRoot: "sup/mods/lib", workRoot: "sup/mods/lib" };

const SUBMODULES: readonly Row[] = [
  ["submodule", layout.superproject, "sup/mods/lib", root("sup/mods/lib")],
  ["its worktree", layout.superproject, "libwt", root("sup/mods/lib", "linked", "libwt")],
  ["worktree of the superproject", layout.superproject, "supwt", { ...root("sup", "linked", "supwt"), ...NATIVE }],
  [
    "submodule in that",
    layout.superproject,
    "supwt/mods/lib",
    unknown(/belongs to the linked worktree ".*supwt"/, /dotbot init --dir .*sup$/),
  ],
  ["submodule below a queue", layout.superprojectWithQueue, "sup/mods/lib", LIB],
  ["its worktree", layout.superprojectWithQueue, "libwt", { ...LIB, workRoot: "libwt", kind: "linked" }],
  [
    "submodule in a worktree of the superproject, below a queue",
    layout.superprojectWithQueue,
    "supwt/mods/lib",
    { ...root("sup"), mainRoot: "supwt/mods/lib", workRoot: "supwt/mods/lib" },
  ],
  [
    "submodule with its own .git folder, below a queue",
    layout.submoduleOfOldForm,
    "sup/lib",
    { ...root("sup"), mainRoot: "sup/lib", workRoot: "sup/lib" },
  ],
];

const ELSEWHERE: readonly Row[] = [
  ["separate git dir", layout.separate, "tree", root("tree")],
  ["its worktree", layout.separate, "wt", unknown(/nothing tells where its main checkout is/, /dotbot\.root/)],
  ["its worktree, root recorded", layout.separateRecorded, "wt", root("tree", "linked", "wt")],
  [".git symlink in the same folder", layout.nosync, "main", MAIN],
  ["its worktree", layout.nosync, "wt", WT],
  [".git symlink to elsewhere", layout.gitElsewhere, "main", MAIN],
  ["its worktree", layout.gitElsewhere, "wt", unknown(/nothing tells/)],
  ["its worktree, root recorded", layout.gitElsewhereRecorded, "wt", WT],
  ["copy, with the original recorded", layout.copiedWithRoot, "copy", root("copy")],
  ["core.worktree", layout.coreWorktree, "main/sub", { ...MAIN, workRoot: "other" }],
  ["worktree beside core.worktree", layout.coreWorktree, "wt", WT],
  [
    ".git file naming another's git dir",
    layout.twin,
    "twin",
    { ...MAIN, workRoot: "twin", fault: /one index and one/ },
  ],
];

const MOVED = /was moved: it is registered as ".*wt"/;
const COPY = /is a copy: its git dir belongs to the worktree ".*wt"/;
const LOST = /".*main\/wt" is a registered worktree that lost its \.git file/;
const UNREACHABLE = /points to a git dir that can't be reached: ".*main\/\.git\/worktrees\/wt"/;

/** A broken link is refused, or a fault. It is never walked past. */
const BROKEN: readonly Row[] = [
  ["main moved", layout.moved, "wt", unknown(UNREACHABLE, /git worktree repair .*wt$/)],
  ["main moved, and git used there since", layout.movedAndListed, "wt", unknown(UNREACHABLE)],
  ["main moved, seen from there", layout.moved, "new", { ...root("new"), ...NATIVE }],
  ["main moved, worktree repaired", layout.movedAndRepaired, "wt", { ...root("new", "linked", "wt"), ...NATIVE }],
  ["worktree moved by hand", layout.worktreeMoved, "wt2/sub", { ...WT, workRoot: "wt2", fault: MOVED, ...NATIVE }],
  ["worktree copied", layout.worktreeCopied, "wt2", { ...WT, workRoot: "wt2", fault: COPY, ...NATIVE }],
  ["its original", layout.worktreeCopied, "wt", { ...WT, ...NATIVE }],
  ["forged .git file", layout.worktreeForged, "forged", { ...WT, workRoot: "forged", fault: COPY, ...NATIVE }],
  ["main deleted", layout.mainDeleted, "wt/sub", unknown(UNREACHABLE)],
  ["unregistered worktree inside main", layout.unregistered, "main/wt", unknown(UNREACHABLE)],
  ["worktree inside main without .git", layout.unlinked, "main/wt/sub", { ...MAIN, fault: LOST, ...NATIVE }],
  ["main around it", layout.unlinked, "main/sub", { ...MAIN, ...NATIVE }],
  ["worktree of another machine", layout.otherMachine, "wt", unknown(UNREACHABLE, /container/)],
  ["empty .git folder", layout.emptyGit, "dir", unknown(/isn't a usable git dir/)],
  ["empty .git folder inside main", layout.emptyGitInside, "main/sub", unknown(/isn't a git dir, and git answers for/)],
  [".git that is nothing", layout.nonsense, "main/sub", { refuses: "GIT_FAILED", says: /invalid gitfile format/ }],
  [
    "a format of the future",
    layout.fromTheFuture,
    "main",
    { refuses: "GIT_TOO_OLD", says: /unknown repository extension/, remedy: /update git/ },
  ],
];

/** Names that break careless reading. */
const NAMES: readonly Row[] = [
  ..."* # ; $HOME 'x' -dash --version".split(" "),
  ...'a b|tab\there|quo"te|back\\slash|ünï|e\u0301|trailing | leading'.split("|"),
  ..."new\nline|trailing\n|cr\r|gitdir: x|\u202Ereversed".split("|"),
].map((name): Row => [JSON.stringify(name), layout.named(name), `${name}!wt`, root(name, "linked", `${name}!wt`)]);

const GROUPS = { PLAIN, INSIDE_GIT_DIRS, BARES, SUBMODULES, ELSEWHERE, BROKEN, NAMES };

/** Resolves in a fresh layout both ways, and compares. */
async function check([, build, start, gives]: Row, env: (dir: TempDir) => Record<string, string> = () => ({})) {
  await using dir = await tempDir();
  await build(dir);
  for (const native of [true, false]) {
    const trace = dir.path(`trace-${native}`);
    const ctx = contextAt(dir.path(start), gitEnv({ ...env(dir), DOTBOT_TRACE_GIT: trace }));
    const resolving = resolveRepo(ctx, dir.path(start), { native });
    if ("refuses" in gives) {
      const error = await rejection(resolving);
      expect(error).toMatchObject({ code: gives.refuses, message: expect.stringMatching(gives.says) });
      if (gives.remedy !== undefined) expect(remedyOf(error)).toMatch(gives.remedy);
      continue;
    }
    const repo = await resolving;
    const { fault, spawns, ...places } = gives;
    expect(placesOf(repo, dir.root)).toEqual(places);
    if (fault === undefined) expect(repo.fault).toBeNull();
    else expect(repo.fault).toMatchObject({ code: "REFUSED", message: expect.stringMatching(fault) });
    expect(repo.workRoot !== null || repo.fault !== null).toBe(true);
    if (spawns === 0) expect(repo.resolvedBy).toBe(native ? "native" : "git");
    expect(existsSync(trace)).toBe(repo.resolvedBy === "git");
  }
}

function placesOf(repo: Repo, root: string): Answer {
  return {
    stateRoot: relative(root, repo.stateRoot),
    workRoot: repo.workRoot === null ? null : relative(root, repo.workRoot),
    kind: repo.kind,
    ...(repo.mainRoot === repo.stateRoot ? {} : { mainRoot: relative(root, repo.mainRoot) }),
  };
}

for (const [group, rows] of Object.entries(GROUPS)) {
  describe(group.toLowerCase().replaceAll("_", " "), () => {
    test.each(rows.map((row) => [row[0], row] as const))("%s", async (_, row) => await check(row));
  });
}

describe("a variable that a hook, an alias or a shell left behind doesn't count", () => {
  test.each<[name: string, env: (dir: TempDir) => Record<string, string>]>([
    ["GIT_DIR", (d) => ({ GIT_DIR: d.path("a/.git") })],
    ["GIT_DIR, relative", () => ({ GIT_DIR: ".git" })],
    ["GIT_WORK_TREE", (d) => ({ GIT_WORK_TREE: d.path("a") })],
    ["GIT_COMMON_DIR", (d) => ({ GIT_COMMON_DIR: d.path("a/.git") })],
    ["GIT_INDEX_FILE", (d) => ({ GIT_INDEX_FILE: d.path("a/.git/index") })],
    ["GIT_CEILING_DIRECTORIES", (d) => ({ GIT_CEILING_DIRECTORIES: d.path("main") })],
    [
      "GIT_CONFIG_COUNT",
      (d) => ({ GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "core.worktree", GIT_CONFIG_VALUE_0: d.root }),
    ],
    ["GIT_CONFIG_PARAMETERS", (d) => ({ GIT_CONFIG_PARAMETERS: `'core.worktree=${d.path("a")}'` })],
  ])("%s", async (name, env) => await check([name, layout.two, "main/sub", { ...MAIN, ...NATIVE }], env));
});

describe("who owns it", () => {
  const somebody = 12345;
  // Only root can give files away.
  describe.skipIf(process.geteuid?.() !== 0)("and it is somebody else", () => {
    test.each([
      ["the main checkout", "main", "main"],
      ["the git dir", "main/.git", "main"],
      ["the .git file of a worktree", "wt/.git", "wt"],
      ["the main checkout of a worktree", "main", "wt"],
    ])("%s", async (_, owned, start) => {
      await using dir = await tempDir();
      await layout.worktree(dir);
      chownSync(dir.path(owned), somebody, somebody);
      for (const native of [true, false]) {
        const error = await rejection(resolveRepo(contextAt(dir.path(start)), undefined, { native }));
        expect(error).toMatchObject({
          code: "REFUSED",
          message: expect.stringMatching(/dubious ownership[^]*safe\.directory/),
        });
      }
    });

    test("but safe.directory lists the tree: from the tree, and from inside its git dir", async () => {
      await using dir = await tempDir();
      await layout.main(dir);
      chownSync(dir.path("main"), somebody, somebody);
      write(dir.root, { gitconfig: `[safe]\n\tdirectory = ${dir.path("main")}\n` });
      const env = gitEnv({ GIT_CONFIG_GLOBAL: dir.path("gitconfig") });
      for (const start of ["main", "main/sub", "main/.git"]) {
        const repo = await resolveRepo(contextAt(dir.path(start), env));
        expect(repo).toMatchObject({ stateRoot: dir.path("main"), resolvedBy: "git" });
      }
    });
  });
});

describe("the start", () => {
  let dir: TempDir;
  beforeAll(async () => {
    dir = await tempDir();
    await layout.worktree(dir);
  });
  afterAll(async () => await dir[Symbol.asyncDispose]());

  test("is the cwd when omitted, and relative to it when given", async () => {
    expect((await resolveRepo(contextAt(dir.path("main/sub")))).start).toBe(dir.path("main/sub"));
    expect((await resolveRepo(contextAt(dir.path("main/sub")), "../../wt")).workRoot).toBe(dir.path("wt"));
  });

  test("is refused when empty: git would take it for its own cwd", async () => {
    expect(await rejection(resolveRepo(contextAt(dir.path("main")), ""))).toMatchObject({ code: "INVALID_INPUT" });
  });

  test("is refused when the cwd was deleted", async () => {
    const error = await rejection(resolveRepo(contextAt(dir.path("deleted"))));
    expect(error).toMatchObject({ code: "NOT_FOUND", message: expect.stringMatching(/^the current folder /) });
  });

  test.skipIf(process.platform !== "linux")("is refused when its name isn't UTF-8", async () => {
    // Only a shell can make such a name here.
    await Bun.$`cd ${dir.root} && mkdir "$(printf 'b\377')" && git -C "$(printf 'b\377')" init -q && ln -s "$(printf 'b\377')" alias`.env(
      gitEnv(),
    );
    const error = await rejection(resolveRepo(contextAt(dir.path("alias"))));
    expect(error).toMatchObject({ code: "NOT_FOUND", message: expect.stringMatching(/isn't valid UTF-8/) });
  });

  test("may be a hook of a linked worktree that acts on another repository", async () => {
    await makeRepo(dir.path("other"));
    write(dir.path("main/.git/hooks"), { "pre-commit": `#!/bin/sh\nenv -0 >${dir.path("hook-env")}\n` });
    chmodSync(dir.path("main/.git/hooks/pre-commit"), 0o755);
    write(dir.path("wt"), { "new.txt": "1\n" });
    await run(dir.path("wt"), "add", "-A");
    await run(dir.path("wt"), "commit", "-q", "-m", "runs the hook");
    const leaked = Object.fromEntries(
      (await Bun.file(dir.path("hook-env")).text()).split("\0").flatMap((line) => {
        const at = line.indexOf("=");
        return at === -1 ? [] : [[line.slice(0, at), line.slice(at + 1)]];
      }),
    );
    expect(leaked).toMatchObject({ GIT_DIR: dir.path("main/.git/worktrees/wt"), GIT_INDEX_FILE: expect.any(String) });
    for (const native of [true, false]) {
      const repo = await resolveRepo(contextAt(dir.path("other"), leaked), undefined, { native });
      expect(repo).toMatchObject({ stateRoot: dir.path("other"), workRoot: dir.path("other"), kind: "primary" });
    }
  });
});

test("a superproject is named, and its common dir goes with the state root", async () => {
  await using dir = await tempDir();
  await layout.superprojectWithQueue(dir);
  for (const start of ["sup/mods/lib", "libwt"]) {
    expect(await resolveRepo(contextAt(dir.path(start)))).toMatchObject({
      superproject: dir.path("sup"),
      commonDir: dir.path("sup/.git/modules/mods/lib"),
      stateCommonDir: dir.path("sup/.git"),
    });
  }
});

function contextAt(cwd: string, env: Record<string, string> = gitEnv()) {
  return { cwd, env, signal: new AbortController().signal };
}

function remedyOf(error: unknown): string {
  return error instanceof DotbotError ? `${error.hint ?? ""}\n${error.example ?? ""}` : "";
}
