/** `guard checkout`: puts a branch, a commit or a pull request into the tree that is named, and proves that it is there. */
import { join } from "node:path";

import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { lstatOrNull, removeFile } from "../../files.ts";
import type { Echo } from "../../git/echo.ts";
import { writeTree } from "../../git/index-lock.ts";
import { changesBetween } from "../../git/merge.ts";
import { branchRef, checkBranchName, commitOf } from "../../git/refs.ts";
import { readHead, type Head } from "../../git/repo.ts";
import { git, gitFailure, refuseOption } from "../../git/run.ts";
import { trackedChanges } from "../../git/state.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { nearest, quote } from "../../text.ts";
import { shaMatches } from "../intent.ts";
import { chooseRemote, fetchCommit, fetchRef, type ChosenRemote } from "../remote.ts";
import { branchNames, echo, echoOutput, given, refused, remoteField, told, treeOf, type Tree } from "./common.ts";
import { inTheWay } from "./pull.ts";

export const checkout = operation({
  name: "guard checkout",
  summary: "Check a branch, a commit or a pull request out in the tree that is named",
  details:
    "The tree has to be clean. What the remote has is fetched where it is needed. With expect_sha the commit is compared before and after; on a mismatch the tree is where it was. Test what is there only when headSha of the answer is the commit that you mean. Not in the main checkout of another repository.",
  examples: [{ given: ["init", "guard branch create other"], run: "guard checkout other", does: "a local branch" }],
  effect: "write",
  idempotent: true,
  openWorld: true,
  target: { rule: "guard", op: "checkout" },
  input: v.strictObject({
    ref: v.optional(
      v.pipe(v.string(), v.description("A branch, here or at the remote, or a commit's id (then HEAD is detached).")),
    ),
    pr: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(1),
        v.description("The number of a pull or merge request; HEAD is detached."),
      ),
    ),
    remote: remoteField,
    ...guardFields,
    expect_sha: v.optional(
      v.pipe(v.string(), v.description("The commit that has to be checked out in the end; anything else is refused.")),
    ),
  }),
  output: v.object({
    ...echoOutput,
    from: v.object({ branch: v.nullable(v.string()), headSha: v.nullable(v.string()) }),
    what: v.picklist(["branch", "new-branch", "commit", "pull-request"]),
    leftBehind: v.pipe(
      v.boolean(),
      v.description("HEAD was detached before, at a commit that no branch may have: from.headSha."),
    ),
  }),
  positional: [{ field: "ref", optional: true }],
  flags: { ...guardFlags, remote: { value: "name" } },
  complete: { ref: "branch", remote: "remote" },
  run: async (call, input) => await runCheckout(call, input),
  text: (result) =>
    told(
      result,
      `checked out ${result.branch ?? `${result.headSha ?? ""} (detached)`}${result.what === "new-branch" ? ", new from the remote" : ""}`,
      ...(result.leftBehind ? [`left behind: ${result.from.headSha ?? ""}, which was detached`] : []),
    ),
});

interface CheckoutInput {
  readonly ref?: string | undefined;
  readonly pr?: number | undefined;
  readonly remote?: string | undefined;
  readonly expect_sha?: string | undefined;
}

type Checked = Echo & {
  from: { branch: string | null; headSha: string | null };
  what: Wanted["what"];
  leftBehind: boolean;
};

/** What is to be checked out, before anything in the tree has changed. */
interface Wanted {
  readonly what: "branch" | "new-branch" | "commit" | "pull-request";
  readonly sha: string;
  /** Null: HEAD will be detached. */
  readonly branch: string | null;
}

async function runCheckout(call: Call, input: CheckoutInput): Promise<Checked> {
  const tree = await treeOf(call, checkout.name);
  const op: AnyOperation = checkout;
  const before = await readHead(call, tree.repo);
  const wanted = await find(call, op, input);
  const expected = given(input.expect_sha);
  if (expected !== undefined && !shaMatches(expected, wanted.sha))
    throw notExpected(call, op, input, expected, wanted.sha);
  await go(call, tree, wanted, before);
  const after = await arrived(call, op, tree, { wanted, before, expected, input });
  return {
    ...after,
    from: { branch: before.branch, headSha: before.sha },
    what: wanted.what,
    leftBehind: before.branch === null && before.sha !== null && before.sha !== after.headSha,
  };
}

// ── what is meant ────────────────────────────────────────────────────────────────────────────────────────────────────

async function find(call: Call, op: AnyOperation, input: CheckoutInput): Promise<Wanted> {
  const ref = given(input.ref);
  const { repo } = call.target;
  if (input.pr !== undefined && ref !== undefined) {
    throw refused(
      call,
      op,
      { ...input },
      {
        why: "both ref and pr are given, and only one thing can be checked out",
        mismatched: ["ref", "pr"],
        works: { ref: undefined },
      },
    );
  }
  const remote = async (): Promise<ChosenRemote> =>
    await chooseRemote(
      call,
      op,
      { ...input },
      { remote: given(input.remote), branch: (await readHead(call, repo)).branch, to: "fetch" },
    );
  if (input.pr !== undefined) return await findPullRequest(call, await remote(), input.pr);
  if (ref === undefined) {
    const [first] = await branchNames(call);
    throw refused(
      call,
      op,
      { ...input },
      {
        why: "neither a branch, nor a commit, nor a pull request is named",
        missing: ["ref"],
        hint: "give ref or pr",
        works: { ref: first ?? "main" },
      },
    );
  }
  refuseOption(ref, "branch or commit");
  const local = await commitOf(call, repo.mainRoot, branchRef(ref));
  if (local !== null) return { what: "branch", sha: local, branch: ref };
  if (/^[0-9a-f]{7,64}$/i.test(ref)) {
    const known = await commitOf(call, repo.mainRoot, ref.toLowerCase());
    if (known !== null) return { what: "commit", sha: known, branch: null };
    if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(ref) && (await fetchCommit(call, await remote(), ref.toLowerCase()))) {
      return { what: "commit", sha: ref.toLowerCase(), branch: null };
    }
  }
  return await findRemoteBranch(call, ref, remote);
}

async function findRemoteBranch(call: Call, ref: string, remote: () => Promise<ChosenRemote>): Promise<Wanted> {
  const { mainRoot } = call.target.repo;
  await checkBranchName(call, mainRoot, ref);
  let where = "";
  try {
    const chosen = await remote();
    where = ` nor at ${quote(chosen.name)}`;
    const sha = await fetchRef(call, chosen, branchRef(ref));
    if (sha !== null) return { what: "new-branch", sha, branch: ref };
  } catch (error) {
    // Without any remote the answer is that there is no such branch.
    if (!(error instanceof DotbotError) || error.code !== "NOT_FOUND") throw error;
  }
  const names = await branchNames(call);
  const near = nearest(ref, names);
  throw new DotbotError("NOT_FOUND", `there is no branch or commit ${quote(ref)} in ${quote(mainRoot, 200)}${where}`, {
    hint: near === undefined ? "name a branch, or a commit by at least seven digits" : `did you mean ${quote(near)}?`,
    details: { ref, branches: names.slice(0, 50) },
  });
}

async function findPullRequest(call: Call, remote: ChosenRemote, pr: number): Promise<Wanted> {
  const refs = [`refs/pull/${pr}/head`, `refs/merge-requests/${pr}/head`];
  for (const ref of refs) {
    const sha = await fetchRef(call, remote, ref);
    if (sha !== null) return { what: "pull-request", sha, branch: null };
  }
  throw new DotbotError("NOT_FOUND", `${quote(remote.name)} has no pull request ${pr}`, {
    hint: "name the remote that has it",
    details: { remote: remote.name, refs },
  });
}

// ── getting there, and back ──────────────────────────────────────────────────────────────────────────────────────────

const SWITCH = [
  "-c",
  "submodule.recurse=false",
  "-c",
  "advice.detachedHead=false",
  "switch",
  "--quiet",
  "--no-guess",
  "--no-overwrite-ignore",
  "--no-recurse-submodules",
] as const;

async function go(call: Call, tree: Tree, wanted: Wanted, before: Head): Promise<void> {
  const how =
    wanted.branch === null
      ? ["--detach", wanted.sha]
      : wanted.what === "new-branch"
        ? ["--no-track", "-c", wanted.branch, wanted.sha]
        : ["--end-of-options", wanted.branch];
  const absent = await comingIn(call, tree, wanted.sha, before);
  const result = await writeTree(call, tree, [...SWITCH, ...how]);
  if (result.status === 0) return;
  const elsewhere = /is already (?:checked out|used by worktree) at '(.+)'/.exec(result.stderr)?.[1];
  if (elsewhere !== undefined) {
    throw new DotbotError(
      "REFUSED",
      `${quote(wanted.branch ?? "")} is checked out in ${quote(elsewhere, 200)}, and a branch is in one checkout at a time`,
      {
        hint: "work there, or check its commit out by id",
        details: { worktree: elsewhere, sha: wanted.sha },
      },
    );
  }
  const blocked = inTheWay(result, "checkout");
  if (blocked !== null) throw blocked;
  // A filter or the disk failed on the way: the tree was clean, so what it held is HEAD's, and goes back to that. What came
  // in goes first: attributes among it would have their say about the rest.
  for (const path of absent) removeFile(join(tree.workRoot, path));
  await restore(call, tree, before);
  throw gitFailure(["switch"], result);
}

/** Paths that the checkout brings in and at which there is nothing now. */
async function comingIn(call: Call, tree: Tree, sha: string, before: Head): Promise<string[]> {
  if (before.sha === null) return [];
  const changes = await changesBetween(call, tree.workRoot, before.sha, sha);
  return changes
    .filter(({ path, old }) => old === null && lstatOrNull(join(tree.workRoot, path)) === null)
    .map(({ path }) => path);
}

/** Compares what is there now with what was meant; takes the tree back where it was when they differ. */
async function arrived(
  call: Call,
  op: AnyOperation,
  tree: Tree,
  {
    wanted,
    before,
    expected,
    input,
  }: { wanted: Wanted; before: Head; expected: string | undefined; input: CheckoutInput },
): Promise<Echo> {
  const after = await echo(call, `${wanted.branch ?? wanted.sha} was checked out`);
  const right =
    after.headSha === wanted.sha &&
    after.branch === wanted.branch &&
    (expected === undefined || shaMatches(expected, after.headSha));
  if (right) return after;
  await restore(call, tree, before);
  if (expected !== undefined && !shaMatches(expected, after.headSha))
    throw notExpected(call, op, input, expected, after.headSha);
  throw new DotbotError(
    "REJECTED",
    `${wanted.branch ?? wanted.sha} was checked out, and then HEAD was ${after.headSha ?? "nowhere"} on ${after.branch ?? "no branch"}: a hook moved it`,
    {
      hint: "the tree is where it was; mend the post-checkout hook",
      details: { wanted, found: { branch: after.branch, headSha: after.headSha }, before },
    },
  );
}

async function restore(call: Call, tree: Tree, before: Head): Promise<void> {
  if (before.sha === null) return;
  const now = await readHead(call, tree.repo, { native: false });
  if (now.branch !== before.branch || now.sha !== before.sha) {
    const back = before.branch === null ? ["--detach", before.sha] : ["--end-of-options", before.branch];
    await git(call, [...SWITCH, ...back], { cwd: tree.workRoot });
  }
  const dirty = await trackedChanges(call, tree.workRoot, { foreign: false });
  if (dirty.length > 0)
    await git(call, ["-c", "submodule.recurse=false", "reset", "--quiet", "--hard", before.sha], {
      cwd: tree.workRoot,
    });
}

function notExpected(
  call: Call,
  op: AnyOperation,
  input: CheckoutInput,
  expected: string,
  found: string | null,
): DotbotError {
  return refused(
    call,
    op,
    { ...input },
    {
      why: `expect_sha is ${quote(expected)}, and ${given(input.ref) ?? `pull request ${input.pr ?? ""}`} is ${found ?? "nothing"}`,
      mismatched: ["expect_sha"],
      hint: "the tree is where it was. A local branch is taken as it is here: pull it first if the remote's is meant",
      works: { expect_sha: found ?? undefined },
      details: { expected, found },
    },
  );
}
