/**
 * The commands as completion needs them: names, flags and what may stand behind them, as plain data. It is made when the program
 * is compiled (sketch.ts, the-sketch.ts), so that Tab, which has to answer before anybody notices, loads no operation and no
 * schema. Pure.
 */
import type { Completion } from "../lib/op.ts";
import type { FlagSyntax } from "./argv.ts";

export interface SketchFlag extends FlagSyntax {
  /** The form that changes something: `--priority`, `--no-commit`. */
  readonly long: string;
  /** Up to the first full stop. */
  readonly description: string;
  readonly choices?: readonly string[];
  /** Takes several values in one word, between commas. */
  readonly commas?: boolean;
  readonly what?: Completion;
  /** Understood, and not offered: a positional's other spelling. */
  readonly hidden?: boolean;
  readonly global?: boolean;
}

/** A place of a command's words. */
export interface SketchPlace {
  readonly choices?: readonly string[];
  readonly what?: Completion;
  /** Takes all the remaining words. */
  readonly variadic?: boolean;
  /** Takes several, each once. */
  readonly several?: boolean;
}

export interface SketchCommand {
  readonly name: string;
  readonly flags: readonly SketchFlag[];
  readonly places: readonly SketchPlace[];
  /** The words behind `--` are somebody else's command line. */
  readonly passthrough: boolean;
}

/** What names a command. */
export interface SketchName {
  readonly name: string;
  readonly aliases?: readonly string[];
}

export interface SketchNoun extends SketchName {
  readonly commands: readonly SketchName[];
}

export interface Sketch {
  readonly nouns: readonly SketchNoun[];
  readonly surfaces: readonly (SketchName & { readonly words: readonly string[] })[];
  readonly globals: readonly SketchFlag[];
  /** By its name. A TypeError where there is none. */
  readonly command: (name: string) => SketchCommand;
  /** What a noun, a surface or a command is for. */
  readonly summary: (name: string) => string;
}

/** The sketch as it is written down, each part as JSON: a line names one command, and only that one is read. */
export interface WrittenSketch {
  /** Of this form: `Index`. */
  readonly index: string;
  /** What each name is for; only lists of names show it. */
  readonly summaries: string;
  /** By name: a SketchCommand, in which a flag that most commands share is its position among those of the index. */
  readonly commands: Readonly<Record<string, string>>;
}

export interface Index extends Omit<Sketch, "command" | "summary"> {
  readonly shared: readonly SketchFlag[];
}

export interface WrittenCommand extends Omit<SketchCommand, "flags"> {
  readonly flags: readonly (SketchFlag | number)[];
}

export function readSketch(written: WrittenSketch): Sketch {
  const { nouns, surfaces, globals, shared } = JSON.parse(written.index) as Index;
  let summaries: Readonly<Record<string, string>> | undefined;
  return {
    nouns,
    surfaces,
    globals,
    summary: (name) => (summaries ??= JSON.parse(written.summaries) as Record<string, string>)[name] ?? "",
    command: (name) => {
      const text = written.commands[name];
      if (text === undefined) throw new TypeError(`there is no command ${name}`);
      const command = JSON.parse(text) as WrittenCommand;
      return {
        ...command,
        flags: command.flags.flatMap((flag) => (typeof flag === "number" ? (shared[flag] ?? []) : flag)),
      };
    },
  };
}
