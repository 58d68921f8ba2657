/**
 * What is about to be done to a repository, written down before the first change and synced, so that whoever comes after a
 * kill can finish it or take it back from this alone. One file per piece of work, in the common dir.
 */
import { join } from "node:path";

import { listNames, makeDirectory, readBytes, removeFile, syncDirectory, TEMP_PREFIX, writeAtomic } from "./files.ts";
import { decodeUtf8, isJsonObject, tryParseJson, type JsonObject } from "./json.ts";
import { ledgerFolder } from "./task/ledger.ts";

/** An entry as it was found; `value` is null when it can't be read, and then nobody may go on. */
export interface FoundEntry {
  readonly name: string;
  readonly path: string;
  readonly value: JsonObject | null;
}

export function journalFolder(commonDir: string): string {
  return join(ledgerFolder(commonDir), "journal");
}

/** Writes an entry, or a later state of it; on disk when it returns. */
export function writeEntry(commonDir: string, name: string, value: object): void {
  const folder = journalFolder(commonDir);
  makeDirectory(folder);
  syncDirectory(ledgerFolder(commonDir));
  writeAtomic(join(folder, `${name}.json`), `${JSON.stringify(value, null, 2)}\n`);
}

export function dropEntry(commonDir: string, name: string): void {
  removeFile(join(journalFolder(commonDir), `${name}.json`));
  syncDirectory(journalFolder(commonDir));
}

/** Every entry, in the order of names. A temporary file of a killed writer was never an entry. */
export function readEntries(commonDir: string): FoundEntry[] {
  const folder = journalFolder(commonDir);
  const found: FoundEntry[] = [];
  for (const file of (listNames(folder) ?? []).sort()) {
    const path = join(folder, file);
    if (file.startsWith(TEMP_PREFIX) || !file.endsWith(".json")) continue;
    const bytes = readBytes(path);
    if (bytes === null) continue;
    const { text, valid } = decodeUtf8(bytes);
    const parsed = valid ? tryParseJson(text) : null;
    const value = parsed?.ok === true && isJsonObject(parsed.value) ? parsed.value : null;
    found.push({ name: file.slice(0, -".json".length), path, value });
  }
  return found;
}
