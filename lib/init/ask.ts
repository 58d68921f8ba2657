/** What a first `init` asks a person who gave no flag: which agents are told of dotbot, and whether what it writes is committed. */
import { join } from "node:path";

import { isDirectory, lstatOrNull } from "../files.ts";
import { readHead, resolveRepo } from "../git/repo.ts";
import type { Call } from "../op.ts";
import { quote } from "../text.ts";
import { AGENT_NAMES, AGENTS, agentFile } from "./agents.ts";
import { ignored } from "./commit.ts";
import { botFiles } from "./content.ts";
import { launcherOf, treeOf, type InitInput } from "./run.ts";

/** The input with what was answered. Nothing has been written by then, and of what was read here only the branch is used again. */
export async function asked(call: Call, input: InitInput): Promise<InitInput> {
  const { prompt } = call;
  const { stateRoot } = call.target.repo;
  const told = input.agents !== undefined || input.no_commit || input.force || input.remove;
  if (prompt === undefined || told || !isFirst(stateRoot)) return input;
  const chosen = await prompt.multiselect({
    message: "Which agents are to have dotbot as an MCP server? (none will do)",
    options: AGENT_NAMES.map((name) => ({ value: name, label: `${AGENTS[name].title} (${AGENTS[name].path})` })),
    initial: AGENT_NAMES.filter((name) =>
      AGENTS[name].signs.some((path) => lstatOrNull(join(stateRoot, path)) !== null),
    ),
  });
  const agents = AGENT_NAMES.filter((name) => chosen.includes(name));

  const state = await resolveRepo(call, stateRoot);
  const tree = treeOf(state);
  if (tree === null || lstatOrNull(join(stateRoot, ".bot"))?.isSymbolicLink() === true) return { ...input, agents };
  const launcher = launcherOf(call);
  const paths = [...botFiles({ tracked: false, force: false }), ...agents.map((name) => agentFile(name, launcher))]
    .filter((file) => file.uncommittable === undefined)
    .map((file) => file.path);
  const hidden = await ignored(call, tree, paths);
  const committed = paths.filter((path) => !hidden.has(path));
  if (committed.length === 0) return { ...input, agents };
  // A yes is for the branch that was shown: while a person thinks, somebody may switch to another one.
  for (;;) {
    const { branch } = await readHead(call, state);
    const commit = await prompt.confirm({
      about: committed.map((path) => `  ${path}`),
      message: `Commit these, and nothing else, ${branch === null ? "on the detached HEAD" : `to ${quote(branch)}`}?`,
      initial: true,
    });
    if (!commit) return { ...input, agents, no_commit: true };
    if ((await readHead(call, state)).branch === branch) return { ...input, agents, onto: branch };
  }
}

/** Nothing of what init writes is there. */
function isFirst(stateRoot: string): boolean {
  const bot = join(stateRoot, ".bot");
  if (lstatOrNull(bot) !== null && !isDirectory(bot)) return false;
  return botFiles({ tracked: false, force: false }).every(({ path }) => lstatOrNull(join(stateRoot, path)) === null);
}
