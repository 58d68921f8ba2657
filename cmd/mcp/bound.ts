/**
 * Keeps an answer to a size that fits a model's context: what a list has beyond it is left out, with a word on how to ask for
 * less. Pure.
 */
import { compactJson, isJsonObject, type JsonObject, type JsonValue } from "../../lib/json.ts";

/** Characters of an answer's JSON. */
export const MAX_ANSWER = 100_000;

export interface Bounded {
  readonly result: object;
  readonly text: string;
  /** What was left out; null when nothing was. */
  readonly cut: string | null;
}

/** Of fields that narrow an answer, in the order in which they are worth trying. */
const NARROWING = ["limit", "task_id", "status", "tag", "category", "text", "files", "range", "since"];

/** `fields`: the names of the tool's input fields, for the advice. */
export function bounded(result: object, fields: readonly string[], max = MAX_ANSWER): Bounded {
  // Results are JSON by contract: every operation's output is printed as such.
  const whole = result as JsonObject;
  const text = compactJson(whole);
  if (text.length <= max) return { result, text, cut: null };
  const said: string[] = [];
  let cut: JsonObject = whole;
  for (const key of Object.keys(cut).toSorted((a, b) => sizeOf(whole[b]) - sizeOf(whole[a]))) {
    const over = sizeOf(cut) - max;
    const list = cut[key];
    if (over <= 0) break;
    if (!Array.isArray(list)) continue;
    const kept = fitting(list, sizeOf(list) - over);
    if (kept.length < list.length) said.push(`${key} shows ${kept.length} of ${list.length}`);
    cut = { ...cut, [key]: kept, truncated: true };
  }
  if (sizeOf(cut) > max) {
    const longest = Math.max(1_000, Math.floor(max / 20));
    cut = shortened(cut, longest) as JsonObject;
    said.push(`texts are cut at ${longest} characters`);
  }
  const narrower = NARROWING.filter((name) => fields.includes(name)).slice(0, 3);
  const advice = narrower.length === 0 ? "" : `; ask for less with ${narrower.join(", ")}`;
  return {
    result: cut,
    text: compactJson(cut),
    cut: `the answer was too long (${text.length} characters): ${said.join(", ")}${advice}`,
  };
}

function sizeOf(value: JsonValue | undefined): number {
  return value === undefined ? 0 : compactJson(value).length;
}

/** The first items that fit. */
function fitting(list: readonly JsonValue[], room: number): JsonValue[] {
  let size = 2;
  const end = list.findIndex((item) => (size += sizeOf(item) + 1) > room);
  return list.slice(0, end < 0 ? list.length : end);
}

function shortened(value: JsonValue, longest: number): JsonValue {
  if (typeof value === "string") return value.length <= longest ? value : `${value.slice(0, longest).toWellFormed()}…`;
  if (Array.isArray(value)) return value.map((item) => shortened(item, longest));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item === undefined ? item : shortened(item, longest)]),
  );
}
