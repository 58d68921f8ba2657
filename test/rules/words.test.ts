/** An operation speaks of commands; where tools are spoken of, cmd/mcp/wording.ts makes tools of them. */
import { expect, test } from "bun:test";

import { toolName, type AnyOperation } from "../../lib/op.ts";
import { allOperations, NOUNS } from "../../lib/ops.ts";

const operations = await allOperations(NOUNS);
/** Tools whose name is no word that one could mean otherwise. */
const tools = operations.map(toolName).filter((name) => name.includes("_"));

/** Everything that a schema says of itself, however deep. */
function descriptions(value: unknown, seen = new Set<unknown>()): readonly string[] {
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  const own = "description" in value && typeof value.description === "string" ? [value.description] : [];
  return [...own, ...Object.values(value).flatMap((inner) => descriptions(inner, seen))];
}

function textsOf(op: AnyOperation): readonly string[] {
  return [
    op.summary,
    op.details ?? "",
    ...op.examples.flatMap(({ run, does }) => [run, does]),
    ...descriptions(op.input),
    ...descriptions(op.output),
  ];
}

test("no text of an operation names a tool", () => {
  const named = operations.flatMap((op) =>
    textsOf(op).flatMap((text) =>
      tools.filter((tool) => new RegExp(`\\b${tool}\\b`).test(text)).map((tool) => `${op.name}: ${tool} in "${text}"`),
    ),
  );
  expect(named).toEqual([]);
});

test("the texts are looked at as deep as they go", () => {
  const done = operations.find(({ name }) => name === "task done");
  expect(done === undefined ? [] : textsOf(done)).toEqual(
    expect.arrayContaining([
      expect.stringContaining("`dotbot wt complete`"),
      expect.stringContaining("false: verification failed"),
    ]),
  );
});
