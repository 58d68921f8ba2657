/**
 * Regular expressions of other people, parsed into a tree. Pure.
 *
 * What is accepted is the regular part of JavaScript's Unicode syntax: characters, classes, groups, alternatives, quantifiers,
 * `^`, `$`, `\b`, `\B`. Lookaround and back references are refused: with them no machine can promise an end (linear.ts).
 */

/** Code points, both ends included; sorted, not overlapping. */
export type Ranges = readonly (readonly [number, number])[];

export type Tree =
  | { readonly is: "set"; readonly ranges: Ranges }
  | { readonly is: "assert"; readonly what: Assertion }
  | { readonly is: "all" | "any"; readonly of: readonly Tree[] }
  | { readonly is: "repeat"; readonly of: Tree; readonly min: number; readonly max: number };

export type Assertion = "start" | "end" | "boundary" | "inside";

/** Why an expression isn't taken, as the end of a sentence about it. */
export class Refused extends Error {}

const LAST = 0x10ffff;
export const WORD: Ranges = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const DIGIT: Ranges = [[0x30, 0x39]];
const SPACE: Ranges = [
  [9, 13],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const CLASSES: Readonly<Record<string, Ranges>> = {
  d: DIGIT,
  w: WORD,
  s: SPACE,
  D: invert(DIGIT),
  W: invert(WORD),
  S: invert(SPACE),
};
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, "0": 0 };
/** More repetitions than that make a machine too big to be worth it. */
const MOST_REPEATS = 1000;

/** Throws Refused. The text must be one that `new RegExp(text, "u")` accepts. */
export function parseRegular(text: string): Tree {
  const parser = new Parser(Array.from(text));
  return parser.alternatives();
}

class Parser {
  private at = 0;
  private readonly text: readonly string[];

  constructor(text: readonly string[]) {
    this.text = text;
  }

  alternatives(): Tree {
    const branches: Tree[] = [this.sequence()];
    while (this.take("|")) branches.push(this.sequence());
    const [only] = branches;
    return branches.length === 1 && only !== undefined ? only : { is: "any", of: branches };
  }

  private sequence(): Tree {
    const items: Tree[] = [];
    while (this.at < this.text.length && this.peek() !== "|" && this.peek() !== ")")
      items.push(this.quantified(this.atom()));
    return { is: "all", of: items };
  }

  private atom(): Tree {
    const char = this.next();
    switch (char) {
      case "^":
        return { is: "assert", what: "start" };
      case "$":
        return { is: "assert", what: "end" };
      case ".":
        return {
          is: "set",
          ranges: invert([
            [10, 10],
            [13, 13],
            [0x2028, 0x2029],
          ]),
        };
      case "(":
        return this.group();
      case "[":
        return { is: "set", ranges: this.set() };
      case "\\":
        if (this.take("b")) return { is: "assert", what: "boundary" };
        if (this.take("B")) return { is: "assert", what: "inside" };
        return { is: "set", ranges: this.escape() };
      default:
        return { is: "set", ranges: single(char) };
    }
  }

  private group(): Tree {
    if (this.take("?")) {
      const kind = this.next();
      if (kind === "<" && this.peek() !== "=" && this.peek() !== "!") {
        while (this.next() !== ">");
      } else if (kind !== ":") {
        const what =
          kind === "=" || kind === "!" || kind === "<" ? "looks around (?= ?! ?<= ?<!)" : "sets flags within a group";
        throw new Refused(`${what}, which can't be matched in bounded time`);
      }
    }
    const tree = this.alternatives();
    this.next();
    return tree;
  }

  private quantified(of: Tree): Tree {
    const range = this.quantifier();
    if (range === null) return of;
    // Lazy or greedy finds the same lines.
    this.take("?");
    const [min, max] = range;
    if (Math.max(min, max === Infinity ? 0 : max) > MOST_REPEATS)
      throw new Refused(`repeats more than ${MOST_REPEATS} times`);
    return { is: "repeat", of, min, max };
  }

  private quantifier(): readonly [number, number] | null {
    if (this.take("*")) return [0, Infinity];
    if (this.take("+")) return [1, Infinity];
    if (this.take("?")) return [0, 1];
    if (!this.take("{")) return null;
    let inside = "";
    for (let char = this.next(); char !== "}"; char = this.next()) inside += char;
    const [min = "", max] = inside.split(",");
    return [Number(min), max === undefined ? Number(min) : max === "" ? Infinity : Number(max)];
  }

  private set(): Ranges {
    const negated = this.take("^");
    const ranges: (readonly [number, number])[] = [];
    while (!this.take("]")) {
      const low = this.member();
      const [from] = low;
      const isOne = low.length === 1 && from !== undefined && from[0] === from[1];
      if (isOne && this.peek() === "-" && this.text[this.at + 1] !== "]") {
        this.at++;
        const [to] = this.member();
        ranges.push([from[0], to?.[1] ?? from[0]]);
      } else {
        ranges.push(...low);
      }
    }
    const merged = merge(ranges);
    return negated ? invert(merged) : merged;
  }

  private member(): Ranges {
    const char = this.next();
    if (char !== "\\") return single(char);
    return this.take("b") ? [[8, 8]] : this.escape();
  }

  private escape(): Ranges {
    const char = this.next();
    const named = CLASSES[char];
    if (named !== undefined) return named;
    if (/[1-9k]/.test(char)) throw new Refused("refers back to a group, which can't be matched in bounded time");
    if (char === "p" || char === "P") throw new Refused(`uses \\${char}{…}; name the characters instead`);
    const control = CONTROLS[char];
    if (control !== undefined) return [[control, control]];
    if (char === "c") return one(this.next().charCodeAt(0) % 32);
    if (char === "x") return one(Number.parseInt(this.next() + this.next(), 16));
    if (char !== "u") return single(char);
    let digits = "";
    if (this.take("{")) for (let digit = this.next(); digit !== "}"; digit = this.next()) digits += digit;
    else for (let i = 0; i < 4; i++) digits += this.next();
    return one(Number.parseInt(digits, 16));
  }

  private peek(): string | undefined {
    return this.text[this.at];
  }

  private next(): string {
    const char = this.text[this.at++];
    if (char === undefined) throw new Refused("ends too early");
    return char;
  }

  private take(char: string): boolean {
    if (this.peek() !== char) return false;
    this.at++;
    return true;
  }
}

function one(point: number): Ranges {
  return [[point, point]];
}

function single(char: string): Ranges {
  return one(char.codePointAt(0) ?? 0);
}

function merge(ranges: Ranges): Ranges {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [from, to] of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

function invert(ranges: Ranges): Ranges {
  const inverted: [number, number][] = [];
  let from = 0;
  for (const [low, high] of merge(ranges)) {
    if (low > from) inverted.push([from, low - 1]);
    from = high + 1;
  }
  if (from <= LAST) inverted.push([from, LAST]);
  return inverted;
}
