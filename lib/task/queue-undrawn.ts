/**
 * Changes that the ledger notes as undrawn. A writer that was killed between its commit and its files has moved no folder's time:
 * only the ledger knows of it.
 */
import { readBytes, stampOf } from "../files.ts";
import type { TaskRow, Undrawn } from "./ledger.ts";
import type { QueueState } from "./queue-state.ts";
import { contentHash, type Folder, folderOf, isSame, placeParts } from "./view.ts";

/** A task whose file hasn't followed, with the places where an earlier state is still shown. */
export interface LateTask {
  readonly id: string;
  readonly places: readonly string[];
}

export class UndrawnChanges {
  private readonly state: QueueState;
  /** Those whose files are right. */
  private readonly drawn: Undrawn[] = [];

  constructor(state: QueueState) {
    this.state = state;
  }

  /** Compares the files of all noted changes with the ledger: those that haven't followed. */
  late(): LateTask[] {
    const { ledger } = this.state;
    this.drawn.length = 0;
    const late: LateTask[] = [];
    for (const change of ledger.undrawn()) {
      const row = ledger.task(change.id);
      if (row === undefined) continue;
      const folder = folderOf(row);
      const here = folder === null ? null : `${folder}/${row.file}`;
      const places = change.places.filter((place) => place !== here && this.showsKnown(row.id, place));
      if (places.length > 0 || (folder !== null && !this.isShown(row, folder))) late.push({ id: row.id, places });
      else this.drawn.push(change);
    }
    return late;
  }

  /** Takes the notes back whose files were right at the last look; inside a transaction. */
  dropDrawn(): void {
    for (const one of this.drawn) this.state.ledger.dropUndrawn(one);
  }

  private isShown(row: TaskRow, folder: Folder): boolean {
    const path = this.state.view.path(folder, row.file);
    if (isSame(row, stampOf(path))) return true;
    const bytes = readBytes(path);
    // Content that nobody has seen is an edit, and not for a redraw to take away.
    return bytes !== null && (contentHash(bytes) === row.hash || !this.state.ledger.knows(row.id, contentHash(bytes)));
  }

  private showsKnown(id: string, place: string): boolean {
    const bytes = readBytes(this.state.view.path(...placeParts(place)));
    return bytes !== null && this.state.ledger.knows(id, contentHash(bytes));
  }
}
