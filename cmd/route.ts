/**
 * From the words of a command line to what they name: an operation, a help page, a surface. Loads the operations of the one
 * noun that is meant; only a misspelling loads them all, to find what was meant.
 */
import { DotbotError } from "../lib/error.ts";
import { onSurface, type AnyOperation, type Example } from "../lib/op.ts";
import { allOperations, type Noun, type Nouns } from "../lib/ops.ts";
import { nearest, quote } from "../lib/text.ts";
import { commandLine, findCommand, joined, leadingWords, mentions, shield, type Word } from "./argv.ts";
import { GLOBAL_FLAGS } from "./flags.ts";
import type { Host } from "./host.ts";

/** A command that isn't an operation: it owns its arguments and speaks for itself (the MCP server, completion). */
export interface Surface {
  readonly summary: string;
  /** Without the leading `dotbot`. */
  readonly usage: string;
  readonly details: string;
  readonly examples: readonly Example[];
  /** Called by programs, not by people: help doesn't name it. */
  readonly hidden?: boolean;
  /** Words and flags that Tab offers behind its name. */
  readonly complete?: readonly string[];
  /** Gets the words after its name; returns the exit status. */
  readonly run: (args: readonly string[], host: Host) => Promise<number>;
}

export interface Commands {
  readonly nouns: Nouns;
  readonly surfaces: Readonly<Record<string, Surface>>;
}

export type Page =
  | { readonly page: "dotbot" }
  /** Verbs under one beginning: a noun, or the first two words of longer names (`guard branch`). */
  | { readonly page: "group"; readonly name: string; readonly noun: Noun; readonly operations: readonly AnyOperation[] }
  | { readonly page: "operation"; readonly operation: AnyOperation }
  | { readonly page: "surface"; readonly name: string; readonly surface: Surface };

export type Route =
  | { readonly to: "version" }
  | { readonly to: "help"; readonly page: Page }
  | { readonly to: "surface"; readonly surface: Surface; readonly args: readonly string[] }
  /** `taken`: the positions of the words that named it. */
  | { readonly to: "operation"; readonly operation: AnyOperation; readonly taken: ReadonlySet<number> };

/** @throws DotbotError UNKNOWN_COMMAND or UNKNOWN_FLAG, naming what is nearest. */
export async function route(argv: readonly string[], commands: Commands): Promise<Route> {
  const program = own(commands.surfaces, argv[0] ?? "");
  // Called by programs, in one way, with words that are none of ours.
  if (program?.hidden === true) return { to: "surface", surface: program, args: argv.slice(1) };
  if (mentions(argv, "--version")) return { to: "version" };
  const words = leadingWords(argv, GLOBAL_FLAGS);
  const [first, second] = words;
  if (mentions(argv, "--help", "-h")) return { to: "help", page: await pageFor(words, argv, commands) };
  if (first === undefined) {
    shield(argv, new Set(), GLOBAL_FLAGS, "dotbot");
    const status = await bare("status", commands);
    return status === undefined
      ? { to: "help", page: { page: "dotbot" } }
      : { to: "operation", operation: status, taken: new Set() };
  }
  if (first.text === "version") return { to: "version" };
  if (first.text === "help") return { to: "help", page: await pageFor(words.slice(1), argv, commands) };
  if (second?.text === "help") return { to: "help", page: await pageFor([first, ...words.slice(2)], argv, commands) };

  const alone = words.length === 1 ? findNoun(first.text, commands.nouns)?.[1] : undefined;
  const meant = alone?.bare === undefined ? undefined : await verbOf(alone, alone.bare);
  if (meant !== undefined) return { to: "operation", operation: meant, taken: positions(words) };

  const { page, used } = await locate(words, argv, commands);
  switch (page.page) {
    case "operation":
      return { to: "operation", operation: page.operation, taken: positions(words.slice(0, used)) };
    case "surface":
      return { to: "surface", surface: page.surface, args: argv.filter((_, at) => at !== first.at) };
    case "group": {
      if (used < words.length) throw await unknownCommand(words, used, argv, commands, page.operations);
      const operation = page.operations.find((op) => op.name === page.noun.bare);
      return operation === undefined || used > 1
        ? { to: "help", page }
        : { to: "operation", operation, taken: positions(words.slice(0, used)) };
    }
    case "dotbot":
      return { to: "help", page };
  }
}

async function pageFor(words: readonly Word[], argv: readonly string[], commands: Commands): Promise<Page> {
  const meant = words.filter((word) => word.text !== "help");
  if (meant.length === 0) return { page: "dotbot" };
  const { page, used } = await locate(meant, argv, commands);
  if (page.page === "group" && used < meant.length)
    throw await unknownCommand(meant, used, argv, commands, page.operations);
  return page;
}

async function locate(words: readonly Word[], argv: readonly string[], commands: Commands): Promise<Located> {
  const located = await findPage(words, commands);
  if (located === undefined) throw await unknownCommand(words, 0, argv, commands);
  return located;
}

export interface Located {
  readonly page: Page;
  /** How many of the words name it. */
  readonly used: number;
}

/** The longest beginning of the words that names something; undefined when the first one names nothing. */
export async function findPage(words: readonly Word[], commands: Commands): Promise<Located | undefined> {
  const [first] = words;
  if (first === undefined) return { page: { page: "dotbot" }, used: 0 };
  const surface = own(commands.surfaces, first.text);
  if (surface !== undefined) return { page: { page: "surface", name: first.text, surface }, used: 1 };
  const found = findNoun(first.text, commands.nouns);
  if (found === undefined) return undefined;
  const [name, noun] = found;
  const only = words[1] === undefined ? undefined : await verbOf(noun, `${name} ${words[1].text}`);
  if (only !== undefined) return { page: { page: "operation", operation: only }, used: 2 };
  const operations = (await noun.load()).filter((op) => onSurface(op, "cli"));
  const meant = findCommand(words, name, operations);
  const { used } = meant;
  return meant.is === "command"
    ? { page: { page: "operation", operation: meant.command }, used }
    : { page: { page: "group", name: meant.name, noun, operations: meant.commands }, used };
}

/** One operation, without loading the others; undefined where the noun loads them all anyway, or has no such verb. */
async function verbOf(noun: Noun, name: string): Promise<AnyOperation | undefined> {
  const operation = await own(noun.verbs ?? {}, name)?.();
  return operation !== undefined && onSurface(operation, "cli") ? operation : undefined;
}

function findNoun(word: string, nouns: Nouns): readonly [string, Noun] | undefined {
  const noun = own(nouns, word);
  if (noun !== undefined) return [word, noun];
  return Object.entries(nouns).find(([, candidate]) => candidate.aliases?.includes(word));
}

async function bare(name: string, { nouns }: Commands): Promise<AnyOperation | undefined> {
  const operations = await own(nouns, name)?.load();
  return operations?.find((op) => op.name === name);
}

/** The error for words of which the first `used` are known: the nearest command, and the call with it in their place. */
async function unknownCommand(
  words: readonly Word[],
  used: number,
  argv: readonly string[],
  { nouns, surfaces }: Commands,
  within: readonly AnyOperation[] = [],
): Promise<DotbotError> {
  const wrong = words[used];
  if (wrong === undefined) throw new TypeError("no unknown word among the words");
  const known = joined(words.slice(0, used));
  const verbs = within.flatMap((op) => [op.name, ...(op.aliases ?? [])]).flatMap((name) => name.split(" ")[used] ?? []);
  const candidates = new Set(used === 0 ? [...Object.keys(nouns), ...visible(surfaces), "help", "version"] : verbs);
  const near = nearest(wrong.text, candidates);
  const message =
    known === "" ? `unknown command ${quote(wrong.text)}` : `${quote(known)} has no verb ${quote(wrong.text)}`;
  if (near !== undefined) {
    return new DotbotError("UNKNOWN_COMMAND", message, {
      hint: `did you mean ${quote(near)}?`,
      example: commandLine(argv.with(wrong.at, near)),
    });
  }
  // `dotbot list`, `dotbot wt add`: the verb may be right, and its noun missing or another one.
  const all = (await allOperations(nouns)).filter((op) => onSurface(op, "cli"));
  const byVerb = new Map(all.toReversed().map((op) => [op.name.split(" ").slice(1).join(" "), op]));
  const elsewhere = byVerb.get(nearest(wrong.text, byVerb.keys()) ?? "-");
  if (elsewhere !== undefined) {
    return new DotbotError("UNKNOWN_COMMAND", message, {
      hint: `did you mean ${quote(elsewhere.name)}? ${elsewhere.summary}`,
      example: `dotbot ${elsewhere.name} --help`,
    });
  }
  return new DotbotError("UNKNOWN_COMMAND", message, {
    hint: `${known === "" ? "the commands are" : "its verbs are"} ${[...candidates].join(", ")}`,
    example: known === "" ? "dotbot help" : `dotbot help ${known}`,
  });
}

/** Own property, so that `dotbot constructor` finds nothing. */
function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

export function visible(surfaces: Commands["surfaces"]): readonly string[] {
  return Object.keys(surfaces).filter((name) => surfaces[name]?.hidden !== true);
}

function positions(words: readonly Word[]): ReadonlySet<number> {
  return new Set(words.map((word) => word.at));
}
