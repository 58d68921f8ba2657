/** A change of the queue in the making. Everything here runs inside the ledger's transaction and is synchronous. */
import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { canonicalHashText, editJson, formatJson, type JsonObject, parseJson } from "../json.ts";
import { quote } from "../text.ts";
import { hashOf, type Ledger, type Place, type TaskRow, type VersionKind } from "./ledger.ts";
import { factsOf, fileName, type HistoryEntry, id8, isClosed, type Status } from "./model.ts";
import type { Queue } from "./queue.ts";
import { folderOf } from "./view.ts";

/** Adds to a document's next version what the ledger keeps beside it. */
export interface Save {
  readonly at: string;
  readonly by: string;
  readonly kind?: VersionKind;
  readonly status?: Status;
  readonly place?: Place;
  /** The history entry that this change appends, if it is one of status. */
  readonly entry?: HistoryEntry;
  /** The new revision must be above this one too: it continues a version from elsewhere. */
  readonly above?: number;
}

export class Tx {
  /** Ids whose files must be drawn, with the places where they were. */
  readonly touched = new Map<string, Set<string>>();

  private readonly queue: Queue;
  private readonly ctx: Ctx;

  constructor(queue: Queue, ctx: Ctx) {
    this.queue = queue;
    this.ctx = ctx;
  }

  /** The transaction may be tried again after a rollback: forget what the first try touched. */
  begin(): void {
    this.touched.clear();
  }

  get ledger(): Ledger {
    return this.queue.ledger;
  }

  /** The task as it is now. TASK_NOT_FOUND when it was removed meanwhile. */
  row(id: string): TaskRow {
    const row = this.ledger.task(id);
    if (row === undefined || row.place === "removed")
      throw new DotbotError("TASK_NOT_FOUND", `task ${quote(id)} isn't in the queue any more`);
    return row;
  }

  document(row: TaskRow): JsonObject {
    return this.queue.document(row);
  }

  /** Stores a new version. Returns the row as it is then; `doc` gains its revision. */
  save(row: TaskRow, doc: JsonObject, save: Save): TaskRow {
    const rev = Math.max(row.rev, save.above ?? 0) + 1;
    const status = save.status ?? row.status;
    // Work goes on in sight: an archived task that is opened again comes back.
    const place = save.place ?? (row.place === "archive" && !isClosed(status) ? "view" : row.place);
    const text = editJson(this.ledger.document(row.id), { ...doc, revision: rev });
    this.put(row.id, row.file, text, {
      rev,
      status,
      place,
      at: save.at,
      by: save.by,
      kind: save.kind ?? "write",
      previous: row,
    });
    if (save.entry !== undefined) this.ledger.addEvent(row.id, rev, save.entry);
    this.touch(row);
    return this.stored(row.id);
  }

  /** Stores a new task. `doc` must hold a fresh id. */
  create(doc: JsonObject, save: Save & { readonly status: Status; readonly entry: HistoryEntry }): TaskRow {
    const id = doc["id"] as string;
    const text = formatJson({ ...doc, revision: 1 });
    const facts = factsOf(id, doc);
    this.put(id, fileName(facts.name, id), text, {
      rev: 1,
      status: save.status,
      place: "view",
      at: save.at,
      by: save.by,
      kind: save.kind ?? "write",
      previous: undefined,
    });
    this.ledger.addEvent(id, 1, save.entry);
    this.touched.set(id, new Set());
    return this.stored(id);
  }

  /** A UUIDv4 whose first eight digits no task has, or ever had. */
  freshId(): string {
    for (;;) {
      const id = this.ctx.uuid();
      if (this.ledger.taskById8(id8(id)) === undefined) return id;
    }
  }

  /** Moves a task's file out of sight or back, without a new version. */
  setPlace(row: TaskRow, place: Place): TaskRow {
    this.ledger.setPlace(row.id, place);
    this.touch(row);
    return this.stored(row.id);
  }

  private stored(id: string): TaskRow {
    const row = this.ledger.task(id);
    if (row === undefined) throw new DotbotError("INTERNAL", `task ${quote(id)} was stored and isn't there`);
    return row;
  }

  /** The file at this place (from the tasks folder, with `/`) is this task's, and was settled: draw it anew, or take it away. */
  redraw(row: TaskRow, place: string): void {
    this.touch(row);
    this.touched.get(row.id)?.add(place);
  }

  private touch(row: TaskRow): void {
    const places = this.touched.get(row.id) ?? new Set<string>();
    const folder = folderOf(row);
    if (folder !== null) places.add(`${folder}/${row.file}`);
    this.touched.set(row.id, places);
  }

  private put(
    id: string,
    file: string,
    text: string,
    as: {
      rev: number;
      status: Status;
      place: Place;
      at: string;
      by: string;
      kind: VersionKind;
      previous: TaskRow | undefined;
    },
  ): void {
    const hash = hashOf(canonicalHashText(text));
    const doc = parseJson(text) as JsonObject;
    // The file will get exactly this time, so that it is known again without being read. Never the last version's.
    let mtimeMs = this.ctx.now().getTime();
    if (as.previous?.mtimeMs !== undefined && as.previous.mtimeMs !== null && mtimeMs <= as.previous.mtimeMs) {
      mtimeMs = Math.floor(as.previous.mtimeMs) + 1;
    }
    this.ledger.putTask({
      facts: factsOf(id, doc),
      file,
      place: as.place,
      status: as.status,
      rev: as.rev,
      hash,
      size: new TextEncoder().encode(text).length,
      mtimeMs,
    });
    this.ledger.addVersion(
      id,
      { rev: as.rev, hash, status: as.status, kind: as.kind, at: as.at, by: as.by, doc: text },
      as.rev,
    );
  }
}
