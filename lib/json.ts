/**
 * JSON documents that belong to other people: read leniently (BOM, CRLF), kept exactly (numbers as they were written),
 * changed only where they change.
 *
 * Reading loses no number: `compactJson(parseJson(text))` spells every number as `text` does.
 */
import { isPlain } from "./json/plain.ts";
import { BOM, notJson, scan, valueOf, type JsonFault } from "./json/scan.ts";
import type { JsonValue } from "./json/value.ts";

export { editJson } from "./json/edit.ts";
export { compactJson, formatJson } from "./json/print.ts";
export type { JsonFault } from "./json/scan.ts";
export {
  asNumber,
  equalJson,
  isJsonObject,
  MAX_DEPTH,
  type JsonObject,
  type JsonScalar,
  type JsonValue,
  type RawNumber,
} from "./json/value.ts";

export type ParseResult = { readonly ok: true; readonly value: JsonValue } | ({ readonly ok: false } & JsonFault);

/** The value of a JSON text. Throws INVALID_INPUT with file, line and column. */
export function parseJson(text: string, { file }: { readonly file?: string } = {}): JsonValue {
  const result = tryParseJson(text);
  if (result.ok) return result.value;
  throw notJson(result, file);
}

/**
 * The value of a JSON text, or why and where it isn't one. Of a key that is written twice the last value counts;
 * `__proto__` is a key like any other.
 */
export function tryParseJson(text: string): ParseResult {
  const body = text.startsWith(BOM) ? text.slice(1) : text;
  if (isPlain(body)) {
    try {
      const value: JsonValue = JSON.parse(body);
      return { ok: true, value };
    } catch {
      // The engine doesn't say where; the scanner does.
    }
  }
  const scanned = scan(text);
  return scanned.ok ? { ok: true, value: valueOf(scanned.root) } : { ok: false, ...scanned.fault };
}

const STRICT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LENIENT = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Bytes as text, a BOM kept. Where they aren't UTF-8, `valid` is false and U+FFFD stands for what couldn't be read: good for
 * showing, never for writing back.
 */
export function decodeUtf8(bytes: Uint8Array): { readonly text: string; readonly valid: boolean } {
  try {
    return { text: STRICT.decode(bytes), valid: true };
  } catch {
    return { text: LENIENT.decode(bytes), valid: false };
  }
}

/**
 * A text as it is hashed to tell whether content changed: without what a checkout may change on its way (BOM, CRLF, line ends
 * and blanks at the end of the file).
 */
export function canonicalHashText(text: string): string {
  const body = (text.startsWith(BOM) ? text.slice(1) : text).replaceAll("\r\n", "\n");
  let end = body.length;
  while (end > 0 && " \t\r\n".includes(body.charAt(end - 1))) end--;
  return body.slice(0, end);
}
