/** Command strings and executables of the project's own people, run for real. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";

import { findShell, runProgram, runShell, type RunOptions, type RunResult } from "../../lib/shell.ts";
import { tempDir } from "../kit/git.ts";

const PATH = process.env["PATH"] ?? "";
const ctx = (env: Record<string, string> = {}, signal = new AbortController().signal) => ({
  env: { PATH, ...env },
  signal,
});
const here = { cwd: import.meta.dir };

type Runner = (command: string, options?: Partial<RunOptions>, context?: ReturnType<typeof ctx>) => Promise<RunResult>;

/** The same script by either way in: what holds for one has to hold for the other. */
const RUNNERS: readonly (readonly [name: string, run: Runner])[] = [
  ["runShell", async (command, options, context = ctx()) => await runShell(context, command, { ...here, ...options })],
  [
    "runProgram",
    async (command, options, context = ctx()) =>
      await runProgram(context, ["bash", "-c", command], { ...here, ...options }),
  ],
];

describe.each(RUNNERS)("%s", (_, run) => {
  const ok = { status: 0, signal: null, stdout: "", stderr: "", timedOut: false, truncated: false };

  const ROWS: readonly (readonly [
    name: string,
    command: string,
    options: Partial<RunOptions>,
    result: Partial<RunResult>,
  ])[] = [
    ["both streams", "echo out; echo err >&2", {}, { ...ok, stdout: "out\n", stderr: "err\n" }],
    ["a status is an answer", "exit 3", {}, { ...ok, status: 3 }],
    ["a failure in the middle goes on, as at a prompt", "false; echo on", {}, { ...ok, stdout: "on\n" }],
    ["an unknown command", "no-such-command-here", {}, { status: 127, signal: null }],
    ["a syntax error", "if", {}, { status: 2 }],
    ["quotes and dollars stay the command's own", `x='a "b"'; echo "$x" '$x'`, {}, { ...ok, stdout: `a "b" $x\n` }],
    ["stdin is given", "cat", { stdin: "täst\n" }, { ...ok, stdout: "täst\n" }],
    ["without stdin it reads the end", "cat; echo done", {}, { ...ok, stdout: "done\n" }],
    ["an empty stdin is none", "cat; echo done", { stdin: "" }, { ...ok, stdout: "done\n" }],
    ["bash doesn't take stdin for a remote login", "echo $SHLVL", { stdin: "x" }, { ...ok, stdout: "2\n" }],
    ["a large stdin that nobody reads", "true", { stdin: "x".repeat(1_000_000) }, ok],
    ["its folder", 'basename "$PWD"', { cwd: "/usr/bin" }, { ...ok, stdout: "bin\n" }],
    ["its environment", "echo $A$B", { env: { A: "1", B: "2" } }, { ...ok, stdout: "12\n" }],
    ["death by a signal", "kill -KILL $$", {}, { ...ok, status: 137, signal: "SIGKILL" }],
    ["something left in the background holds nobody up", "sleep 60 & echo $!", {}, { status: 0, timedOut: false }],
  ];
  test.each(ROWS)("%s", async (_name, command, options, result) => {
    expect(await run(command, options)).toMatchObject(result);
  });

  test("a variable that redirects git doesn't reach it, others do", async () => {
    const context = ctx({ GIT_DIR: "/elsewhere", GIT_INDEX_FILE: "/elsewhere/index", LC_ALL: "C.UTF-8", MINE: "1" });
    const { stdout } = await run("echo ${GIT_DIR-none} ${GIT_INDEX_FILE-none} $LC_ALL $MINE", {}, context);
    expect(stdout).toBe("none none C.UTF-8 1\n");
  });

  test("over time, it is ended, and what it had said is kept", async () => {
    const result = await run("echo begun; sleep 60", { timeoutMs: 1000 });
    expect(result).toMatchObject({ status: 143, signal: "SIGTERM", stdout: "begun\n", timedOut: true });
  });

  test("a timeout that isn't reached changes nothing", async () => {
    expect(await run("echo done", { timeoutMs: 60_000 })).toMatchObject({ ...ok, stdout: "done\n" });
  });

  /** Runs a script until it has made the file `$READY`, then aborts it; resolves when it has ended, with what is in `$LOG`. */
  const aborted = async (script: string, graceMs: number): Promise<string> => {
    await using dir = await tempDir();
    const control = new AbortController();
    const env = { READY: dir.path("ready"), LOG: dir.path("log") };
    const running = run(script, { env, graceMs }, ctx({}, control.signal));
    const outcome = running.then(
      () => "a result",
      (error: unknown) => error,
    );
    await until(() => existsSync(env.READY));
    control.abort(new Error("enough"));
    expect(await outcome).toEqual(new Error("enough"));
    return readFileSync(env.LOG, "utf8");
  };

  test("an abort tells the whole group to end, which may clean up, and is thrown afterwards", async () => {
    const child = `trap "echo child >> $LOG; exit" TERM; touch $READY; sleep 60 & wait`;
    const log = await aborted(`bash -c '${child}' & trap 'wait; echo parent >> $LOG; exit' TERM; wait`, 60_000);
    expect(log).toBe("child\nparent\n");
  });

  test.each([
    ["what doesn't listen", `trap '' TERM; echo $$ > $LOG; touch $READY; while :; do sleep 60; done`],
    [
      "a child that doesn't listen, whose parent did,",
      `bash -c 'trap "" TERM; echo $$ > $LOG; touch $READY; while :; do sleep 60; done' & wait`,
    ],
  ])("%s is killed after the grace", async (_name, script) => {
    const pid = Number(await aborted(script, 100));
    await until(() => !isAlive(pid));
  });

  test("after an abort nothing begins", () => {
    expect(run("echo on", {}, ctx({}, AbortSignal.abort(new Error("enough"))))).rejects.toThrow("enough");
  });

  test("output over the bound loses its middle", async () => {
    const result = await run("echo first; seq 1 100000; echo last; echo small >&2", { maxBytes: 200 });
    expect(result).toMatchObject({ status: 0, truncated: true, stderr: "small\n" });
    expect(result.stdout).toStartWith("first\n1\n2\n");
    expect(result.stdout).toEndWith("100000\nlast\n");
    expect(result.stdout).toMatch(/\n… 5\d\d\d\d\d bytes left out …\n/);
    expect(result.stdout.length).toBeLessThan(250);
  });

  test("output exactly at the bound is whole", async () => {
    expect(await run("printf 12345678", { maxBytes: 8 })).toMatchObject({ stdout: "12345678", truncated: false });
    expect(await run("printf 123456789", { maxBytes: 8 })).toMatchObject({
      stdout: "1234\n… 1 bytes left out …\n6789",
      truncated: true,
    });
  });

  test("a folder that isn't there is refused by name", () => {
    expect(run("true", { cwd: "/no/such/folder" })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("/no/such/folder"),
    });
  });
});

describe("findShell", () => {
  test("bash before sh", () => {
    expect(findShell({ PATH }).path).toEndWith("/bash");
  });
  test("an empty PATH still has the system's sh", () => {
    expect(findShell({}).path).toBe("/bin/sh");
  });
  test("none at all: says which were looked for", () => {
    expect(() => findShell({ PATH: "/no/such/folder" }, ["bash", "sh"])).toThrow(
      "there is no shell to run a command in: none of bash, sh is on PATH",
    );
  });
});

describe("runProgram", () => {
  const script = (path: string, content: string, mode = 0o755): string => {
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  };
  const cases = [
    ["a program that isn't there", "#none", 0, "NOT_FOUND", /the program ".*" isn't installed/],
    ["one that isn't executable", "#!/bin/sh\n", 0o644, "REFUSED", /may not be executed/],
    [
      "one whose interpreter isn't there",
      "#!/no/such/python3 -u\n",
      0o755,
      "NOT_FOUND",
      /needs "\/no\/such\/python3 -u", which isn't there/,
    ],
  ] as const;
  test.each(cases)("%s is named", async (_name, content, mode, code, message) => {
    await using dir = await tempDir();
    const path = dir.path("verify.sh");
    if (mode !== 0) script(path, content, mode);
    expect(runProgram(ctx(), [path], here)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
  test("arguments arrive as they are", async () => {
    const result = await runProgram(ctx(), ["printf", "%s|", "a b", "$x", "*", ""], here);
    expect(result.stdout).toBe("a b|$x|*||");
  });
});

test("zx is loaded by the first command string, not by an import", async () => {
  const source = `
    const { runShell, runProgram } = await import(${JSON.stringify(join(import.meta.dir, "../../lib/shell.ts"))});
    const loaded = () => Object.keys(require.cache).some((path) => path.includes("/zx/"));
    const ctx = { env: process.env, signal: new AbortController().signal };
    const before = loaded();
    await runProgram(ctx, ["true"], { cwd: "/" });
    const between = loaded();
    await runShell(ctx, "true", { cwd: "/" });
    console.log(before, between, loaded());
  `;
  const child = await runProgram(ctx(), [process.execPath, "-e", source], here);
  expect(child).toMatchObject({ stderr: "", stdout: "false false true\n" });
});

/** Waits for a condition that something else brings about; the test's own time limit ends it. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(5);
}

/** Whether a process is there and no zombie: a killed child of a dead parent waits for init to collect it. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
