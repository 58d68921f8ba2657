/**
 * What could stand at the cursor of an unfinished command line. Pure, but for loading the operations of the noun that is
 * meant: which tasks, branches and so on there are is asked elsewhere, and only for what this says is wanted.
 *
 * It never refuses: a line that makes no sense yet has no candidates.
 */
import type { AnyOperation, Completion } from "../lib/op.ts";
import { onSurface } from "../lib/op.ts";
import { fieldsOf, type Shape } from "../lib/schema.ts";
import { isFlagLike, leadingWords, readFlag, type Word } from "./argv.ts";
import { flagsOf, GLOBAL_FLAGS, longName, takesDir, type FlagInfo } from "./flags.ts";
import { findPage, visible, type Commands, type Page } from "./route.ts";

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
export async function placeAt({ before, word }: Asked, commands: Commands): Promise<Place> {
  const leading = leadingWords(before, GLOBAL_FLAGS);
  const helping = leading.slice(0, 2).some(({ text }) => text === "help");
  const named = leading.filter(({ text }) => text !== "help");
  const found = await findPage(named, commands);
  const page = found?.page;
  const operation = page?.page === "operation" ? page.operation : undefined;
  const flags = operation === undefined ? GLOBAL_FLAGS : [...flagsOf(operation), ...globalsFor(operation)];
  const taken = new Set(
    (found === undefined ? leading : leading.slice(0, leading.length - named.length + found.used)).map(at),
  );
  const line = scan(before, taken, flags);
  const here = { line, word };

  if (line.pending !== null) return valuePlace(line.pending, "", word, here);
  if (line.behind) {
    if (operation === undefined) return placed(here, "", word, {});
    const passthrough = operation.positional?.some((it) => it.passthrough === true) === true;
    return passthrough ? placed(here, "", word, { what: "path" }) : wordPlace(operation, [], here, []);
  }
  if (isFlagLike(word) || word === "-") return flagPlace(word, flags, page, here);
  if (page === undefined) return placed(here, "", word, {});
  if (operation === undefined || helping) {
    const rest = named.length - (found?.used ?? 0);
    return placed(here, "", word, rest > 0 ? {} : { candidates: await namesUnder(page, commands, helping) });
  }
  return wordPlace(operation, flags, here, line.words.length === 0 ? await namesUnder(page, commands, helping) : []);
}

// ── the line so far ──────────────────────────────────────────────────────────────────────────────────────────────────

interface Line {
  /** Words that are neither the command's name nor a flag's. */
  readonly words: readonly string[];
  readonly given: ReadonlyMap<FlagInfo, readonly string[]>;
  /** The flag that the word at the cursor is the value of. */
  readonly pending: FlagInfo | null;
  /** A `--` stands before the cursor. */
  readonly behind: boolean;
}

interface Here {
  readonly line: Line;
  readonly word: string;
}

function scan(before: readonly string[], taken: ReadonlySet<number>, flags: readonly FlagInfo[]): Line {
  const words: string[] = [];
  const given = new Map<FlagInfo, readonly string[]>();
  let pending: FlagInfo | null = null;
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
async function namesUnder(page: Page, { nouns, surfaces }: Commands, helping: boolean): Promise<readonly Candidate[]> {
  switch (page.page) {
    case "dotbot":
      return [
        ...Object.entries(nouns).map(([value, { summary }]) => ({ value, description: summary })),
        ...visible(surfaces).map((value) => ({ value, description: surfaces[value]?.summary ?? "" })),
        { value: "version", description: "Show the version" },
        ...(helping ? [] : [{ value: "help", description: "Explain a noun or a verb" }]),
      ];
    case "surface":
      return (page.surface.complete ?? []).map((value) => ({ value, description: "" }));
    case "group":
      return verbsUnder(page.name, page.operations);
    case "operation": {
      const { name } = page.operation;
      const noun = nouns[name.split(" ")[0] ?? ""];
      // All verbs are loaded only where there may be a longer name.
      const longer = noun?.verbs === undefined || Object.keys(noun.verbs).some((verb) => verb.startsWith(`${name} `));
      return longer
        ? verbsUnder(
            name,
            ((await noun?.load()) ?? []).filter((op) => onSurface(op, "cli")),
          )
        : [];
    }
  }
}

/** The word behind `name` in the names of operations; several longer names with one next word are one candidate. */
function verbsUnder(name: string, operations: readonly AnyOperation[]): readonly Candidate[] {
  const verbs = new Map<string, string>();
  for (const op of operations) {
    if (!op.name.startsWith(`${name} `)) continue;
    const [verb = "", ...deeper] = op.name.slice(name.length + 1).split(" ");
    if (deeper.length === 0 || !verbs.has(verb)) verbs.set(verb, deeper.length === 0 ? op.summary : "");
  }
  return [...verbs].map(([value, description]) => ({ value, description }));
}

function flagPlace(word: string, flags: readonly FlagInfo[], page: Page | undefined, here: Here): Place {
  const read = readFlag(word, flags);
  const flag = flags.find((it) => it === read?.flag);
  if (read !== undefined && flag !== undefined && read.lead !== "") {
    return valuePlace(flag, read.lead, word.slice(read.lead.length), here);
  }
  const own =
    page?.page === "surface" ? (page.surface.complete ?? []).map((value) => ({ value, description: "" })) : [];
  return placed(here, "", word, { candidates: [...own, ...flagCandidates(flags, here, word)] });
}

/** Flags that the line can still take. Letters only for a word that already is one: `-m` beside `--message` says nothing new. */
function flagCandidates(flags: readonly FlagInfo[], { line }: Here, word: string): readonly Candidate[] {
  return flags
    .filter((flag) => !flag.hidden && (flag.repeats || !line.given.has(flag)))
    .flatMap((flag): Candidate[] => {
      const description = firstSentence(flag.description);
      const canNegate = flag.boolean && !longName(flag).startsWith("--no-") && word.startsWith("--no-");
      return [
        { value: longName(flag), description },
        ...(canNegate ? [{ value: `--no-${flag.name}`, description: `not: ${description}` }] : []),
        ...(flag.short !== undefined && word === `-${flag.short}` ? [{ value: word, description }] : []),
      ];
    });
}

function valuePlace(flag: FlagInfo, lead: string, text: string, here: Here): Place {
  if (flag.boolean) {
    const candidates = ["true", "false"].map((value) => ({ value, description: "" }));
    return placed(here, lead, text, { candidates });
  }
  const several = flag.shape.kind === "list" && !flag.whole && !flag.json;
  const comma = several ? text.lastIndexOf(",") + 1 : 0;
  const earlier = several
    ? [...(here.line.given.get(flag) ?? []), text.slice(0, comma)].flatMap((it) => it.split(","))
    : [];
  const what = flag.json && flag.complete === "none" ? "path" : flag.complete;
  return placed(here, lead + text.slice(0, comma), text.slice(comma), {
    candidates: choicesOf(flag.shape),
    what,
    taken: earlier,
  });
}

function wordPlace(op: AnyOperation, flags: readonly FlagInfo[], here: Here, deeper: readonly Candidate[]): Place {
  const { line, word } = here;
  const places = (op.positional ?? []).filter((it) => it.passthrough !== true);
  const place = places[line.words.length] ?? (places.at(-1)?.variadic === true ? places.at(-1) : undefined);
  const field = place === undefined ? undefined : fieldsOf(op.input).find((it) => it.name === place.field);
  if (place === undefined || field === undefined) {
    // Nothing more is named: what is left to say are flags, and those that have to be said come first.
    return placed(here, "", word, {
      candidates: [
        ...deeper,
        ...flagCandidates(
          flags.filter((flag) => flag.from !== "global"),
          here,
          word,
        ),
      ],
    });
  }
  const what = op.complete?.[place.field];
  return placed(here, "", word, {
    candidates: [...deeper, ...choicesOf(field)],
    ...(what === undefined ? {} : { what }),
    verb: what === "task" ? op.name : null,
    taken: place.variadic === true || op.batch === place.field ? line.words.slice(places.indexOf(place)) : [],
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
  const dir = [...line.given].find(([flag]) => flag.name === "dir" && flag.from === "global")?.[1].at(-1);
  return {
    lead,
    begun,
    candidates,
    lookup: what === "none" ? null : { what, verb },
    taken: new Set(taken.filter((it) => it !== "")),
    dir: dir ?? null,
  };
}

function choicesOf(shape: Shape): readonly Candidate[] {
  const choices = shape.choices ?? shape.item?.choices ?? [];
  return choices.map((value) => ({ value, description: "" }));
}

function globalsFor(op: AnyOperation): readonly FlagInfo[] {
  return GLOBAL_FLAGS.filter((flag) => flag.name !== "dir" || takesDir(op));
}

function firstSentence(text: string): string {
  return /^.*?[.;](?=\s|$)/s.exec(text)?.[0].slice(0, -1) ?? text;
}

function at(word: Word): number {
  return word.at;
}
