/**
 * Words of a command line, before any operation is known to cac. Pure.
 *
 * cac's parser guesses: it turns `007` into 7 and "" into 0, splits `--id -5`, and never matches a command of two words.
 * So the words are read here, exactly, against the flags that exist, and cac gets tokens that it can't misread: a value is
 * its position behind a NUL, which no real argument can hold. The position also keeps the order in which flags were typed,
 * and lets an error show the caller's own call, corrected.
 *
 * Rules, in the order they win:
 * - after `--` everything is a word;
 * - a known flag spelt as a word of its own is never a value (so `--json` is found without knowing the verb);
 * - a flag that takes a value takes the rest of its word (`--flag=x`, `-mx`) or the next word, dash-led or not.
 */
import { DotbotError } from "../lib/error.ts";
import { nearest, quote, shellWord } from "../lib/text.ts";

/** What has to be known of a flag to read it. */
export interface FlagSyntax {
  /** Long name without dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string | undefined;
  /** Takes no value: `--flag`, `--no-flag`, `--flag=false`. */
  readonly boolean: boolean;
  /** May be given more than once. */
  readonly repeats: boolean;
  /** Names that people try and that this flag is the answer to: the field's own name, where the flag is called otherwise. */
  readonly meant?: readonly string[] | undefined;
  /** How a list of the command's flags calls it; absent where such a list leaves it out. */
  readonly listed?: string | undefined;
}

/** A value as typed, and where: `lead` is what stands before it in the same word (`--flag=`, `-m`). */
export interface Value {
  readonly text: string;
  readonly at: number;
  readonly lead: string;
  readonly flag: string | null;
}

export interface Shielded {
  /** For cac: `--name=\0<i>` for flags and `\0<i>` for words, where `i` is an index of `values`. */
  readonly tokens: readonly string[];
  readonly values: readonly Value[];
  /** The words after `--`, or null when there is no `--`. */
  readonly after: readonly Value[] | null;
}

export interface Word {
  readonly text: string;
  readonly at: number;
}

const SHIELD = "\0";

/** Whether a boolean flag stands on the line, wherever that is before `--`. */
export function mentions(argv: readonly string[], ...spellings: readonly string[]): boolean {
  for (const word of argv) {
    if (word === "--") return false;
    if (spellings.includes(word)) return true;
  }
  return false;
}

/**
 * The words that may name a command: those before the first flag that isn't global, at most four (`help` and a name of three).
 * Global flags among them are stepped over.
 */
export function leadingWords(argv: readonly string[], globals: readonly FlagSyntax[]): readonly Word[] {
  const words: Word[] = [];
  for (let at = 0; at < argv.length && words.length < 4; at++) {
    const text = argv[at] ?? "";
    if (text === "--") break;
    if (!isFlagLike(text)) {
      words.push({ text, at });
      continue;
    }
    const read = readFlag(text, globals);
    if (read === undefined) break;
    if (!read.flag.boolean && read.value === undefined) at++;
  }
  return words;
}

/** How many of the leading words name a command: the longest join that `known` has, or 0. */
export function matchName(words: readonly Word[], known: (name: string) => boolean): number {
  for (let n = Math.min(3, words.length); n > 0; n--) {
    if (known(joined(words.slice(0, n)))) return n;
  }
  return 0;
}

interface Named {
  readonly name: string;
  readonly aliases?: readonly string[];
}

/** `used`: how many of the words name it. */
export type Found<T> = { readonly used: number } & (
  | { readonly is: "command"; readonly command: T }
  /** Those under one beginning: all of the noun's, or the ones with the same two first words. */
  | { readonly is: "group"; readonly name: string; readonly commands: readonly T[] }
);

/** The longest name, or beginning of names, that the words spell among the commands of a noun. The first word is the noun. */
export function findCommand<T extends Named>(words: readonly Word[], noun: string, commands: readonly T[]): Found<T> {
  const canonical = words.map((word, i) => (i === 0 ? { ...word, text: noun } : word));
  const called = (spelling: string): T | undefined =>
    commands.find(({ name, aliases }) => name === spelling || aliases?.includes(spelling) === true);
  const used = matchName(canonical, (spelling) => called(spelling) !== undefined);
  const command = called(joined(canonical.slice(0, used)));
  if (command !== undefined) return { is: "command", command, used };
  const pair = `${joined(canonical.slice(0, 2))} `;
  const under = commands.filter(({ name }) => name.startsWith(pair));
  return canonical.length > 1 && under.length > 0
    ? { is: "group", name: pair.trim(), commands: under, used: 2 }
    : { is: "group", name: noun, commands, used: 1 };
}

export function joined(words: readonly Word[]): string {
  return words.map((word) => word.text).join(" ");
}

/**
 * Reads everything but the command's own words.
 * @param taken positions of the words that named the command
 * @throws DotbotError UNKNOWN_FLAG or USAGE, with the call corrected where that can be guessed
 */
export function shield(
  argv: readonly string[],
  taken: ReadonlySet<number>,
  flags: readonly FlagSyntax[],
  command: string,
): Shielded {
  const tokens: string[] = [];
  const values: Value[] = [];
  const add = (value: Value): void => {
    tokens.push((value.flag === null ? "" : `--${value.flag}=`) + SHIELD + values.length);
    values.push(value);
  };
  const once = new Set<string>();
  const addFlag = (flag: FlagSyntax, value: Omit<Value, "flag">): void => {
    if (!flag.boolean && !flag.repeats && once.has(flag.name)) {
      throw new DotbotError("USAGE", `--${flag.name} is given twice, and takes one value`, {
        example: commandLine(argv.filter((_, at) => at < value.at - (value.lead === "" ? 1 : 0) || at > value.at)),
      });
    }
    once.add(flag.name);
    add({ ...value, flag: flag.name });
  };

  for (let at = 0; at < argv.length; at++) {
    if (taken.has(at)) continue;
    const text = argv[at] ?? "";
    if (text === "--") {
      return {
        tokens,
        values,
        after: argv.slice(at + 1).map((word, i) => ({ text: word, at: at + 1 + i, lead: "", flag: null })),
      };
    }
    if (!isFlagLike(text)) {
      add({ text, at, lead: "", flag: null });
      continue;
    }
    const read = readFlag(text, flags);
    if (read === undefined) throw unknownFlag(argv, at, flags, command);
    const { flag, value, lead } = read;
    if (flag.boolean) {
      if (value !== "true" && value !== "false") {
        throw new DotbotError("USAGE", `--${flag.name} takes no value, so ${quote(value ?? "")} means nothing to it`, {
          example: commandLine(argv.with(at, `--${flag.name}`)),
        });
      }
      addFlag(flag, { text: value, at, lead });
    } else if (value !== undefined) {
      addFlag(flag, { text: value, at, lead });
    } else {
      const next = argv[at + 1];
      if (next === undefined || next === "--" || isFlagWord(next, flags)) {
        throw new DotbotError("USAGE", `${text} needs a value`, {
          hint: `a value that looks like a flag is written --${flag.name}=${next === undefined || next === "--" ? "--value" : next}`,
        });
      }
      at++;
      addFlag(flag, { text: next, at, lead: "" });
    }
  }
  return { tokens, values, after: null };
}

/** The value behind a token that cac hands back. */
export function unshield(token: unknown, values: readonly Value[]): Value {
  const value = typeof token === "string" && token.startsWith(SHIELD) ? values[Number(token.slice(1))] : undefined;
  if (value === undefined) throw new TypeError(`not a shielded token: ${JSON.stringify(token)}`);
  return value;
}

/** The call as one would type it into a shell. */
export function commandLine(argv: readonly string[]): string {
  return ["dotbot", ...argv.map(shellWord)].join(" ");
}

/** The call with one value replaced. */
export function withValue(argv: readonly string[], { at, lead }: Value, text: string): string {
  return commandLine(argv.with(at, lead + text));
}

export function isFlagLike(text: string): boolean {
  return text.startsWith("-") && text !== "-";
}

/** Whether a word is a known flag and nothing else: `--flag`, `--no-flag`, `--flag=value`, `-f`. Prose with a dash in front isn't. */
function isFlagWord(text: string, flags: readonly FlagSyntax[]): boolean {
  if (!isFlagLike(text) || /\s/.test(text)) return false;
  return (text.startsWith("--") || text.length === 2) && readFlag(text, flags) !== undefined;
}

export interface Read {
  readonly flag: FlagSyntax;
  /** undefined: in the next word. */
  readonly value: string | undefined;
  readonly lead: string;
}

/** Which flag a word is, by long name, `--no-` form or letter; undefined when it is none. */
export function readFlag(text: string, flags: readonly FlagSyntax[]): Read | undefined {
  if (text.startsWith("--")) {
    const equals = text.indexOf("=");
    const name = text.slice(2, equals < 0 ? undefined : equals);
    const flag = flags.find((candidate) => candidate.name === name);
    if (flag !== undefined) {
      const value = equals < 0 ? undefined : text.slice(equals + 1);
      return {
        flag,
        value: flag.boolean ? (value ?? "true") : value,
        lead: equals < 0 ? "" : text.slice(0, equals + 1),
      };
    }
    const negated =
      name.startsWith("no-") && equals < 0 ? flags.find((it) => it.boolean && it.name === name.slice(3)) : undefined;
    return negated && { flag: negated, value: "false", lead: "" };
  }
  const letter = text[1];
  const flag = letter === undefined ? undefined : flags.find(({ short }) => short === letter);
  if (flag === undefined) return undefined;
  if (flag.boolean) return text.length === 2 ? { flag, value: "true", lead: "" } : undefined;
  return { flag, value: text.length === 2 ? undefined : text.slice(2), lead: text.slice(0, 2) };
}

function unknownFlag(argv: readonly string[], at: number, flags: readonly FlagSyntax[], command: string): DotbotError {
  const text = argv[at] ?? "";
  const [spelt = text, ...value] = text.split("=");
  const name = spelt.replace(/^-+/, "").replaceAll("_", "-");
  const meant = flags.find((flag) => flag.meant?.includes(name))?.name ?? nearest(name, flags.flatMap(spellings));
  const message = `unknown flag ${quote(spelt)} for ${quote(command)}`;
  if (meant !== undefined) {
    const corrected = [`--${meant}`, ...value].join("=");
    return new DotbotError("UNKNOWN_FLAG", message, {
      hint: `did you mean --${meant}?`,
      example: commandLine(argv.with(at, corrected)),
    });
  }
  if (/^-\d/.test(text)) {
    return new DotbotError("UNKNOWN_FLAG", message, {
      hint: "words that begin with a dash go behind --",
      example: commandLine([...argv.slice(0, at), "--", ...argv.slice(at)]),
    });
  }
  const listed = flags.flatMap((flag) => flag.listed ?? []);
  return new DotbotError("UNKNOWN_FLAG", message, {
    hint: listed.length === 0 ? "it has no flags of its own" : `its flags are ${listed.join(", ")}`,
    example: command === "dotbot" ? "dotbot help" : `dotbot ${command} --help`,
  });
}

function spellings(flag: FlagSyntax): readonly string[] {
  return flag.boolean ? [flag.name, `no-${flag.name}`] : [flag.name];
}
