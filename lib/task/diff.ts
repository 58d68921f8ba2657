/** Pure: what differs between two versions of a task's document, field by field. */
import { compactJson, equalJson, type JsonObject, type JsonValue } from "../json.ts";
import { paint, type Style } from "../text.ts";

export interface FieldChange {
  readonly field: string;
  /** Absent: it wasn't there. */
  readonly before?: JsonValue;
  /** Absent: it is gone. */
  readonly after?: JsonValue;
}

/** Every change of a task moves these, so they say nothing about one. */
const ALWAYS: readonly string[] = ["revision", "updated_at", "history"];

export function fieldChanges(before: JsonObject, after: JsonObject): FieldChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((field) => {
    const was = before[field];
    const is = after[field];
    if (ALWAYS.includes(field) || equalJson(was, is)) return [];
    return [{ field, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) }];
  });
}

/** Lines as a diff shows them: `- name: old`, `+ name: new`; of lists only the items that came or went. */
export function changeLines(changes: readonly FieldChange[], style: Style): string[] {
  return changes.flatMap(({ field, before, after }) => {
    const gone = items(before).filter((item) => !items(after).includes(item));
    const come = items(after).filter((item) => !items(before).includes(item));
    if (gone.length + come.length === 0) return [paint(style, "dim", `~ ${field}: in another order`)];
    return [
      ...gone.map((item) => paint(style, "red", `- ${field}: ${item}`)),
      ...come.map((item) => paint(style, "green", `+ ${field}: ${item}`)),
    ];
  });
}

function items(value: JsonValue | undefined): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.map(shown);
  return [shown(value)];
}

function shown(value: JsonValue): string {
  return typeof value === "string" ? value : compactJson(value);
}
