/**
 * stdin and stdout as the protocol's own channel. From `takeStdio` on nothing else can write to it: descriptor 1 means stderr
 * for the whole process and for its children, so a stray print anywhere, in a library or in native code, is only a log line.
 * Beside cmd/host.ts this is the one file that touches stdio: the host's streams are for one answer, this one is for a session.
 */
import { closeSync, openSync } from "node:fs";

export interface Channel {
  /** The next bytes, or null at the end. */
  readonly read: () => Promise<Uint8Array | null>;
  /** Waits for no more bytes: a read that is under way ends. */
  readonly cancel: () => void;
  /** Writes all of it, however slow the reader; rejects when there is none any more. */
  readonly write: (text: string) => Promise<void>;
}

/** Takes stdin and stdout for good: call it once. */
export async function takeStdio(): Promise<Channel> {
  openStandardDescriptors();
  const stdout = Bun.file((await moveStdout()) ?? redirectPrints());
  const stdin = Bun.stdin.stream().getReader();
  return {
    read: async () => {
      const { done, value } = await stdin.read();
      return done ? null : value;
    },
    cancel: () => void stdin.cancel().catch(() => undefined),
    write: async (text) => {
      await Bun.write(stdout, text);
    },
  };
}

/** Started with a descriptor of 0 to 2 closed, the next file to be opened would become stdin, stdout or stderr. */
function openStandardDescriptors(): void {
  if (process.platform === "win32") return;
  let fd = -1;
  do fd = openSync("/dev/null", "r+");
  while (fd <= 2);
  closeSync(fd);
}

const LIBC: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`],
  darwin: ["libSystem.B.dylib"],
};

/** Gives stdout a new descriptor, which it returns, and makes the old one another stderr; null where the system has no way. */
async function moveStdout(): Promise<number | null> {
  for (const name of LIBC[process.platform] ?? []) {
    try {
      const { dlopen } = await import("bun:ffi");
      const { symbols } = dlopen(name, {
        dup: { args: ["i32"], returns: "i32" },
        dup2: { args: ["i32", "i32"], returns: "i32" },
      });
      const stdout = symbols.dup(1);
      if (stdout > 2 && symbols.dup2(2, 1) === 1) return stdout;
    } catch {
      // Not this C library.
    }
  }
  return null;
}

/** The same for what JavaScript prints, by the names under which it does; returns the descriptor that stays stdout. */
function redirectPrints(): number {
  const print = console.error.bind(console);
  Object.assign(console, { log: print, info: print, debug: print, table: print, dir: print, group: print });
  Object.defineProperty(process, "stdout", { get: () => process.stderr });
  Object.defineProperty(Bun, "stdout", { value: Bun.stderr });
  return 1;
}
