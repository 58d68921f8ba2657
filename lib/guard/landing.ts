/** `guard finish --merge`: a branch as one commit on its base, here, by the way that completes a task's worktree. */
import { join } from "node:path";

import { DotbotError } from "../error.ts";
import { exists } from "../files.ts";
import type { AdvancePlace } from "../git/advance.ts";
import { authorsOf, checkoutOf, coAuthors, forkPoint, land, landingCommit, mergeWork } from "../git/land.ts";
import { moveRef } from "../git/refs.ts";
import { readEntries } from "../journal.ts";
import { withRepositoryLock } from "../lock.ts";
import type { AnyOperation, Call } from "../op.ts";
import { isForeign } from "../target.ts";
import { quote } from "../text.ts";
import { refused } from "./ops/common.ts";
import type { Arguments } from "./spell.ts";

export interface Landing {
  readonly name: string;
  readonly tip: string;
  readonly base: string;
}

/**
 * Lands the branch on its local base; the commit. The branch stays, and its tip is kept as completed. Throws REFUSED, DIRTY,
 * MERGE_CONFLICT, REJECTED, LOCKED; the base and its checkout are as they were then.
 */
export async function landHere(
  call: Call,
  op: AnyOperation,
  input: Arguments,
  branch: Landing,
  title: string,
  body: string,
): Promise<string> {
  if (isForeign(call.target)) {
    throw refused(call, op, input, {
      why: "landing changes the base branch and the checkout that has it, and both are another repository's",
      mismatched: ["merge"],
      hint: "leave merge out: the branch is then pushed, for its owner to take",
      works: { merge: undefined },
    });
  }
  return await withRepository(
    call,
    op,
    async () => await landBranch(call, op, input, branch, [title, body].filter((part) => part !== "").join("\n\n")),
  );
}

async function landBranch(
  call: Call,
  op: AnyOperation,
  input: Arguments,
  branch: Landing,
  text: string,
): Promise<string> {
  const { mainRoot, commonDir } = call.target.repo;
  const place: AdvancePlace = { mainRoot, commonDir };
  const { record, forget } = await import("../wt/journal.ts");
  const name = `finish-${branch.tip.slice(0, 12)}`;
  const hookIn = (await checkoutOf(call, place, branch.base)) ?? call.target.repo.workRoot ?? mainRoot;
  const landed = await land(call, {
    place,
    base: branch.base,
    fetch: false,
    merge: async (old) =>
      await mergeWork(call, place, old, { commit: branch.tip, from: await forkPoint(call, place, old, branch.tip) }),
    commit: async (tree, old) => {
      const authors = await authorsOf(call, mainRoot, await forkPoint(call, place, old, branch.tip), branch.tip);
      return await landingCommit(call, place, {
        tree,
        parent: old,
        message: `${text}\n${coAuthors(authors)}`,
        authors,
        hookIn,
      });
    },
    journal: (move) =>
      record(commonDir, name, { op: "land", at: call.now().toISOString(), next: { is: "advance" }, move: { ...move } }),
    forget: () => forget(commonDir, name),
  });
  if (landed.is === "conflict") {
    throw new DotbotError(
      "MERGE_CONFLICT",
      `${quote(branch.name)} doesn't merge onto ${quote(branch.base)}: ${landed.files
        .slice(0, 5)
        .map((file) => quote(file))
        .join(", ")}`,
      {
        hint: `merge ${quote(branch.base)} into it, resolve there, and finish again; nothing was changed`,
        details: { files: landed.files, branch: branch.name, base: branch.base },
      },
    );
  }
  forget(commonDir, name);
  if (landed.is === "nothing" || landed.commit === null) {
    throw refused(call, op, input, {
      why: `${quote(branch.base)} has all of ${quote(branch.name)} already`,
      hint: "there is nothing to land; the branch can be deleted",
    });
  }
  const done = `refs/dotbot/done/branch-${branch.name.replaceAll("/", "-")}-${branch.tip.slice(0, 8)}`;
  await moveRef(call, mainRoot, { ref: done, to: branch.tip, old: null, why: "dotbot: finish" });
  return landed.commit;
}

/** Nobody else changes branches meanwhile, and what a killed command left is settled first. */
async function withRepository<T>(call: Call, op: AnyOperation, work: () => Promise<T>): Promise<T> {
  const { commonDir, stateRoot } = call.target.repo;
  if (exists(join(stateRoot, ".bot"))) {
    const { withLockedBench } = await import("../wt/bench.ts");
    return await withLockedBench(call, op.name, work);
  }
  return await withRepositoryLock(call, commonDir, op.name, async () => {
    const [left] = readEntries(commonDir);
    if (left === undefined) return await work();
    throw new DotbotError(
      "CONFLICT",
      `a command that was killed left work unfinished, which ${quote(left.path, 300)} describes`,
      {
        hint: "run `dotbot doctor`: it finishes that or takes it back",
        details: { path: left.path },
      },
    );
  });
}
