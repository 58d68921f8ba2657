/** Tells when a queue may have changed: another process committed, or somebody touched its files. */
import { join } from "node:path";

import type { Ctx } from "../ctx.ts";
import { type FolderWatch, TEMP_PREFIX, watchFolders } from "../files.ts";
import type { Repo } from "../git/repo.ts";
import { Ledger, ledgerFolder } from "./ledger.ts";
import { STATUSES } from "./model.ts";
import { SEEN_FILE, tasksFolder } from "./view.ts";

/** Commits are looked for this often on file systems that tell of no change: one read of one page. */
const UNTOLD_MS = 2000;
/** A change is several events (journal, ledger, files): looked at together. */
const SETTLE_MS = 30;

export class QueueWatch implements Disposable {
  private readonly ctx: Pick<Ctx, "signal" | "lockWaitMs">;
  private readonly ledger: Ledger;
  private readonly folders: FolderWatch;
  private version: number;

  constructor(ctx: Pick<Ctx, "signal" | "lockWaitMs">, repo: Pick<Repo, "stateRoot" | "stateCommonDir">) {
    this.ctx = ctx;
    this.ledger = Ledger.open(repo.stateCommonDir, ctx.lockWaitMs);
    this.version = this.ledger.dataVersion;
    const root = tasksFolder(repo.stateRoot);
    this.folders = watchFolders(
      [ledgerFolder(repo.stateCommonDir), ...STATUSES.map((status) => join(root, status))],
      (name) =>
        name.startsWith("queue.db") || (name.endsWith(".json") && name !== SEEN_FILE && !name.startsWith(TEMP_PREFIX)),
    );
  }

  /** True when something changed since the last call, false when `timeoutMs` passed. Rejects when the call is aborted. */
  async changed(timeoutMs = Infinity): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const left = Math.min(UNTOLD_MS, deadline - performance.now());
      if (left <= 0) return false;
      const touched = await this.folders.next(this.ctx.signal, left);
      if (touched) await Bun.sleep(SETTLE_MS);
      const version = this.ledger.dataVersion;
      if (touched || version !== this.version) {
        this.version = version;
        return true;
      }
    }
  }

  [Symbol.dispose](): void {
    this.folders[Symbol.dispose]();
    this.ledger.close();
  }
}
