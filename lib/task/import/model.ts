/** What every foreign queue is turned into before it is stored. Pure. */
import type { JsonObject } from "../../json.ts";
import type { Status } from "../model.ts";

/** A file of a foreign queue. */
export interface SourceFile {
  /** Relative to the folder that is imported, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** A task as another tool had it. */
export interface ForeignTask {
  /** The other tool's id; becomes the slug, by which dependencies go on to be resolved. */
  readonly id: string;
  readonly file: string;
  readonly status: Status;
  /** Fields by our names. Dependencies are the other tool's ids. */
  readonly fields: JsonObject;
  /** What has no name of ours, or lost something on the way: kept as it was. */
  readonly rest: JsonObject;
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
  readonly completedAt?: string | undefined;
}

export interface Unreadable {
  readonly path: string;
  readonly message: string;
}

export interface Converted {
  readonly tasks: readonly ForeignTask[];
  readonly unreadable: readonly Unreadable[];
}

/** RFC 3339 to the second in UTC, or undefined for what is no time. */
export function instantOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const plain = /^\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}(?::\d{2})?)?$/.test(value);
  const at = Date.parse(plain ? `${value.replace(" ", "T")}${value.includes(" ") ? "" : "T00:00"}Z` : value);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Splits an object into the members that were used and the rest. */
export function without(object: JsonObject, used: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !used.includes(key)));
}
