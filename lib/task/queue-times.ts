/**
 * When each folder of the view was last found in step: what hasn't moved since needn't be listed. A hint, kept beside the ledger;
 * without it everything is looked at once more.
 */
import { RACY_MS } from "./intake.ts";
import type { QueueState } from "./queue-state.ts";
import { type Folder, FOLDERS, readSeen, type Seen, writeSeen } from "./view.ts";

/** Times of folders, as `View.times` gives them. */
export type Times = ReadonlyMap<Folder, number>;

/** A folder whose time was taken over unlisted after our own write is listed again by whoever comes this much later. */
const RECHECK_MS = 2000;

export class FolderTimes {
  private readonly state: QueueState;
  private seen: Seen = {};
  /** The last change of the ledger that these were seen beside. */
  private change = 0;

  constructor(state: QueueState) {
    this.state = state;
  }

  /** Reads what earlier commands have seen: before the ledger is, which has only gone on since. */
  recall(): void {
    const { folders, change } = readSeen(this.state.repo.stateCommonDir, this.state.view.root);
    this.seen = folders;
    this.change = change;
  }

  /** Forgets it where it was of a ledger that knew more than this one does, which has been exchanged for it. */
  beside(change: number): void {
    if (this.change > change) this.seen = {};
  }

  /** Folders that have to be looked at: their time moved, or was only taken over after our own write, a while ago. */
  moved(times: Times): Folder[] {
    const now = this.state.ctx.now().getTime();
    return FOLDERS.filter((folder) => {
      const seen = this.seen[folder];
      return this.isStrange(folder, times) || (seen?.checked === false && now - seen.at > RECHECK_MS);
    });
  }

  /** Whether somebody else was at work in this folder. */
  isStrange(folder: Folder, times: Times): boolean {
    return this.seen[folder]?.mtimeMs !== times.get(folder);
  }

  /** After these folders were listed. Those that weren't `quiet`, or moved a moment ago, are to be listed again next time. */
  listed(times: Times, folders: readonly Folder[], quiet: boolean): void {
    const at = this.state.ctx.now().getTime();
    this.record(times, folders, at, true, (mtimeMs) => quiet && at - mtimeMs > RACY_MS);
  }

  /** Our own write moved the folders' times; if nothing else had, take them over without listing thousands of names. */
  wrote(before: Times, folders: ReadonlySet<Folder>): void {
    const steady = [...folders].filter((folder) => !this.isStrange(folder, before) && before.has(folder));
    if (steady.length === 0) return;
    this.record(this.state.view.times(), steady, this.state.ctx.now().getTime(), false, () => true);
  }

  private record(
    times: Times,
    folders: readonly Folder[],
    at: number,
    checked: boolean,
    trusted: (mtimeMs: number) => boolean,
  ): void {
    const next: Record<string, Seen[string]> = { ...this.seen };
    let changed = false;
    for (const folder of folders) {
      const mtimeMs = times.get(folder);
      const was = next[folder];
      if (mtimeMs !== undefined && trusted(mtimeMs)) next[folder] = { mtimeMs, at, checked };
      else delete next[folder];
      changed ||= was?.mtimeMs !== next[folder]?.mtimeMs || was?.checked !== next[folder]?.checked;
    }
    if (!changed || this.state.ledger.mode !== "file") return;
    this.seen = next;
    writeSeen(this.state.repo.stateCommonDir, this.state.view.root, {
      change: this.state.ledger.lastChange,
      folders: next,
    });
  }
}
