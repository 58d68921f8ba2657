/** The scan's answer as a schema, and as words: shared by `guard scan` and by verification before done. */
import * as v from "valibot";

import { count, paint, printable, type Style } from "../text.ts";
import type { ExemptionNote, ScanResult, Violation } from "./scan.ts";

export const violationShape = v.object({
  file: v.pipe(v.string(), v.description("Path from the root of the checkout.")),
  line: v.number(),
  patterns: v.array(v.string()),
  found: v.pipe(
    v.array(v.string()),
    v.description("What was found, for each pattern: its first characters and its length."),
  ),
  scope: v.pipe(v.picklist(["project", "framework"]), v.description("framework: warned of, and not in the way.")),
  commit: v.optional(v.string()),
});

export const exemptionShape = v.object({
  file: v.string(),
  line: v.nullable(v.number()),
  patterns: v.array(v.string()),
  reason: v.nullable(v.string()),
});

export const scanEntries = {
  ok: v.pipe(v.boolean(), v.description("false: there are violations in the project's own files.")),
  files: v.number(),
  bytes: v.number(),
  violations: v.array(violationShape),
  counts: v.object({ project: v.number(), framework: v.number() }),
  skipped: v.array(
    v.object({ file: v.string(), reason: v.picklist(["binary", "too-large", "unreadable", "vanished"]) }),
  ),
  exemptions: v.object({ used: v.number(), added: v.array(exemptionShape), unreasoned: v.array(exemptionShape) }),
};

/** Lines shown of one kind before the rest is only counted. */
const SHOWN = 50;

export function scanText(result: ScanResult, style: Style): string {
  const { violations, counts, exemptions } = result;
  const of = (scope: Violation["scope"]): Violation[] => violations.filter((violation) => violation.scope === scope);
  return [
    ...violationLines(of("project"), style, "red"),
    ...(counts.framework === 0 ? [] : [`In files of the framework (a warning; report it to where they come from):`]),
    ...violationLines(of("framework"), style, "yellow"),
    ...noteLines("exemption without a reason, which exempts nothing", exemptions.unreasoned),
    ...noteLines("exemption that this change adds", exemptions.added),
    ...skipLines(result),
    summary(result, style),
    ...(counts.project === 0
      ? []
      : [
          "Take it out, and revoke what was ever shared. What is no secret: `dotbot:allow <pattern> -- why` in the line before.",
        ]),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

function summary({ counts, files, skipped, exemptions }: ScanResult, style: Style): string {
  const facts = [
    `${count(files, "file")} looked at`,
    ...(skipped.length === 0 ? [] : [`${skipped.length} not`]),
    ...(exemptions.used === 0 ? [] : [`${count(exemptions.used, "match", "matches")} exempt`]),
  ].join(", ");
  const total = counts.project + counts.framework;
  if (total === 0) return `${paint(style, "green", "nothing found")} (${facts})`;
  const split = counts.framework === 0 ? "" : `, ${counts.framework} of them in the framework's files`;
  return `${paint(style, counts.project > 0 ? "red" : "yellow", count(total, "violation"))}${split} (${facts})`;
}

function violationLines(violations: readonly Violation[], style: Style, color: "red" | "yellow"): string[] {
  const lines = violations.slice(0, SHOWN).map(({ file, line, patterns, found, commit }) => {
    const at = commit === undefined ? "" : `  in ${commit.slice(0, 10)}`;
    const what = patterns.map((pattern, index) => `${paint(style, color, pattern)} ${found[index] ?? ""}`).join(", ");
    return `${oneRow(file)}:${line}  ${printable(what)}${at}`;
  });
  return withRest(lines, violations.length);
}

function noteLines(what: string, notes: readonly ExemptionNote[]): string[] {
  const lines = notes.slice(0, SHOWN).map(({ file, line, patterns, reason }) => {
    const place = line === null ? oneRow(file) : `${oneRow(file)}:${line}`;
    const names = patterns.length === 0 ? "" : `  ${patterns.join(", ")}`;
    return `${place}${names}  ${what}${reason === null ? "" : `: ${printable(reason)}`}`;
  });
  return withRest(lines, notes.length);
}

function skipLines({ skipped }: ScanResult): string[] {
  const lines = skipped.slice(0, 10).map(({ file, reason }) => `${oneRow(file)}  not looked at: ${reason}`);
  return withRest(lines, skipped.length);
}

function withRest(lines: string[], total: number): string[] {
  return total > lines.length ? [...lines, `… and ${total - lines.length} more (--json lists all)`] : lines;
}

/** A path in one row, whatever is in its name. */
function oneRow(file: string): string {
  return printable(file.replaceAll("\n", "\\n").replaceAll("\t", "\\t"));
}
