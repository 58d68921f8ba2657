/**
 * What `--json` prints, operation by operation, against test/golden: a change there is a change for every program that reads
 * it. `DOTBOT_UPDATE_GOLDEN=1 bun test test/e2e/golden.test.ts` writes the files anew, for the diff to be read.
 *
 * Each is the answer to the operation's scene in golden-scenes.ts, or else to its first example. What differs from run to
 * run has a word in its place.
 */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { toolName, type AnyOperation } from "../../lib/op.ts";
import { allOperations } from "../../lib/ops.ts";
import { ELSEWHERE, preparation } from "../kit/examples.ts";
import { openSandbox } from "../kit/sandbox.ts";
import { openSession } from "../mcp/kit.ts";
import { SCENES, type Scene } from "./golden-scenes.ts";

const folder = join(import.meta.dir, "..", "golden");
const updates = process.env["DOTBOT_UPDATE_GOLDEN"] === "1";

const PATTERNS: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/\b[0-9a-f]{7,64}\b/g, "HEX"],
  [/\b\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:[.-]\d+)?Z/g, "TIME"],
  [/\b\d{4}-\d\d-\d\d\b/g, "DAY"],
  [/\bgit version [\d.]+[^"\s]*|\b\d+\.\d+\.\d+\b/g, "VERSION"],
];

/** Members whose values are measured, or say where the test runs. */
const MEASURED = /(?:ms|pid|seconds|bytes|size|elapsed|host|hostname|version)$/i;

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

/** An answer as it is every time; ids are numbered as they appear, so that it still shows which is which. */
function steady(answer: unknown, root: string): unknown {
  const ids: string[] = [];
  const numbered = (id: string): string => {
    if (!ids.includes(id)) ids.push(id);
    return `ID-${ids.indexOf(id) + 1}`;
  };
  const text = (value: string): string =>
    PATTERNS.reduce(
      (changed, [pattern, word]) => changed.replace(pattern, word),
      value.replaceAll(root, "ROOT").replace(UUID, numbered),
    );
  const visit = (value: unknown, key: string): unknown => {
    if (typeof value === "string") return /host/i.test(key) ? "HOST" : text(value);
    if (typeof value === "number") return MEASURED.test(key) ? 0 : value;
    if (Array.isArray(value)) return value.map((item) => visit(item, ""));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [text(name), visit(member, name)]));
  };
  return visit(answer, "");
}

/** What is run: an operation's scene, or else its first example. */
function sceneOf(op: AnyOperation): Scene | null {
  const example = op.examples.find(({ run }) => !ELSEWHERE.some(([start]) => run.startsWith(start)));
  return SCENES[op.name] ?? (example === undefined ? null : { given: preparation(op, example), run: example.run });
}

interface Recorded {
  readonly run: string;
  readonly status?: number;
  readonly answer: unknown;
}

async function record(op: AnyOperation, { given, run, call = {} }: Scene): Promise<Recorded> {
  await using sandbox = await openSandbox();
  const before = await sandbox.sh(`{ :\n${given}\n} >/dev/null`);
  if (before.status !== 0) throw new Error(`what comes before ${op.name} failed:\n${given}\n${before.stderr}`);
  if (run !== undefined) {
    const { status, stdout } = await sandbox.sh(`dotbot --json ${run}`);
    return { run: `dotbot --json ${run}`, status, answer: steady(JSON.parse(stdout), sandbox.root) };
  }
  await using session = await openSession({ cwd: sandbox.main, args: ["--toolsets", "all"] });
  await session.handshake();
  const result = await session.call(toolName(op), { ...call, dir: sandbox.main });
  return { run: toolName(op), answer: steady(result["structuredContent"] ?? result, sandbox.root) };
}

const operations = await allOperations();
const fileOf = (name: string): string => `${name.replaceAll(" ", "-")}.json`;
const HOW = `What it prints is what programs read. If the change is meant: DOTBOT_UPDATE_GOLDEN=1 bun test test/e2e/golden.test.ts,
and a line in CHANGELOG.md. If it has no scene that can be run: give it one in test/e2e/golden-scenes.ts.`;

test.each(operations.map((op) => [op.name, op] as const))("%s", async (name, op) => {
  const scene = sceneOf(op);
  expect(scene, HOW).not.toBeNull();
  if (scene === null) return;
  const path = join(folder, fileOf(name));
  const text = `${JSON.stringify(await record(op, scene), null, 2)}\n`;
  if (updates) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, text);
  }
  expect(text, HOW).toBe(existsSync(path) ? readFileSync(path, "utf8") : "");
});

test("no file is left of an operation that is gone, and no scene", () => {
  const names = operations.map(({ name }) => name);
  expect((existsSync(folder) ? readdirSync(folder) : []).filter((file) => !names.map(fileOf).includes(file))).toEqual(
    [],
  );
  expect(Object.keys(SCENES).filter((name) => !names.includes(name))).toEqual([]);
});
