/** What a foreign repository's configuration names is never run while it is decided whether it may be touched. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeRepo, run as git, tempDir, write, type TempDir } from "../kit/git.ts";
import { failure, guard, server, stateOf, type Result } from "../kit/guard.ts";

/** Leaves its name behind when it is run. */
function tracer(dir: TempDir, name: string): string {
  const path = dir.path("tracers", name);
  mkdirSync(dir.path("tracers"), { recursive: true });
  mkdirSync(dir.path("ran"), { recursive: true });
  writeFileSync(path, `#!/bin/sh\ntouch ${dir.path("ran", name)}\nexit 1\n`);
  chmodSync(path, 0o755);
  return path;
}

const ran = (dir: TempDir): string[] => (existsSync(dir.path("ran")) ? readdirSync(dir.path("ran")) : []);

/** Making the repository ran some. */
function forget(dir: TempDir): void {
  for (const name of ran(dir)) rmSync(dir.path("ran", name));
}

/** `far`, with all that configuration can name, and `far-wt`; both have a touched file that a filter has a say in. */
async function hostile(dir: TempDir): Promise<string> {
  const far = await makeRepo(dir.path("far"), {
    files: { "a.txt": "1\n", ".gitattributes": "*.txt filter=evil diff=evil merge=evil\n", "evil=b.txt": "1\n" },
  });
  await git(far, "worktree", "add", "-q", "-b", "wt", dir.path("far-wt"));
  await git(far, "remote", "add", "origin", `ext::${tracer(dir, "ext")}`);
  const hooks = dir.path("hooks");
  mkdirSync(hooks);
  for (const name of [
    "pre-commit",
    "post-index-change",
    "post-checkout",
    "reference-transaction",
    "pre-push",
    "fsmonitor-watchman",
    "prepare-commit-msg",
  ]) {
    writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${dir.path("ran", `hook-${name}`)}\n`);
    chmodSync(join(hooks, name), 0o755);
  }
  const config: readonly (readonly [string, string])[] = [
    ["core.fsmonitor", tracer(dir, "fsmonitor")],
    ["core.hooksPath", hooks],
    ["core.sshCommand", tracer(dir, "ssh")],
    ["core.pager", tracer(dir, "pager")],
    ["core.editor", tracer(dir, "editor")],
    ["core.askPass", tracer(dir, "askpass")],
    ["credential.helper", tracer(dir, "credential")],
    ["gpg.program", tracer(dir, "gpg")],
    ["log.showSignature", "true"],
    ["diff.external", tracer(dir, "external-diff")],
    ["diff.evil.command", tracer(dir, "diff-driver")],
    ["diff.evil.textconv", tracer(dir, "textconv")],
    ["merge.evil.driver", tracer(dir, "merge-driver")],
    ["filter.evil.clean", tracer(dir, "clean")],
    ["filter.evil.smudge", tracer(dir, "smudge")],
    ["filter.evil.process", tracer(dir, "process")],
    ["filter.evil.required", "true"],
    ["filter.a=b.clean", tracer(dir, "clean-of-an-odd-name")],
    ["protocol.ext.allow", "always"],
    ["alias.status", `!${tracer(dir, "alias")}`],
  ];
  for (const [key, value] of config) await git(far, "config", key, value);
  for (const tree of [far, dir.path("far-wt")]) {
    // Same size, another time: git has to look into it, and would ask the filter.
    write(tree, { "a.txt": "2\n", "evil=b.txt": "2\n" });
    write(tree, { "new.txt": "n\n" });
  }
  forget(dir);
  return far;
}

describe("deciding runs nothing that a foreign repository names", () => {
  const calls: readonly (readonly [string, Result])[] = [
    ["add", {}],
    ["commit", { message: "x" }],
    ["push", {}],
    ["pull", {}],
    ["branch create", { name: "fresh" }],
    ["finish", {}],
    ["checkout", { ref: "wt" }],
    ["check", { op: "checkout" }],
    ["check", { op: "pull" }],
    ["check", { op: "add" }],
  ];
  for (const [op, input] of calls) {
    for (const folder of ["far", "far-wt"]) {
      test(`${op} ${JSON.stringify(input)} at ${folder}`, async () => {
        await using dir = await tempDir();
        await hostile(dir);
        const home = await makeRepo(dir.path("home"));
        forget(dir);
        const before = stateOf(dir.path(folder));
        const call = guard(op, { ...input, dir: dir.path(folder) }, { cwd: home });
        if (op === "check") await call;
        else await failure(call);
        expect(ran(dir)).toEqual([]);
        expect(stateOf(dir.path(folder))).toEqual(before);
      });
    }
  }

  test("looking for repositories inside, comparing roots and hints", async () => {
    await using dir = await tempDir();
    await hostile(dir);
    const home = await makeRepo(dir.path("home"));
    await git(dir.root, "clone", "-q", dir.path("home"), dir.path("far/inside"));
    forget(dir);
    expect((await failure(guard("branch delete", { name: "wt" }, server(dir.path("far"), [home])))).code).toBe(
      "REFUSED",
    );
    expect(
      (
        await failure(
          guard("branch delete", { name: "wt" }, { ...server(dir.path("far")), env: { DOTBOT_CALLER_REPO: "a/b" } }),
        )
      ).code,
    ).toBe("REFUSED");
    expect(ran(dir)).toEqual([]);
  });

  test("a folder of plain files in the shape of a bare repository isn't asked", async () => {
    await using dir = await tempDir();
    const config = `[core]\n\tbare = true\n\tfsmonitor = ${tracer(dir, "fsmonitor")}\n\thooksPath = ${dir.path("tracers")}\n`;
    const home = await makeRepo(dir.path("home"), {
      files: { "evil/HEAD": "ref: refs/heads/main\n", "evil/objects/x": "", "evil/refs/x": "", "evil/config": config },
    });
    const before = stateOf(home);
    expect((await failure(guard("add", { files: ["x"], dir: dir.path("home/evil") }, { cwd: home }))).code).not.toBe(
      "INTERNAL",
    );
    expect(ran(dir)).toEqual([]);
    expect(stateOf(home)).toEqual(before);
  });
});

describe("variables that redirect git change nothing", () => {
  test.each([
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
  ])("%s", async (name) => {
    await using dir = await tempDir();
    const [home, far] = [await makeRepo(dir.path("home")), await makeRepo(dir.path("far"))];
    const values: Readonly<Record<string, string>> = {
      GIT_DIR: join(far, ".git"),
      GIT_WORK_TREE: far,
      GIT_INDEX_FILE: join(far, ".git/index"),
      GIT_COMMON_DIR: join(far, ".git"),
      GIT_OBJECT_DIRECTORY: join(far, ".git/objects"),
    };
    // In a hook, as some of these say that this is, the environment's identity is another commit's.
    await git(home, "config", "user.name", "Ada");
    await git(home, "config", "user.email", "ada@example.invalid");
    write(home, { "README.md": "mine\n" });
    const before = stateOf(far);
    const env = { [name]: values[name] ?? dir.root };
    expect(await guard("commit", { message: "x", files: ["README.md"] }, { cwd: home, env })).toMatchObject({
      repoPath: home,
      paths: ["README.md"],
    });
    expect(stateOf(far)).toEqual(before);
    expect(await git(home, "log", "-1", "--format=%s")).toBe("x");
  });

  test("literal and configured by environment: the same commit", async () => {
    await using dir = await tempDir();
    const home = await makeRepo(dir.path("home"));
    write(home, { "README.md": "mine\n", "*": "star\n" });
    const env = {
      GIT_GLOB_PATHSPECS: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "core.hooksPath",
      GIT_CONFIG_VALUE_0: dir.root,
    };
    expect(await guard("commit", { message: "x", files: ["*"] }, { cwd: home, env })).toMatchObject({ paths: ["*"] });
  });
});

describe("git itself", () => {
  function fakeGit(dir: TempDir, version: string): Readonly<Record<string, string>> {
    const bin = dir.path("bin");
    mkdirSync(bin);
    writeFileSync(
      join(bin, "git"),
      `#!/bin/sh\ncase "$*" in *version) echo "git version ${version}";; *) exec ${Bun.which("git") ?? "git"} "$@";; esac\n`,
    );
    chmodSync(join(bin, "git"), 0o755);
    return { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
  }

  test("too old: refused by name", async () => {
    await using dir = await tempDir();
    const home = await makeRepo(dir.path("home"));
    const before = stateOf(home);
    const facts = await failure(guard("branch create", { name: "x" }, { cwd: home, env: fakeGit(dir, "2.37.4") }));
    expect(facts).toMatchObject({ code: "GIT_TOO_OLD", details: { minimum: "2.38", found: "2.37.4" } });
    expect(stateOf(home)).toEqual(before);
  });

  test("missing: said as such", async () => {
    await using dir = await tempDir();
    const home = await makeRepo(dir.path("home"));
    expect((await failure(guard("branch create", { name: "x" }, { cwd: home, env: { PATH: dir.root } }))).code).toBe(
      "NO_GIT",
    );
  });
});

test("identity tells who and where, and only looks", async () => {
  await using dir = await tempDir();
  await hostile(dir);
  const home = await makeRepo(dir.path("home"));
  const before = stateOf(dir.path("far"));
  expect(await guard("identity", { dir: dir.path("far-wt") }, { cwd: home })).toMatchObject({
    repoPath: dir.path("far-wt"),
    branch: "wt",
    kind: "foreign-worktree",
    committer: "Ada Tester <ada@example.invalid>",
    checkouts: [
      { path: dir.path("far"), main: true },
      { path: dir.path("far-wt"), main: false },
    ],
  });
  expect(ran(dir)).toEqual([]);
  expect(stateOf(dir.path("far"))).toEqual(before);
  expect(readFileSync(dir.path("far/a.txt"), "utf8")).toBe("2\n");
});

test("the hostile repository is hostile: git itself runs what it names", async () => {
  await using dir = await tempDir();
  const far = await hostile(dir);
  Bun.spawnSync(["git", "status"], {
    cwd: far,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  expect(ran(dir)).toContain("fsmonitor");
  expect(ran(dir).some((name) => name === "process" || name === "clean")).toBe(true);
});
