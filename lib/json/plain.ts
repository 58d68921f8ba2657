/**
 * Whether the engine's own parser may read a text. Most documents are plain, and telling so must cost little beside
 * JSON.parse itself: strings are jumped over, and numbers of the common kind aren't looked at twice.
 */
import { isCanonical, MAX_DEPTH } from "./value.ts";

const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** All that a number may be made of. */
const NUMBER = /[-+.\deE]+/y;

/**
 * True when JSON.parse takes all there is from a JSON text: each number is written as JavaScript prints it, and nothing nests
 * deeper than MAX_DEPTH. For a text that isn't JSON the answer means nothing.
 */
export function isPlain(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at);
      if (at === -1) return false;
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      NUMBER.lastIndex = at;
      const token = NUMBER.exec(text)?.[0] ?? "";
      if (!isCanonical(token)) return false;
      at += token.length - 1;
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++depth > MAX_DEPTH) return false;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
  }
  return true;
}

/** The offset of the quote that ends the string that starts at `start`, or -1. */
function closingQuote(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return -1;
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
}
