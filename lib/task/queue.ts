/**
 * The queue: ledger and view together. Opening it looks at what changed in the view since; reading answers from the ledger;
 * writing is one transaction, after which the view follows.
 *
 * Invariants: an acknowledged write is in the ledger. Nothing the ledger has never seen is deleted. A read never writes into
 * the working tree.
 */
import { join } from "node:path";

import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { exists, listNames, readBytes, removeFile, stampOf, type Stamp } from "../files.ts";
import type { Repo } from "../git/repo.ts";
import { asNumber, decodeUtf8, type JsonObject, parseJson, tryParseJson } from "../json.ts";
import { isDamage } from "../sqlite.ts";
import { count, quote } from "../text.ts";
import {
  type BrokenFile,
  type ForeignDocument,
  type Found,
  Intake,
  isNews,
  isTaskFile,
  RACY_MS,
  rankOf,
  type Taken,
} from "./intake.ts";
import { type FileRow, Ledger, ledgerFolder, setAside, type TaskRow, type Undrawn } from "./ledger.ts";
import { isObject, timestamp } from "./model.ts";
import { Tx } from "./tx.ts";
import {
  contentHash,
  type Folder,
  folderOf,
  FOLDERS,
  type Leftover,
  readSeen,
  type Seen,
  tasksFolder,
  type Unknown,
  View,
  writeSeen,
} from "./view.ts";

export type { BrokenFile, ForeignDocument, Taken } from "./intake.ts";
export { Tx, type Save } from "./tx.ts";

/** Two versions of one task of which neither continues the other; the ledger's stands until it is settled. */
export interface Conflict {
  readonly id: string | null;
  readonly name: string | null;
  /** Absolute path where the other version was found. */
  readonly path: string;
  readonly hash: string;
  readonly at: string;
}

/** A folder whose time was taken over unlisted after our own write is listed again by whoever comes this much later. */
const RECHECK_MS = 2000;
/** How long another process gets to bring its files after its commit, before they are called out of step. */
const SETTLE_MS = 20;
/** Changes of more tasks than this at once are noted as drawn in a transaction of their own. */
const MANY = 100;

/** Lists check the files of this many tasks, one by one; beyond it only the folders' times are looked at. */
export const CHECKED_FILES = 2000;

export class Queue {
  private readonly intake: Intake;
  /** Changes that the ledger notes as undrawn and whose files are right. */
  private readonly drawn: Undrawn[] = [];
  /** Temporary files in the folders that were listed. */
  private readonly leftovers: Leftover[] = [];
  private readonly restamp: { row: FileRow; stamp: Stamp }[] = [];
  private seen: Seen = {};
  /** Why what was found had to go into a copy in memory. */
  private unwritable: DotbotError | null = null;

  private readonly ctx: Ctx;
  readonly repo: Repo;
  readonly view: View;

  private constructor(ctx: Ctx, repo: Repo, ledger: Ledger, view: View) {
    this.ctx = ctx;
    this.repo = repo;
    this.view = view;
    this.intake = new Intake(ctx, ledger, view);
  }

  get ledger(): Ledger {
    return this.intake.ledger;
  }

  get stateRoot(): string {
    return this.repo.stateRoot;
  }

  /**
   * Opens the queue of a repository and takes in what changed in its files. Errors: NO_QUEUE where there is neither a `.bot`
   * nor a ledger; LEDGER_DAMAGED where it can't be read nor rebuilt.
   */
  static async open(ctx: Ctx, repo: Repo): Promise<Queue> {
    const view = new View(tasksFolder(repo.stateRoot), ctx.pid);
    if (!exists(join(repo.stateRoot, ".bot")) && !exists(join(ledgerFolder(repo.stateCommonDir), "queue.db"))) {
      throw new DotbotError("NO_QUEUE", `${quote(repo.stateRoot, 300)} has no .bot folder`, {
        hint: "make one with `dotbot init`",
        example: "dotbot init",
        details: { stateRoot: repo.stateRoot },
      });
    }
    let queue = new Queue(ctx, repo, Queue.openLedger(ctx, repo), view);
    try {
      await queue.refresh();
    } catch (error) {
      if (!isDamage(error)) throw error;
      queue.ledger.close();
      queue = new Queue(ctx, repo, Queue.replaceDamaged(ctx, repo), view);
      await queue.refresh();
    }
    return queue;
  }

  private static openLedger(ctx: Ctx, repo: Repo): Ledger {
    try {
      return Ledger.open(repo.stateCommonDir, ctx.lockWaitMs);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return Queue.replaceDamaged(ctx, repo);
    }
  }

  private static replaceDamaged(ctx: Ctx, repo: Repo): Ledger {
    const aside = setAside(repo.stateCommonDir, ctx.now());
    ctx.note(
      `the ledger was damaged: moved to ${aside} and rebuilt from the task files; claims and removed tasks are only in the old one`,
    );
    return Ledger.open(repo.stateCommonDir, ctx.lockWaitMs);
  }

  close(): void {
    this.ledger.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  // ── what changed in the view ───────────────────────────────────────────────────────────────────────────────────────

  /** Looks at folders whose time moved since they were last seen in step, and takes in what is new. */
  private async refresh(): Promise<void> {
    if (this.ledger.meta("imported") === undefined) {
      await this.importAll();
      return;
    }
    this.seen = readSeen(this.repo.stateCommonDir, this.view.root);
    const now = this.ctx.now().getTime();
    const times = this.view.times();
    const moved = FOLDERS.filter((folder) => {
      const seen = this.seen[folder];
      const time = times.get(folder);
      return seen === undefined || seen.mtimeMs !== time || (!seen.checked && now - seen.at > RECHECK_MS);
    });
    if (moved.length > 0) await this.lookInto(moved, times);
    await this.lookForUndrawn();
  }

  private async lookInto(moved: readonly Folder[], times: ReadonlyMap<Folder, number>): Promise<void> {
    // After our own write a folder is only listed; where somebody else was at work, files may have changed in place as well.
    const strange = new Set(moved.filter((folder) => this.seen[folder]?.mtimeMs !== times.get(folder)));
    let quiet = await this.scan(moved, strange);
    if (!quiet && this.intake.outOfStep.size + this.intake.stale.length > 0) {
      // Most often another process is between its commit and its files: look once more before calling it out of step.
      await Bun.sleep(SETTLE_MS);
      this.intake.forget();
      this.leftovers.length = 0;
      quiet = await this.scan(moved, strange);
    }
    this.recordSeen(times, moved, quiet, true);
  }

  /** A writer that was killed between its commit and its files has moved no folder's time: the ledger knows of it. */
  private async lookForUndrawn(): Promise<void> {
    let late = this.notDrawn();
    if (late.length > 0) {
      await Bun.sleep(SETTLE_MS);
      late = this.notDrawn();
    }
    for (const { id, places } of late) {
      this.intake.outOfStep.add(id);
      for (const place of places) {
        const [folder, file] = placeParts(place);
        if (!this.intake.stale.some((one) => one.folder === folder && one.file === file)) {
          this.intake.stale.push({ folder, file, id });
        }
      }
    }
  }

  /** Changes whose files haven't followed, each with the places where an earlier state is still shown. */
  private notDrawn(): { id: string; places: string[] }[] {
    this.drawn.length = 0;
    const late: { id: string; places: string[] }[] = [];
    for (const change of this.ledger.undrawn()) {
      const row = this.ledger.task(change.id);
      if (row === undefined) continue;
      const folder = folderOf(row);
      const here = folder === null ? null : `${folder}/${row.file}`;
      const places = change.places.filter((place) => place !== here && this.showsKnown(row.id, place));
      if (places.length > 0 || (folder !== null && !this.isShown(row, folder))) late.push({ id: row.id, places });
      else this.drawn.push(change);
    }
    return late;
  }

  private isShown(row: TaskRow, folder: Folder): boolean {
    const path = this.view.path(folder, row.file);
    if (isSame(row, stampOf(path))) return true;
    const bytes = readBytes(path);
    // Content that nobody has seen is an edit, and not for a redraw to take away.
    return bytes !== null && (contentHash(bytes) === row.hash || !this.ledger.knows(row.id, contentHash(bytes)));
  }

  private showsKnown(id: string, place: string): boolean {
    const bytes = readBytes(this.view.path(...placeParts(place)));
    return bytes !== null && this.ledger.knows(id, contentHash(bytes));
  }

  private recordSeen(
    times: ReadonlyMap<Folder, number>,
    folders: readonly Folder[],
    quiet: boolean,
    checked: boolean,
  ): void {
    const at = this.ctx.now().getTime();
    const next: Record<string, Seen[string]> = { ...this.seen };
    let changed = false;
    for (const folder of folders) {
      const mtimeMs = times.get(folder);
      const trusted = quiet && mtimeMs !== undefined && (!checked || at - mtimeMs > RACY_MS);
      const was = next[folder];
      if (trusted) next[folder] = { mtimeMs, at, checked };
      else delete next[folder];
      changed ||= was?.mtimeMs !== next[folder]?.mtimeMs || was?.checked !== next[folder]?.checked;
    }
    if (!changed || this.ledger.mode !== "file") return;
    this.seen = next;
    writeSeen(this.repo.stateCommonDir, this.view.root, next);
  }

  /**
   * Lists folders and takes in what is there; in the `strange` ones the stamps of the expected files are looked at, too. True
   * when all of it is as the ledger says.
   */
  private async scan(folders: readonly Folder[], strange: ReadonlySet<Folder>): Promise<boolean> {
    const news: Found[] = [];
    const present: FileRow[] = [];
    let quiet = true;
    for (const folder of folders) {
      const names = listNames(join(this.view.root, folder)) ?? [];
      const expected = this.ledger.filesIn(folder);
      if (strange.has(folder)) {
        const there = new Set(names);
        present.push(...this.ledger.fileRows(folder).filter((row) => there.has(row.file)));
      }
      const leftovers = this.view.leftoversAmong(folder, names);
      this.leftovers.push(...leftovers);
      if (leftovers.length > 0) quiet = false;
      for (const name of names) {
        if (expected.delete(name) || !isTaskFile(name)) continue;
        const found = this.intake.look(folder, name);
        if (found !== null && !this.intake.sort(found)) quiet = false;
        if (found !== null && isNews(this.intake.meaning(found))) news.push(found);
      }
      // Expected, and not there: the absence is a rollback, unless the file turns up elsewhere as a move by hand.
      for (const id of expected.values()) this.intake.outOfStep.add(id);
      if (expected.size > 0) quiet = false;
    }
    if (news.length > 0) await this.takeIn(news);
    const wrong = this.intake.outOfStep.size + this.intake.stale.length;
    if (await this.check(present, Infinity)) quiet = false;
    return quiet && this.intake.outOfStep.size + this.intake.stale.length === wrong;
  }

  /** Takes news into the ledger; where it can't be written, into a copy of it in memory. */
  private async takeIn(news: readonly Found[]): Promise<void> {
    const told = await this.learn("take in edited task files", () => news.map((found) => this.intake.take(found)));
    for (const line of told) if (line !== null) this.ctx.note(line);
  }

  /** What a look at the files brings; where the ledger can't be written, it goes into a copy of it in memory: reads go on. */
  private async learn<T>(purpose: string, change: () => T): Promise<T> {
    try {
      return await this.transaction(purpose, change);
    } catch (error) {
      if (!isReadOnly(error) || this.ledger.mode === "memory") throw error;
      this.unwritable = error;
      this.intake.ledger = this.ledger.toMemory();
      return await this.transaction(purpose, change);
    }
  }

  /** First sight of this queue: every file becomes a version, byte for byte; nothing is written into the working tree. */
  private async importAll(): Promise<void> {
    const files: Found[] = [];
    const times = this.view.times();
    for (const folder of FOLDERS) {
      for (const name of (listNames(join(this.view.root, folder)) ?? []).sort()) {
        const found = isTaskFile(name) ? this.intake.look(folder, name) : null;
        if (found !== null) files.push(found);
      }
    }
    let imported = 0;
    let ours = false;
    await this.learn("read the task files", () => {
      if (this.ledger.meta("imported") !== undefined) return;
      // Of two files with one id the one that knows more of its past is the task; the other is judged against it.
      const ranked = files.map((found) => ({ found, rank: rankOf(found) })).sort((a, b) => b.rank - a.rank);
      for (const { found } of ranked) {
        const meaning = this.intake.meaning(found);
        if (meaning.is === "new") {
          imported += 1;
          ours ||= asNumber(meaning.doc["revision"]) !== undefined;
        }
        const told = this.intake.take(found);
        if (told !== null && meaning.is !== "edit") this.ctx.note(told);
      }
      this.ledger.setMeta("imported", timestamp(this.ctx.now()));
    });
    if (ours) this.ctx.note(`there was no ledger: rebuilt from ${count(imported, "task file")}`);
    this.recordSeen(
      times,
      FOLDERS,
      this.intake.broken.size === 0 && this.intake.stale.length === 0 && this.intake.outOfStep.size === 0,
      true,
    );
  }

  // ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Compares the files of these tasks with the ledger, takes in edits, and returns the rows as they are then. Call it for
   * whatever an answer shows or a pick depends on.
   */
  async current(rows: readonly TaskRow[], limit = CHECKED_FILES): Promise<readonly TaskRow[]> {
    return (await this.check(rows, limit)) ? rows.map((row) => this.ledger.task(row.id) ?? row) : rows;
  }

  /** The same; true when there was an edit to take in, so that what was read before is out of date. */
  async check(rows: readonly FileRow[], limit = CHECKED_FILES): Promise<boolean> {
    const news: Found[] = [];
    for (const row of rows.slice(0, limit)) {
      const folder = folderOf(row);
      if (folder === null) continue;
      const path = this.view.path(folder, row.file);
      const stamp = stampOf(path);
      if (stamp === null) {
        this.intake.outOfStep.add(row.id);
        continue;
      }
      if (isSame(row, stamp)) continue;
      const found = this.intake.look(folder, row.file);
      if (found === null) continue;
      const meaning = this.intake.meaning(found);
      if (meaning.is === "current") this.restamp.push({ row, stamp });
      else if (isNews(meaning)) news.push(found);
      else this.intake.sort(found);
    }
    if (news.length > 0) await this.takeIn(news);
    return news.length > 0;
  }

  /** The same for every task and every folder: what `doctor` and `task save` rest on. */
  async checkAll(): Promise<void> {
    const times = this.view.times();
    this.intake.forget();
    this.leftovers.length = 0;
    const quiet = await this.scan(FOLDERS, new Set());
    await this.current(this.ledger.tasks("place <> 'removed'"), Infinity);
    this.recordSeen(times, FOLDERS, quiet && this.intake.outOfStep.size === 0, true);
  }

  /** Tells on stderr that the files lag behind, once per command. Call it before a read answers. */
  async finishRead(): Promise<void> {
    const late = this.intake.outOfStep.size + this.intake.stale.length;
    if (late > 0) {
      this.ctx.note(
        `${count(late, "task file")} ${late === 1 ? "isn't" : "aren't"} as the ledger says (a git command took ${late === 1 ? "it" : "them"} back, or a write was cut short); answering from the ledger. The next change, or \`dotbot doctor --fix\`, puts the files right`,
      );
    }
    if (this.restamp.length > 0 && this.ledger.mode === "file") {
      const stamps = this.restamp.splice(0);
      try {
        await this.transaction("note file times", () => {
          for (const { row, stamp } of stamps) {
            const trusted = this.intake.trusted(stamp);
            if (trusted.mtimeMs !== null) this.ledger.setStamp(row.id, row.hash, trusted.size, trusted.mtimeMs);
          }
        });
      } catch (error) {
        // Only a hint for the next reader.
        if (!isReadOnly(error)) throw error;
      }
    }
  }

  document(row: Pick<TaskRow, "id">): JsonObject {
    return parseJson(this.ledger.document(row.id)) as JsonObject;
  }

  /** Absolute path of a task's file, or where it was when it isn't in the queue any more. */
  pathOf(row: TaskRow): string {
    return this.view.path(folderOf(row) ?? row.status, row.file);
  }

  get broken(): readonly BrokenFile[] {
    return [...this.intake.broken.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  get conflicts(): readonly Conflict[] {
    return this.ledger.conflicts().map((row) => ({
      id: row.id,
      name: row.id === null ? null : (this.ledger.task(row.id)?.name ?? null),
      path: join(this.view.root, ...row.path.split("/")),
      hash: row.hash,
      at: row.at,
    }));
  }

  /** What a repair would touch: ids whose file is wrong, and files that show an earlier state. */
  get lag(): { readonly tasks: readonly string[]; readonly stale: readonly string[] } {
    return {
      tasks: [...this.intake.outOfStep].sort(),
      stale: this.intake.stale.map((file) => this.view.path(file.folder, file.file)).sort(),
    };
  }

  // ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes in documents from elsewhere (a snapshot of the queue), by the rules that hold for edited files; then the files
   * follow. `source` names where they came from, in conflicts; `also` is done in the same transaction.
   */
  async takeInForeign(
    documents: readonly ForeignDocument[],
    source: string,
    also: (ledger: Ledger) => void = () => {},
  ): Promise<Taken> {
    this.requireWritable();
    const before = this.view.times();
    const touched = new Map<string, Set<string>>();
    const taken = await this.drawable(`take in ${source}`, touched, () => {
      touched.clear();
      const counts: Record<keyof Taken, number> = { added: 0, updated: 0, same: 0, older: 0, conflicts: 0, broken: 0 };
      for (const document of documents) counts[this.intake.takeForeign(document, source, touched)] += 1;
      also(this.ledger);
      return counts;
    });
    await this.follow(touched, before);
    return taken;
  }

  private requireWritable(): void {
    if (this.unwritable !== null) throw this.unwritable;
    if (this.ledger.mode !== "file") this.ledger.refuseReadOnly();
  }

  private transaction<T>(purpose: string, change: () => T): Promise<T> {
    return this.ledger.write({ waitMs: this.ctx.lockWaitMs, purpose, signal: this.ctx.signal }, change);
  }

  /**
   * One change of the queue. `change` gets a transaction and reads again whatever it decides on. When it returns, the change
   * is made for good; then the files follow. A failure of theirs is told and mended later: it doesn't undo the change.
   */
  async write<T>(purpose: string, change: (tx: Tx) => T): Promise<T> {
    this.requireWritable();
    const before = this.view.times();
    const tx = new Tx(this, this.ctx);
    const result = await this.drawable(purpose, tx.touched, () => {
      tx.begin();
      return change(tx);
    });
    await this.follow(tx.touched, before);
    return result;
  }

  /** A transaction after which the files of `touched` have to follow, whoever lives to see to it. */
  private async drawable<T>(
    purpose: string,
    touched: ReadonlyMap<string, ReadonlySet<string>>,
    change: () => T,
  ): Promise<T> {
    return await this.transaction(purpose, () => {
      const result = change();
      for (const one of this.drawn) this.ledger.dropUndrawn(one);
      for (const [id, places] of touched) {
        const row = this.ledger.task(id);
        if (row !== undefined) this.ledger.addUndrawn(id, row.rev, [...places]);
      }
      return result;
    });
  }

  /** Puts every file right that is known to be wrong; `doctor --fix`. Returns how many were touched. */
  async repair(): Promise<number> {
    const before = this.view.times();
    const lag = this.intake.outOfStep.size + this.intake.stale.length;
    await this.follow(new Map(), before);
    return lag;
  }

  /** Draws what changed, and what was found out of step. */
  private async follow(
    touched: ReadonlyMap<string, ReadonlySet<string>>,
    before: ReadonlyMap<Folder, number>,
  ): Promise<void> {
    const olds = new Map<string, Set<string>>();
    for (const [id, places] of touched) olds.set(id, new Set(places));
    for (const id of this.intake.outOfStep) if (!olds.has(id)) olds.set(id, new Set());
    for (const { folder, file, id } of this.intake.stale) {
      const places = olds.get(id) ?? new Set<string>();
      places.add(`${folder}/${file}`);
      olds.set(id, places);
    }
    this.intake.outOfStep.clear();
    this.intake.stale.length = 0;
    const unknown: Unknown[] = [];
    const folders = new Set<Folder>();
    try {
      for (const [id, places] of olds) this.drawTask(id, places, unknown, folders);
      this.view.sync(folders);
    } catch (error) {
      if (!(error instanceof DotbotError) || error.code !== "READ_ONLY") throw error;
      this.ctx.note(
        `the change is made, but its file isn't: ${error.message}. It follows with the next change that can write there`,
      );
    }
    unknown.push(...this.swept());
    if (unknown.length > 0) await this.keepUnknown(unknown);
    this.recordOwnWrite(before, folders);
    if (touched.size > MANY) await this.settleMany();
  }

  /** After a big change the note of it goes at once: every command until the next write would look at all those files. */
  private async settleMany(): Promise<void> {
    if (this.notDrawn().length > 0) return;
    await this.transaction("note that the files are drawn", () => {
      for (const one of this.drawn) this.ledger.dropUndrawn(one);
    });
  }

  /** Takes away what killed writers left in the folders that were listed. Content that nobody had seen is returned. */
  private swept(): Unknown[] {
    const leftovers = this.leftovers.splice(0);
    try {
      return this.view.sweep(leftovers, this.ctx.now(), (hash) => this.ledger.knowsContent(hash));
    } catch (error) {
      if (error instanceof DotbotError && error.code === "READ_ONLY") return [];
      throw error;
    }
  }

  /** Until the file shows what the ledger says at that moment: another writer may have moved the task on meanwhile. */
  private drawTask(id: string, places: Set<string>, unknown: Unknown[], folders: Set<Folder>): void {
    const known = (hash: string): boolean => this.ledger.knows(id, hash);
    for (;;) {
      const row = this.ledger.task(id);
      if (row === undefined) return;
      const folder = folderOf(row);
      if (folder !== null) {
        const path = this.view.path(folder, row.file);
        const bytes = readBytes(path);
        if (bytes === null || contentHash(bytes) !== row.hash) {
          const met = this.view.draw(
            folder,
            row.file,
            this.ledger.document(id),
            row.mtimeMs ?? this.ctx.now().getTime(),
            known,
          );
          if (met !== null) unknown.push(met);
          folders.add(folder);
        }
        places.delete(`${folder}/${row.file}`);
      }
      for (const place of places) {
        const [oldFolder, file] = placeParts(place);
        const met = this.view.erase(oldFolder, file, known);
        if (met !== null) unknown.push(met);
        folders.add(oldFolder);
      }
      const now = this.ledger.task(id);
      if (now === undefined || (now.rev === row.rev && now.hash === row.hash && now.place === row.place)) return;
      if (folder !== null) places.add(`${folder}/${row.file}`);
    }
  }

  /** Content that was met at a place we had to write to, and that nobody had seen: kept in the ledger as a conflict. */
  private async keepUnknown(unknown: readonly Unknown[]): Promise<void> {
    const at = timestamp(this.ctx.now());
    await this.transaction("keep edits met while writing", () => {
      for (const { folder, file, bytes } of unknown) {
        const { text, valid } = decodeUtf8(bytes);
        const parsed = tryParseJson(text);
        const id =
          valid && parsed.ok && isObject(parsed.value) && typeof parsed.value["id"] === "string"
            ? parsed.value["id"]
            : null;
        this.ledger.addConflict(
          {
            path: `${folder}/${file}`,
            hash: contentHash(bytes),
            id: id !== null && this.ledger.task(id) !== undefined ? id : null,
            kind: id === null ? "broken" : "conflict",
            at,
          },
          bytes,
        );
      }
    });
    for (const { folder, file, temp } of unknown) {
      if (temp !== null) removeFile(temp);
      this.ctx.note(
        `${folder}/${file} had content that the ledger hadn't seen: it is kept, see \`dotbot task resolve --list\``,
      );
    }
  }

  /** Our own write moved the folders' times; if nothing else had, take them over without listing thousands of names. */
  private recordOwnWrite(before: ReadonlyMap<Folder, number>, folders: ReadonlySet<Folder>): void {
    const steady = [...folders].filter(
      (folder) => this.seen[folder]?.mtimeMs === before.get(folder) && before.has(folder),
    );
    if (steady.length > 0) this.recordSeen(this.view.times(), steady, true, false);
  }
}

/** Whether a file is, by its stamp alone, the one that the ledger knows. */
function isSame(row: Pick<FileRow, "size" | "mtimeMs">, stamp: Stamp | null): boolean {
  return (
    stamp !== null && row.mtimeMs !== null && stamp.size === row.size && Math.abs(stamp.mtimeMs - row.mtimeMs) < 0.01
  );
}

/** `todo/a.json`, as the ledger keeps it. */
function placeParts(place: string): [Folder, string] {
  const [folder, ...rest] = place.split("/") as [Folder, ...string[]];
  return [folder, rest.join("/")];
}

function isReadOnly(error: unknown): error is DotbotError {
  return error instanceof DotbotError && error.code === "READ_ONLY";
}
