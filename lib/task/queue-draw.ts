/**
 * Bringing the view after the ledger: files of changed tasks are drawn, those that show an earlier state are taken away, and what
 * killed writers left is swept. Content that the ledger has never seen is kept in it before its file goes.
 */
import { readBytes, removeFile } from "../files.ts";
import { decodeUtf8, tryParseJson } from "../json.ts";
import { isObject, timestamp } from "./model.ts";
import { isReadOnly, type QueueState, type Touched } from "./queue-state.ts";
import type { FolderTimes, Times } from "./queue-times.ts";
import type { UndrawnChanges } from "./queue-undrawn.ts";
import { contentHash, type Folder, folderOf, placeParts, type Unknown } from "./view.ts";

/** Changes of more tasks than this at once are noted as drawn in a transaction of their own. */
const MANY = 100;

export class Drawer {
  private readonly state: QueueState;
  private readonly times: FolderTimes;
  private readonly undrawn: UndrawnChanges;

  constructor(state: QueueState, times: FolderTimes, undrawn: UndrawnChanges) {
    this.state = state;
    this.times = times;
    this.undrawn = undrawn;
  }

  /**
   * One change of the ledger, and then its files: `touched`, which `change` fills, says which. The change itself notes that they
   * have to follow, whoever lives to see to it. A failure of theirs is told and mended later: it doesn't undo the change.
   */
  async write<T>(purpose: string, touched: Touched, change: () => T): Promise<T> {
    const { state } = this;
    const before = state.view.times();
    const result = await state.transaction(purpose, () => {
      const made = change();
      this.undrawn.dropDrawn();
      for (const [id, places] of touched) {
        const row = state.ledger.task(id);
        if (row !== undefined) state.ledger.addUndrawn(id, row.rev, [...places]);
      }
      return made;
    });
    await this.follow(touched, before);
    return result;
  }

  /** Puts every file right that is known to be wrong. */
  async repair(): Promise<void> {
    await this.follow(new Map(), this.state.view.times());
  }

  /** Draws what changed, and what was found out of step. `before`: the folders' times before the change. */
  private async follow(touched: Touched, before: Times): Promise<void> {
    const { ctx, intake, view } = this.state;
    const olds: Touched = new Map();
    for (const [id, places] of touched) olds.set(id, new Set(places));
    for (const id of intake.outOfStep) if (!olds.has(id)) olds.set(id, new Set());
    for (const { folder, file, id } of intake.stale) {
      const places = olds.get(id) ?? new Set<string>();
      places.add(`${folder}/${file}`);
      olds.set(id, places);
    }
    intake.outOfStep.clear();
    intake.stale.length = 0;
    const unknown: Unknown[] = [];
    const folders = new Set<Folder>();
    try {
      for (const [id, places] of olds) this.drawTask(id, places, unknown, folders);
      view.sync(folders);
    } catch (error) {
      if (!isReadOnly(error)) throw error;
      ctx.note(
        `the change is made, but its file isn't: ${error.message}. It follows with the next change that can write there`,
      );
    }
    unknown.push(...this.swept());
    if (unknown.length > 0) await this.keepUnknown(unknown);
    this.times.wrote(before, folders);
    if (touched.size > MANY) await this.settleMany();
  }

  /** Until the file shows what the ledger says at that moment: another writer may have moved the task on meanwhile. */
  private drawTask(id: string, places: Set<string>, unknown: Unknown[], folders: Set<Folder>): void {
    const { ctx, ledger, view } = this.state;
    const known = (hash: string): boolean => ledger.knows(id, hash);
    for (;;) {
      const { row, text } = ledger.current(id);
      if (row === undefined) return;
      const folder = folderOf(row);
      if (folder !== null) {
        const bytes = readBytes(view.path(folder, row.file));
        if (bytes === null || contentHash(bytes) !== row.hash) {
          const mtimeMs = row.mtimeMs ?? ctx.now().getTime();
          const met = view.draw(folder, row.file, text, mtimeMs, known);
          if (met !== null) unknown.push(met);
          folders.add(folder);
        }
        places.delete(`${folder}/${row.file}`);
      }
      for (const place of places) {
        const [oldFolder, file] = placeParts(place);
        const met = view.erase(oldFolder, file, known);
        if (met !== null) unknown.push(met);
        folders.add(oldFolder);
      }
      const now = ledger.task(id);
      if (now === undefined || (now.rev === row.rev && now.hash === row.hash && now.place === row.place)) return;
      if (folder !== null) places.add(`${folder}/${row.file}`);
    }
  }

  /** Takes away what killed writers left in the folders that were listed. Content that nobody had seen is returned. */
  private swept(): Unknown[] {
    const { ctx, ledger, view } = this.state;
    const leftovers = this.state.leftovers.splice(0);
    try {
      return view.sweep(leftovers, ctx.now(), (hash) => ledger.knowsContent(hash));
    } catch (error) {
      if (isReadOnly(error)) return [];
      throw error;
    }
  }

  /** Content that was met at a place we had to write to, and that nobody had seen: kept in the ledger as a conflict. */
  private async keepUnknown(unknown: readonly Unknown[]): Promise<void> {
    const { ctx, ledger } = this.state;
    const at = timestamp(ctx.now());
    await this.state.transaction("keep edits met while writing", () => {
      for (const { folder, file, bytes } of unknown) {
        const id = idIn(bytes);
        ledger.addConflict(
          {
            path: `${folder}/${file}`,
            hash: contentHash(bytes),
            id: id !== null && ledger.task(id) !== undefined ? id : null,
            kind: id === null ? "broken" : "conflict",
            at,
          },
          bytes,
        );
      }
    });
    for (const { folder, file, temp } of unknown) {
      if (temp !== null) removeFile(temp);
      ctx.note(
        `${folder}/${file} had content that the ledger hadn't seen: it is kept, see \`dotbot task resolve --list\``,
      );
    }
  }

  /** After a big change the note of it goes at once: every command until the next write would look at all those files. */
  private async settleMany(): Promise<void> {
    if (this.undrawn.late().length > 0) return;
    await this.state.transaction("note that the files are drawn", () => this.undrawn.dropDrawn());
  }
}

/** The id that a task file names, or null for what can't be read as one. */
function idIn(bytes: Uint8Array): string | null {
  const { text, valid } = decodeUtf8(bytes);
  const parsed = tryParseJson(text);
  return valid && parsed.ok && isObject(parsed.value) && typeof parsed.value["id"] === "string"
    ? parsed.value["id"]
    : null;
}
