/** Draws the sketch of the commands that completion reads: see sketch-text.ts. */
import { onSurface, type AnyOperation, type Completion } from "../lib/op.ts";
import { fieldsOf, type Shape } from "../lib/schema.ts";
import { flagsOf, GLOBAL_FLAGS, longName, takesDir, type FlagInfo } from "./flags.ts";
import { visible, type Commands } from "./route.ts";
import type {
  Index,
  SketchCommand,
  SketchFlag,
  SketchName,
  SketchPlace,
  WrittenCommand,
  WrittenSketch,
} from "./sketch-text.ts";

/** Commands that have a flag in common; from so many on it is written once for all. */
const SHARED_BY = 6;

/** Loads every operation. */
export async function drawSketch({ nouns, surfaces }: Commands): Promise<WrittenSketch> {
  const named = await Promise.all(
    Object.entries(nouns).map(async ([name, { aliases = [], summary, load }]) => {
      const operations = (await load()).filter((op) => onSurface(op, "cli"));
      return { noun: { ...nameOf({ name, aliases }), commands: operations.map(nameOf) }, summary, operations };
    }),
  );
  const shown = visible(surfaces).flatMap((name) => {
    const surface = surfaces[name];
    return surface === undefined ? [] : [{ name, ...surface }];
  });
  const summaries = Object.fromEntries([
    ...named.map(({ noun, summary }) => [noun.name, summary] as const),
    ...shown.map(({ name, summary }) => [name, summary] as const),
    // A noun and its bare verb may have one name; the noun's line says more.
    ...named.flatMap(({ operations, noun }) =>
      operations.filter(({ name }) => name !== noun.name).map(({ name, summary }) => [name, summary] as const),
    ),
  ]);
  const commands = named.flatMap(({ operations }) => operations).map(commandOf);
  const users = Map.groupBy(
    commands.flatMap(({ flags }) => flags.map((flag) => JSON.stringify(flag))),
    (text) => text,
  );
  const shared = [...users].flatMap(([text, { length }]) => (length >= SHARED_BY ? [text] : []));
  const written = (flag: SketchFlag): SketchFlag | number => {
    const place = shared.indexOf(JSON.stringify(flag));
    return place < 0 ? flag : place;
  };
  const index: Index = {
    nouns: named.map(({ noun }) => noun),
    surfaces: shown.map(({ name, complete = [] }) => ({ name, words: complete })),
    globals: GLOBAL_FLAGS.map(flagSketch),
    shared: shared.map((text) => JSON.parse(text) as SketchFlag),
  };
  return {
    index: JSON.stringify(index),
    summaries: JSON.stringify(summaries),
    commands: Object.fromEntries(
      commands.map((it): [string, string] => {
        const command: WrittenCommand = { ...it, flags: it.flags.map(written) };
        return [it.name, JSON.stringify(command)];
      }),
    ),
  };
}

function nameOf({ name, aliases = [] }: Pick<AnyOperation, "name" | "aliases">): SketchName {
  return aliases.length === 0 ? { name } : { name, aliases };
}

function commandOf(op: AnyOperation): SketchCommand {
  const fields = fieldsOf(op.input);
  const globals = GLOBAL_FLAGS.filter((flag) => flag.name !== "dir" || takesDir(op));
  return {
    name: op.name,
    flags: [...flagsOf(op), ...globals].map(flagSketch),
    places: (op.positional ?? []).flatMap((place): SketchPlace[] => {
      const field = fields.find((it) => it.name === place.field);
      if (place.passthrough === true || field === undefined) return [];
      return [
        {
          ...choicesOf(field),
          ...whatOf(op.complete?.[place.field] ?? "none"),
          ...(place.variadic === true ? { variadic: true } : {}),
          ...(place.variadic === true || op.batch === place.field ? { several: true } : {}),
        },
      ];
    }),
    passthrough: op.positional?.some((it) => it.passthrough === true) === true,
  };
}

function flagSketch(flag: FlagInfo): SketchFlag {
  const { name, short, boolean, repeats, description, shape, whole, json, complete, hidden, from } = flag;
  return {
    name,
    ...(short === undefined ? {} : { short }),
    boolean,
    repeats,
    long: longName(flag),
    description: firstSentence(description),
    ...choicesOf(shape),
    ...(shape.kind === "list" && !whole && !json ? { commas: true } : {}),
    ...whatOf(json && complete === "none" ? "path" : complete),
    ...(hidden ? { hidden } : {}),
    ...(from === "global" ? { global: true } : {}),
  };
}

function choicesOf(shape: Shape): { choices?: readonly string[] } {
  const choices = shape.choices ?? shape.item?.choices;
  return choices === undefined ? {} : { choices };
}

function whatOf(what: Completion): { what?: Completion } {
  return what === "none" ? {} : { what };
}

function firstSentence(text: string): string {
  return /^.*?[.;](?=\s|$)/s.exec(text)?.[0].slice(0, -1) ?? text;
}
