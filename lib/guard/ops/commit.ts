/** `guard commit`: commits exactly the files that are named, or what is staged. */
import * as v from "valibot";

import { commitPaths } from "../../git/commit.ts";
import type { Echo } from "../../git/echo.ts";
import { declaredPaths } from "../../git/paths.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { count, quote } from "../../text.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { namedFiles } from "../judge.ts";
import { echo, echoOutput, filesField, refuseQueuePaths, told, treeOf } from "./common.ts";

const MESSAGE_MAX = 65_536;

export const commit = operation({
  name: "guard commit",
  summary: "Commit exactly the files that are named, or what is staged",
  details:
    "Whatever else is staged stays staged and out. New files and deletions are committed as they are in the tree. Hooks, filters and signing run; what a hook adds is reported as SWEPT_IN. Without files the index is committed as it is (command line only). Not in the main checkout of another repository.",
  examples: [
    {
      given: ["init --no-commit"],
      run: "guard commit -m 'Add the queue' .bot",
      does: "commits what is changed in a folder",
    },
    {
      given: ["init --no-commit", "guard add .bot/README.md"],
      run: "guard commit -m 'Add a page'",
      does: "commits what is staged",
    },
  ],
  effect: "write",
  target: { rule: "guard", op: "commit" },
  input: v.strictObject({
    message: v.pipe(
      v.string(),
      v.maxLength(MESSAGE_MAX),
      v.description("The commit message; the first line is its subject."),
    ),
    files: filesField,
    ...guardFields,
  }),
  output: v.object({
    ...echoOutput,
    ok: v.pipe(v.boolean(), v.description("false: there was nothing to commit.")),
    commit: v.pipe(
      v.nullable(v.string()),
      v.description("The commit that was made. headSha is another one where somebody committed after it."),
    ),
    paths: v.pipe(v.array(v.string()), v.description("What it changes, read back from it.")),
    whole: v.pipe(
      v.array(v.string()),
      v.description("Files of which only a part was staged: named, they were committed whole."),
    ),
  }),
  positional: [{ field: "files", variadic: true, optional: true }],
  flags: { ...guardFlags, message: { short: "m", value: "text", stdin: true } },
  complete: { files: "path" },
  run: async (call, input) => await runCommit(call, input),
  text: (result) =>
    result.commit === null
      ? told(result, "nothing to commit: nothing that was named is changed")
      : told(
          result,
          `${result.commit.slice(0, 12)}: ${count(result.paths.length, "path")}: ${result.paths
            .slice(0, 10)
            .map((path) => quote(path))
            .join(", ")}${result.paths.length > 10 ? ", …" : ""}`,
          ...(result.whole.length === 0
            ? []
            : [
                `committed whole, though only a part was staged: ${result.whole.map((path) => quote(path)).join(", ")}`,
              ]),
        ),
});

interface CommitInput {
  readonly message: string;
  readonly files?: readonly string[] | undefined;
}

type CommitResult = Echo & { ok: boolean; commit: string | null; paths: string[]; whole: string[] };

async function runCommit(call: Call, input: CommitInput): Promise<CommitResult> {
  const tree = await treeOf(call, commit.name);
  const op: AnyOperation = commit;
  const files = namedFiles(input.files);
  const check = refuseQueuePaths(call, op, { ...input });
  const paths = files.length === 0 ? null : declaredPaths(tree.repo, tree.workRoot, files);
  if (paths !== null) check(paths);
  const made = await commitPaths(call, tree, { paths, message: input.message, check });
  const facts = await echo(call, made === null ? "nothing was to be committed" : `commit ${made.sha} was made`);
  if (made === null) return { ...facts, ok: false, commit: null, paths: [], whole: [] };
  return { ...facts, ok: true, commit: made.sha, paths: [...made.paths], whole: [...made.whole] };
}
