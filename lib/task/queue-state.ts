/** What the parts of an open queue share: where it is, what was found in its files, and the one way into a transaction. */
import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import type { Repo } from "../git/repo.ts";
import { Intake } from "./intake.ts";
import type { Ledger } from "./ledger.ts";
import { type Leftover, tasksFolder, View } from "./view.ts";

/** Places where a task's file was before, by the task's id: its file has to be drawn, and these looked at. */
export type Touched = Map<string, Set<string>>;

export class QueueState {
  readonly ctx: Ctx;
  readonly repo: Repo;
  readonly view: View;
  readonly intake: Intake;
  /** Temporary files in the folders that were listed. */
  readonly leftovers: Leftover[] = [];
  /** Why what was found had to go into a copy in memory. */
  unwritable: DotbotError | null = null;

  constructor(ctx: Ctx, repo: Repo, ledger: Ledger) {
    this.ctx = ctx;
    this.repo = repo;
    this.view = new View(tasksFolder(repo.stateRoot), ctx.pid);
    this.intake = new Intake(ctx, ledger, this.view);
  }

  get ledger(): Ledger {
    return this.intake.ledger;
  }

  /** How many files are known to be wrong: not as the ledger says, or showing an earlier state. */
  get late(): number {
    return this.intake.outOfStep.size + this.intake.stale.length;
  }

  /** Forgets what was found, before looking again. */
  forget(): void {
    this.intake.forget();
    this.leftovers.length = 0;
  }

  /** One transaction of the ledger, as long and as interruptible as the caller's context says. */
  transaction<T>(purpose: string, change: () => T, waitMs = this.ctx.lockWaitMs): Promise<T> {
    return this.ledger.write({ waitMs, purpose, signal: this.ctx.signal }, change);
  }
}

export function isReadOnly(error: unknown): error is DotbotError {
  return error instanceof DotbotError && error.code === "READ_ONLY";
}
