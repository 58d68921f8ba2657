/**
 * What is exempt from the scan, and by whose word: `dotbot:allow <pattern> -- reason` in the text, entries of the baseline
 * file, globs in the settings. Pure, but for the baseline's marks, which are slow on purpose.
 *
 * A word without a reason exempts nothing and is itself reported.
 */
import { pbkdf2Sync } from "node:crypto";

import { DotbotError } from "../error.ts";
import { isJsonObject, tryParseJson, type JsonValue } from "../json.ts";

export const ALLOW = "dotbot:allow";

export interface Allow {
  readonly patterns: readonly string[];
  /** Null where none is given. */
  readonly reason: string | null;
}

/** The exemption that a line states, or null. Names are separated by commas; `*` stands for all. */
export function allowIn(line: string): Allow | null {
  const found = /dotbot:allow[ \t]+([a-z0-9*][a-z0-9*,-]*)(?:[ \t]+--[ \t]+(\S[^\r\n]*))?/.exec(line);
  if (found === null) return null;
  const patterns = (found[1] ?? "").split(",").filter((name) => name !== "");
  const reason = (found[2] ?? "").replace(/[ \t]*(?:-->|\*\/|#\}|\}\}|%>)?[ \t]*$/, "");
  return { patterns, reason: reason === "" || /^-*>?$/.test(reason) ? null : reason };
}

export function covers(allow: Allow, pattern: string): boolean {
  return allow.reason !== null && (allow.patterns.includes("*") || allow.patterns.includes(pattern));
}

/** A glob of the settings, `test/fixtures/** -- made-up keys`: anchored at the repository's root. */
export interface AllowedGlob {
  readonly glob: string;
  readonly reason: string | null;
}

export function allowedGlob(entry: string): AllowedGlob {
  const cut = entry.indexOf(" -- ");
  if (cut === -1) return { glob: entry.trim().replace(/^\/+/, ""), reason: null };
  const reason = entry.slice(cut + 4).trim();
  return { glob: entry.slice(0, cut).trim().replace(/^\/+/, ""), reason: reason === "" ? null : reason };
}

export const BASELINE_FILE = ".bot/scan-baseline.json";

/** One finding that was there and was looked at. */
export interface BaselineEntry {
  readonly file: string;
  readonly pattern: string;
  /** Tells this secret from another without holding it: see `markOf`. */
  readonly mark: string;
  readonly reason: string;
}

export interface Baseline {
  /** Makes marks of one repository useless in another. */
  readonly salt: string;
  readonly entries: readonly BaselineEntry[];
  /** Entries without a reason: they exempt nothing. */
  readonly unreasoned: readonly { readonly file: string; readonly pattern: string }[];
}

export const NO_BASELINE: Baseline = { salt: "", entries: [], unreasoned: [] };

/** Reads a baseline file. Throws INVALID_INPUT naming the place. */
export function parseBaseline(text: string, from: string): Baseline {
  const bad = (what: string): DotbotError =>
    new DotbotError("INVALID_INPUT", `${from}: ${what}`, {
      hint: "a baseline is written by dotbot; mend it, or write it again",
      example: "dotbot guard scan --all --accept 'looked at: all made up'",
    });
  const parsed = tryParseJson(text);
  if (!parsed.ok) throw bad(`isn't valid JSON (line ${parsed.line}, column ${parsed.column}): ${parsed.message}`);
  if (!isJsonObject(parsed.value)) throw bad("should hold a JSON object");
  const { salt, findings } = parsed.value;
  if (typeof salt !== "string" || !Array.isArray(findings)) throw bad('should have a "salt" and a list "findings"');
  const entries: BaselineEntry[] = [];
  const unreasoned: { file: string; pattern: string }[] = [];
  for (const [index, item] of findings.entries()) {
    if (!isJsonObject(item)) throw bad(`findings[${index}] should be an object`);
    const file = text_(item["file"]);
    const pattern = text_(item["pattern"]);
    const mark = text_(item["mark"]);
    if (file === "" || pattern === "" || mark === "")
      throw bad(`findings[${index}] should have "file", "pattern" and "mark"`);
    const reason = text_(item["reason"]).trim();
    if (reason === "") unreasoned.push({ file, pattern });
    else entries.push({ file, pattern, mark, reason });
  }
  return { salt, entries, unreasoned };
}

function text_(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

export function formatBaseline(salt: string, entries: readonly BaselineEntry[]): string {
  const sorted = [...entries].sort((a, b) =>
    a.file === b.file ? (a.pattern < b.pattern ? -1 : 1) : a.file < b.file ? -1 : 1,
  );
  return `${JSON.stringify({ salt, findings: sorted }, null, 2)}\n`;
}

/**
 * What the baseline keeps of a secret. Short, salted and slow to compute, so that the file is no help in guessing a password;
 * another secret of the same pattern in the same file gets another mark.
 */
export function markOf(salt: string, file: string, pattern: string, secret: string): string {
  return pbkdf2Sync(secret, `${salt}\0${file}\0${pattern}`, 20_000, 5, "sha256").toString("hex");
}

/** Looks findings up in a baseline; computes a mark only for a pattern and file that it has. */
export class BaselineIndex {
  private readonly byPlace = new Map<string, Set<string>>();
  private readonly salt: string;

  constructor({ salt, entries }: Baseline) {
    this.salt = salt;
    for (const { file, pattern, mark } of entries) {
      const place = `${pattern}\0${file}`;
      const marks = this.byPlace.get(place);
      if (marks === undefined) this.byPlace.set(place, new Set([mark]));
      else marks.add(mark);
    }
  }

  has(file: string, pattern: string, secret: string): boolean {
    const marks = this.byPlace.get(`${pattern}\0${file}`);
    return marks !== undefined && marks.has(markOf(this.salt, file, pattern, secret));
  }
}

/** How a secret is shown, everywhere: its first 4 characters, fewer of a short one, and its length. */
export function redact(secret: string): string {
  const points = Array.from(secret);
  const shown = points
    .slice(0, Math.min(4, Math.floor(points.length / 3)))
    .join("")
    .replace(/[\u0000-\u001F\u007F-\u009F]/g, "·");
  return `${shown}… (${points.length} characters)`;
}
