/** Filling the queue of a fresh clone from its snapshot branch; for `dotbot init`. */
import { DotbotError } from "../error.ts";
import type { Call } from "../op.ts";
import { quote } from "../text.ts";
import { timestamp } from "./model.ts";
import { Queue } from "./queue.ts";
import { commitOf, noteLoaded, readSnapshot } from "./snapshot.ts";

/** Takes in the snapshot that a ref names; how many tasks there are then. */
export async function loadQueue(call: Call, ref: string): Promise<number> {
  const { repo } = call.target;
  const commit = await commitOf(call, repo, ref);
  if (commit === null) throw new DotbotError("NOT_FOUND", `no commit answers to ${quote(ref)}`);
  using queue = await Queue.open(call, repo);
  const documents = await readSnapshot(call, repo, commit);
  await queue.takeInForeign(documents, ref.replace(/^refs\/(?:heads|remotes)\//, ""), (ledger) =>
    noteLoaded(ledger, commit, timestamp(call.now())),
  );
  return queue.ledger.tasks().length;
}
