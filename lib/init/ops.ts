/** `dotbot init`: once per repository, and again whenever something of it is missing. */
import * as v from "valibot";

import { DotbotError } from "../error.ts";
import { echoFields, echoLine } from "../git/echo.ts";
import { operation, type AnyOperation } from "../op.ts";
import { count, paint } from "../text.ts";
import { AGENT_NAMES, type AgentName } from "./agents.ts";
import { asked } from "./ask.ts";
import { runInit, type LoadQueue } from "./run.ts";

const leftShape = v.array(v.object({ path: v.string(), why: v.string() }));
const flag = (description: string) => v.optional(v.pipe(v.boolean(), v.description(description)), false);
const paths = (description: string) => v.pipe(v.array(v.string()), v.description(description));

/** `loadQueue` fills the queue of a fresh clone; without it that is left to `task load`. */
export function initOperations(loadQueue?: LoadQueue): readonly AnyOperation[] {
  const init = operation({
    name: "init",
    summary: "Make the queue of this repository",
    details:
      "Makes .bot/ in the main checkout, keeps everything that is there, and commits exactly what it wrote. Doing it again adds what is missing. At a terminal the first time asks, before anything is written, which agents to tell and whether to commit; any of its flags, or --yes, and it asks nothing.",
    examples: [
      { run: "init", does: "make it" },
      { run: "init --agents claude,vscode", does: "and tell these agents of the MCP server" },
      { run: "init --no-commit", does: "leave the commit to you" },
      { run: "init --remove", does: "take back what init wrote; tasks stay", given: ["init"] },
    ],
    effect: "write",
    idempotent: true,
    target: { rule: "queue" },
    surfaces: ["cli"],
    flags: { agents: { value: "<names>" } },
    input: v.strictObject({
      agents: v.optional(
        v.pipe(
          v.array(v.picklist([...AGENT_NAMES, "none"])),
          v.description(
            "Agents to whose project files the MCP server is added, or with --remove from whose it is taken; none: of no agent.",
          ),
        ),
      ),
      force: flag("Make anew what dotbot owns (README, ignore rules); tasks, settings and .control stay."),
      no_commit: flag("Write the files, and leave the commit to you."),
      remove: flag("Take back what init wrote; names what it leaves (tasks, edited files)."),
      dir: v.optional(v.pipe(v.string(), v.description("Any folder of the repository that is meant."))),
    }),
    output: v.object({
      ...echoFields,
      written: paths("Files that were written, from the state root."),
      kept: paths("Files that were as they should be, or are somebody's own."),
      removed: paths("Files that were removed."),
      uncommitted: v.pipe(leftShape, v.description("Files that the commit leaves out, and why.")),
      left: v.pipe(leftShape, v.description("With --remove: what is still there, and why.")),
      committed: v.pipe(v.nullable(v.string()), v.description("The commit, or null when there was nothing to commit.")),
      tracked: v.pipe(v.boolean(), v.description("The project's branches track the task files.")),
      recordedRoot: v.pipe(
        v.nullable(v.string()),
        v.description("The state root, where it had to be recorded in git's configuration."),
      ),
      loaded: v.pipe(v.nullable(v.number()), v.description("Tasks taken from the queue's branch.")),
      notes: v.array(v.string()),
    }),
    async run(call, { agents, ...input }) {
      const named = agents === undefined ? {} : { agents: namedAgents(agents) };
      return await runInit(call, await asked(call, { ...input, ...named }), loadQueue);
    },
    text(result, style) {
      const lines = [
        ...result.notes.map((note) => paint(style, "dim", note)),
        ...result.written.map((path) => `${paint(style, "green", "wrote")}   ${path}`),
        ...result.removed.map((path) => `${paint(style, "red", "removed")} ${path}`),
        ...result.kept.map((path) => `kept    ${path}`),
        ...result.left.map(({ path, why }) => `left    ${path} (${why})`),
        ...result.uncommitted.map(({ path, why }) => `${paint(style, "yellow", "not committed")} ${path}: ${why}`),
        ...(result.recordedRoot === null
          ? []
          : [`recorded dotbot.root ${result.recordedRoot} in the repository's configuration`]),
        ...(result.loaded === null ? [] : [`took ${count(result.loaded, "task")} from the queue's branch`]),
        result.committed === null ? "nothing committed" : `committed ${result.committed.slice(0, 12)}`,
      ];
      return `${echoLine(result)}${lines.join("\n")}\n`;
    },
  });
  return [init];
}

function namedAgents(names: readonly (AgentName | "none")[]): AgentName[] {
  const agents = names.filter((name) => name !== "none");
  if (agents.length === 0 || agents.length === names.length) return agents;
  throw new DotbotError("INVALID_INPUT", `agents are named beside "none": ${agents.join(", ")}`, {
    hint: `either none, or some of ${AGENT_NAMES.join(", ")}`,
    example: `dotbot init --agents ${agents.join(",")}`,
    details: { agents: [...names] },
  });
}

export const INIT_OPERATIONS: readonly AnyOperation[] = initOperations(
  async (call, ref) => await (await import("../task/load.ts")).loadQueue(call, ref),
);
