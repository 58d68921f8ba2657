/** Where you stand. Bare `dotbot` runs it. */
import * as v from "valibot";

import { operation, type AnyOperation } from "../op.ts";
import { targetFields } from "../target-fields.ts";
import { paint, stripControl, table } from "../text.ts";
import { STATUSES } from "../task/model.ts";
import { adviceFor } from "./advice.ts";
import { countsText, standingOf } from "./facts.ts";

const brief = v.object({ id: v.string(), name: v.string(), status: v.picklist(STATUSES) });

const status = operation({
  name: "status",
  summary: "Show where you stand, and what to do next",
  details:
    "The repository's state root, the checkout you are in and its task, how many tasks are in which status, and the commands that lead on from here. The same as dotbot alone.",
  examples: [
    { run: "status", does: "repository, task, queue, next step", given: ["init", "task add 'Add a login page'"] },
    { run: "status --json", does: "the same, for programs" },
  ],
  effect: "read",
  target: { rule: "queue" },
  surfaces: ["cli"],
  input: v.strictObject({ ...targetFields("Any folder of the repository that is meant, absolute.") }),
  flags: { owner_repo: { value: "owner/repo" } },
  output: v.object({
    stateRoot: v.string(),
    workRoot: v.nullable(v.string()),
    branch: v.nullable(v.string()),
    headSha: v.nullable(v.string()),
    sessionId: v.pipe(v.string(), v.description("As history will name the caller; `unknown` when nothing tells.")),
    queue: v.pipe(
      v.nullable(
        v.object({
          counts: v.record(v.string(), v.number()),
          here: v.pipe(v.nullable(brief), v.description("The task whose worktree this is.")),
          held: v.pipe(v.array(brief), v.description("What the caller holds beside it.")),
          asks: v.pipe(v.array(brief), v.description("What waits for an answer; at most three.")),
          reviews: v.pipe(v.array(brief), v.description("What waits for a review; at most three.")),
          next: v.pipe(v.nullable(brief), v.description("What `task next` would pick.")),
          broken: v.number(),
          conflicts: v.number(),
        }),
      ),
      v.description("null: the repository has no queue yet."),
    ),
    advice: v.array(v.object({ run: v.string(), does: v.string() })),
  }),
  async run(call) {
    const { head, session, queue, ...place } = await standingOf(call);
    return {
      ...place,
      branch: head.branch,
      headSha: head.sha,
      sessionId: session,
      queue:
        queue === null ? null : { ...queue, held: [...queue.held], asks: [...queue.asks], reviews: [...queue.reviews] },
      advice: adviceFor({ queue }).map((it) => ({ ...it })),
    };
  },
  text({ stateRoot, workRoot, branch, headSha, queue, advice }, style) {
    const at = branch ?? (headSha === null ? "no commit yet" : `detached at ${headSha.slice(0, 12)}`);
    const rows: [string, string][] = [["repository", stateRoot]];
    if (workRoot !== null && workRoot !== stateRoot) rows.push(["checkout", workRoot]);
    rows.push(["branch", at]);
    if (queue !== null) {
      const { here, held, counts } = queue;
      if (here !== null) rows.push(["task", `${here.id.slice(0, 8)}  ${shown(here.name)} (${here.status})`]);
      for (const task of held) rows.push(["yours", `${task.id.slice(0, 8)}  ${shown(task.name)} (${task.status})`]);
      rows.push(["queue", countsText(counts) || "empty"]);
    } else rows.push(["queue", "none yet"]);
    const commands = advice.map(({ run, does }) => [`  dotbot ${run}`, paint(style, "dim", `# ${shown(does)}`)]);
    return `${table(rows.map(([name, value]) => [paint(style, "dim", name), value]))}\n${table(commands)}`;
  },
});

function shown(text: string): string {
  return stripControl(text);
}

export const STATUS_OPERATIONS: readonly AnyOperation[] = [status];
