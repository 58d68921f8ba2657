/** Lock files that a killed git left behind, told from those that a living one holds. */
import { DotbotError } from "../error.ts";
import { lstatOrNull, removeFile } from "../files.ts";
import { programsIn } from "../process.ts";
import { quote, shellWord } from "../text.ts";

const LOOK_MS = 25;
/** How long a lock file has to stay as it is, with no git around, before it counts as left behind. */
const STILL_MS = 200;
/** The same where the system doesn't show other processes. */
const BLIND_STILL_MS = 5_000;
const CLOCK_SLACK_MS = 2_000;

const MARK = "DOTBOT_WORK_ON";

/** Set for a git that changes a checkout for us, so that it can be told when it outlives the dotbot that started it. */
export function workMark(commonDir: string): Readonly<Record<string, string>> {
  return { [MARK]: commonDir };
}

export interface LockFiles {
  readonly paths: readonly string[];
  /** Where a git that holds one of them stands. */
  readonly folders: readonly string[];
  /** Where a git of ours may still be about to take one; without it only those that are there count. */
  readonly commonDir?: string;
  /** When the work began that was cut short: an older lock file isn't its. */
  readonly since: Date;
  /** Milliseconds to wait for a living holder. */
  readonly waitMs: number;
}

/**
 * Waits for lock files to go, and removes one that nobody is left to remove. Only for whoever knows from a journal that git was
 * at work there for him when it was killed. Error: LOCKED.
 */
export async function clearLockFiles(
  signal: AbortSignal,
  { paths, folders, commonDir, since, waitMs }: LockFiles,
): Promise<void> {
  const deadline = performance.now() + Math.max(waitMs, 2 * STILL_MS);
  let still = new Map<string, string>();
  let stillSince = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const now = new Map(
      paths.flatMap((path) => {
        const stat = lstatOrNull(path);
        const ours = stat !== null && stat.mtimeMs >= since.getTime() - CLOCK_SLACK_MS;
        return ours ? [[path, `${stat.ino} ${stat.size} ${stat.mtimeMs}`] as const] : [];
      }),
    );
    // A lock file may be anybody's; without one only a git of ours matters, which may be about to take one.
    const ours = commonDir === undefined ? [] : programsIn("git", { variable: `${MARK}=${commonDir}` });
    const alive = now.size > 0 ? programsIn("git", { folders }) : ours;
    if (now.size === 0 && (alive === null || alive.length === 0)) return;
    const busy = alive !== null && alive.length > 0;
    if (busy || [...now].some(([path, mark]) => still.get(path) !== mark)) {
      still = now;
      stillSince = performance.now();
    } else if (performance.now() - stillSince >= (alive === null ? BLIND_STILL_MS : STILL_MS)) {
      for (const path of now.keys()) removeFile(path);
      return;
    }
    if (performance.now() > deadline) throw held([...now.keys()], alive ?? []);
    await Bun.sleep(LOOK_MS);
  }
}

function held(paths: readonly string[], pids: readonly number[]): DotbotError {
  const [path] = paths;
  const what = path === undefined ? "a git command is still running there" : `${quote(path, 300)} is held`;
  return new DotbotError("LOCKED", pids.length === 0 ? what : `${what} (git, process ${pids.join(", ")})`, {
    hint:
      path === undefined
        ? "wait for it to end"
        : "wait for that git command to end; if none runs, remove the lock file",
    ...(path === undefined ? {} : { example: `rm ${shellWord(path)}` }),
    details: { paths, pids },
  });
}
