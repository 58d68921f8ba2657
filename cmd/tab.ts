/** Answers a shell's Tab. Never complains: what can't be completed has no candidates. */
import { placeAt } from "./complete.ts";
import { readRequest, SHELLS } from "./complete-shell.ts";
import type { Host } from "./host.ts";
import { candidatesOf } from "./lookup.ts";
import { readSketch } from "./sketch-text.ts";
import { sketchOfDotbot } from "./the-sketch.ts" with { type: "macro" };

const SKETCH = await sketchOfDotbot();

/** How long a lookup waits for a commit in progress; milliseconds. */
const WAIT_MS = 1_000;

/** `dotbot __complete <shell> -- …`, as complete-shell.ts says. */
export async function tabCommand([name, , ...args]: readonly string[], host: Host): Promise<number> {
  const shell = SHELLS.find((it) => it === name);
  if (shell === undefined) return 2;
  const { asked, answer } = readRequest(shell, args);
  const place = placeAt(asked, readSketch(SKETCH));
  const { cwd, env } = host;
  const found = await candidatesOf({ cwd, env, signal: new AbortController().signal, lockWaitMs: WAIT_MS }, place);
  await host.write("stdout", answer(place, found));
  return 0;
}
