/** JSON values as text: for new documents, for one-line answers, and for what an edit adds to a document. */
import { DotbotError } from "../error.ts";
import { isScalar, MAX_DEPTH, type JsonValue } from "./value.ts";

/** How a document is laid out. */
export interface Layout {
  /** One level of indentation. */
  readonly unit: string;
  readonly eol: string;
  /** From a key to its value, `": "`. */
  readonly colon: string;
  /** Between elements on one line, `", "`. */
  readonly comma: string;
  /** Inside the braces of an object on one line, `""` or `" "`. */
  readonly pad: string;
}

/** What new documents look like. */
export const STANDARD: Layout = { unit: "  ", eol: "\n", colon: ": ", comma: ", ", pad: "" };

/** Where a value is printed: the indentation of the line that it starts on, null to stay on that line; and its level. */
export interface Place {
  readonly indent: string | null;
  readonly depth: number;
}

/** A value as text, raw numbers exact. Throws INVALID_INPUT where the document would nest too deep to be read back. */
export function print(value: JsonValue, layout: Layout, { indent, depth }: Place): string {
  if (isScalar(value)) return JSON.stringify(value);
  if (depth > MAX_DEPTH) throw new DotbotError("INVALID_INPUT", `the document nests deeper than ${MAX_DEPTH} levels`);
  const inner = { indent: indent === null ? null : indent + layout.unit, depth: depth + 1 };
  const parts: string[] = [];
  if (Array.isArray(value)) for (const item of value) parts.push(print(item, layout, inner));
  else {
    for (const key of Object.keys(value)) {
      const item = value[key];
      if (item !== undefined) parts.push(JSON.stringify(key) + layout.colon + print(item, layout, inner));
    }
  }
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (parts.length === 0) return open + close;
  if (inner.indent === null) {
    const pad = Array.isArray(value) ? "" : layout.pad;
    return open + pad + parts.join(layout.comma) + pad + close;
  }
  const lead = layout.eol + inner.indent;
  return open + lead + parts.join(`,${lead}`) + layout.eol + indent + close;
}

/** A new document: `indent` spaces a level, LF, a newline at the end. */
export function formatJson(value: JsonValue, { indent = 2 }: { readonly indent?: number } = {}): string {
  return print(value, { ...STANDARD, unit: " ".repeat(indent) }, { indent: "", depth: 1 }) + "\n";
}

/**
 * A value on one line, whoever reads it: what some readers take for the end of a line (U+0085, U+2028, U+2029) is escaped
 * too. JSON.stringify escapes lone surrogates and control characters itself. Throws what JSON.stringify throws on a cycle.
 */
export function compactJson(value: JsonValue): string {
  return JSON.stringify(value).replace(
    /[\u0085\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
