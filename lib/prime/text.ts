/** What an agent has to know to work in this repository, in under 2 KB, with this repository's own values. Pure. */
import { type Brief, countsText, type Standing } from "../status/facts.ts";
import { shellWord, stripControl, truncate } from "../text.ts";

export interface Primer extends Standing {
  /** The branch that tasks start from, where settings name it. */
  readonly baseBranch: string | null;
  /** Commands find the session by themselves. */
  readonly sessionIsSet: boolean;
}

/** The bound is on bytes, and names are the only part that varies: this is what they may take. */
const NAME = 40;

export function primerText(primer: Primer): string {
  const { stateRoot, workRoot, head, session, queue, baseBranch } = primer;
  if (queue === null) {
    return `This repository (${stateRoot}) has no dotbot queue yet; \`dotbot init\` makes one. Work without it until somebody asks for one.\n`;
  }
  const { here, held, next, counts } = queue;
  return [
    "# Work in this repository goes through dotbot",
    "",
    `- Queue: ${stateRoot} (${countsText(counts) || "empty"}); it is shared by all worktrees, never edit its files by hand`,
    `- You are in ${workRoot ?? "no checkout"}, branch ${head.branch ?? "none (detached)"}${baseBranch === null ? "" : `; tasks start from ${baseBranch}`}`,
    `- ${sessionLine(session, primer.sessionIsSet)}`,
    ...(here === null ? [] : [`- This worktree is the task's: ${named(here)}`]),
    ...held.slice(0, 2).map((it) => `- You hold: ${named(it)}`),
    ...(next === null ? ["- Nothing is ready to be picked"] : [`- Next task: ${named(next)}`]),
    "",
    "The loop:",
    "1. `dotbot task start --next` takes and begins a task (several agents never get the same one); `dotbot task context <task>` says what it is about.",
    "2. `dotbot wt create <task>` makes its branch and worktree. Work and commit in the folder it names, never in the main checkout.",
    "3. A question only a person can answer: `dotbot task ask <task> --question '…'`, then take another task. Impossible: `dotbot task fail <task> --reason '…'`.",
    "4. `dotbot task done <task>` verifies; `dotbot wt complete <task>` lands it as exactly one commit.",
    "",
    "Rules: never merge, push or delete a task's branch yourself. Found more work? `dotbot task add '…'`. `--json` on every command is for you; an error's `example` is a call that works. Exit 1 is an answer (nothing to pick, verification failed), 4 means refused to protect work: read the hint, don't force.",
    "",
  ].join("\n");
}

function sessionLine(session: string, isSet: boolean): string {
  const known = truncate(stripControl(session), 64);
  if (session === "unknown") {
    return "Your session id isn't known here: pass --session <id> with every command, or export DOTBOT_SESSION, so that claims and history are yours";
  }
  return isSet
    ? `Your session id: ${known} (in the environment, where commands find it)`
    : `Your session id: ${known}; pass --session ${shellWord(known)} with every command, or export DOTBOT_SESSION`;
}

function named({ id, name, status }: Brief): string {
  return `${id.slice(0, 8)} ${truncate(stripControl(name), NAME)} (${status})`;
}

/** A line of shell that hands the session on to every command of it. */
export function exportLine(session: string): string {
  return `export DOTBOT_SESSION=${shellWord(session)}\n`;
}
