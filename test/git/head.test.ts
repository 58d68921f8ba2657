import { describe, expect, test } from "bun:test";

import { readHead, resolveRepo, type Head } from "../../lib/git/repo.ts";
import { gitEnv, makeRepo, run, tempDir, type TempDir } from "../kit/git.ts";

/** What is done in the repository `main`, which has one commit; where HEAD is then read; and what it is. */
type Row = readonly [
  what: string,
  act: readonly (readonly string[])[],
  gives: "sha" | null,
  branch: string | null,
  git?: "git",
];

const ROWS: readonly Row[] = [
  ["a branch", [], "sha", "main"],
  ["a packed branch", [["pack-refs", "--all", "--prune"]], "sha", "main"],
  [
    "a packed branch that moved since",
    [
      ["pack-refs", "--all"],
      ["commit", "--allow-empty", "-qm", "2"],
    ],
    "sha",
    "main",
  ],
  ["a branch in folders", [["switch", "-qc", "feat/a/b"]], "sha", "feat/a/b"],
  [
    "a branch beside a longer one",
    [
      ["branch", "x/main"],
      ["pack-refs", "--all"],
    ],
    "sha",
    "main",
  ],
  [
    "a tag of the branch's name",
    [
      ["tag", "main"],
      ["tag", "heads/main"],
    ],
    "sha",
    "main",
  ],
  ["a branch named HEAD", [["update-ref", "refs/heads/HEAD", "HEAD"]], "sha", "main"],
  ["detached", [["switch", "-q", "--detach"]], "sha", null],
  ["unborn", [["switch", "-q", "--orphan", "new"]], null, "new"],
  [
    "a symbolic branch",
    [
      ["symbolic-ref", "refs/heads/alias", "refs/heads/main"],
      ["symbolic-ref", "HEAD", "refs/heads/alias"],
    ],
    "sha",
    "main",
    "git",
  ],
];

describe("HEAD", () => {
  test.each(ROWS.map((row) => [row[0], row] as const))("%s", async (_, [, act, gives, branch, via]) => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"));
    for (const args of act) await run(main, ...args);
    const expected = { branch, sha: gives === null ? null : await run(main, "rev-parse", "refs/heads/main") };
    expect(await headAt(dir, "main", true)).toEqual({ ...expected, spawned: via === "git" });
    expect(await headAt(dir, "main", false)).toEqual({ ...expected, spawned: true });
  });

  test("of a linked worktree is its own", async () => {
    await using dir = await tempDir();
    await run(await makeRepo(dir.path("main")), "worktree", "add", "-q", "-b", "feat", dir.path("wt"));
    await run(dir.path("wt"), "commit", "--allow-empty", "-qm", "2");
    const sha = await run(dir.path("wt"), "rev-parse", "HEAD");
    expect(sha).not.toBe(await run(dir.path("main"), "rev-parse", "HEAD"));
    for (const native of [true, false]) expect(await headAt(dir, "wt", native)).toMatchObject({ branch: "feat", sha });
  });

  test("of a sha256 repository", async () => {
    await using dir = await tempDir();
    const main = await makeRepo(dir.path("main"), { init: ["--object-format=sha256"] });
    const sha = await run(main, "rev-parse", "HEAD");
    for (const native of [true, false])
      expect(await headAt(dir, "main", native)).toMatchObject({ branch: "main", sha });
  });
});

async function headAt(dir: TempDir, start: string, native: boolean): Promise<Head & { spawned: boolean }> {
  const trace = dir.path(`trace-${native}`);
  const ctx = { cwd: dir.path(start), env: gitEnv({ DOTBOT_TRACE_GIT: trace }), signal: new AbortController().signal };
  const repo = await resolveRepo(ctx);
  const head = await readHead(ctx, repo, { native });
  return { ...head, spawned: await Bun.file(trace).exists() };
}
