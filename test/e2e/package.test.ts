/** What npm installs, from the tarballs of a release: this machine's binary, behind the launcher. Nothing is fetched. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";

import { version } from "../../package.json" with { type: "json" };
import { pack, packageName, type Packed } from "../../scripts/pack.ts";
import { thisMachine, TARGETS } from "../../scripts/targets.ts";
import { binary, cleanEnv } from "../kit/binary.ts";
import { makeRepo, tempDir, type TempDir } from "../kit/git.ts";

const target = thisMachine();
const platform = packageName(target);

let dir: TempDir;
let packed: readonly Packed[];
/** Where it is installed; the repository is another folder. */
let home: string;
let launcher: string;
let repo: string;

beforeAll(async () => {
  dir = await tempDir("dotbot-package-");
  packed = await pack(new Map([[target, await binary()]]), dir.path("npm"));
  home = dir.path("home");
  mkdirSync(home);
  await runs(["npm", "install", "--offline", "--no-audit", "--no-fund", ...packed.map(({ file }) => file)], home);
  launcher = join(home, "node_modules", ".bin", "dotbot");
  repo = await makeRepo(dir.path("repo"));
}, 300_000);
afterAll(async () => await dir[Symbol.asyncDispose]());

type Child = Bun.Subprocess<"ignore", "pipe", "pipe">;

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function starts(command: readonly string[], cwd: string): Child {
  // npm's cache is an empty one: what it needs is in the tarballs or nowhere.
  return Bun.spawn([...command], {
    cwd,
    env: cleanEnv({ npm_config_cache: dir.path("cache") }),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function ended(child: Child): Promise<Ended> {
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { status: child.exitCode, stdout, stderr };
}

async function runs(command: readonly string[], cwd: string): Promise<Ended> {
  const result = await ended(starts(command, cwd));
  if (result.status !== 0)
    throw new Error(`${command.join(" ")}: status ${result.status}\n${result.stdout}${result.stderr}`);
  return result;
}

async function dotbot(...args: string[]): Promise<Ended> {
  return await ended(starts([launcher, ...args], repo));
}

describe("the packages", () => {
  test("one for the platform, and the launcher last", () => {
    expect(
      packed.map(({ name, version: its, contents }) => ({ name, version: its, contents: contents.toSorted() })),
    ).toEqual([
      {
        name: platform,
        version,
        contents: [
          "LICENSE",
          "README.md",
          "THIRD-PARTY-NOTICES.md",
          `bin/dotbot${target.os === "win32" ? ".exe" : ""}`,
          "package.json",
        ],
      },
      {
        name: "dotbot",
        version,
        contents: ["LICENSE", "README.md", "THIRD-PARTY-NOTICES.md", "bin/dotbot.cjs", "man/dotbot.1", "package.json"],
      },
    ]);
  });

  test("sums that sha256sum -c reads", async () => {
    expect(await Bun.file(dir.path("npm", "SHA256SUMS")).text()).toBe(
      packed.map(({ file, sha256 }) => `${sha256}  ${file.slice(dir.path("npm").length + 1)}\n`).join(""),
    );
    expect(readdirSync(dir.path("npm")).toSorted()).toEqual(
      ["SHA256SUMS", ...packed.map(({ file }) => file.slice(dir.path("npm").length + 1))].toSorted(),
    );
  });

  test("the platform's package says for which machines it is, the launcher's needs exactly its version", async () => {
    expect(await Bun.file(join(home, "node_modules", platform, "package.json")).json()).toMatchObject({
      version,
      os: [target.os],
      cpu: [target.cpu],
      ...(target.libc === undefined ? {} : { libc: [target.libc] }),
    });
    expect(await Bun.file(join(home, "node_modules", "dotbot", "package.json")).json()).toMatchObject({
      version,
      optionalDependencies: { [platform]: version },
    });
  });

  test("every target has a package name of its own", () => {
    expect(TARGETS.map(packageName)).toEqual([
      "@dotbot/linux-x64",
      "@dotbot/linux-arm64",
      "@dotbot/linux-x64-musl",
      "@dotbot/linux-arm64-musl",
      "@dotbot/darwin-x64",
      "@dotbot/darwin-arm64",
      "@dotbot/win32-x64",
    ]);
  });
});

describe("installed", () => {
  test("--version", async () => {
    expect(await dotbot("--version")).toEqual({ status: 0, stdout: `dotbot ${version}\n`, stderr: "" });
  });

  test("a task from beginning to end", async () => {
    expect((await dotbot("init", "--yes")).status).toBe(0);
    expect((await dotbot("task", "add", "Add a login page")).status).toBe(0);
    expect((await dotbot("task", "start", "Add a login page")).status).toBe(0);
    const list: unknown = JSON.parse((await dotbot("task", "list", "--json")).stdout);
    expect(list).toMatchObject({ tasks: [{ name: "Add a login page", status: "in-progress" }] });
  });

  test.each([
    [0, ["task", "list"]],
    [2, ["tsak"]],
    [3, ["task", "show", "no such task"]],
    [4, ["task", "review", "Wait for it"]],
  ] as const)("status %i passes through", async (status, args) => {
    if (status === 4) await dotbot("task", "add", "Wait for it");
    expect((await dotbot(...args)).status).toBe(status);
  });

  test("stdin and a large stdout pass through", async () => {
    const child = Bun.spawn([launcher, "task", "add", "Long", "--description", "-", "--json"], {
      cwd: repo,
      env: cleanEnv(),
      stdin: new TextEncoder().encode("word ".repeat(40_000)),
      stdout: "pipe",
      stderr: "pipe",
    });
    expect(await child.exited).toBe(0);
    expect((await dotbot("task", "show", "Long", "--json")).stdout.length).toBeGreaterThan(200_000);
  });

  describe.skipIf(process.platform === "win32")("signals", () => {
    test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
      "%s reaches the binary once, which ends as it would without the launcher",
      async (signal) => {
        const ends = [];
        for (const program of [launcher, await binary()]) {
          const child = starts([program, "task", "board", "--watch"], repo);
          await saysSomething(child);
          child.kill(signal);
          await child.exited;
          ends.push([child.exitCode, child.signalCode]);
        }
        expect(ends).toEqual([
          [128 + constants.signals[signal], null],
          [128 + constants.signals[signal], null],
        ]);
      },
    );

    test("a binary that is killed takes the launcher with it, by the same signal", async () => {
      const child = starts([launcher, "task", "board", "--watch"], repo);
      await saysSomething(child);
      // The launcher has become the binary, or the binary is its only child.
      const { stdout } = await ended(starts(["ps", "-A", "-o", "pid=,ppid="], repo));
      const pids = stdout
        .trim()
        .split("\n")
        .map((line) => line.trim().split(/\s+/).map(Number));
      const pid = pids.find(([, parent]) => parent === child.pid)?.[0] ?? child.pid;
      process.kill(pid, "SIGKILL");
      await child.exited;
      expect([child.exitCode, child.signalCode]).toEqual([null, "SIGKILL"]);
    });
  });

  test("require() tells where the binary is", async () => {
    const { stdout } = await runs(["node", "-p", "require('dotbot').path"], home);
    expect(await runs([stdout.trim(), "--version"], repo)).toMatchObject({ stdout: `dotbot ${version}\n` });
  });
});

describe("without a binary", () => {
  test("says which package is missing and how to get it", async () => {
    const installed = join(home, "node_modules", platform);
    renameSync(installed, `${installed}-away`);
    try {
      const { status, stdout, stderr } = await dotbot("--version");
      expect([status, stdout]).toEqual([5, ""]);
      expect(stderr).toBe(
        `dotbot: the package ${platform}, which holds the binary for this machine, isn't installed\n` +
          "  hint: npm leaves it out with --omit=optional, or when the lockfile or node_modules was made on another kind of machine\n" +
          `  try:  npm install --no-save ${platform}@${version}\n`,
      );
    } finally {
      renameSync(`${installed}-away`, installed);
    }
  });

  test("a machine that none is built for is told which there are", async () => {
    const elsewhere = dir.path("elsewhere");
    cpSync(join(home, "node_modules", "dotbot"), elsewhere, { recursive: true });
    const script = join(elsewhere, "as-plan9.cjs");
    writeFileSync(
      script,
      `Object.defineProperty(process, "platform", { value: "plan9" });\nprocess.argv.splice(1, 1);\nrequire("node:module").runMain();\n`,
    );
    const { status, stderr } = await ended(
      starts(["node", script, join(elsewhere, "bin", "dotbot.cjs"), "--version"], repo),
    );
    expect(status).toBe(5);
    expect(stderr).toBe(
      `dotbot: there is no binary for plan9-${process.arch}\n  hint: there are binaries for ${platform.replace("@dotbot/", "")}\n`,
    );
  });
});

/** Waits for the first of its output: by then it has its signal handlers. The rest is thrown away. */
async function saysSomething(child: Child): Promise<void> {
  const reader = child.stdout.getReader();
  await reader.read();
  const drain = async (): Promise<void> => {
    while (!(await reader.read()).done);
  };
  void drain();
}
