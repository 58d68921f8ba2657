/**
 * Where the scan's texts come from: changes of a checkout, the index, all tracked files, or commits one by one. Reads git and
 * files, changes nothing, and names whatever it can't look into.
 */
import { readContent } from "../files.ts";
import { git, gitText, refuseOption, type GitCtx } from "../git/run.ts";
import { DotbotError } from "../error.ts";
import { oneLine } from "../git/parse.ts";
import { quote } from "../text.ts";
import { displayPath, parsePatch, wholeText, type Opaque, type Patch, type Text } from "./patch.ts";

export type Source =
  /** What was added since `base` (null: since HEAD) up to `head` (null: no commit yet), in the index, in the files, tracked or not. */
  | { readonly kind: "changes"; readonly base: string | null; readonly head: string | null }
  /** What the index adds to HEAD, whatever is in the files. */
  | { readonly kind: "staged" }
  /** Every tracked file, as it is now. */
  | { readonly kind: "all" }
  /** Every commit that `range` (`A..B`) names, each by itself: what one adds and a later one takes away is found. */
  | { readonly kind: "range"; readonly range: string };

export type SkipReason = "binary" | "too-large" | "unreadable" | "vanished";

/** A file that wasn't looked into. */
export interface Skip {
  file: string;
  reason: SkipReason;
}

export interface SourceOptions {
  readonly workRoot: string;
  readonly maxBytes: number;
  /** Told now and then how far it got. */
  readonly progress: (line: string) => void;
}

/** Hands out texts one after the other, so that they needn't all be in memory. */
export interface Sink {
  text(text: Text): void;
  skip(skip: Skip): void;
}

/** Git's default of 30 s for a look is for small answers; a diff of a large change may take longer. */
const DIFF_TIMEOUT_MS = 300_000;
/** Commits looked at in one process. */
const CHUNK = 64;
/** The queue's own files: no task changes them, and a scan of a change doesn't look at them. */
const NOT_QUEUE = [":(top,exclude).bot/workspace/tasks", ":(top,exclude).bot/.control"];

export async function readSource(ctx: GitCtx, source: Source, options: SourceOptions, sink: Sink): Promise<void> {
  const reader = new Reader(ctx, options, sink);
  switch (source.kind) {
    case "changes":
      return await reader.changes(source.base, source.head);
    case "staged":
      return await reader.staged();
    case "all":
      return await reader.all();
    case "range":
      return await reader.range(source.range);
  }
}

class Reader {
  private readonly ctx: GitCtx;
  private readonly options: SourceOptions;
  private readonly sink: Sink;

  constructor(ctx: GitCtx, options: SourceOptions, sink: Sink) {
    this.ctx = ctx;
    this.options = options;
    this.sink = sink;
  }

  async changes(base: string | null, head: string | null): Promise<void> {
    const status = await this.bytes([
      ...QUIET,
      "status",
      "--porcelain=v2",
      "-z",
      "--untracked-files=all",
      "--no-renames",
      "--ignore-submodules=all",
      "--",
      ":/",
      ...NOT_QUEUE,
    ]);
    const fields = splitNul(status);
    const marks = fields.filter((field) => field[0] === 0x31 || field[0] === 0x32 || field[0] === 0x75);
    // `1 XY …`: X is the state in the index, Y in the file.
    const isStaged = marks.some((field) => field[2] !== DOT);
    const isEdited = marks.some((field) => field[3] !== DOT);
    if (base !== null && head !== null && base !== head) await this.diff([base, head], NOT_QUEUE);
    if (isStaged) await this.diff(["--cached", head ?? (await this.emptyTree())], NOT_QUEUE);
    if (isEdited) await this.diff([], NOT_QUEUE, true);
    for (const field of fields) if (field[0] === 0x3f) this.file(field.subarray(2));
  }

  async staged(): Promise<void> {
    await this.diff(["--cached", (await this.head()) ?? (await this.emptyTree())], []);
  }

  async all(): Promise<void> {
    const names = splitNul(await this.bytes(["ls-files", "-z", "--stage", "--", ":/"]));
    const seen = new Set<string>();
    for (const [index, entry] of names.entries()) {
      if (index % 500 === 0) this.options.progress(`scanning: ${index} of ${names.length} files`);
      const tab = entry.indexOf(9);
      const mode = ascii(entry.subarray(0, 6));
      const name = entry.subarray(tab + 1);
      // A submodule's files are its own; an unmerged path is listed once for each side.
      const key = ascii(name);
      if (mode === "160000" || seen.has(key)) continue;
      seen.add(key);
      this.file(name);
    }
  }

  async range(range: string): Promise<void> {
    const commits = await this.commitsOf(range);
    for (let at = 0; at < commits.length; at += CHUNK) {
      this.options.progress(`scanning: ${at} of ${commits.length} commits`);
      const input = `${commits.slice(at, at + CHUNK).join("\n")}\n`;
      const patch = await this.bytes(
        [...this.quiet(), "diff-tree", "--stdin", "-r", "--root", "--cc", ...PATCH],
        input,
      );
      await this.patch(parsePatch(patch), false);
    }
  }

  private async commitsOf(range: string): Promise<string[]> {
    const ends = /^(.*?)\.\.(.*)$/.exec(range);
    if (ends === null || ends[2]?.startsWith(".") === true) {
      throw new DotbotError("INVALID_INPUT", `${quote(range)} isn't a range of commits`, {
        hint: "name where it begins (left out) and ends, with two dots between; without an end it goes to HEAD",
        example: "dotbot guard scan --range main..HEAD",
      });
    }
    const [from, to] = [ends[1] ?? "", ends[2] ?? ""].map((name) =>
      name === "" ? "HEAD" : refuseOption(name, "commit"),
    );
    const args = ["rev-list", "--reverse", "--end-of-options", `${from}..${to}`];
    const listed = await git(this.ctx, args, { cwd: this.options.workRoot, probe: true, timeoutMs: DIFF_TIMEOUT_MS });
    if (listed.status === 0) return listed.stdout.split("\n").filter((line) => line !== "");
    throw new DotbotError("NOT_FOUND", `the range ${quote(range)} names a commit that isn't there`, {
      hint: "fetch it first, or name another; `git log --oneline -5` shows the last ones",
      example: "dotbot guard scan --range main..HEAD",
    });
  }

  private async diff(what: readonly string[], paths: readonly string[], isTree = false): Promise<void> {
    const args = [...this.quiet(), "diff", "--no-relative", ...PATCH, ...what, "--", ":/", ...paths];
    await this.patch(parsePatch(await this.bytes(args)), isTree);
  }

  /** `isTree`: the new content stands in the checkout's files, and git's store may not have it. */
  private async patch({ texts, opaque }: Patch, isTree: boolean): Promise<void> {
    for (const text of texts) this.sink.text(text);
    if (opaque.length === 0) return;
    if (isTree) for (const { name } of opaque) this.file(name);
    else await this.blobs(opaque);
  }

  /** What git shows no lines of: skipped when it's binary or too large, else looked at as a whole. */
  private async blobs(opaque: readonly Opaque[]): Promise<void> {
    const input = `${opaque.map(({ oid }) => oid).join("\n")}\n`;
    const sizes = ascii(await this.bytes(["cat-file", "--batch-check=%(objectsize)"], input)).split("\n");
    for (const [index, { file, oid, commit }] of opaque.entries()) {
      const size = Number(sizes[index]);
      if (Number.isNaN(size)) this.sink.skip({ file, reason: "vanished" });
      else if (size > this.options.maxBytes) this.sink.skip({ file, reason: "too-large" });
      else this.whole(file, await this.bytes(["cat-file", "blob", oid]), commit);
    }
  }

  private file(name: Uint8Array): void {
    // A repository within this one is listed as a folder, and is its own.
    if (name.at(-1) === 0x2f) return;
    const file = displayPath(name);
    const content = readContent(this.options.workRoot, name, this.options.maxBytes);
    if (content.is === "file" || content.is === "link") this.whole(file, content.bytes);
    else if (content.is !== "special") this.sink.skip({ file, reason: content.is });
  }

  private whole(file: string, bytes: Uint8Array, commit?: string): void {
    const readable = asText(bytes);
    if (readable === null) this.sink.skip({ file, reason: "binary" });
    else this.sink.text(wholeText(file, readable, commit));
  }

  private async head(): Promise<string | null> {
    const args = ["rev-parse", "-q", "--verify", "HEAD^{commit}"];
    const answer = await git(this.ctx, args, { cwd: this.options.workRoot, probe: true });
    return answer.status === 0 ? oneLine(answer.stdout) : null;
  }

  private async emptyTree(): Promise<string> {
    const args = ["hash-object", "-t", "tree", "--stdin"];
    return oneLine(await gitText(this.ctx, args, { cwd: this.options.workRoot, probe: true }));
  }

  private quiet(): readonly string[] {
    // Over this size git shows no lines, so that a large file doesn't become a large answer.
    return [...QUIET, "-c", `core.bigFileThreshold=${this.options.maxBytes}`];
  }

  private async bytes(args: readonly string[], input?: string): Promise<Uint8Array> {
    const { bytes } = await git(this.ctx, args, {
      cwd: this.options.workRoot,
      probe: true,
      timeoutMs: DIFF_TIMEOUT_MS,
      okStatus: [0],
      ...(input === undefined ? {} : { input }),
    });
    return bytes;
  }
}

const DOT = 0x2e;
/** Settings of the user that would change what a patch looks like. */
const QUIET = [
  "-c",
  "diff.suppressBlankEmpty=false",
  "-c",
  "diff.ignoreSubmodules=all",
  "-c",
  "diff.wsErrorHighlight=none",
];
/** One line of context: an exemption may stand in the line before. */
const PATCH = [
  "--patch",
  "--unified=1",
  "--inter-hunk-context=0",
  "--find-renames",
  "--full-index",
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  "--submodule=short",
  "--ignore-submodules=all",
  "--src-prefix=a/",
  "--dst-prefix=b/",
];

function splitNul(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const nul = bytes.indexOf(0, at);
    const end = nul === -1 ? bytes.length : nul;
    parts.push(bytes.subarray(at, end));
    at = end + 1;
  }
  return parts;
}

function ascii(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** Where git looks for the NUL that makes a file binary. */
const BINARY_PROBE = 8000;

/** Text as bytes of UTF-8 (or nearly): UTF-16 is converted, what else has a NUL at its beginning is binary. */
function asText(bytes: Uint8Array): Uint8Array | null {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextEncoder().encode(new TextDecoder("utf-16le").decode(bytes));
  if (first === 0xfe && second === 0xff) return new TextEncoder().encode(new TextDecoder("utf-16be").decode(bytes));
  return bytes.subarray(0, BINARY_PROBE).includes(0) ? null : bytes;
}
