/**
 * A patch as git prints it (one line of context, plain or combined), read as bytes into one text per file: the lines that are
 * in the result, each with its number and whether the change added it. Pure.
 *
 * Content lines of a hunk begin with a blank, `+`, `-` or `\`, so a line that begins otherwise ends the hunk: no line of a
 * file is ever taken for a header.
 */

/** The part of a file that is looked at. Lines are those of `bytes`, counted from 0. */
export interface Text {
  /** Path from the repository's root; what isn't UTF-8 in it shows as U+FFFD. */
  readonly file: string;
  readonly bytes: Uint8Array;
  /** The commit that the text is of, where each is looked at by itself. */
  readonly commit?: string;
  /** The line's number in the file, from 1. */
  number(line: number): number;
  /** Whether what stands in this line is to be reported; lines around a change are only there to be read. */
  isNew(line: number): boolean;
}

/** A file whose content the patch doesn't show: git takes it for binary, by content, size or attribute. */
export interface Opaque {
  readonly file: string;
  /** The path as git names it, for reading it. */
  readonly name: Uint8Array;
  /** Of the new content. */
  readonly oid: string;
  readonly commit?: string;
}

export interface Patch {
  readonly texts: readonly Text[];
  readonly opaque: readonly Opaque[];
}

export function wholeText(file: string, bytes: Uint8Array, commit?: string): Text {
  return { file, bytes, ...(commit === undefined ? {} : { commit }), number: (line) => line + 1, isNew: () => true };
}

const LF = 10;
const PLUS = 0x2b;
const MINUS = 0x2d;
const AT = 0x40;
const ascii = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");

/** Reads the output of `git diff`, or of `git diff-tree --stdin`, which puts each commit's name before its patch. */
export function parsePatch(patch: Uint8Array): Patch {
  const texts: Text[] = [];
  const opaque: Opaque[] = [];
  let commit: string | undefined;
  let section = new Section();
  const finish = (): void => {
    const text = section.text(commit);
    if (text !== null) texts.push(text);
    const hidden = section.hidden(commit);
    if (hidden !== null) opaque.push(hidden);
  };
  for (let at = 0; at < patch.length;) {
    const lf = patch.indexOf(LF, at);
    const end = lf === -1 ? patch.length : lf;
    const line = patch.subarray(at, end);
    at = end + 1;
    if (section.takesContent(line)) continue;
    const head = ascii(line.subarray(0, 80));
    if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(head)) {
      finish();
      section = new Section();
      commit = head;
    } else if (head.startsWith("diff --")) {
      finish();
      section = new Section();
      section.header(line, head);
    } else {
      section.header(line, head);
    }
  }
  finish();
  return { texts, opaque };
}

class Section {
  /** Columns before each content line: one, or one per parent of a merge; 0 outside a hunk. */
  private columns = 0;
  private next = 0;
  private name: Uint8Array | null = null;
  private combinedName: Uint8Array | null = null;
  private oid = "";
  private binary = false;
  private readonly parts: Uint8Array[] = [];
  private readonly numbers: number[] = [];
  private readonly added: boolean[] = [];

  /** True when the line belongs to a hunk's content. */
  takesContent(line: Uint8Array): boolean {
    if (this.columns === 0) return false;
    const mark = line[0];
    if (mark === 0x5c) return true;
    if (mark !== PLUS && mark !== MINUS && mark !== 0x20) {
      this.columns = 0;
      return false;
    }
    const columns = line.subarray(0, this.columns);
    if (columns.includes(MINUS)) return true;
    this.parts.push(line.subarray(this.columns));
    this.numbers.push(this.next++);
    this.added.push(columns.every((byte) => byte === PLUS));
    return true;
  }

  header(line: Uint8Array, head: string): void {
    if (line[0] === AT) {
      const hunk = /^(@{2,}) .*\+(\d+)(?:,\d+)? @/.exec(head);
      this.columns = (hunk?.[1]?.length ?? 1) - 1;
      this.next = Number(hunk?.[2] ?? 1);
    } else if (head.startsWith("+++ ")) {
      const name = pathOf(line.subarray(4));
      this.name = name === null || ascii(name) === "/dev/null" ? null : withoutPrefix(name);
    } else if (head.startsWith("rename to ")) {
      this.name = pathOf(line.subarray("rename to ".length));
    } else if (head.startsWith("diff --cc ") || head.startsWith("diff --combined ")) {
      this.combinedName = pathOf(line.subarray(head.indexOf(" ", 7) + 1));
    } else if (head.startsWith("index ")) {
      this.oid = /\.\.([0-9a-f]+)/.exec(ascii(line))?.[1] ?? "";
    } else if (head.startsWith("Binary files ")) {
      this.binary = true;
      this.name ??= this.combinedName ?? binaryName(line);
    }
  }

  text(commit: string | undefined): Text | null {
    if (this.name === null || !this.added.includes(true)) return null;
    const bytes = joinLines(this.parts);
    const { numbers, added } = this;
    return {
      file: displayPath(this.name),
      bytes,
      ...(commit === undefined ? {} : { commit }),
      number: (line) => numbers[line] ?? 0,
      isNew: (line) => added[line] === true,
    };
  }

  hidden(commit: string | undefined): Opaque | null {
    if (!this.binary || this.name === null || /^0*$/.test(this.oid)) return null;
    return {
      file: displayPath(this.name),
      name: this.name,
      oid: this.oid,
      ...(commit === undefined ? {} : { commit }),
    };
  }
}

function joinLines(parts: readonly Uint8Array[]): Uint8Array {
  const size = parts.reduce((sum, part) => sum + part.length + 1, 0);
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
    bytes[at++] = LF;
  }
  return bytes;
}

export function displayPath(name: Uint8Array): string {
  return new TextDecoder().decode(name);
}

/** `b/path` without its prefix. */
function withoutPrefix(name: Uint8Array): Uint8Array {
  return name.subarray(2);
}

/**
 * The new name in `Binary files a/x and b/x differ`. Of a file that wasn't renamed both names are the same, so the middle of
 * the line tells where the second begins, whatever is in it.
 */
function binaryName(line: Uint8Array): Uint8Array | null {
  const body = line.subarray("Binary files ".length, line.length - " differ".length);
  const text = ascii(body);
  if (text.endsWith("/dev/null") && !text.startsWith("/dev/null")) return null;
  const created = "/dev/null and ";
  const second = text.startsWith(created)
    ? body.subarray(created.length)
    : body.subarray((body.length + " and ".length) / 2);
  const name = pathOf(second);
  return name === null ? null : withoutPrefix(name);
}

/** A path as a header shows it: as it is (a blank in it adds a tab at the end), or quoted the way C does. */
function pathOf(shown: Uint8Array): Uint8Array | null {
  if (shown[0] !== 0x22) return shown.at(-1) === 9 ? shown.subarray(0, -1) : shown;
  const bytes: number[] = [];
  for (let at = 1; at < shown.length; at++) {
    const byte = shown[at] ?? 0;
    if (byte === 0x22) return Uint8Array.from(bytes);
    if (byte !== 0x5c) {
      bytes.push(byte);
      continue;
    }
    const escape = String.fromCharCode(shown[++at] ?? 0);
    if (escape >= "0" && escape <= "7") {
      bytes.push(Number.parseInt(ascii(shown.subarray(at, at + 3)), 8));
      at += 2;
    } else {
      bytes.push(C_ESCAPES[escape] ?? escape.charCodeAt(0));
    }
  }
  return null;
}

const C_ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };
