/**
 * Matches a regular expression in time that grows with the text's length alone, whatever the expression: as a machine whose
 * states are worked out when they are first entered, and forgotten when there are too many. Pure (the machine is its own).
 */
import { parseRegular, Refused, WORD, type Assertion, type Ranges, type Tree } from "./regular.ts";

export { Refused } from "./regular.ts";

type Node =
  | { readonly is: "set"; readonly ranges: Ranges; next: number }
  | { readonly is: "assert"; readonly what: Assertion; next: number }
  | { readonly is: "split"; next: number; other: number }
  | { readonly is: "accept" };

/** What stands on one side of a place in the text. */
type Side = "edge" | "word" | "other";

interface State {
  readonly nodes: readonly number[];
  readonly before: Side;
  /** By class of the next character. */
  readonly steps: (Step | undefined)[];
  atEnd: boolean | undefined;
}

interface Step {
  readonly to: State;
  /** A match ended in front of the character. */
  readonly accepts: boolean;
}

const MOST_NODES = 5000;
const MOST_STATES = 500;
/** How far before a match's end its beginning is looked for. */
const REACH = 1024;

export class Linear {
  private readonly nodes: Node[] = [];
  private readonly start: number;
  /** First code points of the classes that the expression tells apart. */
  private readonly bounds: readonly number[];
  private readonly ascii: Uint16Array;
  private readonly states = new Map<string, State>();

  /** Throws Refused. The text must be one that `new RegExp(text, "u")` accepts. */
  constructor(text: string) {
    const tree = parseRegular(text);
    if (isEmpty(tree)) throw new Refused("matches the empty text, and so every line");
    this.start = this.build(tree, this.add({ is: "accept" }));
    const bounds = new Set([0]);
    for (const ranges of [WORD, ...this.nodes.map((node) => (node.is === "set" ? node.ranges : []))]) {
      for (const [from, to] of ranges) bounds.add(from).add(to + 1);
    }
    this.bounds = [...bounds].sort((a, b) => a - b);
    this.ascii = Uint16Array.from({ length: 128 }, (_, point) => this.search(point));
  }

  /** The first match to end, from its leftmost beginning; null when there is none. */
  find(line: string): string | null {
    const points = Array.from(line, (char) => char.codePointAt(0) ?? 0);
    const end = this.run(points, 0, true);
    if (end === null) return null;
    for (let from = Math.max(0, end - REACH); from < end; from++) {
      if (this.run(points, from, false, end) === end) return String.fromCodePoint(...points.slice(from, end));
    }
    return null;
  }

  /**
   * Where the first match ends. `anywhere`: it may begin at any place from `from` on, else there. `until`:
   * looked at no further, and then only a match that ends there counts.
   */
  private run(points: readonly number[], from: number, anywhere: boolean, until?: number): number | null {
    let state = this.state([this.start], from === 0 ? "edge" : sideOf(points[from - 1] ?? 0));
    for (let at = from; at < points.length; at++) {
      const step = this.step(state, this.classOf(points[at] ?? 0), anywhere);
      if (step.accepts && at > from && (until === undefined || at === until)) return at;
      if (at === until) return null;
      state = step.to;
      if (state.nodes.length === 0) return null;
    }
    state.atEnd ??= this.closure(state, "edge").accepts;
    return state.atEnd && points.length > from ? points.length : null;
  }

  private step(state: State, kind: number, anywhere: boolean): Step {
    // Both ways of running share the states; the way is part of the index.
    const index = kind * 2 + (anywhere ? 1 : 0);
    const known = state.steps[index];
    if (known !== undefined) return known;
    const point = this.bounds[kind] ?? 0;
    const { sets, accepts } = this.closure(state, sideOf(point));
    const nodes = new Set(anywhere ? [this.start] : []);
    for (const node of sets) if (node.ranges.some(([low, high]) => low <= point && point <= high)) nodes.add(node.next);
    const step = {
      to: this.state(
        [...nodes].sort((a, b) => a - b),
        sideOf(point),
      ),
      accepts,
    };
    state.steps[index] = step;
    return step;
  }

  /** What can be reached without a character, given what stands on both sides. The bare start doesn't accept. */
  private closure(
    state: State,
    after: Side,
  ): { readonly sets: readonly (Node & { is: "set" })[]; readonly accepts: boolean } {
    const sets: (Node & { is: "set" })[] = [];
    const seen = new Set<number>();
    const open = [...state.nodes];
    let accepts = false;
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const node = this.nodes[id];
      if (node === undefined || seen.has(id)) continue;
      seen.add(id);
      if (node.is === "accept") accepts = true;
      else if (node.is === "set") sets.push(node);
      else if (node.is === "split") open.push(node.next, node.other);
      else if (holds(node.what, state.before, after)) open.push(node.next);
    }
    return { sets, accepts };
  }

  private state(nodes: readonly number[], before: Side): State {
    const key = `${before} ${nodes.join(" ")}`;
    const known = this.states.get(key);
    if (known !== undefined) return known;
    if (this.states.size >= MOST_STATES) {
      // Steps into forgotten states go on working; they are dropped with the states that hold them.
      this.states.clear();
    }
    const state: State = { nodes, before, steps: [], atEnd: undefined };
    this.states.set(key, state);
    return state;
  }

  private classOf(point: number): number {
    return point < 128 ? (this.ascii[point] ?? 0) : this.search(point);
  }

  private search(point: number): number {
    let low = 0;
    let high = this.bounds.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.bounds[middle] ?? 0) <= point) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private add(node: Node): number {
    if (this.nodes.length >= MOST_NODES) throw new Refused("is too big: its repetitions multiply");
    return this.nodes.push(node) - 1;
  }

  /** Adds the tree's nodes in front of `next`; returns where they begin. */
  private build(tree: Tree, next: number): number {
    switch (tree.is) {
      case "set":
        return this.add({ is: "set", ranges: tree.ranges, next });
      case "assert":
        return this.add({ is: "assert", what: tree.what, next });
      case "all":
        return tree.of.reduceRight((after, part) => this.build(part, after), next);
      case "any":
        return tree.of
          .map((branch) => this.build(branch, next))
          .reduce((other, branch) => this.add({ is: "split", next: branch, other }));
      case "repeat":
        return this.repeat(tree.of, tree.min, tree.max, next);
    }
  }

  private repeat(of: Tree, min: number, max: number, next: number): number {
    let after = next;
    if (max === Infinity) {
      const loop: Node = { is: "split", next: 0, other: next };
      after = this.add(loop);
      loop.next = this.build(of, after);
    } else {
      for (let i = min; i < max; i++) after = this.add({ is: "split", next: this.build(of, after), other: next });
    }
    for (let i = 0; i < min; i++) after = this.build(of, after);
    return after;
  }
}

/** Whether it can match without taking a character. */
function isEmpty(tree: Tree): boolean {
  switch (tree.is) {
    case "set":
      return false;
    case "assert":
      return true;
    case "all":
      return tree.of.every(isEmpty);
    case "any":
      return tree.of.some(isEmpty);
    case "repeat":
      return tree.min === 0 || isEmpty(tree.of);
  }
}

function sideOf(point: number): Side {
  return WORD.some(([low, high]) => low <= point && point <= high) ? "word" : "other";
}

function holds(what: Assertion, before: Side, after: Side): boolean {
  switch (what) {
    case "start":
      return before === "edge";
    case "end":
      return after === "edge";
    case "boundary":
      return (before === "word") !== (after === "word");
    case "inside":
      return (before === "word") === (after === "word");
  }
}
