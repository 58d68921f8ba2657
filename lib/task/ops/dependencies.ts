/**
 * From the names by which callers call dependencies to ids, inside one transaction. Stored as ids, they survive a renaming,
 * and a second task of the same name doesn't make them ambiguous.
 */
import { DotbotError } from "../../error.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { nearest, quote } from "../../text.ts";
import type { Ledger, TaskRow } from "../ledger.ts";
import { factsOf, fileName, id8, type Status, stringList, UUID } from "../model.ts";
import { cycleThrough, DependencyIndex } from "../pick.ts";

/** What a caller says in one place: a flag, a field. */
export interface Place {
  /** As the caller calls it. */
  readonly shown: string;
  /** A call that names this task there. */
  readonly example: (task: string) => string;
  /** Names of the task itself. */
  readonly self?: readonly string[];
}

/** So many digits of an id, and Tab and lists show no more, name a task here as well; what is stored is the whole id. */
const BEGINNING = /^[0-9a-f]{8}[0-9a-f-]*$/i;

/** Whether a word may be the beginning of an id, and is that of this one. */
export function begins(word: string, id: string): boolean {
  return BEGINNING.test(word) && id.startsWith(word.toLowerCase());
}

export class DependencyDesk {
  private loaded: { rows: readonly TaskRow[]; index: DependencyIndex } | undefined;
  /** Tasks that this transaction added, by every name that a later one may call them. */
  private readonly earlier = new Map<string, TaskRow | "several">();
  private readonly fresh: TaskRow[] = [];
  private words: ReadonlySet<string> | undefined;
  private readonly ledger: Ledger;
  private readonly coming: readonly string[];

  /** `coming`: names of all the tasks that this transaction is about to add, to tell a wrong order from a wrong name. */
  constructor(ledger: Ledger, coming: readonly string[] = []) {
    this.ledger = ledger;
    this.coming = coming;
  }

  private get existing(): { rows: readonly TaskRow[]; index: DependencyIndex } {
    if (this.loaded === undefined) {
      const rows = this.ledger.tasks("place <> 'removed'");
      this.loaded = { rows, index: new DependencyIndex(rows) };
    }
    return this.loaded;
  }

  /** A task that was added just now; later ones may call it by name, slug, id, file name or, given a position, `#1`. */
  added(row: TaskRow, position?: number): void {
    this.fresh.push(row);
    for (const name of new Set([row.id, row.file, row.file.slice(0, -".json".length), row.slug, row.name])) {
      if (name !== null) this.earlier.set(name, this.earlier.has(name) ? "several" : row);
    }
    if (position !== undefined) this.position(row, position);
  }

  /** Lets later ones call it by its place in the call, from 1. */
  position(row: TaskRow, position: number): void {
    this.earlier.set(`#${position}`, row);
  }

  /** The id of the one task that a document's word means exactly, or undefined when there is none or several. */
  known(name: string): string | undefined {
    const found = this.existing.index.find(name.trim());
    return found.length === 1 ? found[0]?.id : undefined;
  }

  /** Ids of all that a list names, each once. */
  all(value: JsonValue | undefined, place: Place): string[] {
    return [...new Set(stringList(value).map((name) => this.one(name, place)))];
  }

  /**
   * The id of the one task that a name means exactly, or else that begins so. Errors: TASK_NOT_FOUND, AMBIGUOUS_TASK, CYCLE for
   * its own name.
   */
  one(name: string, place: Place): string {
    const { self = [] } = place;
    const wanted = name.trim();
    const early = this.earlier.get(wanted);
    if (early === "several")
      throw ambiguous(
        wanted,
        place,
        this.fresh.filter((row) => row.name === wanted || row.slug === wanted),
      );
    if (early !== undefined) return early.id;
    const direct = UUID.test(wanted) ? this.ledger.task(wanted.toLowerCase()) : undefined;
    if (direct !== undefined && direct.place !== "removed") return direct.id;
    const exact = this.existing.index.find(wanted);
    if (exact.length === 0 && self.includes(wanted)) throw selfDependency(wanted);
    const rows = [...this.existing.rows, ...this.fresh];
    const found = exact.length > 0 ? exact : rows.filter((row) => begins(wanted, row.id));
    const [only] = found;
    if (only !== undefined && found.length === 1) return only.id;
    if (only !== undefined) throw ambiguous(wanted, place, found);
    throw this.unknown(wanted, rows, place);
  }

  private unknown(name: string, rows: readonly TaskRow[], { shown, example }: Place): DotbotError {
    const digits = /^[0-9a-f]{4}[0-9a-f-]*$/i.test(name)
      ? rows.filter((row) => row.id.startsWith(name.toLowerCase()))
      : [];
    const [prefixed] = digits;
    if (prefixed !== undefined && digits.length === 1) {
      return new DotbotError(
        "TASK_NOT_FOUND",
        `${shown} ${quote(name)} is too little of an id: it takes 8 digits or more`,
        {
          hint: `did you mean ${prefixed.id8} (${quote(prefixed.name)})?`,
          example: example(prefixed.id8),
          details: { name, nearest: prefixed.id },
        },
      );
    }
    if (this.coming.includes(name) || /^#\d+$/.test(name)) {
      return new DotbotError(
        "TASK_NOT_FOUND",
        `${shown} ${quote(name)}: no such task was added before it in the list`,
        {
          hint: "a task may depend on existing and earlier ones: put that one first",
          details: { name },
        },
      );
    }
    const near = nearest(
      name,
      rows.flatMap((row) => [row.name, ...(row.slug === null ? [] : [row.slug])]),
    );
    return new DotbotError("TASK_NOT_FOUND", `${shown} ${quote(name)}: no task answers to that`, {
      hint:
        near === undefined
          ? "a task is named here by its id, 8 or more digits of it, its slug, file name or exact name; add it first"
          : `did you mean ${quote(near)}?`,
      ...(near === undefined ? {} : { example: example(near) }),
      details: { name, ...(near === undefined ? {} : { nearest: near }) },
    });
  }

  /**
   * Refuses a document that would make a task wait for itself. A task that doesn't exist yet can do so only where others
   * wait for its name already. Error: CYCLE, naming the path.
   */
  refuseCycle(id: string, doc: JsonObject, status: Status): void {
    const facts = factsOf(id, doc);
    if (facts.dependencies.length === 0) return;
    const present = this.ledger.task(id);
    const file = present?.file ?? fileName(facts.name, id);
    const waited = [id, file, file.slice(0, -".json".length), facts.name, ...(facts.slug === null ? [] : [facts.slug])];
    if (present === undefined && !waited.some((name) => this.named.has(name))) return;
    const row: TaskRow = {
      ...facts,
      id8: id8(id),
      file,
      place: "view",
      status,
      rev: 0,
      hash: "",
      size: 0,
      mtimeMs: null,
    };
    const others = [...this.existing.rows, ...this.fresh].filter((other) => other.id !== id);
    const cycle = cycleThrough(row, new DependencyIndex([...others, row]));
    if (cycle === null) return;
    const last = cycle.at(-1);
    if (cycle.length === 1 || last === undefined) throw selfDependency(row.name);
    throw new DotbotError(
      "CYCLE",
      `${quote(row.name)} would wait for itself: ${[...cycle, row].map((task) => quote(task.name)).join(" → ")}`,
      {
        hint: "take one of these dependencies away",
        example: `dotbot task edit ${last.id8} --remove-dependency ${row.id}`,
        details: { cycle: [...cycle.map((task) => task.id), id] },
      },
    );
  }

  /** Every word by which a task in the queue names another. */
  private get named(): ReadonlySet<string> {
    this.words ??= new Set(this.ledger.linked("place <> 'removed'", []).flatMap((row) => row.dependencies));
    return this.words;
  }
}

function ambiguous(name: string, { shown, example }: Place, rows: readonly TaskRow[]): DotbotError {
  const list = rows.slice(0, 8).map((row) => `${row.id} (${row.status})`);
  return new DotbotError(
    "AMBIGUOUS_TASK",
    `${shown} ${quote(name)} means ${rows.length} tasks: ${list.join(", ")}${rows.length > 8 ? ", …" : ""}`,
    {
      hint: "name the one that is meant by its full id",
      ...(rows[0] === undefined ? {} : { example: example(rows[0].id) }),
      details: { candidates: rows.map((row) => ({ id: row.id, name: row.name, status: row.status })) },
    },
  );
}

function selfDependency(name: string): DotbotError {
  return new DotbotError("CYCLE", `${quote(name)} can't depend on itself: ${quote(name)} → ${quote(name)}`, {
    hint: "leave it out of its own dependencies",
    details: { cycle: [name, name] },
  });
}
