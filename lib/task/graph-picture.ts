/**
 * Pure: the dependency graph as an image that stands alone, and as a page around it in which one can move and zoom. Nothing
 * in either is fetched from anywhere, and nothing that a task says can become markup or script.
 */
import { count, displayWidth, onTwoLines } from "../text.ts";
import type { Graph, GraphNode } from "./graph.ts";
import { BOX, layoutOf, type Line, type Placed } from "./graph-layout.ts";
import { isClosed, STATUSES, type Status } from "./model.ts";

/** Fill and ink of a status. Boxes bring their own background, so both are readable on any page. */
export const COLORS: Readonly<Record<Status, readonly [fill: string, ink: string]>> = {
  todo: ["#f1f3f5", "#212529"],
  analysing: ["#d0ebff", "#1864ab"],
  analysed: ["#a5d8ff", "#0b4a86"],
  "in-progress": ["#ffec99", "#5c4400"],
  "needs-input": ["#fcc2d7", "#7a1139"],
  "needs-review": ["#e5dbff", "#4c2a85"],
  done: ["#b2f2bb", "#1b5e20"],
  failed: ["#ffc9c9", "#8b1a1a"],
  skipped: ["#dee2e6", "#495057"],
  split: ["#dee2e6", "#495057"],
  cancelled: ["#dee2e6", "#495057"],
};

const LINE = "#868e96";
const CRITICAL = "#c92a2a";

export function short(id: string): string {
  return id.slice(0, 8);
}

// ── an image ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const LEGEND_HEIGHT = 34;

export function svg(graph: Graph): string {
  const { body, width, height, key } = picture(graph);
  return framed(Math.max(width, key.width), height + LEGEND_HEIGHT, [
    '<rect width="100%" height="100%" fill="#fff"/>',
    key.body,
    `<g transform="translate(0 ${LEGEND_HEIGHT})">`,
    body,
    "</g>",
  ]);
}

interface Picture {
  readonly body: string;
  readonly width: number;
  readonly height: number;
  readonly key: Key;
}

function picture(graph: Graph): Picture {
  const { boxes, lines, width, height, implied } = layoutOf(graph);
  // The longest way lies above the others.
  const inOrder = lines.toSorted((a, b) => Number(a.critical) - Number(b.critical));
  return { body: [...inOrder.map(line), ...boxes.map(box)].join("\n"), width, height, key: legend(graph, implied) };
}

function framed(width: number, height: number, content: readonly string[]): string {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  return (
    [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="system-ui, sans-serif" font-size="13">`,
      `<style>.line{fill:none;stroke:${LINE};stroke-width:1.2}.critical{stroke:${CRITICAL};stroke-width:2.4}.small{font-size:11px;opacity:.8}</style>`,
      `<defs>${marker("arrow", LINE)}${marker("critical-arrow", CRITICAL)}</defs>`,
      ...content,
      "</svg>",
    ].join("\n") + "\n"
  );
}

function marker(id: string, color: string): string {
  return `<marker id="${id}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" fill="${color}"/></marker>`;
}

/** Curves between columns, straight through them. */
function line({ from, to, critical, start, lanes, end }: Line): string {
  const bend = BOX.gapX / 2;
  const stops = [...lanes.map((lane) => ({ ...lane, through: true })), { ...end, through: false }];
  let { x, y } = start;
  let path = `M${x} ${round(y)}`;
  for (const stop of stops) {
    path +=
      stop.x > x
        ? ` C${x + bend} ${round(y)} ${stop.x - bend} ${round(stop.y)} ${stop.x} ${round(stop.y)}`
        : // Within a layer, or backwards: tasks that wait for one another.
          ` C${x + BOX.gapX} ${round(y)} ${stop.x - BOX.gapX} ${round(stop.y)} ${stop.x} ${round(stop.y)}`;
    if (stop.through) path += ` h${BOX.width}`;
    x = stop.through ? stop.x + BOX.width : stop.x;
    y = stop.y;
  }
  return `<path class="line${critical ? " critical" : ""}" data-from="${short(from)}" data-to="${short(to)}" d="${path}" marker-end="url(#${critical ? "critical-arrow" : "arrow"})"/>`;
}

function box({ node, x, y: top }: Placed): string {
  const [fill, ink] = COLORS[node.status];
  const y = round(top);
  const [border, width] = node.critical ? [CRITICAL, 2.4] : [ink, 1];
  const struck = isClosed(node.status) && node.status !== "done" ? ' text-decoration="line-through"' : "";
  const names = onTwoLines(node.name, LINE_COLUMNS, LINE_COLUMNS, columns).map(
    (text, i) => `<text x="${x + 10}" y="${round(y + 18 + i * 16)}" fill="${ink}"${struck}>${xml(text)}</text>`,
  );
  return [
    `<g class="task" data-id="${short(node.id)}"><title>${xml(`${node.name}\n${node.id}\n${node.status}, priority ${node.priority}`)}</title>`,
    `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" fill="${fill}" stroke="${border}" stroke-width="${width}"/>`,
    ...names,
    `<text x="${x + 10}" y="${round(y + BOX.height - 7)}" fill="${ink}" class="small">${short(node.id)} · ${node.status}</text></g>`,
  ].join("");
}

interface Key {
  readonly body: string;
  readonly width: number;
}

/** Colours and lines that the picture has, and what they mean. */
function legend(graph: Graph, implied: number): Key {
  const byStatus = Map.groupBy(graph.nodes, (node: GraphNode) => node.status);
  let x: number = BOX.margin;
  const parts: string[] = [];
  const say = (text: string, color = "#495057"): void => {
    parts.push(`<text x="${x}" y="26" fill="${color}">${xml(text)}</text>`);
    x += columns(text) * PER_COLUMN + 22;
  };
  for (const status of STATUSES) {
    const n = byStatus.get(status)?.length ?? 0;
    if (n === 0) continue;
    const [fill, ink] = COLORS[status];
    parts.push(`<rect x="${x}" y="14" width="20" height="14" rx="3" fill="${fill}" stroke="${ink}"/>`);
    x += 26;
    say(`${status} ${n}`);
  }
  if (graph.criticalPath.length > 1) {
    parts.push(`<path class="line critical" d="M${x} 21h26" marker-end="url(#critical-arrow)"/>`);
    x += 32;
    say(`longest way: ${count(graph.criticalPath.length, "task")}`);
  }
  if (implied > 0) say(`${count(implied, "dependency", "dependencies")} that others imply not drawn`, LINE);
  return { body: parts.join(""), width: x };
}

/** Pixels that a narrow character takes in the widest of the usual fonts, at 13 pixels. */
const PER_COLUMN = 7.3;
const LINE_COLUMNS = Math.floor((BOX.width - 20) / PER_COLUMN);

/** Capitals are wide in proportional fonts. */
function columns(text: string): number {
  return displayWidth(text) + (text.match(/\p{Lu}/gu)?.length ?? 0) * 0.35;
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

// ── a page ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export function html(graph: Graph): string {
  const { body, width, height, key } = picture(graph);
  const notes = [
    ...graph.cycles.map((cycle) => `cycle: ${[...cycle, ...cycle.slice(0, 1)].map(short).join(" → ")}`),
    ...graph.missing.map(({ id, word }) => `${short(id)} depends on ${word}, which means no single task`),
  ];
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    // Says to the browser what holds anyway.
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">`,
    `<title>Tasks</title><style>${STYLE}</style></head>`,
    `<body><header><h1>${count(graph.nodes.length, "task")}</h1>`,
    '<button id="fit">fit</button><button id="out" aria-label="smaller">−</button><button id="in" aria-label="larger">+</button>',
    "<small>drag to move, wheel to zoom, point at a task to see what it waits for and what waits for it</small></header>",
    ...(notes.length === 0 ? [] : [`<ul>${notes.map((note) => `<li>${xml(note)}</li>`).join("")}</ul>`]),
    `<nav>${framed(key.width, LEGEND_HEIGHT, [key.body])}</nav>`,
    `<main>${framed(width, height, [body])}</main><script>${SCRIPT}</script></body></html>`,
    "",
  ].join("\n");
}

const STYLE = [
  "html,body{height:100%}",
  "body{font-family:system-ui,sans-serif;margin:0;display:flex;flex-direction:column;background:#fff;color:#212529}",
  "header{display:flex;gap:.5rem;align-items:baseline;padding:.6rem 1rem}h1{font-size:1.1rem;margin:0 1rem 0 0}small{color:#868e96}",
  "nav{background:#fff;overflow:auto hidden;flex:none}",
  "button{font:inherit;min-width:2rem}ul{margin:0;padding:0 1rem .6rem 2.2rem;color:#c92a2a}",
  "main{flex:1;min-height:0;overflow:hidden;cursor:grab;border-top:1px solid #dee2e6;background:#fff}main svg{width:100%;height:100%;display:block}",
  "svg.focus .task:not(.near){opacity:.25}svg.focus .line:not(.near){opacity:.08}svg.focus .line.near{stroke-width:2.4}",
  "@media(prefers-color-scheme:dark){body{background:#16191c;color:#e9ecef}}",
].join("");

/** Moves the view box. Without scripts the whole picture is shown, fitted. */
const SCRIPT = `
const svg = document.querySelector("main svg");
const whole = svg.viewBox.baseVal;
const size = { width: whole.width, height: whole.height };
let view;
const show = (next) => { view = next; svg.setAttribute("viewBox", [view.x, view.y, view.width, view.height].join(" ")); };
const fit = () => show({ x: 0, y: 0, ...size });
const zoom = (factor, at = { x: 0.5, y: 0.5 }) => show({
  x: view.x + view.width * at.x * (1 - factor),
  y: view.y + view.height * at.y * (1 - factor),
  width: view.width * factor,
  height: view.height * factor,
});
svg.setAttribute("preserveAspectRatio", "xMinYMin meet");
// Begins with the first task, at the size that labels are made for.
const [first] = document.querySelectorAll(".task rect");
const { clientWidth: width, clientHeight: height } = svg;
const middle = first === undefined ? 0 : first.y.baseVal.value + first.height.baseVal.value / 2 - height / 2;
show({ x: 0, y: Math.max(0, Math.min(middle, size.height - height)), width, height });
document.getElementById("fit").onclick = fit;
document.getElementById("in").onclick = () => zoom(0.8);
document.getElementById("out").onclick = () => zoom(1.25);
const scale = () => Math.min(svg.clientWidth / view.width, svg.clientHeight / view.height);
svg.addEventListener("wheel", (event) => {
  event.preventDefault();
  const place = svg.getBoundingClientRect();
  const by = 1 / scale();
  zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, { x: (event.clientX - place.left) * by / view.width, y: (event.clientY - place.top) * by / view.height });
}, { passive: false });
let from = null;
svg.addEventListener("pointerdown", (event) => { from = event; svg.setPointerCapture(event.pointerId); });
svg.addEventListener("pointerup", () => { from = null; });
svg.addEventListener("pointermove", (event) => {
  if (from === null) return;
  const by = 1 / scale();
  show({ ...view, x: view.x - (event.clientX - from.clientX) * by, y: view.y - (event.clientY - from.clientY) * by });
  from = event;
});
const lines = [...document.querySelectorAll(".line[data-from]")];
const along = (id, here, there, found) => {
  for (const line of lines) if (line.dataset[here] === id && !found.has(line)) {
    found.add(line);
    along(line.dataset[there], here, there, found);
  }
  return found;
};
for (const task of document.querySelectorAll(".task")) {
  task.addEventListener("pointerenter", () => {
    const { id } = task.dataset;
    const near = new Set([...along(id, "from", "to", new Set()), ...along(id, "to", "from", new Set())]);
    const ids = new Set([id, ...[...near].flatMap((line) => [line.dataset.from, line.dataset.to])]);
    for (const line of near) line.classList.add("near");
    for (const other of document.querySelectorAll(".task")) if (ids.has(other.dataset.id)) other.classList.add("near");
    svg.classList.add("focus");
  });
  task.addEventListener("pointerleave", () => {
    svg.classList.remove("focus");
    for (const element of document.querySelectorAll(".near")) element.classList.remove("near");
  });
}
`;
