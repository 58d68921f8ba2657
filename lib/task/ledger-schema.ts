/**
 * What the ledger stores: its tables, and their rows as the rest of the program sees them. Pure.
 *
 * A task's row is an index over its current document, which is in `version`: it holds what lists, picking and the view ask for,
 * and can be made again from the document.
 */
import type { SqlValue } from "../sqlite.ts";
import { type Facts, id8, type Status } from "./model.ts";

/** Counted in `user_version`; 0 is a database in which nothing was made yet. */
export const SCHEMA_VERSION = 1;

export const SCHEMA = `
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
  /** Of the document's text; see hashOf. */
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

/** What `COLUMNS` selects. */
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

/** Of a task, in the order in which toRow reads them and toValues gives them. */
export const COLUMNS =
  "id, id8, file, place, status, rev, name, slug, category, effort, priority, created_at, updated_at, completed_at, lists, hash, size, mtime";

const NO_LISTS = { dependencies: [], conditions: [], tags: [], children: [], skipReason: null } as const;

export function toRow(values: readonly unknown[]): TaskRow {
  const row = values as Row;
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

/** The row of a task, as COLUMNS has it. Lists are mostly empty, and then take no room. */
export function toValues({ facts, ...task }: StoredTask): SqlValue[] {
  const lists = {
    ...(facts.dependencies.length > 0 ? { dependencies: facts.dependencies } : {}),
    ...(facts.conditions.length > 0 ? { conditions: facts.conditions } : {}),
    ...(facts.tags.length > 0 ? { tags: facts.tags } : {}),
    ...(facts.children.length > 0 ? { children: facts.children } : {}),
    ...(facts.skipReason === null ? {} : { skipReason: facts.skipReason }),
  };
  return [
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
  ];
}
