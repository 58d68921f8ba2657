/** A verification as a schema and as words. */
import * as v from "valibot";

import { scanEntries, scanText } from "../scan/shapes.ts";
import { paint, printable, type Style } from "../text.ts";
import type { Check, Verification } from "./verify.ts";

export const verificationShape = v.object({
  ok: v.pipe(v.boolean(), v.description("false: a required check failed, and the task isn't done.")),
  workRoot: v.string(),
  head: v.pipe(v.nullable(v.string()), v.description("The commit that was verified.")),
  base: v.pipe(v.nullable(v.string()), v.description("The commit it was measured against; null: on the base itself.")),
  checks: v.array(
    v.object({
      name: v.string(),
      status: v.picklist(["passed", "failed", "skipped"]),
      required: v.boolean(),
      message: v.string(),
      durationMs: v.optional(v.number()),
      cached: v.optional(v.boolean()),
      output: v.optional(v.string()),
      failures: v.optional(v.array(v.looseObject({}))),
    }),
  ),
  scan: v.nullable(v.object(scanEntries)),
  verifyChanged: v.pipe(
    v.array(v.string()),
    v.description("Files of the judge that the work changes: it was judged by the base's."),
  ),
  skipped: v.optional(v.string()),
});

/** What a person reads under a move: nothing where all passed and nothing needs to be known. */
export function verificationText(verification: Verification, style: Style): string {
  const { checks, scan, verifyChanged, skipped, ok } = verification;
  const lines = [
    ...(skipped === undefined ? [] : [paint(style, "yellow", `not verified: ${printable(skipped)}`)]),
    ...checks.filter((check) => isNews(check, ok)).flatMap((check) => checkLines(check, style)),
    ...verifyChanged.map((path) => `${printable(path)} is changed by this work: the base's was used`),
  ];
  const found =
    scan === null || scan.violations.length + scan.exemptions.added.length + scan.exemptions.unreasoned.length === 0
      ? ""
      : scanText(scan, style);
  return lines.map((line) => `${line}\n`).join("") + found;
}

function isNews({ status, name, message }: Check, ok: boolean): boolean {
  if (status === "failed") return true;
  return status === "passed"
    ? !ok || (name !== "scan" && name !== "git-clean")
    : message.startsWith("not run") || message.startsWith("isn't listed");
}

function checkLines({ name, status, required, message, output, cached, failures }: Check, style: Style): string[] {
  const word =
    status === "passed"
      ? paint(style, "green", "passed")
      : status === "failed"
        ? paint(style, required ? "red" : "yellow", required ? "failed" : "failed (optional)")
        : "skipped";
  return [
    `${word}  ${printable(name)}: ${printable(message)}${cached === true ? " (as before)" : ""}`,
    ...(failures ?? []).slice(0, 20).map((failure) => `    ${failureLine(failure)}`),
    ...(output === undefined ? [] : lastLines(output).map((line) => `    ${printable(line)}`)),
  ];
}

function failureLine(failure: Readonly<Record<string, unknown>>): string {
  const text = (name: string): string =>
    typeof failure[name] === "string" || typeof failure[name] === "number" ? String(failure[name]) : "";
  const place = [text("file"), text("line")].filter((part) => part !== "").join(":");
  return printable(
    [place, text("issue") || text("message")]
      .filter((part) => part !== "")
      .join("  ")
      .replaceAll("\n", " "),
  );
}

const SHOWN_LINES = 20;

function lastLines(output: string): string[] {
  const lines = output.trimEnd().split("\n");
  return lines.length > SHOWN_LINES ? ["…", ...lines.slice(-SHOWN_LINES)] : lines;
}
