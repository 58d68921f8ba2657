/**
 * The view: task files under `.bot/workspace/tasks/<status>/`, drawn from the ledger. Drawing never destroys what the ledger
 * hasn't seen: a file that is replaced or removed keeps a second name until its content was looked at.
 */
import { join } from "node:path";

import {
  directoryTime,
  hardLink,
  isDirectory,
  listNames,
  makeDirectory,
  readBytes,
  readText,
  removeFile,
  rename,
  syncDirectory,
  TEMP_PREFIX,
  writeHint,
  writeTemp,
} from "../files.ts";
import { canonicalHashText, decodeUtf8 } from "../json.ts";
import type { TaskRow } from "./ledger.ts";
import { hashOf, ledgerFolder } from "./ledger.ts";
import { STATUSES, type Status } from "./model.ts";

export const ARCHIVE = "archive";
export type Folder = Status | typeof ARCHIVE;
export const FOLDERS: readonly Folder[] = [...STATUSES, ARCHIVE];

export function tasksFolder(stateRoot: string): string {
  return join(stateRoot, ".bot", "workspace", "tasks");
}

/** The folder in which a task's file belongs, or null when it is out of the queue. */
export function folderOf(row: Pick<TaskRow, "place" | "status">): Folder | null {
  return row.place === "removed" ? null : row.place === "archive" ? ARCHIVE : row.status;
}

/** Content of a file as the ledger knows it. */
export function contentHash(bytes: Uint8Array): string {
  return hashOf(canonicalHashText(decodeUtf8(bytes).text));
}

/** A file that was met while drawing and whose content the ledger has never seen. */
export interface Unknown {
  readonly folder: Folder;
  readonly file: string;
  readonly bytes: Uint8Array;
}

let serial = 0;

/** Unique among all writers of a folder: process, and count within it. */
function tag(pid: number): string {
  serial += 1;
  return `${pid}-${serial}`;
}

export class View {
  readonly root: string;
  private readonly pid: number;

  constructor(root: string, pid: number) {
    this.root = root;
    this.pid = pid;
  }

  path(folder: Folder, file: string): string {
    return join(this.root, folder, file);
  }

  /**
   * Puts this text at its place. Whatever stood there with content that `known` doesn't recognise is returned, not lost.
   * Throws READ_ONLY; then the old file is still there.
   */
  draw(folder: Folder, file: string, text: string, mtimeMs: number, known: (hash: string) => boolean): Unknown | null {
    const path = this.path(folder, file);
    makeDirectory(join(this.root, folder));
    const temp = writeTemp(path, text, { mtimeMs, tag: tag(this.pid) });
    const aside = join(this.root, folder, `${TEMP_PREFIX}${tag(this.pid)}-old-${file}`);
    const kept = hardLink(path, aside);
    const before = kept ? null : readBytes(path);
    try {
      rename(temp, path);
    } catch (error) {
      removeFile(temp);
      if (kept) removeFile(aside);
      throw error;
    }
    syncDirectory(join(this.root, folder));
    return this.inspect(folder, file, kept ? aside : null, before, known);
  }

  /** Takes a file away, if it is there. Content that `known` doesn't recognise is returned. */
  erase(folder: Folder, file: string, known: (hash: string) => boolean): Unknown | null {
    const path = this.path(folder, file);
    const aside = join(this.root, folder, `${TEMP_PREFIX}${tag(this.pid)}-old-${file}`);
    const kept = hardLink(path, aside);
    const before = kept ? null : readBytes(path);
    if (!kept && before === null) return null;
    removeFile(path);
    syncDirectory(join(this.root, folder));
    return this.inspect(folder, file, kept ? aside : null, before, known);
  }

  private inspect(
    folder: Folder,
    file: string,
    aside: string | null,
    before: Uint8Array | null,
    known: (hash: string) => boolean,
  ): Unknown | null {
    const bytes = aside === null ? before : readBytes(aside);
    const unknown = bytes !== null && !known(contentHash(bytes)) ? { folder, file, bytes } : null;
    // An unknown one keeps its second name until the caller has stored it; see `forget`.
    if (aside !== null && unknown === null) removeFile(aside);
    return unknown;
  }

  /** Temporary files of ours: leftovers of a kill, or a writer's that is at work just now. */
  leftovers(): { folder: Folder; name: string; pid: number }[] {
    const found: { folder: Folder; name: string; pid: number }[] = [];
    for (const folder of FOLDERS) {
      for (const name of listNames(join(this.root, folder)) ?? []) {
        if (name.startsWith(TEMP_PREFIX))
          found.push({ folder, name, pid: Number.parseInt(name.slice(TEMP_PREFIX.length), 10) });
      }
    }
    return found;
  }

  /** Folder times now, for those folders that exist. */
  times(): Map<Folder, number> {
    const times = new Map<Folder, number>();
    for (const folder of FOLDERS) {
      const time = directoryTime(join(this.root, folder));
      if (time !== null) times.set(folder, time);
    }
    return times;
  }

  get exists(): boolean {
    return isDirectory(this.root);
  }
}

/**
 * What the folders' times were when all was last found in step: a hint that spares listing them again. It may be lost at
 * any time. `checked`: false for a folder whose time was taken after our own write without listing it.
 */
export interface Seen {
  readonly [folder: string]: { readonly mtimeMs: number; readonly at: number; readonly checked: boolean } | undefined;
}

/** In the ledger's folder. */
export const SEEN_FILE = "seen.json";

function seenFile(commonDir: string): string {
  return join(ledgerFolder(commonDir), SEEN_FILE);
}

export function readSeen(commonDir: string, root: string): Seen {
  const text = readText(seenFile(commonDir));
  if (text === null) return {};
  try {
    const value = JSON.parse(text) as { root?: unknown; folders?: unknown };
    return value.root === root && typeof value.folders === "object" && value.folders !== null
      ? (value.folders as Seen)
      : {};
  } catch {
    return {};
  }
}

export function writeSeen(commonDir: string, root: string, seen: Seen): void {
  // Not atomic: one cut short doesn't parse, and each folder's entry is true by itself, whichever writer it is from.
  writeHint(seenFile(commonDir), JSON.stringify({ root, folders: seen }));
}
