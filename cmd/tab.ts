/** Answers a shell's Tab. Never complains: what can't be completed has no candidates. */
import { placeAt } from "./complete.ts";
import { readRequest, SHELLS } from "./complete-shell.ts";
import { contextOf, type Host } from "./host.ts";
import { candidatesOf } from "./lookup.ts";
import type { Commands } from "./route.ts";

/** `dotbot __complete <shell> -- …`, as complete-shell.ts says. */
export async function tabCommand(
  [name, , ...args]: readonly string[],
  host: Host,
  commands: Commands,
): Promise<number> {
  const shell = SHELLS.find((it) => it === name);
  if (shell === undefined) return 2;
  const { asked, answer } = readRequest(shell, args);
  const place = await placeAt(asked, commands);
  const options = { json: true, yes: true, quiet: true, color: false, lockWaitMs: null };
  const { ctx } = await contextOf(host, options, new AbortController().signal);
  await host.write("stdout", answer(place, await candidatesOf(ctx, place)));
  return 0;
}
