/**
 * man/dotbot.1, written from the registry: what `dotbot help` says, on one page. Pure; a script writes the file, a test holds
 * the file to it.
 */
import { ERRORS } from "../lib/error.ts";
import { onSurface, type AnyOperation } from "../lib/op.ts";
import type { Nouns } from "../lib/ops.ts";
import { flagsOf, GLOBAL_FLAGS, spelt, usage } from "./flags.ts";
import { explained } from "./help.ts";
import { visible, type Surface } from "./route.ts";

export interface ManInput {
  readonly nouns: Nouns;
  readonly operations: readonly AnyOperation[];
  readonly surfaces: Readonly<Record<string, Surface>>;
  /** Environment variables beside those of settings, and what they do. */
  readonly environment: readonly (readonly [name: string, meaning: string])[];
}

const STATUS: readonly (readonly [status: string, meaning: string])[] = [
  ["0", "done"],
  ["1", "the answer is no: nothing to pick, doctor or the scan found something, verification failed"],
  ["2", "bad usage or input"],
  ["3", "not found"],
  ["4", "refused, to protect work or a repository"],
  ["5", "the environment: no git, no repository, no queue, nothing writable, no network"],
  ["6", "another process holds the lock, after waiting"],
  ["70", "a fault of dotbot's own"],
  ["128+n", "ended by signal n"],
];

const FILES: readonly (readonly [path: string, meaning: string])[] = [
  [".bot/workspace/tasks/<status>/", "the tasks of a repository, as files that show the ledger"],
  [".bot/settings.json", "settings that the project shares"],
  [".bot/.control/settings.json", "settings of this machine"],
  ["<git common dir>/dotbot/queue.db", "the ledger: every version of every task"],
];

export function manPage({ nouns, operations, surfaces, environment }: ManInput): string {
  return [
    // No date and no version: the page would change with every build.
    '.TH DOTBOT 1 "" "dotbot" "User Commands"',
    ".nh",
    ".ad l",
    ".SH NAME",
    `dotbot \\- ${roff("one true task queue, one worktree per task, and no foreign tree by accident")}`,
    ".SH SYNOPSIS",
    `.B ${roff("dotbot")}`,
    roff("<noun> <verb> [<task>…] [options]"),
    ".SH DESCRIPTION",
    roff(
      "dotbot keeps the tasks of a git repository in one queue, which every worktree, subfolder and hook finds; gives each task a branch and a worktree of its own, and brings it back as exactly one commit; and refuses to touch a repository that wasn't meant. People use it at a terminal, agents also over the Model Context Protocol.",
    ),
    ".PP",
    roff(
      "Alone, dotbot shows where you stand. A task is named by its id, at least four first digits of it, its slug, its file name or its exact name; inside a task's worktree it may be left out.",
    ),
    ".SH OPTIONS",
    roff("Every command understands these, anywhere before --."),
    ...GLOBAL_FLAGS.flatMap((flag) => term(spelt(flag), flag.description)),
    ".SH COMMANDS",
    ...Object.entries(nouns).flatMap(([name, noun]) => [
      `.SS ${quoted(name)}`,
      roff(`${noun.summary}.`),
      ...operations.filter((op) => op.name.split(" ")[0] === name && onSurface(op, "cli")).flatMap(operationLines),
    ]),
    ...visible(surfaces).flatMap((name) => {
      const surface = surfaces[name];
      return surface === undefined
        ? []
        : [`.SS ${quoted(name)}`, ...term(`dotbot ${surface.usage}`, `${surface.summary}. ${surface.details}`)];
    }),
    ".SH EXIT STATUS",
    ...STATUS.flatMap(([status, meaning]) => term(status, meaning)),
    ".PP",
    roff('With --json a failure is printed as {"error": {code, message, hint, example, details}}. Its codes:'),
    ...Object.entries(ERRORS).flatMap(([code, [status, meaning]]) => term(`${code} (${status})`, meaning)),
    ".SH ENVIRONMENT",
    ...environment.flatMap(([name, meaning]) => term(name, meaning)),
    ".SH FILES",
    ...FILES.flatMap(([path, meaning]) => term(path, meaning)),
    ".SH SEE ALSO",
    ".BR git (1),",
    ".BR git\\-worktree (1)",
    "",
  ].join("\n");
}

function operationLines(op: AnyOperation): readonly string[] {
  const flags = flagsOf(op).filter((flag) => !flag.hidden);
  const [example] = op.examples;
  return [
    ...term(`dotbot ${usage(op)}`, [`${op.summary}.`, op.details].filter((text) => text !== undefined).join(" ")),
    ...(flags.length === 0 ? [] : [".RS", ...flags.flatMap((flag) => term(spelt(flag), explained(flag))), ".RE"]),
    ...(example === undefined ? [] : [".RS", ".PP", ".EX", roff(`dotbot ${example.run}`), ".EE", ".RE"]),
  ];
}

function term(head: string, text: string): readonly string[] {
  return [".TP", `.B ${quoted(head)}`, roff(text)];
}

/** One argument of a request. */
function quoted(text: string): string {
  return `"${roff(text).replaceAll('"', "\\(dq")}"`;
}

/** Text as it is: nothing in it is a request or an escape. Dashes stay dashes, so that options can be copied. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replaceAll("…", "...")
    .replaceAll("→", "\\(->")
    .split("\n")
    .map((line) => (line.startsWith(".") ? `\\&${line}` : line))
    .join("\n.br\n");
}
