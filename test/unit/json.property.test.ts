/**
 * Properties of JSON reading and editing, on random documents in random styles, changed at random. Seeded: a failure names
 * the seed, and fails again. The oracles are JSON.parse and a canonical spelling; neither uses the code under test.
 */
import { expect, test } from "bun:test";

import {
  compactJson,
  editJson,
  isJsonObject,
  parseJson,
  tryParseJson,
  type JsonObject,
  type JsonValue,
} from "../../lib/json.ts";
import { scan, valueOf } from "../../lib/json/scan.ts";

const DOCUMENTS = 4000;

class Random {
  private state: number;

  constructor(seed: number) {
    this.state = Math.imul(seed + 1, 0x9e3779b9);
  }

  /** An integer from 0 up to `limit`, exclusive (mulberry32). */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }
}

const NUMBERS = [
  "0",
  "1",
  "-7",
  "50",
  "0.5",
  "1.0",
  "1.50",
  "1e3",
  "1E-2",
  "-0.0",
  "12345678901234567890",
  "1e400",
] as const;
const STRINGS = [
  "",
  "x",
  "a b",
  "1.0",
  ": 1.0,",
  '"',
  "\\",
  "\\\\",
  "\n",
  "é",
  "\u2028",
  "😀",
  "\uD800",
  "{",
  "]",
  "},",
  "//",
] as const;
const KEYS = ["a", "b", "c", "name", "id", "1", "007", "", "__proto__", "toString", "length", 'k"', "é"] as const;

function randomValue(random: Random, depth: number): JsonValue {
  switch (random.below(depth <= 0 ? 4 : 7)) {
    case 0:
      return random.pick([null, true, false]);
    case 1:
      return parseJson(random.pick(NUMBERS));
    case 2:
      return random.below(1000) / 8;
    case 3:
      return random.pick(STRINGS);
    case 4:
      return randomObject(random, depth - 1);
    default:
      return Array.from({ length: random.below(5) }, () => randomValue(random, depth - 1));
  }
}

function randomObject(random: Random, depth: number): JsonObject {
  const object: JsonObject = {};
  for (let i = random.below(6); i > 0; i--) define(object, random.pick(KEYS), randomValue(random, depth));
  return object;
}

function define(object: JsonObject, key: string, value: JsonValue | undefined): void {
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}

/** A copy in which a few things are different. */
function changed(random: Random, value: JsonValue, depth: number): JsonValue {
  if (random.chance(8)) return randomValue(random, depth);
  if (JSON.isRawJSON(value) && random.chance(30) && Number.isFinite(Number(value.rawJSON)))
    return Number(value.rawJSON);
  if (Array.isArray(value)) {
    const items = value.map((item) => (random.chance(20) ? changed(random, item, depth - 1) : item));
    if (random.chance(25)) items.splice(random.below(items.length + 1), random.below(3));
    if (random.chance(25)) items.splice(random.below(items.length + 1), 0, randomValue(random, depth - 1), "new");
    if (random.chance(5)) items.reverse();
    return items;
  }
  return isJsonObject(value) ? changedObject(random, value, depth) : value;
}

function changedObject(random: Random, object: JsonObject, depth: number): JsonObject {
  const result: JsonObject = {};
  const keys = Object.keys(object);
  if (random.chance(30)) keys.reverse();
  for (const key of keys) {
    if (random.chance(12)) {
      if (random.chance(50)) define(result, key, undefined);
    } else define(result, key, changed(random, object[key] ?? null, depth - 1));
  }
  while (random.chance(30)) define(result, random.pick(KEYS), randomValue(random, depth - 1));
  return result;
}

interface Written {
  readonly eol: string;
  readonly unit: string;
  readonly colon: string;
  /** Lines are broken for ever, never, or here and there. */
  readonly breaks: number;
}

/** A document as some program or person might write it. */
function written(random: Random, object: JsonObject): string {
  const style: Written = {
    eol: random.pick(["\n", "\r\n"]),
    unit: random.pick(["  ", "    ", "\t", ""]),
    colon: random.pick([": ", ":", " : "]),
    breaks: random.pick([0, 100, 100, 70]),
  };
  const tail = random.pick(["", style.eol, style.eol + style.eol, " "]);
  return random.pick(["", "", "\uFEFF"]) + writtenValue(random, object, style, "") + tail;
}

function writtenValue(random: Random, value: JsonValue, style: Written, indent: string): string {
  if (typeof value === "string") return writtenString(random, value);
  if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) return JSON.stringify(value);
  const inner = indent + style.unit;
  const items = Array.isArray(value)
    ? value.map((item) => writtenValue(random, item, style, inner))
    : writtenMembers(random, value, style, inner);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + random.pick(["", "", " ", style.eol]) + close;
  if (!random.chance(style.breaks)) {
    const pad = random.pick(["", "", " "]);
    return open + pad + items.join(random.pick([",", ", ", " ,"])) + pad + close;
  }
  const lead = style.eol + inner;
  return (
    open +
    lead +
    items.join(random.pick([`,${lead}`, `,${lead}`, `,${style.eol}${lead}`, `${lead}, `])) +
    style.eol +
    indent +
    close
  );
}

function writtenMembers(random: Random, value: JsonObject, style: Written, inner: string): string[] {
  const members: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    const name = writtenString(random, key) + style.colon;
    if (random.chance(5)) members.push(name + writtenValue(random, randomValue(random, 1), style, inner));
    members.push(name + writtenValue(random, item ?? null, style, inner));
  }
  return members;
}

function writtenString(random: Random, value: string): string {
  if (!random.chance(20)) return JSON.stringify(value);
  return `"${Array.from({ length: value.length }, (_, i) => `\\u${value.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`;
}

/** A value in one spelling: keys sorted, numbers as JavaScript sees them. */
function canonical(value: JsonValue | undefined): string {
  if (JSON.isRawJSON(value)) return String(Number(value.rawJSON) + 0);
  if (typeof value === "number") return String(value + 0);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join()}}`;
}

function parseObject(text: string): JsonObject {
  const value = parseJson(text);
  if (!isJsonObject(value)) throw new Error(`not an object: ${text}`);
  return value;
}

/** What JSON.parse makes of a text. */
function native(text: string): JsonValue {
  return JSON.parse(text.replace(/^\uFEFF/, ""));
}

/** The source of each top-level member that counts, by key. */
function sources(text: string): Map<string, string> {
  const scanned = scan(text);
  if (!scanned.ok || scanned.root.kind !== "object") throw new Error(`not an object: ${text}`);
  return new Map(scanned.root.elements.map(({ key, start, end }) => [key, text.slice(start, end)]));
}

function eachDocument(check: (random: Random, text: string, value: JsonObject) => void): void {
  for (let seed = 0; seed < DOCUMENTS; seed++) {
    const random = new Random(seed);
    const text = written(random, randomObject(random, 3));
    try {
      check(random, text, parseObject(text));
    } catch (error) {
      throw new Error(`seed ${seed}: ${JSON.stringify(text)}`, { cause: error });
    }
  }
}

test("what is read is what JSON.parse reads, numbers as they were written", () => {
  eachDocument((_, text, value) => {
    expect(canonical(value)).toBe(canonical(native(text)));
    const scanned = scan(text);
    if (!scanned.ok) throw new Error(scanned.fault.message);
    // Both ways of reading, the engine's and ours, come to the same.
    expect(JSON.stringify(value)).toBe(JSON.stringify(valueOf(scanned.root)));
    expect(JSON.stringify(parseJson(compactJson(value)))).toBe(JSON.stringify(value));
  });
});

test("an edit that changes nothing gives the same bytes", () => {
  eachDocument((_, text, value) => {
    expect(editJson(text, value)).toBe(text);
    expect(editJson(text, parseObject(JSON.stringify(value)))).toBe(text);
  });
});

test("an edited document reads as what was wanted, and what didn't change is as it was written", () => {
  eachDocument((random, text, value) => {
    const next = changedObject(random, value, 3);
    const result = editJson(text, next);
    expect(canonical(native(result))).toBe(canonical(next));
    expect(canonical(parseJson(result))).toBe(canonical(next));
    expect(editJson(result, next)).toBe(result);
    expect(result.startsWith("\uFEFF")).toBe(text.startsWith("\uFEFF"));
    expect(/\s*$/.exec(result)?.[0]).toBe(/\s*$/.exec(text)?.[0]);

    const before = sources(text);
    const after = sources(result);
    const kept = [...before.keys()].filter((key) => after.has(key));
    expect([...after.keys()].slice(0, kept.length)).toEqual(kept);
    for (const key of kept)
      if (canonical(value[key]) === canonical(next[key])) expect(after.get(key)).toBe(before.get(key));
  });
});

test("a damaged document is refused exactly where JSON.parse refuses it", () => {
  const DAMAGE = [
    '"',
    "\\",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "0",
    "-",
    ".",
    "e",
    "+",
    " ",
    "\n",
    "\t",
    "u",
    "true",
    "nul",
    "\u00A0",
    "é",
  ] as const;
  let refused = 0;
  eachDocument((random, text) => {
    let damaged = text.replace(/^\uFEFF/, "");
    for (let i = 1 + random.below(2); i > 0; i--) {
      const at = random.below(damaged.length + 1);
      damaged =
        damaged.slice(0, at) + (random.chance(70) ? random.pick(DAMAGE) : "") + damaged.slice(at + random.below(2));
    }
    let wanted: string | undefined;
    try {
      wanted = canonical(native(damaged));
    } catch {
      refused++;
    }
    const result = tryParseJson(damaged);
    const scanned = scan(damaged);
    expect(result.ok ? canonical(result.value) : undefined).toBe(wanted);
    expect(scanned.ok ? canonical(valueOf(scanned.root)) : undefined).toBe(wanted);
    if (!result.ok) {
      const lines = damaged.slice(0, result.offset).split("\n");
      expect([result.line, result.column]).toEqual([lines.length, (lines.at(-1) ?? "").length + 1]);
    }
  });
  // Otherwise the test would prove little either way.
  expect(refused).toBeGreaterThan(DOCUMENTS / 4);
  expect(refused).toBeLessThan(DOCUMENTS);
});
