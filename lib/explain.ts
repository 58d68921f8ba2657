/**
 * What is wrong with an input, in words for the person or agent who gave it: the value, what is allowed, the flag or field as
 * it is spelt where the caller stands, and a call that works. valibot's own messages are for machines. Pure.
 */
import * as v from "valibot";

import { DotbotError } from "./error.ts";
import type { InputSchema } from "./op.ts";
import { expectation, fieldsOf, type Field, type Shape, shapeOf } from "./schema.ts";
import { nearest, quote } from "./text.ts";

/** Keys and list positions (from 0, as in JSON) from the input down to a value; empty for the input itself. */
export type Path = readonly (string | number)[];

/** A better value for one place of the input; without `value` the place should go. */
export interface Correction {
  readonly path: Path;
  readonly value?: unknown;
  /** The key is misspelt: this is its right name. */
  readonly rename?: string;
}

/** How the surface that the input came through speaks. */
export interface Wording {
  /** A place of the input as the caller knows it: `--priority`, `<task>`, `questions[0].options[1].key`. */
  readonly nameOf: (path: Path) => string;
  /** The caller's own call with these corrections, or another that works. */
  readonly correct: (corrections: readonly Correction[]) => string | undefined;
}

type Issue = v.BaseIssue<unknown>;

interface Finding {
  readonly where: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly correction: Correction;
}

/** The input as the schema reads it, defaults filled in; DotbotError INVALID_INPUT, naming everything wrong, otherwise. */
export function validate(schema: InputSchema, input: unknown, wording: Wording): Record<string, unknown> {
  const checked = v.safeParse(schema, input);
  if (checked.success) {
    refuseLists(schema, input, wording);
    return checked.output;
  }
  throw invalid(fieldsOf(schema), checked.issues, wording);
}

/** valibot takes a list for an object with keys 0, 1, …, and nobody who gives one means that. */
function refuseLists(schema: InputSchema, input: unknown, wording: Wording): void {
  for (const [name, value] of Object.entries(input ?? {})) {
    if (!Array.isArray(value) || shapeOf(schema.entries[name]).kind !== "object") continue;
    const example = wording.correct([{ path: [name], value: {} }]);
    throw new DotbotError(
      "INVALID_INPUT",
      `${wording.nameOf([name])} is a list, and takes an object`,
      example === undefined ? {} : { example },
    );
  }
}

/** The error for what a schema found. */
export function invalid(fields: readonly Field[], issues: readonly Issue[], wording: Wording): DotbotError {
  const findings = issues.map((issue) => explain(issue, fields, wording));
  const shown = findings.slice(0, 3).map((finding) => finding.message);
  if (findings.length > shown.length) shown.push(`and ${findings.length - shown.length} more`);
  const hint = findings.find((finding) => finding.hint !== undefined)?.hint;
  const example = wording.correct(findings.map((finding) => finding.correction));
  return new DotbotError("INVALID_INPUT", shown.join("; "), {
    ...(hint === undefined ? {} : { hint }),
    ...(example === undefined ? {} : { example }),
    details: { issues: findings.map(({ where, message }) => ({ field: where, message })) },
  });
}

/** Stands in an example for text that only the caller knows. */
export const PLACEHOLDER = "…";

/** A value that the shape accepts, for an example. */
export function sample(shape: Shape & { readonly default?: unknown }): unknown {
  if (shape.default !== undefined) return shape.default;
  switch (shape.kind) {
    case "enum":
      return shape.choices?.[0] ?? "";
    case "integer":
    case "number":
      return shape.min ?? Math.min(1, shape.max ?? 1);
    case "boolean":
      return true;
    case "list":
      return [sample(shape.item ?? { kind: "any" })];
    case "object":
      return Object.fromEntries(
        (shape.fields ?? []).filter((field) => field.required).map((field) => [field.name, sample(field)]),
      );
    case "string":
    case "any":
      return PLACEHOLDER;
  }
}

function explain(issue: Issue, fields: readonly Field[], wording: Wording): Finding {
  const path = (issue.path ?? []).flatMap(({ key }) =>
    typeof key === "string" || typeof key === "number" ? [key] : [],
  );
  const { shape, siblings } = locate(path, fields);
  const name = wording.nameOf(path);
  const finding = (message: string, correction: Omit<Correction, "path">, hint?: string): Finding => ({
    where: pathText(path),
    message,
    hint,
    correction: { path, ...correction },
  });
  const { input } = issue;

  if (issue.type === "strict_object" && issue.expected === "never") {
    const known = siblings.map((field) => field.name);
    const key = String(path.at(-1));
    const near = nearest(key, known);
    const where = path.length > 1 ? ` in ${wording.nameOf(path.slice(0, -1))}` : "";
    return finding(
      `unknown field ${quote(key)}${where}`,
      near === undefined ? {} : { rename: near },
      near === undefined ? `its fields are ${known.join(", ")}` : `did you mean ${quote(near)}?`,
    );
  }
  if (input === undefined) {
    return finding(`${name} is missing`, { value: sample(shape) }, descriptionHint(name, shape));
  }
  if (shape.kind === "enum" && shape.choices !== undefined) {
    const near = typeof input === "string" && input !== "" ? nearest(input, shape.choices) : undefined;
    const choice = near ?? shape.choices[0];
    return finding(
      `${name} ${shown(input)} isn't ${expectation(shape)}`,
      { value: choice },
      near === undefined ? undefined : `did you mean ${quote(near)}?`,
    );
  }
  const value = { value: sample(shape) };
  switch (issue.type) {
    case "min_length":
    case "max_length":
    case "non_empty":
      return finding(lengthMessage(name, input, shape), value, descriptionHint(name, shape));
    case "min_value":
    case "max_value":
    case "integer":
    case "number":
    case "string":
    case "boolean":
    case "array":
    case "record":
    case "object":
    case "loose_object":
    case "strict_object":
      return finding(`${name} ${shown(input)} isn't ${expectation(shape)}`, value, descriptionHint(name, shape));
    default:
      // A format (regex, url, …): the schema's own words where it has some, else its name for what it wanted.
      return finding(
        issue.message.startsWith("Invalid ")
          ? `${name} ${shown(input)} isn't a valid ${issue.type.replaceAll("_", " ")}`
          : `${name} ${shown(input)}: ${issue.message}`,
        value,
        descriptionHint(name, shape),
      );
  }
}

/** The shape at a path, and the fields beside it. Where the schema stops naming fields, anything goes. */
function locate(path: Path, fields: readonly Field[]) {
  let shape: Shape & { readonly description?: string } = { kind: "object", fields };
  let siblings = fields;
  for (const key of path) {
    if (typeof key === "number") {
      shape = shape.item ?? { kind: "any" };
    } else {
      siblings = shape.fields ?? [];
      shape = siblings.find((field) => field.name === key) ?? { kind: "any" };
    }
  }
  return { shape, siblings };
}

/** `questions[0].options[1].key`, with the first key spelt as `first` where that is given. */
export function pathText([key, ...rest]: Path, first = String(key)): string {
  if (key === undefined) return "the input";
  return first + rest.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
}

function lengthMessage(name: string, input: unknown, { min = 0, max }: Shape): string {
  const list = Array.isArray(input);
  const length = list || typeof input === "string" ? input.length : 0;
  if (length === 0) return `${name} is empty`;
  const unit = list ? "items" : "characters";
  return length < min
    ? `${name} has ${length} ${unit}; at least ${min} are needed`
    : `${name} has ${length} ${unit}; at most ${max ?? length} are allowed`;
}

function descriptionHint(name: string, shape: { readonly description?: string }): string | undefined {
  return shape.description ? `${name}: ${shape.description}` : undefined;
}

function shown(input: unknown): string {
  if (typeof input === "string") return quote(input);
  if (Array.isArray(input)) return "(a list)";
  if (typeof input === "object" && input !== null) return "(an object)";
  return String(input);
}
