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
  renameIfThere,
  type Stamp,
  stampOf,
  syncDirectory,
  TEMP_PREFIX,
  writeHint,
  writeTemp,
} from "../files.ts";
import { canonicalHashText, decodeUtf8 } from "../json.ts";
import { type Life, lifeOf, markOf, type ProcessMark } from "../process.ts";
import { type FileRow, hashOf, ledgerFolder, type TaskRow } from "./ledger.ts";
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

/** `todo/a.json`, as the ledger keeps it. */
export function placeParts(place: string): [Folder, string] {
  const [folder, ...rest] = place.split("/") as [Folder, ...string[]];
  return [folder, rest.join("/")];
}

/** Whether a file is, by its stamp alone, the one that the ledger knows. */
export function isSame(row: Pick<FileRow, "size" | "mtimeMs">, stamp: Stamp | null): boolean {
  return (
    stamp !== null && row.mtimeMs !== null && stamp.size === row.size && Math.abs(stamp.mtimeMs - row.mtimeMs) < 0.01
  );
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
  /** Where the content stays until the ledger has it; absolute. Null where the file system has no second names. */
  readonly temp: string | null;
}

/** A temporary file of ours: what a kill left behind, or what a writer is at work with just now. */
export interface Leftover {
  readonly folder: Folder;
  readonly name: string;
  /** Whether its writer still runs. */
  readonly writer: Life;
  /** The task file whose former content it holds; null for one that was going to become a task file. */
  readonly formerly: string | null;
}

/** `<pid>.<start>.<pid namespace>-<count>`, `.old` for former content, and the task file's name. */
const TEMP_NAME = /^(\d+)\.(\d*)\.(\d*)-\d+(\.old)?-(.*)$/;

/** A temporary file of a writer that can't be seen from here counts as left behind after so long: no write takes it. */
const STRANGER_MS = 60 * 60 * 1000;

let serial = 0;

export class View {
  readonly root: string;
  private readonly pid: number;
  private mark: ProcessMark | null | undefined;

  constructor(root: string, pid: number) {
    this.root = root;
    this.pid = pid;
  }

  private get self(): ProcessMark | null {
    if (this.mark === undefined) this.mark = markOf(this.pid);
    return this.mark;
  }

  /** Unique among all writers of a folder, and such that others can tell whether this one lives. */
  private tag(): string {
    serial += 1;
    return `${this.pid}.${this.self?.start ?? ""}.${namespaceNumber(this.self)}-${serial}`;
  }

  path(folder: Folder, file: string): string {
    return join(this.root, folder, file);
  }

  /**
   * Puts this text at its place; `sync` makes it last. Whatever stood there with content that `known` doesn't recognise is returned, not lost.
   * Throws READ_ONLY; then the old file is still there.
   */
  draw(folder: Folder, file: string, text: string, mtimeMs: number, known: (hash: string) => boolean): Unknown | null {
    const path = this.path(folder, file);
    makeDirectory(join(this.root, folder));
    const temp = writeTemp(path, text, { mtimeMs, tag: this.tag() });
    const aside = join(this.root, folder, `${TEMP_PREFIX}${this.tag()}.old-${file}`);
    const kept = hardLink(path, aside);
    const before = kept ? null : readBytes(path);
    try {
      rename(temp, path);
    } catch (error) {
      removeFile(temp);
      if (kept) removeFile(aside);
      throw error;
    }
    return this.inspect(folder, file, kept ? aside : null, before, known);
  }

  /** Makes the names in these folders durable: once after all files of a change, however many they are. */
  sync(folders: Iterable<Folder>): void {
    for (const folder of folders) syncDirectory(join(this.root, folder));
  }

  /** Takes a file away, if it is there. Content that `known` doesn't recognise is returned. */
  erase(folder: Folder, file: string, known: (hash: string) => boolean): Unknown | null {
    const path = this.path(folder, file);
    const aside = join(this.root, folder, `${TEMP_PREFIX}${this.tag()}.old-${file}`);
    // Moved, not linked and removed: whatever stands there at that instant is what is looked at.
    if (!renameIfThere(path, aside)) return null;
    return this.inspect(folder, file, aside, null, known);
  }

  private inspect(
    folder: Folder,
    file: string,
    aside: string | null,
    before: Uint8Array | null,
    known: (hash: string) => boolean,
  ): Unknown | null {
    const bytes = aside === null ? before : readBytes(aside);
    const unknown = bytes !== null && !known(contentHash(bytes)) ? { folder, file, bytes, temp: aside } : null;
    if (aside !== null && unknown === null) removeFile(aside);
    return unknown;
  }

  /** Temporary files of ours among these names of a folder. */
  leftoversAmong(folder: Folder, names: readonly string[]): Leftover[] {
    return names.flatMap((name) => this.leftoverOf(folder, name) ?? []);
  }

  private leftoverOf(folder: Folder, name: string): Leftover | null {
    const parts = name.startsWith(TEMP_PREFIX) ? TEMP_NAME.exec(name.slice(TEMP_PREFIX.length)) : null;
    if (parts === null) return null;
    const [, pid = "", start = "", namespace = "", old, file = ""] = parts;
    const here = this.self;
    const visible = here !== null && namespace === namespaceNumber(here);
    const writer = visible ? lifeOf({ ...here, pid: Number(pid), start }) : "unknown";
    return { folder, name, writer, formerly: old === undefined ? null : file };
  }

  leftovers(): Leftover[] {
    return FOLDERS.flatMap((folder) => this.leftoversAmong(folder, listNames(join(this.root, folder)) ?? []));
  }

  /**
   * Takes away what dead writers left. Content that `known` doesn't recognise is returned and still has its temporary name,
   * until the caller has stored it.
   */
  sweep(leftovers: readonly Leftover[], now: Date, known: (hash: string) => boolean): Unknown[] {
    const unknown: Unknown[] = [];
    for (const { folder, name, formerly } of leftovers.filter((one) => this.isAbandoned(one, now))) {
      const path = this.path(folder, name);
      const bytes = formerly === null ? null : readBytes(path);
      if (formerly !== null && bytes !== null && !known(contentHash(bytes))) {
        unknown.push({ folder, file: formerly, bytes, temp: path });
      } else removeFile(path);
    }
    return unknown;
  }

  private isAbandoned({ folder, name, writer }: Leftover, now: Date): boolean {
    if (writer !== "unknown") return writer === "dead";
    const stamp = stampOf(this.path(folder, name));
    return stamp !== null && now.getTime() - stamp.mtimeMs > STRANGER_MS;
  }

  /** Folder times now; 0 for a folder that isn't there, which is a state to be known again like any other. */
  times(): Map<Folder, number> {
    return new Map(FOLDERS.map((folder) => [folder, directoryTime(join(this.root, folder)) ?? 0]));
  }

  get exists(): boolean {
    return isDirectory(this.root);
  }
}

function namespaceNumber(mark: ProcessMark | null): string {
  return mark?.namespace.replace(/\D/g, "") ?? "";
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

/** As it is kept. */
export interface SeenFile {
  /** The last change of the ledger that was compared. */
  readonly change: number;
  readonly folders: Seen;
}

const UNSEEN: SeenFile = { change: 0, folders: {} };

export function readSeen(commonDir: string, root: string): SeenFile {
  const text = readText(seenFile(commonDir));
  if (text === null) return UNSEEN;
  try {
    const { root: of, change, folders } = JSON.parse(text) as { root?: unknown; change?: unknown; folders?: unknown };
    const fits = of === root && typeof change === "number" && typeof folders === "object" && folders !== null;
    return fits ? { change, folders: folders as Seen } : UNSEEN;
  } catch {
    return UNSEEN;
  }
}

export function writeSeen(commonDir: string, root: string, seen: SeenFile): void {
  // Not atomic: one cut short doesn't parse, and each folder's entry is true by itself, whichever writer it is from.
  writeHint(seenFile(commonDir), JSON.stringify({ root, ...seen }));
}
