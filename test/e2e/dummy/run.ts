/** The dotbot of dummy operations as a process: through pipes, in a line of shell, at a terminal. */
import { tmpdir } from "node:os";
import { join } from "node:path";

export const program = join(import.meta.dir, "main.ts");

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
}

export function start(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: Blob } = {},
) {
  return Bun.spawn([process.execPath, program, ...args], {
    stdin: options.stdin ?? "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"], ...options.env },
  });
}

export async function dotbot(args: readonly string[], options?: Parameters<typeof start>[1]): Promise<Outcome> {
  const child = start(args, options);
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, status };
}

/** Runs a line of shell in which `$DOTBOT` is the program; returns its output and the status of the line. */
export async function shell(line: string): Promise<Outcome> {
  const child = Bun.spawn(["bash", "-o", "pipefail", "-c", line], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { PATH: process.env["PATH"], DOTBOT: `${process.execPath} ${program}` },
  });
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, status };
}

/** Waits until the program has said this on stderr. */
export async function said(child: { readonly stderr: ReadableStream<Uint8Array> }, text: string): Promise<void> {
  let heard = "";
  for await (const chunk of child.stderr.values({ preventCancel: true })) {
    heard += new TextDecoder().decode(chunk);
    if (heard.includes(text)) return;
  }
  throw new Error(`stderr ended with ${JSON.stringify(heard)}`);
}

/** Runs at a terminal; when `prompt` shows, types `keys`. Returns all that the terminal got, and the status. */
export async function atTerminal(args: readonly string[], prompt: string, keys: string) {
  let screen = "";
  let typed = false;
  const child = Bun.spawn([process.execPath, program, ...args], {
    env: { PATH: process.env["PATH"], TERM: "xterm" },
    terminal: {
      cols: 100,
      rows: 24,
      data(terminal, data) {
        screen += new TextDecoder().decode(data);
        if (typed || !screen.includes(prompt)) return;
        typed = true;
        terminal.write(keys);
      },
    },
  });
  const status = await child.exited;
  return { screen, status };
}
