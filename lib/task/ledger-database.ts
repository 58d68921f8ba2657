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

/** How long to let others work before the next try; shared out, so that many don't try at once. */
export async function pause(attempt: number): Promise<void> {
  await Bun.sleep(Math.min(1 + attempt, 15) * (0.5 + Math.random()));
}

/** Whether two identities are of one file, changed or not: its device and number come first. */
function isSameFile(a: string, b: string): boolean {
  const numbers = (identity: string): string => identity.split(":", 2).join(":");
  return a !== "" && numbers(a) === numbers(b);
}

/** Of the journal's file, after a commit; bytes. A change of one task takes a tenth of it. */
const JOURNAL_KEPT = 1_048_576;

export class LedgerDatabase {
  private readonly db: Database;
  readonly path: string;
  readonly mode: LedgerMode;
  /** How the open file was, last; see OpenLedgers. */
  identity: string;
  /** How long SQLite may wait for a commit of another process, during which this one does nothing else. */
  private blockMs: number;
  private writes = false;
  private keeper: OpenLedgers | undefined;

  private constructor(db: Database, path: string, mode: LedgerMode, blockMs: number, identity = "") {
    this.db = db;
    this.path = path;
    this.mode = mode;
    this.blockMs = blockMs;
    this.identity = identity;
  }

  /**
   * Opens the ledger, making it when there is none. Without the right to write it is opened for reading; when it can't even
   * be made, an empty one in memory serves this process alone (`mode` says so). Reads wait `blockMs` for a commit in progress.
   * With a `keeper` the connection is one of its own where it can be, and goes back to it when it is closed.
   */
  static open(path: string, blockMs: number, keeper?: OpenLedgers): LedgerDatabase {
    const identity = identityOf(path);
    const present = identity !== "";
    const kept = present ? keeper?.take(path, identity) : undefined;
    if (kept instanceof LedgerDatabase && kept.isFit(blockMs)) return kept;
    let opened: LedgerDatabase | undefined;
    try {
      if (!present) makeDirectory(dirname(path));
      opened = new LedgerDatabase(openDatabase(path), path, "file", blockMs, identity);
      // The file may have been exchanged between the two looks: then it isn't known which of the two is open.
      if (keeper !== undefined && identityOf(path) === identity) opened.keeper = keeper;
      opened.prepare();
      // In a process that goes on, a file that is cut off while it is mapped would be the end of it.
      if (keeper === undefined) opened.db.run("PRAGMA mmap_size = 268435456");
      return opened;
    } catch (error) {
      opened?.shut();
      if (isBusy(error) && opened !== undefined) throw opened.locked(blockMs);
      const unwritable = (error instanceof DotbotError && error.code === "READ_ONLY") || isUnwritable(error);
      if (!unwritable) throw error;
      return present ? LedgerDatabase.openReadOnly(path, blockMs) : LedgerDatabase.memory(path);
    }
  }

  private static openReadOnly(path: string, blockMs: number): LedgerDatabase {
    const opened = new LedgerDatabase(LedgerDatabase.openToRead(path), path, "readonly", blockMs);
    try {
      opened.patient();
      if (opened.readableVersion() !== 0) return opened;
    } catch (error) {
      opened.shut();
      throw error;
    }
    opened.shut();
    return LedgerDatabase.memory(path);
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

  /** From now on reads wait so long for a commit in progress. */
  block(ms: number): void {
    if (ms === this.blockMs) return;
    this.blockMs = ms;
    this.patient();
  }

  private patient(): void {
    this.db.run(`PRAGMA busy_timeout = ${Math.max(0, Math.floor(this.blockMs))}`);
  }

  /** Whether this connection will do for another call; where anything is odd it is closed, and a new one says what. */
  private isFit(blockMs: number): boolean {
    try {
      this.block(blockMs);
      if (this.version === SCHEMA_VERSION) return true;
    } catch (error) {
      if (sqliteCode(error) === "" && !(error instanceof DotbotError)) throw error;
    }
    this.shut();
    return false;
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
    const now = this.keeper === undefined ? "" : identityOf(this.path);
    if (this.keeper === undefined || this.db.inTransaction || !isSameFile(now, this.identity)) {
      this.shut();
      return;
    }
    this.identity = now;
    this.keeper.give(this);
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
      // Where the file turned out to be damaged there is none any more.
      if (this.db.inTransaction) this.db.run("COMMIT");
    }
  }

  /** Rows as lists of values. */
  all(sql: string, ...values: SqlValue[]): unknown[][] {
    return this.reading(() => this.db.query(sql).values(...values));
  }

  private reading<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (isBusy(error)) throw this.locked(this.blockMs);
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
    return this.reading(() => this.db.query<T, SqlValue[]>(sql).all(...values));
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
    const lastly = async (step: () => boolean, otherwise: () => DotbotError): Promise<void> => {
      for (let attempt = 0; !step(); attempt++) {
        if (performance.now() >= deadline) throw otherwise();
        await pause(attempt);
        options.signal.throwIfAborted();
      }
    };
    options.signal.throwIfAborted();
    this.db.run("PRAGMA busy_timeout = 0");
    try {
      await lastly(
        () => this.begin(),
        () => this.locked(options.waitMs),
      );
      this.announce(options.purpose);
      const result = change();
      await lastly(
        () => this.commit(),
        () => this.heldUp(options.waitMs),
      );
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.db.run("ROLLBACK");
      this.translate(error);
    } finally {
      this.patient();
    }
  }

  /** One statement that changes something; inside `write` only. */
  run(sql: string, ...values: SqlValue[]): void {
    this.db.query(sql).run(...values);
  }

  private begin(): boolean {
    return this.unlessBusy(() => {
      this.prepareToWrite();
      this.db.run("BEGIN IMMEDIATE");
    });
  }

  private commit(): boolean {
    return this.unlessBusy(() => this.db.run("COMMIT"));
  }

  private unlessBusy(step: () => unknown): boolean {
    try {
      step();
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  }

  private translate(error: unknown): never {
    const code = sqliteCode(error);
    // What SQLite found wrong may be mended by the next call, and this connection wouldn't notice.
    if (code !== "") this.keeper = undefined;
    if (isBusy(error)) throw this.locked(this.blockMs);
    if (code.startsWith("SQLITE_READONLY_DBMOVED")) {
      throw new DotbotError(
        "LOCKED",
        `another file has taken the place of the ledger ${quote(this.path, 300)} meanwhile`,
        {
          hint: "nothing was changed; run it again",
          details: { path: this.path },
        },
      );
    }
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

  /** A commit has to wait until all who are reading have done so. */
  private heldUp(waitMs: number): DotbotError {
    return new DotbotError(
      "LOCKED",
      `another program keeps the queue open for reading, so nothing can be written; waited ${waitMs} ms`,
      {
        hint: "nothing was changed; end that program (a database browser, a backup), or try again with --lock-wait 60s",
        details: { path: this.path, holder: null },
      },
    );
  }

  private locked(waitMs: number): DotbotError {
    const [pid, ...words] = (readText(this.writerFile) ?? "").trim().split(" ");
    // Whoever left its name and is gone holds nothing: the lock is somebody's who didn't say.
    const gone = pid === undefined || pid === "" || Number(pid) === process.pid || markOf(Number(pid)) === null;
    const writer = gone ? null : Number(pid);
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
