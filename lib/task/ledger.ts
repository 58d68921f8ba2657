/**
 * The ledger: the truth about every task, in an SQLite database in git's common dir, where no git command reaches it.
 * The only user of bun:sqlite. It stores and finds; what a file means, and what a move may do, is decided elsewhere.
 *
 * A write is one transaction and is done when it has committed. The journal is a rollback journal that is truncated and
 * synced (a deleted one could come back after a power cut and undo an acknowledged commit).
 */
import { Database, type SQLQueryBindings } from "bun:sqlite";
import { dirname, join } from "node:path";

import { DotbotError } from "../error.ts";
import { exists, makeDirectory, readText, removeFile, rename, writeFailure, writeHint } from "../files.ts";
import { markOf } from "../process.ts";
import { quote } from "../text.ts";
import type { Facts, HistoryEntry, Status } from "./model.ts";
import { id8 } from "./model.ts";

const SCHEMA_VERSION = 1;

const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE task (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE, id8 TEXT NOT NULL UNIQUE,
  file TEXT NOT NULL, place TEXT NOT NULL, status TEXT NOT NULL, rev INTEGER NOT NULL,
  name TEXT NOT NULL, slug TEXT, category TEXT, effort TEXT, priority REAL NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, completed_at TEXT,
  lists TEXT,
  hash TEXT NOT NULL, size INTEGER NOT NULL, mtime REAL
);
CREATE INDEX task_pool ON task (status, place, priority, created_at, id);
CREATE INDEX task_list ON task (place, priority, created_at, id, status, effort, name);
CREATE INDEX task_linked ON task (place) WHERE instr(lists, '"dependencies"') > 0;
CREATE INDEX task_name ON task (name);
CREATE INDEX task_slug ON task (slug);
CREATE INDEX task_file ON task (file);
CREATE TABLE version (
  id TEXT NOT NULL, rev INTEGER NOT NULL, hash TEXT NOT NULL, status TEXT NOT NULL, kind TEXT NOT NULL,
  doc_rev INTEGER, at TEXT NOT NULL, by TEXT NOT NULL, doc TEXT NOT NULL
);
CREATE INDEX version_rev ON version (id, rev);
CREATE INDEX version_hash ON version (hash, id);
CREATE TABLE event (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, rev INTEGER NOT NULL, entry TEXT NOT NULL);
CREATE INDEX event_id ON event (id, seq);
CREATE TABLE claim (id TEXT PRIMARY KEY, claim TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE conflict (
  path TEXT NOT NULL, hash TEXT NOT NULL, id TEXT, kind TEXT NOT NULL, at TEXT NOT NULL, doc BLOB NOT NULL,
  PRIMARY KEY (path, hash)
) WITHOUT ROWID;
CREATE TABLE undrawn (n INTEGER PRIMARY KEY, id TEXT NOT NULL, rev INTEGER NOT NULL, places TEXT NOT NULL);
CREATE TABLE record (kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
`;

/** Where a task's file belongs: in its status folder, in `archive/`, or nowhere any more. */
export type Place = "view" | "archive" | "removed";

/** A task as lists, picking and the view need it; the document itself is in `version`. */
export interface TaskRow extends Facts {
  readonly id8: string;
  readonly file: string;
  readonly place: Place;
  readonly status: Status;
  /** Counts every change of this task, from 1. */
  readonly rev: number;
  /** Of the document's text; see textHash. */
  readonly hash: string;
  /** What the file looks like on disk when it shows this revision; mtimeMs null: not known, compare the content. */
  readonly size: number;
  readonly mtimeMs: number | null;
}

/** A task as one line of a list. */
export type TaskLine = Pick<TaskRow, "id" | "status" | "priority" | "effort" | "name">;

/** Where a task's file belongs, and by what it is known again. */
export type FileRow = Pick<TaskRow, "id" | "status" | "place" | "file" | "hash" | "size" | "mtimeMs">;

/** How a version came to be. `older` and `conflict` were found in a file and never were the current one. */
export type VersionKind = "write" | "adopted" | "imported" | "older" | "resolved" | "restored";

export interface Version {
  readonly rev: number;
  readonly hash: string;
  readonly status: Status;
  readonly kind: VersionKind;
  readonly at: string;
  readonly by: string;
  readonly doc: string;
}

export interface ConflictRow {
  /** Relative to the tasks folder, with `/`. */
  readonly path: string;
  readonly hash: string;
  readonly id: string | null;
  readonly kind: "conflict" | "broken";
  readonly at: string;
}

/**
 * A change whose files may not have followed yet. It is noted in the change's own transaction and taken back by whoever next
 * writes and finds the files right: a commit of its own for that would double the cost of every write.
 */
export interface Undrawn {
  readonly n: number;
  readonly id: string;
  readonly rev: number;
  /** Where the task's file was before, relative to the tasks folder, with `/`. */
  readonly places: readonly string[];
}

/** What a task's row is made from when it is stored. */
export interface StoredTask {
  readonly facts: Facts;
  readonly file: string;
  readonly place: Place;
  readonly status: Status;
  readonly rev: number;
  readonly hash: string;
  readonly size: number;
  readonly mtimeMs: number | null;
}

type Row = [
  id: string,
  id8: string,
  file: string,
  place: string,
  status: string,
  rev: number,
  name: string,
  slug: string | null,
  category: string | null,
  effort: string | null,
  priority: number,
  createdAt: string,
  updatedAt: string,
  completedAt: string | null,
  lists: string | null,
  hash: string,
  size: number,
  mtime: number | null,
];

const COLUMNS =
  "id, id8, file, place, status, rev, name, slug, category, effort, priority, created_at, updated_at, completed_at, lists, hash, size, mtime";

const NO_LISTS = { dependencies: [], conditions: [], tags: [], children: [], skipReason: null } as const;

function toRow(row: Row): TaskRow {
  const lists = row[14] === null ? NO_LISTS : { ...NO_LISTS, ...(JSON.parse(row[14]) as Partial<Facts>) };
  return {
    id: row[0],
    id8: row[1],
    file: row[2],
    place: row[3] as Place,
    status: row[4] as Status,
    rev: row[5],
    name: row[6],
    slug: row[7],
    category: row[8],
    effort: row[9],
    priority: row[10],
    createdAt: row[11],
    updatedAt: row[12],
    completedAt: row[13],
    hash: row[15],
    size: row[16],
    mtimeMs: row[17],
    dependencies: lists.dependencies,
    conditions: lists.conditions,
    tags: lists.tags,
    children: lists.children,
    skipReason: lists.skipReason,
  };
}

/** The content of a document as the ledger compares it: `canonicalHashText` first, so that an EOL conversion is no change. */
export function hashOf(canonicalText: string): string {
  return new Bun.CryptoHasher("sha256").update(canonicalText).digest("hex").slice(0, 32);
}

export function ledgerFolder(commonDir: string): string {
  return join(commonDir, "dotbot");
}

function sqliteCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

const DAMAGE = ["SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT"];
const UNWRITABLE = ["SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"];

export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return DAMAGE.some((prefix) => code.startsWith(prefix));
}

export type LedgerMode = "file" | "readonly" | "memory";

export interface WriteOptions {
  readonly waitMs: number;
  /** For those who wait: what this process is doing. */
  readonly purpose: string;
  readonly signal: AbortSignal;
}

export class Ledger {
  private readonly db: Database;
  readonly path: string;
  readonly mode: LedgerMode;
  private readonly waitMs: number;
  private writes = false;

  private constructor(db: Database, path: string, mode: LedgerMode, waitMs: number) {
    this.db = db;
    this.path = path;
    this.mode = mode;
    this.waitMs = waitMs;
  }

  /**
   * Opens the ledger, making it when there is none. Without the right to write it is opened for reading; when it can't even
   * be made, an empty one in memory serves this process alone (`mode` says so). Reads wait `waitMs` for a commit in progress.
   */
  static open(commonDir: string, waitMs: number): Ledger {
    const path = join(ledgerFolder(commonDir), "queue.db");
    const present = exists(path);
    try {
      if (!present) makeDirectory(dirname(path));
      const ledger = new Ledger(new Database(path, { readwrite: true, create: true }), path, "file", waitMs);
      ledger.prepare();
      return ledger;
    } catch (error) {
      const unwritable =
        (error instanceof DotbotError && error.code === "READ_ONLY") ||
        UNWRITABLE.some((prefix) => sqliteCode(error).startsWith(prefix));
      if (!unwritable) throw error;
      if (!present) return Ledger.memory(path);
      const ledger = new Ledger(Ledger.openToRead(path), path, "readonly", waitMs);
      ledger.patient();
      return ledger.readableVersion() === 0 ? Ledger.memory(path) : ledger;
    }
  }

  private static openToRead(path: string): Database {
    try {
      return new Database(path, { readonly: true });
    } catch (error) {
      if (!["SQLITE_IOERR", ...UNWRITABLE].some((prefix) => sqliteCode(error).startsWith(prefix))) throw error;
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
      if (!UNWRITABLE.some((prefix) => sqliteCode(error).startsWith(prefix))) throw error;
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

  private static memory(path: string): Ledger {
    const ledger = new Ledger(new Database(":memory:"), path, "memory", 0);
    ledger.prepare();
    return ledger;
  }

  /** A private copy in memory, for a reader that found news but may not write them down. */
  toMemory(): Ledger {
    if (this.mode === "memory") return this;
    const copy = new Ledger(Database.deserialize(this.db.serialize()), this.path, "memory", 0);
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

  private prepare(): void {
    this.patient();
    const version = this.version;
    if (version === 0) {
      this.db.run("PRAGMA page_size = 8192");
      this.db.run("BEGIN IMMEDIATE");
      try {
        if (this.version === 0) {
          this.db.run(SCHEMA);
          this.db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`);
        }
        this.db.run("COMMIT");
      } catch (error) {
        this.db.run("ROLLBACK");
        throw error;
      }
    }
    if (version > SCHEMA_VERSION) {
      throw new DotbotError("LEDGER_DAMAGED", `the ledger ${quote(this.path, 300)} was written by a newer dotbot`, {
        hint: "update dotbot; the ledger was left as it is",
        details: { path: this.path, version, supported: SCHEMA_VERSION },
      });
    }
    this.db.run("PRAGMA mmap_size = 268435456");
  }

  /** What only writers need to have set. */
  private prepareToWrite(): void {
    if (this.writes) return;
    this.db.run("PRAGMA journal_mode = TRUNCATE");
    this.db.run("PRAGMA synchronous = FULL");
    this.writes = true;
  }

  close(): void {
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

  private all(sql: string, ...values: SQLQueryBindings[]): unknown[][] {
    try {
      return this.db.query(sql).values(...values);
    } catch (error) {
      if (sqliteCode(error).startsWith("SQLITE_BUSY")) throw this.locked(this.waitMs);
      throw error;
    }
  }

  private one(sql: string, ...values: SQLQueryBindings[]): unknown[] | undefined {
    return this.all(sql, ...values)[0];
  }

  /** Tasks in pick order: priority, created_at, id. `where` is a SQL condition of ours, never of a caller's. */
  tasks(where = "place = 'view'", ...values: SQLQueryBindings[]): TaskRow[] {
    const rows = this.all(`SELECT ${COLUMNS} FROM task WHERE ${where} ORDER BY priority, created_at, id`, ...values);
    return rows.map((row) => toRow(row as Row));
  }

  /** The same, of those that depend on others: mostly few. */
  linked(where: string, values: readonly SQLQueryBindings[]): TaskRow[] {
    const rows = this.all(
      `SELECT ${COLUMNS} FROM task INDEXED BY task_linked WHERE instr(lists, '"dependencies"') > 0 AND ${where} ORDER BY priority, created_at, id`,
      ...values,
    );
    return rows.map((row) => toRow(row as Row));
  }

  /** The same with what a line of a list shows and no more: read from one index, a tenth of the cost. */
  lines(where: string, values: readonly SQLQueryBindings[], limit: number): TaskLine[] {
    return this.objects<TaskLine>(
      `SELECT id, status, priority, effort, name FROM task INDEXED BY task_list WHERE ${where} ORDER BY priority, created_at, id LIMIT ?`,
      [...values, limit],
    );
  }

  /** The same, and what it takes to compare the files of these tasks with the ledger. */
  fileLines(where: string, values: readonly SQLQueryBindings[], limit: number): (TaskLine & FileRow)[] {
    return this.objects<TaskLine & FileRow>(
      `SELECT id, status, priority, effort, name, place, file, hash, size, mtime AS mtimeMs FROM task WHERE ${where} ORDER BY priority, created_at, id LIMIT ?`,
      [...values, limit],
    );
  }

  /** Rows as the database makes them, one member per column: for thousands of rows that are passed on as they are. */
  private objects<T>(sql: string, values: readonly SQLQueryBindings[]): T[] {
    return this.db.query<T, SQLQueryBindings[]>(sql).all(...values);
  }

  /** How many tasks there are of which this is true. */
  count(where: string, values: readonly SQLQueryBindings[]): number {
    return this.one(`SELECT count(*) FROM task WHERE ${where}`, ...values)?.[0] as number;
  }

  /** Tasks of one status in sight, in pick order, read as far as they are asked for. Inside a snapshot or a write only. */
  *inPickOrder(status: Status): Generator<TaskRow> {
    const from = "FROM task INDEXED BY task_pool WHERE status = ? AND place = 'view'";
    const order = "ORDER BY priority, created_at, id LIMIT ?";
    let last: TaskRow | undefined;
    for (let size = 16; ; size = Math.min(size * 4, 1024)) {
      const rows: unknown[][] =
        last === undefined
          ? this.all(`SELECT ${COLUMNS} ${from} ${order}`, status, size)
          : this.all(
              `SELECT ${COLUMNS} ${from} AND (priority, created_at, id) > (?,?,?) ${order}`,
              status,
              last.priority,
              last.createdAt,
              last.id,
              size,
            );
      for (const row of rows) yield (last = toRow(row as Row));
      if (rows.length < size) return;
    }
  }

  /** Every task not removed that any of these words could mean as a dependency, in whatever way. */
  meant(words: ReadonlySet<string>): TaskRow[] {
    const spelt = new Set([...words].flatMap((word) => [word, word.toLowerCase()]));
    const list = JSON.stringify([...spelt]);
    const files = JSON.stringify([...spelt].flatMap((word) => [word, `${word}.json`]));
    const rows = ["id", "slug", "name", "file"].flatMap((column) =>
      this.all(
        `SELECT ${COLUMNS} FROM task WHERE ${column} IN (SELECT value FROM json_each(?)) AND place <> 'removed'`,
        column === "file" ? files : list,
      ).map((row) => toRow(row as Row)),
    );
    return [...new Map(rows.map((row) => [row.id, row])).values()];
  }

  /** Tasks not removed that answer to this text in one of the ways in which a dependency names a task. */
  called(by: "id" | "file" | "slug" | "name", text: string): TaskRow[] {
    if (by === "id") {
      const row = this.task(text);
      return row === undefined || row.place === "removed" ? [] : [row];
    }
    const [column, ...texts] = by === "file" ? ["file", text, `${text}.json`] : [by, text];
    const places = texts.map(() => "?").join(",");
    const rows = this.all(
      `SELECT ${COLUMNS} FROM task WHERE ${column} IN (${places}) AND place <> 'removed' ORDER BY priority, created_at, id`,
      ...texts,
    );
    return rows.map((row) => toRow(row as Row));
  }

  /** By its id, in whatever case the id is written here or in the task's file. */
  task(id: string): TaskRow | undefined {
    const row = this.taskById8(id8(id));
    return row?.id.toLowerCase() === id.toLowerCase() ? row : undefined;
  }

  /** Tasks not removed whose id begins so, in whatever case. */
  beginning(prefix: string): TaskRow[] {
    const wanted = prefix.toLowerCase();
    const short = id8(wanted);
    return this.tasks("place <> 'removed' AND id8 >= ? AND id8 < ?", short, `${short}g`).filter((row) =>
      row.id.toLowerCase().startsWith(wanted),
    );
  }

  taskById8(prefix: string): TaskRow | undefined {
    const row = this.one(`SELECT ${COLUMNS} FROM task WHERE id8 = ?`, prefix);
    return row === undefined ? undefined : toRow(row as Row);
  }

  /** File names that the view shows in one folder, with their ids. */
  filesIn(status: Status | "archive"): Map<string, string> {
    const rows =
      status === "archive"
        ? this.all("SELECT file, id FROM task WHERE place = 'archive'")
        : this.all("SELECT file, id FROM task WHERE place = 'view' AND status = ?", status);
    return new Map(rows as [string, string][]);
  }

  /** What the files of one folder are known by. */
  fileRows(status: Status | "archive"): FileRow[] {
    const columns = "id, status, place, file, hash, size, mtime AS mtimeMs";
    return status === "archive"
      ? this.objects<FileRow>(`SELECT ${columns} FROM task WHERE place = 'archive'`, [])
      : this.objects<FileRow>(`SELECT ${columns} FROM task WHERE place = 'view' AND status = ?`, [status]);
  }

  /** How many tasks are in each status, of those in the view. */
  counts(): Map<Status, number> {
    return new Map(
      this.all("SELECT status, count(*) FROM task WHERE place = 'view' GROUP BY status") as [Status, number][],
    );
  }

  /** The text of a task's current document. */
  document(id: string): string {
    const row = this.one(
      "SELECT v.doc FROM task t JOIN version v ON v.id = t.id AND v.rev = t.rev AND v.hash = t.hash WHERE t.id = ? ORDER BY v.rowid DESC LIMIT 1",
      id,
    );
    if (row === undefined) throw new DotbotError("LEDGER_DAMAGED", `the ledger has no document for task ${quote(id)}`);
    return row[0] as string;
  }

  /** Documents of many tasks, by id, in one pass. */
  documents(ids: ReadonlySet<string>): Map<string, string> {
    const found = new Map<string, string>();
    if (ids.size <= 200) {
      for (const id of ids) found.set(id, this.document(id));
      return found;
    }
    const rows = this.all(
      "SELECT t.id, v.doc FROM task t JOIN version v ON v.id = t.id AND v.rev = t.rev AND v.hash = t.hash",
    );
    for (const [id, doc] of rows as [string, string][]) if (ids.has(id)) found.set(id, doc);
    return found;
  }

  /**
   * Tasks of the view whose document may say another status than the ledger: by its text, so that thousands of documents needn't
   * leave the database to be found right.
   */
  doubtfulStatuses(): { id: string; file: string; status: Status; doc: string }[] {
    const rows = this.all(
      `SELECT t.id, t.file, t.status, v.doc FROM task t JOIN version v ON v.id = t.id AND v.rev = t.rev AND v.hash = t.hash
       WHERE t.place = 'view' AND (instr(v.doc, '"status": "' || t.status || '"') = 0
         OR instr(substr(v.doc, instr(v.doc, '"status"') + 8), '"status"') > 0)`,
    ) as [string, string, Status, string][];
    return rows.map(([id, file, status, doc]) => ({ id, file, status, doc }));
  }

  /** Whether this content was ever seen for this task. */
  knows(id: string, hash: string): boolean {
    return this.one("SELECT 1 FROM version WHERE hash = ? AND id = ? LIMIT 1", hash, id) !== undefined;
  }

  /** Whether this content was ever seen for any task. */
  knowsContent(hash: string): boolean {
    return this.one("SELECT 1 FROM version WHERE hash = ? LIMIT 1", hash) !== undefined;
  }

  /** Whether this task ever had a document that called itself this revision. */
  knowsRevision(id: string, revision: number): boolean {
    return this.one("SELECT 1 FROM version WHERE id = ? AND doc_rev = ? LIMIT 1", id, revision) !== undefined;
  }

  /** Every version of a task, oldest first. */
  versions(id: string): Version[] {
    const rows = this.all("SELECT rev, hash, status, kind, at, by, doc FROM version WHERE id = ? ORDER BY rowid", id);
    return (rows as [number, string, Status, VersionKind, string, string, string][]).map(
      ([rev, hash, status, kind, at, by, doc]) => ({
        rev,
        hash,
        status,
        kind,
        at,
        by,
        doc,
      }),
    );
  }

  /** The whole history of a task, oldest first. */
  events(id: string): HistoryEntry[] {
    return this.all("SELECT entry FROM event WHERE id = ? ORDER BY seq", id).map(
      (row) => JSON.parse(row[0] as string) as HistoryEntry,
    );
  }

  claims(): Map<string, string> {
    return new Map(this.all("SELECT id, claim FROM claim") as [string, string][]);
  }

  claim(id: string): string | undefined {
    return this.one("SELECT claim FROM claim WHERE id = ?", id)?.[0] as string | undefined;
  }

  conflicts(): ConflictRow[] {
    const rows = this.all("SELECT path, hash, id, kind, at FROM conflict ORDER BY path, at");
    return (rows as [string, string, string | null, "conflict" | "broken", string][]).map(
      ([path, hash, id, kind, at]) => ({ path, hash, id, kind, at }),
    );
  }

  conflictContent(path: string, hash: string): Uint8Array | undefined {
    return this.one("SELECT doc FROM conflict WHERE path = ? AND hash = ?", path, hash)?.[0] as Uint8Array | undefined;
  }

  undrawn(): Undrawn[] {
    const rows = this.all("SELECT n, id, rev, places FROM undrawn ORDER BY n") as [number, string, number, string][];
    return rows.map(([n, id, rev, places]) => ({ n, id, rev, places: JSON.parse(places) as string[] }));
  }

  /** Named JSON values that belong to other parts: worktrees, completions, keys of bulk calls. */
  record(kind: string, key: string): unknown {
    const row = this.one("SELECT value FROM record WHERE kind = ? AND key = ?", kind, key);
    return row === undefined ? undefined : JSON.parse(row[0] as string);
  }

  records(kind: string): Map<string, unknown> {
    const rows = this.all("SELECT key, value FROM record WHERE kind = ? ORDER BY key", kind) as [string, string][];
    return new Map(rows.map(([key, value]) => [key, JSON.parse(value)]));
  }

  meta(key: string): string | undefined {
    return this.one("SELECT value FROM meta WHERE key = ?", key)?.[0] as string | undefined;
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

  // ── writing (inside `write` only) ──────────────────────────────────────────────────────────────────────────────────

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

  private begin(): boolean {
    this.db.run("PRAGMA busy_timeout = 0");
    try {
      this.prepareToWrite();
      this.db.run("BEGIN IMMEDIATE");
      return true;
    } catch (error) {
      if (sqliteCode(error).startsWith("SQLITE_BUSY")) return false;
      this.translate(error);
    } finally {
      this.patient();
    }
  }

  private translate(error: unknown): never {
    const code = sqliteCode(error);
    if (code.startsWith("SQLITE_FULL")) {
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

  refuseReadOnly(): never {
    writeFailure(Object.assign(new Error("read-only"), { code: "EACCES" }), this.path);
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

  putTask(task: StoredTask): void {
    const { facts } = task;
    const lists = {
      ...(facts.dependencies.length > 0 ? { dependencies: facts.dependencies } : {}),
      ...(facts.conditions.length > 0 ? { conditions: facts.conditions } : {}),
      ...(facts.tags.length > 0 ? { tags: facts.tags } : {}),
      ...(facts.children.length > 0 ? { children: facts.children } : {}),
      ...(facts.skipReason === null ? {} : { skipReason: facts.skipReason }),
    };
    this.db
      .query(
        `INSERT INTO task (${COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
         ON CONFLICT (id) DO UPDATE SET file=excluded.file, place=excluded.place, status=excluded.status, rev=excluded.rev,
           name=excluded.name, slug=excluded.slug, category=excluded.category, effort=excluded.effort, priority=excluded.priority,
           created_at=excluded.created_at, updated_at=excluded.updated_at, completed_at=excluded.completed_at,
           lists=excluded.lists, hash=excluded.hash, size=excluded.size, mtime=excluded.mtime`,
      )
      .run(
        facts.id,
        id8(facts.id),
        task.file,
        task.place,
        task.status,
        task.rev,
        facts.name,
        facts.slug,
        facts.category,
        facts.effort,
        facts.priority,
        facts.createdAt,
        facts.updatedAt,
        facts.completedAt,
        Object.keys(lists).length === 0 ? null : JSON.stringify(lists),
        task.hash,
        task.size,
        task.mtimeMs,
      );
  }

  setPlace(id: string, place: Place): void {
    this.db.query("UPDATE task SET place = ? WHERE id = ?").run(place, id);
  }

  /** What the file that shows this task looks like now, after its content was compared. */
  setStamp(id: string, hash: string, size: number, mtimeMs: number | null): void {
    this.db.query("UPDATE task SET size = ?, mtime = ? WHERE id = ? AND hash = ?").run(size, mtimeMs, id, hash);
  }

  addVersion(id: string, version: Version, docRevision: number | null): void {
    this.db
      .query("INSERT INTO version (id, rev, hash, status, kind, doc_rev, at, by, doc) VALUES (?,?,?,?,?,?,?,?,?)")
      .run(
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
    this.db.query("INSERT INTO event (id, rev, entry) VALUES (?,?,?)").run(id, rev, JSON.stringify(entry));
  }

  putClaim(id: string, claim: string): void {
    this.db
      .query("INSERT INTO claim (id, claim) VALUES (?,?) ON CONFLICT (id) DO UPDATE SET claim = excluded.claim")
      .run(id, claim);
  }

  dropClaim(id: string): void {
    this.db.query("DELETE FROM claim WHERE id = ?").run(id);
  }

  addConflict(conflict: ConflictRow, content: Uint8Array): void {
    this.db
      .query("INSERT OR IGNORE INTO conflict (path, hash, id, kind, at, doc) VALUES (?,?,?,?,?,?)")
      .run(conflict.path, conflict.hash, conflict.id, conflict.kind, conflict.at, content);
  }

  dropConflict(path: string, hash: string): void {
    this.db.query("DELETE FROM conflict WHERE path = ? AND hash = ?").run(path, hash);
  }

  addUndrawn(id: string, rev: number, places: readonly string[]): void {
    this.db.query("INSERT INTO undrawn (id, rev, places) VALUES (?,?,?)").run(id, rev, JSON.stringify(places));
  }

  /** Numbers are used again: only the very change that was looked at is taken back. */
  dropUndrawn({ n, id, rev }: Undrawn): void {
    this.db.query("DELETE FROM undrawn WHERE n = ? AND id = ? AND rev = ?").run(n, id, rev);
  }

  putRecord(kind: string, key: string, value: unknown): void {
    this.db
      .query(
        "INSERT INTO record (kind, key, value) VALUES (?,?,?) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
      )
      .run(kind, key, JSON.stringify(value));
  }

  dropRecord(kind: string, key: string): void {
    this.db.query("DELETE FROM record WHERE kind = ? AND key = ?").run(kind, key);
  }

  setMeta(key: string, value: string): void {
    this.db
      .query("INSERT INTO meta (key, value) VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
      .run(key, value);
  }
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
    db = new Database(path, { readwrite: true, create: true });
  } catch (error) {
    if (UNWRITABLE.some((prefix) => sqliteCode(error).startsWith(prefix))) {
      writeFailure(Object.assign(new Error("read-only"), { code: "EACCES" }), path);
    }
    throw error;
  }
  try {
    db.run("PRAGMA busy_timeout = 0");
    db.run("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close(false);
    const code = sqliteCode(error);
    if (code.startsWith("SQLITE_BUSY")) return null;
    if (UNWRITABLE.some((prefix) => code.startsWith(prefix))) {
      writeFailure(Object.assign(new Error("read-only"), { code: "EACCES" }), path);
    }
    throw error;
  }
  return { release: () => db.close(false) };
}

/** Moves a damaged ledger out of the way, journal first, and says where it went. */
export function setAside(commonDir: string, at: Date): string {
  const path = join(ledgerFolder(commonDir), "queue.db");
  const aside = `${path}.damaged-${at.toISOString().replace(/[:.]/g, "-")}`;
  if (exists(`${path}-journal`)) rename(`${path}-journal`, `${aside}-journal`);
  if (exists(path)) rename(path, aside);
  removeFile(`${path}-journal`);
  return aside;
}
