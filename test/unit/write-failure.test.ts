/** Why a file can't be written, as its caller is told. */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { DotbotError } from "../../lib/error.ts";
import { writeAtomic, writeFailure } from "../../lib/files.ts";

function thrown(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return null;
}

const rows: readonly (readonly [what: string, path: string, message: RegExp])[] = [
  ["a folder that isn't there", "gone/x", /can't write ".*\/gone\/x": its folder doesn't exist/],
  ["a file in place of a folder", "file/x", /a part of its path is no folder/],
  ["a folder in place of the file", "folder", /it is a folder/],
  ["a name that is too long", "n".repeat(300), /its name is too long/],
];

test.each(rows)("%s is refused with the path", (_, path, message) => {
  const root = mkdtempSync(join(tmpdir(), "dotbot-write-"));
  try {
    mkdirSync(join(root, "folder"));
    writeFileSync(join(root, "file"), "");
    const error = thrown(() => writeAtomic(join(root, path), "text"));
    if (!(error instanceof DotbotError)) throw error;
    expect([error.code, error.message]).toEqual(["REFUSED", expect.stringMatching(message)]);
    expect(error.hint).toBeDefined();
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("what the system doesn't explain stays what it is", () => {
  const error = new Error("a fault");
  expect(thrown(() => writeFailure(error, "/x"))).toBe(error);
});
