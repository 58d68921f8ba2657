/** What a completion that conflicts asks of the task's people. Nothing in any checkout changes. */
import { DotbotError } from "../error.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { TaskRow } from "../task/ledger.ts";
import { pendingQuestions } from "../task/model.ts";
import { quote, shellWord } from "../text.ts";
import type { Goal } from "./base.ts";
import { wtExample, type Bench } from "./bench.ts";
import type { TaskWorktree } from "./model.ts";
import { followUp } from "./restore.ts";

export interface Conflicting {
  readonly row: TaskRow;
  readonly worktree: TaskWorktree | null;
  readonly branch: string;
  readonly goal: Goal;
  readonly tip: string;
}

/** Moves the task to needs-input with the question what to do; the error says which files conflict. A dry run asks nothing. */
export async function askAboutConflict(
  bench: Bench,
  ready: Conflicting,
  files: readonly string[],
  dryRun: boolean,
): Promise<DotbotError> {
  const { row, goal, worktree } = ready;
  const asked =
    !dryRun &&
    (await followUp(bench, row.id, {
      to: "needs-input",
      from: ["done", "needs-review"],
      reason: `merge conflict with ${goal.base}`,
      branch: ready.branch,
      commit: ready.tip,
      data: (doc, before, { at }) => withConflict(doc, before.status, goal.base, files, at),
    }));
  const where = worktree === null ? "" : `git -C ${shellWord(worktree.path)} merge ${shellWord(goal.base)}`;
  return new DotbotError(
    "MERGE_CONFLICT",
    `${quote(row.name)} (${row.id8}) conflicts with ${quote(goal.base)} in ${files.length} ${files.length === 1 ? "file" : "files"}: ${files
      .slice(0, 8)
      .map((it) => quote(it))
      .join(", ")}`,
    {
      hint: `nothing was changed${asked ? "; the task asks what to do" : ""}: bring the base into the branch, resolve, and say again that it is done`,
      example:
        worktree === null || bench.call.surface === "mcp"
          ? wtExample(bench.call, "sync", row.id8)
          : `dotbot wt sync ${row.id8}`,
      details: { files, base: goal.base, question: asked ? "merge-conflict" : null, resolve: where },
    },
  );
}

function withConflict(doc: JsonObject, from: string, base: string, files: readonly string[], at: string): JsonObject {
  const pending = pendingQuestions(doc).filter((it) => it["type"] !== "merge-conflict");
  const question: JsonObject = {
    id: `merge-conflict-${at}`,
    type: "merge-conflict",
    question: `The branch conflicts with ${base} in ${files.length} ${files.length === 1 ? "file" : "files"}. What now?`,
    context: files.join("\n"),
    options: [
      {
        key: "A",
        label: "Resolve it in the worktree",
        rationale: "bring the base in with `dotbot wt sync`, resolve, and say again that it is done",
      },
      { key: "B", label: "Send the task back to todo", rationale: "the branch stays; the work starts over" },
      { key: "C", label: "Abandon it", rationale: "cancel the task; `dotbot wt remove` keeps the tip" },
    ],
    recommendation: "A",
    asked_at: at,
    asked_from: from === "done" ? "analysed" : from,
  };
  const all: JsonValue[] = [...pending, question];
  return {
    ...doc,
    pending_question: all[0] ?? null,
    ...(all.length > 1 || "pending_questions" in doc ? { pending_questions: all } : {}),
  };
}
