/**
 * The only door to the file system (the ledger and git have doors of their own). Synchronous on purpose: a command reads a
 * handful of files, and start-up counts. Failures that a user can do something about become DotbotError here, with the path.
 */
import type { Dirent, Stats } from "node:fs";
import { basename, dirname, join, parse } from "node:path";

import { DotbotError } from "./error.ts";
import { quote } from "./text.ts";

/** Enough of a file's status to know it again: size in bytes, modification time in milliseconds (with a fraction). */
export interface Stamp {
  readonly size: number;
  readonly mtimeMs: number;
}

/** Node's error code of a thrown value, or "". */
export function errno(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

type FileSystem = typeof import("node:fs");
let loaded: FileSystem | undefined;

/** Loaded at the first touch: it costs a millisecond or more, and who only looks into the ledger has no use for it. */
function fs(): FileSystem {
  return (loaded ??= process.getBuiltinModule("node:fs"));
}

const CANT_WRITE = new Set(["EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT", "EIO", "EMFILE", "ENFILE"]);

/** Why a path can't be written to that no permission would help, with the remedy. */
const NO_PLACE: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOENT: ["its folder doesn't exist, or takes no new files", "make the folder, or name another place"],
  ENOTDIR: ["a part of its path is no folder", "name another place"],
  EISDIR: ["it is a folder", "name a file"],
  ENOTEMPTY: ["a folder that isn't empty is in the way", "name another place"],
  EEXIST: ["something is in the way", "name another place"],
  ELOOP: ["its path leads through too many links", "name another place"],
  ENAMETOOLONG: ["its name is too long", "give a shorter one"],
  EINVAL: ["that place takes no such file", "name another place"],
  EOPNOTSUPP: ["that place takes no such file", "name another place"],
  EXDEV: ["it would move to another file system", "name a place on the same one"],
  ETXTBSY: ["it is a program that runs", "end it first"],
};

/**
 * Rethrows a failed write with the path, the system's reason and a remedy: READ_ONLY where writing isn't allowed or possible now,
 * REFUSED where no file can be at that place; anything else as it is.
 */
export function writeFailure(error: unknown, path: string): never {
  const code = errno(error);
  const place = NO_PLACE[code];
  if (place !== undefined) {
    throw new DotbotError("REFUSED", `can't write ${quote(path, 300)}: ${place[0]}`, {
      hint: place[1],
      details: { path, errno: code },
    });
  }
  if (!CANT_WRITE.has(code)) throw error;
  const reason =
    code === "ENOSPC" || code === "EDQUOT"
      ? "no space is left on the device"
      : code === "EROFS"
        ? "the file system is read-only"
        : code === "EIO"
          ? "the device reports an input/output error"
          : code === "EMFILE" || code === "ENFILE"
            ? "too many files are open"
            : "permission is denied";
  throw new DotbotError("READ_ONLY", `can't write ${quote(path, 300)}: ${reason}`, {
    hint:
      code === "ENOSPC" || code === "EDQUOT"
        ? "free some space and run the command again; nothing was half-written"
        : `make ${quote(dirname(path), 300)} writable; an agent's sandbox needs it among its writable roots (Codex: sandbox_workspace_write.writable_roots, Claude Code: sandbox.filesystem.allowWrite)`,
    details: { path, errno: code },
  });
}

/** The file's bytes, or null when there is none (or a directory stands in its place). */
export function readBytes(path: string): Uint8Array | null {
  try {
    return fs().readFileSync(path);
  } catch (error) {
    const code = errno(error);
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return null;
    throw error;
  }
}

/** What stands at a place in a checkout whose name may not be UTF-8; a link is its target, as git has it. */
export type Content =
  | { readonly is: "file" | "link"; readonly bytes: Uint8Array }
  | { readonly is: "too-large"; readonly size: number }
  | { readonly is: "vanished" | "unreadable" | "special" };

/** Reads a file by its name's bytes, relative to a folder. Throws nothing that the file itself is the reason of. */
export function readContent(folder: string, name: Uint8Array, maxBytes: number): Content {
  const path = Buffer.concat([Buffer.from(`${folder}/`), name]);
  try {
    const stat = fs().lstatSync(path);
    if (stat.isSymbolicLink()) return { is: "link", bytes: fs().readlinkSync(path, { encoding: "buffer" }) };
    if (!stat.isFile()) return { is: "special" };
    if (stat.size > maxBytes) return { is: "too-large", size: stat.size };
    return { is: "file", bytes: fs().readFileSync(path) };
  } catch (error) {
    const code = errno(error);
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return { is: "vanished" };
    if (code === "EACCES" || code === "EPERM" || code === "EIO" || code === "EISDIR") return { is: "unreadable" };
    throw error;
  }
}

export function readText(path: string): string | null {
  const bytes = readBytes(path);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

/** Follows links. Null when there is nothing, or it isn't a regular file. */
export function stampOf(path: string): Stamp | null {
  const stat = statOrNull(path);
  return stat?.isFile() ? { size: stat.size, mtimeMs: stat.mtimeMs } : null;
}

/** A directory's modification time in milliseconds, or null when there is no directory. */
export function directoryTime(path: string): number | null {
  const stat = statOrNull(path);
  return stat?.isDirectory() ? stat.mtimeMs : null;
}

export function statOrNull(path: string): Stats | null {
  try {
    return fs().statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    const code = errno(error);
    if (code === "ENOTDIR" || code === "ELOOP" || code === "ENAMETOOLONG" || code === "EACCES") return null;
    throw error;
  }
}

export function lstatOrNull(path: string): Stats | null {
  try {
    return fs().lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (errno(error) === "ENOTDIR") return null;
    throw error;
  }
}

/** What a file is and how it is, from outside: equal as long as nobody has put another there or changed it. Empty: there is none. */
export function identityOf(path: string): string {
  const stat = statOrNull(path);
  return stat === null ? "" : [stat.dev, stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs].join(":");
}

export function exists(path: string): boolean {
  return statOrNull(path) !== null;
}

export function isDirectory(path: string): boolean {
  return statOrNull(path)?.isDirectory() ?? false;
}

/** Names in a directory, unsorted; null when there is none. */
export function listNames(path: string): string[] | null {
  try {
    return fs().readdirSync(path);
  } catch (error) {
    const code = errno(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}

/** What is in a directory, unsorted, with what the directory itself knows of each; empty when it can't be read. */
export function listEntries(path: string): { readonly name: string; readonly mayBeFolder: boolean }[] {
  try {
    return fs()
      .readdirSync(path, { withFileTypes: true })
      .map((entry) => ({
        name: entry.name,
        mayBeFolder: entry.isDirectory() || entry.isSymbolicLink(),
      }));
  } catch (error) {
    if (errno(error) === "") throw error;
    return [];
  }
}

/** The physical path, or null when it doesn't exist. */
export function realPath(path: string): string | null {
  try {
    return fs().realpathSync.native(path);
  } catch {
    return null;
  }
}

export function makeDirectory(path: string): void {
  try {
    fs().mkdirSync(path, { recursive: true });
  } catch (error) {
    if (errno(error) === "EEXIST" || errno(error) === "ENOTDIR") {
      throw new DotbotError("REFUSED", `no folder can be made at ${quote(path, 300)}: a file is in the way`, {
        hint: "move that file away; nothing was changed",
        details: { path },
      });
    }
    writeFailure(error, path);
  }
}

/** Makes names in a directory durable. Not every file system can; one that can't has no stronger promise to give. */
export function syncDirectory(path: string): void {
  let fd: number;
  try {
    fd = fs().openSync(path, "r");
  } catch {
    return;
  }
  try {
    fs().fsyncSync(fd);
  } catch {
    // EINVAL on network and FUSE file systems, EPERM on Windows.
  } finally {
    fs().closeSync(fd);
  }
}

/** Prefix of every temporary file of ours, so that leftovers of a kill can be told from anything else. */
export const TEMP_PREFIX = ".dotbot-tmp-";

export interface WriteOptions {
  /** Modification time to give the file, in whole milliseconds. */
  mtimeMs?: number;
  mode?: number;
  /** false: neither file nor folder is synced; for hints that may be lost. */
  durable?: boolean;
  /** Unique among concurrent writers of the same folder. */
  tag?: string;
}

/** A new file with this content beside `path`, synced, not yet at its place. Returns its path. */
export function writeTemp(path: string, content: string | Uint8Array, options: WriteOptions = {}): string {
  const temp = join(dirname(path), `${TEMP_PREFIX}${options.tag ?? String(process.pid)}-${basename(path)}`);
  try {
    const fd = fs().openSync(temp, "w", options.mode ?? 0o666);
    try {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      for (let done = 0; done < bytes.length;) done += fs().writeSync(fd, bytes, done);
      if (options.mtimeMs !== undefined) fs().futimesSync(fd, options.mtimeMs / 1000, options.mtimeMs / 1000);
      if (options.durable !== false) fs().fsyncSync(fd);
    } finally {
      fs().closeSync(fd);
    }
  } catch (error) {
    removeFile(temp);
    writeFailure(error, path);
  }
  return temp;
}

/** Replaces or creates `path` so that a reader sees the old content or the new, whole, whatever is killed when. */
export function writeAtomic(path: string, content: string | Uint8Array, options: WriteOptions = {}): void {
  const temp = writeTemp(path, content, options);
  try {
    fs().renameSync(temp, path);
  } catch (error) {
    removeFile(temp);
    writeFailure(error, path);
  }
  if (options.durable !== false) syncDirectory(dirname(path));
}

/** Overwrites a file that only informs: not atomic, not synced, and no failure when it can't be written. */
export function writeHint(path: string, content: string): void {
  try {
    fs().writeFileSync(path, content);
  } catch (error) {
    if (errno(error) === "") throw error;
  }
}

export function rename(from: string, to: string): void {
  try {
    fs().renameSync(from, to);
  } catch (error) {
    writeFailure(error, to);
  }
}

/** Moves a file; false when there is none. */
export function renameIfThere(from: string, to: string): boolean {
  try {
    fs().renameSync(from, to);
    return true;
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return false;
    writeFailure(error, from);
  }
}

/** A second name for the same file. False where the file is gone or the file system has no hard links. */
export function hardLink(from: string, to: string): boolean {
  try {
    fs().linkSync(from, to);
    return true;
  } catch (error) {
    if (errno(error) === "EEXIST") {
      removeFile(to);
      return hardLink(from, to);
    }
    return false;
  }
}

/** Removes a file; no error when it isn't there. */
export function removeFile(path: string): void {
  try {
    fs().unlinkSync(path);
  } catch (error) {
    const code = errno(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") writeFailure(error, path);
  }
}

export function removeEmptyDirectory(path: string): boolean {
  try {
    fs().rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The nearest existing ancestor (or the path itself): where a failed create can be explained. */
export function existingAncestor(path: string): string {
  let at = path;
  while (!exists(at) && at !== parse(at).root) at = dirname(at);
  return at;
}

/** Where a link of somebody else's process leads; null where there is none any more, undefined where it may not be read. */
export function readForeignLink(path: string): string | null | undefined {
  try {
    return fs().readlinkSync(path);
  } catch (error) {
    return ["EACCES", "EPERM"].includes(errno(error)) ? undefined : null;
  }
}

export function readLink(path: string): string | null {
  try {
    return fs().readlinkSync(path);
  } catch {
    return null;
  }
}

export function symlink(target: string, path: string): void {
  try {
    fs().symlinkSync(target, path, process.platform === "win32" ? "junction" : null);
  } catch (error) {
    writeFailure(error, path);
  }
}

/** Whether anything below `root` matches the glob; never leaves `root`, doesn't follow links to folders. */
export function globMatches(root: string, glob: string): boolean {
  for (const _ of new Bun.Glob(glob).scanSync({ cwd: root, dot: true, onlyFiles: false, followSymlinks: false }))
    return true;
  return false;
}

/** Moves a folder or file to a name that is free. False where the two are on different file systems. */
export function moveAside(from: string, to: string): boolean {
  try {
    fs().renameSync(from, to);
    return true;
  } catch (error) {
    if (errno(error) === "EXDEV") return false;
    writeFailure(error, to);
  }
}

/** Copies a file or a whole folder, modes and links as they are; what is there already stays. */
export function copyTree(from: string, to: string): void {
  try {
    fs().cpSync(from, to, {
      recursive: true,
      force: false,
      errorOnExist: false,
      verbatimSymlinks: true,
      preserveTimestamps: true,
    });
  } catch (error) {
    writeFailure(error, to);
  }
}

/** Removes a folder and all in it, following no link; no error when it isn't there. */
export function removeTree(path: string): void {
  try {
    fs().rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    writeFailure(error, path);
  }
}

/** Folders below `root`, and `root` itself, that hold an entry of this name; follows no link and stops at `limit`. */
export function foldersWith(root: string, name: string, limit = 20): string[] {
  const found: string[] = [];
  const waiting = [root];
  for (let at = waiting.pop(); at !== undefined && found.length < limit; at = waiting.pop()) {
    let entries: Dirent[];
    try {
      entries = fs().readdirSync(at, { withFileTypes: true });
    } catch (error) {
      if (["ENOENT", "ENOTDIR", "EACCES"].includes(errno(error))) continue;
      throw error;
    }
    for (const entry of entries) {
      if (entry.name === name) found.push(at);
      else if (entry.isDirectory()) waiting.push(join(at, entry.name));
    }
  }
  return found;
}

/** Waits for changes in folders without asking again and again. */
export interface FolderWatch extends Disposable {
  /**
   * True at the next change, or at once when one came since the last call; false after `timeoutMs`. Rejects with the
   * signal's reason.
   */
  next(signal: AbortSignal, timeoutMs: number): Promise<boolean>;
}

/**
 * Watches the entries of folders, as far as the system can tell of changes: folders that don't exist are left out, and on
 * file systems that tell nothing `next` ends with its time. `wanted` chooses entries by name.
 */
export function watchFolders(paths: readonly string[], wanted: (name: string) => boolean): FolderWatch {
  let dirty = false;
  let wake: (() => void) | undefined;
  const changed = (_event: string, name: string | null): void => {
    if (name !== null && !wanted(name)) return;
    dirty = true;
    wake?.();
  };
  const watchers = paths.flatMap((path) => {
    try {
      // Listened to, because an unheard error event (the folder was removed) would end the process.
      return [
        fs()
          .watch(path, { persistent: false }, changed)
          .on("error", () => {}),
      ];
    } catch {
      return [];
    }
  });
  return {
    async next(signal, timeoutMs) {
      signal.throwIfAborted();
      if (!dirty) {
        const { promise, resolve: wakeUp, reject } = Promise.withResolvers<void>();
        const stop = (): void => reject(signal.reason);
        const timer = setTimeout(wakeUp, timeoutMs);
        wake = wakeUp;
        signal.addEventListener("abort", stop, { once: true });
        try {
          await promise;
        } finally {
          clearTimeout(timer);
          signal.removeEventListener("abort", stop);
          wake = undefined;
        }
      }
      const seen = dirty;
      dirty = false;
      return seen;
    },
    [Symbol.dispose]: () => {
      for (const watcher of watchers) watcher.close();
    },
  };
}
