/**
 * Questions at a terminal. Loaded at the first question. Everything it draws goes to stderr, so that stdout stays the answer.
 * Ctrl-C, Ctrl-D, Escape, a signal and the terminal's end throw `Interrupted`: an operation asks before it changes anything, so
 * nothing has changed.
 */
import * as clack from "@clack/prompts";

import type { Prompter } from "../lib/ctx.ts";
import { Interrupted } from "./host.ts";

type Streams = {
  readonly input: typeof process.stdin;
  readonly output: typeof process.stderr;
  readonly signal: AbortSignal;
};

export function prompter(signal: AbortSignal): Prompter {
  // The library would draw the choice at hand where a question is taken back, as if that were the answer.
  for (const key of ["escape", "\u0003"]) clack.settings.aliases.delete(key);
  const output = sized(process.stderr);
  const gone = goneTerminal();
  const ask = async <T>(question: (streams: Streams) => Promise<T | typeof clack.CANCEL_SYMBOL>): Promise<T> => {
    using taken = takenBack();
    const answer = await question({
      input: process.stdin,
      output,
      signal: AbortSignal.any([signal, gone, taken.signal]),
    });
    signal.throwIfAborted();
    if (taken.signal.aborted) output.write("taken back: nothing has changed\n");
    if (clack.isCancel(answer) || taken.signal.aborted) throw new Interrupted("SIGINT");
    return answer;
  };
  return {
    text: async ({ message, placeholder, initial, check }) =>
      await ask(
        async (streams) =>
          await clack.text({
            message,
            ...(placeholder === undefined ? {} : { placeholder }),
            ...(initial === undefined ? {} : { initialValue: initial }),
            ...(check === undefined ? {} : { validate: (text) => check(text ?? "") }),
            ...streams,
          }),
      ),
    confirm: async ({ about = [], message, initial = false }) => {
      if (about.length > 0) process.stderr.write(`${about.join("\n")}\n`);
      return await ask(async (streams) => await clack.confirm({ message, initialValue: initial, ...streams }));
    },
    select: async ({ message, options }) =>
      await ask(async (streams) => await clack.select({ message, options: [...options], ...streams })),
    multiselect: async ({ message, options, initial }) =>
      await ask(
        async (streams) =>
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

/**
 * Aborts when the terminal goes away. The library doesn't hear of it, and would wait for ever for an answer that can't come. What
 * it does then to put the terminal back fails, and would throw where nobody catches it.
 */
function goneTerminal(): AbortSignal {
  const { stdin, stderr } = process;
  const controller = new AbortController();
  const leave = (): void => controller.abort();
  for (const event of ["end", "close", "error"]) stdin.on(event, leave);
  stderr.on("error", leave);
  const setRawMode = stdin.setRawMode.bind(stdin);
  stdin.setRawMode = (raw) => {
    try {
      return setRawMode(raw);
    } catch {
      return stdin;
    }
  };
  return controller.signal;
}

/** Aborts at the keys that take a question back. */
function takenBack(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const key = (_: unknown, { ctrl, name = "" }: { readonly ctrl?: boolean; readonly name?: string } = {}): void => {
    // The library draws once more for the key it is told of: it has to be through with this one.
    if (name === "escape" || (ctrl === true && ["c", "d"].includes(name))) queueMicrotask(() => controller.abort());
  };
  process.stdin.on("keypress", key);
  return { signal: controller.signal, [Symbol.dispose]: () => void process.stdin.off("keypress", key) };
}

/** A terminal that doesn't know its size is 0 × 0, where each letter would stand on a line of its own: taken for the usual one. */
function sized(stream: typeof process.stderr): typeof process.stderr {
  for (const [name, usual] of [
    ["columns", 80],
    ["rows", 24],
  ] as const) {
    if (!(stream[name] > 0)) Object.defineProperty(stream, name, { value: usual, writable: true, configurable: true });
  }
  return stream;
}
