/**
 * An operation as a command line spells it: its flags and its usage line. One derivation for parsing, help, completion and
 * the reference. Pure.
 */
import type { AnyOperation, Completion, Positional } from "../lib/op.ts";
import { fieldsOf, isStructured, type Field, type Shape } from "../lib/schema.ts";
import type { FlagSyntax } from "./argv.ts";

export interface FlagInfo extends FlagSyntax {
  /** The input field it fills; null for a flag of the command line alone (`--ids`, the global ones, those of `assemble`). */
  readonly field: Field | null;
  /** What the value is; `list` and `enum` tell how to read and complete it. */
  readonly shape: Shape;
  /** What stands for the value in help: `<text>`. Absent for booleans. */
  readonly value?: string;
  readonly description: string;
  readonly required: boolean;
  /** A list's values keep their commas. */
  readonly whole: boolean;
  /** `-` or a file's path stands for JSON. */
  readonly json: boolean;
  /** `-` stands for all of stdin. */
  readonly stdin: boolean;
  /** A boolean whose field says the opposite: `--no-commit` sets `no_commit`. */
  readonly inverted: boolean;
  /** Where candidates for Tab come from, beside the shape's choices. */
  readonly complete: Completion;
  /** Understood, but not shown: a positional's other spelling. */
  readonly hidden: boolean;
  readonly from: "field" | "assemble" | "answer" | "global";
}

function global(name: string, description: string, value?: string, short?: string): FlagInfo {
  return {
    name,
    short,
    boolean: value === undefined,
    repeats: false,
    field: null,
    shape: { kind: value === undefined ? "boolean" : "string" },
    ...(value === undefined ? {} : { value }),
    description,
    required: false,
    whole: false,
    json: false,
    stdin: false,
    inverted: false,
    complete: name === "dir" ? "directory" : "none",
    hidden: false,
    from: "global",
  };
}

/** Understood by every command, anywhere before `--`. */
export const GLOBAL_FLAGS: readonly FlagInfo[] = [
  global("dir", "work in the repository or checkout at this path", "<path>", "C"),
  global("json", "print the answer, or the error, as one line of JSON"),
  global("yes", "answer yes to questions; never stands for a --force flag"),
  global("lock-wait", "wait this long for another process (default 10s)", "<time>"),
  global("quiet", "no progress and no notes on stderr"),
  { ...global("color", "no colour; NO_COLOR and FORCE_COLOR work too"), inverted: true },
  global("help", "show help", undefined, "h"),
  global("version", "show the version"),
];

const IDS = { ...global("ids", "print ids alone, one a line"), from: "answer" } as const satisfies FlagInfo;

/** Who did it and from where: every transition takes these and none is about them, so they come last. */
const PROVENANCE: ReadonlySet<string> = new Set(["session_id", "branch", "commit", "by"]);

/**
 * The flags of an operation, without the global ones: those of its fields, in the schema's order but required ones first and
 * provenance last, then those of the command line alone.
 */
export function flagsOf(op: AnyOperation): readonly FlagInfo[] {
  const positional = new Set((op.positional ?? []).map((it) => it.field));
  const own = fieldsOf(op.input).flatMap((field) => {
    if (field.name === "dir") return [];
    const spelling = op.flags?.[field.name] ?? {};
    if (spelling.hidden === true && !positional.has(field.name)) return [];
    return [flagOf(op, field, positional.has(field.name))];
  });
  const assembled = Object.entries(op.assemble?.flags ?? {}).map(([name, { value, description }]): FlagInfo => ({
    ...global(name, description, value),
    repeats: true,
    from: "assemble",
  }));
  const shown = own.toSorted((a, b) => rank(a) - rank(b));
  return [...shown, ...assembled, ...(op.ids === undefined ? [] : [IDS])].map((flag) =>
    flag.hidden ? flag : { ...flag, listed: longName(flag) },
  );
}

function rank({ required, field }: FlagInfo): number {
  if (required) return 0;
  return field !== null && PROVENANCE.has(field.name) ? 2 : 1;
}

/** `-C` and `--dir` belong to the verbs that have somewhere to work. */
export function takesDir(op: AnyOperation): boolean {
  return Object.hasOwn(op.input.entries, "dir");
}

/** `task show <task>`, `guard commit [<file>…] --message <text> [options]`: without `dotbot`. */
export function usage(op: AnyOperation): string {
  const fields = fieldsOf(op.input);
  const words = (op.positional ?? []).map((it) => placeholder(it, fields));
  const flags = flagsOf(op).filter((flag) => !flag.hidden);
  const required = flags.filter((flag) => flag.required).map((flag) => [`--${flag.name}`, flag.value].join(" ").trim());
  const rest = flags.some((flag) => !flag.required) ? ["[options]"] : [];
  const [last] = words.slice(-1);
  // Words behind `--` end the line, so options stand in front of them.
  const inFront = last?.startsWith("-- ") ? words.slice(0, -1) : words;
  return [op.name, ...inFront, ...required, ...rest, ...(last?.startsWith("-- ") ? [last] : [])].join(" ");
}

/** `<task>`, `[<file>…]`, `-- <command>…`. */
export function placeholder(it: Positional, fields: readonly Field[]): string {
  const name = positionalName(it) + (it.variadic === true ? "…" : "");
  if (it.passthrough === true) return `-- ${name}`;
  return isOptional(it, fields) ? `[${name}]` : name;
}

/** `<task>` for `task_id`, `<file>` for `files` where it takes several: how usage and errors call it. */
export function positionalName(it: Positional): string {
  const name = it.field.replace(/_id$/, "").replaceAll("_", "-");
  return `<${it.variadic === true ? name.replace(/(?<!s)s$/, "") : name}>`;
}

/** Whether the word may be left out: said so, or because the field may (an operation that asks, or knows where it stands). */
export function isOptional(it: Positional, fields: readonly Field[]): boolean {
  return it.optional === true || fields.find((field) => field.name === it.field)?.required !== true;
}

/** `--priority <integer>`, `-m, --message <text>`, `--no-commit`. */
export function spelt(flag: FlagInfo): string {
  const short = flag.short === undefined || showsNegated(flag) ? "" : `-${flag.short}, `;
  return short + longName(flag) + (flag.value === undefined ? "" : ` ${flag.value}`);
}

/** `--priority`, `--no-commit`: the form that changes something. */
export function longName(flag: FlagInfo): string {
  return showsNegated(flag) ? `--no-${flag.name}` : `--${flag.name}`;
}

function showsNegated(flag: FlagInfo): boolean {
  return flag.boolean && (flag.inverted || flag.field?.default === true);
}

function flagOf(op: AnyOperation, field: Field, positional: boolean): FlagInfo {
  const spelling = op.flags?.[field.name] ?? {};
  const kebab = field.name.replaceAll("_", "-");
  const boolean = field.kind === "boolean";
  const chosen = spelling.name ?? kebab;
  // `no_commit` is spelt --no-commit, which is --commit turned round: both work, and neither reads as a double negation.
  const inverted = boolean && chosen.startsWith("no-");
  const json = spelling.json === true || isStructured(field);
  return {
    name: inverted ? chosen.slice(3) : chosen,
    short: spelling.short,
    boolean,
    repeats: field.kind === "list",
    meant: chosen === kebab ? [] : [kebab],
    field,
    shape: field,
    ...(boolean ? {} : { value: spelling.value === undefined ? valueWord(field, json) : bracketed(spelling.value) }),
    description: field.description,
    required: field.required && !positional,
    whole: spelling.whole === true,
    json,
    stdin: spelling.stdin === true,
    inverted,
    complete: op.complete?.[field.name] ?? "none",
    hidden: positional,
    from: "field",
  };
}

function bracketed(value: string): string {
  return value.includes("<") ? value : `<${value}>`;
}

function valueWord(shape: Shape, json: boolean): string {
  if (json) return "<json|file|->";
  switch (shape.kind) {
    case "integer":
    case "number":
      return "<n>";
    case "enum": {
      const choices = `<${(shape.choices ?? []).join("|")}>`;
      return choices.length <= 30 ? choices : "<name>";
    }
    case "list":
      return shape.item === undefined ? "<text>" : `${valueWord(shape.item, false)}…`;
    case "string":
    case "boolean":
    case "object":
    case "any":
      return "<text>";
  }
}
