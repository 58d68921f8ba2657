/** Pure: pictures of a dependency graph, for terminals, for Mermaid and Graphviz, and as an image that stands alone. */
import { paint, type Style } from "../text.ts";
import { withoutImplied, type Graph } from "./graph.ts";
import { COLORS, html, short, svg } from "./graph-picture.ts";
import type { Status } from "./model.ts";

export const GRAPH_FORMATS = ["text", "json", "mermaid", "dot", "svg", "html"] as const;
export type GraphFormat = (typeof GRAPH_FORMATS)[number];

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

/** Layer by layer, each task with what it waits for, as far as others don't imply it. */
export function graphText(graph: Graph, style: Style, paintStatus: (status: string) => string): string {
  const needs = Map.groupBy(withoutImplied(graph), ({ from }) => from);
  const missing = Map.groupBy(graph.missing, ({ id }) => id);
  let text = "";
  let layer = -1;
  for (const node of graph.nodes) {
    if (node.layer !== layer) {
      layer = node.layer;
      text += `${layer === 0 ? "" : "\n"}${paint(style, "bold", layer === 0 ? "first" : "then")}\n`;
    }
    text += `  ${node.critical ? "*" : " "} ${short(node.id)}  ${node.name} (${paintStatus(node.status)})\n`;
    const on = (needs.get(node.id) ?? []).map(({ to }) => short(to));
    if (on.length > 0) text += paint(style, "dim", `              ← ${someOf(on, style.width - 16)}`) + "\n";
    for (const { word } of missing.get(node.id) ?? [])
      text += paint(style, "red", `              ← ${word}, which means no single task`) + "\n";
  }
  for (const cycle of graph.cycles)
    text += paint(style, "red", `\ncycle: ${[...cycle, ...cycle.slice(0, 1)].map(short).join(" → ")}`) + "\n";
  if (graph.criticalPath.length > 1) text += `\nlongest way (*): ${graph.criticalPath.map(short).join(" → ")}\n`;
  return text;
}

/** As many words as fit into the columns, and how many more there are. */
function someOf(words: readonly string[], columns: number): string {
  const all = words.join(", ");
  if (all.length <= columns) return all;
  const more = (shown: number): string => `, and ${words.length - shown} more`;
  let shown = words.length - 1;
  while (shown > 1 && words.slice(0, shown).join(", ").length + more(shown).length > columns) shown -= 1;
  return words.slice(0, shown).join(", ") + more(shown);
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
