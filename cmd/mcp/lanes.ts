/**
 * Who may run now: writes to one repository one after the other, in the order in which they came; reads beside them, as many
 * at a time as the process has file descriptors and memory for.
 */

/** Gives back what was waited for; more than once does no harm. */
export type Release = () => void;

/** At most `room` holders at once; the others wait in line. */
export class Slots {
  private room: number;
  private readonly line: (() => void)[] = [];

  constructor(room: number) {
    this.room = room;
  }

  /** Rejects with the signal's reason when that comes first. */
  async take(signal: AbortSignal): Promise<Release> {
    signal.throwIfAborted();
    if (this.room > 0) this.room--;
    else await this.wait(signal);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = this.line.shift();
      if (next === undefined) this.room++;
      else next();
    };
  }

  get isIdle(): boolean {
    return this.room > 0 && this.line.length === 0;
  }

  private async wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      const at = this.line.indexOf(resolve);
      // Called up already: it is the holder's to give back.
      if (at < 0) return;
      this.line.splice(at, 1);
      reject(signal.reason);
    };
    this.line.push(resolve);
    signal.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", leave));
  }
}

/** One holder at a time for each key. */
export class Lanes {
  private readonly lanes = new Map<string, Slots>();

  async take(key: string, signal: AbortSignal): Promise<Release> {
    const lane = this.lanes.get(key) ?? new Slots(1);
    this.lanes.set(key, lane);
    const release = await lane.take(signal);
    return () => {
      release();
      if (lane.isIdle) this.lanes.delete(key);
    };
  }
}
