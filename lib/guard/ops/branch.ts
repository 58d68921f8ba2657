/** `guard branch create` and `guard branch delete`. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import type { Echo } from "../../git/echo.ts";
import { writeTree } from "../../git/index-lock.ts";
import { errorLines } from "../../git/parse.ts";
import { branchRef, checkBranchName, commitOf } from "../../git/refs.ts";
import { readHead } from "../../git/repo.ts";
import { git, gitFailure, refuseOption } from "../../git/run.ts";
import { operationInProgress, usersOf } from "../../git/state.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { isForeign } from "../../target.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { quote } from "../../text.ts";
import { integratedIn, type Integrated } from "../merged.ts";
import { branchTip, echo, echoOutput, protectedBranches, refused, told, treeOf } from "./common.ts";
import { inTheWay } from "./pull.ts";

const nameField = (description: string) => v.pipe(v.string(), v.minLength(1), v.description(description));

// ── create ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export const branchCreate = operation({
  name: "guard branch create",
  summary: "Create a branch and switch the checkout to it",
  details:
    "From HEAD, or from the commit that `from` names. Uncommitted work comes along where it isn't in the way. In the middle of a merge or rebase the branch is created and not switched to. Not in the main checkout of another repository.",
  examples: [{ given: ["init"], run: "guard branch create fix-typo", does: "a new branch, checked out" }],
  effect: "write",
  target: { rule: "guard", op: "branch_create" },
  toolset: "people",
  input: v.strictObject({
    name: nameField("The new branch."),
    from: v.optional(v.pipe(v.string(), v.description("A branch or commit to begin at. By default HEAD."))),
    no_switch: v.optional(
      v.pipe(v.boolean(), v.description("Create it only; the checkout stays on its branch.")),
      false,
    ),
    ...guardFields,
  }),
  output: v.object({
    ...echoOutput,
    created: v.pipe(v.string(), v.description("The new branch.")),
    sha: v.pipe(v.nullable(v.string()), v.description("The commit it begins at; null before the first one.")),
    switched: v.pipe(v.boolean(), v.description("Whether the checkout is on it now.")),
  }),
  positional: [{ field: "name" }],
  flags: { ...guardFlags, from: { value: "branch or commit" } },
  complete: { from: "branch" },
  run: async (call, input) => await runCreate(call, input),
  text: (result) =>
    told(
      result,
      `created ${result.created}${result.sha === null ? "" : ` at ${result.sha.slice(0, 12)}`}${result.switched ? "" : ", not checked out"}`,
    ),
});

interface CreateInput {
  readonly name: string;
  readonly from?: string | undefined;
  readonly no_switch?: boolean | undefined;
}

type Created = Echo & { created: string; sha: string | null; switched: boolean };

async function runCreate(call: Call, input: CreateInput): Promise<Created> {
  const tree = await treeOf(call, branchCreate.name);
  const { repo, workRoot } = tree;
  const op: AnyOperation = branchCreate;
  const name = await checkBranchName(call, workRoot, input.name);
  if ((await commitOf(call, workRoot, branchRef(name))) !== null) {
    throw refused(
      call,
      op,
      { ...input },
      { why: `the branch ${quote(name)} exists already`, hint: "choose another name, or check it out" },
    );
  }
  const head = await readHead(call, repo);
  const from = input.from?.trim() ?? "";
  const sha = from === "" ? head.sha : await startAt(call, from);
  const switching = input.no_switch !== true && operationInProgress(repo.gitDir) === null;
  if (sha === null && !switching) {
    throw refused(
      call,
      op,
      { ...input },
      { why: "there is no commit yet that a branch could begin at", works: { no_switch: false } },
    );
  }
  const args = switching
    ? [
        "-c",
        "submodule.recurse=false",
        "switch",
        "--quiet",
        "--no-guess",
        "--no-overwrite-ignore",
        "--no-track",
        "-c",
        name,
        ...(sha === null || from === "" ? [] : [sha]),
      ]
    : ["branch", "--no-track", "--end-of-options", name, sha ?? ""];
  const result = await writeTree(call, tree, args);
  if (result.status !== 0) throw inTheWay(result, "switch") ?? nameTaken(name, result) ?? gitFailure(args, result);
  const after = await echo(call, `the branch ${name} was created`);
  // A hook may have moved HEAD on.
  return { ...after, created: name, sha, switched: switching && after.branch === name };
}

async function startAt(call: Call, from: string): Promise<string> {
  const { mainRoot } = call.target.repo;
  refuseOption(from, "branch or commit");
  const sha =
    (await commitOf(call, mainRoot, branchRef(from))) ??
    (await commitOf(call, mainRoot, `refs/remotes/${from}`)) ??
    (await commitOf(call, mainRoot, from));
  if (sha !== null) return sha;
  throw new DotbotError("NOT_FOUND", `there is no branch or commit ${quote(from)} in ${quote(mainRoot, 200)}`, {
    hint: "name a branch, a remote's branch (origin/main), or a commit",
  });
}

/** A branch `task` and a branch `task/x` can't both be. */
function nameTaken(name: string, result: { readonly stderr: string }): DotbotError | null {
  const other = /'refs\/heads\/([^']+)' exists; cannot create/.exec(result.stderr)?.[1];
  if (other === undefined) return null;
  return new DotbotError(
    "REFUSED",
    `the branch ${quote(other)} is in the way of ${quote(name)}: git keeps names like paths`,
    {
      hint: "choose a name that neither begins with the other followed by a slash",
      details: { branch: name, inTheWay: other, words: errorLines(result.stderr) },
    },
  );
}

// ── delete ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export const branchDelete = operation({
  name: "guard branch delete",
  summary: "Delete a branch whose commits are safe without it",
  details:
    "Refused for the default branch, for one that is in use in any checkout, and where commits would be lost: it has to be merged, completed by dotbot, or add nothing. There is no force. The tip stays reachable under refs/dotbot/lost/.",
  examples: [
    {
      given: ["init", "guard branch create old", "guard branch create new"],
      run: "guard branch delete old",
      does: "one that adds nothing",
    },
  ],
  effect: "destroy",
  target: { rule: "guard", op: "branch_delete" },
  toolset: "people",
  input: v.strictObject({ name: nameField("The branch to delete."), ...guardFields }),
  output: v.object({
    ...echoOutput,
    deleted: v.pipe(v.string(), v.description("The branch.")),
    deletedSha: v.pipe(v.string(), v.description("Its last commit.")),
    keptAs: v.pipe(v.string(), v.description("The ref under which that commit stays.")),
    because: v.pipe(v.picklist(["ancestor", "completed", "adds-nothing"]), v.description("Why nothing is lost.")),
    base: v.pipe(v.string(), v.description("The branch that has its work.")),
  }),
  positional: [{ field: "name" }],
  flags: guardFlags,
  complete: { name: "branch" },
  run: async (call, input) => await runDelete(call, input),
  text: (result) =>
    told(
      result,
      `deleted ${result.deleted}, which was at ${result.deletedSha.slice(0, 12)} (${BECAUSE[result.because]} ${result.base})`,
      `kept as ${result.keptAs}`,
    ),
});

const BECAUSE: Readonly<Record<Integrated, string>> = {
  ancestor: "merged into",
  completed: "completed onto",
  "adds-nothing": "adds nothing to",
};

type Deleted = Echo & { deleted: string; deletedSha: string; keptAs: string; because: Integrated; base: string };

async function runDelete(call: Call, input: { readonly name: string }): Promise<Deleted> {
  const { repo, workRoot } = await treeOf(call, branchDelete.name);
  const op: AnyOperation = branchDelete;
  const name = input.name.trim();
  const tip = await branchTip(call, op, { ...input }, "name", name);
  const keep = await protectedBranches(call);
  if (keep.includes(name)) {
    throw refused(
      call,
      op,
      { ...input },
      { why: `${quote(name)} is the repository's default branch`, hint: "no verb of guard deletes that one" },
    );
  }
  const users = usersOf(repo, name);
  if (users.length > 0) {
    throw refused(
      call,
      op,
      { ...input },
      {
        why: `${quote(name)} is checked out, or being rebased or bisected, in ${users.map((path) => quote(path, 200)).join(", ")}`,
        hint: "check out another branch there first",
        details: { users },
      },
    );
  }
  const [base] = keep;
  const found = await whereSafe(call, tip, keep);
  if (found === null) {
    throw refused(
      call,
      op,
      { ...input },
      {
        code: "UNMERGED",
        why:
          base === undefined
            ? "there is no default branch that could have its commits"
            : `${quote(name)} (${tip.slice(0, 12)}) has commits that ${keep.map((it) => quote(it)).join(", ")} hasn't`,
        hint: "merge or complete it first; nothing is ever forced",
        details: { branch: name, sha: tip, base: base ?? null },
      },
    );
  }
  const keptAs = `refs/dotbot/lost/${name.replaceAll("/", "-")}-${tip.slice(0, 8)}`;
  // One transaction: the branch goes only if its commit is kept, and only while it is what was judged.
  const script = `start\nupdate ${keptAs} ${tip}\ndelete ${branchRef(name)} ${tip}\nprepare\ncommit\n`;
  const args = ["update-ref", "--no-deref", "--create-reflog", "-m", "dotbot: branch delete", "--stdin"];
  const result = await git(call, args, { cwd: workRoot, input: script });
  if (result.status !== 0) throw gitFailure(args, result);
  // What the configuration said of the branch goes with it, as git's own deletion has it. Most have nothing there.
  await git(call, ["config", "--remove-section", `branch.${name}`], { cwd: repo.mainRoot });
  const after = await echo(call, `the branch ${name} was deleted`);
  return { ...after, deleted: name, deletedSha: tip, keptAs, ...found };
}

/** The first of the bases, or of what remotes have of them, in which a tip is safe. */
async function whereSafe(
  call: Call,
  tip: string,
  bases: readonly string[],
): Promise<{ because: Integrated; base: string } | null> {
  const { mainRoot } = call.target.repo;
  const foreign = isForeign(call.target);
  for (const base of bases) {
    for (const ref of [branchRef(base), `refs/remotes/origin/${base}`]) {
      const commit = await commitOf(call, mainRoot, ref);
      const because = commit === null ? null : await integratedIn(call, mainRoot, { tip, base: commit, foreign });
      if (because !== null) return { because, base: ref.startsWith("refs/heads/") ? base : `origin/${base}` };
    }
  }
  return null;
}
