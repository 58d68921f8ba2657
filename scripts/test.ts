/**
 * `npm test`: everything that has to hold before a change goes in, and the true count at the end.
 *
 *   bun scripts/test.ts                  lint, format, types, generated files, build, then every suite
 *   bun scripts/test.ts queue mcp        only the suites whose path contains one of these words; no checks before
 *
 * Each suite is a process of its own, so that none leans on another's leftovers; two run at a time, the longest first, and
 * those named `*.alone.test.ts`, which measure time, one after the other when all is quiet. A suite's output is shown when
 * something failed. A skipped test is counted as skipped, never as passed, and says why. The last line is
 * `N passed, N failed`, where only tests count as passed; a check that fails counts as failed. Status 1 when anything failed.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { compile } from "./compile.ts";

const root = join(import.meta.dir, "..");
const bin = (name: string): string => join(root, "node_modules", ".bin", name);
/** How long each suite took last time: decides what begins first. */
const TIMES = join(root, "dist", "test-times.json");
const AT_ONCE = 2;
/** A single test that hangs is ended by bun; this ends a suite that hangs outside of one. */
const SUITE_LIMIT_MS = 10 * 60_000;
const TEST_LIMIT_MS = 120_000;

interface Result {
  readonly name: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Why tests were skipped, as they said it. */
  readonly reasons: readonly string[];
  /** Lines that begin with `» `: figures that a suite wants seen even when all went well. */
  readonly told: readonly string[];
  readonly output: string;
}

interface Ended {
  readonly status: number;
  readonly output: string;
  readonly seconds: number;
}

async function runProgram(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  limitMs?: number,
): Promise<Ended> {
  const began = performance.now();
  const child = Bun.spawn(command.slice(), {
    cwd: root,
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    ...(limitMs === undefined ? {} : { timeout: limitMs, killSignal: "SIGKILL" }),
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  await child.exited;
  const cut = child.signalCode === null ? "" : `\nended by ${child.signalCode}\n`;
  return { status: child.exitCode ?? 1, output: stdout + stderr + cut, seconds: (performance.now() - began) / 1000 };
}

// ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Check {
  readonly name: string;
  readonly command: readonly string[];
}

const CHECKS: readonly Check[] = [
  { name: "lint", command: [bin("oxlint"), "--type-aware"] },
  { name: "format", command: [bin("oxfmt"), "--check"] },
  { name: "types", command: [bin("tsc"), "-p", ".", "--noEmit"] },
  { name: "REFERENCE.md in sync", command: [process.execPath, "scripts/reference.ts", "--check"] },
  { name: "man/dotbot.1 in sync", command: [process.execPath, "scripts/man.ts", "--check"] },
  { name: "THIRD-PARTY-NOTICES.md in sync", command: [process.execPath, "scripts/notices.ts", "--check"] },
];

async function runCheck({ name, command }: Check): Promise<Result> {
  const { status, output, seconds } = await runProgram(command);
  return { name, seconds, passed: 0, failed: status === 0 ? 0 : 1, skipped: 0, reasons: [], told: [], output };
}

async function build(): Promise<Result> {
  const began = performance.now();
  let output = "";
  try {
    await compile({ entry: join("cmd", "dotbot.ts"), outfile: binary });
  } catch (error) {
    output = String(error);
  }
  const failed = output === "" ? 0 : 1;
  return {
    name: "build",
    seconds: (performance.now() - began) / 1000,
    passed: 0,
    failed,
    skipped: 0,
    reasons: [],
    told: [],
    output,
  };
}

// ── suites ───────────────────────────────────────────────────────────────────────────────────────────────────────────

async function runSuite(file: string, scratch: string): Promise<Result> {
  const report = join(scratch, `${file.replaceAll("/", "_")}.xml`);
  // Folders that tests leave behind when they are cut short go with the run's own.
  const tmp = join(scratch, `tmp-${file.replaceAll("/", "_")}`);
  await mkdir(tmp, { recursive: true });
  const { status, output, seconds } = await runProgram(
    [
      process.execPath,
      "test",
      `./${file}`,
      `--timeout=${TEST_LIMIT_MS}`,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
    ],
    { DOTBOT_TEST_BINARY: binary, TMPDIR: tmp },
    SUITE_LIMIT_MS,
  );
  await rm(tmp, { recursive: true, force: true });
  const counts = countsOf(existsSync(report) ? await Bun.file(report).text() : "");
  // A suite that dies, doesn't load, or holds no test at all has failed, whatever its report says.
  const broken = counts.tests === 0 || (status !== 0 && counts.failed === 0) ? 1 : 0;
  const lines = output.split("\n");
  return {
    name: file,
    seconds,
    passed: Math.max(0, counts.tests - counts.failed - counts.skipped),
    failed: counts.failed + broken,
    skipped: counts.skipped,
    reasons: counts.skipped === 0 ? [] : [...new Set(lines.filter((line) => line.startsWith("needs ")))],
    told: lines.filter((line) => line.startsWith("» ")),
    output,
  };
}

/** Totals of a JUnit report: the attributes of its root. */
function countsOf(report: string): { readonly tests: number; readonly failed: number; readonly skipped: number } {
  const head = /<testsuites\b[^>]*>/.exec(report)?.[0] ?? "";
  const read = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  return { tests: read("tests"), failed: read("failures") + read("errors"), skipped: read("skipped") };
}

async function lastTimes(): Promise<ReadonlyMap<string, number>> {
  if (!existsSync(TIMES)) return new Map();
  const times: unknown = await Bun.file(TIMES).json();
  return new Map(
    Object.entries(typeof times === "object" && times !== null ? times : {}).map(([file, seconds]) => [
      file,
      Number(seconds),
    ]),
  );
}

/** Longest first; a suite that never ran counts by its kind. */
function order(files: readonly string[], times: ReadonlyMap<string, number>): string[] {
  const guess = (file: string): number =>
    times.get(file) ?? (/^test\/(e2e|mcp|shell)\//.test(file) ? 30 : file.startsWith("test/git/") ? 10 : 1);
  return files.toSorted((a, b) => guess(b) - guess(a) || (a < b ? -1 : 1));
}

async function runSuites(files: readonly string[], atOnce: number, scratch: string): Promise<Result[]> {
  const waiting = files.slice();
  const results: Result[] = [];
  const worker = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runSuite(file, scratch);
      show(result);
      results.push(result);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

function show(result: Result): void {
  const { name, seconds, passed, failed, skipped, output, told } = result;
  const counts = [
    passed > 0 ? `${passed} passed` : "",
    failed > 0 ? `${failed} failed` : "",
    skipped > 0 ? `${skipped} skipped` : "",
  ];
  console.log(
    `${failed > 0 ? "FAIL" : "ok  "} ${seconds.toFixed(1).padStart(6)} s  ${name}  ${counts.filter((part) => part !== "").join(", ")}`.trimEnd(),
  );
  for (const line of told) console.log(`                ${line.slice(2)}`);
  if (failed > 0) console.log(output.trimEnd().replace(/^/gm, "     | "));
}

// ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const binary = join(root, "dist", "test", process.platform === "win32" ? "dotbot.exe" : "dotbot");
const words = process.argv.slice(2);
const began = performance.now();
const results: Result[] = [];

if (words.length === 0) {
  const checks = await Promise.all(CHECKS.map(runCheck));
  for (const result of checks) show(result);
  results.push(...checks);
}
const built = await build();
show(built);
results.push(built);

if (built.failed === 0) {
  const found = [...new Bun.Glob("test/**/*.test.ts").scanSync({ cwd: root })].map((file) =>
    relative(root, join(root, file)),
  );
  const chosen = words.length === 0 ? found : found.filter((file) => words.some((word) => file.includes(word)));
  const times = await lastTimes();
  const alone = (file: string): boolean => file.endsWith(".alone.test.ts");
  const scratch = await mkdtemp(join(tmpdir(), "dotbot-tests-"));
  // Some tests run the program as another user, who has to get there.
  await chmod(scratch, 0o755);
  try {
    results.push(
      ...(await runSuites(
        order(
          chosen.filter((file) => !alone(file)),
          times,
        ),
        AT_ONCE,
        scratch,
      )),
    );
    results.push(...(await runSuites(order(chosen.filter(alone), times), 1, scratch)));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  const suites = results.filter((result) => result.name.startsWith("test/"));
  await Bun.write(
    TIMES,
    `${JSON.stringify({ ...Object.fromEntries(times), ...Object.fromEntries(suites.map(({ name, seconds }) => [name, Number(seconds.toFixed(1))])) }, null, 2)}\n`,
  );
}

const total = (of: (result: Result) => number): number => results.reduce((sum, result) => sum + of(result), 0);
const skipped = total((result) => result.skipped);
console.log(`\n${((performance.now() - began) / 1000).toFixed(0)} s; the longest:`);
for (const { name, seconds } of results.toSorted((a, b) => b.seconds - a.seconds).slice(0, 15)) {
  console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${name}`);
}
if (skipped > 0) {
  console.log(`\n${skipped} skipped:`);
  for (const { name, reasons, skipped: n } of results) {
    if (n > 0) console.log(`  ${name}: ${n}${reasons.length === 0 ? ", no reason given" : ` (${reasons.join("; ")})`}`);
  }
}
const failures = results.filter((result) => result.failed > 0);
if (failures.length > 0) console.log(`\nfailed: ${failures.map((result) => result.name).join(", ")}`);
const failed = total((result) => result.failed);
console.log(`\n${total((result) => result.passed)} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
