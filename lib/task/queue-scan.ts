/**
 * Looking at the view: what changed in its files since they were last seen in step is taken into the ledger, and what lags behind
 * the ledger is noted for the next writer. Nothing here writes into the working tree.
 */
import { join } from "node:path";

import { DotbotError } from "../error.ts";
import { listNames, stampOf, type Stamp } from "../files.ts";
import { asNumber } from "../json.ts";
import { count } from "../text.ts";
import { type Found, isNews, isTaskFile, rankOf } from "./intake.ts";
import type { FileRow } from "./ledger.ts";
import { timestamp } from "./model.ts";
import { isReadOnly, type QueueState } from "./queue-state.ts";
import type { FolderTimes, Times } from "./queue-times.ts";
import type { LateTask, UndrawnChanges } from "./queue-undrawn.ts";
import { type Folder, folderOf, FOLDERS, isSame, placeParts } from "./view.ts";

/** How long another process gets to bring its files after its commit, before they are called out of step. */
const SETTLE_MS = 20;

export class Scanner {
  private readonly state: QueueState;
  private readonly times: FolderTimes;
  private readonly undrawn: UndrawnChanges;
  /** Files that are right but have another time than the ledger thought. */
  private readonly restamp: { row: FileRow; stamp: Stamp }[] = [];

  constructor(state: QueueState, times: FolderTimes, undrawn: UndrawnChanges) {
    this.state = state;
    this.times = times;
    this.undrawn = undrawn;
  }

  /** Looks at folders whose time moved since they were last seen in step, and takes in what is new. */
  async refresh(): Promise<void> {
    const { ledger, view } = this.state;
    this.times.recall();
    const known = ledger.snapshot(() =>
      ledger.meta("imported") === undefined ? null : { late: this.undrawn.late(), change: ledger.lastChange },
    );
    this.times.beside(known?.change ?? 0);
    if (known === null) {
      await this.importAll();
      return;
    }
    const times = view.times();
    const moved = this.times.moved(times);
    if (moved.length > 0) await this.lookInto(moved, times);
    await this.lookForUndrawn(moved.length > 0 ? this.undrawn.late() : known.late);
  }

  private async lookInto(moved: readonly Folder[], times: Times): Promise<void> {
    // After our own write a folder is only listed; where somebody else was at work, files may have changed in place as well.
    const strange = new Set(moved.filter((folder) => this.times.isStrange(folder, times)));
    let quiet = await this.scan(moved, strange);
    if (!quiet && this.state.late > 0) {
      // Most often another process is between its commit and its files: look once more before calling it out of step.
      await Bun.sleep(SETTLE_MS);
      this.state.forget();
      quiet = await this.scan(moved, strange);
    }
    this.times.listed(times, moved, quiet);
  }

  /** `seen`: what was late a moment ago. */
  private async lookForUndrawn(seen: readonly LateTask[]): Promise<void> {
    let late = seen;
    if (late.length > 0) {
      await Bun.sleep(SETTLE_MS);
      late = this.undrawn.late();
    }
    const { outOfStep, stale } = this.state.intake;
    for (const { id, places } of late) {
      outOfStep.add(id);
      for (const place of places) {
        const [folder, file] = placeParts(place);
        if (!stale.some((one) => one.folder === folder && one.file === file)) stale.push({ folder, file, id });
      }
    }
  }

  /**
   * Lists folders and takes in what is there; in the `strange` ones the stamps of the expected files are looked at, too. True
   * when all of it is as the ledger says.
   */
  private async scan(folders: readonly Folder[], strange: ReadonlySet<Folder>): Promise<boolean> {
    const { intake, view } = this.state;
    const news: Found[] = [];
    const present: FileRow[] = [];
    let quiet = true;
    for (const folder of folders) {
      const names = listNames(join(view.root, folder)) ?? [];
      const expected = this.state.ledger.filesIn(folder);
      if (strange.has(folder)) {
        const there = new Set(names);
        present.push(...this.state.ledger.fileRows(folder).filter((row) => there.has(row.file)));
      }
      const leftovers = view.leftoversAmong(folder, names);
      this.state.leftovers.push(...leftovers);
      if (leftovers.length > 0) quiet = false;
      for (const name of names) {
        if (expected.delete(name) || !isTaskFile(name)) continue;
        const found = intake.look(folder, name);
        if (found !== null && !intake.sort(found)) quiet = false;
        if (found !== null && isNews(intake.meaning(found))) news.push(found);
      }
      // Expected, and not there: the absence is a rollback, unless the file turns up elsewhere as a move by hand.
      for (const id of expected.values()) intake.outOfStep.add(id);
      if (expected.size > 0) quiet = false;
    }
    if (news.length > 0) await this.takeIn(news);
    const wrong = this.state.late;
    if (await this.check(present)) quiet = false;
    return quiet && this.state.late === wrong;
  }

  /** Compares the files of these tasks with the ledger. True when there was an edit to take in. */
  async check(rows: readonly FileRow[]): Promise<boolean> {
    const { intake, view } = this.state;
    const news: Found[] = [];
    for (const row of rows) {
      const folder = folderOf(row);
      if (folder === null) continue;
      const stamp = stampOf(view.path(folder, row.file));
      if (stamp === null) {
        intake.outOfStep.add(row.id);
        continue;
      }
      if (isSame(row, stamp)) continue;
      const found = intake.look(folder, row.file);
      if (found === null) continue;
      const meaning = intake.meaning(found);
      if (meaning.is === "current") this.restamp.push({ row, stamp });
      else if (isNews(meaning)) news.push(found);
      else intake.sort(found);
    }
    if (news.length > 0) await this.takeIn(news);
    return news.length > 0;
  }

  /** Every task and every folder, whatever their times. */
  async checkAll(): Promise<void> {
    const { intake, view } = this.state;
    const times = view.times();
    this.state.forget();
    const quiet = await this.scan(FOLDERS, new Set());
    await this.check(this.state.ledger.tasks("place <> 'removed'"));
    this.times.listed(times, FOLDERS, quiet && intake.outOfStep.size === 0);
  }

  /** Notes the times of files that were found right, so that the next reader needn't read them. */
  async noteStamps(): Promise<void> {
    if (this.restamp.length === 0 || this.state.ledger.mode !== "file") return;
    const stamps = this.restamp.splice(0);
    try {
      const note = (): void => {
        for (const { row, stamp } of stamps) {
          const trusted = this.state.intake.trusted(stamp);
          if (trusted.mtimeMs !== null) this.state.ledger.setStamp(row.id, row.hash, trusted.size, trusted.mtimeMs);
        }
      };
      await this.state.transaction("note file times", note, 0);
    } catch (error) {
      // Only a hint for the next reader: not worth waiting for, nor failing.
      if (!(error instanceof DotbotError) || !["READ_ONLY", "LOCKED"].includes(error.code)) throw error;
    }
  }

  /** Takes news into the ledger; where it can't be written, into a copy of it in memory. */
  private async takeIn(news: readonly Found[]): Promise<void> {
    const { ctx, intake } = this.state;
    const told = await this.learn("take in edited task files", () => news.map((found) => intake.take(found)));
    for (const line of told) if (line !== null) ctx.note(line);
  }

  /** What a look at the files brings; where the ledger can't be written, it goes into a copy of it in memory: reads go on. */
  private async learn<T>(purpose: string, change: () => T): Promise<T> {
    try {
      return await this.state.transaction(purpose, change);
    } catch (error) {
      if (!isReadOnly(error) || this.state.ledger.mode === "memory") throw error;
      this.state.unwritable = error;
      this.state.intake.ledger = this.state.ledger.toMemory();
      return await this.state.transaction(purpose, change);
    }
  }

  /** First sight of this queue: every file becomes a version, byte for byte. */
  private async importAll(): Promise<void> {
    const { ctx, intake, view } = this.state;
    const files: Found[] = [];
    const times = view.times();
    for (const folder of FOLDERS) {
      for (const name of (listNames(join(view.root, folder)) ?? []).sort()) {
        const found = isTaskFile(name) ? intake.look(folder, name) : null;
        if (found !== null) files.push(found);
      }
    }
    let imported = 0;
    let ours = false;
    await this.learn("read the task files", () => {
      // Done again where the first try couldn't be written down.
      imported = 0;
      if (this.state.ledger.meta("imported") !== undefined) return;
      // Of two files with one id the one that knows more of its past is the task; the other is judged against it.
      const ranked = files.map((found) => ({ found, rank: rankOf(found) })).sort((a, b) => b.rank - a.rank);
      for (const { found } of ranked) {
        const meaning = intake.meaning(found);
        if (meaning.is === "new") {
          imported += 1;
          ours ||= asNumber(meaning.doc["revision"]) !== undefined;
        }
        const told = intake.take(found);
        if (told !== null && meaning.is !== "edit") ctx.note(told);
      }
      this.state.ledger.setMeta("imported", timestamp(ctx.now()));
    });
    if (ours) ctx.note(`there was no ledger: rebuilt from ${count(imported, "task file")}`);
    this.times.listed(times, FOLDERS, intake.broken.size === 0 && this.state.late === 0);
  }
}
