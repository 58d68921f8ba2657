/**
 * Telling one process from another: a pid alone is recycled, and means nothing in another pid namespace or after a reboot.
 * Where the system shows no start time, life can't be proved and the answer is `unknown`.
 */
import { listNames, readForeignLink, readLink, readText } from "./files.ts";

export interface ProcessMark {
  readonly pid: number;
  /** Start time as the kernel counts it; "" where it can't be read. */
  readonly start: string;
  /** Identifies this run of the machine; "" where it can't be read. */
  readonly boot: string;
  /** Identifies the pid namespace; "" where there are none. */
  readonly namespace: string;
}

export type Life = "alive" | "dead" | "unknown";

/** This process's own, which nothing changes while it runs; each of its parts is a file. */
let own: ProcessMark | undefined;

/** Marks a process of this machine and namespace, or null when there is none of that number. */
export function markOf(pid: number): ProcessMark | null {
  if (pid === process.pid) return (own ??= marked(pid));
  return signalable(pid) ? marked(pid) : null;
}

function marked(pid: number): ProcessMark {
  return { pid, start: startOf(pid), boot: boot(), namespace: readLink("/proc/self/ns/pid") ?? "" };
}

/** Whether the process that was marked still runs. */
export function lifeOf(mark: ProcessMark): Life {
  const here = boot();
  if (mark.boot === "" || here === "") return lifeByNumber(mark);
  if (mark.boot !== here) return "dead";
  const namespace = readLink("/proc/self/ns/pid") ?? "";
  if (mark.namespace !== namespace) return lifeElsewhere(mark, namespace);
  if (!signalable(mark.pid)) return "dead";
  const seen = procStat(mark.pid);
  if (mark.start === "" || seen === null) return "unknown";
  return seen.start === mark.start && !seen.ended ? "alive" : "dead";
}

/** Where the system tells neither boots nor start times: a number that nobody has is nobody's; one that somebody has may be another's. */
function lifeByNumber({ pid, namespace }: ProcessMark): Life {
  return namespace === "" && process.platform !== "linux" && !signalable(pid) ? "dead" : "unknown";
}

/** The pid namespace that the machine began with (a constant of the kernel): from there every process can be seen. */
const FIRST_NAMESPACE = "pid:[4026531836]";

/**
 * The life of a process that was marked in another pid namespace. Seen from a namespace around its own it has another number,
 * and the one that it knows of itself is the last of NSpid.
 */
function lifeElsewhere(mark: ProcessMark, namespace: string): Life {
  const pids = listNames("/proc")?.filter((it) => /^\d+$/.test(it)) ?? [];
  for (const pid of pids) {
    const inner =
      /^NSpid:((?:\s+\d+)+)$/m
        .exec(readProcFile(pid, "status") ?? "")?.[1]
        ?.trim()
        .split(/\s+/) ?? [];
    if (inner.length < 2 || Number(inner.at(-1)) !== mark.pid) continue;
    const seen = procStat(Number(pid));
    if (seen !== null && !seen.ended && seen.start === mark.start) return "alive";
  }
  // With processes of others hidden (hidepid), or from within a container, not to see it proves nothing.
  return namespace === FIRST_NAMESPACE && pids.includes("1") && mark.start !== "" ? "dead" : "unknown";
}

/** Whether a process of that number exists here, ours or not. */
export function signalable(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/**
 * Processes of this machine whose program's name begins with `name` and that stand in one of these folders or below, or were
 * started with this variable (`NAME=value`); null where the system doesn't show them.
 */
export function programsIn(
  name: string,
  where: { readonly folders: readonly string[] } | { readonly variable: string },
): number[] | null {
  const pids = listNames("/proc")?.filter((it) => /^\d+$/.test(it));
  if (pids === undefined || pids.length === 0) return null;
  return pids
    .filter((pid) => {
      if (readProcFile(pid, "comm")?.startsWith(name) !== true) return false;
      // A zombie has ended; whoever started it just hasn't looked yet.
      if (/^State:\s+Z/m.test(readProcFile(pid, "status") ?? "")) return false;
      if ("variable" in where) return readProcFile(pid, "environ")?.split("\0").includes(where.variable) === true;
      // Without one it is ending: there is nothing more that it could do.
      const cwd = readForeignLink(`/proc/${pid}/cwd`);
      if (cwd === null) return false;
      if (cwd === undefined) return true;
      return where.folders.some((folder) => cwd === folder || cwd.startsWith(`${folder}/`));
    })
    .map(Number);
}

function readProcFile(pid: string, file: string): string | null {
  try {
    return readText(`/proc/${pid}/${file}`);
  } catch {
    return null; // it ended meanwhile
  }
}

function boot(): string {
  return readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

function startOf(pid: number): string {
  return procStat(pid)?.start ?? "";
}

/**
 * Start time (field 22 of /proc/<pid>/stat) and whether it is a zombie, which has ended and only waits to be reaped. Counted
 * behind the last `)`: the command before it may hold anything.
 */
function procStat(pid: number): { readonly start: string; readonly ended: boolean } | null {
  const stat = readProcFile(String(pid), "stat");
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { start: fields[19] ?? "", ended: fields[0] === "Z" || fields[0] === "X" };
}
