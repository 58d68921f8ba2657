/**
 * The queue: ledger and view together. Opening it looks at what changed in the view since; reading answers from the ledger;
 * writing is one transaction, after which the view follows.
 *
 * Invariants: an acknowledged write is in the ledger. Nothing the ledger has never seen is deleted. A read never writes into
 * the working tree.
 *
 * Looking at files is queue-scan.ts, bringing them after the ledger queue-draw.ts; here is what the rest of the program calls.
 */
import { join } from "node:path";

import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { exists } from "../files.ts";
import type { Repo } from "../git/repo.ts";
import { type JsonObject, parseJson } from "../json.ts";
import { isDamage } from "../sqlite.ts";
import { pause } from "./ledger-database.ts";
import { count, quote } from "../text.ts";
import type { BrokenFile, ForeignDocument, Taken } from "./intake.ts";
import { type FileRow, Ledger, ledgerFolder, setAside, type TaskRow } from "./ledger.ts";
import { Drawer } from "./queue-draw.ts";
import { Scanner } from "./queue-scan.ts";
import { QueueState, type Touched } from "./queue-state.ts";
import { FolderTimes } from "./queue-times.ts";
import { UndrawnChanges } from "./queue-undrawn.ts";
import { Tx } from "./tx.ts";
import { folderOf, type View } from "./view.ts";

export { Tx } from "./tx.ts";

/** Two versions of one task of which neither continues the other; the ledger's stands until it is settled. */
export interface Conflict {
  readonly id: string | null;
  readonly name: string | null;
  /** Absolute path where the other version was found. */
  readonly path: string;
  readonly hash: string;
  readonly at: string;
}

/** Lists check the files of this many tasks, one by one; beyond it only the folders' times are looked at. */
export const CHECKED_FILES = 2000;

/** How long a process, with its queue open, may stand still for a commit of another one: a server, and any other. */
const SERVER_BLOCK_MS = 1_000;
const BLOCK_MS = 10_000;

export class Queue {
  private readonly state: QueueState;
  private readonly scanner: Scanner;
  private readonly drawer: Drawer;

  private constructor(ctx: Ctx, repo: Repo, ledger: Ledger) {
    this.state = new QueueState(ctx, repo, ledger);
    const times = new FolderTimes(this.state);
    const undrawn = new UndrawnChanges(this.state);
    this.scanner = new Scanner(this.state, times, undrawn);
    this.drawer = new Drawer(this.state, times, undrawn);
  }

  get repo(): Repo {
    return this.state.repo;
  }

  get stateRoot(): string {
    return this.state.repo.stateRoot;
  }

  get view(): View {
    return this.state.view;
  }

  get ledger(): Ledger {
    return this.state.ledger;
  }

  /**
   * Opens the queue of a repository and takes in what changed in its files. Errors: NO_QUEUE where there is neither a `.bot`
   * nor a ledger; LEDGER_DAMAGED where it can't be read nor rebuilt.
   */
  static async open(ctx: Ctx, repo: Repo): Promise<Queue> {
    if (!exists(join(repo.stateRoot, ".bot")) && !exists(join(ledgerFolder(repo.stateCommonDir), "queue.db"))) {
      throw new DotbotError("NO_QUEUE", `${quote(repo.stateRoot, 300)} has no .bot folder`, {
        hint: "make one with `dotbot init`",
        example: "dotbot init",
        details: { stateRoot: repo.stateRoot },
      });
    }
    const deadline = performance.now() + ctx.lockWaitMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await Queue.tryOpen(ctx, repo);
      } catch (error) {
        if (!(error instanceof DotbotError) || error.code !== "LOCKED") throw error;
        if (performance.now() >= deadline) throw waited(error, ctx.lockWaitMs);
        await pause(attempt);
        ctx.signal.throwIfAborted();
      }
    }
  }

  /** Without waiting for a commit in progress: LOCKED. */
  private static async tryOpen(ctx: Ctx, repo: Repo): Promise<Queue> {
    let queue = new Queue(ctx, repo, Queue.openLedger(ctx, repo));
    try {
      try {
        await queue.scanner.refresh();
      } catch (error) {
        if (!isDamage(error)) throw error;
        queue.close();
        queue = new Queue(ctx, repo, Queue.replaceDamaged(ctx, repo));
        await queue.scanner.refresh();
      }
    } catch (error) {
      queue.close();
      throw error;
    }
    // The lock is seldom held for more than a few milliseconds at a time; a server has others to serve.
    queue.ledger.block(Math.min(ctx.lockWaitMs, ctx.ledgers === undefined ? BLOCK_MS : SERVER_BLOCK_MS));
    return queue;
  }

  private static openLedger(ctx: Ctx, repo: Repo): Ledger {
    try {
      return Ledger.open(repo.stateCommonDir, 0, ctx.ledgers);
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
    return Ledger.open(repo.stateCommonDir, ctx.lockWaitMs, ctx.ledgers);
  }

  close(): void {
    this.ledger.close();
  }

  [Symbol.dispose](): void {
    this.close();
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
    return await this.scanner.check(rows.slice(0, limit));
  }

  /** The same for every task and every folder: what `doctor` and `task save` rest on. */
  async checkAll(): Promise<void> {
    await this.scanner.checkAll();
  }

  /** Tells on stderr that the files lag behind, once per command. Call it before a read answers. */
  async finishRead(): Promise<void> {
    const { late } = this.state;
    if (late > 0) {
      this.state.ctx.note(
        `${count(late, "task file")} ${late === 1 ? "isn't" : "aren't"} as the ledger says (a git command took ${late === 1 ? "it" : "them"} back, or a write was cut short); answering from the ledger. The next change, or \`dotbot doctor --fix\`, puts the files right`,
      );
    }
    await this.scanner.noteStamps();
  }

  document(row: Pick<TaskRow, "id">): JsonObject {
    return parseJson(this.ledger.document(row.id)) as JsonObject;
  }

  /** Absolute path of a task's file, or where it was when it isn't in the queue any more. */
  pathOf(row: TaskRow): string {
    return this.view.path(folderOf(row) ?? row.status, row.file);
  }

  get broken(): readonly BrokenFile[] {
    return [...this.state.intake.broken.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
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
      tasks: [...this.state.intake.outOfStep].sort(),
      stale: this.state.intake.stale.map((file) => this.view.path(file.folder, file.file)).sort(),
    };
  }

  // ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * One change of the queue. `change` gets a transaction and reads again whatever it decides on. When it returns, the change
   * is made for good; then the files follow. A failure of theirs is told and mended later: it doesn't undo the change.
   */
  async write<T>(purpose: string, change: (tx: Tx) => T): Promise<T> {
    this.requireWritable();
    const tx = new Tx(this, this.state.ctx);
    return await this.drawer.write(purpose, tx.touched, () => {
      tx.begin();
      return change(tx);
    });
  }

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
    const touched: Touched = new Map();
    return await this.drawer.write(`take in ${source}`, touched, () => {
      touched.clear();
      const counts: Record<keyof Taken, number> = { added: 0, updated: 0, same: 0, older: 0, conflicts: 0, broken: 0 };
      for (const document of documents) counts[this.state.intake.takeForeign(document, source, touched)] += 1;
      also(this.ledger);
      return counts;
    });
  }

  /** Puts every file right that is known to be wrong; `doctor --fix`. Returns how many were touched. */
  async repair(): Promise<number> {
    const { late } = this.state;
    await this.drawer.repair();
    return late;
  }

  private requireWritable(): void {
    if (this.state.unwritable !== null) throw this.state.unwritable;
    if (this.ledger.mode !== "file") this.ledger.refuseReadOnly();
  }
}

/** The same refusal with the time that it took to come to it. */
function waited(error: DotbotError, ms: number): DotbotError {
  const { code, message, ...extra } = error.facts();
  return new DotbotError(code, message.replace(/waited \d+ ms$/, `waited ${ms} ms`), extra);
}
