/**
 * One operation, from the words of a command line to its answer on stdout. Only this operation is given to cac, which
 * groups the values by flag and by word; which words are values was settled in argv.ts, and what they mean by the schema.
 */
import { cac } from "cac";

import { parseDuration, DURATION_WORDS } from "../lib/duration.ts";
import { DotbotError, errorText } from "../lib/error.ts";
import { pathText, PLACEHOLDER, type Correction, type Wording } from "../lib/explain.ts";
import { readText, writeHint } from "../lib/files.ts";
import { invoke, invokeEach, type Invocation, type Outcome, type ResolveTarget } from "../lib/invoke.ts";
import type { AnyOperation } from "../lib/op.ts";
import { fieldsOf } from "../lib/schema.ts";
import { quote } from "../lib/text.ts";
import { commandLine, shield, unshield, withValue, type Shielded, type Value } from "./argv.ts";
import {
  flagsOf,
  GLOBAL_FLAGS,
  isOptional,
  placeholder,
  positionalName,
  takesDir,
  usage,
  type FlagInfo,
} from "./flags.ts";
import { contextOf, type ContextOptions, type Host } from "./host.ts";
import { scalar, valueOf, type Sources } from "./values.ts";

/** The values of a call, grouped. */
interface Grouped {
  readonly words: readonly Value[];
  readonly byFlag: ReadonlyMap<string, readonly Value[]>;
}

/** What a call gives an operation. */
interface Input {
  readonly fields: Record<string, unknown>;
  /** Where each field's words stand, for errors that show the call corrected. */
  readonly typed: ReadonlyMap<string, readonly Value[]>;
  /** The tasks of a batch, when there are several. */
  readonly tasks: readonly string[] | null;
}

/**
 * Runs the operation that the words at `taken` named; returns the exit status of its answer.
 * @throws DotbotError for everything that isn't an answer
 */
export async function runOperation(
  op: AnyOperation,
  taken: ReadonlySet<number>,
  host: Host,
  resolve: ResolveTarget,
  signal: AbortSignal,
): Promise<number> {
  const { argv } = host;
  const flags = [...flagsOf(op), ...GLOBAL_FLAGS];
  const shielded = shield(argv, taken, flags, op.name);
  const grouped = await group(op, flags, shielded);
  const options = contextOptions(grouped, argv);
  const wantsIds = !options.json && isOn(grouped, "ids");
  const { ctx, flush } = await contextOf(host, options, signal, {
    as: options.json ? "json" : wantsIds ? "ids" : "text",
    update: async (result) => {
      await flush();
      const redraw = !options.json && (await host.isTerminal("stdout"));
      await host.write("stdout", `${redraw ? CLEAR_SCREEN : ""}${shown(result)}`);
    },
  });
  const shown = (result: object): string => {
    if (options.json) return jsonLine(result);
    const ids = wantsIds ? op.ids?.(result) : undefined;
    return ids === undefined ? op.text(result, ctx.style) : ids.map((id) => `${id}\n`).join("");
  };
  try {
    const sources: Sources = { readStdin: ctx.readStdin, readFile: async (path) => readText(path) };
    const input = await inputOf(op, flags, grouped, shielded.after, argv, sources);
    const invocation: Invocation = { op, ctx, resolve, wording: wordingOf(op, flags, input.typed, argv) };
    if (input.tasks !== null) {
      const { result, status } = await invokeEach(invocation, input.fields, input.tasks);
      await flush();
      if (options.json) await host.write("stdout", jsonLine(result));
      else for (const outcome of result.results) await tell(outcome, op, ctx.style, host);
      return status;
    }
    const { result, status } = await invoke(invocation, input.fields);
    await flush();
    leadShell(op, result, host);
    await host.write("stdout", shown(result));
    return status;
  } finally {
    await flush();
  }
}

/** Tells the function that shell-init defines where its shell should go: it has named a file for that. */
function leadShell(op: AnyOperation, result: object, { env }: Host): void {
  const file = env["DOTBOT_CD_FILE"] ?? "";
  const folder = file === "" ? undefined : op.goTo?.(result);
  if (folder !== undefined && folder !== null) writeHint(file, folder);
}

/** To the upper left corner, everything gone: what a watched answer is drawn over. */
const CLEAR_SCREEN = "\u001B[H\u001B[2J";

/** An answer, or an error, as programs read it. */
export function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

async function tell(
  outcome: Outcome,
  op: AnyOperation,
  style: Parameters<AnyOperation["text"]>[1],
  host: Host,
): Promise<void> {
  if ("error" in outcome) await host.write("stderr", errorText(outcome.error, `dotbot: ${quote(outcome.task)}: `));
  else await host.write("stdout", op.text(outcome.result, style));
}

async function group(op: AnyOperation, flags: readonly FlagInfo[], { tokens, values }: Shielded): Promise<Grouped> {
  const cli = cac("dotbot");
  const command = cli.command(`${op.name} [...words]`, op.summary);
  const byFlag = new Map<string, readonly Value[]>();
  let words: readonly Value[] = [];
  // Only those that were typed: each costs, and shield has refused what isn't a flag.
  const typed = new Set(values.map((value) => value.flag));
  const keys = flags
    .filter(({ name }) => typed.has(name))
    .map(({ name, description }) => {
      command.option(`--${name} <value>`, description);
      return { name, key: command.options.at(-1)?.name ?? name };
    });
  command.action((given: readonly unknown[], options: Readonly<Record<string, unknown>>) => {
    words = given.map((token) => unshield(token, values));
    for (const { name, key } of keys) {
      const found = options[key];
      if (found !== undefined)
        byFlag.set(
          name,
          [found].flat().map((token) => unshield(token, values)),
        );
    }
  });
  cli.parse(["bun", "dotbot", op.name, ...tokens], { run: false });
  await cli.runMatchedCommand();
  return { words, byFlag };
}

function contextOptions(grouped: Grouped, argv: readonly string[]): ContextOptions {
  const color = grouped.byFlag.get("color")?.at(-1)?.text;
  const wait = grouped.byFlag.get("lock-wait")?.at(-1);
  const lockWaitMs = wait && parseDuration(wait.text);
  if (wait !== undefined && lockWaitMs === undefined) {
    throw new DotbotError("INVALID_INPUT", `--lock-wait ${quote(wait.text)} isn't ${DURATION_WORDS}`, {
      example: withValue(argv, wait, "30s"),
    });
  }
  return {
    json: isOn(grouped, "json"),
    yes: isOn(grouped, "yes"),
    quiet: isOn(grouped, "quiet"),
    color: color === undefined ? null : color === "true",
    lockWaitMs: lockWaitMs ?? null,
  };
}

function isOn({ byFlag }: Grouped, flag: string): boolean {
  return byFlag.get(flag)?.at(-1)?.text === "true";
}

async function inputOf(
  op: AnyOperation,
  flags: readonly FlagInfo[],
  grouped: Grouped,
  after: Shielded["after"],
  argv: readonly string[],
  sources: Sources,
): Promise<Input> {
  const fields: Record<string, unknown> = {};
  const typed = new Map<string, readonly Value[]>();
  const [dir] = grouped.byFlag.get("dir") ?? [];
  if (dir !== undefined) {
    if (!takesDir(op)) {
      throw new DotbotError("USAGE", `${quote(op.name)} touches no repository, so it takes no --dir`, {
        example: `dotbot ${op.name} --help`,
      });
    }
    fields["dir"] = dir.text;
    typed.set("dir", [dir]);
  }

  for (const flag of flags) {
    const values = grouped.byFlag.get(flag.name);
    if (values === undefined || flag.field === null) continue;
    fields[flag.field.name] = await valueOf(flag, values.map(textOf), sources);
    typed.set(flag.field.name, values);
  }

  if (op.assemble !== undefined) {
    const names = Object.keys(op.assemble.flags);
    const inOrder = names.flatMap((name) => grouped.byFlag.get(name) ?? []).toSorted((a, b) => a.at - b.at);
    Object.assign(fields, op.assemble.build(inOrder.map(({ flag, text }) => ({ flag: flag ?? "", value: text }))));
  }

  let tasks: Input["tasks"] = null;
  for (const [field, values] of placeWords(op, grouped.words, after, argv)) {
    const flag = flags.find((candidate) => candidate.field?.name === field);
    if (flag === undefined) throw new TypeError(`${op.name}: the positional ${field} is no field of the input`);
    if (typed.has(field)) {
      throw new DotbotError("USAGE", `${quote(values[0]?.text ?? "")} and --${flag.name} both give the same thing`, {
        hint: `usage: dotbot ${usage(op)}`,
      });
    }
    const texts = values.map(textOf);
    typed.set(field, values);
    if (field === op.batch && texts.length > 1) tasks = texts;
    else if (flag.shape.kind === "list" && !flag.json)
      fields[field] = texts.map((text) => scalar(flag.shape.item, text));
    else fields[field] = await valueOf(flag, texts, sources);
  }
  return { fields, typed, tasks };
}

/** Which words are which positional. When words are fewer than places, optional places stay empty, from the left. */
function placeWords(
  op: AnyOperation,
  given: readonly Value[],
  after: Shielded["after"],
  argv: readonly string[],
): ReadonlyMap<string, readonly Value[]> {
  const places = op.positional ?? [];
  const fields = fieldsOf(op.input);
  const behind = places.find((it) => it.passthrough === true);
  const front = places.filter((it) => it !== behind);
  const words = behind === undefined ? [...given, ...(after ?? [])] : given;
  const placed = new Map<string, readonly Value[]>();
  let spare = words.length - front.filter((it) => !isOptional(it, fields)).length;
  let next = 0;
  for (const it of front) {
    if (isOptional(it, fields) && spare <= 0) continue;
    const taken = it.variadic === true ? words.slice(next) : words.slice(next, next + 1);
    if (taken.length > 0) placed.set(it.field, taken);
    next += taken.length;
    if (isOptional(it, fields)) spare -= taken.length;
  }
  const extra = words[next];
  if (extra !== undefined) throw tooMany(op, words, extra, argv);
  if (behind !== undefined && after !== null && after.length > 0) placed.set(behind.field, after);
  return placed;
}

function tooMany(op: AnyOperation, words: readonly Value[], extra: Value, argv: readonly string[]): DotbotError {
  const places = op.positional ?? [];
  const passthrough = places.find((it) => it.passthrough === true);
  const hint = `usage: dotbot ${usage(op)}`;
  const message = `unexpected word ${quote(extra.text)}`;
  if (passthrough !== undefined) {
    return new DotbotError("USAGE", message, {
      hint: `${placeholder(passthrough, [])} takes the words behind --`,
      example: commandLine([...argv.slice(0, extra.at), "--", ...argv.slice(extra.at)]),
    });
  }
  if (places.length === 0) return new DotbotError("USAGE", `${message}: ${quote(op.name)} takes none`, { hint });
  // `task add Fix the login`: words that belong together but for their quotes.
  const adjacent = words.every((word, i) => i === 0 || word.at === (words[i - 1]?.at ?? 0) + 1);
  const [first] = words;
  const example =
    places.length === 1 && adjacent && first !== undefined
      ? commandLine([...argv.slice(0, first.at), words.map(textOf).join(" "), ...argv.slice(first.at + words.length)])
      : firstExample(op);
  return new DotbotError("USAGE", message, { hint, ...(example === undefined ? {} : { example }) });
}

/** Errors speak of flags and `<words>`, and show the caller's own call, mended. */
function wordingOf(
  op: AnyOperation,
  flags: readonly FlagInfo[],
  typed: Input["typed"],
  argv: readonly string[],
): Wording {
  const flagOf = (field: string) => flags.find((flag) => flag.field?.name === field);
  const mend = (line: readonly string[], { path, value }: Correction): readonly string[] | undefined => {
    const [field, index = 0, ...deeper] = path;
    const simple = typeof field === "string" && typeof index === "number" && deeper.length === 0;
    if (!simple || value === PLACEHOLDER) return undefined;
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
    const words = typed.get(field);
    const flag = flagOf(field);
    if (words === undefined) {
      // A flag can be added at the end of the line, but not behind `--`.
      const addable = flag !== undefined && !flag.hidden && !flag.boolean && !argv.includes("--");
      return addable ? [...line, `--${flag.name}`, String(value)] : undefined;
    }
    // One word of several, or one item of a word's several.
    const word = words.length === 1 ? words[0] : words[index];
    if (word === undefined) return undefined;
    const items = words.length === 1 && path.length > 1 && flag?.whole !== true ? word.text.split(",") : [word.text];
    const mended = items.length === 1 ? String(value) : items.with(index, String(value)).join(",");
    return line.with(word.at, word.lead + mended);
  };
  return {
    nameOf: (path) => {
      const field = String(path[0]);
      const positional = op.positional?.find((it) => it.field === field);
      const flag = flagOf(field);
      const own =
        positional !== undefined
          ? positionalName(positional)
          : field === "dir" || flag
            ? `--${flag?.name ?? field}`
            : field;
      // On the command line an item of a list has no number: it is what was typed.
      return path.length === 2 && typeof path[1] === "number" && flag?.json !== true ? own : pathText(path, own);
    },
    correct: (corrections) => {
      let line: readonly string[] | undefined = argv;
      for (const correction of corrections) line = line && mend(line, correction);
      return line === undefined || line === argv ? firstExample(op) : commandLine(line);
    },
  };
}

function firstExample(op: AnyOperation): string | undefined {
  const [example] = op.examples;
  return example === undefined ? undefined : `dotbot ${example.run}`;
}

function textOf(value: Value): string {
  return value.text;
}
