/**
 * The settings as a flat table, and values as text: what files, the environment, `config` and the reference share. Pure.
 */
import * as v from "valibot";

import { parseDuration } from "../duration.ts";
import { expectation, fieldsOf, type Field } from "../schema.ts";
import { settingsSchema, type Settings } from "./schema.ts";

/** One setting, flat. What it accepts and says of itself is in `field`, which is worked out when it is read first. */
export class Setting {
  /** `git.base_branch` */
  readonly key: string;
  readonly section: string;
  readonly name: string;
  /** `DOTBOT_GIT_BASE_BRANCH` */
  readonly env: string;
  readonly schema: v.GenericSchema;
  private known: Field | undefined;

  constructor(section: string, name: string, schema: v.GenericSchema) {
    this.key = `${section}.${name}`;
    this.section = section;
    this.name = name;
    this.env = envName(this.key);
    this.schema = schema;
  }

  get field(): Field {
    this.known ??= fieldsOf({ entries: { [this.name]: this.schema } })[0];
    if (this.known === undefined) throw new TypeError(`no field for ${this.key}`);
    return this.known;
  }
}

let table: ReadonlyMap<string, Setting> | undefined;

/** Every setting by its key, in the order of the schema. */
export function settingsTable(): ReadonlyMap<string, Setting> {
  table ??= new Map(
    sections().flatMap(([section, entries]) =>
      Object.entries(entries).map(([name, schema]) => {
        const setting = new Setting(section, name, schema);
        return [setting.key, setting] as const;
      }),
    ),
  );
  return table;
}

/**
 * The defaults with these values, by dotted key, in their place. Not a parse of the whole: every value has passed its own
 * schema by then, and parsing costs a millisecond of each command's start.
 */
export function settingsWith(values: Iterable<readonly [key: string, value: unknown]>): Settings {
  const tree = new Map<string, Record<string, unknown>>();
  for (const [name, { wrapped }] of Object.entries(settingsSchema().entries)) tree.set(name, v.getDefaults(wrapped));
  for (const [key, value] of values) {
    const [section = "", name = ""] = key.split(".");
    const group = tree.get(section);
    if (group !== undefined) group[name] = value;
  }
  return Object.fromEntries(tree) as unknown as Settings;
}

/** The names of the sections, with what each is about. */
export function settingsSections(): readonly { readonly name: string; readonly description: string }[] {
  return fieldsOf(settingsSchema()).map(({ name, description }) => ({ name, description }));
}

/** Whether there is a section of that name. */
export function isSection(name: string): boolean {
  return Object.hasOwn(settingsSchema().entries, name);
}

function sections(): readonly (readonly [name: string, entries: Readonly<Record<string, v.GenericSchema>>])[] {
  return Object.entries(settingsSchema().entries).map(([name, { wrapped }]) => [name, wrapped.entries]);
}

export function envName(key: string): string {
  return `DOTBOT_${key.toUpperCase().replaceAll(".", "_")}`;
}

/** Values for examples, where the default shows nothing. */
const EXAMPLES: Readonly<Record<string, unknown>> = {
  "queue.tracked": true,
  "git.base_branch": "main",
  "worktree.root": "../trees",
  "worktree.post_create": ["npm ci"],
  "task.categories": ["research"],
  "hooks.on_status": ["./scripts/notify.sh"],
  "scan.allow": ["test/fixtures/**"],
  "scan.patterns": [{ name: "employee-id", pattern: String.raw`EMP-\d{6}` }],
};

/** A value that the setting takes. */
export function exampleOf({ key, field }: Setting): unknown {
  return EXAMPLES[key] ?? field.default;
}

/** `a length of time such as 30s`, `true or false`, `an integer of at least 1 or null`. */
export function wanted(setting: Setting): string {
  const own = formatOf(setting.schema)?.replace(/^must be /, "") ?? expectation(setting.field);
  return setting.field.nullable ? `${own}, or null` : own;
}

/** The words of a schema's own expression, past `optional` and `nullable`. */
function formatOf(schema: unknown): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  const actions: readonly unknown[] = "pipe" in schema && Array.isArray(schema.pipe) ? schema.pipe : [];
  for (const action of actions) {
    if (typeof action !== "object" || action === null || !("type" in action) || action.type !== "regex") continue;
    if ("message" in action && typeof action.message === "string") return action.message;
  }
  return "wrapped" in schema ? formatOf(schema.wrapped) : undefined;
}

/** Lists of which one item may hold commas: as text they are one item, or JSON. */
const WHOLE = new Set(["worktree.post_create", "hooks.on_status", "scan.patterns"]);

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  "1": true,
  false: false,
  no: false,
  off: false,
  "0": false,
};

/**
 * A setting's value from text, as the environment and `config set` give it; what can't be read as its type stays text, for
 * validation to refuse. A list is JSON, or its items with commas between them (a list of commands: JSON, or one command).
 */
export function valueFromText(setting: Setting, text: string): unknown {
  const { kind, nullable } = setting.field;
  if (nullable && text === "null") return null;
  switch (kind) {
    case "boolean":
      return BOOLEANS[text.toLowerCase()] ?? text;
    case "integer":
    case "number":
      return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
    case "list": {
      if (text.trimStart().startsWith("[")) return jsonOr(text);
      if (WHOLE.has(setting.key)) return [text];
      return text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "");
    }
    case "string":
    case "enum":
    case "object":
    case "any":
      return text;
  }
}

/** The same the other way round: what `valueFromText` reads as `value`. */
export function textFromValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What the schema can't say about a value that it accepts; undefined when there is nothing wrong with it. */
export function flaw(key: string, value: unknown): string | undefined {
  if (key !== "scan.patterns" || !Array.isArray(value)) return undefined;
  for (const item of value) {
    const { pattern } = v.parse(v.object({ pattern: v.string() }), item);
    try {
      RegExp(pattern, "u");
    } catch (error) {
      return `${JSON.stringify(pattern)} isn't a regular expression: ${error instanceof Error ? error.message : ""}`;
    }
  }
  return undefined;
}

/** Milliseconds of a setting that is a length of time. */
export function milliseconds(setting: string): number {
  const ms = parseDuration(setting);
  if (ms === undefined) throw new TypeError(`${setting} is no length of time, and was validated as one`);
  return ms;
}
