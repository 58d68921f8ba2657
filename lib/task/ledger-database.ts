/**
 * The database file of the ledger: opened as far as rights go, read in snapshots, changed in transactions. It knows how an
 * answer is got from SQLite, not what is asked.
 *
 * A write is one transaction and is done when it has committed. The journal is a rollback journal whose head is overwritten and
 * synced (a deleted one could come back after a power cut and undo an acknowledged commit). The file stays, so that the next
 * commit needn't wait for the file system to make it anew.
 */
import { dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import { identityOf, makeDirectory, readText, writeHint } from "../files.ts";
import { markOf } from "../process.ts";
import {
  type Database,
  databaseInMemory,
  isBusy,
  isFull,
  isUnwritable,
  openDatabase,
  openDatabaseToRead,
  refuseUnwritable,
  sqliteCode,
  type SqlValue,
} from "../sqlite.ts";
import { quote } from "../text.ts";
import { SCHEMA, SCHEMA_VERSION } from "./ledger-schema.ts";
import type { OpenLedgers } from "./open-ledgers.ts";

/** `memory`: nothing that is written outlives the process. */
export type LedgerMode = "file" | "readonly" | "memory";

export interface WriteOptions {
  readonly waitMs: number;
  /** For those who wait: what this process is doing. */
  readonly purpose: string;
  readonly signal: AbortSignal;
}

/** Of the journal's file, after a commit; bytes. A change of one task takes a tenth of it. */
const JOURNAL_KEPT = 1_048_576;

export class LedgerDatabase {
  private readonly db: Database;
  readonly path: string;
  readonly mode: LedgerMode;
  /** Of the file that is open: another one may stand at the path by now. Empty: it is of no use to a later call. */
  readonly identity: string;
  private waitMs: number;
  private writes = false;
  private keeper: OpenLedgers | undefined;

  private constructor(db: Database, path: string, mode: LedgerMode, waitMs: number, identity = "") {
    this.db = db;
    this.path = path;
    this.mode = mode;
    this.waitMs = waitMs;
    this.identity = identity;
  }

  /**
   * Opens the ledger, making it when there is none. Without the right to write it is opened for reading; when it can't even
   * be made, an empty one in memory serves this process alone (`mode` says so). Reads wait `waitMs` for a commit in progress.
   * With a `keeper` the connection is one of its own where it can be, and goes back to it when it is closed.
   */
  static open(path: string, waitMs: number, keeper?: OpenLedgers): LedgerDatabase {
    const identity = identityOf(path);
    const present = identity !== "";
    const kept = present ? keeper?.take(path, identity) : undefined;
    if (kept instanceof LedgerDatabase) return kept.again(waitMs);
    try {
      if (!present) makeDirectory(dirname(path));
      const opened = new LedgerDatabase(openDatabase(path), path, "file", waitMs, identity);
      opened.prepare();
      // The file may have been exchanged between the two looks: then it isn't known which of the two is open.
      if (keeper !== undefined && identityOf(path) === identity) opened.keeper = keeper;
      return opened;
    } catch (error) {
      const unwritable = (error instanceof DotbotError && error.code === "READ_ONLY") || isUnwritable(error);
      if (!unwritable) throw error;
      if (!present) return LedgerDatabase.memory(path);
      const opened = new LedgerDatabase(LedgerDatabase.openToRead(path), path, "readonly", waitMs);
      opened.patient();
      return opened.readableVersion() === 0 ? LedgerDatabase.memory(path) : opened;
    }
  }

  /**
   * The ledger as it stands, for who can do without: null where there is none at that path, or anything is in the way. Makes, mends
   * and waits for nothing.
   */
  static glance(path: string): LedgerDatabase | null {
    let opened: LedgerDatabase | undefined;
    try {
      opened = new LedgerDatabase(openDatabaseToRead(path), path, "readonly", 0);
      if (opened.version === SCHEMA_VERSION) return opened;
    } catch (error) {
      if (sqliteCode(error) === "" && !(error instanceof DotbotError)) throw error;
    }
    opened?.close();
    return null;
  }

  private static openToRead(path: string): Database {
    try {
      return openDatabaseToRead(path);
    } catch (error) {
      if (!isUnwritable(error) && !sqliteCode(error).startsWith("SQLITE_IOERR")) throw error;
      throw new DotbotError("READ_ONLY", `the ledger ${quote(path, 300)} can neither be written nor read`, {
        hint: "it must be a file that you may read; look at what stands there, and whose it is",
        details: { path, sqlite: sqliteCode(error) },
      });
    }
  }

  /** The schema's version. READ_ONLY where a commit was cut short: undoing it takes the right to write. */
  private readableVersion(): number {
    try {
      return this.version;
    } catch (error) {
      if (!isUnwritable(error)) throw error;
      this.close();
      throw new DotbotError(
        "READ_ONLY",
        `the ledger ${quote(this.path, 300)} can't be read: a write was cut short, and undoing it takes the right to write`,
        {
          hint: "run any dotbot command once where the ledger can be written; nothing is lost",
          example: "dotbot task list",
          details: { path: this.path },
        },
      );
    }
  }

  private static memory(path: string): LedgerDatabase {
    const opened = new LedgerDatabase(databaseInMemory(), path, "memory", 0);
    opened.prepare();
    return opened;
  }

  /** A private copy in memory, for a reader that found news but may not write them down. */
  toMemory(): LedgerDatabase {
    if (this.mode === "memory") return this;
    const copy = new LedgerDatabase(databaseInMemory(this.db), this.path, "memory", 0);
    this.close();
    return copy;
  }

  private get version(): number {
    return (this.one("PRAGMA user_version")?.[0] as number | undefined) ?? 0;
  }

  /** Reads wait for a commit in progress as long as the caller would wait for a lock. */
  private patient(): void {
    this.db.run(`PRAGMA busy_timeout = ${Math.max(0, Math.floor(this.waitMs))}`);
  }

  /** The same connection for another call. */
  private again(waitMs: number): LedgerDatabase {
    if (waitMs !== this.waitMs) {
      this.waitMs = waitMs;
      this.patient();
    }
    try {
      this.refuseNewer(this.version);
    } catch (error) {
      this.shut();
      throw error;
    }
    return this;
  }

  private prepare(): void {
    this.patient();
    const version = this.version;
    if (version === 0) {
      this.db.run("PRAGMA page_size = 4096");
      this.db.run("BEGIN IMMEDIATE");
      try {
        if (this.version === 0) {
          this.db.run(SCHEMA);
          this.db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`);
        }
        this.db.run("COMMIT");
      } catch (error) {
        if (this.db.inTransaction) this.db.run("ROLLBACK");
        if (isFull(error)) this.translate(error);
        throw error;
      }
    }
    this.refuseNewer(version);
    this.db.run("PRAGMA mmap_size = 268435456");
  }

  private refuseNewer(version: number): void {
    if (version <= SCHEMA_VERSION) return;
    throw new DotbotError("LEDGER_DAMAGED", `the ledger ${quote(this.path, 300)} was written by a newer dotbot`, {
      hint: "update dotbot; the ledger was left as it is",
      details: { path: this.path, version, supported: SCHEMA_VERSION },
    });
  }

  /** What only writers need to have set. */
  private prepareToWrite(): void {
    if (this.writes) return;
    this.db.run("PRAGMA journal_mode = PERSIST");
    this.db.run(`PRAGMA journal_size_limit = ${JOURNAL_KEPT}`);
    this.db.run("PRAGMA synchronous = FULL");
    this.writes = true;
  }

  /** Done with it: closed, or kept for the process's next call. */
  close(): void {
    if (this.keeper === undefined || this.db.inTransaction) this.shut();
    else this.keeper.give(this);
  }

  shut(): void {
    this.keeper = undefined;
    this.db.close(false);
  }

  // ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One consistent picture for several reads. */
  snapshot<T>(read: () => T): T {
    if (this.db.inTransaction) return read();
    this.db.run("BEGIN");
    try {
      return read();
    } finally {
      this.db.run("COMMIT");
    }
  }

  /** Rows as lists of values. */
  all(sql: string, ...values: SqlValue[]): unknown[][] {
    try {
      return this.db.query(sql).values(...values);
    } catch (error) {
      if (isBusy(error)) throw this.locked(this.waitMs);
      // Even a read writes where a commit was cut short: it is undone first.
      if (/^SQLITE_(?:FULL|IOERR)/.test(sqliteCode(error))) this.translate(error);
      throw error;
    }
  }

  /** The first row. */
  one(sql: string, ...values: SqlValue[]): unknown[] | undefined {
    return this.all(sql, ...values)[0];
  }

  /** Rows as the database makes them, one member per column: for thousands of rows that are passed on as they are. */
  objects<T>(sql: string, values: readonly SqlValue[]): T[] {
    return this.db.query<T, SqlValue[]>(sql).all(...values);
  }

  /** Changes whenever another process has committed; for those who watch. */
  get dataVersion(): number {
    return (this.one("PRAGMA data_version")?.[0] as number | undefined) ?? 0;
  }

  /** SQLite's own check of the file; empty when it is whole. */
  integrity(): string[] {
    return this.all("PRAGMA quick_check(10)")
      .map((row) => String(row[0]))
      .filter((line) => line !== "ok");
  }

  // ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * One transaction, holding the ledger's write lock from its first moment, so that what `change` reads can't move under it.
   * Waits for the lock without blocking the process. `change` is synchronous: no git, hook or network can run inside.
   */
  async write<T>(options: WriteOptions, change: () => T): Promise<T> {
    if (this.mode === "readonly") this.refuseReadOnly();
    const deadline = performance.now() + options.waitMs;
    for (let attempt = 0; ; attempt++) {
      options.signal.throwIfAborted();
      if (this.begin()) break;
      if (performance.now() >= deadline) throw this.locked(options.waitMs);
      await Bun.sleep(Math.min(1 + attempt, 15) * (0.5 + Math.random()));
    }
    try {
      this.announce(options.purpose);
      const result = change();
      this.db.run("COMMIT");
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.db.run("ROLLBACK");
      this.translate(error);
    }
  }

  /** One statement that changes something; inside `write` only. */
  run(sql: string, ...values: SqlValue[]): void {
    this.db.query(sql).run(...values);
  }

  private begin(): boolean {
    this.db.run("PRAGMA busy_timeout = 0");
    try {
      this.prepareToWrite();
      this.db.run("BEGIN IMMEDIATE");
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      this.translate(error);
    } finally {
      this.patient();
    }
  }

  private translate(error: unknown): never {
    const code = sqliteCode(error);
    if (isFull(error)) {
      throw new DotbotError(
        "READ_ONLY",
        `can't write the ledger ${quote(this.path, 300)}: no space is left on the device`,
        {
          hint: "free some space and run the command again; nothing was changed",
          details: { path: this.path },
        },
      );
    }
    if (code.startsWith("SQLITE_READONLY") || code.startsWith("SQLITE_CANTOPEN") || code.startsWith("SQLITE_PERM"))
      this.refuseReadOnly();
    if (code.startsWith("SQLITE_IOERR")) {
      throw new DotbotError(
        "READ_ONLY",
        `can't write the ledger ${quote(this.path, 300)}: the system reports an input/output error`,
        {
          hint: "check the disk; nothing was changed",
          details: { path: this.path, sqlite: code },
        },
      );
    }
    throw error;
  }

  /** Throws READ_ONLY with the path and the remedy. */
  refuseReadOnly(): never {
    refuseUnwritable(this.path);
  }

  private get writerFile(): string {
    return join(dirname(this.path), "writer");
  }

  /** A hint for whoever waits and gives up; worth nothing once the lock is free. */
  private announce(purpose: string): void {
    if (this.mode !== "file") return;
    writeHint(this.writerFile, `${process.pid} ${purpose}\n`);
  }

  private locked(waitMs: number): DotbotError {
    const [pid, ...words] = (readText(this.writerFile) ?? "").trim().split(" ");
    // Whoever left its name and is gone holds nothing: the lock is somebody's who didn't say.
    const writer = pid === undefined || pid === "" || markOf(Number(pid)) === null ? null : Number(pid);
    const holder = writer === null ? null : { pid: writer, command: words.join(" ") };
    return new DotbotError(
      "LOCKED",
      holder === null
        ? `the queue is being written by another process; waited ${waitMs} ms`
        : `the queue is being written by process ${holder.pid} (${quote(holder.command)}); waited ${waitMs} ms`,
      { hint: "try again, or wait longer with --lock-wait 60s", details: { path: this.path, holder } },
    );
  }
}
