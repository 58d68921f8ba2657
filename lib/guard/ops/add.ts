/** `guard add`: stages the files that are named, and only those. */
import * as v from "valibot";

import { addPaths } from "../../git/commit.ts";
import type { Echo } from "../../git/echo.ts";
import { declaredPaths } from "../../git/paths.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { count, quote } from "../../text.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { namedFiles } from "../judge.ts";
import { echo, echoOutput, filesField, refuseQueuePaths, told, treeOf } from "./common.ts";

export const add = operation({
  name: "guard add",
  summary: "Stage the files that are named, in the checkout that is meant",
  details:
    "Files are always named, and taken literally; there is no form that stages everything. A folder stands for what is changed in it. In another repository files with conflicts are refused, since staging would mark them as resolved.",
  examples: [{ given: ["init"], run: "guard add .bot/README.md", does: "stages one file" }],
  effect: "write",
  idempotent: true,
  target: { rule: "guard", op: "add" },
  input: v.strictObject({ files: filesField, ...guardFields }),
  output: v.object({
    ...echoOutput,
    staged: v.pipe(v.array(v.string()), v.description("Paths of the tree that the call staged.")),
  }),
  positional: [{ field: "files", variadic: true, optional: true }],
  flags: guardFlags,
  complete: { files: "path" },
  run: async (call, input) => await runAdd(call, input),
  text: (result) =>
    told(
      result,
      result.staged.length === 0
        ? "nothing to stage: the files are as they are in the index"
        : `staged ${count(result.staged.length, "file")}: ${result.staged
            .slice(0, 10)
            .map((path) => quote(path))
            .join(", ")}${result.staged.length > 10 ? ", …" : ""}`,
    ),
});

async function runAdd(
  call: Call,
  input: { readonly files?: readonly string[] | undefined },
): Promise<Echo & { staged: string[] }> {
  const tree = await treeOf(call, add.name);
  const op: AnyOperation = add;
  const declared = declaredPaths(tree.repo, tree.workRoot, namedFiles(input.files));
  const check = refuseQueuePaths(call, op, { ...input });
  check(declared);
  const staged = await addPaths(call, tree, declared, check);
  return { ...(await echo(call, "the files are staged")), staged: [...staged] };
}
