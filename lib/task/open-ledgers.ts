/**
 * Connections to ledgers that stay open between calls, in a process that answers many: opening one costs more than most reads.
 * Nothing that was read is kept with them; SQLite itself sees what others have committed meanwhile. Knows nothing of SQLite.
 */

/** An open connection, as far as keeping it goes. */
export interface Kept {
  /** The database file that it has open. */
  readonly path: string;
  /** How that file was when it was given back: in anything else, a copy over it for one, it has nothing to find. */
  readonly identity: string;
  shut(): void;
}

/** How long one stays open unused: long enough for a burst of calls, and no worry for who moves or deletes the repository. */
const IDLE_MS = 5_000;
/** How many wait, of all repositories. */
const IDLE_AT_MOST = 16;

export class OpenLedgers<T extends Kept = Kept> {
  /** Longest unused first. */
  private readonly idle: { readonly one: T; readonly since: number }[] = [];
  private timer: Timer | undefined;

  /** One to the file that stands there now, as it is; the caller's until it is given back. */
  take(path: string, identity: string): T | undefined {
    for (;;) {
      const at = this.idle.findLastIndex(({ one }) => one.path === path);
      const [found] = at < 0 ? [] : this.idle.splice(at, 1);
      if (found === undefined || found.one.identity === identity) return found?.one;
      found.one.shut();
    }
  }

  /** For the next call. */
  give(one: T): void {
    this.idle.push({ one, since: performance.now() });
    if (this.idle.length > IDLE_AT_MOST) this.idle.shift()?.one.shut();
    this.timer ??= setTimeout(() => this.sweep(), IDLE_MS).unref();
  }

  /** Closes those that nobody uses. */
  shut(): void {
    clearTimeout(this.timer);
    for (const { one } of this.idle.splice(0)) one.shut();
  }

  /** Closes those that nobody has used for long. */
  private sweep(): void {
    const old = performance.now() - IDLE_MS;
    while (this.idle[0] !== undefined && this.idle[0].since <= old) this.idle.shift()?.one.shut();
    const [next] = this.idle;
    this.timer = next === undefined ? undefined : setTimeout(() => this.sweep(), next.since - old).unref();
  }
}
