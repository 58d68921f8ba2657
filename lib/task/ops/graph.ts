/** The dependency graph of the queue, as data and as a picture. */
import { resolve } from "node:path";

import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { exists, isDirectory, writeAtomic } from "../../files.ts";
import { operation } from "../../op.ts";
import { quote } from "../../text.ts";
import { type Graph, graphOf } from "../graph.ts";
import { drawGraph, GRAPH_FORMATS, graphText } from "../graph-draw.ts";
import type { TaskRow } from "../ledger.ts";
import { isClosed } from "../model.ts";
import { DependencyIndex } from "../pick.ts";
import { dirField, namedTask, paintStatus, withQueue } from "./common.ts";
import { statusShape } from "./move.ts";

const graphOutput = v.object({
  nodes: v.array(
    v.object({
      id: v.string(),
      name: v.string(),
      status: statusShape,
      priority: v.number(),
      layer: v.number(),
      critical: v.boolean(),
    }),
  ),
  edges: v.pipe(v.array(v.object({ from: v.string(), to: v.string() })), v.description("from waits for to.")),
  cycles: v.pipe(v.array(v.array(v.string())), v.description("Ids of tasks that wait for one another.")),
  missing: v.pipe(
    v.array(v.object({ id: v.string(), word: v.string() })),
    v.description("Dependencies that mean no single task."),
  ),
  criticalPath: v.pipe(
    v.array(v.string()),
    v.description("The longest chain of open tasks, the first to be done first."),
  ),
  ok: v.pipe(v.boolean(), v.description("No cycle and nothing missing.")),
  drawn: v.optional(v.pipe(v.string(), v.description("The picture, in the format asked for."))),
  file: v.optional(v.pipe(v.string(), v.description("Where the picture was written."))),
  stateRoot: v.string(),
});

const given = [
  "task add 'Add a login page'",
  "task add 'Add a logout button' --depends-on 'Add a login page'",
] as const;

export const graph = operation({
  name: "task graph",
  summary: "Show which tasks wait for which",
  details:
    "Nodes and edges by id, in layers, with cycles, dependencies that don't exist, and the longest chain of open tasks. Closed tasks that nothing open waits for are left out unless all.",
  examples: [
    { given, run: "task graph", does: "layer by layer" },
    { given, run: "task graph --format mermaid", does: "for a Markdown page" },
    { given, run: "task graph --format html --output tasks.html", does: "a picture for the browser" },
  ],
  effect: "read",
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "task_id", optional: true }],
  complete: { task_id: "task", output: "path" },
  input: v.strictObject({
    task_id: v.optional(
      v.pipe(v.string(), v.description("Only this task, what it waits for and what waits for it, near and far.")),
    ),
    all: v.optional(v.pipe(v.boolean(), v.description("Closed tasks as well."))),
    format: v.optional(v.pipe(v.picklist(GRAPH_FORMATS), v.description("How to draw it; text by default."))),
    output: v.optional(v.pipe(v.string(), v.description("Write the picture to this file instead."))),
    ...dirField,
  }),
  flags: { format: { value: "format" }, output: { short: "o", value: "path", cliOnly: true } },
  output: graphOutput,
  async run(call, input) {
    return await withQueue(call, async ({ queue }) => {
      const start = input.task_id === undefined ? null : await namedTask(call, queue, input.task_id, "graph");
      const everything = queue.ledger.tasks("place <> 'removed'");
      await queue.finishRead();
      const found = graphOf(
        start === null ? inSight(everything, input.all === true) : around(start, everything),
        everything,
      );
      const format = input.format ?? "text";
      const drawn = drawnAs(found, format);
      if (input.output !== undefined && drawn === null) {
        throw new DotbotError("USAGE", `the format ${format} isn't written to a file`, {
          hint: "json and text go to stdout",
          example: "dotbot task graph --format html --output tasks.html",
        });
      }
      const file =
        input.output === undefined || drawn === null ? null : written(resolve(call.cwd, input.output), drawn);
      return {
        nodes: found.nodes.map((node) => ({ ...node })),
        edges: found.edges.map((edge) => ({ ...edge })),
        cycles: found.cycles.map((cycle) => [...cycle]),
        missing: found.missing.map((one) => ({ ...one })),
        criticalPath: [...found.criticalPath],
        ok: found.cycles.length + found.missing.length === 0,
        ...(file !== null
          ? { file }
          : drawn !== null
            ? { drawn }
            : format === "json"
              ? { drawn: `${JSON.stringify(found)}\n` }
              : {}),
        stateRoot: queue.stateRoot,
      };
    });
  },
  text: (result, style) =>
    result.file !== undefined
      ? `${result.file}\n`
      : (result.drawn ??
        (result.nodes.length === 0
          ? "no open tasks\n"
          : graphText(result, style, (status) => paintStatus(style, status)))),
  ids: (result) => result.nodes.map((node) => node.id),
  // A cycle is worth a red line, but the question was what the graph is.
  status: () => 0,
});

function drawnAs(found: Graph, format: (typeof GRAPH_FORMATS)[number]): string | null {
  return format === "text" || format === "json" ? null : drawGraph(found, format);
}

function written(path: string, content: string): string {
  const folder = resolve(path, "..");
  if (!exists(folder))
    throw new DotbotError("NOT_FOUND", `there is no folder ${quote(folder, 300)}`, {
      hint: "make it first, or write elsewhere",
    });
  if (isDirectory(path))
    throw new DotbotError("INVALID_INPUT", `${quote(path, 300)} is a folder`, { hint: "name a file in it" });
  writeAtomic(path, content);
  return path;
}

/** Open tasks, and the closed ones that an open one names. */
function inSight(everything: readonly TaskRow[], all: boolean): TaskRow[] {
  const view = everything.filter((row) => row.place === "view");
  if (all) return view;
  const open = view.filter((row) => !isClosed(row.status));
  const index = new DependencyIndex(everything);
  const named = new Set(
    open.flatMap((row) => row.dependencies.flatMap((word) => index.find(word).map((found) => found.id))),
  );
  return everything.filter((row) => (row.place === "view" && !isClosed(row.status)) || named.has(row.id));
}

/** A task, and all that it leads to in either direction. */
function around(start: TaskRow, everything: readonly TaskRow[]): TaskRow[] {
  const index = new DependencyIndex(everything);
  const needs = new Map(
    everything.map((row) => [row.id, row.dependencies.flatMap((word) => index.find(word).map((found) => found.id))]),
  );
  const neededBy = new Map<string, string[]>();
  for (const [id, targets] of needs)
    for (const target of targets) neededBy.set(target, [...(neededBy.get(target) ?? []), id]);
  const reach = (next: ReadonlyMap<string, readonly string[]>): Set<string> => {
    const seen = new Set([start.id]);
    for (const id of seen) for (const other of next.get(id) ?? []) seen.add(other);
    return seen;
  };
  const wanted = reach(needs).union(reach(neededBy));
  return everything.filter((row) => wanted.has(row.id));
}
