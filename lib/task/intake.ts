/**
 * What files in the view, or documents from elsewhere, mean to the ledger, and how they get in: decided from the ledger alone,
 * so that it can be decided again inside the transaction that stores it.
 */
import type { Ctx } from "../ctx.ts";
import { readBytes, stampOf, type Stamp } from "../files.ts";
import {
  asNumber,
  canonicalHashText,
  decodeUtf8,
  equalJson,
  type JsonObject,
  parseJson,
  tryParseJson,
} from "../json.ts";
import { quote } from "../text.ts";
import { hashOf, type Ledger, type Place, type TaskRow, type VersionKind } from "./ledger.ts";
import {
  countedRevision,
  factsOf,
  HELD,
  type HistoryEntry,
  historyOf,
  id8,
  isObject,
  isStatus,
  type Status,
  timestamp,
  UUID,
} from "./model.ts";
import { judge, lastStep } from "./reconcile.ts";
import { ARCHIVE, type Folder, folderOf, type View } from "./view.ts";

/** A file in the queue that isn't a readable task. It counts as "exists, unknown". */
export interface BrokenFile {
  /** Absolute. */
  readonly path: string;
  readonly message: string;
  readonly line: number | null;
  readonly column: number | null;
}

/** A file as it was found in a folder of the view. */
export interface Found {
  readonly folder: Folder;
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly stamp: Stamp;
}

/** What a found file means; decided from the ledger alone, so that it can be decided again inside a transaction. */
export type Meaning =
  | { is: "current"; row: TaskRow; hash: string }
  /** An earlier picture, or a second copy: the ledger's version stands. */
  | { is: "stale"; row: TaskRow }
  | { is: "new"; id: string; doc: JsonObject; text: string; hash: string }
  | { is: "edit"; row: TaskRow; doc: JsonObject; text: string; hash: string }
  | { is: "older"; row: TaskRow; doc: JsonObject; text: string; hash: string }
  | { is: "conflict"; row: TaskRow; hash: string }
  | { is: "known-conflict" }
  | { is: "broken"; broken: BrokenFile };

/** A document from outside the working tree, with the folder and name it would have in the view. */
export interface ForeignDocument {
  readonly folder: Folder;
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** What became of documents from elsewhere. */
export interface Taken {
  readonly added: number;
  readonly updated: number;
  /** Known already, and current. */
  readonly same: number;
  /** An earlier state of what the ledger has. */
  readonly older: number;
  readonly conflicts: number;
  readonly broken: number;
}

/** A file's time is trusted only when it is older than the coarsest clock a file system ticks with, in milliseconds. */
export const RACY_MS = 100;

export class Intake {
  /** Changes when a reader has to go on with a copy in memory. */
  ledger: Ledger;
  /** Files that can't be read as tasks, by path. */
  readonly broken = new Map<string, BrokenFile>();
  /** Tasks whose file isn't as the ledger says. */
  readonly outOfStep = new Set<string>();
  /** Files that show an earlier state: to be taken away by the next writer. */
  readonly stale: { folder: Folder; file: string; id: string }[] = [];
  private readonly ctx: Ctx;
  private readonly view: View;

  constructor(ctx: Ctx, ledger: Ledger, view: View) {
    this.ctx = ctx;
    this.ledger = ledger;
    this.view = view;
  }

  /** Forgets what was found, before looking again. */
  forget(): void {
    this.outOfStep.clear();
    this.stale.length = 0;
    this.broken.clear();
  }

  /** A file of the view with its content, or null when it isn't there any more. */
  look(folder: Folder, file: string): Found | null {
    const path = this.view.path(folder, file);
    const stamp = stampOf(path);
    const bytes = stamp === null ? null : readBytes(path);
    return stamp === null || bytes === null ? null : { folder, file, bytes, stamp };
  }

  /** Files away a found file that is no news. True when it is exactly as the ledger says. */
  sort(found: Found): boolean {
    const meaning = this.meaning(found);
    if (meaning.is === "current") return true;
    if (meaning.is === "stale") {
      if (this.isAt(meaning.row, found)) this.outOfStep.add(meaning.row.id);
      else this.stale.push({ folder: found.folder, file: found.file, id: meaning.row.id });
    }
    if (meaning.is === "broken") this.broken.set(meaning.broken.path, meaning.broken);
    return false;
  }

  private isAt(row: TaskRow, found: Pick<Found, "folder" | "file">): boolean {
    return folderOf(row) === found.folder && row.file === found.file;
  }

  /** What a file means, by the ledger as it stands. */
  meaning(found: Found, label = this.relative(found)): Meaning {
    const path = this.view.path(found.folder, found.file);
    const { text, valid } = decodeUtf8(found.bytes);
    const broken = (message: string, line: number | null = null, column: number | null = null): Meaning => ({
      is: "broken",
      broken: { path, message, line, column },
    });
    if (!valid) return broken("isn't valid UTF-8");
    const parsed = tryParseJson(text);
    if (!parsed.ok) return broken(parsed.message, parsed.line, parsed.column);
    const doc = parsed.value;
    if (!isObject(doc)) return broken("isn't a JSON object", 1, 1);
    const id = doc["id"];
    if (typeof id !== "string" || !UUID.test(id)) return broken('has no "id" that is a UUID');
    const row = this.ledger.task(id);
    const hash = hashOf(canonicalHashText(text));
    if (row === undefined) {
      const twin = this.ledger.taskById8(id8(id));
      if (twin !== undefined)
        return broken(
          `its id begins like that of task ${twin.id} (${quote(twin.name)}); the first 8 digits must differ`,
        );
      return { is: "new", id, doc, text, hash };
    }
    if (hash === row.hash) {
      if (this.isAt(row, found)) return { is: "current", row, hash };
      return this.movedByHand(row, found) ? { is: "edit", row, doc, text, hash } : { is: "stale", row };
    }
    if (this.ledger.knows(row.id, hash)) return { is: "stale", row };
    if (this.ledger.conflictContent(label, hash) !== undefined) return { is: "known-conflict" };
    const current = parseJson(this.ledger.document(row.id)) as JsonObject;
    const verdict = judge(current, doc, {
      knowsRevision: (revision) => this.ledger.knowsRevision(row.id, revision),
      base: lastStep(this.pastOf(row), current),
      elsewhere: label !== this.relative(found),
      hash: row.hash,
    });
    if (verdict === "adopt" && row.place !== "removed") return { is: "edit", row, doc, text, hash };
    if (verdict === "adopt" && historyOf(doc).length > historyOf(current).length)
      return { is: "edit", row, doc, text, hash };
    if (verdict === "rollback") return { is: "older", row, doc, text, hash };
    return { is: "conflict", row, hash };
  }

  /** Documents that were current once, oldest first. */
  private *pastOf(row: TaskRow): Generator<JsonObject> {
    for (const version of this.ledger.versions(row.id)) {
      if (version.kind !== "older") yield parseJson(version.doc) as JsonObject;
    }
  }

  /** The current picture, whole, in another folder, and gone from its own: somebody moved the file. */
  private movedByHand(row: TaskRow, found: Found): boolean {
    const folder = folderOf(row);
    return (
      folder !== null &&
      found.folder !== ARCHIVE &&
      folder !== ARCHIVE &&
      found.file === row.file &&
      found.folder !== folder &&
      stampOf(this.view.path(folder, row.file)) === null
    );
  }

  private relative(found: Pick<Found, "folder" | "file">): string {
    return `${found.folder}/${found.file}`;
  }

  /** One file, inside a transaction: decided again, then stored. Returns what to tell. */
  take(found: Found): string | null {
    const meaning = this.meaning(found);
    const at = timestamp(this.ctx.now());
    const stamp = this.trusted(found.stamp);
    const status = found.folder === ARCHIVE ? "done" : found.folder;
    switch (meaning.is) {
      case "new":
        this.adoptNew(meaning, { file: found.file, folder: found.folder, at, by: "file", stamp });
        return null;
      case "edit": {
        const { row } = meaning;
        this.outOfStep.delete(row.id);
        const inPlace = found.folder === ARCHIVE || this.isAt({ ...row, place: "view", status: found.folder }, found);
        this.adoptEdit(meaning, {
          folder: found.folder,
          at,
          by: "file",
          stamp: inPlace ? stamp : { size: -1, mtimeMs: null },
        });
        if (found.file !== row.file) this.outOfStep.add(row.id);
        return `took in an edit of ${quote(row.name)} from ${this.relative(found)}`;
      }
      case "older": {
        const { row } = meaning;
        this.keepOlder(meaning, { status, at, by: "file" });
        if (this.isAt(row, found)) this.outOfStep.add(row.id);
        else this.stale.push({ folder: found.folder, file: found.file, id: row.id });
        return null;
      }
      case "conflict": {
        const { row } = meaning;
        this.ledger.addConflict(
          { path: this.relative(found), hash: meaning.hash, id: row.id, kind: "conflict", at },
          found.bytes,
        );
        return `${this.relative(found)} holds a version of ${quote(row.name)} that doesn't continue the ledger's: both are kept, settle it with \`dotbot task resolve ${row.id8}\``;
      }
      case "broken":
        this.broken.set(meaning.broken.path, meaning.broken);
        return null;
      case "current":
      case "stale":
      case "known-conflict":
        return null;
    }
  }

  private adoptNew(
    meaning: Extract<Meaning, { is: "new" }>,
    as: { file: string; folder: Folder; at: string; by: string; stamp: { size: number; mtimeMs: number | null } },
  ): void {
    const archived = as.folder === ARCHIVE;
    const rev = countedRevision(meaning.doc) ?? 1;
    this.store(meaning.id, meaning.doc, meaning.text, {
      file: as.file,
      place: archived ? "archive" : "view",
      status: archived ? statusIn(meaning.doc) : (as.folder as Status),
      rev,
      at: as.at,
      by: as.by,
      kind: "adopted",
      stamp: as.stamp,
    });
    for (const entry of historyEntries(meaning.doc)) this.ledger.addEvent(meaning.id, rev, entry);
  }

  private adoptEdit(
    meaning: Extract<Meaning, { is: "edit" }>,
    as: { folder: Folder; at: string; by: string; stamp: { size: number; mtimeMs: number | null } },
  ): void {
    const { row } = meaning;
    const archived = as.folder === ARCHIVE;
    const status = archived ? row.status : (as.folder as Status);
    // As with every other move: nobody goes on holding what waits for somebody else, or is finished.
    if (status !== row.status && !HELD.includes(status)) this.ledger.dropClaim(row.id);
    // Never behind the document's own count: the next version would look older than this one to everybody else.
    const rev = Math.max(row.rev + 1, countedRevision(meaning.doc) ?? 0);
    this.store(row.id, meaning.doc, meaning.text, {
      file: row.file,
      place: archived ? "archive" : "view",
      status,
      rev,
      at: as.at,
      by: as.by,
      kind: "adopted",
      stamp: as.stamp,
    });
    // Not only what comes after our last step: a settled conflict brings the other side's steps from before it too.
    const known = this.ledger.events(row.id).map(asJson);
    const fresh = historyEntries(meaning.doc).filter((entry) => !known.some((old) => equalJson(old, asJson(entry))));
    for (const entry of fresh) this.ledger.addEvent(row.id, rev, entry);
    if (fresh.length === 0 && status !== row.status) {
      this.ledger.addEvent(row.id, rev, {
        at: as.at,
        from: row.status,
        to: status,
        by: as.by,
        session_id: "unknown",
        branch: "unknown",
        commit: "unknown",
        reason: "the file was moved by hand",
      });
    }
  }

  private keepOlder(meaning: Extract<Meaning, { is: "older" }>, as: { status: Status; at: string; by: string }): void {
    this.ledger.addVersion(
      meaning.row.id,
      {
        rev: meaning.row.rev,
        hash: meaning.hash,
        status: as.status,
        kind: "older",
        at: as.at,
        by: as.by,
        doc: meaning.text,
      },
      asNumber(meaning.doc["revision"]) ?? null,
    );
  }

  /** A file's stamp, unless it is so fresh that another write could still hide behind the same time. */
  trusted(stamp: Stamp): { size: number; mtimeMs: number | null } {
    return { size: stamp.size, mtimeMs: this.ctx.now().getTime() - stamp.mtimeMs > RACY_MS ? stamp.mtimeMs : null };
  }

  private store(
    id: string,
    doc: JsonObject,
    text: string,
    as: {
      file: string;
      place: Place;
      status: Status;
      rev: number;
      at: string;
      by: string;
      kind: VersionKind;
      stamp: { size: number; mtimeMs: number | null };
    },
  ): void {
    const hash = hashOf(canonicalHashText(text));
    this.ledger.putTask({
      facts: factsOf(id, doc),
      file: as.file,
      place: as.place,
      status: as.status,
      rev: as.rev,
      hash,
      size: as.stamp.size,
      mtimeMs: as.stamp.mtimeMs,
    });
    this.ledger.addVersion(
      id,
      { rev: as.rev, hash, status: as.status, kind: as.kind, at: as.at, by: as.by, doc: text },
      asNumber(doc["revision"]) ?? null,
    );
  }

  /** One document from elsewhere, inside a transaction. `touched` collects whose files must be drawn. */
  takeForeign(
    { folder, file, bytes }: ForeignDocument,
    source: string,
    touched: Map<string, Set<string>>,
  ): keyof Taken {
    const now = this.ctx.now();
    const at = timestamp(now);
    const stamp = { size: bytes.length, mtimeMs: now.getTime() };
    const label = `${source}:${folder}/${file}`;
    const meaning = this.meaning({ folder, file, bytes, stamp }, label);
    switch (meaning.is) {
      case "new":
        this.adoptNew(meaning, { file, folder, at, by: source, stamp });
        touched.set(meaning.id, new Set());
        return "added";
      case "edit": {
        const { row } = meaning;
        // The same content in another folder is no news: where a task stands is said by its history.
        if (meaning.hash === row.hash) return "same";
        const home = folderOf(row);
        touched.set(row.id, new Set(home === null ? [] : [`${home}/${row.file}`]));
        this.adoptEdit(meaning, { folder, at, by: source, stamp });
        return "updated";
      }
      case "older":
        this.keepOlder(meaning, { status: folder === ARCHIVE ? meaning.row.status : folder, at, by: source });
        return "older";
      case "conflict":
        this.ledger.addConflict({ path: label, hash: meaning.hash, id: meaning.row.id, kind: "conflict", at }, bytes);
        return "conflicts";
      case "known-conflict":
        return "conflicts";
      case "stale":
        return "older";
      case "current":
        return "same";
      case "broken":
        return "broken";
    }
  }
}

/** The status that an archived document names; folders tell it only for the others. */
function statusIn(doc: JsonObject): Status {
  return isStatus(doc["status"]) ? doc["status"] : "done";
}

function historyEntries(doc: JsonObject): HistoryEntry[] {
  return historyOf(doc) as unknown as HistoryEntry[];
}

function asJson(entry: HistoryEntry): JsonObject {
  return { ...entry };
}

export function isTaskFile(name: string): boolean {
  return name.endsWith(".json") && !name.startsWith(".");
}

export function isNews(meaning: Meaning): boolean {
  return meaning.is === "new" || meaning.is === "edit" || meaning.is === "older" || meaning.is === "conflict";
}

/** Which of two files with one id knows more: by length of history, then revision, then time. */
export function rankOf(found: Found): number {
  const parsed = tryParseJson(decodeUtf8(found.bytes).text);
  if (!parsed.ok || !isObject(parsed.value)) return -1;
  const updated = Date.parse(typeof parsed.value["updated_at"] === "string" ? parsed.value["updated_at"] : "");
  const revision = asNumber(parsed.value["revision"]) ?? 0;
  return historyOf(parsed.value).length * 1e12 + revision * 1e9 + (Number.isNaN(updated) ? 0 : updated / 1e4);
}
