/** Verification in `task done`: the scan, git-clean, the project's scripts as the base has them. Real repositories and processes. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { resolveRepo } from "../../lib/git/repo.ts";
import { WORKTREE_RECORDS } from "../../lib/task/here.ts";
import { add } from "../../lib/task/ops/add.ts";
import { done } from "../../lib/task/ops/done.ts";
import { reset, start } from "../../lib/task/ops/transitions.ts";
import { Queue } from "../../lib/task/queue.ts";
import { readVerified } from "../../lib/task/verified.ts";
import { inProcess, type Loose, type InProcess } from "../kit/call.ts";
import { run, write } from "../kit/git.ts";
import { githubToken } from "../kit/secrets.ts";

const SECRET = githubToken(7);
const HOOKS = ".bot/hooks/verify";
const IGNORE = { ".bot/.gitignore": ".control/\nworkspace/tasks\n" };

/** A shell script of the verify folder. */
const sh = (...lines: readonly string[]): string => `#!/bin/sh\n${lines.join("\n")}\n`;
const PASS = sh("echo fine");
const FAIL = sh("echo broken >&2", "exit 3");

interface Spec {
  /** Scripts of the base, by name; executable. */
  readonly hooks?: Readonly<Record<string, string>>;
  readonly config?: unknown;
  readonly files?: Readonly<Record<string, string>>;
}

interface Bench extends AsyncDisposable {
  readonly world: InProcess;
  /** The id of the task, which has a worktree at `tree`. */
  readonly id: string;
  readonly tree: string;
  done(input?: Loose): Promise<Loose & { readonly status: number }>;
  commit(files: Readonly<Record<string, string>>): Promise<string>;
}

async function makeBase(spec: Spec): Promise<InProcess> {
  const world = await inProcess({ "README.md": "hello\n", ...IGNORE, ...spec.files });
  for (const [name, text] of Object.entries(spec.hooks ?? {})) addHook(world.repo, name, text);
  if (spec.config !== undefined)
    write(world.repo, {
      [`${HOOKS}/config.json`]: typeof spec.config === "string" ? spec.config : JSON.stringify(spec.config),
    });
  if (spec.hooks !== undefined || spec.config !== undefined) {
    await run(world.repo, "add", "-A");
    await run(world.repo, "commit", "-q", "-m", "hooks");
  }
  return world;
}

function addHook(root: string, name: string, text: string, mode = 0o755): void {
  write(root, { [`${HOOKS}/${name}`]: text });
  chmodSync(join(root, HOOKS, name), mode);
}

async function withQueue<T>(world: InProcess, work: (queue: Queue) => Promise<T> | T): Promise<T> {
  const ctx = world.ctx();
  using queue = await Queue.open(ctx, await resolveRepo(ctx));
  return await work(queue);
}

/** A task with a worktree, as `wt create` leaves it. */
async function makeBench(spec: Spec = {}): Promise<Bench> {
  const world = await makeBase(spec);
  const { result } = await world.call(add, { name: "Add a login page", category: "feature" });
  const id = (result["task"] as Loose)["id"] as string;
  const branch = `task/${id.slice(0, 8)}-add-a-login-page`;
  const tree = world.dir.path("worktrees", "task");
  await run(world.repo, "worktree", "add", "-q", "--no-track", "-b", branch, tree);
  const baseSha = await run(world.repo, "rev-parse", "HEAD");
  mkdirSync(join(world.repo, ".bot/.control"), { recursive: true });
  mkdirSync(join(tree, ".bot/workspace"), { recursive: true });
  symlinkSync(join(world.repo, ".bot/workspace/tasks"), join(tree, ".bot/workspace/tasks"));
  symlinkSync(join(world.repo, ".bot/.control"), join(tree, ".bot/.control"));
  await withQueue(world, async (queue) => {
    await queue.write("test", (tx) =>
      tx.ledger.putRecord(WORKTREE_RECORDS, id, {
        path: tree,
        branch,
        base: "main",
        baseSha,
        createdAt: "2024-05-06T07:08:09Z",
        slot: 1,
        adopted: false,
        links: [],
        setup: { state: "none" },
        made: [],
      }),
    );
  });
  await world.call(start, { task_id: id });
  return {
    world,
    id,
    tree,
    async done(input = {}) {
      const answer = await world.call(done, { task_id: id, ...input });
      return { ...answer.result, status: answer.status };
    },
    async commit(files) {
      write(tree, files);
      await run(tree, "add", "-A");
      await run(tree, "commit", "-q", "-m", "work");
      return await run(tree, "rev-parse", "HEAD");
    },
    [Symbol.asyncDispose]: async () => await world[Symbol.asyncDispose](),
  };
}

function verificationOf(result: Loose): Loose {
  return result["verification"] as Loose;
}

/** `name: status message` of each check. */
function checks(result: Loose): string[] {
  return (verificationOf(result)["checks"] as readonly Loose[]).map(
    ({ name, status, message }) => `${String(name)}: ${String(status)}: ${String(message)}`,
  );
}

function check(result: Loose, name: string): Loose {
  return (verificationOf(result)["checks"] as readonly Loose[]).find((it) => it["name"] === name) ?? {};
}

describe("a task without a worktree", () => {
  test("is done from the main checkout with the queue alone", async () => {
    await using world = await inProcess();
    const { result } = await world.call(add, { name: "A" });
    const answer = await world.call(done, { task_id: (result["task"] as Loose)["id"] });
    expect(answer).toMatchObject({
      status: 0,
      result: { ok: true, newStatus: "done", verification: { base: null, verifyChanged: [] } },
    });
    expect(checks(answer.result)).toEqual(["scan: passed: 0 changed files looked at"]);
  });

  test("runs the project's scripts, and doesn't ask the user's checkout to be clean", async () => {
    await using world = await makeBase({ hooks: { "01-test.sh": PASS } });
    write(world.repo, { "dirty.txt": "x\n" });
    await world.call(add, { name: "A" });
    expect(checks((await world.call(done, { task_id: "A" })).result)).toEqual([
      "scan: passed: 1 changed file looked at",
      "01-test.sh: passed: fine",
    ]);
  });

  test("in a repository without commits", async () => {
    await using world = await inProcess({});
    await world.call(add, { name: "A" });
    expect(await world.call(done, { task_id: "A" })).toMatchObject({
      status: 0,
      result: { ok: true, verification: { head: null } },
    });
  });
});

describe("the task's worktree", () => {
  test("is where the work is looked at, wherever the call comes from; what was verified is recorded", async () => {
    await using bench = await makeBench({ hooks: { "01-where.sh": sh('echo "$PWD $DOTBOT_TASK_ID $1 $2"') } });
    const base = await run(bench.world.repo, "rev-parse", "main");
    const head = await bench.commit({ "a.txt": "x\n" });
    const result = await bench.done();
    expect(result).toMatchObject({
      status: 0,
      ok: true,
      newStatus: "done",
      verification: { workRoot: bench.tree, head, base },
    });
    expect(checks(result)).toEqual([
      "scan: passed: 1 changed file looked at",
      "git-clean: passed: everything is committed",
      `01-where.sh: passed: ${bench.tree} ${bench.id} ${bench.id} feature`,
    ]);
    expect(await withQueue(bench.world, (queue) => readVerified(queue.ledger, bench.id))).toEqual({ head, base });
  });

  test("has to be clean, the queue's links aside", async () => {
    await using bench = await makeBench();
    await bench.commit({ "a.txt": "x\n" });
    write(bench.tree, { "a.txt": "y\n", "new.txt": "z\n" });
    const result = await bench.done();
    expect(result).toMatchObject({ status: 1, ok: false, newStatus: "in-progress", changed: false });
    expect(check(result, "git-clean")).toMatchObject({
      status: "failed",
      message: 'not committed: "a.txt", "new.txt"',
    });
    expect(await bench.world.text(done, { task_id: bench.id })).toBe(
      'Add a login page: stays in-progress, verification failed\npassed  scan: 2 changed files looked at\nfailed  git-clean: not committed: "a.txt", "new.txt"\n'.replace(
        "2 changed",
        "3 changed",
      ),
    );
  });

  test("isn't asked where another checkout is named", async () => {
    await using bench = await makeBench();
    const other = bench.world.dir.path("other");
    await run(bench.world.repo, "worktree", "add", "-q", "-b", "other", other);
    write(other, { "dirty.txt": "x\n" });
    const byName = await bench.world.call(done, { task_id: bench.id, dir: other });
    expect(byName.result).toMatchObject({ ok: true, verification: { workRoot: other } });
  });

  test("that is gone is said, with a way on", async () => {
    await using bench = await makeBench();
    rmSync(bench.tree, { recursive: true });
    expect(await bench.done().catch((error: unknown) => error)).toMatchObject({
      code: "NOT_FOUND",
      example: expect.stringContaining("--skip-verify"),
    });
    expect(await bench.done({ dir: bench.world.repo }).catch((error: unknown) => error)).toMatchObject({
      code: "NOT_FOUND",
    });
  });

  test("in the middle of a merge isn't done", async () => {
    await using bench = await makeBench();
    await bench.commit({ "a.txt": "x\n" });
    await run(bench.world.repo, "commit", "-q", "--allow-empty", "-m", "base moves");
    await run(bench.tree, "merge", "-q", "--no-commit", "--no-ff", "main");
    expect(check(await bench.done(), "git-clean")).toMatchObject({
      status: "failed",
      message: "a merge is in progress: end or abort it",
    });
  });
});

describe("the scan", () => {
  test("project violations are in the way, framework ones aren't; once mended the task can be done", async () => {
    await using bench = await makeBench();
    await bench.commit({ "a.txt": `${SECRET}\n`, ".bot/core/x.ps1": `${SECRET}\n` });
    const failed = await bench.done();
    expect(failed).toMatchObject({
      status: 1,
      ok: false,
      newStatus: "in-progress",
      verification: { scan: { counts: { project: 1, framework: 1 } } },
    });
    expect(check(failed, "scan")).toMatchObject({ message: "1 violation; 1 violation in the framework's files" });
    expect(JSON.stringify(failed)).not.toContain(SECRET.slice(5));
    await bench.commit({ "a.txt": "clean\n" });
    const passed = await bench.done();
    expect(passed).toMatchObject({
      status: 0,
      ok: true,
      newStatus: "done",
      verification: { scan: { counts: { project: 0, framework: 1 } } },
    });
  });

  test("a branch can't exempt itself by the baseline or by moving its settings", async () => {
    await using bench = await makeBench();
    await bench.commit({ "a.txt": `${SECRET}\n`, ".bot/settings.json": '{"scan":{"allow":["**"]}}' });
    expect(await bench.done()).toMatchObject({
      ok: false,
      verification: { scan: { exemptions: { added: [{ file: ".bot/settings.json" }] } } },
    });
  });

  test("an exemption in the text counts, and is listed", async () => {
    await using bench = await makeBench();
    await bench.commit({ "a.txt": `# dotbot:allow github-token -- made up\n${SECRET}\n` });
    expect(await bench.done()).toMatchObject({
      ok: true,
      verification: { scan: { exemptions: { used: 1, added: [{ file: "a.txt", line: 1, reason: "made up" }] } } },
    });
  });

  test("what a script prints is redacted", async () => {
    await using bench = await makeBench({
      hooks: { "01.sh": sh(`echo "leaked ${SECRET.slice(0, 20)}"'${SECRET.slice(20)}' >&2`, "exit 1") },
    });
    const result = await bench.done();
    expect(check(result, "01.sh")["output"]).toBe("leaked ghp_… (40 characters)\n");
    expect(JSON.stringify(result)).not.toContain(SECRET);
  });
});

describe("order, terms and answers of scripts", () => {
  test("by name; the first that fails and is required stops the rest", async () => {
    await using bench = await makeBench({
      hooks: { "20-b.sh": FAIL, "10-a.sh": PASS, "30-c.sh": PASS, "README.md": "x", "lib/helper.sh": "x" },
    });
    expect(checks(await bench.done()).slice(2)).toEqual([
      "10-a.sh: passed: fine",
      "20-b.sh: failed: broken (status 3)",
      "30-c.sh: skipped: not run: 20-b.sh failed before it",
    ]);
  });

  test("what is found before any script keeps scripts from running", async () => {
    await using bench = await makeBench({ hooks: { "10-a.sh": PASS } });
    await bench.commit({ "a.txt": SECRET });
    expect(check(await bench.done(), "10-a.sh")).toMatchObject({
      status: "skipped",
      message: "not run: what was found before it comes first",
    });
  });

  test("as config.json says: order, optional, categories, what isn't listed, what is missing", async () => {
    await using bench = await makeBench({
      hooks: {
        "a.sh": PASS,
        "b.sh": FAIL,
        "c.sh": PASS,
        "d.sh": PASS,
        "e.sh": PASS,
        "core.ps1": "x",
        "extra.sh": PASS,
      },
      config: {
        scripts: [
          { name: "core.ps1", required: true, core: true, timeout_seconds: 30 },
          { name: "e.sh", required: true, skip_if_category: ["feature", "core"] },
          { name: "d.sh", required: true, run_if_category: ["bugfix"] },
          { name: "c.sh", required: true, run_if_category: ["feature"] },
          { name: "b.sh", required: false, description: "may fail" },
          { name: "a.sh", required: true },
          { name: "gone.sh", required: true },
        ],
        continue_on_optional_failure: true,
      },
    });
    const result = await bench.done();
    expect(result["ok"]).toBe(false);
    expect(checks(result).slice(2)).toEqual([
      "core.ps1: skipped: replaced by dotbot's own scan and git-clean",
      "e.sh: skipped: not for category feature",
      "d.sh: skipped: only for category bugfix",
      "c.sh: passed: fine",
      "b.sh: failed: broken (status 3)",
      "a.sh: passed: fine",
      "gone.sh: failed: is named in config.json and isn't there",
      "extra.sh: skipped: isn't listed in config.json",
    ]);
  });

  test("an optional one that fails isn't in the way, and is told", async () => {
    await using bench = await makeBench({
      hooks: { "b.sh": FAIL },
      config: {
        scripts: [
          { name: "b.sh", required: false },
          { name: "gone.sh", required: false },
        ],
      },
    });
    const result = await bench.done();
    expect(result).toMatchObject({ status: 0, ok: true, newStatus: "done" });
    expect(await bench.world.text(done, { task_id: bench.id })).toContain("already done");
  });

  test("dotbot 3's own scripts are known by name where there is no config", async () => {
    await using bench = await makeBench({
      hooks: { "00-privacy-scan.ps1": "x", "01-git-clean.ps1": "x", "02-git-pushed.ps1": "x" },
    });
    const result = await bench.done();
    expect(result["ok"]).toBe(true);
    expect(
      checks(result)
        .slice(2)
        .every((line) => line.endsWith("replaced by dotbot's own scan and git-clean")),
    ).toBe(true);
  });

  const configs: readonly (readonly [string, string, RegExp])[] = [
    ["not JSON", "{ scripts: }", /isn't valid JSON \(line 1/],
    ["no list", '{"scripts": {}}', /scripts should be Array/],
    [
      "a time that is none",
      '{"scripts": [{"name": "a.sh", "timeout_seconds": "soon"}]}',
      /scripts\[0\]\.timeout_seconds/,
    ],
    ["no name", '{"scripts": [{}]}', /scripts\[0\]\.name/],
  ];
  for (const [what, config, message] of configs) {
    test(`a config that can't be followed fails by name: ${what}`, async () => {
      await using bench = await makeBench({ hooks: { "a.sh": PASS }, config });
      const result = await bench.done();
      expect(result["ok"]).toBe(false);
      expect(check(result, "config.json")["message"]).toMatch(message);
    });
  }

  const answers: readonly (readonly [what: string, script: string, expected: Loose])[] = [
    [
      "JSON that says success",
      sh(`echo '{"success": true, "message": "12 tests"}'`),
      { status: "passed", message: "12 tests" },
    ],
    [
      "JSON that says failure, with status 0",
      sh(
        `echo '{"success": false, "message": "2 tests fail", "failures": [{"file": "a.ts", "line": 3, "issue": "no"}]}'`,
      ),
      { status: "failed", message: "2 tests fail", failures: [{ file: "a.ts", line: 3, issue: "no" }] },
    ],
    [
      "JSON in the last line",
      sh("echo building", `echo '{"success": false, "message": "no"}'`),
      { status: "failed", message: "no" },
    ],
    [
      "JSON over many lines",
      sh(`printf '{\n  "success": false,\n  "message": "no"\n}\n'`),
      { status: "failed", message: "no" },
    ],
    ["half JSON is a message", sh(`echo '{"success": fal'`), { status: "passed", message: '{"success": fal' }],
    ["nothing at all", sh("true"), { status: "passed", message: "passed" }],
    [
      "JSON that says success, with status 1",
      sh(`echo '{"success": true, "message": "well"}'`, "exit 1"),
      { status: "failed", message: "well (status 1)" },
    ],
    ["death by signal", sh("kill -9 $$"), { status: "failed", message: "ended with SIGKILL" }],
    [
      "an interpreter that isn't there",
      "#!/no/such/interpreter\n",
      { status: "failed", message: "needs /no/such/interpreter, which isn't installed or isn't on PATH" },
    ],
    [
      "one that env can't find",
      "#!/usr/bin/env no-such-interpreter\n",
      { status: "failed", message: "needs no-such-interpreter, which isn't installed or isn't on PATH" },
    ],
    ["no interpreter named", "echo x\n", { status: "passed" }],
  ];
  for (const [what, script, expected] of answers) {
    test(what, async () => {
      await using bench = await makeBench({ hooks: { "01.sh": script } });
      const result = check(await bench.done(), "01.sh");
      if (what === "no interpreter named") expect(["passed", "failed"]).toContain(String(result["status"]));
      else expect(result).toMatchObject(expected);
    });
  }

  test("PowerShell scripts name what they need", async () => {
    if (Bun.which("pwsh") !== null) return;
    await using bench = await makeBench({ hooks: { "03-build.ps1": "exit 0" } });
    expect(check(await bench.done(), "03-build.ps1")).toMatchObject({
      status: "failed",
      message: "needs pwsh (PowerShell 7), which isn't installed or isn't on PATH",
    });
  });

  test("one that isn't executable says how to make it so", async () => {
    await using world = await makeBase({});
    addHook(world.repo, "01.sh", PASS, 0o644);
    await run(world.repo, "add", "-A");
    await run(world.repo, "commit", "-q", "-m", "hooks");
    await world.call(add, { name: "A" });
    const { result } = await world.call(done, { task_id: "A" });
    expect(check(result, "01.sh")).toMatchObject({
      status: "failed",
      message: "isn't executable: git update-index --chmod=+x .bot/hooks/verify/01.sh",
    });
  });
});

describe("scripts that don't behave", () => {
  test("one that hangs, with a child of its own, is ended with all of its group", async () => {
    await using bench = await makeBench({
      hooks: {
        "01.sh": sh("sleep 600 &", 'echo "$!" > "$DOTBOT_STATE_ROOT/.bot/.control/child"', "echo waiting", "wait"),
      },
      config: { scripts: [{ name: "01.sh", timeout_seconds: 0.5 }] },
    });
    expect(check(await bench.done(), "01.sh")).toMatchObject({
      status: "failed",
      message: "didn't end within 0.5 seconds; it said: waiting",
    });
    const child = Number(await Bun.file(join(bench.world.repo, ".bot/.control/child")).text());
    expect(() => process.kill(child, 0)).toThrow();
  });

  test("one that leaves a child with the pipe behind doesn't keep the call", async () => {
    await using bench = await makeBench({ hooks: { "01.sh": sh("(sleep 2) &", "echo fine") } });
    expect(check(await bench.done(), "01.sh")).toMatchObject({ status: "passed", message: "fine" });
  });

  test("a flood of output is cut", async () => {
    await using bench = await makeBench({ hooks: { "01.sh": sh("yes | head -c 3000000", "exit 1") } });
    const output = check(await bench.done(), "01.sh")["output"];
    expect(typeof output === "string" ? output.length : 0).toBeLessThan(80_000);
    expect(output).toContain("bytes left out");
  });

  test("all together have a time as well", async () => {
    await using bench = await makeBench({
      hooks: { "01.sh": sh("sleep 600"), "02.sh": PASS },
      config: { scripts: [{ name: "01.sh", required: false }, { name: "02.sh" }] },
      files: { ".bot/settings.json": '{"verify":{"total_timeout":"300ms"}}' },
    });
    const result = await bench.done();
    expect(check(result, "01.sh")).toMatchObject({ status: "failed", message: "didn't end within 0.3 seconds" });
    expect(check(result, "02.sh")).toMatchObject({
      status: "failed",
      message: "not run: all scripts together took too long (setting verify.total_timeout)",
    });
  });
});

describe("the judge is the base's", () => {
  test("a branch that edits, adds or removes its scripts is judged by the base's, and that is said", async () => {
    await using bench = await makeBench({ hooks: { "01.sh": FAIL, "02.sh": PASS } });
    addHook(bench.tree, "01.sh", PASS);
    addHook(bench.tree, "03.sh", PASS);
    rmSync(join(bench.tree, HOOKS, "02.sh"));
    await bench.commit({});
    const result = await bench.done();
    expect(check(result, "01.sh")).toMatchObject({ status: "failed" });
    expect(verificationOf(result)["verifyChanged"]).toEqual([`${HOOKS}/01.sh`, `${HOOKS}/02.sh`, `${HOOKS}/03.sh`]);
  });

  test("also when the main checkout's own files were edited", async () => {
    await using bench = await makeBench({ hooks: { "01.sh": FAIL } });
    addHook(bench.world.repo, "01.sh", PASS);
    expect((await bench.done())["ok"]).toBe(false);
  });

  test("scripts that the project doesn't track are the state root's", async () => {
    await using bench = await makeBench({ files: { ".bot/.gitignore": ".control/\nworkspace/tasks\nhooks/\n" } });
    addHook(bench.world.repo, "01.sh", FAIL);
    expect(check(await bench.done(), "01.sh")).toMatchObject({ status: "failed" });
  });

  test("helpers lie beside them, and links lead where they lead in the base", async () => {
    const world = await makeBase({ files: { "tools/check.sh": sh("echo by the link") } });
    await using _ = world;
    addHook(world.repo, "01.sh", sh('. "$(dirname "$0")/lib/say.sh"', "say"));
    write(world.repo, { [`${HOOKS}/lib/say.sh`]: "say() { echo by the helper; }\n" });
    symlinkSync("../../../tools/check.sh", join(world.repo, HOOKS, "02.sh"));
    await run(world.repo, "add", "-A");
    await run(world.repo, "commit", "-q", "-m", "hooks");
    await world.call(add, { name: "A" });
    expect(checks((await world.call(done, { task_id: "A" })).result).slice(1)).toEqual([
      "01.sh: passed: by the helper",
      "02.sh: passed: by the link",
    ]);
  });

  test("nothing of the exported scripts is left", async () => {
    await using bench = await makeBench({ hooks: { "01.sh": PASS } });
    await bench.done();
    expect(readdirSync(join(bench.world.repo, ".git/dotbot/tmp"))).toEqual([]);
  });
});

describe("again", () => {
  const counted = sh('echo x >> "$DOTBOT_STATE_ROOT/.bot/.control/runs"', "echo fine");
  const runs = async (world: InProcess): Promise<number> => {
    const path = join(world.repo, ".bot/.control/runs");
    return existsSync(path) ? (await Bun.file(path).text()).split("\n").length - 1 : 0;
  };

  test("what passed on the same tree isn't run again; another tree is", async () => {
    await using bench = await makeBench({
      hooks: { "01.sh": counted, "02.sh": sh('test -e "$DOTBOT_STATE_ROOT/.bot/.control/go" || exit 1') },
    });
    await bench.commit({ "a.txt": "x\n" });
    expect((await bench.done())["ok"]).toBe(false);
    writeFileSync(join(bench.world.repo, ".bot/.control/go"), "");
    const second = await bench.done();
    expect(second["ok"]).toBe(true);
    expect(check(second, "01.sh")).toMatchObject({ cached: true, message: "fine" });
    expect(await runs(bench.world)).toBe(1);
    await bench.world.call(reset, { task_id: bench.id });
    await bench.commit({ "a.txt": "y\n" });
    expect((await bench.done())["ok"]).toBe(true);
    expect(await runs(bench.world)).toBe(2);
  });

  test("a call that was cut off goes on where it was", async () => {
    await using bench = await makeBench({
      hooks: { "01.sh": counted, "02.sh": sh('test -e "$DOTBOT_STATE_ROOT/.bot/.control/go" || sleep 600') },
    });
    const cut = new AbortController();
    const seen: (string | null)[] = [];
    const call = bench.world.call(
      done,
      { task_id: bench.id },
      {
        signal: cut.signal,
        progress: (line) => {
          seen.push(line);
          if (line?.includes("02.sh") === true) cut.abort(new Error("cut off"));
        },
      },
    );
    expect(await call.catch((error: unknown) => String(error))).toBe("Error: cut off");
    expect(seen).toEqual(["verifying: scan", null, "verifying: 01.sh (1 of 2)", "verifying: 02.sh (2 of 2)", null]);
    writeFileSync(join(bench.world.repo, ".bot/.control/go"), "");
    expect((await bench.done())["ok"]).toBe(true);
    expect(await runs(bench.world)).toBe(1);
  });

  test("uncommitted changes in the main checkout are part of what a result is remembered by", async () => {
    await using world = await makeBase({ hooks: { "01.sh": counted } });
    mkdirSync(join(world.repo, ".bot/.control"));
    await world.call(add, { name: "A" });
    const runsAfter = async (content: string): Promise<number> => {
      write(world.repo, { "dirty.txt": content });
      await world.call(done, { task_id: "A" });
      await world.call(reset, { task_id: "A" });
      return await runs(world);
    };
    expect([await runsAfter("1"), await runsAfter("2"), await runsAfter("2")]).toEqual([1, 2, 2]);
  });

  test("a done task is verified again when its branch has moved, and only then", async () => {
    await using bench = await makeBench({ hooks: { "01.sh": counted } });
    await bench.commit({ "a.txt": "x\n" });
    await bench.done();
    const repeated = await bench.done();
    expect(repeated).toMatchObject({ ok: true, changed: false });
    expect(repeated["verification"]).toBeUndefined();
    const head = await bench.commit({ "a.txt": "y\n" });
    expect(await bench.done()).toMatchObject({ ok: true, changed: false, verification: { head } });
    expect(await withQueue(bench.world, (queue) => readVerified(queue.ledger, bench.id))).toMatchObject({ head });
  });
});

describe("who is refused anyway isn't kept waiting", () => {
  test("an illegal move, and somebody else's claim, run nothing", async () => {
    await using bench = await makeBench({ hooks: { "01.sh": sh("sleep 600") } });
    await bench.world.call(start, { task_id: bench.id, owner: "ada" });
    expect(await bench.done({ owner: "bob" }).catch((error: unknown) => error)).toMatchObject({ code: "NOT_HOLDER" });
    await bench.done({ owner: "ada", skip_verify: "a test" });
    await bench.world.call(reset, { task_id: bench.id, owner: "ada" });
  });

  test("--skip-verify goes into history, is recorded for completion, and needs a reason", async () => {
    await using bench = await makeBench({ hooks: { "01.sh": FAIL } });
    const head = await bench.commit({ "a.txt": SECRET });
    expect(await bench.done({ skip_verify: " " }).catch((error: unknown) => error)).toMatchObject({
      code: "INVALID_INPUT",
    });
    const result = await bench.done({ skip_verify: "looked at by hand" });
    expect(result).toMatchObject({
      ok: true,
      newStatus: "done",
      verification: { skipped: "looked at by hand", head, checks: [] },
    });
    expect((result["task"] as { history: readonly Loose[] }).history.at(-1)).toMatchObject({
      to: "done",
      reason: "verification skipped: looked at by hand",
    });
    expect(await withQueue(bench.world, (queue) => readVerified(queue.ledger, bench.id))).toMatchObject({ head });
  });
});
