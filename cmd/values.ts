/**
 * From words to input values, by what the schema says a field is. Pure, but for the two ways in that are handed to it: stdin
 * and files. A word that isn't what the field takes stays a word: validation says so better.
 */
import { DotbotError } from "../lib/error.ts";
import { asNumber, equalJson, isJsonObject, type JsonObject, type JsonValue, tryParseJson } from "../lib/json.ts";
import { quote } from "../lib/text.ts";
import type { Shape } from "../lib/schema.ts";
import type { FlagInfo } from "./flags.ts";

export interface Sources {
  readonly readStdin: () => Promise<string>;
  /** The file's text; null when there is none. */
  readonly readFile: (path: string) => Promise<string | null>;
}

/** The value of a field from the words given for its flag, in the order typed; `words` is not empty. */
export async function valueOf(flag: FlagInfo, words: readonly string[], sources: Sources): Promise<unknown> {
  const { shape } = flag;
  if (flag.boolean) return (words.at(-1) === "true") !== flag.inverted;
  if (flag.json) {
    const parsed = await Promise.all(words.map((word) => readJson(flag, word, sources)));
    return shape.kind === "list" ? parsed.flat() : parsed.at(-1);
  }
  const texts = flag.stdin
    ? await Promise.all(words.map(async (word) => (word === "-" ? await sources.readStdin() : word)))
    : words;
  const read = shape.kind === "list" ? listItems(texts, flag.whole) : undefined;
  if (read !== undefined) return read.map((item) => (typeof item === "string" ? scalar(shape.item, item) : item));
  return scalar(shape, texts.at(-1) ?? "");
}

/** One word as a number where the schema wants a number and the word is one, spelt in decimal. */
export function scalar(shape: Shape | undefined, word: string): unknown {
  if (shape?.kind !== "integer" && shape?.kind !== "number") return word;
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(word) ? Number(word) : word;
}

/**
 * The items of a list flag. One word: a JSON array, or, unless it is to stay whole, split at its commas. Several words (the
 * flag was repeated): each is one item, commas and all.
 */
export function listItems(words: readonly string[], whole: boolean): readonly unknown[] {
  const [only] = words;
  if (only === undefined || words.length > 1) return words;
  if (only.startsWith("[")) {
    const parsed = parseJson(only);
    if (Array.isArray(parsed?.value)) return parsed.value;
  }
  if (whole || only === "") return [only];
  return only
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

async function readJson(flag: FlagInfo, word: string, sources: Sources): Promise<unknown> {
  const inline = /^\s*[[{"]/.test(word);
  const text = inline ? word : word === "-" ? await sources.readStdin() : await sources.readFile(word);
  const from = inline ? "" : word === "-" ? " (stdin)" : ` (file ${quote(word)})`;
  if (text === null) {
    throw new DotbotError("NOT_FOUND", `--${flag.name}: there is no file ${quote(word)}`, {
      hint: "the value is JSON itself, the path of a file that holds it, or - for stdin",
    });
  }
  const parsed = parseJson(text) ?? (flag.shape.kind === "list" ? parseLines(text) : undefined);
  if (parsed === undefined) {
    throw new DotbotError("INVALID_INPUT", `--${flag.name}${from} isn't JSON: ${jsonFault(text)}`, {
      hint: "the value is JSON itself, the path of a file that holds it, or - for stdin",
    });
  }
  return parsed.value;
}

function parseJson(text: string): { readonly value: JsonValue } | undefined {
  const parsed = tryParseJson(text);
  return parsed.ok ? { value: plainNumbers(parsed.value) } : undefined;
}

/** Numbers as schemas know them; only those that would lose digits stay as they are written (20-digit integers). */
function plainNumbers(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(plainNumbers);
  if (isJsonObject(value)) {
    for (const [key, member] of Object.entries(value))
      if (member !== undefined) setMember(value, key, plainNumbers(member));
    return value;
  }
  const number = asNumber(value);
  if (number === undefined || !Number.isFinite(number)) return value;
  return typeof value === "number" || equalJson(value, JSON.rawJSON(String(number))) ? number : value;
}

/** Also for names that objects treat in a way of their own, such as `__proto__`. */
function setMember(object: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** One JSON value a line. */
function parseLines(text: string): { readonly value: JsonValue } | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const values = lines.map(parseJson);
  return lines.length > 1 && values.every((it) => it !== undefined)
    ? { value: values.flatMap((it) => (it === undefined ? [] : [it.value])) }
    : undefined;
}

function jsonFault(text: string): string {
  if (text.trim() === "") return "it is empty";
  const parsed = tryParseJson(text);
  return parsed.ok ? "unreadable" : `${parsed.message}, line ${parsed.line}, column ${parsed.column}`;
}
