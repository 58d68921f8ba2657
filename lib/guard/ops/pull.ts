/** `guard pull`: brings what a remote has into the branch that is checked out, by fast-forward or not at all. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { FAST_FORWARD, withoutMergeOptions } from "../../git/advance.ts";
import type { Echo } from "../../git/echo.ts";
import { writeTree } from "../../git/index-lock.ts";
import { errorLines } from "../../git/parse.ts";
import { branchRef, checkBranchName, distance, isAncestor } from "../../git/refs.ts";
import { readHead } from "../../git/repo.ts";
import { gitFailure } from "../../git/run.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { quote } from "../../text.ts";
import { chooseRemote, fetchRef, followed } from "../remote.ts";
import { branchField, echo, echoOutput, given, refused, remoteField, told, treeOf } from "./common.ts";

export const pull = operation({
  name: "guard pull",
  summary: "Fast-forward the branch that is checked out to what its remote has",
  details:
    "Fetches and fast-forwards, or changes nothing: never merges, rebases or stashes. Uncommitted work stays; where it is in the way the pull is refused. Not in the main checkout of another repository.",
  examples: [{ given: ["init"], run: "guard check pull", does: "what a pull would be allowed to do" }],
  effect: "write",
  idempotent: true,
  openWorld: true,
  target: { rule: "guard", op: "pull" },
  toolset: "people",
  input: v.strictObject({
    branch: branchField("The branch at the remote. By default the one that the checked-out branch follows."),
    remote: remoteField,
    ...guardFields,
  }),
  output: v.object({
    ...echoOutput,
    remote: v.string(),
    ref: v.pipe(v.string(), v.description("The branch at the remote, by its full name.")),
    before: v.pipe(v.nullable(v.string()), v.description("The commit that was checked out before.")),
    changed: v.pipe(v.boolean(), v.description("false: there was nothing new.")),
    commits: v.pipe(v.number(), v.description("How many commits came in.")),
  }),
  positional: [{ field: "branch", optional: true }],
  flags: { ...guardFlags, remote: { value: "name" } },
  complete: { branch: "branch", remote: "remote" },
  run: async (call, input) => await runPull(call, input),
  text: (result) =>
    told(
      result,
      result.changed
        ? `${result.commits} new from ${result.remote}: ${result.ref}`
        : `nothing new at ${result.remote}: ${result.ref}`,
    ),
});

interface PullInput {
  readonly branch?: string | undefined;
  readonly remote?: string | undefined;
}

type PullResult = Echo & { remote: string; ref: string; before: string | null; changed: boolean; commits: number };

async function runPull(call: Call, input: PullInput): Promise<PullResult> {
  const tree = await treeOf(call, pull.name);
  const { repo, workRoot } = tree;
  const op: AnyOperation = pull;
  const head = await readHead(call, repo);
  const remote = await chooseRemote(
    call,
    op,
    { ...input },
    { remote: given(input.remote), branch: head.branch, to: "fetch" },
  );
  const branch = given(input.branch) ?? (head.branch === null ? null : followed(remote, head.branch));
  if (branch === null) {
    throw refused(
      call,
      op,
      { ...input },
      {
        why:
          head.branch === null
            ? "HEAD is detached there"
            : `the branch ${quote(head.branch)} follows none at ${quote(remote.name)}`,
        missing: ["branch"],
        hint: "give branch: the one at the remote",
        works: { branch: head.branch ?? "main" },
      },
    );
  }
  await checkBranchName(call, workRoot, branch);
  const ref = branchRef(branch);
  const sha = await fetchRef(call, remote, ref);
  if (sha === null) {
    throw new DotbotError("NOT_FOUND", `${quote(remote.name)} has no branch ${quote(branch)}`, {
      details: { remote: remote.name, ref },
    });
  }
  if (head.sha !== null && !(await isAncestor(call, workRoot, head.sha, sha))) {
    const { ahead, behind } = await distance(call, workRoot, head.sha, sha);
    if (behind > 0) {
      throw refused(
        call,
        op,
        { ...input },
        {
          why: `HEAD and ${quote(`${remote.name}/${branch}`)} have diverged, ${ahead} and ${behind} commits: there is no fast-forward`,
          hint: "bring them together by a merge or a rebase of your own choice",
          details: { before: head.sha, remoteSha: sha, ahead, behind },
        },
      );
    }
  }
  const behind = head.sha === null ? 1 : (await distance(call, workRoot, head.sha, sha)).behind;
  if (behind > 0) {
    const set = head.branch === null ? {} : withoutMergeOptions(branchRef(head.branch));
    const result = await writeTree(call, tree, [...FAST_FORWARD, "--end-of-options", sha], set);
    if (result.status !== 0) throw inTheWay(result, "pull") ?? gitFailure(["merge"], result);
  }
  const after = await echo(call, `${ref} of ${remote.name} was pulled`);
  const changed = after.headSha !== head.sha;
  if (behind > 0 && !changed) {
    throw new DotbotError(
      "UNVERIFIED",
      `git says that ${quote(`${remote.name}/${branch}`)} was merged, and HEAD is where it was`,
      {
        hint: "look at the checkout before going on",
        details: { before: head.sha, remoteSha: sha },
      },
    );
  }
  return { ...after, remote: remote.name, ref, before: head.sha, changed, commits: changed ? behind : 0 };
}

/** The failure of a fast-forward or switch that would have overwritten something, by name; null for any other. */
export function inTheWay(result: { readonly stderr: string }, what: string): DotbotError | null {
  if (!/would be overwritten by|would lose|not uptodate|Cannot (?:fast-forward|update)/i.test(result.stderr))
    return null;
  const files = result.stderr
    .split("\n")
    .filter((line) => line.startsWith("\t"))
    .map((line) => line.slice(1));
  return new DotbotError(
    "DIRTY",
    `the ${what} would overwrite ${
      files.length === 0
        ? errorLines(result.stderr)
        : files
            .slice(0, 5)
            .map((file) => quote(file))
            .join(", ")
    }`,
    {
      hint: "commit, move or remove it; nothing was changed",
      details: { files },
    },
  );
}
