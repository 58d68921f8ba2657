/** What an agent needs to know to work here, as text for its context; run by a session's start hook or named in instructions. */
import * as v from "valibot";

import { readText, writeAtomic } from "../files.ts";
import { resolveRepo, type Repo } from "../git/repo.ts";
import { isJsonObject, tryParseJson } from "../json.ts";
import { DotbotError } from "../error.ts";
import { operation, type AnyOperation, type Call } from "../op.ts";
import { tryLoadSettings } from "../settings.ts";
import { standingOf } from "../status/facts.ts";
import { codePoints, stripControl } from "../text.ts";
import { exportLine, primerText } from "./text.ts";

const hookAnswer = v.object({
  hookSpecificOutput: v.object({ hookEventName: v.literal("SessionStart"), additionalContext: v.string() }),
});
const plainAnswer = v.object({
  context: v.pipe(v.nullable(v.string()), v.description("Markdown; null: there is no repository here.")),
});

const prime = operation({
  name: "prime",
  summary: "Tell an agent what it needs to know to work here",
  details:
    "Under 2 KB of Markdown with this repository's own values: the queue, the next task, the session, the loop and the rules. With --hook-json as the start hook of Claude Code and its like take it: the hook's JSON is read from stdin, its session_id is written as DOTBOT_SESSION into CLAUDE_ENV_FILE, and where there is no repository nothing is said.",
  examples: [
    { run: "prime", does: "for an agent's instructions", given: ["init", "task add 'Add a login page'"] },
    { run: "prime --hook-json", does: "as a SessionStart hook", given: ["init"] },
  ],
  effect: "read",
  target: { rule: "none", why: "it reads the repository that it is run in, and is silent where there is none" },
  surfaces: ["cli"],
  input: v.strictObject({
    hook_json: v.optional(
      v.pipe(v.boolean(), v.description("Answer as a session's start hook does, and read what the hook is told.")),
      false,
    ),
    dir: v.optional(v.pipe(v.string(), v.description("Any folder of the repository that is meant, absolute."))),
  }),
  output: v.union([plainAnswer, hookAnswer]),
  async run(call, { hook_json: asHook, dir }) {
    const told = asHook ? await hookInput(call) : {};
    const session = oneLine(told["session_id"]);
    const handedOn = session !== undefined && handOn(call, session);
    const repo = await repositoryAt(call, dir ?? oneLine(told["cwd"]), asHook);
    const context = repo === null ? null : await primer(call, repo, session, handedOn);
    if (!asHook) return { context };
    return { hookSpecificOutput: { hookEventName: "SessionStart" as const, additionalContext: context ?? "" } };
  },
  text: (result) => ("context" in result ? (result.context ?? "") : `${JSON.stringify(result)}\n`),
});

async function primer(call: Call, repo: Repo, session: string | undefined, handedOn: boolean): Promise<string> {
  const { settings } = tryLoadSettings(call, repo.stateRoot);
  const there: Call = Object.create(Object.prototype, {
    ...Object.getOwnPropertyDescriptors(call),
    target: { value: { repo, kind: "same-main", confirmed: true }, enumerable: true },
  });
  return primerText({
    ...(await standingOf(there, session)),
    baseBranch: settings.git.base_branch,
    sessionIsSet: session === undefined || handedOn,
  });
}

/** null: none, and a hook that fires in every folder has nothing to complain about. */
async function repositoryAt(call: Call, dir: string | undefined, asHook: boolean): Promise<Repo | null> {
  try {
    return await resolveRepo(call, dir);
  } catch (error) {
    if (asHook && error instanceof DotbotError) return null;
    throw error;
  }
}

/** What the hook is told on stdin; nothing at a terminal. */
async function hookInput(call: Call): Promise<Readonly<Record<string, unknown>>> {
  let text: string;
  try {
    text = await call.readStdin();
  } catch (error) {
    if (error instanceof DotbotError) return {};
    throw error;
  }
  const parsed = tryParseJson(text);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
}

/** Commands of the session get its id from the file that the agent reads their environment from; false where there is none. */
function handOn(call: Call, session: string): boolean {
  const file = call.env["CLAUDE_ENV_FILE"] ?? "";
  if (file === "") return false;
  const before = readText(file) ?? "";
  const line = exportLine(session);
  if (!before.endsWith(line))
    writeAtomic(file, `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${line}`);
  return true;
}

function oneLine(value: unknown): string | undefined {
  const text = typeof value === "string" ? stripControl(value).trim() : "";
  return text === "" ? undefined : codePoints(text).slice(0, 256).join("");
}

export const PRIME_OPERATIONS: readonly AnyOperation[] = [prime];
