import { describe, expect, test } from "bun:test";

import type { Graph, GraphNode } from "../../lib/task/graph.ts";
import { BOX, layoutOf, type Layout } from "../../lib/task/graph-layout.ts";

/** `"a0 b1 c2"`: tasks and their layers; `"b>a c>b"`: b waits for a, c for b. */
function graph(tasks: string, edges = "", criticalPath = ""): Graph {
  const words = (text: string): string[] => text.split(" ").filter((word) => word !== "");
  const nodes = words(tasks).map((word): GraphNode => {
    const id = word.slice(0, 1);
    return {
      id,
      name: id,
      status: "todo",
      priority: 50,
      layer: Number(word.slice(1)),
      critical: criticalPath.includes(id),
    };
  });
  return {
    nodes,
    edges: words(edges).map((word) => ({ from: word.slice(0, 1), to: word.slice(2) })),
    cycles: [],
    missing: [],
    criticalPath: words(criticalPath),
  };
}

const drawn = ({ lines }: Layout): string =>
  lines.map(({ from, to, lanes }) => `${from}>${to}${lanes.length > 0 ? `/${lanes.length}` : ""}`).join(" ");

describe("which lines are drawn, and through how many columns", () => {
  test.each([
    ["one", "a0 b1", "b>a", "b>a", 0],
    ["what follows from others isn't", "a0 b1 c2", "b>a c>b c>a", "b>a c>b", 1],
    ["nor over several", "a0 b1 c2 d3", "b>a c>b d>c d>a", "b>a c>b d>c", 1],
    ["a long one that nothing replaces", "a0 x0 b1 c2", "b>x c>b c>a", "b>x c>b c>a/1", 0],
    ["those of a cycle all are", "a0 b0 c1", "a>b b>a c>a c>b", "a>b b>a c>a c>b", 0],
    ["a task that waits for itself", "a0", "a>a", "a>a", 0],
    ["none", "a0 b0", "", "", 0],
    ["an empty queue", "", "", "", 0],
  ])("%s", (_, tasks, edges, lines, implied) => {
    const layout = layoutOf(graph(tasks, edges));
    expect(drawn(layout)).toBe(lines);
    expect(layout.implied).toBe(implied);
  });
});

test("only neighbours on the longest way are on it", () => {
  const layout = layoutOf(graph("a0 b1 c2 d3", "b>a c>b d>c", "a b c d"));
  expect(layout.lines.map(({ critical }) => critical)).toEqual([true, true, true]);
  const short = layoutOf(graph("a0 x0 b1 c2", "b>x c>b c>a", "x b c"));
  expect(short.lines.filter(({ critical }) => critical).map(({ from, to }) => `${from}>${to}`)).toEqual(["b>x", "c>b"]);
});

describe("places", () => {
  const letters = "abcdefghijklmnopqrstuvwxyz".split("");
  // A fan out, a fan in, and lines past columns.
  const wide = graph(
    letters.map((letter, i) => `${letter}${Math.floor(i / 6)}`).join(" "),
    letters
      .flatMap((letter, i) => (i < 6 ? [] : [`${letter}>${letters[i % 6]}`, `${letter}>${letters[i - 6]}`]))
      .join(" "),
  );
  const layout = layoutOf(wide);

  test("boxes don't overlap, and all is inside", () => {
    for (const a of layout.boxes) {
      expect(a.x).toBeGreaterThanOrEqual(BOX.margin);
      expect(a.y).toBeGreaterThanOrEqual(BOX.margin - 0.001);
      expect(a.x + BOX.width + BOX.margin).toBeLessThanOrEqual(layout.width);
      expect(a.y + BOX.height + BOX.margin).toBeLessThanOrEqual(layout.height + 0.001);
      for (const b of layout.boxes) {
        if (a.node.id < b.node.id && a.x === b.x)
          expect(Math.abs(a.y - b.y)).toBeGreaterThanOrEqual(BOX.height + BOX.gapY - 0.001);
      }
    }
  });

  test("no line runs behind a box", () => {
    for (const { lanes } of layout.lines) {
      for (const lane of lanes) {
        for (const { x, y } of layout.boxes) {
          if (x === lane.x) expect(lane.y < y || lane.y > y + BOX.height).toBe(true);
        }
      }
    }
  });

  test("are the same every time", () => {
    expect(layoutOf(wide)).toEqual(layout);
  });

  test("a chain is a straight line", () => {
    expect(new Set(layoutOf(graph("a0 b1 c2 d3", "b>a c>b d>c")).boxes.map(({ y }) => y)).size).toBe(1);
  });
});
