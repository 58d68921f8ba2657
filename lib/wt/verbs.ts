/** Other nouns' verbs, run the way a caller runs them: by name, through the registry. */
import { DotbotError } from "../error.ts";
import { invoke } from "../invoke.ts";
import type { Call } from "../op.ts";
import { quote } from "../text.ts";

/** Runs another noun's verb through the registry, as a caller would. */
export async function runVerb(
  call: Call,
  noun: string,
  name: string,
  input: Readonly<Record<string, unknown>>,
): Promise<object> {
  const { NOUNS } = await import("../ops.ts");
  const op = (await NOUNS[noun]?.load())?.find((it) => it.name === name);
  if (op === undefined) throw new DotbotError("INTERNAL", `there is no verb ${quote(name)}`);
  const fields =
    call.surface === "mcp" && "session_id" in op.input.entries ? { session_id: "unknown", ...input } : input;
  const { result } = await invoke(
    {
      op,
      ctx: call,
      resolve: async () => call.target,
      wording: { nameOf: (path) => path.join("."), correct: () => undefined },
    },
    fields,
  );
  return result;
}
