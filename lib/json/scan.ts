/**
 * JSON text as a tree that knows where everything stands: for edits that touch nothing else, for numbers kept as written,
 * and for saying where and why a text isn't JSON. Accepts exactly what JSON.parse accepts, plus a leading BOM, minus what
 * nests deeper than MAX_DEPTH.
 *
 * Positions are offsets in UTF-16 units into the text as given, BOM included; `end` is exclusive.
 */
import { DotbotError } from "../error.ts";
import { quote } from "../text.ts";
import { MAX_DEPTH, numberFrom, type JsonObject, type JsonScalar, type JsonValue } from "./value.ts";

export type Node = ScalarNode | Container;
export type Container = ArrayNode | ObjectNode;

export interface ScalarNode {
  readonly kind: "scalar";
  readonly start: number;
  readonly end: number;
  readonly value: JsonScalar;
}

export interface ArrayNode {
  readonly kind: "array";
  readonly start: number;
  readonly end: number;
  readonly elements: readonly Element[];
}

export interface ObjectNode {
  readonly kind: "object";
  readonly start: number;
  readonly end: number;
  /** In the order written; a key may be there more than once, and then the last one counts. */
  readonly elements: readonly Member[];
}

/** What stands between two commas: an array's item, or an object's key and value. */
export interface Element {
  readonly start: number;
  readonly end: number;
  readonly value: Node;
}

export interface Member extends Element {
  readonly key: string;
  readonly keyEnd: number;
}

/** Why a text isn't JSON, and where. Line and column count from 1, the column in UTF-16 units; a BOM has no column. */
export interface JsonFault {
  readonly message: string;
  readonly hint?: string;
  readonly line: number;
  readonly column: number;
  readonly offset: number;
  /** The text around the place, at most one line of it. */
  readonly excerpt: string;
}

export type ScanResult = { readonly ok: true; readonly root: Node } | { readonly ok: false; readonly fault: JsonFault };

export const BOM = "\uFEFF";

export function scan(text: string): ScanResult {
  try {
    return { ok: true, root: new Scanner(text).document() };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, fault: faultAt(text, error) };
    throw error;
  }
}

/** The value of a tree, as JSON.parse would give it, with numbers raw where they need it. */
export function valueOf(node: Node): JsonValue {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "array") return node.elements.map((element) => valueOf(element.value));
  const object: JsonObject = {};
  for (const { key, value } of node.elements) {
    // Assigning to `__proto__` would change what the object inherits instead of giving it a member.
    if (key === "__proto__") {
      Object.defineProperty(object, key, {
        value: valueOf(value),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    } else object[key] = valueOf(value);
  }
  return object;
}

/** The failure as callers tell it: names the file, if there is one, and the place. */
export function notJson(fault: JsonFault, file: string | undefined): DotbotError {
  const subject = file === undefined ? "the text" : quote(file, 200);
  const near = fault.excerpt === "" ? "" : `, near ${quote(fault.excerpt)}`;
  const place = `line ${fault.line}, column ${fault.column}`;
  return new DotbotError("INVALID_INPUT", `${subject} isn't valid JSON: ${place}: ${fault.message}${near}`, {
    ...(fault.hint === undefined ? {} : { hint: fault.hint }),
    details: {
      ...(file === undefined ? {} : { file }),
      line: fault.line,
      column: fault.column,
      offset: fault.offset,
    },
  });
}

/** Thrown by the scanner, caught by `scan`. */
class Unreadable extends Error {
  readonly offset: number;
  readonly hint: string | undefined;

  constructor(message: string, offset: number, hint?: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}

const EXCERPT_REACH = 24;

function faultAt(text: string, { message, offset, hint }: Unreadable): JsonFault {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const first = lineStart === 0 && text.startsWith(BOM) ? 1 : lineStart;
  const lineEnd = text.indexOf("\n", offset);
  const from = Math.max(first, offset - EXCERPT_REACH);
  const to = Math.min(lineEnd === -1 ? text.length : lineEnd, offset + EXCERPT_REACH);
  return {
    message,
    ...(hint === undefined ? {} : { hint }),
    line: before.split("\n").length,
    column: offset - first + 1,
    offset,
    // A cut may fall between the halves of a surrogate pair.
    excerpt: text.slice(from, to).toWellFormed().trim(),
  };
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const NUMBER_LIKE = /[-+.\w]+/y;
const WORD = /[\p{L}\p{N}_$]+/uy;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const LITERALS: Readonly<Record<string, JsonScalar>> = { true: true, false: false, null: null };

class Scanner {
  private readonly text: string;
  private at: number;

  constructor(text: string) {
    this.text = text;
    this.at = text.startsWith(BOM) ? 1 : 0;
  }

  document(): Node {
    this.space();
    if (this.at === this.text.length) this.fail("the text is empty");
    const root = this.value(1);
    this.space();
    if (this.at < this.text.length) this.unexpected("the end of the text");
    return root;
  }

  /** `depth` is the level that a container which starts here is at. */
  private value(depth: number): Node {
    const start = this.at;
    const code = this.text.charCodeAt(start);
    if (code === QUOTE) {
      const value = this.string();
      return { kind: "scalar", start, end: this.at, value };
    }
    if (code === OPEN_BRACE) return this.object(depth);
    if (code === OPEN_BRACKET) return this.array(depth);
    const token = this.match(NUMBER);
    const value = token === undefined ? this.literal() : this.number(token);
    return { kind: "scalar", start, end: this.at, value };
  }

  private object(depth: number): ObjectNode {
    const start = this.open(depth);
    const elements: Member[] = [];
    while (!this.close(CLOSE_BRACE, elements.length === 0)) {
      const keyStart = this.at;
      if (this.text.charCodeAt(keyStart) !== QUOTE) this.unexpected("a key in double quotes");
      const key = this.string();
      const keyEnd = this.at;
      this.space();
      if (this.text.charCodeAt(this.at) !== COLON) this.unexpected(`":"`);
      this.at++;
      this.space();
      const value = this.value(depth + 1);
      elements.push({ start: keyStart, end: value.end, key, keyEnd, value });
    }
    return { kind: "object", start, end: this.at, elements };
  }

  private array(depth: number): ArrayNode {
    const start = this.open(depth);
    const elements: Element[] = [];
    while (!this.close(CLOSE_BRACKET, elements.length === 0)) {
      const value = this.value(depth + 1);
      elements.push({ start: value.start, end: value.end, value });
    }
    return { kind: "array", start, end: this.at, elements };
  }

  private open(depth: number): number {
    if (depth > MAX_DEPTH) this.fail(`the text nests deeper than ${MAX_DEPTH} levels`);
    return this.at++;
  }

  /** Stands before the next element and says false, or behind the closing bracket and says true. */
  private close(bracket: number, first: boolean): boolean {
    this.space();
    const code = this.text.charCodeAt(this.at);
    if (code === bracket) {
      this.at++;
      return true;
    }
    if (first) return false;
    const shown = quote(String.fromCharCode(bracket));
    if (code !== COMMA) this.unexpected(`"," or ${shown}`);
    const comma = this.at++;
    this.space();
    if (this.text.charCodeAt(this.at) === bracket) {
      this.fail(
        `a comma with nothing between it and ${shown}`,
        comma,
        "JSON allows no comma after the last element: remove it",
      );
    }
    return false;
  }

  private string(): string {
    const { text } = this;
    const start = this.at;
    let escapes = false;
    let at = start + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        escapes = true;
        this.at = at;
        const escape = this.match(ESCAPE);
        if (escape === undefined)
          this.fail("a backslash that starts no escape", at, String.raw`write "\\" for a backslash`);
        at += escape.length;
      } else if (code >= SPACE) at++;
      else if (at >= text.length) this.fail("a string without its closing quote", start);
      else
        this.fail(
          `a control character (${codePoint(text, at)}) inside a string`,
          at,
          String.raw`write "\n" for a line break, "\t" for a tab`,
        );
    }
    this.at = at + 1;
    if (!escapes) return text.slice(start + 1, at);
    const decoded: unknown = JSON.parse(text.slice(start, at + 1));
    return String(decoded);
  }

  private number(token: string): JsonScalar {
    const written = this.match(NUMBER_LIKE) ?? "";
    if (written !== token) this.fail(`${quote(written, 40)} isn't a JSON number`);
    this.at += token.length;
    return numberFrom(token);
  }

  private literal(): JsonScalar {
    const word = this.match(WORD) ?? "";
    const value = Object.hasOwn(LITERALS, word) ? LITERALS[word] : undefined;
    if (value === undefined) this.unexpected("a value");
    this.at += word.length;
    return value;
  }

  private space(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return;
      this.at++;
    }
  }

  /** What a sticky pattern matches here. */
  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text)?.[0];
  }

  private unexpected(wanted: string): never {
    const { text, at } = this;
    if (at >= text.length) this.fail(`the text ends where ${wanted} should be`);
    if (text.startsWith("<<<<<<<", at)) this.fail("a merge conflict marker", at, "resolve the conflict first");
    if (text.startsWith("//", at) || text.startsWith("/*", at))
      this.fail("a comment", at, "JSON has no comments: remove it");
    const word = this.match(WORD) ?? String.fromCodePoint(text.codePointAt(at) ?? 0);
    const shown = /^[\p{L}\p{N}\p{P}\p{S}]+$/u.test(word) ? quote(word, 40) : codePoint(text, at);
    this.fail(`${shown} where ${wanted} should be`, at, word === "'" ? "JSON takes double quotes only" : undefined);
  }

  private fail(message: string, offset = this.at, hint?: string): never {
    throw new Unreadable(message, offset, hint);
  }
}

function codePoint(text: string, at: number): string {
  return `U+${(text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
