/**
 * What could stand at the cursor of an unfinished command line. Pure: which tasks, branches and so on there are is asked
 * elsewhere, and only for what this says is wanted.
 *
 * It never refuses: a line that makes no sense yet has no candidates.
 */
import type { Completion } from "../lib/op.ts";
import { findCommand, isFlagLike, leadingWords, readFlag, type Word } from "./argv.ts";
import type { Sketch, SketchCommand, SketchFlag, SketchName } from "./sketch-text.ts";

/** A command line up to the cursor, as the shell would hand it over: quotes are gone. */
export interface Asked {
  /** The words before the one at the cursor, without the program's name. */
  readonly before: readonly string[];
  /** The word at the cursor, as far as the cursor. */
  readonly word: string;
}

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Values that have to be looked up. */
export interface Lookup {
  readonly what: Exclude<Completion, "none">;
  /** The operation, where the verb decides which tasks make sense; null where any does. */
  readonly verb: string | null;
}

export interface Place {
  /** The beginning of the word that stays: `--status=`, `-m`, `todo,`. */
  readonly lead: string;
  /** The rest of it: what a candidate begins with. */
  readonly begun: string;
  readonly candidates: readonly Candidate[];
  readonly lookup: Lookup | null;
  /** What the line names already and takes only once. */
  readonly taken: ReadonlySet<string>;
  /** The value of `--dir` on the line. */
  readonly dir: string | null;
}

/** @returns what may stand at the cursor; candidates aren't yet narrowed to what the word begins with */
export function placeAt({ before, word }: Asked, sketch: Sketch): Place {
  const leading = leadingWords(before, sketch.globals);
  const helping = leading.slice(0, 2).some(({ text }) => text === "help");
  const named = leading.filter(({ text }) => text !== "help");
  const page = pageOf(named, sketch);
  const command = page.page === "command" ? page.command : undefined;
  const flags = command?.flags ?? (page.page === "surface" ? surfaceFlags(page.words, sketch) : sketch.globals);
  const taken = new Set(leading.slice(0, leading.length - named.length + page.used).map(at));
  const line = scan(before, taken, flags);
  const here = { line, word };

  if (line.pending !== null) return valuePlace(line.pending, "", word, here);
  if (line.behind) {
    if (command === undefined) return placed(here, "", word, {});
    return command.passthrough ? placed(here, "", word, { what: "path" }) : wordPlace(command, [], here, []);
  }
  if (isFlagLike(word) || word === "-") return flagPlace(word, flags, page, here);
  if (page.page === "nothing") return placed(here, "", word, {});
  if (command === undefined || helping) {
    const rest = named.length - page.used;
    return placed(here, "", word, rest > 0 ? {} : { candidates: namesUnder(page, sketch, helping) });
  }
  return wordPlace(command, flags, here, line.words.length === 0 ? namesUnder(page, sketch, helping) : []);
}

/** Of the global flags, a surface takes those that it names. */
function surfaceFlags(words: readonly string[], { globals }: Sketch): readonly SketchFlag[] {
  return globals.filter(({ name, long }) => name === "help" || words.includes(long));
}

// ── what is named so far ─────────────────────────────────────────────────────────────────────────────────────────────

/** `used`: how many of the words name it. */
type Page = { readonly used: number } & (
  | { readonly page: "dotbot" | "nothing" }
  | { readonly page: "surface"; readonly words: readonly string[] }
  /** Verbs under one beginning. */
  | { readonly page: "group"; readonly name: string; readonly commands: readonly SketchName[] }
  | { readonly page: "command"; readonly command: SketchCommand; readonly commands: readonly SketchName[] }
);

/** The longest beginning of the words that names something. */
function pageOf(words: readonly Word[], { nouns, surfaces, command }: Sketch): Page {
  const [first] = words;
  if (first === undefined) return { page: "dotbot", used: 0 };
  const surface = surfaces.find(({ name }) => name === first.text);
  if (surface !== undefined) return { page: "surface", words: surface.words, used: 1 };
  const noun =
    nouns.find(({ name }) => name === first.text) ?? nouns.find(({ aliases }) => aliases?.includes(first.text));
  if (noun === undefined) return { page: "nothing", used: words.length };
  const { name, commands } = noun;
  const found = findCommand(words, name, commands);
  const { used } = found;
  return found.is === "command"
    ? { page: "command", command: command(found.command.name), commands, used }
    : { page: "group", name: found.name, commands: found.commands, used };
}

// ── the line so far ──────────────────────────────────────────────────────────────────────────────────────────────────

interface Line {
  /** Words that are neither the command's name nor a flag's. */
  readonly words: readonly string[];
  readonly given: ReadonlyMap<SketchFlag, readonly string[]>;
  /** The flag that the word at the cursor is the value of. */
  readonly pending: SketchFlag | null;
  /** A `--` stands before the cursor. */
  readonly behind: boolean;
}

interface Here {
  readonly line: Line;
  readonly word: string;
}

function scan(before: readonly string[], taken: ReadonlySet<number>, flags: readonly SketchFlag[]): Line {
  const words: string[] = [];
  const given = new Map<SketchFlag, readonly string[]>();
  let pending: SketchFlag | null = null;
  let behind = false;
  for (const [i, text] of before.entries()) {
    if (pending !== null) {
      given.set(pending, [...(given.get(pending) ?? []), text]);
      pending = null;
    } else if (behind) words.push(text);
    else if (text === "--") behind = true;
    else if (taken.has(i)) continue;
    else if (!isFlagLike(text)) words.push(text);
    else {
      const read = readFlag(text, flags);
      const flag = flags.find((it) => it === read?.flag);
      if (read === undefined || flag === undefined) continue;
      if (flag.boolean || read.value !== undefined) given.set(flag, [...(given.get(flag) ?? []), read.value ?? ""]);
      else pending = flag;
    }
  }
  return { words, given, pending, behind };
}

// ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Names that may follow: nouns and surfaces, or the verbs of what is named so far. */
function namesUnder(page: Page, sketch: Sketch, helping: boolean): readonly Candidate[] {
  switch (page.page) {
    case "dotbot":
      return [
        ...[...sketch.nouns, ...sketch.surfaces].map(({ name }) => ({
          value: name,
          description: sketch.summary(name),
        })),
        { value: "version", description: "Show the version" },
        ...(helping ? [] : [{ value: "help", description: "Explain a noun or a verb" }]),
      ];
    case "nothing":
      return [];
    case "surface":
      return page.words.map((value) => ({ value, description: "" }));
    case "group":
      return verbsUnder(page.name, page.commands, sketch);
    case "command":
      return verbsUnder(page.command.name, page.commands, sketch);
  }
}

/** The word behind `name` in the names of commands; several longer names with one next word are one candidate, which lists theirs. */
function verbsUnder(name: string, commands: readonly SketchName[], sketch: Sketch): readonly Candidate[] {
  const words = commands
    .filter((command) => command.name.startsWith(`${name} `))
    .map((command) => command.name.slice(name.length + 1).split(" "));
  return [...Map.groupBy(words, ([verb = ""]) => verb)].map(([verb, named]) => {
    const alone = named.some((it) => it.length === 1);
    const description = alone ? sketch.summary(`${name} ${verb}`) : named.map((it) => it.slice(1).join(" ")).join(", ");
    return { value: verb, description };
  });
}

function flagPlace(word: string, flags: readonly SketchFlag[], page: Page, here: Here): Place {
  const read = readFlag(word, flags);
  const flag = flags.find((it) => it === read?.flag);
  if (read !== undefined && flag !== undefined && read.lead !== "") {
    return valuePlace(flag, read.lead, word.slice(read.lead.length), here);
  }
  const own = page.page === "surface" ? page.words.map((value) => ({ value, description: "" })) : [];
  return placed(here, "", word, { candidates: [...flagCandidates(flags, here, word), ...own] });
}

/** Flags that the line can still take. Letters only for a word that already is one: `-m` beside `--message` says nothing new. */
function flagCandidates(flags: readonly SketchFlag[], { line }: Here, word: string): readonly Candidate[] {
  return flags
    .filter((flag) => flag.hidden !== true && (flag.repeats || !line.given.has(flag)))
    .flatMap((flag): Candidate[] => {
      const { description } = flag;
      const canNegate = flag.boolean && !flag.long.startsWith("--no-") && word.startsWith("--no-");
      return [
        { value: flag.long, description },
        ...(canNegate ? [{ value: `--no-${flag.name}`, description: `not: ${description}` }] : []),
        ...(flag.short !== undefined && word === `-${flag.short}` ? [{ value: word, description }] : []),
      ];
    });
}

function valuePlace(flag: SketchFlag, lead: string, text: string, here: Here): Place {
  if (flag.boolean) {
    const candidates = ["true", "false"].map((value) => ({ value, description: "" }));
    return placed(here, lead, text, { candidates });
  }
  const several = flag.commas === true;
  const comma = several ? text.lastIndexOf(",") + 1 : 0;
  const earlier = several
    ? [...(here.line.given.get(flag) ?? []), text.slice(0, comma)].flatMap((it) => it.split(","))
    : [];
  return placed(here, lead + text.slice(0, comma), text.slice(comma), {
    candidates: choices(flag),
    ...(flag.what === undefined ? {} : { what: flag.what }),
    taken: earlier,
  });
}

function wordPlace(
  command: SketchCommand,
  flags: readonly SketchFlag[],
  here: Here,
  deeper: readonly Candidate[],
): Place {
  const { line, word } = here;
  const { places } = command;
  const last = places.at(-1);
  const place = places[line.words.length] ?? (last?.variadic === true ? last : undefined);
  if (place === undefined) {
    // Nothing more is named: what is left to say are flags, and those that have to be said come first.
    return placed(here, "", word, {
      candidates: [
        ...deeper,
        ...flagCandidates(
          flags.filter((flag) => flag.global !== true),
          here,
          word,
        ),
      ],
    });
  }
  return placed(here, "", word, {
    candidates: [...deeper, ...choices(place)],
    ...(place.what === undefined ? {} : { what: place.what }),
    verb: place.what === "task" ? command.name : null,
    taken: place.several === true ? line.words.slice(places.indexOf(place)) : [],
  });
}

interface Wanted {
  readonly candidates?: readonly Candidate[];
  readonly what?: Completion;
  readonly verb?: string | null;
  readonly taken?: readonly string[];
}

function placed({ line }: Here, lead: string, begun: string, wanted: Wanted): Place {
  const { candidates = [], what = "none", verb = null, taken = [] } = wanted;
  const dir = [...line.given].find(([flag]) => flag.name === "dir" && flag.global === true)?.[1].at(-1);
  return {
    lead,
    begun,
    candidates,
    lookup: what === "none" ? null : { what, verb },
    taken: new Set(taken.filter((it) => it !== "")),
    dir: dir ?? null,
  };
}

function choices(of: { readonly choices?: readonly string[] }): readonly Candidate[] {
  return (of.choices ?? []).map((value) => ({ value, description: "" }));
}

function at(word: Word): number {
  return word.at;
}
