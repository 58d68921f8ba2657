/**
 * Pure: the dependency graph of a queue, its layers, its longest open path, and pictures of it. The same graph always gives
 * the same picture; nothing in a picture is fetched from anywhere.
 */
import type { TaskRow } from "./ledger.ts";
import { isClosed, type Status } from "./model.ts";
import { DependencyIndex } from "./pick.ts";

export interface GraphNode {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  readonly priority: number;
  /** 0: waits for nothing that is in the graph; otherwise one more than the highest of what it waits for. */
  readonly layer: number;
  /** Whether it lies on the longest chain of open tasks. */
  readonly critical: boolean;
}

export interface Graph {
  /** By layer, then in pick order. */
  readonly nodes: readonly GraphNode[];
  /** `from` waits for `to`. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  /** Each the ids of tasks that wait for one another, beginning with the first in pick order. */
  readonly cycles: readonly (readonly string[])[];
  /** Dependencies that mean no task, or several. */
  readonly missing: readonly { readonly id: string; readonly word: string }[];
  /** Ids of the longest chain of open tasks, the first to be done first. */
  readonly criticalPath: readonly string[];
}

/** The graph of `shown`, in pick order; names are resolved among `everything`. */
export function graphOf(shown: readonly TaskRow[], everything: readonly TaskRow[]): Graph {
  const index = new DependencyIndex(everything);
  const inside = new Set(shown.map((row) => row.id));
  const edges: { from: string; to: string }[] = [];
  const missing: { id: string; word: string }[] = [];
  for (const row of shown) {
    const targets = new Set<string>();
    for (const word of row.dependencies) {
      const found = index.find(word);
      const [only] = found;
      if (only === undefined || found.length > 1) missing.push({ id: row.id, word });
      else if (inside.has(only.id)) targets.add(only.id);
    }
    for (const to of targets) edges.push({ from: row.id, to });
  }
  const needs = groupBy(
    edges,
    (edge) => edge.from,
    (edge) => edge.to,
  );
  const components = stronglyConnected(
    shown.map((row) => row.id),
    needs,
  );
  const order = new Map(shown.map((row, i) => [row.id, i]));
  const place = (id: string): number => order.get(id) ?? 0;
  const cycles = components
    .filter((ids) => ids.length > 1 || (needs.get(ids[0] ?? "") ?? []).includes(ids[0] ?? ""))
    .map((ids) => ids.toSorted((a, b) => place(a) - place(b)))
    .toSorted((a, b) => place(a[0] ?? "") - place(b[0] ?? ""));
  const layers = layersOf(components, needs);
  const criticalPath = longestOpenPath(shown, components, needs);
  const critical = new Set(criticalPath);
  const nodes = shown
    .map((row): GraphNode => ({
      id: row.id,
      name: row.name,
      status: row.status,
      priority: row.priority,
      layer: layers.get(row.id) ?? 0,
      critical: critical.has(row.id),
    }))
    .toSorted((a, b) => a.layer - b.layer || place(a.id) - place(b.id));
  return { nodes, edges, cycles, missing, criticalPath };
}

function groupBy<T>(items: readonly T[], key: (item: T) => string, value: (item: T) => string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const item of items) {
    const list = groups.get(key(item));
    if (list === undefined) groups.set(key(item), [value(item)]);
    else list.push(value(item));
  }
  return groups;
}

/** How many tasks a graph may have for people to follow its lines, and for us to spend time on them. */
export const READABLE = 1000;

/**
 * The edges that no way over other tasks implies: where c waits for b and b for a, that c waits for a says nothing new.
 * Those of cycles all stay, and all do where there are more tasks than READABLE.
 */
export function withoutImplied({ nodes, edges }: Pick<Graph, "nodes" | "edges">): Graph["edges"] {
  if (nodes.length > READABLE) return edges;
  const layer = new Map(nodes.map((node) => [node.id, node.layer]));
  const layerOf = (id: string): number => layer.get(id) ?? 0;
  const needs = Map.groupBy(edges, ({ from }) => from);
  const reaches = (start: string, goal: string): boolean => {
    const seen = new Set([start]);
    for (const id of seen) {
      if (id === goal) return true;
      for (const { to } of needs.get(id) ?? []) if (layerOf(to) >= layerOf(goal)) seen.add(to);
    }
    return false;
  };
  return edges.filter(({ from, to }) => {
    const between = (needs.get(from) ?? []).filter(
      (other) => layerOf(other.to) > layerOf(to) && layerOf(other.to) < layerOf(from),
    );
    return !between.some((other) => reaches(other.to, to));
  });
}

/** Tarjan's components, without recursion (chains are long); what is needed comes before what needs it. */
function stronglyConnected(ids: readonly string[], needs: ReadonlyMap<string, readonly string[]>): string[][] {
  const number = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const components: string[][] = [];
  const lower = (id: string, value: number): void => void low.set(id, Math.min(low.get(id) ?? value, value));
  for (const start of ids) {
    if (number.has(start)) continue;
    const work: { id: string; next: number }[] = [{ id: start, next: 0 }];
    while (work.length > 0) {
      const frame = work.at(-1);
      if (frame === undefined) break;
      const { id } = frame;
      if (frame.next === 0 && !number.has(id)) {
        number.set(id, number.size);
        lower(id, number.get(id) ?? 0);
        stack.push(id);
        onStack.add(id);
      }
      const target = needs.get(id)?.[frame.next];
      if (target !== undefined) {
        frame.next += 1;
        if (!number.has(target)) work.push({ id: target, next: 0 });
        else if (onStack.has(target)) lower(id, number.get(target) ?? 0);
        continue;
      }
      work.pop();
      const parent = work.at(-1);
      if (parent !== undefined) lower(parent.id, low.get(id) ?? 0);
      if (low.get(id) !== number.get(id)) continue;
      const component = stack.splice(stack.lastIndexOf(id));
      for (const member of component) onStack.delete(member);
      components.push(component);
    }
  }
  return components;
}

function layersOf(
  components: readonly (readonly string[])[],
  needs: ReadonlyMap<string, readonly string[]>,
): Map<string, number> {
  const layers = new Map<string, number>();
  for (const component of components) {
    const below = component.flatMap((id) => needs.get(id) ?? []).filter((id) => !component.includes(id));
    const layer = below.reduce((highest, id) => Math.max(highest, (layers.get(id) ?? 0) + 1), 0);
    for (const id of component) layers.set(id, layer);
  }
  return layers;
}

/** The longest chain of tasks that aren't closed; of several the one that pick order meets first. Cycles have no length. */
function longestOpenPath(
  shown: readonly TaskRow[],
  components: readonly (readonly string[])[],
  needs: ReadonlyMap<string, readonly string[]>,
): string[] {
  const open = new Set(shown.filter((row) => !isClosed(row.status)).map((row) => row.id));
  const best = new Map<string, { length: number; next: string | null }>();
  for (const [id = "", ...others] of components) {
    if (others.length > 0 || !open.has(id)) continue;
    let found: { length: number; next: string | null } = { length: 1, next: null };
    for (const to of needs.get(id) ?? []) {
      const length = (best.get(to)?.length ?? 0) + 1;
      if (best.has(to) && length > found.length) found = { length, next: to };
    }
    best.set(id, found);
  }
  let end: string | null = null;
  for (const row of shown)
    if ((best.get(row.id)?.length ?? 0) > (end === null ? 1 : (best.get(end)?.length ?? 0))) end = row.id;
  const path: string[] = [];
  for (let at = end; at !== null; at = best.get(at)?.next ?? null) path.push(at);
  return path.reverse();
}
