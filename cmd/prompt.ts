/**
 * Questions at a terminal. Loaded at the first question. Everything it draws goes to stderr, so that stdout stays the answer.
 * Ctrl-C, Escape and a signal throw `Interrupted`: an operation asks before it changes anything, so nothing has changed.
 */
import * as clack from "@clack/prompts";

import type { Prompter } from "../lib/ctx.ts";
import { Interrupted } from "./host.ts";

export function prompter(signal: AbortSignal): Prompter {
  const streams = { input: process.stdin, output: process.stderr, signal };
  const answered = <T>(answer: T | typeof clack.CANCEL_SYMBOL): T => {
    if (!clack.isCancel(answer)) return answer;
    signal.throwIfAborted();
    throw new Interrupted("SIGINT");
  };
  return {
    text: async ({ message, placeholder, initial }) =>
      answered(
        await clack.text({
          message,
          ...(placeholder === undefined ? {} : { placeholder }),
          ...(initial === undefined ? {} : { initialValue: initial }),
          ...streams,
        }),
      ),
    confirm: async ({ about = [], message, initial = false }) => {
      if (about.length > 0) process.stderr.write(`${about.join("\n")}\n`);
      return answered(await clack.confirm({ message, initialValue: initial, ...streams }));
    },
    select: async ({ message, options }) =>
      answered(await clack.select({ message, options: [...options], ...streams })),
    multiselect: async ({ message, options, initial }) =>
      answered(
        await clack.multiselect({
          message,
          options: [...options],
          initialValues: [...initial],
          required: false,
          ...streams,
        }),
      ),
  };
}
