/**
 * JSON values as dotbot holds them: what JSON.parse gives, plus numbers that JavaScript can't hold as they were written
 * (`1.0`, `1e3`, 20-digit integers). Those stay raw, as JSON.rawJSON makes them, and JSON.stringify prints them exactly.
 *
 * A raw number is an object only in disguise: spreading or cloning one loses what it is. Pass it on whole, read it with
 * `asNumber`, tell it from an object with `isJsonObject`.
 */

/** A number kept as text. Made only by JSON.rawJSON; a look-alike object isn't one. */
export interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    /** A value that JSON.stringify prints as `text`; throws unless that is one JSON scalar. */
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
  }
}

export type JsonScalar = null | boolean | number | string | RawNumber;
export type JsonValue = JsonScalar | JsonValue[] | JsonObject;

/** An absent member and one that is undefined are the same, as for JSON.stringify. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

/**
 * Levels of brackets that a document may nest. Far beyond what people write and far below what would exhaust a stack here
 * or meet the limit of SQLite's own JSON functions (1000).
 */
export const MAX_DEPTH = 500;

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

export function isScalar(value: JsonValue): value is JsonScalar {
  return typeof value !== "object" || value === null || JSON.isRawJSON(value);
}

/** The number, raw or not, rounded to what JavaScript can hold; undefined for everything that isn't a number. */
export function asNumber(value: JsonValue | undefined): number | undefined {
  if (typeof value === "number") return value;
  return JSON.isRawJSON(value) ? Number(value.rawJSON) : undefined;
}

/** Whether JavaScript prints a number token's value as it is written. */
export function isCanonical(token: string): boolean {
  return String(Number(token)) === token;
}

/** A number token as a value: plain where that prints as it was written, raw where it wouldn't. */
export function numberFrom(token: string): number | RawNumber {
  return isCanonical(token) ? Number(token) : JSON.rawJSON(token);
}

/** The own member of that name, whatever the name is (`__proto__`, `toString`). */
export function member(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/**
 * Equal as JSON: key order doesn't count, undefined members are absent, numbers are compared by value and not by spelling.
 * Two raw numbers are compared exactly. A raw and a plain one are compared as JavaScript numbers, because the plain one may
 * be the raw one after a trip through another program that rounds.
 */
export function equalJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  if (isScalar(a) || isScalar(b)) return sameNumber(a, b);
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => equalJson(item, b[i]));
  }
  const keys = Object.keys(a);
  for (const key of keys) if (!equalJson(a[key], member(b, key))) return false;
  // Every member of `a` is in `b`: only a further one of `b` can make a difference.
  return Object.keys(b).every((key) => b[key] === undefined || member(a, key) !== undefined);
}

function sameNumber(a: JsonValue, b: JsonValue): boolean {
  if (JSON.isRawJSON(a) && JSON.isRawJSON(b))
    return a.rawJSON === b.rawJSON || decimal(a.rawJSON) === decimal(b.rawJSON);
  const left = asNumber(a);
  return left !== undefined && left === asNumber(b);
}

/** A number token in one spelling per value: `-12.50` and `-125e-1` are both `-125e-1`; every zero is `0`. */
function decimal(token: string): string {
  const negative = token.startsWith("-");
  const [mantissa = "", exponent = "0"] = token.slice(negative ? 1 : 0).split(/e/i);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (digits[start] === "0") start++;
  while (end > start && digits[end - 1] === "0") end--;
  if (start === end) return "0";
  const scale = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - end);
  return `${negative ? "-" : ""}${digits.slice(start, end)}e${scale}`;
}
