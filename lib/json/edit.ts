/**
 * Edits of a JSON document that leave alone what they don't change: bytes outside the spans of changed, added and removed
 * values stay as they were, whatever they are (key order, indentation, line ends, BOM, spelling of numbers and strings).
 *
 * For every object `next`: the result reads as `next`, numbers by value; and where the text reads as `next` already, the
 * result is the text.
 */
import { DotbotError } from "../error.ts";
import { quote } from "../text.ts";
import { arraySteps, objectSteps, type Step } from "./align.ts";
import { print } from "./print.ts";
import { notJson, scan, type Container, type Element, type Node } from "./scan.ts";
import { DocumentStyle } from "./style.ts";
import { equalJson, isJsonObject, isScalar, type JsonObject, type JsonValue } from "./value.ts";

/**
 * The document `text`, changed to hold `next`. What is added takes the style of what is around it, new keys at the end of
 * their object. Of a key that is written twice, the last value is edited, and removing it removes both.
 * Throws INVALID_INPUT when `text` isn't a JSON object, or `next` nests too deep; `file` names the text in the message.
 */
export function editJson(text: string, next: JsonObject, { file }: { readonly file?: string } = {}): string {
  const scanned = scan(text);
  if (!scanned.ok) throw notJson(scanned.fault, file);
  const { root } = scanned;
  if (root.kind !== "object") {
    const subject = file === undefined ? "the text" : quote(file, 200);
    const found = root.kind === "array" ? "an array" : quote(text.slice(root.start, root.end), 40);
    throw new DotbotError("INVALID_INPUT", `${subject} should hold a JSON object, not ${found}`);
  }
  const edit = new Edit(new DocumentStyle(text, root));
  edit.value(root, next, undefined, 1);
  return edit.applyTo(text);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Splice extends Span {
  readonly text: string;
}

class Edit {
  private readonly style: DocumentStyle;
  /** In ascending order, without overlap. */
  private readonly splices: Splice[] = [];

  constructor(style: DocumentStyle) {
    this.style = style;
  }

  applyTo(text: string): string {
    let result = "";
    let done = 0;
    for (const splice of this.splices) {
      result += text.slice(done, splice.start) + splice.text;
      done = splice.end;
    }
    return result + text.slice(done);
  }

  /** `depth` is the level that the value is at if it is a container; the document itself is at 1. */
  value(node: Node, next: JsonValue, parent: Container | undefined, depth: number): void {
    if (node.kind === "scalar") {
      if (isScalar(next) && equalJson(node.value, next)) return;
    } else if (node.elements.length === 0) {
      // An empty container stays as it is written, unless something goes in.
      if (isEmpty(next) && Array.isArray(next) === (node.kind === "array")) return;
    } else if (node.kind === "array" && Array.isArray(next)) {
      this.elements(node, arraySteps(node, next), depth);
      return;
    } else if (node.kind === "object" && isJsonObject(next)) {
      this.elements(node, objectSteps(node, next), depth);
      return;
    }
    this.put(node, print(next, this.style.layout, this.style.placeOfReplaced(parent, depth)));
  }

  private elements(parent: Container, steps: readonly Step[], depth: number): void {
    let survivor: Element | undefined;
    let gone: Span | undefined;
    let added: string[] = [];

    // Writes what came and went between the last survivor and the one that follows, commas included.
    const settle = (following: Element | undefined): void => {
      if (added.length === 0 && gone === undefined) return;
      const separator = added.length === 0 ? "" : this.style.separatorIn(parent);
      if (survivor !== undefined) {
        const { end } = survivor;
        this.put({ start: end, end: gone?.end ?? end }, added.map((item) => separator + item).join(""));
      } else if (following !== undefined) {
        const { start } = following;
        this.put({ start: gone?.start ?? start, end: start }, added.map((item) => item + separator).join(""));
      } else if (gone !== undefined && added.length > 0) this.put(gone, added.join(separator));
      else this.put({ start: parent.start + 1, end: parent.end - 1 }, "");
      gone = undefined;
      added = [];
    };

    for (const step of steps) {
      if (step.old === undefined) {
        const text = print(step.next, this.style.layout, this.style.placeOfNew(parent, step.next, depth + 1));
        added.push(step.key === undefined ? text : JSON.stringify(step.key) + this.style.colonIn(parent) + text);
      } else if (step.next === undefined) gone = { start: gone?.start ?? step.old.start, end: step.old.end };
      else {
        settle(step.old);
        this.value(step.old.value, step.next, parent, depth + 1);
        survivor = step.old;
      }
    }
    settle(undefined);
  }

  private put({ start, end }: Span, text: string): void {
    this.splices.push({ start, end, text });
  }
}

function isEmpty(value: JsonValue): boolean {
  return !isScalar(value) && Object.values(value).every((item) => item === undefined);
}
