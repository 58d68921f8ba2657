/** Pure helpers for text that people read. Nothing here touches a stream, a clock or a process. */

// C0, DEL, C1, the line and paragraph separators, and the bidirectional controls that can disguise a name.
const CONTROL = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;
const CONTROL_BUT_LINES = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;

/** One-line value: every control character becomes nothing. */
export function stripControl(value: string): string {
  return value.replace(CONTROL, "");
}

/** Many-line value: newlines and tabs stay, CRLF becomes LF, every other control character goes. */
export function stripControlKeepLines(value: string): string {
  return value.replace(/\r\n?/g, "\n").replace(CONTROL_BUT_LINES, "");
}

/** A message as it may be shown: newlines and tabs stay, other control characters show as `\xNN`. */
export function printable(value: string): string {
  return value.replace(CONTROL_BUT_LINES, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** A value quoted for a message: control characters gone, cut at `max` code points. */
export function quote(value: string, max = 80): string {
  const points = codePoints(value.replace(CONTROL, "\u00B7"));
  const shown = points.length > max ? points.slice(0, max - 1).join("") + "…" : points.join("");
  return `"${shown}"`;
}

/** A value as one word of a POSIX shell command line. */
export function shellWord(value: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(value)) return value;
  return `'${value.replaceAll("'", `'\\''`)}'`;
}

/** The code points of a text: what a limit on its length counts. */
export function codePoints(value: string): string[] {
  return Array.from(value);
}

/** A value of unknown type as text: strings as they are, everything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Cut at `max` code points, with an ellipsis as the last one. */
export function truncate(value: string, max: number): string {
  if (value.length <= max) return value;
  const points = codePoints(value);
  return points.length <= max ? value : points.slice(0, Math.max(0, max - 1)).join("") + "…";
}

/** `1 task`, `2 tasks`. */
export function count(n: number, singular: string, plural = `${singular}s`): string {
  return `${n} ${n === 1 ? singular : plural}`;
}

/** The known name nearest to a misspelt one, or undefined when nothing is near. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 0.5;
  const lower = word.toLowerCase();
  for (const name of known) {
    const candidate = name.toLowerCase();
    const distance =
      candidate.startsWith(lower) && lower.length >= 2 ? 0.5 : editDistance(lower, candidate, Math.ceil(bestDistance));
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Damerau–Levenshtein distance (adjacent swaps count one), given up on beyond `limit`. */
export function editDistance(a: string, b: string, limit = Infinity): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  let previous: number[] = [];
  let current = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((current[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (current[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (previous[j - 2] ?? 0) + 1);
      next.push(cost);
    }
    previous = current;
    current = next;
  }
  return current[b.length] ?? Infinity;
}

/** How an answer may be drawn: whether colour is wanted and how many columns there are. */
export interface Style {
  readonly color: boolean;
  readonly width: number;
}

export const PLAIN: Style = { color: false, width: 80 };

const SGR = {
  bold: "1",
  dim: "2",
  red: "31",
  green: "32",
  yellow: "33",
  blue: "34",
  magenta: "35",
  cyan: "36",
} as const;
export type Paint = keyof typeof SGR;

export function paint(style: Style, how: Paint, text: string): string {
  return style.color && text !== "" ? `\u001B[${SGR[how]}m${text}\u001B[0m` : text;
}

/** Columns a string takes in a terminal: escapes count nothing, wide characters two. */
export function displayWidth(text: string): number {
  return Bun.stringWidth(text);
}

export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/**
 * A text on at most two lines of these widths, broken between words where it can be; what is longer ends with an ellipsis.
 * `columns` measures: terminal columns by default.
 */
export function onTwoLines(text: string, first: number, second: number, columns = displayWidth): readonly string[] {
  if (columns(text) <= first) return [text];
  let head = "";
  for (const word of text.split(" ")) {
    const longer = head === "" ? word : `${head} ${word}`;
    if (columns(longer) > first) break;
    head = longer;
  }
  if (head === "") head = prefix(text, first, columns);
  const rest = text.slice(head.length).trimStart();
  return [head, columns(rest) <= second ? rest : `${prefix(rest, second - 1, columns).trimEnd()}…`];
}

/** As many of the first code points as fit. */
function prefix(text: string, width: number, columns: (text: string) => number): string {
  let shown = "";
  for (const point of text) {
    if (columns(shown + point) > width) break;
    shown += point;
  }
  return shown;
}

/** Rows in aligned columns, two spaces between them, nothing after the last one. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, displayWidth(cell));
  return rows
    .map(
      (row) =>
        row
          .map((cell, i) => (i === row.length - 1 ? cell : padEnd(cell, widths[i] ?? 0)))
          .join("  ")
          .trimEnd() + "\n",
    )
    .join("");
}

/** The first line that isn't blank. */
export function firstLine(text: string): string {
  return (
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? ""
  );
}
