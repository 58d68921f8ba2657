/** What a checkout is in the middle of, by the files that git keeps meanwhile. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";

import { operationInProgress } from "../../lib/git/state.ts";
import { tempDir, write } from "../kit/git.ts";

test.each<[what: string, files: Readonly<Record<string, string>>, said: ReturnType<typeof operationInProgress>]>([
  ["nothing", {}, null],
  ["a merge", { MERGE_HEAD: "" }, "merge"],
  ["a rebase", { "rebase-merge/head-name": "" }, "rebase"],
  ["a rebase by patches", { "rebase-apply/rebasing": "" }, "rebase"],
  ["patches that are applied", { "rebase-apply/applying": "" }, "am"],
  ["a pick inside a rebase", { "rebase-merge/head-name": "", CHERRY_PICK_HEAD: "" }, "rebase"],
  ["a cherry-pick", { CHERRY_PICK_HEAD: "", "sequencer/todo": "pick 1234567 a\n" }, "cherry-pick"],
  ["a revert", { REVERT_HEAD: "" }, "revert"],
  ["a series between two picks", { "sequencer/todo": "pick 1234567 a\n" }, "cherry-pick"],
  ["a series between two reverts", { "sequencer/todo": "revert 1234567 a\n" }, "revert"],
  ["a bisect", { BISECT_LOG: "" }, "bisect"],
])("%s", async (_, files, said) => {
  await using dir = await tempDir();
  const gitDir = dir.path("git");
  mkdirSync(gitDir);
  write(gitDir, files);
  expect(operationInProgress(gitDir)).toBe(said);
});
