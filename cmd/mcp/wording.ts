/**
 * What went wrong, in the words of somebody who calls tools. Operations speak of their command line, whichever surface their
 * caller is on; here a command becomes the tool that it is, a flag the field that it fills, and an example call the tool's
 * name with its arguments as JSON. What has no such form (a line for a shell) is left out: an agent would run it somewhere.
 */
import type { ErrorFacts } from "../../lib/error.ts";
import { toolName, type AnyOperation } from "../../lib/op.ts";
import { fieldsOf } from "../../lib/schema.ts";
import { printable } from "../../lib/text.ts";
import { leadingWords, matchName, shield } from "../argv.ts";
import { flagsOf, GLOBAL_FLAGS } from "../flags.ts";
import { scalar, valueOf, type Sources } from "../values.ts";
import { isTool } from "./offer.ts";

export interface Speaker {
  /** Every operation, whether its tool is offered or not. */
  readonly operations: readonly AnyOperation[];
  /** The one that the text is about. */
  readonly op: AnyOperation;
}

export interface Toolwords extends Speaker {
  /** Of the call that failed. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** A failure as text that stands alone: code and fact, hint, a call that works. */
export async function failureText(facts: ErrorFacts, words: Toolwords): Promise<string> {
  const lines = [`${facts.code}: ${inToolWords(facts.message, words)}`];
  if (facts.hint !== undefined) lines.push(`hint: ${inToolWords(facts.hint, words)}`);
  const example = await exampleCall(facts, words);
  if (example !== null) lines.push(`example: ${example}`);
  return printable(lines.join("\n"));
}

/** `run \`dotbot task list\`` → `run task_list`; `--steal` → `steal`. */
export function inToolWords(text: string, { operations, op }: Speaker): string {
  if (!/dotbot |--/.test(text)) return text;
  return (
    text
      .replaceAll(
        /`dotbot ([^`]+)`|\bdotbot ((?:task|wt|guard|doctor|config|init|status)\b(?: [a-z][a-z-]*){0,2})/g,
        (whole, quoted: string, bare: string) => {
          const said = quoted ?? bare;
          const words = said.split(/\s+/);
          const named = operationOf(words, operations);
          if (named === undefined || !isTool(named.op))
            return quoted === undefined ? whole : `the command ${words.slice(0, 2).join(" ")}`;
          return [toolName(named.op), ...words.slice(named.used)].join(" ");
        },
      )
      // In quotes stands what the caller gave.
      .replaceAll(/(?<![\w"-])--(no-)?([a-z][a-z-]*)/g, (whole, no: string | undefined, name: string) => {
        const own = flagsOf(op).find((flag) => flag.name === name && flag.field !== null);
        if (own?.field) return own.inverted === (no !== undefined) ? own.field.name : `${own.field.name}: false`;
        const elsewhere = operations.flatMap(flagsOf).find((flag) => flag.name === name && flag.field !== null);
        return elsewhere?.field?.name ?? (GLOBAL_FLAGS.some((flag) => flag.name === name) ? name : whole);
      })
  );
}

async function exampleCall(facts: ErrorFacts, words: Toolwords): Promise<string | null> {
  const ready = facts.details?.["example"];
  if (isRecord(ready) && typeof ready["tool"] === "string" && isRecord(ready["arguments"])) {
    return call(ready["tool"], ready["arguments"]);
  }
  const { example } = facts;
  if (example === undefined) return null;
  if (example.startsWith("{")) return mended(parse(example), words);
  const named = words.operations.find((op) => example.startsWith(`${toolName(op)} {`));
  if (named !== undefined) return example;
  if (example.startsWith("dotbot ")) return await fromCommand(shellWords(example).slice(1), words);
  if (!example.startsWith("--")) return null;
  // Flags to add to the call.
  const added = await fieldsFrom(words.op, shellWords(example), new Set());
  return added === null ? null : mended(added, words);
}

/** The caller's own call with these fields; null when that is the call that failed. */
function mended(fields: unknown, { op, args }: Toolwords): string | null {
  if (!isRecord(fields)) return null;
  const known = new Set(fieldsOf(op.input).map((field) => field.name));
  if (Object.keys(fields).some((name) => !known.has(name))) return null;
  const corrected = { ...args, ...fields };
  return JSON.stringify(corrected) === JSON.stringify(args) ? null : call(toolName(op), corrected);
}

/** Who calls, and where: as true of the corrected call as of the one that failed. */
const CALLER = ["session_id", "owner", "claim_token", "dir", "owner_repo"];

async function fromCommand(line: readonly string[], { operations, args }: Toolwords): Promise<string | null> {
  const named = operationOf(line, operations);
  if (named === undefined || !isTool(named.op)) return null;
  const taken = new Set(Array.from({ length: named.used }, (_, i) => i));
  const fields = await fieldsFrom(named.op, line, taken);
  if (fields === null) return null;
  const carried = CALLER.filter((name) => name in named.op.input.entries && args[name] !== undefined);
  return call(toolName(named.op), { ...Object.fromEntries(carried.map((name) => [name, args[name]])), ...fields });
}

/** What words of a command line would give the operation; null when it isn't one that the tool can be given. */
async function fieldsFrom(
  op: AnyOperation,
  words: readonly string[],
  taken: ReadonlySet<number>,
): Promise<Record<string, unknown> | null> {
  const flags = [...flagsOf(op), ...GLOBAL_FLAGS];
  try {
    const { values, after } = shield(words, taken, flags, op.name);
    const fields: Record<string, unknown> = {};
    for (const flag of flags) {
      const texts = values.filter((value) => value.flag === flag.name).map((value) => value.text);
      if (texts.length === 0) continue;
      if (flag.name === "dir") fields["dir"] = texts.at(-1);
      else if (flag.field !== null) {
        if (op.flags?.[flag.field.name]?.cliOnly === true) return null;
        fields[flag.field.name] = await valueOf(flag, texts, NOTHING);
      }
    }
    const rest = [...values.filter((value) => value.flag === null), ...(after ?? [])].map((value) => value.text);
    for (const place of op.positional ?? []) {
      const shape = fieldsOf(op.input).find((field) => field.name === place.field);
      if (rest.length === 0 || shape === undefined) continue;
      fields[place.field] =
        shape.kind === "list"
          ? rest.splice(0).map((word) => scalar(shape.item, word))
          : scalar(shape, rest.shift() ?? "");
    }
    return fields;
  } catch {
    return null;
  }
}

const NOTHING: Sources = { readStdin: async () => "", readFile: async () => null };

function operationOf(
  words: readonly string[],
  operations: readonly AnyOperation[],
): { readonly op: AnyOperation; readonly used: number } | undefined {
  const byName = new Map(
    operations.flatMap((op) => [op.name, ...(op.aliases ?? [])].map((name) => [name, op] as const)),
  );
  const leading = leadingWords(words, GLOBAL_FLAGS);
  const used = matchName(leading, (name) => byName.has(name));
  const op = byName.get(
    leading
      .slice(0, used)
      .map((word) => word.text)
      .join(" "),
  );
  return op === undefined ? undefined : { op, used };
}

function call(tool: string, args: Readonly<Record<string, unknown>>): string {
  return `${tool} ${JSON.stringify(args)}`;
}

/** The words of a line as a POSIX shell reads them, quotes only. */
function shellWords(line: string): readonly string[] {
  return [...line.matchAll(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g)].map(([word]) =>
    word.replaceAll(
      /'([^']*)'|"([^"]*)"|\\(.)/g,
      (_, single?: string, double?: string, escaped?: string) => single ?? double ?? escaped ?? "",
    ),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
