/**
 * How a document is written, for what an edit adds to it: the nearest example decides. Nothing is looked up before something
 * has to be printed. White space without a line break in it means "on one line".
 */
import { STANDARD, type Layout, type Place } from "./print.ts";
import type { Container, Node } from "./scan.ts";
import type { JsonValue } from "./value.ts";

export class DocumentStyle {
  private readonly text: string;
  private readonly root: Container;
  private detected: Layout | undefined;

  constructor(text: string, root: Container) {
    this.text = text;
    this.root = root;
  }

  /** Each trait as it first occurs in the document. */
  get layout(): Layout {
    this.detected ??= this.detect();
    return this.detected;
  }

  /** What stands between a new element and its neighbour: what stands between the last two, without blank lines. */
  separatorIn(parent: Container): string {
    const last = parent.elements.at(-1);
    const before = parent.elements.at(-2);
    if (before !== undefined && last !== undefined) return withoutBlankLines(this.text.slice(before.end, last.start));
    const lead = this.leadIn(parent);
    return lead.includes("\n") ? `,${withoutBlankLines(lead)}` : this.layout.comma;
  }

  /** What stands between a new key and its value: what stands there in the last member. */
  colonIn(parent: Container): string {
    const last = parent.kind === "object" ? parent.elements.at(-1) : undefined;
    const colon = last === undefined ? "\n" : this.text.slice(last.keyEnd, last.value.start);
    return colon.includes("\n") ? this.layout.colon : colon;
  }

  /** Where a new element of a container that has elements is printed; beside items on one line each, on one line. */
  placeOfNew(parent: Container, next: JsonValue, depth: number): Place {
    const indent = indentOf(this.separatorIn(parent));
    if (indent === null || parent.kind === "object") return { indent, depth };
    const kind = Array.isArray(next) ? "array" : "object";
    const sibling = parent.elements.findLast(({ value }) => value.kind === kind && value.elements.length > 0);
    const oneLine = sibling !== undefined && !this.text.slice(sibling.start, sibling.end).includes("\n");
    return { indent: oneLine ? null : indent, depth };
  }

  /** Where a value that replaces an element is printed: at the indentation of its container's elements. */
  placeOfReplaced(parent: Container | undefined, depth: number): Place {
    if (parent === undefined) return { indent: "", depth };
    let from = parent.start + 1;
    for (const element of parent.elements) {
      const indent = indentOf(this.text.slice(from, element.start));
      if (indent !== null) return { indent, depth };
      from = element.end;
    }
    return { indent: null, depth };
  }

  /** White space between the opening bracket and the first element. */
  private leadIn(parent: Container): string {
    const start = parent.start + 1;
    return this.text.slice(start, parent.elements[0]?.start ?? start);
  }

  private detect(): Layout {
    let unit: string | undefined;
    let comma: string | undefined;
    let pad: string | undefined;
    for (const container of containers(this.root)) {
      const [first, second] = container.elements;
      if (first === undefined) continue;
      const lead = this.leadIn(container);
      const indent = indentOf(lead);
      if (indent === null && container.kind === "object") pad ??= lead;
      if (indent !== null && unit === undefined) {
        const outer = /^[ \t]*/.exec(this.text.slice(this.text.lastIndexOf("\n", container.start) + 1))?.[0] ?? "";
        if (indent.startsWith(outer)) unit = indent.slice(outer.length);
      }
      if (second !== undefined && comma === undefined) {
        const gap = this.text.slice(first.end, second.start);
        if (!gap.includes("\n")) comma = gap;
      }
      if (unit !== undefined && comma !== undefined && pad !== undefined) break;
    }
    const colon = this.firstColon();
    return {
      unit: unit ?? STANDARD.unit,
      eol: /\r?\n/.exec(this.text)?.[0] ?? STANDARD.eol,
      colon,
      comma: comma ?? (colon === ":" ? "," : STANDARD.comma),
      pad: pad ?? STANDARD.pad,
    };
  }

  private firstColon(): string {
    const [first] = this.root.kind === "object" ? this.root.elements : [];
    const colon = first === undefined ? "\n" : this.text.slice(first.keyEnd, first.value.start);
    return colon.includes("\n") ? STANDARD.colon : colon;
  }
}

/** The containers of a tree, in document order. */
function* containers(node: Node): Generator<Container> {
  if (node.kind === "scalar") return;
  yield node;
  for (const element of node.elements) yield* containers(element.value);
}

/** The indentation that a gap between elements ends in; null when it holds no line break. */
function indentOf(gap: string): string | null {
  const line = gap.lastIndexOf("\n");
  // A comma may lead the line.
  return line === -1 ? null : (/^[ \t]*/.exec(gap.slice(line + 1))?.[0] ?? "");
}

function withoutBlankLines(gap: string): string {
  return gap.replace(/(\r?\n)\s*\n/g, "$1");
}
