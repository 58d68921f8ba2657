/**
 * What git prints, as data. Pure. Every format read here is one that git documents as stable for programs, and separated by
 * NUL wherever it can hold a path: a path may contain newlines, and may end in one.
 */
import { DotbotError } from "../error.ts";
import { quote, stripControlKeepLines } from "../text.ts";

/** Output of a call that prints one value: without its one trailing LF, never trimmed, since a path may end in a blank. */
export function oneLine(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}

/** A NUL-terminated (or NUL-separated) list. */
export function parseNul(text: string): string[] {
  const parts = text.split("\0");
  if (parts.at(-1) === "") parts.pop();
  return parts;
}

/** One record of `git worktree list --porcelain -z`. */
export interface WorktreeRecord {
  readonly path: string;
  /** Null for a bare repository and for an unborn branch. */
  readonly head: string | null;
  /** Full name, `refs/heads/main`; null when detached or bare. */
  readonly branch: string | null;
  readonly bare: boolean;
  readonly detached: boolean;
  /** The reason, possibly empty; null when not locked. */
  readonly locked: string | null;
  /** Why git would prune it; null when it's in place. */
  readonly prunable: string | null;
}

/** `git worktree list --porcelain -z`: fields end in NUL, records in an empty field. */
export function parseWorktrees(text: string): WorktreeRecord[] {
  const records: WorktreeRecord[] = [];
  let fields = new Map<string, string>();
  const flush = (): void => {
    const path = fields.get("worktree");
    if (path === undefined) return;
    const head = fields.get("HEAD");
    records.push({
      path,
      head: head === undefined || /^0+$/.test(head) ? null : head,
      branch: fields.get("branch") ?? null,
      bare: fields.has("bare"),
      detached: fields.has("detached"),
      locked: fields.get("locked") ?? null,
      prunable: fields.get("prunable") ?? null,
    });
    fields = new Map();
  };
  for (const field of parseNul(text)) {
    if (field === "") {
      flush();
      continue;
    }
    const blank = field.indexOf(" ");
    if (blank === -1) fields.set(field, "");
    else fields.set(field.slice(0, blank), field.slice(blank + 1));
  }
  flush();
  return records;
}

/** One path of `git status --porcelain=v2 -z`. */
export interface StatusEntry {
  readonly kind: "changed" | "renamed" | "unmerged" | "untracked" | "ignored";
  /** State in the index, one letter, `.` for unchanged; `?` and `!` for untracked and ignored. */
  readonly index: string;
  /** State in the work tree, likewise. */
  readonly tree: string;
  readonly path: string;
  /** Where a rename or copy came from. */
  readonly from?: string;
  readonly submodule: boolean;
}

export interface Status {
  /** From `--branch`; null when it wasn't asked for. `head` is null when detached, `oid` when unborn. */
  readonly branch: {
    readonly oid: string | null;
    readonly head: string | null;
    readonly upstream: string | null;
    readonly ahead: number;
    readonly behind: number;
  } | null;
  readonly entries: readonly StatusEntry[];
}

/** `git status --porcelain=v2 -z`, with or without `--branch`. Header lines and record kinds that aren't known are skipped. */
export function parseStatus(text: string): Status {
  const entries: StatusEntry[] = [];
  const headers = new Map<string, string>();
  const fields = parseNul(text);
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] ?? "";
    const mark = field.charAt(0);
    if (mark === "#") {
      const header = /^# (\S+) (.*)$/s.exec(field);
      if (header !== null) headers.set(header[1] ?? "", header[2] ?? "");
    } else if (mark === "?" || mark === "!") {
      const kind = mark === "?" ? "untracked" : "ignored";
      entries.push({ kind, index: mark, tree: mark, path: field.slice(2), submodule: false });
    } else if (mark === "1" || mark === "2" || mark === "u") {
      const [kind, before] = STATUS_KINDS[mark];
      const columns = splitColumns(field, before);
      const xy = columns[1] ?? "..";
      const entry = {
        kind,
        index: xy.charAt(0),
        tree: xy.charAt(1),
        path: columns[before] ?? "",
        submodule: columns[2]?.startsWith("S") === true,
      };
      // A rename's origin is a NUL-terminated field of its own.
      entries.push(mark === "2" ? { ...entry, from: fields[++i] ?? "" } : entry);
    }
  }
  return { branch: branchOf(headers), entries };
}

/** By mark: the kind, and how many columns come before the path. */
const STATUS_KINDS = { "1": ["changed", 8], "2": ["renamed", 9], u: ["unmerged", 10] } as const;

function splitColumns(field: string, before: number): string[] {
  const columns: string[] = [];
  let at = 0;
  while (columns.length < before) {
    const blank = field.indexOf(" ", at);
    if (blank === -1) break;
    columns.push(field.slice(at, blank));
    at = blank + 1;
  }
  columns.push(field.slice(at));
  return columns;
}

function branchOf(headers: ReadonlyMap<string, string>): Status["branch"] {
  const oid = headers.get("branch.oid");
  if (oid === undefined) return null;
  const head = headers.get("branch.head");
  const counts = /^\+(\d+) -(\d+)$/.exec(headers.get("branch.ab") ?? "");
  return {
    oid: oid === "(initial)" ? null : oid,
    head: head === undefined || head === "(detached)" ? null : head,
    upstream: headers.get("branch.upstream") ?? null,
    ahead: Number(counts?.[1] ?? 0),
    behind: Number(counts?.[2] ?? 0),
  };
}

/** `git config -z --list`: every value of every key, in order; null is a key without `=`, which git reads as true. */
export function parseConfig(text: string): Map<string, (string | null)[]> {
  const config = new Map<string, (string | null)[]>();
  for (const entry of parseNul(text)) {
    const newline = entry.indexOf("\n");
    const key = newline === -1 ? entry : entry.slice(0, newline);
    const values = config.get(key) ?? [];
    values.push(newline === -1 ? null : entry.slice(newline + 1));
    config.set(key, values);
  }
  return config;
}

/** Git's reading of a boolean; null for what it would reject. */
export function configBool(value: string | null): boolean | null {
  if (value === null || /^(?:true|yes|on|1)$/i.test(value)) return true;
  return /^(?:false|no|off|0|)$/i.test(value) ? false : null;
}

export interface GitVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** As git says it: `2.39.5 (Apple Git-154)`. */
  readonly text: string;
}

/** `git version`. Throws GIT_FAILED for anything else. */
export function parseGitVersion(text: string): GitVersion {
  const match = /^git version ((\d+)\.(\d+)(?:\.(\d+))?.*)$/m.exec(text);
  if (match === null)
    throw new DotbotError("GIT_FAILED", `git version: an answer that isn't a version: ${quote(text)}`);
  return { major: Number(match[2]), minor: Number(match[3]), patch: Number(match[4] ?? 0), text: match[1] ?? "" };
}

/** Whether a version is `minimum` (`"2.38"`, `"2.38.1"`) or newer. */
export function atLeast(version: GitVersion, minimum: string): boolean {
  const [major = 0, minor = 0, patch = 0] = minimum.split(".").map(Number);
  if (version.major !== major) return version.major > major;
  if (version.minor !== minor) return version.minor > minor;
  return version.patch >= patch;
}

/**
 * The words of a failure: the lines that git marks as fatal or error, without the mark, or else all lines; hints and
 * warnings out, user info of URLs out, at most `max` lines, joined by newlines. Empty when nothing was said.
 */
export function errorLines(stderr: string, max = 4): string {
  const lines = stripControlKeepLines(stderr)
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^(?:hint|warning):/.test(line));
  const first = lines.findIndex((line) => /^(?:fatal|error): /.test(line));
  return lines
    .slice(Math.max(0, first))
    .slice(0, max)
    .map((line) => hideUserInfo(line.replace(/^(?:fatal|error): /, "")))
    .join("\n");
}

/** The first line of `errorLines`. */
export function errorLine(stderr: string): string {
  return errorLines(stderr, 1);
}

/** A text in which no URL keeps its `user:password@`. */
export function hideUserInfo(text: string): string {
  return text.replace(/([A-Za-z][A-Za-z0-9+.-]*:\/\/)[^\s/'"]*@/g, "$1");
}

/** What discovery reads in a repository's own config file. */
export interface FormatFacts {
  readonly version: number;
  readonly bare: boolean | null;
}

/**
 * The part of a config file that decides where a repository is, or null when anything in it is beyond the plainest form:
 * includes, core.worktree, any extension but the object format, a recorded dotbot root, continued lines, keys beside a
 * section's header. Null isn't a fault; it means that git has to be asked.
 */
export function plainFormat(text: string): FormatFacts | null {
  let section = "";
  let version = 0;
  let bare: boolean | null = null;
  let extended = false;
  for (const raw of text.split("\n")) {
    const line = raw.replace(/^[ \t\r]+|[ \t\r]+$/g, "");
    if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
    if (line.endsWith("\\")) return null;
    if (line.startsWith("[")) {
      const header = /^\[([A-Za-z0-9.-]+)(\s+"(?:[^"\\]|\\.)*")?\]\s*(?:[#;].*)?$/.exec(line);
      if (header === null) return null;
      section = (header[1] ?? "").toLowerCase() + (header[2] === undefined ? "" : " sub");
      if (/^(?:include|includeif|dotbot)\b/.test(section)) return null;
      continue;
    }
    if (section === "") return null;
    if (section !== "core" && section !== "extensions") continue;
    const entry = /^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$/.exec(line);
    if (entry === null) return null;
    const key = `${section}.${(entry[1] ?? "").toLowerCase()}`;
    const value = entry[2] ?? null;
    if (key === "core.worktree") return null;
    if (key === "core.bare") {
      bare = configBool(value);
      if (bare === null) return null;
    } else if (key === "core.repositoryformatversion") {
      if (value !== "0" && value !== "1") return null;
      version = Number(value);
    } else if (section === "extensions") {
      if (key !== "extensions.objectformat" || (value !== "sha1" && value !== "sha256")) return null;
      extended = true;
    }
  }
  // Git refuses an extension in a repository of format 0, in its own words.
  return extended && version === 0 ? null : { version, bare };
}
