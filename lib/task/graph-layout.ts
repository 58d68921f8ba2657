/**
 * Pure: where everything of a dependency graph's picture goes. Columns are layers, from left to right. An edge that passes
 * columns gets a lane of its own in each, which all edges out of one task share, so that no line runs behind a box. The
 * same graph always gives the same layout.
 */
import { READABLE, withoutImplied, type Graph, type GraphNode } from "./graph.ts";

/** Pixels. */
export const BOX = { width: 240, height: 58, gapX: 72, gapY: 18, lane: 8, margin: 24 } as const;

export interface Placed {
  readonly node: GraphNode;
  /** Upper left corner. */
  readonly x: number;
  readonly y: number;
}

export interface Line {
  /** Ids: `from` waits for `to`, and the line is drawn from `to` to `from`. */
  readonly from: string;
  readonly to: string;
  /** Whether it lies on the longest way. */
  readonly critical: boolean;
  readonly start: Point;
  /** One for each column that the line passes: its left end. The lane is as wide as a box. */
  readonly lanes: readonly Point[];
  readonly end: Point;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly boxes: readonly Placed[];
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
  /** How many edges aren't drawn because others already say so: a waits for c, where a waits for b and b for c. */
  readonly implied: number;
}

const SWEEPS = 8;

/** A box, or a lane: where the edges out of one task pass a column. */
interface Cell {
  readonly key: string;
  readonly node: GraphNode | null;
  readonly layer: number;
  readonly before: Cell[];
  readonly after: Cell[];
  /** Of its middle. */
  y: number;
}

export function layoutOf(graph: Graph): Layout {
  // Beyond that nobody follows a line by eye, and lanes would cost too much: lines are drawn straight through.
  const small = graph.nodes.length <= READABLE;
  const edges = withoutImplied(graph);
  const cells = new Map<string, Cell>();
  const columns: Cell[][] = [];
  const cellAt = (key: string, layer: number, node: GraphNode | null): Cell => {
    const known = cells.get(key);
    if (known !== undefined) return known;
    const cell: Cell = { key, node, layer, before: [], after: [], y: 0 };
    cells.set(key, cell);
    (columns[layer] ??= []).push(cell);
    return cell;
  };
  const boxOf = new Map(graph.nodes.map((node) => [node.id, cellAt(node.id, node.layer, node)]));

  const ways = edges.flatMap((edge) => {
    const [start, end] = [boxOf.get(edge.to), boxOf.get(edge.from)];
    if (start === undefined || end === undefined) return [];
    const lanes: Cell[] = [];
    let last = start;
    const step = (next: Cell): void => {
      if (!last.after.includes(next)) {
        last.after.push(next);
        next.before.push(last);
      }
      last = next;
    };
    const passed = small ? Math.max(0, end.layer - start.layer - 1) : 0;
    for (let layer = start.layer + 1; layer <= start.layer + passed; layer++) {
      const lane = cellAt(`${start.key} ${layer}`, layer, null);
      lanes.push(lane);
      step(lane);
    }
    // Edges within a layer, of cycles, say nothing about the order of columns.
    if (small && end.layer > start.layer) step(end);
    return [{ edge, start, lanes, end }];
  });

  arrange(columns);
  const x = (cell: Cell): number => BOX.margin + cell.layer * (BOX.width + BOX.gapX);
  const all = [...cells.values()];
  return {
    boxes: all.flatMap((cell) =>
      cell.node === null ? [] : [{ node: cell.node, x: x(cell), y: cell.y - BOX.height / 2 }],
    ),
    lines: ways.map(({ edge, start, lanes, end }) => ({
      ...edge,
      critical:
        start.node?.critical === true && end.node?.critical === true && end.layer > start.layer && follows(graph, edge),
      start: { x: x(start) + BOX.width, y: start.y },
      lanes: lanes.map((lane) => ({ x: x(lane), y: lane.y })),
      end: { x: x(end), y: end.y },
    })),
    width: Math.max(1, columns.length) * (BOX.width + BOX.gapX) - BOX.gapX + 2 * BOX.margin,
    height: all.reduce((lowest, cell) => Math.max(lowest, cell.y + heightOf(cell) / 2), 0) + BOX.margin,
    implied: graph.edges.length - edges.length,
  };
}

/** Whether the two are neighbours on the longest way, not merely both on it. */
function follows(graph: Graph, { from, to }: Graph["edges"][number]): boolean {
  const at = graph.criticalPath.indexOf(to);
  return at !== -1 && graph.criticalPath[at + 1] === from;
}

// ── where in its column ──────────────────────────────────────────────────────────────────────────────────────────────

/** Gives every cell its height: first the order within columns, so that lines seldom cross, then places, so that they run straight. */
function arrange(columns: readonly Cell[][]): void {
  for (const column of columns) stack(column);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const [side, order] = sweep % 2 === 0 ? (["before", columns] as const) : (["after", columns.toReversed()] as const);
    for (const column of order) {
      const wishes = new Map(column.map((cell) => [cell, middle(cell[side]) ?? cell.y]));
      column.sort((a, b) => (wishes.get(a) ?? 0) - (wishes.get(b) ?? 0));
      stack(column);
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const column of sweep % 2 === 0 ? columns : columns.toReversed()) {
      settle(column, (cell) => middle([...cell.before, ...cell.after]) ?? cell.y);
    }
  }
  const tops = columns.flatMap(([first]) => (first === undefined ? [] : [first.y - heightOf(first) / 2]));
  const shift = BOX.margin - tops.reduce((least, top) => Math.min(least, top), Infinity);
  for (const column of columns) for (const cell of column) cell.y += shift;
}

function heightOf(cell: Cell): number {
  return cell.node === null ? BOX.lane : BOX.height;
}

/** Between the middles of two cells, the one below the other. */
function distance(above: Cell, below: Cell): number {
  const gap = above.node === null && below.node === null ? BOX.lane : BOX.gapY;
  return (heightOf(above) + heightOf(below)) / 2 + gap;
}

function middle(cells: readonly Cell[]): number | null {
  return cells.length === 0 ? null : cells.reduce((sum, cell) => sum + cell.y, 0) / cells.length;
}

/** One below the other, centred on 0. */
function stack(column: readonly Cell[]): void {
  let y = 0;
  for (const [i, cell] of column.entries()) {
    const above = column[i - 1];
    y += above === undefined ? 0 : distance(above, cell);
    cell.y = y;
  }
  for (const cell of column) cell.y -= y / 2;
}

/**
 * As near to their wishes as order and distances allow: the least sum of squares, found by merging neighbours that push each
 * other (isotonic regression). Lanes weigh more than boxes: it is bends in them that catch the eye.
 */
function settle(column: readonly Cell[], wish: (cell: Cell) => number): void {
  const blocks: { sum: number; weight: number; size: number }[] = [];
  const offsets: number[] = [];
  for (const [i, cell] of column.entries()) {
    const above = column[i - 1];
    offsets.push((offsets[i - 1] ?? 0) + (above === undefined ? 0 : distance(above, cell)));
    const weight = cell.node === null ? 4 : 1;
    let block = { sum: (wish(cell) - (offsets[i] ?? 0)) * weight, weight, size: 1 };
    for (
      let last = blocks.at(-1);
      last !== undefined && last.sum / last.weight > block.sum / block.weight;
      last = blocks.at(-1)
    ) {
      blocks.pop();
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, size: last.size + block.size };
    }
    blocks.push(block);
  }
  let i = 0;
  for (const { sum, weight, size } of blocks) {
    for (const cell of column.slice(i, i + size)) {
      cell.y = sum / weight + (offsets[i] ?? 0);
      i += 1;
    }
  }
}
