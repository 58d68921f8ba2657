/**
 * REFERENCE.md, written from the registry: every command, its tool, its arguments, and every error. Pure; a script writes
 * the file, a test holds the file to it.
 */
import { ERRORS } from "../lib/error.ts";
import { onSurface, toolName, type AnyOperation } from "../lib/op.ts";
import type { Nouns } from "../lib/ops.ts";
import { expectation, fieldsOf, type Field } from "../lib/schema.ts";
import { flagsOf, GLOBAL_FLAGS, positionalName, spelt, usage } from "./flags.ts";
import { explained } from "./help.ts";

/** One key of the settings, as the reference lists it. */
export interface SettingInfo {
  readonly key: string;
  readonly type: string;
  readonly default: string;
  /** The environment variable that overrides it; empty where none does. */
  readonly env: string;
  readonly description: string;
}

export interface ReferenceInput {
  readonly nouns: Nouns;
  readonly operations: readonly AnyOperation[];
  readonly settings: readonly SettingInfo[];
}

export function referenceText({ nouns, operations, settings }: ReferenceInput): string {
  const parts = [
    "# Reference",
    "This page is generated from the definitions that the program itself runs on: `npm run reference` writes it.",
    "## Options of every command",
    "They are understood anywhere before `--`.",
    table(
      ["option", "meaning"],
      GLOBAL_FLAGS.map((flag) => [code(spelt(flag)), flag.description]),
    ),
    ...Object.entries(nouns).flatMap(([name, noun]) => [
      `## ${name}`,
      `${noun.summary}.`,
      ...(noun.bare === undefined ? [] : [`\`dotbot ${name}\`, alone, is \`dotbot ${noun.bare}\`.`]),
      ...operations.filter((op) => op.name.split(" ")[0] === name).flatMap(operationParts),
    ]),
    "## Errors and exit status",
    "A failure has a code, which programs may rely on, and the code decides the exit status. Status 0 is done; 1 is an answer that says no (a finding, nothing to pick); 128+n is the end by signal n.",
    table(
      ["code", "status", "meaning"],
      Object.entries(ERRORS).map(([name, [status, meaning]]) => [code(name), String(status), meaning]),
    ),
    ...(settings.length === 0
      ? []
      : [
          "## Settings",
          table(
            ["key", "type", "default", "environment", "meaning"],
            settings.map((it) => [
              code(it.key),
              it.type,
              code(it.default),
              it.env === "" ? "" : code(it.env),
              it.description,
            ]),
          ),
        ]),
  ];
  return `${parts.join("\n\n")}\n`;
}

function operationParts(op: AnyOperation): readonly string[] {
  const onCli = onSurface(op, "cli");
  const onMcp = onSurface(op, "mcp");
  const flags = flagsOf(op).filter((flag) => !flag.hidden);
  return [
    `### ${op.name}`,
    [`${op.summary}.`, op.details].filter((text) => text !== undefined).join(" "),
    ...(onCli ? [fence([`dotbot ${usage(op)}`, ...(op.aliases ?? []).map((alias) => `dotbot ${alias}`)])] : []),
    ...(onCli ? [fence(op.examples.flatMap(({ run, does }) => [`# ${does}`, `dotbot ${run}`]))] : []),
    ...(onCli && flags.length > 0
      ? [
          table(
            ["option", "meaning"],
            flags.map((flag) => [code(spelt(flag)), explained(flag)]),
          ),
        ]
      : []),
    facts(op, onMcp),
    ...(onMcp ? [table(["argument", "type", "meaning"], fieldsOf(op.input).map(argumentRow))] : []),
  ];
}

function facts(op: AnyOperation, onMcp: boolean): string {
  const { target } = op;
  const rule =
    target.rule === "none"
      ? `touches no repository: ${target.why}`
      : target.rule === "guard"
        ? `guarded as \`${target.op}\``
        : target.rule === "queue"
          ? "works on the repository's queue"
          : "works on one checkout";
  const tool = onMcp
    ? `Tool \`${toolName(op)}\`${(op.toolset ?? "default") === "default" ? "" : " (toolset `all`)"}`
    : "No tool: command line only";
  const nature = [
    op.effect,
    ...(op.idempotent === true ? ["idempotent"] : []),
    ...(op.openWorld === true ? ["reaches beyond this machine"] : []),
  ];
  const several =
    op.batch === undefined ? "" : ` Takes several ${code(positionalName({ field: op.batch }))} on the command line.`;
  return `${tool}; ${nature.join(", ")}; ${rule}.${several}`;
}

function argumentRow(field: Field): readonly string[] {
  const type = `${expectation(field)}${field.nullable ? ", or null" : ""}`;
  const notes = field.required
    ? " Required."
    : field.default === undefined
      ? ""
      : ` Default: ${code(JSON.stringify(field.default))}.`;
  return [code(field.name), type, `${field.description.replace(/\.$/, "")}.${notes}`];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function fence(lines: readonly string[]): string {
  return ["```sh", ...lines, "```"].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
