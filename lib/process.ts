/**
 * Telling one process from another: a pid alone is recycled, and means nothing in another pid namespace or after a reboot.
 * Where the system shows no start time, life can't be proved and the answer is `unknown`.
 */
import { listNames, readLink, readText } from "./files.ts";

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

/** Marks a process of this machine and namespace, or null when there is none of that number. */
export function markOf(pid: number): ProcessMark | null {
  if (!signalable(pid)) return null;
  return { pid, start: startOf(pid), boot: boot(), namespace: readLink("/proc/self/ns/pid") ?? "" };
}

/** Whether the process that was marked still runs. */
export function lifeOf(mark: ProcessMark): Life {
  const here = boot();
  if (mark.boot === "" || here === "") return mark.start === "" ? "unknown" : signalable(mark.pid) ? "unknown" : "dead";
  if (mark.boot !== here) return "dead";
  if (mark.namespace !== (readLink("/proc/self/ns/pid") ?? "")) return "unknown";
  if (!signalable(mark.pid)) return "dead";
  const start = startOf(mark.pid);
  if (mark.start === "" || start === "") return "unknown";
  return start === mark.start ? "alive" : "dead";
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
      const cwd = readLink(`/proc/${pid}/cwd`);
      return cwd === null || where.folders.some((folder) => cwd === folder || cwd.startsWith(`${folder}/`));
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

/** Field 22 of /proc/<pid>/stat, counted behind the last `)`: the command before it may hold anything. */
function startOf(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
