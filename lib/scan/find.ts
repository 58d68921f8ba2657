/**
 * From texts to violations: finds, groups by line, takes out what is exempt, and says whose it is. Pure.
 */
import { DotbotError } from "../error.ts";
import { quote } from "../text.ts";
import { Engine, type Hit } from "./engine.ts";
import { ALLOW, allowedGlob, allowIn, BaselineIndex, covers, redact, type Allow, type Baseline } from "./exemptions.ts";
import { Linear, Refused } from "./linear.ts";
import type { Text } from "./patch.ts";
import { PATTERNS } from "./patterns.ts";

/** One line with secrets in it. */
export interface Violation {
  file: string;
  /** From 1. */
  line: number;
  patterns: string[];
  /** What was found, redacted; one for each pattern. */
  found: string[];
  /** `framework`: in files that a framework brought along; warned of, and not in the way. */
  scope: "project" | "framework";
  /** Where commits are looked at one by one. */
  commit?: string | undefined;
}

/** An exemption as it is reported. */
export interface ExemptionNote {
  file: string;
  /** Null for what isn't in a line of a text. */
  line: number | null;
  patterns: string[];
  reason: string | null;
}

export interface Rules {
  /** Globs from the root of the repository. */
  readonly framework: readonly string[];
  /** Likewise, each perhaps with ` -- reason`. */
  readonly allow: readonly string[];
  readonly patterns: readonly { readonly name: string; readonly pattern: string }[];
  readonly baseline: Baseline;
}

/** A secret as the baseline is written from it; never shown. */
export interface Secret {
  readonly file: string;
  readonly pattern: string;
  readonly secret: string;
}

/** An expression of the settings, ready. */
interface Own {
  readonly name: string;
  readonly machine: Linear;
}

export class Finder {
  readonly violations: Violation[] = [];
  /** Exemptions in lines that the change added. */
  readonly added: ExemptionNote[] = [];
  /** Exemptions that name no reason; they exempt nothing. */
  readonly unreasoned: ExemptionNote[] = [];
  /** Secrets of the violations, in their order. */
  readonly secrets: Secret[] = [];
  exempted = 0;
  private readonly byPlace = new Map<string, Violation>();
  private readonly engine = builtInEngine();
  private readonly own: readonly Own[];
  private readonly baseline: BaselineIndex;
  private readonly framework: readonly Bun.Glob[];
  private readonly allowed: readonly Bun.Glob[];

  /** Throws INVALID_SETTINGS for an expression that can't be matched in bounded time. */
  constructor(rules: Rules) {
    this.own = rules.patterns.map(compile);
    this.baseline = new BaselineIndex(rules.baseline);
    this.framework = rules.framework.map((glob) => new Bun.Glob(glob.replace(/^\/+/, "")));
    const allowed = rules.allow.map(allowedGlob);
    this.allowed = allowed.map(({ glob }) => new Bun.Glob(glob));
    for (const { file, pattern } of rules.baseline.unreasoned) {
      this.unreasoned.push({ file, line: null, patterns: [pattern], reason: null });
    }
  }

  /** Whether settings take the file out of the scan. */
  isAllowed(file: string): boolean {
    return this.allowed.some((glob) => glob.match(file));
  }

  /** A file that holds exemptions is among what changed. */
  noteFile(file: string): void {
    this.added.push({ file, line: null, patterns: [], reason: null });
  }

  take(text: Text): void {
    const hits: Hit[] = this.engine.scan(text.bytes, text.file);
    const lines = new Lines(text.bytes);
    if (this.own.length > 0) {
      hits.push(...this.ownHits(text, lines));
      hits.sort((a, b) => a.start - b.start);
    }
    const byLine = new Map<number, Hit[]>();
    for (const hit of hits) {
      const line = lines.indexOf(hit.start);
      if (!text.isNew(line)) continue;
      if (hit.pattern === ALLOW) this.noteAllow(text, line, lines);
      else {
        const others = byLine.get(line);
        if (others === undefined) byLine.set(line, [hit]);
        else others.push(hit);
      }
    }
    for (const [line, found] of byLine) this.report(text, line, found, lines);
  }

  private ownHits(text: Text, lines: Lines): Hit[] {
    const hits: Hit[] = [];
    for (let line = 0; line < lines.count; line++) {
      if (!text.isNew(line)) continue;
      const content = lines.text(line);
      for (const { name, machine } of this.own) {
        const secret = machine.find(content);
        if (secret !== null) hits.push({ pattern: name, start: lines.start(line), secret });
      }
    }
    return hits;
  }

  private noteAllow(text: Text, line: number, lines: Lines): void {
    const allow = allowIn(lines.text(line));
    if (allow === null) return;
    const note = { file: text.file, line: text.number(line), patterns: [...allow.patterns], reason: allow.reason };
    if (allow.reason === null) this.unreasoned.push(note);
    else this.added.push(note);
  }

  private report(text: Text, line: number, hits: readonly Hit[], lines: Lines): void {
    const allows = [line, line - 1]
      .filter((at) => at >= 0 && text.number(line) - text.number(at) === line - at)
      .map((at) => allowIn(lines.text(at)))
      .filter((allow): allow is Allow => allow !== null);
    const byPattern = new Map<string, string>();
    for (const { pattern, secret } of hits) {
      if (byPattern.has(pattern)) continue;
      const exempt = allows.some((allow) => covers(allow, pattern)) || this.baseline.has(text.file, pattern, secret);
      if (exempt) this.exempted += 1;
      else byPattern.set(pattern, secret);
    }
    if (byPattern.size === 0) return;
    // What is only called a secret is named by what it is, where that is known.
    if (byPattern.size > 1) byPattern.delete("generic-secret");
    for (const [pattern, secret] of byPattern) this.secrets.push({ file: text.file, pattern, secret });
    this.add({
      file: text.file,
      line: text.number(line),
      patterns: [...byPattern.keys()],
      found: [...byPattern.values()].map(redact),
      scope: this.framework.some((glob) => glob.match(text.file)) ? "framework" : "project",
      ...(text.commit === undefined ? {} : { commit: text.commit }),
    });
  }

  /** A line is told of once, though it may have been met in a commit, in the index and in the file. */
  private add(violation: Violation): void {
    const place = `${violation.commit ?? ""} ${violation.line} ${violation.file}`;
    const before = this.byPlace.get(place);
    if (before === undefined) {
      this.byPlace.set(place, violation);
      this.violations.push(violation);
      return;
    }
    for (const [index, pattern] of violation.patterns.entries()) {
      if (before.patterns.includes(pattern)) continue;
      before.patterns.push(pattern);
      before.found.push(violation.found[index] ?? "");
    }
  }
}

let engine: Engine | undefined;

/** The built-in patterns and the exemptions' mark, found in one pass. */
export function builtInEngine(): Engine {
  engine ??= new Engine([
    ...PATTERNS,
    { name: ALLOW, title: "an exemption", rules: [{ literals: [ALLOW], regex: /dotbot:allow/y }] },
  ]);
  return engine;
}

function compile({ name, pattern }: { readonly name: string; readonly pattern: string }): Own {
  try {
    return { name, machine: new Linear(pattern) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new DotbotError(
      "INVALID_SETTINGS",
      `scan.patterns: the expression ${quote(pattern)} of ${quote(name)} ${error.message}`,
      {
        hint: "use characters, classes, groups, alternatives, quantifiers and \\b, ^, $ only",
        example: `{ "name": "employee-id", "pattern": "EMP-\\\\d{6}" }`,
        details: { name, pattern },
      },
    );
  }
}

/** What is wrong with an expression of the settings, or null. */
export function patternFault(pattern: string): string | null {
  try {
    RegExp(pattern, "u");
    compile({ name: "it", pattern });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Lines of a text by offset, found when they are asked for, in rising order. */
class Lines {
  private readonly bytes: Uint8Array;
  private readonly starts: number[] = [0];

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get count(): number {
    this.extend(this.bytes.length);
    return this.starts.length;
  }

  start(line: number): number {
    return this.starts[line] ?? this.bytes.length;
  }

  indexOf(offset: number): number {
    this.extend(offset);
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The line without its end; of a very long one the first part. */
  text(line: number): string {
    const from = this.start(line);
    const lf = this.bytes.indexOf(10, from);
    const to = Math.min(lf === -1 ? this.bytes.length : lf, from + LONGEST);
    return new TextDecoder().decode(this.bytes.subarray(from, to)).replace(/\r$/, "");
  }

  private extend(offset: number): void {
    for (let last = this.starts.at(-1) ?? 0; last <= offset;) {
      const lf = this.bytes.indexOf(10, last);
      if (lf === -1 || lf + 1 > this.bytes.length) return;
      last = lf + 1;
      if (last < this.bytes.length) this.starts.push(last);
      else return;
    }
  }
}

const LONGEST = 65_536;
