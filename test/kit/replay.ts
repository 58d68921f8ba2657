/**
 * A power cut, after the fact: from a trace of what a program wrote, the files as a disk would have them that kept nothing but
 * what was synced. The strictest disk there is: a file's content counts from its last fsync, a name in a folder from the
 * folder's last fsync.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { dotbot, type Options, type Outcome } from "./binary.ts";

type Step =
  | {
      readonly does: "open";
      readonly path: string;
      readonly fd: number;
      readonly creates: boolean;
      readonly truncates: boolean;
    }
  | {
      readonly does: "write";
      readonly fd: number;
      readonly path: string;
      readonly bytes: Buffer;
      readonly at: number | null;
    }
  | { readonly does: "truncate"; readonly path: string; readonly size: number }
  | { readonly does: "sync"; readonly path: string }
  | { readonly does: "rename" | "link"; readonly from: string; readonly to: string }
  | { readonly does: "unlink" | "mkdir"; readonly path: string };

const CALLS =
  "open,openat,creat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat";

/** Runs the program and records what its main thread writes below `root`. */
export async function record(
  root: string,
  args: readonly string[],
  options: Options,
): Promise<{ steps: Step[]; result: Outcome }> {
  const folder = mkdtempSync(join(tmpdir(), "dotbot-trace-"));
  const log = join(folder, "log");
  try {
    const result = await dotbot(args, {
      ...options,
      under: [
        "strace",
        "-f",
        "-qq",
        "-y",
        "-xx",
        "-s",
        "10000000",
        "-o",
        log,
        "-e",
        `trace=${CALLS}`,
        "-e",
        "signal=none",
      ],
    });
    const steps = readFileSync(log, "latin1")
      .split("\n")
      .flatMap((line) => stepOf(line) ?? []);
    return { steps: steps.filter((step) => pathsOf(step).some((path) => path.startsWith(`${root}/`))), result };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function pathsOf(step: Step): readonly string[] {
  return "from" in step ? [step.from, step.to] : [step.path];
}

function unescape(text: string): Buffer {
  return Buffer.from(text.replace(/\\x/g, ""), "hex");
}

/** One line of strace's; null for what failed, or isn't about files. */
function stepOf(line: string): Step | null {
  const [, name = "", rest = "", status = "-1"] = /^\d+ +(\w+)\((.*)\) += (-?\d+)/.exec(line) ?? [];
  if (status.startsWith("-")) return null;
  const strings = [...rest.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((match) => unescape(match[1] ?? ""));
  const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = strings;
  // `6</a/path>`, the path in hexadecimal like all strings.
  const [, fd = "-1", shown = ""] = /^(\d+)<((?:\\x[0-9a-f]{2}|[^>])*)>/.exec(rest) ?? [];
  const path = shown.includes("\\x") ? unescape(shown).toString() : shown;
  switch (name) {
    case "open":
    case "openat":
      return {
        does: "open",
        path: first.toString(),
        fd: Number(status),
        creates: rest.includes("O_CREAT"),
        truncates: rest.includes("O_TRUNC"),
      };
    case "write":
      return { does: "write", fd: Number(fd), path, bytes: first, at: null };
    case "pwrite64":
      return { does: "write", fd: Number(fd), path, bytes: first, at: Number(rest.slice(rest.lastIndexOf(",") + 1)) };
    case "ftruncate":
      return { does: "truncate", path, size: Number(rest.slice(rest.lastIndexOf(",") + 1)) };
    case "fsync":
    case "fdatasync":
      return { does: "sync", path };
    case "rename":
    case "renameat":
    case "renameat2":
      return { does: "rename", from: first.toString(), to: second.toString() };
    case "link":
    case "linkat":
      return { does: "link", from: first.toString(), to: second.toString() };
    case "unlink":
    case "unlinkat":
      return { does: "unlink", path: first.toString() };
    case "mkdir":
    case "mkdirat":
      return { does: "mkdir", path: first.toString() };
    default:
      return null;
  }
}

interface Node {
  data: Buffer;
  synced: Buffer;
}

/** The files below a root, as they are in memory and as they are on the disk. */
export class Disk {
  private readonly live = new Map<string, Node>();
  private durable = new Map<string, Node>();
  private readonly offsets = new Map<number, number>();

  /** Everything below `root` counts as synced. */
  constructor(root: string) {
    const walk = (folder: string): void => {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        if (statSync(path).isDirectory()) walk(path);
        else {
          const data = readFileSync(path);
          this.live.set(path, { data, synced: data });
        }
      }
    };
    walk(root);
    this.durable = new Map(this.live);
  }

  apply(step: Step): void {
    switch (step.does) {
      case "open": {
        this.offsets.set(step.fd, 0);
        const node = this.live.get(step.path);
        if (node === undefined && step.creates)
          this.live.set(step.path, { data: Buffer.alloc(0), synced: Buffer.alloc(0) });
        else if (node !== undefined && step.truncates) node.data = Buffer.alloc(0);
        return;
      }
      case "write": {
        const node = this.live.get(step.path);
        if (node === undefined) return;
        const at = step.at ?? this.offsets.get(step.fd) ?? 0;
        const data = Buffer.alloc(Math.max(node.data.length, at + step.bytes.length));
        node.data.copy(data);
        step.bytes.copy(data, at);
        node.data = data;
        if (step.at === null) this.offsets.set(step.fd, at + step.bytes.length);
        return;
      }
      case "truncate": {
        const node = this.live.get(step.path);
        if (node !== undefined)
          node.data = Buffer.concat([
            node.data.subarray(0, step.size),
            Buffer.alloc(Math.max(0, step.size - node.data.length)),
          ]);
        return;
      }
      case "sync": {
        const node = this.live.get(step.path);
        if (node !== undefined) node.synced = node.data;
        else this.syncFolder(step.path);
        return;
      }
      case "rename":
      case "link": {
        const node = this.live.get(step.from);
        if (node === undefined) return;
        this.live.set(step.to, node);
        if (step.does === "rename") this.live.delete(step.from);
        return;
      }
      case "unlink":
        this.live.delete(step.path);
        return;
      case "mkdir":
        return;
    }
  }

  private syncFolder(folder: string): void {
    for (const path of this.durable.keys())
      if (dirname(path) === folder && !this.live.has(path)) this.durable.delete(path);
    for (const [path, node] of this.live) if (dirname(path) === folder) this.durable.set(path, node);
  }

  /** Writes what the disk kept over `root`, which holds the state before. */
  restore(root: string): void {
    rmSync(root, { recursive: true });
    for (const [path, node] of this.durable) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, node.synced);
    }
  }
}
