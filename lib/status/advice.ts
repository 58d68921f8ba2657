/** What to do next, from where one stands. Pure. */
import type { Brief, Standing } from "./facts.ts";

export interface Advice {
  /** A command line, without the leading `dotbot`. */
  readonly run: string;
  readonly does: string;
}

const MOST = 4;

/** The most useful commands now, the first one first; never empty, and never more than fit a glance. */
export function adviceFor({ queue }: Pick<Standing, "queue">): readonly Advice[] {
  if (queue === null) return [{ run: "init", does: "make a queue in this repository" }];
  const { here, held, asks, reviews, next, broken, conflicts } = queue;
  const advice: Advice[] = [];
  if (broken + conflicts > 0) advice.push({ run: "doctor", does: "some task files need a look" });
  if (here !== null) advice.push(...adviceForWorktree(here));
  for (const task of held.slice(0, 1))
    advice.push({ run: `task context ${digits(task)}`, does: `go on with "${task.name}"` });
  for (const task of asks.slice(0, 1))
    advice.push({ run: `task answer ${digits(task)}`, does: `"${task.name}" waits for an answer` });
  for (const task of reviews.slice(0, 1))
    advice.push({ run: `task show ${digits(task)}`, does: `review "${task.name}"` });
  if (here === null && next !== null) advice.push({ run: `task start ${digits(next)}`, does: `begin "${next.name}"` });
  if (advice.length === 0)
    advice.push({ run: "task add 'What is to be done'", does: "nothing is waiting: add a task" });
  return advice.slice(0, MOST);
}

function adviceForWorktree(task: Brief): readonly Advice[] {
  switch (task.status) {
    case "needs-input":
      return [{ run: `task answer ${digits(task)}`, does: "answer its question" }];
    case "needs-review":
      return [
        { run: `task done ${digits(task)}`, does: "accept it" },
        { run: `task start ${digits(task)}`, does: "or work on it again" },
      ];
    case "done":
      return [{ run: `wt complete ${digits(task)}`, does: "land it as one commit" }];
    case "in-progress":
      return [{ run: `task done ${digits(task)}`, does: "when the work is finished" }];
    case "todo":
    case "analysing":
    case "analysed":
      return [{ run: `task start ${digits(task)}`, does: "begin it" }];
    case "failed":
    case "skipped":
      return [{ run: `task reset ${digits(task)}`, does: "take it up again" }];
    case "split":
    case "cancelled":
      return [{ run: `wt remove ${digits(task)}`, does: "its worktree isn't needed any more" }];
  }
}

function digits({ id }: Brief): string {
  return id.slice(0, 8);
}
