/**
 * One layer of settings: which keys it sets, where, and what is wrong with it. A wrong value is a fault and is left out, so
 * that the rest can still be shown; an unknown key is a warning. Pure.
 */
import * as v from "valibot";

import { scan, type Node, type ObjectNode } from "../json/scan.ts";
import { expectation, type Shape } from "../schema.ts";
import { nearest, quote, shellWord } from "../text.ts";
import {
  exampleOf,
  flaw,
  isSection,
  settingsSections,
  settingsTable,
  textFromValue,
  valueFromText,
  wanted,
  type Setting,
} from "./table.ts";

export type LayerName = "default" | "dotbot3" | "shared" | "machine" | "environment" | "flag";

/** Where a value comes from. */
export interface Origin {
  readonly layer: LayerName;
  /** The file, absolute; the variable's name for the environment. */
  readonly from?: string;
  /** Counted from 1; of the value, in a file. */
  readonly line?: number;
  readonly column?: number;
}

/** Something wrong with a layer: a fault keeps verbs from running, a warning doesn't. */
export interface SettingsFinding {
  readonly origin: Origin;
  /** Dotted; absent where the file as a whole is meant. */
  readonly key?: string;
  /** The fact, without the place. */
  readonly message: string;
  readonly hint?: string;
  /** A command, a line of a file, or an assignment that works. */
  readonly example?: string;
}

export interface Layer {
  readonly values: ReadonlyMap<string, { readonly value: unknown; readonly origin: Origin }>;
  readonly faults: readonly SettingsFinding[];
  readonly warnings: readonly SettingsFinding[];
}

/** `path:line:column`, as far as it is known. */
export function placeText({ layer, from, line, column }: Origin): string {
  if (from === undefined) return layer === "flag" ? "the command line" : "the defaults";
  return line === undefined ? from : `${from}:${line}:${column ?? 1}`;
}

/** A settings file of ours. A blank one sets nothing. */
export function fileLayer(text: string, from: string, layer: "shared" | "machine"): Layer {
  const gathered = new Gathered();
  if (text.trim() === "") return gathered;
  const scanned = scan(text);
  if (!scanned.ok) {
    const { line, column, message, hint } = scanned.fault;
    gathered.faults.push({
      origin: { layer, from, line, column },
      message: `isn't valid JSON: ${message}`,
      hint: hint ?? "a settings file is a JSON object; mend it there, or remove the file to get the defaults",
      example: '{ "git": { "base_branch": "main" } }',
    });
    return gathered;
  }
  const { root } = scanned;
  const at = (node: { readonly start: number }): Origin => ({ layer, from, ...placeIn(text, node.start) });
  if (root.kind !== "object") {
    gathered.faults.push({
      origin: at(root),
      message: `should hold a JSON object, not ${describe(read(text, root))}`,
      example: '{ "git": { "base_branch": "main" } }',
    });
    return gathered;
  }
  const machine = layer === "machine" ? " --machine" : "";
  for (const { key: name, start, value } of lastOfEach(root)) {
    if (name === "$schema") continue;
    if (!isSection(name)) {
      gathered.warnings.push(unknownKey(at({ start }), name));
    } else if (value.kind !== "object") {
      gathered.faults.push({
        origin: at(value),
        key: name,
        message: `${name} should be an object, not ${describe(read(text, value))}`,
        example: sectionExample(name),
      });
    } else {
      for (const member of lastOfEach(value)) {
        const key = `${name}.${member.key}`;
        const setting = settingsTable().get(key);
        if (setting === undefined) {
          gathered.warnings.push(unknownKey(at(member), key));
          continue;
        }
        const example = (): string => `dotbot config set${machine} ${key} ${exampleWord(setting)}`;
        gathered.take(setting, read(text, member.value), at(member.value), example);
      }
    }
  }
  return gathered;
}

/** What a dotbot 3 project's own settings say about what is shared with it. Never a fault: the file isn't ours. */
export function dotbot3Layer(text: string, from: string): Layer {
  const gathered = new Gathered();
  const scanned = scan(text);
  if (!scanned.ok) {
    const { line, column, message } = scanned.fault;
    const origin: Origin = { layer: "dotbot3", from, line, column };
    gathered.warnings.push({ origin, message: `isn't valid JSON, so nothing is read from it: ${message}` });
    return gathered;
  }
  const { root } = scanned;
  const shared = [
    ["task_categories", "task.categories"],
    ["git.base_branch", "git.base_branch"],
  ] as const;
  for (const [path, key] of shared) {
    const node = path.split(".").reduce<Node | undefined>((at, name) => memberOf(at, name), root);
    const setting = settingsTable().get(key);
    if (node === undefined || setting === undefined) continue;
    const value = read(text, node);
    if (value !== null) gathered.take(setting, value, { layer: "dotbot3", from, ...placeIn(text, node.start) });
  }
  return { values: gathered.values, faults: [], warnings: [...gathered.warnings, ...gathered.faults] };
}

/** What the environment sets. An empty variable is one that isn't set. */
export function environmentLayer(env: Readonly<Record<string, string | undefined>>): Layer {
  const gathered = new Gathered();
  for (const setting of settingsTable().values()) {
    const text = env[setting.env];
    if (text === undefined || text === "") continue;
    const example = (): string => `${setting.env}=${exampleWord(setting)}`;
    gathered.take(setting, valueFromText(setting, text), { layer: "environment", from: setting.env }, example);
  }
  return gathered;
}

/** What flags of the command line set, by dotted key. */
export function flagLayer(flags: Readonly<Record<string, unknown>>): Layer {
  const gathered = new Gathered();
  for (const [key, value] of Object.entries(flags)) {
    const setting = settingsTable().get(key);
    if (setting === undefined) throw new TypeError(`no setting is called ${key}`);
    if (value !== undefined) gathered.take(setting, value, { layer: "flag" });
  }
  return gathered;
}

/** What is wrong with a value of that setting, or undefined. Names the key, the value and what is wanted. */
export function faultOf(setting: Setting, value: unknown): string | undefined {
  const checked = v.safeParse(setting.schema, value);
  if (checked.success) {
    const found = flaw(setting.key, value);
    return found === undefined ? undefined : `${setting.key}: ${found}`;
  }
  const [issue] = checked.issues;
  const path = (issue.path ?? []).map(({ key }) => key);
  const name = setting.key + path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  if (issue.type === "strict_object" && issue.expected === "never") return `${name} isn't known`;
  if (issue.input === undefined) return `${name} is missing`;
  if (issue.type === "min_length") return `${name} is empty`;
  if (path.length === 0) return `${name} should be ${wanted(setting)}, not ${describe(value)}`;
  const words =
    issue.type === "regex" ? issue.message.replace(/^must be /, "") : expectation(shapeAt(setting.field, path));
  return `${name} should be ${words}, not ${describe(issue.input)}`;
}

function shapeAt(shape: Shape, path: readonly unknown[]): Shape {
  return path.reduce<Shape>((at, key) => {
    const inner = typeof key === "number" ? at.item : at.fields?.find(({ name }) => name === key);
    return inner ?? { kind: "any" };
  }, shape);
}

class Gathered implements Layer {
  readonly values = new Map<string, { value: unknown; origin: Origin }>();
  readonly faults: SettingsFinding[] = [];
  readonly warnings: SettingsFinding[] = [];

  take(setting: Setting, value: unknown, origin: Origin, example?: () => string): void {
    const message = faultOf(setting, value);
    if (message === undefined) this.values.set(setting.key, { value, origin });
    else {
      const { key, field } = setting;
      this.faults.push({
        origin,
        key,
        message,
        hint: `${key}: ${field.description}`,
        ...(example === undefined ? {} : { example: example() }),
      });
    }
  }
}

function unknownKey(origin: Origin, key: string): SettingsFinding {
  const known = [...settingsTable().keys()];
  const leaf = key.slice(key.indexOf(".") + 1);
  // A key in the wrong section, or in none, is near to a key of the same name.
  const near = nearest(key, known) ?? known.find((name) => name.endsWith(`.${leaf}`)) ?? nearest(key, sectionNames());
  const written = near === undefined || !near.includes(".") ? near : `${near}, written ${nested(near)}`;
  return {
    origin,
    key,
    message: `${quote(key)} isn't a setting, and is ignored`,
    hint: written === undefined ? "`dotbot config show` lists all settings" : `did you mean ${written}?`,
  };
}

function exampleWord(setting: Setting): string {
  return shellWord(textFromValue(exampleOf(setting)));
}

function sectionNames(): readonly string[] {
  return settingsSections().map(({ name }) => name);
}

function sectionExample(name: string): string {
  const first = [...settingsTable().values()].find(({ section }) => section === name);
  return first === undefined ? `"${name}": {}` : nested(first.key);
}

function nested(key: string): string {
  const setting = settingsTable().get(key);
  if (setting === undefined) return key;
  return `"${setting.section}": { "${setting.name}": ${JSON.stringify(exampleOf(setting))} }`;
}

function describe(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** Of a key written twice the last counts, as for every reader of JSON. */
function lastOfEach(node: ObjectNode): readonly ObjectNode["elements"][number][] {
  return [...new Map(node.elements.map((member) => [member.key, member])).values()];
}

function memberOf(node: Node | undefined, name: string): Node | undefined {
  return node?.kind === "object" ? node.elements.findLast(({ key }) => key === name)?.value : undefined;
}

function read(text: string, { start, end }: Node): unknown {
  return JSON.parse(text.slice(start, end));
}

function placeIn(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(text.startsWith("\uFEFF") ? 1 : 0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}
