/** Shapes of what more than one verb of the queue tells about tasks, and how a person reads them. */
import * as v from "valibot";

import { asNumber } from "../../json.ts";
import { paint, type Style } from "../../text.ts";
import type { TaskRow } from "../ledger.ts";
import { DEFAULT_PRIORITY, STATUSES } from "../model.ts";
import type { Dependency } from "../relations.ts";
import { paintStatus } from "./common.ts";

/** A task by its name tag. */
export const tagShape = v.object({ id: v.string(), name: v.string(), status: v.picklist(STATUSES) });
export type Tag = v.InferOutput<typeof tagShape>;

export function tagOf(row: TaskRow): Tag {
  return { id: row.id, name: row.name, status: row.status };
}

export const dependencyShape = v.object({
  word: v.pipe(v.string(), v.description("As the document spells it.")),
  id: v.nullable(v.string()),
  name: v.nullable(v.string()),
  status: v.nullable(v.picklist(STATUSES)),
  state: v.picklist(["satisfied", "waits", "blocked", "missing", "ambiguous"]),
});
export type DependencyTag = v.InferOutput<typeof dependencyShape>;

export function dependencyTag({ word, row, state }: Dependency): DependencyTag {
  return { word, id: row?.id ?? null, name: row?.name ?? null, status: row?.status ?? null, state };
}

/** A document's priority, for showing. */
export function priorityText(task: Readonly<Record<string, unknown>>): string {
  const { priority } = task;
  const value = typeof priority === "number" || JSON.isRawJSON(priority) ? asNumber(priority) : undefined;
  return String(value ?? DEFAULT_PRIORITY);
}

/** `1a2b3c4d  Add a login page (todo)`. */
export function tagLine(
  style: Style,
  tag: { id: string | null; name: string | null; status: string | null; word?: string; state?: string },
): string {
  if (tag.id === null) return `${tag.word ?? ""} ${paint(style, "red", `(${tag.state ?? "missing"})`)}`;
  return `${tag.id.slice(0, 8)}  ${tag.name ?? ""} (${paintStatus(style, tag.status ?? "")})`;
}

/** A block of text under a heading, indented; nothing when it is empty. */
export function section(style: Style, title: string, body: readonly string[]): string {
  return body.length === 0
    ? ""
    : `\n${paint(style, "bold", title)}\n` + body.map((line) => `${indent(line)}\n`).join("");
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");
}
