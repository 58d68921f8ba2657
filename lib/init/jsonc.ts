/**
 * JSON as editors write it: with comments and trailing commas, which every edit keeps. Pure.
 *
 * Comments and trailing commas are blanked out, place by place, so that the JSON scanner can read the rest: what it finds stands
 * at the same offsets in the original.
 */
import { editJson, isJsonObject, tryParseJson, type JsonObject, type JsonValue, type ParseResult } from "../json.ts";
import { scan, type Member, type Node } from "../json/scan.ts";

/** The value of a JSONC text. */
export function parseJsonc(text: string): ParseResult {
  return tryParseJson(blankCommas(blankComments(text)));
}

/** Whether there is nothing but comments. */
export function isBlankJsonc(text: string): boolean {
  return blankComments(text).trim() === "";
}

/** The text with the value at a path set. The text parses as an object; what the path leads through is objects, or isn't there. */
export function setJsonc(text: string, path: readonly string[], value: JsonValue): string {
  const plain = blankCommas(blankComments(text));
  const parsed = tryParseJson(plain);
  if (!parsed.ok || !isJsonObject(parsed.value)) throw new TypeError("only a text that parses as an object is edited");
  const next = editJson(plain, withValue(parsed.value, path, value));
  // The edit is one stretch of the text: from the first character that differs to the last.
  let start = 0;
  while (start < plain.length && plain[start] === next[start]) start++;
  const most = Math.min(plain.length, next.length) - start;
  let tail = 0;
  while (tail < most && plain.at(-1 - tail) === next.at(-1 - tail)) tail++;
  if (start === plain.length && start === next.length) return text;
  const open = /\{\s*$/.exec(plain.slice(0, start))?.index;
  const close = /^\s*\}/.exec(plain.slice(plain.length - tail))?.[0].length;
  const inside = plain.slice(start, plain.length - tail);
  if (open === undefined || close === undefined || inside.trim() !== "") {
    const added = next.slice(start, next.length - tail);
    return (
      addedBehindLine(text, start, inside, added) ?? text.slice(0, start) + added + text.slice(plain.length - tail)
    );
  }
  // An object that was empty is filled right behind its brace, so that a comment in it stays.
  const filled = next.slice(open, next.length - tail + close);
  const rest = text.slice(open + 1);
  return (
    text.slice(0, open) +
    (/^\s*\}/.test(rest) ? filled + rest.replace(/^\s*\}/, "") : filled.replace(/\s*\}$/, "") + rest)
  );
}

/**
 * A member added on a line of its own, behind the line's trailing comma and comment, which belong to the member before it.
 * Undefined where there are none, or the edit is another one.
 */
function addedBehindLine(text: string, at: number, replaced: string, added: string): string | undefined {
  const line = /^[^\r\n]*/.exec(text.slice(at))?.[0] ?? "";
  const comma = /^[ \t]*,/.test(line);
  if (replaced !== "" || line.trim() === "" || !/^,\r?\n/.test(added)) return undefined;
  if (blankComments(line).replace(",", "").trim() !== "") return undefined;
  const ended = comma ? line : `,${line}`;
  return text.slice(0, at) + ended + added.slice(1) + (comma ? "," : "") + text.slice(at + line.length);
}

/** The text without the member at a path, its comma and the lines that only it took. The same text when it isn't there. */
export function unsetJsonc(text: string, path: readonly string[]): string {
  const bare = blankComments(text);
  const scanned = scan(blankCommas(bare));
  if (!scanned.ok) throw new TypeError("only a text that parses is edited");
  const found = find(scanned.root, path);
  if (found === undefined) return text;
  const { member, previous } = found;
  const following = /^\s*,/.exec(bare.slice(member.end))?.[0].length;
  const comma =
    following !== undefined
      ? member.end + following - 1
      : previous === undefined
        ? undefined
        : bare.indexOf(",", previous.end);
  const spans = [{ start: member.start, end: member.end }];
  if (comma !== undefined) spans.push({ start: comma, end: comma + 1 });
  return spans.toSorted((a, b) => b.start - a.start).reduce((rest, { start, end }) => cut(rest, start, end), text);
}

function blankComments(text: string): string {
  return text.replace(/"(?:[^"\\\r\n]|\\.)*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g, (found) =>
    found.startsWith('"') ? found : found.replace(/[^\r\n]/g, " "),
  );
}

function blankCommas(text: string): string {
  return text.replace(/"(?:[^"\\\r\n]|\\.)*"|(?<![{[,]\s*),(?=\s*[}\]])/g, (found) => (found === "," ? " " : found));
}

function withValue(object: JsonObject, path: readonly string[], value: JsonValue): JsonObject {
  const [key = "", ...rest] = path;
  if (rest.length === 0) return { ...object, [key]: value };
  const inner = object[key] ?? {};
  if (!isJsonObject(inner)) throw new TypeError(`${key} isn't an object`);
  return { ...object, [key]: withValue(inner, rest, value) };
}

function find(root: Node, path: readonly string[]): { member: Member; previous: Member | undefined } | undefined {
  let node = root;
  let found: { member: Member; previous: Member | undefined } | undefined;
  for (const key of path) {
    if (node.kind !== "object") return undefined;
    const at = node.elements.findLastIndex((member) => member.key === key);
    const member = node.elements[at];
    if (member === undefined) return undefined;
    found = { member, previous: node.elements[at - 1] };
    node = member.value;
  }
  return found;
}

/** Takes a span out, and with it the line that is empty then. */
function cut(text: string, start: number, end: number): string {
  const before = text.slice(0, start);
  const after = text.slice(end);
  const lead = /(^|\n)[ \t]*$/.exec(before);
  const trail = /^[ \t]*(\r?\n)/.exec(after);
  if (lead === null || trail === null) return before + after;
  return before.slice(0, lead.index + (lead[1] ?? "").length) + after.slice(trail[0].length);
}
