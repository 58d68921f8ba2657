/**
 * The door to SQLite, and the only importer of bun:sqlite: how a database is opened, what its errors mean, and a lock made of one.
 * What is stored in a database is its owner's business; the ledger's is in lib/task/ledger-database.ts.
 */
import { Database, type SQLQueryBindings } from "bun:sqlite";
import { dirname } from "node:path";

import { makeDirectory, writeFailure } from "./files.ts";

export type { Database };
/** What a `?` of a statement may stand for. */
export type SqlValue = SQLQueryBindings;

const DAMAGE = ["SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT"];
const UNWRITABLE = ["SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"];

/** For reading and writing, made when there is none; its folder has to be there. */
export function openDatabase(path: string): Database {
  return new Database(path, { readwrite: true, create: true });
}

export function openDatabaseToRead(path: string): Database {
  return new Database(path, { readonly: true });
}

/** A database of this process alone: empty, or with the content of another. */
export function databaseInMemory(like?: Database): Database {
  return like === undefined ? new Database(":memory:") : Database.deserialize(like.serialize());
}

/** SQLite's name of what went wrong, with what it knows more precisely behind it: `SQLITE_IOERR_READ`. Empty for any other error. */
export function sqliteCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** What stands in the file is no database, or none that holds together. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return DAMAGE.some((prefix) => code.startsWith(prefix));
}

/** Another connection holds the lock that this one needs. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error).startsWith("SQLITE_BUSY");
}

/** The right to write is missing: to the file, or to make it. */
export function isUnwritable(error: unknown): boolean {
  const code = sqliteCode(error);
  return UNWRITABLE.some((prefix) => code.startsWith(prefix));
}

/** There is no space left on the device. */
export function isFull(error: unknown): boolean {
  return sqliteCode(error).startsWith("SQLITE_FULL");
}

/** Throws READ_ONLY with the path and the remedy. */
export function refuseUnwritable(path: string): never {
  writeFailure(Object.assign(new Error("read-only"), { code: "EACCES" }), path);
}

/** A lock that is held; `release` frees it, and so does the death of its process. */
export interface HeldLock {
  release(): void;
}

/**
 * Takes the lock of a file, or null when another process has it. It is an exclusive transaction on an empty database: the
 * kernel knows the holder, so nothing is left behind by a kill, and no pid has to be trusted. Throws READ_ONLY.
 */
export function tryLock(path: string): HeldLock | null {
  let db: Database;
  try {
    makeDirectory(dirname(path));
    db = openDatabase(path);
  } catch (error) {
    if (isUnwritable(error)) refuseUnwritable(path);
    throw error;
  }
  try {
    db.run("PRAGMA busy_timeout = 0");
    db.run("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close(false);
    if (isBusy(error)) return null;
    if (isUnwritable(error)) refuseUnwritable(path);
    if (isFull(error)) writeFailure(Object.assign(new Error("full"), { code: "ENOSPC" }), path);
    throw error;
  }
  return { release: () => db.close(false) };
}
