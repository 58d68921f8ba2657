/**
 * What the ledger can be asked. Nothing here changes it; what a row or a document means is decided elsewhere.
 *
 * A `where` is a SQL condition of ours on the columns of `task`, never of a caller's: values go in through `?`.
 */
import { DotbotError } from "../error.ts";
import type { SqlValue } from "../sqlite.ts";
import { quote } from "../text.ts";
import type { LedgerDatabase, LedgerMode } from "./ledger-database.ts";
import {
  COLUMNS,
  type ConflictRow,
  type FileRow,
  type TaskLine,
  type TaskRow,
  toRow,
  type Undrawn,
  type Version,
  type VersionKind,
} from "./ledger-schema.ts";
import { type HistoryEntry, id8, type Status } from "./model.ts";

export class LedgerReader {
  protected readonly db: LedgerDatabase;

  protected constructor(db: LedgerDatabase) {
    this.db = db;
  }

  get path(): string {
    return this.db.path;
  }

  get mode(): LedgerMode {
    return this.db.mode;
  }

  /** One consistent picture for several reads. */
  snapshot<T>(read: () => T): T {
    return this.db.snapshot(read);
  }

  /** Tasks in pick order: priority, created_at, id. */
  tasks(where = "place = 'view'", ...values: SqlValue[]): TaskRow[] {
    const rows = this.db.all(`SELECT ${COLUMNS} FROM task WHERE ${where} ORDER BY priority, created_at, id`, ...values);
    return rows.map((row) => toRow(row));
  }

  /** The same, of those that depend on others: mostly few. */
  linked(where: string, values: readonly SqlValue[]): TaskRow[] {
    const rows = this.db.all(
      `SELECT ${COLUMNS} FROM task INDEXED BY task_linked WHERE instr(lists, '"dependencies"') > 0 AND ${where} ORDER BY priority, created_at, id`,
      ...values,
    );
    return rows.map((row) => toRow(row));
  }

  /** The same with what a line of a list shows and no more: read from one index, a tenth of the cost. */
  lines(where: string, values: readonly SqlValue[], limit: number): TaskLine[] {
    return this.db.objects<TaskLine>(
      `SELECT id, status, priority, effort, name FROM task INDEXED BY task_list WHERE ${where} ORDER BY priority, created_at, id LIMIT ?`,
      [...values, limit],
    );
  }

  /**
   * The same with what Tab shows: the first eight digits of the id, and name and status in one: `name (status)`. Made here and as
   * bare rows, since Tab is in a hurry.
   */
  names(where: string, values: readonly SqlValue[]): [id8: string, shown: string][] {
    return this.db.all(
      `SELECT substr(id, 1, 8), name || ' (' || status || ')' FROM task INDEXED BY task_list WHERE ${where} ORDER BY priority, created_at, id`,
      ...values,
    ) as [string, string][];
  }

  /** The same, and what it takes to compare the files of these tasks with the ledger. */
  fileLines(where: string, values: readonly SqlValue[], limit: number): (TaskLine & FileRow)[] {
    return this.db.objects<TaskLine & FileRow>(
      `SELECT id, status, priority, effort, name, place, file, hash, size, mtime AS mtimeMs FROM task WHERE ${where} ORDER BY priority, created_at, id LIMIT ?`,
      [...values, limit],
    );
  }

  /** How many tasks there are of which this is true. */
  count(where: string, values: readonly SqlValue[]): number {
    return this.db.one(`SELECT count(*) FROM task WHERE ${where}`, ...values)?.[0] as number;
  }

  /** Tasks of one status in sight, in pick order, read as far as they are asked for. Inside a snapshot or a write only. */
  *inPickOrder(status: Status): Generator<TaskRow> {
    const from = "FROM task INDEXED BY task_pool WHERE status = ? AND place = 'view'";
    const order = "ORDER BY priority, created_at, id LIMIT ?";
    let last: TaskRow | undefined;
    for (let size = 4; ; size = Math.min(size * 4, 1024)) {
      const rows: unknown[][] =
        last === undefined
          ? this.db.all(`SELECT ${COLUMNS} ${from} ${order}`, status, size)
          : this.db.all(
              `SELECT ${COLUMNS} ${from} AND (priority, created_at, id) > (?,?,?) ${order}`,
              status,
              last.priority,
              last.createdAt,
              last.id,
              size,
            );
      for (const row of rows) yield (last = toRow(row));
      if (rows.length < size) return;
    }
  }

  /** Every task not removed that any of these words could mean as a dependency, in whatever way. */
  meant(words: ReadonlySet<string>): TaskRow[] {
    const spelt = new Set([...words].flatMap((word) => [word, word.toLowerCase()]));
    const list = JSON.stringify([...spelt]);
    const files = JSON.stringify([...spelt].flatMap((word) => [word, `${word}.json`]));
    const rows = ["id", "slug", "name", "file"].flatMap((column) =>
      this.db
        .all(
          `SELECT ${COLUMNS} FROM task WHERE ${column} IN (SELECT value FROM json_each(?)) AND place <> 'removed'`,
          column === "file" ? files : list,
        )
        .map((row) => toRow(row)),
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
    const rows = this.db.all(
      `SELECT ${COLUMNS} FROM task WHERE ${column} IN (${places}) AND place <> 'removed' ORDER BY priority, created_at, id`,
      ...texts,
    );
    return rows.map((row) => toRow(row));
  }

  /** By its id, in whatever case the id is written here or in the task's file. */
  task(id: string): TaskRow | undefined {
    const row = this.taskById8(id8(id));
    return row?.id.toLowerCase() === id.toLowerCase() ? row : undefined;
  }

  /**
   * Tasks not removed of which this is the file's name, the slug, the name or, by its first eight digits, the id; with `beginning`
   * those as well whose id begins so.
   */
  answering(word: string, beginning: boolean): TaskRow[] {
    const short = id8(word);
    return this.tasks(
      "place <> 'removed' AND (id8 = ? OR file IN (?, ?) OR slug = ? OR name = ? OR (id8 >= ? AND id8 < ?))",
      short,
      word,
      `${word}.json`,
      word,
      word,
      ...(beginning ? [short, `${short}g`] : ["", ""]),
    );
  }

  taskById8(prefix: string): TaskRow | undefined {
    const row = this.db.one(`SELECT ${COLUMNS} FROM task WHERE id8 = ?`, prefix);
    return row === undefined ? undefined : toRow(row);
  }

  /** File names that the view shows in one folder, with their ids. */
  filesIn(status: Status | "archive"): Map<string, string> {
    const rows =
      status === "archive"
        ? this.db.all("SELECT file, id FROM task WHERE place = 'archive'")
        : this.db.all("SELECT file, id FROM task WHERE place = 'view' AND status = ?", status);
    return new Map(rows as [string, string][]);
  }

  /** What the files of one folder are known by. */
  fileRows(status: Status | "archive"): FileRow[] {
    const columns = "id, status, place, file, hash, size, mtime AS mtimeMs";
    return status === "archive"
      ? this.db.objects<FileRow>(`SELECT ${columns} FROM task WHERE place = 'archive'`, [])
      : this.db.objects<FileRow>(`SELECT ${columns} FROM task WHERE place = 'view' AND status = ?`, [status]);
  }

  /** How many tasks are in each status, of those in the view. */
  counts(): Map<Status, number> {
    return new Map(
      this.db.all("SELECT status, count(*) FROM task WHERE place = 'view' GROUP BY status") as [Status, number][],
    );
  }

  /** The text of a task's current document. */
  document(id: string): string {
    const row = this.db.one(
      "SELECT v.doc FROM task t JOIN version v ON v.id = t.id AND v.rev = t.rev AND v.hash = t.hash WHERE t.id = ? ORDER BY v.rowid DESC LIMIT 1",
      id,
    );
    if (row === undefined) throw new DotbotError("LEDGER_DAMAGED", `the ledger has no document for task ${quote(id)}`);
    return row[0] as string;
  }

  /** A task and its document's text, of one moment. */
  current(id: string): { row: TaskRow; text: string } | { row: undefined; text: "" } {
    return this.snapshot(() => {
      const row = this.task(id);
      return row === undefined ? { row, text: "" } : { row, text: this.document(id) };
    });
  }

  /** Documents of many tasks, by id, in one pass. */
  documents(ids: ReadonlySet<string>): Map<string, string> {
    const found = new Map<string, string>();
    if (ids.size <= 200) {
      for (const id of ids) found.set(id, this.document(id));
      return found;
    }
    const rows = this.db.all(
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
    const rows = this.db.all(
      `SELECT t.id, t.file, t.status, v.doc FROM task t JOIN version v ON v.id = t.id AND v.rev = t.rev AND v.hash = t.hash
       WHERE t.place = 'view' AND (instr(v.doc, '"status": "' || t.status || '"') = 0
         OR instr(substr(v.doc, instr(v.doc, '"status"') + 8), '"status"') > 0)`,
    ) as [string, string, Status, string][];
    return rows.map(([id, file, status, doc]) => ({ id, file, status, doc }));
  }

  /** Whether this content was ever seen for this task. */
  knows(id: string, hash: string): boolean {
    return this.db.one("SELECT 1 FROM version WHERE hash = ? AND id = ? LIMIT 1", hash, id) !== undefined;
  }

  /** Whether this content was ever seen for any task. */
  knowsContent(hash: string): boolean {
    return this.db.one("SELECT 1 FROM version WHERE hash = ? LIMIT 1", hash) !== undefined;
  }

  /** Whether this task ever had a document that called itself this revision. */
  knowsRevision(id: string, revision: number): boolean {
    return this.db.one("SELECT 1 FROM version WHERE id = ? AND doc_rev = ? LIMIT 1", id, revision) !== undefined;
  }

  /** Every version of a task, oldest first. */
  versions(id: string): Version[] {
    const rows = this.db.all(
      "SELECT rev, hash, status, kind, at, by, doc FROM version WHERE id = ? ORDER BY rowid",
      id,
    );
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
    return this.db
      .all("SELECT entry FROM event WHERE id = ? ORDER BY seq", id)
      .map((row) => JSON.parse(row[0] as string) as HistoryEntry);
  }

  claims(): Map<string, string> {
    return new Map(this.db.all("SELECT id, claim FROM claim") as [string, string][]);
  }

  claim(id: string): string | undefined {
    return this.db.one("SELECT claim FROM claim WHERE id = ?", id)?.[0] as string | undefined;
  }

  conflicts(): ConflictRow[] {
    const rows = this.db.all("SELECT path, hash, id, kind, at FROM conflict ORDER BY path, at");
    return (rows as [string, string, string | null, "conflict" | "broken", string][]).map(
      ([path, hash, id, kind, at]) => ({ path, hash, id, kind, at }),
    );
  }

  conflictContent(path: string, hash: string): Uint8Array | undefined {
    return this.db.one("SELECT doc FROM conflict WHERE path = ? AND hash = ?", path, hash)?.[0] as
      | Uint8Array
      | undefined;
  }

  undrawn(): Undrawn[] {
    const rows = this.db.all("SELECT n, id, rev, places FROM undrawn ORDER BY n") as [number, string, number, string][];
    return rows.map(([n, id, rev, places]) => ({ n, id, rev, places: JSON.parse(places) as string[] }));
  }

  /** Counts every version of every task, of this ledger; an older copy of it is behind. 0: there is none yet. */
  get lastChange(): number {
    return (this.db.one("SELECT max(rowid) FROM version")?.[0] as number | null | undefined) ?? 0;
  }

  /** Named JSON values that belong to other parts: worktrees, completions, keys of bulk calls. */
  record(kind: string, key: string): unknown {
    const row = this.db.one("SELECT value FROM record WHERE kind = ? AND key = ?", kind, key);
    return row === undefined ? undefined : JSON.parse(row[0] as string);
  }

  records(kind: string): Map<string, unknown> {
    const rows = this.db.all("SELECT key, value FROM record WHERE kind = ? ORDER BY key", kind) as [string, string][];
    return new Map(rows.map(([key, value]) => [key, JSON.parse(value)]));
  }

  meta(key: string): string | undefined {
    return this.db.one("SELECT value FROM meta WHERE key = ?", key)?.[0] as string | undefined;
  }

  /** Changes whenever another process has committed; for those who watch. */
  get dataVersion(): number {
    return this.db.dataVersion;
  }

  /** SQLite's own check of the file; empty when it is whole. */
  integrity(): string[] {
    return this.db.integrity();
  }
}
