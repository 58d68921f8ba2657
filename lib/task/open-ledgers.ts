/**
 * Connections to ledgers that stay open between calls, in a process that answers many: opening one costs more than most reads.
 * Nothing that was read is kept with them; SQLite itself sees what others have committed meanwhile. Knows nothing of SQLite.
 */

/** An open connection, as far as keeping it goes. */
export interface Kept {
  /** The database file that it has open. */
  readonly path: string;
  /** Says of that file, whatever stands at its path by now, that it is this one. */
  readonly identity: string;
  shut(): void;
}

/** How long one stays open unused: long enough for a burst of calls, and no worry for who moves or deletes the repository. */
const IDLE_MS = 5_000;
/** How many wait at one path; calls that run at once have one each. */
const IDLE_AT_MOST = 4;

export class OpenLedgers<T extends Kept = Kept> {
  private readonly idle = new Map<string, T[]>();
  private timer: Timer | undefined;

  /** One to the file that stands there now, which is the caller's until it is given back. */
  take(path: string, identity: string): T | undefined {
    const kept = this.idle.get(path);
    for (let one = kept?.pop(); one !== undefined; one = kept?.pop()) {
      if (one.identity === identity) return one;
      one.shut();
    }
    return undefined;
  }

  /** For the next call. */
  give(one: T): void {
    const kept = this.idle.get(one.path) ?? [];
    this.idle.set(one.path, kept);
    if (kept.length < IDLE_AT_MOST) kept.push(one);
    else one.shut();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.shut(), IDLE_MS);
    this.timer.unref();
  }

  /** Closes those that nobody uses. */
  shut(): void {
    for (const kept of this.idle.values()) for (const one of kept) one.shut();
    this.idle.clear();
  }
}
