/**
 * The ledger: the truth about every task, in an SQLite database in git's common dir, where no git command reaches it.
 * It stores and finds; what a file means, and what a move may do, is decided elsewhere.
 *
 * Reads are in LedgerReader, transactions and what can go wrong with the file in LedgerDatabase, tables and rows in
 * ledger-schema.ts. Here it is opened and written: a write is one transaction and is done when it has committed.
 */
import { join } from "node:path";

import { exists, removeFile, rename } from "../files.ts";
import { LedgerDatabase, type WriteOptions } from "./ledger-database.ts";
import { LedgerReader } from "./ledger-reader.ts";
import {
  COLUMNS,
  type ConflictRow,
  type Place,
  type StoredTask,
  toValues,
  type Undrawn,
  type Version,
} from "./ledger-schema.ts";
import type { HistoryEntry } from "./model.ts";
import type { OpenLedgers } from "./open-ledgers.ts";

export type { ConflictRow, FileRow, Place, TaskLine, TaskRow, Undrawn, Version, VersionKind } from "./ledger-schema.ts";

/** The content of a document as the ledger compares it: `canonicalHashText` first, so that an EOL conversion is no change. */
export function hashOf(canonicalText: string): string {
  return new Bun.CryptoHasher("sha256").update(canonicalText).digest("hex").slice(0, 32);
}

export function ledgerFolder(commonDir: string): string {
  return join(commonDir, "dotbot");
}

/** The database of a repository. */
function ledgerFile(commonDir: string): string {
  return join(ledgerFolder(commonDir), "queue.db");
}

export class Ledger extends LedgerReader {
  /**
   * Opens the ledger, making it when there is none. Without the right to write it is opened for reading; when it can't even
   * be made, an empty one in memory serves this process alone (`mode` says so). Reads wait `blockMs` for a commit in progress,
   * and nothing else goes on in this process meanwhile.
   * A `keeper` has it stay open for the process's next call when it is closed.
   */
  static open(commonDir: string, blockMs: number, keeper?: OpenLedgers): Ledger {
    return new Ledger(LedgerDatabase.open(ledgerFile(commonDir), blockMs, keeper));
  }

  /** The ledger of this common dir as it stands, for who can do without; null where there is none, or anything is in the way. */
  static glance(commonDir: string): Ledger | null {
    const db = LedgerDatabase.glance(ledgerFile(commonDir));
    return db === null ? null : new Ledger(db);
  }

  /** A private copy in memory, for a reader that found news but may not write them down. */
  toMemory(): Ledger {
    return new Ledger(this.db.toMemory());
  }

  close(): void {
    this.db.close();
  }

  /** From now on reads wait so long for a commit in progress. */
  block(ms: number): void {
    this.db.block(ms);
  }

  /**
   * One transaction, holding the ledger's write lock from its first moment, so that what `change` reads can't move under it.
   * Waits for the lock without blocking the process. `change` is synchronous: no git, hook or network can run inside.
   */
  async write<T>(options: WriteOptions, change: () => T): Promise<T> {
    return await this.db.write(options, change);
  }

  /** Throws READ_ONLY with the ledger's path. */
  refuseReadOnly(): never {
    this.db.refuseReadOnly();
  }

  // ── inside `write` only ────────────────────────────────────────────────────────────────────────────────────────────

  putTask(task: StoredTask): void {
    const values = toValues(task);
    const before = this.db.one(`SELECT ${COLUMNS} FROM task WHERE id = ?`, task.facts.id);
    if (before === undefined) {
      this.db.run(`INSERT INTO task (${COLUMNS}) VALUES (${values.map(() => "?").join(",")})`, ...values);
      return;
    }
    // An index is written anew for each of its columns that a statement names, whether its value is another or not.
    const changed = COLUMNS.split(", ").flatMap((column, i) =>
      before[i] === values[i] ? [] : [{ column, value: values[i] ?? null }],
    );
    if (changed.length === 0) return;
    this.db.run(
      `UPDATE task SET ${changed.map(({ column }) => `${column} = ?`).join(", ")} WHERE id = ?`,
      ...changed.map(({ value }) => value),
      task.facts.id,
    );
  }

  setPlace(id: string, place: Place): void {
    this.db.run("UPDATE task SET place = ? WHERE id = ?", place, id);
  }

  /** What the file that shows this task looks like now, after its content was compared. */
  setStamp(id: string, hash: string, size: number, mtimeMs: number | null): void {
    this.db.run("UPDATE task SET size = ?, mtime = ? WHERE id = ? AND hash = ?", size, mtimeMs, id, hash);
  }

  addVersion(id: string, version: Version, docRevision: number | null): void {
    this.db.run(
      "INSERT INTO version (id, rev, hash, status, kind, doc_rev, at, by, doc) VALUES (?,?,?,?,?,?,?,?,?)",
      id,
      version.rev,
      version.hash,
      version.status,
      version.kind,
      docRevision,
      version.at,
      version.by,
      version.doc,
    );
  }

  addEvent(id: string, rev: number, entry: HistoryEntry): void {
    this.db.run("INSERT INTO event (id, rev, entry) VALUES (?,?,?)", id, rev, JSON.stringify(entry));
  }

  putClaim(id: string, claim: string): void {
    this.db.run(
      "INSERT INTO claim (id, claim) VALUES (?,?) ON CONFLICT (id) DO UPDATE SET claim = excluded.claim",
      id,
      claim,
    );
  }

  dropClaim(id: string): void {
    this.db.run("DELETE FROM claim WHERE id = ?", id);
  }

  addConflict(conflict: ConflictRow, content: Uint8Array): void {
    this.db.run(
      "INSERT OR IGNORE INTO conflict (path, hash, id, kind, at, doc) VALUES (?,?,?,?,?,?)",
      conflict.path,
      conflict.hash,
      conflict.id,
      conflict.kind,
      conflict.at,
      content,
    );
  }

  dropConflict(path: string, hash: string): void {
    this.db.run("DELETE FROM conflict WHERE path = ? AND hash = ?", path, hash);
  }

  addUndrawn(id: string, rev: number, places: readonly string[]): void {
    this.db.run("INSERT INTO undrawn (id, rev, places) VALUES (?,?,?)", id, rev, JSON.stringify(places));
  }

  /** Numbers are used again: only the very change that was looked at is taken back. */
  dropUndrawn({ n, id, rev }: Undrawn): void {
    this.db.run("DELETE FROM undrawn WHERE n = ? AND id = ? AND rev = ?", n, id, rev);
  }

  putRecord(kind: string, key: string, value: unknown): void {
    this.db.run(
      "INSERT INTO record (kind, key, value) VALUES (?,?,?) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
      kind,
      key,
      JSON.stringify(value),
    );
  }

  dropRecord(kind: string, key: string): void {
    this.db.run("DELETE FROM record WHERE kind = ? AND key = ?", kind, key);
  }

  setMeta(key: string, value: string): void {
    this.db.run(
      "INSERT INTO meta (key, value) VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      key,
      value,
    );
  }
}

/** Moves a damaged ledger out of the way, journal first, and says where it went. */
export function setAside(commonDir: string, at: Date): string {
  const path = ledgerFile(commonDir);
  const aside = `${path}.damaged-${at.toISOString().replace(/[:.]/g, "-")}`;
  if (exists(`${path}-journal`)) rename(`${path}-journal`, `${aside}-journal`);
  if (exists(path)) rename(path, aside);
  removeFile(`${path}-journal`);
  return aside;
}
