/** strace as a fault injector: ends a program at any one of the calls by which it writes. Linux only; see `requireTool`. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { dotbot, type Options, type Outcome } from "./binary.ts";

/** Every call that changes a file or a folder, or makes such a change durable. */
const WRITES = [
  "write",
  "pwrite64",
  "writev",
  "pwritev",
  "pwritev2",
  "rename",
  "renameat",
  "renameat2",
  "link",
  "linkat",
  "unlink",
  "unlinkat",
  "symlink",
  "symlinkat",
  "mkdir",
  "mkdirat",
  "rmdir",
  "fsync",
  "fdatasync",
  "sync_file_range",
  "ftruncate",
  "truncate",
  "fallocate",
  "utimensat",
  "chmod",
  "fchmod",
  "fchmodat",
  "copy_file_range",
  "sendfile",
];
const TRACE = `trace=${WRITES.map((name) => `?${name}`).join(",")}`;

/** A call of the program's main thread: the nth of this name. */
export interface WriteCall {
  readonly name: string;
  readonly nth: number;
}

/** The calls by which the program's main thread writes, in their order. */
export async function writeCalls(
  args: readonly string[],
  options: Options,
): Promise<{ calls: WriteCall[]; result: Outcome }> {
  const folder = mkdtempSync(join(tmpdir(), "dotbot-strace-"));
  const log = join(folder, "log");
  try {
    const result = await dotbot(args, {
      ...options,
      under: ["strace", "-f", "-qq", "-o", log, "-e", TRACE, "-e", "signal=none"],
    });
    const lines = readFileSync(log, "utf8").split("\n");
    const main = mainThread(lines);
    const counts = new Map<string, number>();
    const calls: WriteCall[] = [];
    for (const line of lines) {
      // `<pid> <name>(…`; the second half of a call that another thread's cut in two has no name there.
      const [pid, name] = /^(\d+) +(\w+)\(/.exec(line)?.slice(1) ?? [];
      if (pid !== main || name === undefined) continue;
      const nth = (counts.get(name) ?? 0) + 1;
      counts.set(name, nth);
      calls.push({ name, nth });
    }
    return { calls, result };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The thread that does the work: the one with the most calls; helpers only wake each other. */
function mainThread(lines: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const [pid = ""] = line.split(" ");
    counts.set(pid, (counts.get(pid) ?? 0) + 1);
  }
  return [...counts].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}

/**
 * Runs the program and kills it as it enters this call, which isn't carried out any more. strace counts each thread for
 * itself: where a helper makes its nth call of that name first, the kill comes there.
 */
export async function killedAt({ name, nth }: WriteCall, args: readonly string[], options: Options): Promise<Outcome> {
  const inject = `inject=${name}:signal=KILL:when=${nth}`;
  return await dotbot(args, {
    ...options,
    under: ["strace", "-f", "-qq", "-o", "/dev/null", "-e", `trace=${name}`, "-e", "signal=none", "-e", inject],
  });
}
