/**
 * What shells send when Tab is pressed, and what they get: the protocol between the stubs in completions/ and this program.
 * Pure.
 *
 *     dotbot __complete zsh|fish -- <word>… <word at the cursor>
 *     dotbot __complete powershell -- <word>… =<word at the cursor>      (an empty argument would get lost)
 *     dotbot __complete bash -- <columns> <COMP_TYPE> <COMP_WORDBREAKS> <line as far as the cursor>
 *
 * The answer's first line is `words`, `files` or `directories`. For the latter two a tab, what to put before each path, a
 * tab, and what paths begin with follow, and the shell finds the paths. Each further line is a candidate, as its shell
 * takes it: quoted for bash and PowerShell, with a description behind a tab (zsh: a colon; bash: in the text itself).
 *
 * bash hands over its line unread, because its own words are broken at `=` and `:` and keep their quotes.
 */
import { displayWidth, padEnd, stripControl, truncate } from "../lib/text.ts";
import type { Asked, Candidate, Place } from "./complete.ts";

export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;
export type Shell = (typeof SHELLS)[number];

export interface Request {
  readonly asked: Asked;
  /** Turns candidates, which begin with what is typed, into the answer. */
  readonly answer: (place: Place, candidates: readonly Candidate[]) => string;
}

/** Reads what a stub sent. `args`: the words behind the `--`. */
export function readRequest(shell: Shell, args: readonly string[]): Request {
  switch (shell) {
    case "bash":
      return bashRequest(args);
    case "zsh":
      return wordsRequest(
        args,
        (text) => text,
        (value, description) => `${zshWord(value)}:${description}`,
      );
    case "fish":
      // The word at the cursor comes as it is typed: fish can't take the quotes off a word that isn't finished.
      return wordsRequest(args, (text) => readLine(text).word.text, tabbed);
    case "powershell":
      return wordsRequest(
        args,
        (text) => text.replace(/^=/, ""),
        (value, description) => tabbed(powershellWord(value), description),
      );
  }
}

function wordsRequest(
  args: readonly string[],
  read: (word: string) => string,
  line: (value: string, description: string) => string,
): Request {
  return {
    asked: { before: args.slice(0, -1), word: read(args.at(-1) ?? "") },
    answer: (place, candidates) => {
      const said = oneLine(candidates);
      return answerText(
        place,
        place.lead,
        candidates.map(({ value }, i) => line(place.lead + value, said[i] ?? "")),
      );
    },
  };
}

function answerText(place: Place, lead: string, lines: readonly string[]): string {
  const what = place.lookup?.what;
  const head = what === "path" ? "files" : what === "directory" ? "directories" : null;
  return [head === null ? "words" : `${head}\t${lead}\t${place.begun}`, ...lines, ""].join("\n");
}

function tabbed(value: string, description: string): string {
  return description === "" ? value : `${value}\t${description}`;
}

/** Descriptions without what would break a line, whatever a task is called. Mostly there is nothing to take off. */
function oneLine(candidates: readonly Candidate[]): readonly string[] {
  const said = candidates.map(({ description }) => description);
  const all = said.join("");
  return stripControl(all) === all ? said : said.map(stripControl);
}

function zshWord(value: string): string {
  return value.includes(":") || value.includes("\\") ? value.replace(/[\\:]/g, "\\$&") : value;
}

function powershellWord(value: string): string {
  return /^[\p{L}\p{N}_+=:./\\-][\p{L}\p{N}_+=:,./\\-]*$/u.test(value) ? value : `'${value.replaceAll("'", "''")}'`;
}

// ── bash ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** COMP_TYPE when each Tab inserts another candidate: then a candidate is nothing but itself. */
const INSERTS = ["37", "42"];

function bashRequest([columns = "", type = "", breaks = "", line = ""]: readonly string[]): Request {
  const { words, word } = readLine(line);
  const kept = keptText(word, breaks);
  return {
    asked: { before: words.slice(1), word: word.text },
    answer: (place, candidates) => {
      const said = oneLine(candidates);
      const values = candidates.map(({ value }) => bashWord((place.lead + value).slice(kept.length), word.quote));
      const describes = candidates.length > 1 && !INSERTS.includes(type);
      const lines = describes ? described(values, said, Number(columns) || 80) : values;
      return answerText(place, place.lead.slice(kept.length), lines);
    },
  };
}

/** `value  (description)`, in one column. What readline inserts ends where values differ, so descriptions are only seen. */
function described(values: readonly string[], said: readonly string[], columns: number): readonly string[] {
  const width = Math.max(...values.map(displayWidth));
  return values.map((value, i) => {
    const description = said[i] ?? "";
    const room = columns - width - 6;
    return description === "" || room < 8 ? value : `${padEnd(value, width)}  (${truncate(description, room)})`;
  });
}

/**
 * What of the word at the cursor stays in the line: bash replaces what comes behind the last break, or behind an open quote.
 * A break that begins a host name belongs to what is replaced.
 */
function keptText({ pieces, quote }: LineWord, breaks: string): string {
  const last = pieces.findLastIndex((piece) =>
    quote === "" ? !piece.quoted && breaks.includes(piece.text) : piece.opens,
  );
  const from = quote === "" && pieces[last]?.text !== "@" ? last + 1 : last;
  return last < 0
    ? ""
    : pieces
        .slice(0, from)
        .map((piece) => piece.text)
        .join("");
}

function bashWord(text: string, quote: LineWord["quote"]): string {
  switch (quote) {
    // Where it ends in the quotation mark itself, bash takes that for the closing one and adds none.
    case "'":
      return text.replaceAll("'", "'\\''") + (text.endsWith("'") ? "'" : "");
    case '"':
      return text.replace(/["$`\\]/g, "\\$&") + (text.endsWith('"') ? '"' : "");
    case "":
      return text.replace(/[^\p{L}\p{M}\p{N}_@%+=:,./-]/gu, "\\$&");
  }
}

// ── a line of a POSIX shell ──────────────────────────────────────────────────────────────────────────────────────────

interface Piece {
  readonly text: string;
  readonly quoted: boolean;
  /** The first one behind a quotation mark that opens; may be empty. */
  readonly opens: boolean;
}

interface LineWord {
  /** Without its quotes. */
  readonly text: string;
  readonly pieces: readonly Piece[];
  /** The quotation mark that is still open at its end. */
  readonly quote: "" | "'" | '"';
}

/** The words of a line, and the one that its end is in: an empty one behind a blank. */
export function readLine(line: string): { readonly words: readonly string[]; readonly word: LineWord } {
  const words: string[] = [];
  let pieces: Piece[] = [];
  let quote: LineWord["quote"] = "";
  const textOf = (): string => pieces.map((piece) => piece.text).join("");
  const characters = Array.from(line);
  for (let i = 0; i < characters.length; i++) {
    const c = characters[i] ?? "";
    const next = characters[i + 1];
    if (quote !== "") {
      if (c === quote) quote = "";
      else if (c === "\\" && quote === '"' && next !== undefined && '"$`\\'.includes(next)) {
        pieces.push({ text: next, quoted: true, opens: false });
        i++;
      } else pieces.push({ text: c, quoted: true, opens: false });
    } else if (c === "'" || c === '"') {
      quote = c;
      pieces.push({ text: "", quoted: true, opens: true });
    } else if (c === "\\") {
      // A backslash at the very end quotes what isn't typed yet.
      if (next !== undefined) pieces.push({ text: next, quoted: true, opens: false });
      i++;
    } else if (/\s/.test(c)) {
      if (pieces.length > 0) words.push(textOf());
      pieces = [];
    } else pieces.push({ text: c, quoted: false, opens: false });
  }
  return { words, word: { text: textOf(), pieces, quote } };
}
