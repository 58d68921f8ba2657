/**
 * What `--json` prints, operation by operation, against test/golden: a change there is a change for every program that reads
 * it. `DOTBOT_UPDATE_GOLDEN=1 bun test test/e2e/golden.test.ts` writes the files anew, for the diff to be read.
 *
 * Each is the answer to the operation's first example. What differs from run to run has a word in its place.
 */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { onSurface, type AnyOperation, type Example } from "../../lib/op.ts";
import { allOperations } from "../../lib/ops.ts";
import { ELSEWHERE, preparation } from "../kit/examples.ts";
import { openSandbox } from "../kit/sandbox.ts";

const folder = join(import.meta.dir, "..", "golden");
const updates = process.env["DOTBOT_UPDATE_GOLDEN"] === "1";

const PATTERNS: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "ID"],
  [/\b[0-9a-f]{7,64}\b/g, "HEX"],
  [/\b\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:[.-]\d+)?Z/g, "TIME"],
  [/\b\d{4}-\d\d-\d\d\b/g, "DAY"],
  [/\bgit version [\d.]+[^"\s]*|\b\d+\.\d+\.\d+\b/g, "VERSION"],
];

/** Members whose values are measured, or say where the test runs. */
const MEASURED = /(?:ms|pid|seconds|bytes|size|elapsed|host|hostname|version)$/i;

function steady(value: unknown, root: string, key = ""): unknown {
  if (typeof value === "string") {
    if (/host/i.test(key)) return "HOST";
    return PATTERNS.reduce((text, [pattern, word]) => text.replace(pattern, word), value.replaceAll(root, "ROOT"));
  }
  if (typeof value === "number") return MEASURED.test(key) ? 0 : value;
  if (Array.isArray(value)) return value.map((item) => steady(item, root));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [String(steady(name, root)), steady(member, root, name)]),
  );
}

const rows = (await allOperations())
  .filter((op) => onSurface(op, "cli"))
  .flatMap((op): [string, AnyOperation, Example][] => {
    const example = op.examples.find(({ run }) => !ELSEWHERE.some(([start]) => run.startsWith(start)));
    return example === undefined ? [] : [[op.name, op, example]];
  });
const fileOf = (name: string): string => `${name.replaceAll(" ", "-")}.json`;

test.each(rows)("%s", async (name, op, example) => {
  await using sandbox = await openSandbox();
  await sandbox.sh(preparation(op, example));
  const { status, stdout } = await sandbox.sh(`dotbot --json ${example.run}`);
  const answer = { run: `dotbot --json ${example.run}`, status, answer: steady(JSON.parse(stdout), sandbox.root) };
  const path = join(folder, fileOf(name));
  const text = `${JSON.stringify(answer, null, 2)}\n`;
  if (updates) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, text);
  }
  expect(text).toBe(existsSync(path) ? readFileSync(path, "utf8") : "");
});

test("no file is left of an operation that is gone", () => {
  const known = new Set(rows.map(([name]) => fileOf(name)));
  expect((existsSync(folder) ? readdirSync(folder) : []).filter((file) => !known.has(file))).toEqual([]);
});
