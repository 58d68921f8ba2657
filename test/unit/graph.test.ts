/** The dependency graph: layers, cycles, the longest open path, and its pictures. */
import { describe, expect, test } from "bun:test";

import { graphOf, type Graph } from "../../lib/task/graph.ts";
import { drawGraph, graphText } from "../../lib/task/graph-draw.ts";
import type { TaskRow } from "../../lib/task/ledger.ts";
import { factsOf, fileName, id8, type Status } from "../../lib/task/model.ts";
import { PLAIN } from "../../lib/text.ts";

/** `"a < b c !done"`: the task a waits for b and c, and is done. */
function rows(...specs: readonly string[]): TaskRow[] {
  return specs.map((spec): TaskRow => {
    const [, name = "", needs = "", status = "todo"] = /^(\w+)(?: <((?: \w+)*))?(?: !(\S+))?$/.exec(spec) ?? [];
    const id = `${name.codePointAt(0)?.toString(16).padStart(8, "0") ?? ""}-0000-4000-8000-000000000000`;
    const dependencies = needs.trim() === "" ? [] : needs.trim().split(" ");
    return {
      ...factsOf(id, { name, dependencies }),
      id8: id8(id),
      file: fileName(name, id),
      place: "view",
      status: status as Status,
      rev: 1,
      hash: "",
      size: 0,
      mtimeMs: null,
    };
  });
}

function graph(...specs: readonly string[]): Graph {
  const all = rows(...specs);
  return graphOf(all, all);
}

const cases: readonly [
  does: string,
  specs: readonly string[],
  layers: string,
  critical: string,
  cycles: readonly string[],
  missing: readonly string[],
][] = [
  ["nothing", [], "", "", [], []],
  ["tasks on their own have no path", ["a", "b"], "a0 b0", "", [], []],
  ["a chain", ["c < b", "b < a", "a"], "a0 b1 c2", "a b c", [], []],
  ["a diamond", ["d < b c", "b < a", "c < a", "a"], "a0 b1 c1 d2", "a b d", [], []],
  ["the longer of two ways", ["d < a c", "c < b", "b < a", "a"], "a0 b1 c2 d3", "a b c d", [], []],
  ["what is done isn't on the way", ["c < b", "b < a", "a !done"], "a0 b1 c2", "b c", [], []],
  ["a cycle is one layer, and has no length", ["a < b", "b < a", "c < a"], "a0 b0 c1", "", ["a b"], []],
  ["a task that waits for itself", ["a < a"], "a0", "", ["a"], []],
  ["a dependency that doesn't exist", ["a < z"], "a0", "", [], ["a z"]],
  ["the same dependency twice is one edge", ["b < a a", "a"], "a0 b1", "a b", [], []],
];

test.each(cases)("%s", (_, specs, layers, critical, cycles, missing) => {
  const found = graph(...specs);
  const name = (id: string): string => String.fromCodePoint(Number.parseInt(id.slice(0, 8), 16));
  expect(found.nodes.map((node) => `${node.name}${node.layer}`).join(" ")).toBe(layers);
  expect(found.criticalPath.map(name).join(" ")).toBe(critical);
  expect(found.cycles.map((cycle) => cycle.map(name).join(" "))).toEqual([...cycles]);
  expect(found.missing.map(({ id, word }) => `${name(id)} ${word}`)).toEqual([...missing]);
  expect(new Set(found.edges.map(({ from, to }) => `${from} ${to}`)).size).toBe(found.edges.length);
});

test("a chain of 20,000 is no matter of stack", () => {
  const length = 20_000;
  const chain = Array.from({ length }, (_, i): TaskRow => {
    const id = `${i.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
    const next = `${(i + 1).toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
    return {
      ...factsOf(id, { name: `t${i}`, dependencies: i + 1 < length ? [next] : [] }),
      id8: id8(id),
      file: "",
      place: "view",
      status: "todo",
      rev: 1,
      hash: "",
      size: 0,
      mtimeMs: null,
    };
  });
  expect(graphOf(chain, chain).criticalPath).toHaveLength(length);
});

describe("pictures", () => {
  const found = graph("b < a z", "a !done");

  test("text", () => {
    expect(graphText(found, PLAIN, (status) => status)).toBe(
      "first\n    00000061  a (done)\n\nthen\n    00000062  b (todo)\n              ← 00000061\n              ← z, which means no single task\n",
    );
  });

  test("text fits the screen: what others imply is left out, and what is too much counted", () => {
    const many = "abcdefghij".split("");
    const gate = graph(`z < ${many.join(" ")}`, ...many, `y < z ${many.join(" ")}`);
    expect(graphText(gate, { color: false, width: 50 }, (status) => status)).toEndWith(
      [
        "then",
        "  * 0000007a  z (todo)",
        "              ← 00000061, 00000062, and 8 more",
        "",
        "then",
        "  * 00000079  y (todo)",
        "              ← 0000007a",
        "",
        "longest way (*): 00000061 → 0000007a → 00000079",
        "",
      ].join("\n"),
    );
  });

  test("mermaid", () => {
    expect(drawGraph(found, "mermaid")).toBe(
      [
        "flowchart LR",
        '  t00000061["a<br/>done"]:::done',
        '  t00000062["b<br/>todo"]:::todo',
        "  t00000061 --> t00000062",
        "  classDef done fill:#b2f2bb,color:#1b5e20",
        "  classDef todo fill:#f1f3f5,color:#212529",
        "",
      ].join("\n"),
    );
  });

  test("dot", () => {
    expect(drawGraph(found, "dot")).toContain(
      '  "00000061-0000-4000-8000-000000000000" -> "00000062-0000-4000-8000-000000000000";',
    );
  });

  test("svg and html are the same every time, well-formed, and fetch nothing", () => {
    for (const format of ["svg", "html"] as const) {
      const picture = drawGraph(found, format);
      expect(drawGraph(found, format)).toBe(picture);
      expect(picture.match(/class="task"/g)).toHaveLength(2);
      expect(picture).not.toMatch(/(?:src|href)=/);
    }
  });

  test.each(['"<script>alert(1)</script>"', "a & b", "back\\slash"])("the name %s can't break out", (name) => {
    const named = { ...found, nodes: found.nodes.map((node) => ({ ...node, name })) };
    for (const format of ["svg", "html", "mermaid"] as const)
      expect(drawGraph(named, format)).not.toContain("<script>alert");
    expect(drawGraph(named, "dot")).not.toMatch(/[^\\]"<script>/);
  });
});
