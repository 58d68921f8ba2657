/**
 * Help for dotbot, a noun, a verb. Pure. It begins with examples that work and is 80 columns wide. Where it goes to a terminal
 * (`rows` is given) it also fits the screen: the least important text gives way, and the last line says how to read all of it.
 */
import type { AnyOperation, Example } from "../lib/op.ts";
import { displayWidth, padEnd, truncate } from "../lib/text.ts";
import { flagsOf, GLOBAL_FLAGS, longName, spelt, takesDir, usage, type FlagInfo } from "./flags.ts";
import type { Commands, Page } from "./route.ts";

const COLUMNS = 80;

/** A heading with its lines, or plain lines. Empty sections vanish. */
interface Section {
  readonly title?: string;
  readonly lines: readonly string[];
}

/** Help for a page; `rows` is the height of the terminal it is read at, null when it isn't. */
export function helpText(page: Page, commands: Commands, rows: number | null): string {
  switch (page.page) {
    case "dotbot":
      return dotbotHelp(commands, rows);
    case "group":
      return groupHelp(page, rows);
    case "operation":
      return operationHelp(page.operation, rows);
    case "surface": {
      const { surface } = page;
      return render([
        { title: "Examples:", lines: exampleLines(surface.examples) },
        { lines: wrap(`Usage: dotbot ${surface.usage}`, COLUMNS, 7) },
        { lines: paragraphs(`${surface.summary}. ${surface.details}`.trim()) },
      ]);
    }
  }
}

function dotbotHelp({ nouns, surfaces }: Commands, rows: number | null): string {
  const main = Object.entries(nouns).filter(([, noun]) => noun.minor !== true);
  const minor = Object.entries(nouns).filter(([, noun]) => noun.minor === true);
  const others = [
    ...minor.map(([name]) => name),
    ...Object.entries(surfaces).flatMap(([name, surface]) => (surface.hidden === true ? [] : [name])),
    "version",
  ];
  const examples = main.map(([, noun]) => noun.example);
  const mainGlobals = GLOBAL_FLAGS.filter((flag) => ["dir", "json", "yes"].includes(flag.name));
  const otherGlobals = `  ${GLOBAL_FLAGS.filter((flag) => !mainGlobals.includes(flag))
    .map(compact)
    .join("  ")}`;
  const page = (count: number): string =>
    render([
      { title: "Examples:", lines: exampleLines(examples.slice(0, count)) },
      { lines: ["Usage: dotbot <noun> <verb> [<task>…] [options]"] },
      { title: "Nouns:", lines: columns(main.map(([name, noun]) => [name, noun.summary])) },
      { lines: wrap(`Also: ${others.join(", ")}`, COLUMNS, 6) },
      {
        title: "Options, anywhere before --:",
        lines: [...columns(mainGlobals.map((flag) => [spelt(flag), flag.description])), otherGlobals],
      },
      { lines: ["dotbot help <noun> lists its verbs, dotbot help <noun> <verb> explains one."] },
    ]);
  return fitting(
    rows,
    [examples.length, 6, 5, 4, 3].map((count) => () => page(count)),
  );
}

function groupHelp({ name, noun, operations }: Page & { readonly page: "group" }, rows: number | null): string {
  const depth = name.split(" ").length;
  const verbOf = (op: AnyOperation): string => op.name.split(" ").slice(depth).join(" ");
  const verbs = operations.toSorted((a, b) => Number(a.toolset === "all") - Number(b.toolset === "all"));
  const firsts = verbs.flatMap((op) => op.examples.slice(0, 1));
  const examples = depth === 1 ? [noun.example, ...firsts.filter((it) => it.run !== noun.example.run)] : firsts;
  const bare = noun.bare === undefined || depth > 1 ? [] : [`       dotbot ${name}, alone: dotbot ${noun.bare}`];
  const page = (shown: number, count: number): string => {
    const more = verbs.slice(shown).map(verbOf);
    return render([
      { title: "Examples:", lines: exampleLines(examples.slice(0, count)) },
      { lines: [`Usage: dotbot ${name} <verb> [options]`, ...bare] },
      { title: "Verbs:", lines: columns(verbs.slice(0, shown).map((op) => [verbOf(op), op.summary])) },
      { lines: more.length === 0 ? [] : wrap(`Also: ${more.join(", ")}`, COLUMNS, 6) },
      {
        lines: [
          `dotbot help ${name} <verb> explains one.${more.length === 0 ? "" : ` All of it: dotbot help ${name} | cat`}`,
        ],
      },
    ]);
  };
  const fewer = Array.from({ length: verbs.length }, (_, i) => () => page(verbs.length - 1 - i, 2));
  return fitting(rows, [() => page(verbs.length, 3), () => page(verbs.length, 2), ...fewer]);
}

/** How much of an operation's page is shown. */
interface Extent {
  readonly examples: number;
  readonly details: string;
  /** Options have the first sentence of their description. */
  readonly brief: boolean;
  /** It is cut to one line each. */
  readonly oneLine: boolean;
  readonly options: number;
}

function operationHelp(op: AnyOperation, rows: number | null): string {
  const flags = flagsOf(op).filter((flag) => !flag.hidden);
  const aliases = (op.aliases ?? []).map((alias) => `dotbot ${alias}`);
  const globals = GLOBAL_FLAGS.filter(
    (flag) => !["help", "version"].includes(flag.name) && (flag.name !== "dir" || takesDir(op)),
  );
  const summary = `${op.summary}.`;
  const all: Extent = {
    examples: op.examples.length,
    details: [summary, op.details ?? ""].join(" ").trim(),
    brief: false,
    oneLine: false,
    options: flags.length,
  };
  const page = (extent: Extent): string => {
    const more = flags.slice(extent.options).map(longName);
    const missing = more.length > 0 || extent.brief || extent.examples < all.examples || extent.details !== all.details;
    return render([
      { title: "Examples:", lines: exampleLines(op.examples.slice(0, extent.examples)) },
      {
        lines: [
          ...wrap(`Usage: dotbot ${usage(op)}`, COLUMNS, 7),
          ...(aliases.length === 0 ? [] : [`       also: ${aliases.join(", ")}`]),
        ],
      },
      { lines: paragraphs(extent.details) },
      {
        title: "Options:",
        lines: columns(
          flags.slice(0, extent.options).map((flag) => [spelt(flag), explained(flag, extent.brief)]),
          extent.oneLine,
        ),
      },
      {
        lines: [
          ...(more.length === 0 ? [] : wrap(`More options: ${more.join(", ")}`, COLUMNS, 2)),
          ...wrap(`Everywhere: ${globals.map(shortest).join(", ")}: see dotbot help`, COLUMNS, 2),
          ...(missing ? [`All of this page: dotbot help ${op.name} | cat`] : []),
        ],
      },
    ]);
  };
  const lines = { ...all, examples: 1, brief: true, oneLine: true };
  const firstDetail = op.details === undefined ? summary : `${summary} ${firstSentence(op.details)}`;
  const fewer = flags.map((_, i): Extent => ({ ...lines, details: summary, options: flags.length - 1 - i }));
  const extents: readonly Extent[] = [
    all,
    { ...all, examples: 3 },
    { ...all, examples: 2 },
    { ...all, examples: 2, brief: true },
    { ...lines, examples: 2 },
    lines,
    { ...lines, details: firstDetail },
    { ...lines, details: summary },
    ...fewer,
  ];
  return fitting(
    rows,
    extents.map((extent) => () => page(extent)),
  );
}

/** `-C`, `--json` */
function shortest(flag: FlagInfo): string {
  return flag.short === undefined ? longName(flag) : `-${flag.short}`;
}

/** `-C/--dir <path>` */
function compact(flag: FlagInfo): string {
  return spelt(flag).replace(", ", "/");
}

/** A flag's description, or the first sentence of it, with what its value may be. */
export function explained(flag: FlagInfo, brief = false): string {
  const { shape, field } = flag;
  const notes: string[] = [];
  const choices = shape.choices ?? shape.item?.choices;
  const listed =
    choices !== undefined && flag.value?.includes(choices.join("|")) !== true ? choices.join(", ") : undefined;
  if (listed !== undefined && !brief) notes.push(listed);
  if (shape.kind === "integer" || shape.kind === "number") notes.push(...bounds(shape.min, shape.max));
  if (flag.repeats && flag.from === "field" && !flag.json)
    notes.push(flag.whole ? "repeat it for more" : "repeat, or a,b");
  if (flag.stdin) notes.push("- for stdin");
  if (flag.required) notes.push("required");
  else if (field?.default !== undefined && !flag.boolean) notes.push(`default ${defaultText(field.default)}`);
  const description = (brief ? firstSentence(flag.description) : flag.description).replace(/\.$/, "");
  // Where the end of the line may be cut, what may be said comes before what it means.
  const head = brief && listed !== undefined ? `${listed}: ` : "";
  return head + description + (notes.length === 0 ? "" : ` (${notes.join("; ")})`);
}

function bounds(min: number | undefined, max: number | undefined): readonly string[] {
  if (min !== undefined && max !== undefined) return [`${min} to ${max}`];
  if (min !== undefined) return [`${min} or more`];
  return max === undefined ? [] : [`up to ${max}`];
}

function defaultText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function firstSentence(text: string): string {
  const end = /[.!?](?=\s)/.exec(text);
  return end === null ? text : text.slice(0, end.index + 1);
}

/** Beside each other where that fits; else what it does stands under each line. */
function exampleLines(examples: readonly Example[]): readonly string[] {
  const rows = examples.map(({ run, does }) => [`dotbot ${run}`, does] as const);
  const width = Math.max(...rows.map(([run]) => displayWidth(run)));
  if (rows.every(([, does]) => 2 + width + 2 + displayWidth(does) <= COLUMNS)) {
    return rows.map(([run, does]) => `  ${padEnd(run, width)}  ${does}`);
  }
  return rows.flatMap(([run, does]) => [
    ...foldCommand(run).map((line) => `  ${line}`),
    ...wrap(does, COLUMNS - 6).map((line) => `      ${line}`),
  ]);
}

/** A command too long for the screen, continued as a shell continues it: before a flag that stands outside quotes. */
function foldCommand(run: string): readonly string[] {
  const space = COLUMNS - 4;
  if (displayWidth(run) <= space + 2) return [run];
  const breaks = [...run.matchAll(/ (?=--?[a-z])/g)].map((match) => match.index);
  const outside = (at: number): boolean => {
    const before = run.slice(0, at);
    return before.split("'").length % 2 === 1 && before.split('"').length % 2 === 1;
  };
  const at = breaks.findLast((index) => displayWidth(run.slice(0, index)) <= space && outside(index));
  return at === undefined ? [run] : [`${run.slice(0, at)} \\`, ...foldCommand(`    ${run.slice(at + 1)}`)];
}

/** Two columns; the right one wraps, or with `oneLine` is cut. A left cell that is too wide has its text beneath. */
function columns(rows: readonly (readonly [string, string])[], oneLine = false): readonly string[] {
  const widths = rows.map(([left]) => displayWidth(left));
  const left = Math.max(0, ...widths.filter((width) => width <= 30));
  const space = COLUMNS - left - 4;
  return rows.flatMap(([head, text]) => {
    const lines = oneLine ? [truncate(text, space)] : wrap(text, space);
    const [first = "", ...rest] = lines;
    const indent = " ".repeat(left + 4);
    if (displayWidth(head) <= left)
      return [`  ${padEnd(head, left)}  ${first}`.trimEnd(), ...rest.map((line) => indent + line)];
    // Still one line: the description starts where the flag ends.
    if (oneLine) return [truncate(`  ${head}  ${text}`, COLUMNS)];
    return [`  ${head}`, ...lines.map((line) => indent + line)];
  });
}

function paragraphs(text: string): readonly string[] {
  return text.split("\n").flatMap((paragraph) => wrap(paragraph, COLUMNS));
}

/** Words into lines of at most `width` columns; lines after the first are indented. */
function wrap(text: string, width: number, indent = 0): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line.trim() !== "" && displayWidth(line) + 1 + displayWidth(word) > width) {
      lines.push(line);
      line = " ".repeat(indent) + word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

function render(sections: readonly Section[]): string {
  return sections
    .filter(({ lines }) => lines.length > 0)
    .map(({ title, lines }) => [...(title === undefined ? [] : [title]), ...lines].join("\n"))
    .join("\n\n")
    .concat("\n");
}

/** The first page that leaves a row for the prompt; the last one if none does. */
function fitting(rows: number | null, pages: readonly (() => string)[]): string {
  let text = "";
  for (const page of pages) {
    text = page();
    if (rows === null || text.split("\n").length <= rows) return text;
  }
  return text;
}
