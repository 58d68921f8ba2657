/**
 * Finds rules' matches in bytes, fast: one pass over the text that skips what can't begin a literal (Wu and Manber's way, with
 * blocks of two bytes), and an expression only where a literal stands. Pure.
 *
 * Invariants: the pass is linear. An expression sees a window of bounded length, so no line is too long for it.
 */
import type { Pattern, Rule } from "./patterns.ts";

/** A match. Offsets are in bytes of the text. */
export interface Hit {
  readonly pattern: string;
  readonly start: number;
  /** Of the secret itself, which may lie within the match. */
  readonly secret: string;
}

interface Literal {
  readonly bytes: Uint8Array;
  readonly anyCase: boolean;
  readonly rule: Rule;
  readonly pattern: string;
}

/** Each literal is recognised by its first three bytes; the shortest has no more. */
const BLOCK = 3;
const BACK = 160;
const AHEAD = 400;
const LF = 10;

const WORD = byteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
const NAME = byteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");
const CLOSING = byteSet("\"'`] \t");

export class Engine {
  /** By two bytes: how far to go on when they end here. 0: a literal may have begun two bytes before. */
  private readonly shift = new Uint8Array(65_536).fill(BLOCK - 1);
  private readonly buckets = new Map<number, Literal[]>();

  constructor(patterns: readonly Pattern[]) {
    for (const pattern of patterns) {
      for (const rule of pattern.rules) for (const text of rule.literals) this.add(text, rule, pattern.name);
    }
  }

  private add(text: string, rule: Rule, pattern: string): void {
    const anyCase = rule.anyCase === true;
    const bytes = new TextEncoder().encode(anyCase ? text.toLowerCase() : text);
    if (bytes.length < BLOCK) throw new TypeError(`the literal ${JSON.stringify(text)} is too short to be looked for`);
    const [first = 0, second = 0, third = 0] = bytes;
    const literal = { bytes, anyCase, rule, pattern };
    const spelt = (byte: number): number[] => (anyCase && byte >= 97 && byte <= 122 ? [byte, byte - 32] : [byte]);
    for (const b of spelt(second)) {
      for (const a of spelt(first)) this.shift[a | (b << 8)] = Math.min(this.shift[a | (b << 8)] ?? 0, 1);
      for (const c of spelt(third)) {
        const key = b | (c << 8);
        this.shift[key] = 0;
        const bucket = this.buckets.get(key);
        if (bucket === undefined) this.buckets.set(key, [literal]);
        else bucket.push(literal);
      }
    }
  }

  /** Every match, in the order in which their literals begin. `file` is for rules that look at a file's name. */
  scan(bytes: Uint8Array, file: string): Hit[] {
    const hits: Hit[] = [];
    const { shift, buckets } = this;
    const end = bytes.length;
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = BLOCK - 1; at < end;) {
      const key = (bytes[at - 1] ?? 0) | ((bytes[at] ?? 0) << 8);
      const step = shift[key] ?? 1;
      if (step !== 0) {
        at += step;
        continue;
      }
      const start = at - (BLOCK - 1);
      for (const literal of buckets.get(key) ?? []) {
        if (!standsAt(bytes, start, literal)) continue;
        const hit = match(view, start, literal, file);
        if (hit !== null) hits.push(hit);
      }
      at += 1;
    }
    return hits;
  }
}

function standsAt(bytes: Uint8Array, start: number, { bytes: wanted, anyCase, rule }: Literal): boolean {
  if (start + wanted.length > bytes.length) return false;
  for (let i = 0; i < wanted.length; i++) {
    let byte = bytes[start + i] ?? 0;
    if (anyCase && byte >= 65 && byte <= 90) byte += 32;
    if (byte !== wanted[i]) return false;
  }
  if (rule.boundary === true && start > 0 && WORD[bytes[start - 1] ?? 0] === 1) return false;
  return rule.assigned !== true || isAssigned(bytes, start + wanted.length);
}

/** Whether the name that goes on here is followed by `=` or `:`. */
function isAssigned(bytes: Uint8Array, from: number): boolean {
  let at = from;
  const nameEnd = from + 48;
  while (at < nameEnd && NAME[bytes[at] ?? 0] === 1) at++;
  const closeEnd = at + 12;
  while (at < closeEnd && CLOSING[bytes[at] ?? 0] === 1) at++;
  const byte = bytes[at];
  return byte === 0x3d || byte === 0x3a;
}

function match(view: Buffer, start: number, { rule, pattern }: Literal, file: string): Hit | null {
  let from = start;
  while (from > 0 && start - from < BACK && view[from - 1] !== LF) from--;
  const limit = Math.min(view.length, start + (rule.ahead ?? AHEAD));
  let to = rule.lines === true ? limit : view.indexOf(LF, start);
  if (to === -1 || to > limit) to = limit;
  // One character a byte: offsets stay bytes, and invalid UTF-8 is no special case.
  const window = view.toString("latin1", from, to);
  const { regex } = rule;
  regex.lastIndex = start - from;
  const found = regex.exec(window);
  if (found === null) return null;
  const secret = found.slice(1).find((group) => group !== undefined && group.length > 2) ?? found[0];
  if (rule.accept !== undefined && !rule.accept({ secret, match: found[0], window, file })) return null;
  const shown = rule.whole === true ? found[0] : secret;
  return { pattern, start, secret: Buffer.from(shown, "latin1").toString("utf8") };
}

function byteSet(characters: string): Uint8Array {
  const set = new Uint8Array(256);
  for (const char of characters) set[char.charCodeAt(0)] = 1;
  return set;
}
