/**
 * One consistent look at the queue: which tasks a filter chooses, why they wait, who holds them. Reads no more than the
 * answer shows: a list for a person is made from an index, and only programs get documents.
 */
import { parseJson, type JsonObject } from "../json.ts";
import type { FileRow, Ledger, TaskLine, TaskRow } from "./ledger.ts";
import { CLOSED, isClosed } from "./model.ts";
import { DependencyIndex } from "./pick.ts";
import { dependenciesAmong } from "./relations.ts";

/** All of what is given must hold; lists mean any of their items. */
export interface Filter {
  readonly status?: readonly string[] | undefined;
  readonly category?: readonly string[] | undefined;
  readonly effort?: readonly string[] | undefined;
  readonly tag?: readonly string[] | undefined;
  readonly min_priority?: number | undefined;
  readonly max_priority?: number | undefined;
  readonly text?: string | undefined;
  readonly blocked?: boolean | undefined;
  readonly claimed?: boolean | undefined;
  readonly archived?: boolean | undefined;
}

export interface Wishes {
  readonly filter: Filter;
  /** Infinity: all. */
  readonly limit: number;
  readonly documents: boolean;
  /** Who holds a task, by its claim's text; null when the claim doesn't stand any more. */
  readonly holder: (claim: string) => string | null;
  /** Only tasks with a claim of which this is true. */
  readonly mine: ((claim: string) => boolean) | null;
  /** The files of at most this many tasks will be compared with the ledger. */
  readonly checked: number;
}

export interface Mark {
  /** What an open task waits for. */
  blocked?: string;
  /** Who holds it. */
  claimed?: string;
}

export interface Picture {
  /** Open tasks first, each part in pick order. */
  readonly rows: readonly TaskLine[];
  /** The same rows with what it takes to compare their files; null when there are too many for that. */
  readonly files: readonly FileRow[] | null;
  readonly marks: ReadonlyMap<string, Mark>;
  /** How many tasks the filter chooses. */
  readonly total: number;
  /** Texts of the documents, where they are wanted. */
  readonly documents: ReadonlyMap<string, string> | null;
}

/** Everything in one snapshot: a task that moves meanwhile is neither missing nor doubled. */
export function look(ledger: Ledger, wishes: Wishes): Picture {
  return ledger.snapshot(() => {
    const { filter, holder } = wishes;
    const claims = ledger.claims();
    const [where, values] = sieve(filter);
    const waits = waiting(ledger, ledger.linked(where, values));
    const chosen =
      wishes.mine === null &&
      filter.tag === undefined &&
      filter.text === undefined &&
      filter.blocked === undefined &&
      filter.claimed === undefined
        ? plainly(ledger, where, values, wishes)
        : oneByOne(ledger, ledger.tasks(where, ...values), wishes, claims, waits);
    return {
      ...chosen,
      marks: marksOf(chosen.rows, claims, holder, waits),
      documents: wishes.documents ? ledger.documents(new Set(chosen.rows.map((row) => row.id))) : null,
    };
  });
}

type Chosen = Pick<Picture, "rows" | "files" | "total">;

/** What SQL alone chooses: open tasks before closed ones, and no more than asked for. */
function plainly(
  ledger: Ledger,
  where: string,
  values: readonly (string | number)[],
  { limit, checked }: Wishes,
): Chosen {
  const total = ledger.count(where, values);
  const most = Math.min(limit, total);
  const parts = <T>(read: (where: string, values: readonly (string | number)[], limit: number) => T[]): T[] => {
    const open = read(`${where} AND status NOT IN (${CLOSED_LIST})`, values, most);
    return open.length < most
      ? [...open, ...read(`${where} AND status IN (${CLOSED_LIST})`, values, most - open.length)]
      : open;
  };
  if (most > checked) return { rows: parts((...how) => ledger.lines(...how)), files: null, total };
  const files = parts((...how) => ledger.fileLines(...how));
  return { rows: files, files, total };
}

const CLOSED_LIST = CLOSED.map((status) => `'${status}'`).join(", ");

/** What has to be looked at task by task. */
function oneByOne(
  ledger: Ledger,
  everything: readonly TaskRow[],
  { filter, limit, holder, mine, checked }: Wishes,
  claims: ReadonlyMap<string, string>,
  waits: ReadonlyMap<string, string>,
): Chosen {
  const { tag, text, claimed, blocked } = filter;
  const claimIs = (row: TaskRow, holds: (claim: string) => boolean): boolean => {
    const claim = claims.get(row.id);
    return claim !== undefined && holds(claim);
  };
  let rows = everything;
  if (tag !== undefined) rows = rows.filter((row) => row.tags.some((one) => tag.includes(one)));
  if (text !== undefined && text !== "") rows = withText(ledger, rows, text.toLowerCase());
  if (claimed !== undefined) rows = rows.filter((row) => claimIs(row, (claim) => holder(claim) !== null) === claimed);
  if (mine !== null) rows = rows.filter((row) => claimIs(row, mine));
  if (blocked !== undefined) rows = rows.filter((row) => waits.has(row.id) === blocked);
  const ordered = [...rows.filter((row) => !isClosed(row.status)), ...rows.filter((row) => isClosed(row.status))].slice(
    0,
    limit,
  );
  return { rows: ordered, files: ordered.length <= checked ? ordered : null, total: rows.length };
}

/** What SQL can tell: a condition of ours, with the caller's values bound. */
function sieve(filter: Filter): readonly [where: string, values: (string | number)[]] {
  const parts = [filter.archived === true ? "place = 'archive'" : "place = 'view'"];
  const values: (string | number)[] = [];
  const bind = (condition: string, given: readonly (string | number)[] | undefined): void => {
    if (given === undefined) return;
    parts.push(condition);
    values.push(...given);
  };
  const among = (column: string, allowed: readonly string[] | undefined): void =>
    bind(`${column} IN (${(allowed ?? []).map(() => "?").join(", ")})`, allowed);
  among("status", filter.status);
  among("category", filter.category);
  among("effort", filter.effort);
  bind("priority >= ?", filter.min_priority === undefined ? undefined : [filter.min_priority]);
  bind("priority <= ?", filter.max_priority === undefined ? undefined : [filter.max_priority]);
  return [parts.join(" AND "), values];
}

function withText(ledger: Ledger, rows: readonly TaskRow[], needle: string): TaskRow[] {
  const named = (row: TaskRow): boolean =>
    [row.name, row.slug ?? "", row.id].some((text) => text.toLowerCase().includes(needle));
  const documents = ledger.documents(new Set(rows.filter((row) => !named(row)).map((row) => row.id)));
  return rows.filter((row) => {
    const document = documents.get(row.id);
    if (document === undefined) return true;
    const { description } = parseJson(document) as JsonObject & { description?: unknown };
    return typeof description === "string" && description.toLowerCase().includes(needle);
  });
}

/** What the open ones among these tasks wait for, in words, by id. */
export function waiting(ledger: Ledger, rows: readonly TaskRow[]): Map<string, string> {
  const found = new Map<string, string>();
  const open = rows.filter((row) => row.dependencies.length > 0 && !isClosed(row.status));
  if (open.length === 0) return found;
  const known = meant(ledger, open);
  const index = new DependencyIndex(known);
  const byId = new Map(known.map((row) => [row.id, row]));
  for (const row of open) {
    const words = dependenciesAmong(row, index, byId).flatMap(({ word, row: on, state }) => {
      if (state === "satisfied") return [];
      return [on === undefined ? `${word} (${state})` : `${on.slug ?? on.id8} (${on.status})`];
    });
    if (words.length > 0) found.set(row.id, `waits for ${words.join(", ")}`);
  }
  return found;
}

/** Every row that the dependencies of these tasks could mean. */
function meant(ledger: Ledger, rows: readonly TaskRow[]): readonly TaskRow[] {
  const found = ledger.meant(new Set(rows.flatMap((row) => row.dependencies)));
  // A split one is as far as its parts are, and theirs.
  return found.some((row) => row.status === "split") ? ledger.tasks("place <> 'removed'") : found;
}

function marksOf(
  rows: readonly TaskLine[],
  claims: ReadonlyMap<string, string>,
  holder: Wishes["holder"],
  waits: ReadonlyMap<string, string>,
): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  if (claims.size === 0 && waits.size === 0) return marks;
  for (const { id } of rows) {
    const claim = claims.get(id);
    const claimed = claim === undefined ? null : holder(claim);
    const blocked = waits.get(id);
    if (claimed !== null || blocked !== undefined) {
      marks.set(id, { ...(blocked === undefined ? {} : { blocked }), ...(claimed === null ? {} : { claimed }) });
    }
  }
  return marks;
}
