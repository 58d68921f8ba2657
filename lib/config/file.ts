/** Changes of one setting in a settings file, in which everything else stays as it is written. */
import { dirname } from "node:path";

import { DotbotError } from "../error.ts";
import { makeDirectory, readBytes, realPath, statOrNull, writeAtomic } from "../files.ts";
import {
  decodeUtf8,
  editJson,
  formatJson,
  isJsonObject,
  tryParseJson,
  type JsonObject,
  type JsonValue,
} from "../json.ts";
import { placeText, type Setting } from "../settings.ts";
import { quote } from "../text.ts";

/**
 * Sets a setting, or with undefined takes it out, creating the file (and its folder) where there is none. False when there
 * was nothing to change. Throws INVALID_SETTINGS when the file holds no JSON object, READ_ONLY when it can't be written.
 */
export function changeSettingsFile(path: string, setting: Setting, value: unknown): boolean {
  // Where the file is a link, its target is what is meant.
  const file = realPath(path) ?? path;
  const bytes = readBytes(file);
  const { text, valid } = bytes === null ? { text: "", valid: true } : decodeUtf8(bytes);
  if (!valid) throw invalid(`${quote(path, 200)} isn't UTF-8 text`);
  const before = text.trim() === "" ? {} : read(path, text);
  const after = changed(path, before, setting, asJson(value));
  const result = text.trim() === "" ? formatJson(after) : editJson(text, after, { file: path });
  if (result === text || (value === undefined && text.trim() === "")) return false;
  makeDirectory(dirname(file));
  const mode = statOrNull(file)?.mode;
  writeAtomic(file, result, mode === undefined ? {} : { mode: mode & 0o777 });
  return true;
}

function read(path: string, text: string): JsonObject {
  const parsed = tryParseJson(text);
  if (!parsed.ok) {
    const place = placeText({ layer: "shared", from: path, line: parsed.line, column: parsed.column });
    throw invalid(`${place}: isn't valid JSON: ${parsed.message}`, parsed.hint);
  }
  if (!isJsonObject(parsed.value)) throw invalid(`${quote(path, 200)} should hold a JSON object`);
  return parsed.value;
}

function changed(path: string, before: JsonObject, setting: Setting, value: JsonValue | undefined): JsonObject {
  const { section, name } = setting;
  const group = before[section] ?? {};
  if (!isJsonObject(group)) throw invalid(`${quote(path, 200)}: ${section} should be an object`);
  const next: JsonObject = { ...group, [name]: value };
  // What only held this setting goes with it.
  const empty = value === undefined && before[section] !== undefined && Object.keys(group).every((key) => key === name);
  return { ...before, [section]: empty || (value === undefined && before[section] === undefined) ? undefined : next };
}

function invalid(message: string, hint = "mend the file by hand first"): DotbotError {
  return new DotbotError("INVALID_SETTINGS", message, { hint });
}

/** Validated by the setting's schema, and so plain data. */
function asJson(value: unknown): JsonValue | undefined {
  const plain: JsonValue | undefined = value === undefined ? undefined : JSON.parse(JSON.stringify(value));
  return plain;
}
