/** Pure: pictures of a dependency graph, for terminals, for Mermaid and Graphviz, and as an image that stands alone. */
import { displayWidth, paint, truncate, type Style } from "../text.ts";
import type { Graph, GraphNode } from "./graph.ts";
import { isClosed, type Status } from "./model.ts";

export const GRAPH_FORMATS = ["text", "json", "mermaid", "dot", "svg", "html"] as const;
export type GraphFormat = (typeof GRAPH_FORMATS)[number];

/** Fill and ink of a status; readable on white and on black. */
const COLORS: Readonly<Record<Status, readonly [fill: string, ink: string]>> = {
  todo: ["#f1f3f5", "#212529"],
  analysing: ["#d0ebff", "#1864ab"],
  analysed: ["#a5d8ff", "#1864ab"],
  "in-progress": ["#ffec99", "#5c4400"],
  "needs-input": ["#eebefa", "#6b1a7d"],
  "needs-review": ["#e5dbff", "#4c2a85"],
  done: ["#b2f2bb", "#1b5e20"],
  failed: ["#ffc9c9", "#8b1a1a"],
  skipped: ["#dee2e6", "#495057"],
  split: ["#dee2e6", "#495057"],
  cancelled: ["#dee2e6", "#495057"],
};

export function drawGraph(graph: Graph, format: Exclude<GraphFormat, "json" | "text">): string {
  switch (format) {
    case "mermaid":
      return mermaid(graph);
    case "dot":
      return dot(graph);
    case "svg":
      return svg(graph);
    case "html":
      return html(graph);
  }
}

function short(id: string): string {
  return id.slice(0, 8);
}

/** Layer by layer, each task with what it waits for. */
export function graphText(graph: Graph, style: Style, paintStatus: (status: string) => string): string {
  const needs = new Map<string, string[]>();
  for (const { from, to } of graph.edges) needs.set(from, [...(needs.get(from) ?? []), short(to)]);
  const words = new Map<string, string[]>();
  for (const { id, word } of graph.missing) words.set(id, [...(words.get(id) ?? []), word]);
  let text = "";
  let layer = -1;
  for (const node of graph.nodes) {
    if (node.layer !== layer) {
      layer = node.layer;
      text += `${layer === 0 ? "" : "\n"}${paint(style, "bold", layer === 0 ? "first" : "then")}\n`;
    }
    const on = needs.get(node.id) ?? [];
    const missing = words.get(node.id) ?? [];
    text += `  ${node.critical ? "*" : " "} ${short(node.id)}  ${node.name} (${paintStatus(node.status)})`;
    if (on.length > 0) text += paint(style, "dim", `  ← ${on.join(", ")}`);
    if (missing.length > 0) text += paint(style, "red", `  ← ${missing.map((word) => `${word}?`).join(", ")}`);
    text += "\n";
  }
  for (const cycle of graph.cycles)
    text += paint(style, "red", `\ncycle: ${[...cycle, ...cycle.slice(0, 1)].map(short).join(" → ")}`) + "\n";
  if (graph.criticalPath.length > 1) text += `\nlongest way (*): ${graph.criticalPath.map(short).join(" → ")}\n`;
  return text;
}

// ── languages of other programs ──────────────────────────────────────────────────────────────────────────────────────

function mermaid(graph: Graph): string {
  const lines = ["flowchart LR"];
  for (const node of graph.nodes)
    lines.push(`  t${short(node.id)}["${mermaidText(node.name)}<br/>${node.status}"]:::${className(node.status)}`);
  for (const { from, to } of graph.edges) lines.push(`  t${short(to)} --> t${short(from)}`);
  for (const status of new Set(graph.nodes.map((node) => node.status))) {
    lines.push(`  classDef ${className(status)} fill:${COLORS[status][0]},color:${COLORS[status][1]}`);
  }
  return `${lines.join("\n")}\n`;
}

function className(status: Status): string {
  return status.replaceAll("-", "_");
}

function mermaidText(text: string): string {
  return text.replace(/[#"<>`&]/g, (c) => `#${c.charCodeAt(0)};`);
}

function dot(graph: Graph): string {
  const lines = [
    "digraph tasks {",
    '  rankdir="LR";',
    '  node [shape="box", style="filled,rounded", fontname="sans-serif"];',
  ];
  for (const node of graph.nodes) {
    const [fill, ink] = COLORS[node.status];
    lines.push(
      `  "${node.id}" [label="${dotText(node.name)}\\n${node.status}", fillcolor="${fill}", fontcolor="${ink}"${node.critical ? ", penwidth=2" : ""}];`,
    );
  }
  for (const { from, to } of graph.edges) lines.push(`  "${to}" -> "${from}";`);
  return `${[...lines, "}"].join("\n")}\n`;
}

function dotText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}

// ── an image ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const BOX = { width: 220, height: 48, gapX: 70, gapY: 18, margin: 24 } as const;

interface Placed {
  readonly node: GraphNode;
  readonly x: number;
  readonly y: number;
}

/** Columns by layer; within one, tasks near the middle of what they wait for, so that lines seldom cross. */
function layout(graph: Graph): readonly Placed[] {
  const needs = new Map<string, string[]>();
  for (const { from, to } of graph.edges) needs.set(from, [...(needs.get(from) ?? []), to]);
  const row = new Map<string, number>();
  const placed: Placed[] = [];
  const deepest = graph.nodes.at(-1)?.layer ?? 0;
  for (let layer = 0; layer <= deepest; layer++) {
    const column = graph.nodes.filter((node) => node.layer === layer);
    const wish = (node: GraphNode): number => {
      const rows = (needs.get(node.id) ?? []).map((id) => row.get(id)).filter((at) => at !== undefined);
      return rows.length === 0 ? Infinity : rows.reduce((sum, at) => sum + at, 0) / rows.length;
    };
    const wishes = new Map(column.map((node) => [node.id, wish(node)]));
    const ordered =
      layer === 0 ? column : column.toSorted((a, b) => compare(wishes.get(a.id) ?? 0, wishes.get(b.id) ?? 0));
    for (const [i, node] of ordered.entries()) {
      row.set(node.id, i);
      placed.push({
        node,
        x: BOX.margin + layer * (BOX.width + BOX.gapX),
        y: BOX.margin + i * (BOX.height + BOX.gapY),
      });
    }
  }
  return placed;
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function svg(graph: Graph): string {
  const placed = layout(graph);
  const width = Math.max(0, ...placed.map(({ x }) => x)) + BOX.width + BOX.margin;
  const height = Math.max(0, ...placed.map(({ y }) => y)) + BOX.height + BOX.margin;
  const at = new Map(placed.map((place) => [place.node.id, place]));
  const lines = graph.edges.flatMap(({ from, to }) => {
    const start = at.get(to);
    const end = at.get(from);
    if (start === undefined || end === undefined) return [];
    const [x1, y1, x2, y2] = [start.x + BOX.width, start.y + BOX.height / 2, end.x, end.y + BOX.height / 2];
    const bend = BOX.gapX / 2;
    const strong = start.node.critical && end.node.critical ? ' class="critical"' : "";
    return [
      `<path${strong} d="M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}" marker-end="url(#arrow)"/>`,
    ];
  });
  const boxes = placed.map(({ node, x, y }) => {
    const [fill, ink] = COLORS[node.status];
    const strong = node.critical ? ' stroke-width="2.5"' : "";
    return [
      `<g><title>${xml(`${node.name}\n${node.id}\n${node.status}, priority ${node.priority}`)}</title>`,
      `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" fill="${fill}" stroke="${ink}"${strong}/>`,
      `<text x="${x + 10}" y="${y + 20}" fill="${ink}"${isClosed(node.status) && node.status !== "done" ? ' text-decoration="line-through"' : ""}>${xml(fitted(node.name))}</text>`,
      `<text x="${x + 10}" y="${y + 37}" fill="${ink}" class="small">${short(node.id)} · ${node.status}</text></g>`,
    ].join("");
  });
  return (
    [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
      "<style>path{fill:none;stroke:#868e96}path.critical{stroke:#c92a2a;stroke-width:2}.small{font-size:11px;opacity:.75}</style>",
      '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" style="fill:#868e96;stroke:none"/></marker></defs>',
      ...lines,
      ...boxes,
      "</svg>",
    ].join("\n") + "\n"
  );
}

/** A name that fits into its box: about 28 columns. */
function fitted(name: string): string {
  if (displayWidth(name) <= 28) return name;
  // Wide characters take two columns.
  return truncate(name, displayWidth(name) > name.length ? 14 : 28);
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function html(graph: Graph): string {
  const counts = new Map<string, number>();
  for (const node of graph.nodes) counts.set(node.status, (counts.get(node.status) ?? 0) + 1);
  const notes = [
    ...graph.cycles.map((cycle) => `cycle: ${[...cycle, ...cycle.slice(0, 1)].map(short).join(" → ")}`),
    ...graph.missing.map(({ id, word }) => `${short(id)} depends on ${word}, which means no single task`),
  ];
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Tasks</title>',
    "<style>body{font-family:system-ui,sans-serif;margin:1.5rem;background:#fff;color:#212529}main{overflow:auto}li{margin:.2rem 0}@media(prefers-color-scheme:dark){body{background:#16191c;color:#e9ecef}}</style></head>",
    `<body><h1>Tasks</h1><p>${[...counts].map(([status, n]) => `${xml(status)}: ${n}`).join(", ") || "none"}</p>`,
    ...(notes.length === 0 ? [] : [`<ul>${notes.map((note) => `<li>${xml(note)}</li>`).join("")}</ul>`]),
    `<main>${svg(graph).trimEnd()}</main></body></html>`,
    "",
  ].join("\n");
}
