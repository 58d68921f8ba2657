/** `guard finish`: hands a branch over: pushes it and opens a pull request, or lands it here with `--merge`. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { statusOf } from "../../git/checkouts.ts";
import type { Echo } from "../../git/echo.ts";
import { changesBetween } from "../../git/merge.ts";
import { branchRef, commitOf, distance, mergeBase } from "../../git/refs.ts";
import { readHead } from "../../git/repo.ts";
import { gitText } from "../../git/run.ts";
import { checkoutsOf, isBare, isQueuePath } from "../../git/state.ts";
import { headOf } from "../../git/native.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { isForeign } from "../../target.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { firstLine, quote } from "../../text.ts";
import {
  bodyOf,
  clientFor,
  closing,
  compareUrl,
  findClient,
  openRequest,
  withoutClosing,
  type Closing,
} from "../forge.ts";
import { refuseSecrets } from "../outgoing.ts";
import { chooseRemote, pushBranch, type Pushed } from "../remote.ts";
import { spell } from "../spell.ts";
import { taskOf, type BranchTask } from "../task.ts";
import {
  branchField,
  branchTip,
  echo,
  echoOutput,
  given,
  protectedBranches,
  refused,
  remoteField,
  told,
  treeOf,
} from "./common.ts";
import { pushedLine, pushedShape } from "./push.ts";
import { landHere } from "../landing.ts";

export const finish = operation({
  name: "guard finish",
  summary: "Push a branch and open its pull request, or land it here with merge",
  details:
    "The branch has commits of its own, isn't the default one, and its checkout has no uncommitted work. Without gh or glab the answer has the address to open it at. Issues are closed only as the call says: in another repository none unless closes or close_linked is given.",
  examples: [{ given: ["init"], run: "guard check finish", does: "what finishing would be allowed to do" }],
  effect: "write",
  openWorld: true,
  target: { rule: "guard", op: "finish" },
  toolset: "people",
  input: v.strictObject({
    branch: branchField("The branch. By default the one checked out there."),
    base: branchField("The branch it is meant for. By default the repository's default branch."),
    remote: remoteField,
    title: v.optional(
      v.pipe(
        v.string(),
        v.description("Title of the request. By default the task's name, else the first commit's subject."),
      ),
    ),
    closes: v.optional(
      v.pipe(v.array(v.pipe(v.number(), v.integer(), v.minValue(1))), v.description("Issues that the request closes.")),
    ),
    close_linked: v.optional(v.pipe(v.boolean(), v.description("Close the issues that the task names as its own."))),
    no_close: v.optional(v.pipe(v.boolean(), v.description("Close none."))),
    merge: v.optional(
      v.pipe(v.boolean(), v.description("Land it here instead, as one commit on the base branch; nothing is pushed.")),
      false,
    ),
    ...guardFields,
  }),
  output: v.object({
    ...echoOutput,
    finished: v.pipe(v.string(), v.description("The branch.")),
    base: v.pipe(v.string(), v.description("The branch it is meant for.")),
    commits: v.pipe(v.number(), v.description("How many commits it has that the base hasn't.")),
    push: v.pipe(v.nullable(v.object(pushedShape)), v.description("null where it was landed here.")),
    request: v.pipe(
      v.nullable(v.object({ url: v.string(), by: v.picklist(["gh", "glab"]), existed: v.boolean() })),
      v.description("The pull request; null where none was opened."),
    ),
    compareUrl: v.pipe(
      v.nullable(v.string()),
      v.description("Where a browser can open one; null where that isn't known."),
    ),
    closes: v.pipe(v.array(v.number()), v.description("Issues that it closes.")),
    notClosed: v.pipe(v.array(v.number()), v.description("The task's own issues that it doesn't.")),
    landed: v.pipe(v.nullable(v.string()), v.description("The commit on the base branch, where it was landed here.")),
  }),
  positional: [{ field: "branch", optional: true }],
  flags: { ...guardFlags, remote: { value: "name" }, base: { value: "branch" } },
  complete: { branch: "branch", base: "branch", remote: "remote" },
  run: async (call, input) => await runFinish(call, input),
  text: (result) =>
    told(
      result,
      ...(result.push === null ? [] : [pushedLine(result.push)]),
      ...(result.landed === null ? [] : [`${result.finished} is on ${result.base} as ${result.landed.slice(0, 12)}`]),
      ...(result.request === null
        ? result.push === null
          ? []
          : [
              result.compareUrl === null
                ? "open the pull request where that repository is"
                : `open the pull request at ${result.compareUrl}`,
            ]
        : [`${result.request.existed ? "already open" : "opened"}: ${result.request.url}`]),
      result.closes.length === 0 ? "closes no issue" : `closes ${result.closes.map((issue) => `#${issue}`).join(", ")}`,
      ...(result.notClosed.length === 0
        ? []
        : [`not closed: ${result.notClosed.map((issue) => `#${issue}`).join(", ")}`]),
    ),
});

interface FinishInput {
  readonly branch?: string | undefined;
  readonly base?: string | undefined;
  readonly remote?: string | undefined;
  readonly title?: string | undefined;
  readonly closes?: readonly number[] | undefined;
  readonly close_linked?: boolean | undefined;
  readonly no_close?: boolean | undefined;
  readonly merge?: boolean | undefined;
  readonly task_id?: string | undefined;
}

type Finished = Echo & {
  finished: string;
  base: string;
  commits: number;
  push: (Pushed & { sha: string }) | null;
  request: { url: string; by: "gh" | "glab"; existed: boolean } | null;
  compareUrl: string | null;
  closes: number[];
  notClosed: number[];
  landed: string | null;
};

/** A branch that may be finished, and what is known of it. */
export interface Branch {
  readonly name: string;
  readonly tip: string;
  readonly base: string;
  /** The local base's commit, or what the remote has of it. */
  readonly baseTip: string;
  readonly commits: number;
  readonly task: BranchTask | null;
}

async function runFinish(call: Call, input: FinishInput): Promise<Finished> {
  await treeOf(call, finish.name);
  const op: AnyOperation = finish;
  refuseContradiction(call, op, input);
  const branch = await readBranch(call, op, input);
  await refuseUnfinished(call, op, input, branch);
  const closed = closing({
    closes: input.closes ?? [],
    closeLinked: input.close_linked,
    noClose: input.no_close,
    foreign: isForeign(call.target),
    linked: branch.task?.issues ?? [],
  });
  const facts = {
    finished: branch.name,
    base: branch.base,
    commits: branch.commits,
    closes: [...closed.closes],
    notClosed: [...closed.notClosed],
  };
  if (input.merge === true) {
    const landed = await landHere(
      call,
      op,
      { ...input },
      branch,
      await titleOf(call, input, branch, closed),
      bodyOf("", closed),
    );
    const after = await echo(call, `${branch.name} was landed on ${branch.base} as ${landed}`);
    return { ...after, ...facts, push: null, request: null, compareUrl: null, landed };
  }
  const remote = await chooseRemote(
    call,
    op,
    { ...input },
    { remote: given(input.remote), branch: branch.name, to: "push" },
  );
  await refuseSecrets(call, remote.name, branch.tip);
  const pushed = await pushBranch(call, remote, branch.name, branch.tip);
  const place = remote.push[0]?.remote ?? null;
  const url = compareUrl(place, branch.base, branch.name);
  const request = await requestFor(call, { branch, closed, input, pushed, url, place });
  const after = await echo(call, `${branch.name} was pushed to ${remote.name}`);
  return { ...after, ...facts, push: { ...pushed, sha: branch.tip }, request, compareUrl: url, landed: null };
}

async function requestFor(
  call: Call,
  work: {
    branch: Branch;
    closed: Closing;
    input: FinishInput;
    pushed: Pushed;
    url: string | null;
    place: Parameters<typeof clientFor>[0];
  },
): Promise<Finished["request"]> {
  const { branch, closed, input, place } = work;
  const client = clientFor(place);
  const program = client === null ? null : findClient(call, client);
  if (client === null || program === null || place === null || "pathKey" in place) return null;
  const title = await titleOf(call, input, branch, closed);
  const body = bodyOf(branch.task?.description ?? "", closed);
  try {
    return {
      by: client,
      ...(await openRequest(call, program, client, place, { branch: branch.name, base: branch.base, title, body })),
    };
  } catch (error) {
    if (!(error instanceof DotbotError) || call.signal.aborted) throw error;
    throw new DotbotError(error.code, `${branch.name} was pushed, and no pull request opened: ${error.message}`, {
      hint:
        work.url === null
          ? `mend what ${client} says, and finish again`
          : `mend what ${client} says and finish again, or open it at ${work.url}`,
      details: { ...error.details, pushed: work.pushed, compareUrl: work.url },
    });
  }
}

function refuseContradiction(call: Call, op: AnyOperation, input: FinishInput): void {
  if (input.no_close !== true) return;
  const against = [
    ...((input.closes ?? []).length > 0 ? ["closes"] : []),
    ...(input.close_linked === true ? ["close_linked"] : []),
  ];
  if (against.length === 0) return;
  throw refused(
    call,
    op,
    { ...input },
    {
      why: `no_close and ${against.join(" and ")} are both given`,
      mismatched: ["no_close", ...against],
      hint: "say which issues are to be closed, or that none is",
      works: { no_close: undefined },
    },
  );
}

async function readBranch(call: Call, op: AnyOperation, input: FinishInput): Promise<Branch> {
  const { repo } = call.target;
  const name = given(input.branch) ?? (await readHead(call, repo)).branch;
  if (name === null) throw refused(call, op, { ...input }, { why: "HEAD is detached there", missing: ["branch"] });
  const tip = await branchTip(call, op, { ...input }, "branch", name);
  const kept = await protectedBranches(call);
  const task = taskOf(repo, given(input.task_id), (id) => spell(op, call.surface, { ...input, task_id: id }));
  const base = given(input.base) ?? task?.base ?? kept[0];
  if (base === undefined) {
    throw refused(
      call,
      op,
      { ...input },
      {
        why: "it has no default branch, so what the branch is meant for isn't known",
        missing: ["base"],
        hint: "give base",
      },
    );
  }
  if (kept.includes(name) || name === base) {
    throw refused(
      call,
      op,
      { ...input },
      {
        why: `${quote(name)} is the branch that others are meant for`,
        mismatched: ["branch"],
        hint: "finish a branch of its own: create one, and commit there",
      },
    );
  }
  const local = input.merge === true ? await commitOf(call, repo.mainRoot, branchRef(base)) : null;
  // A landing is on the base as it is here.
  const baseTip = local ?? (await newestOf(call, base));
  if (baseTip === null)
    throw new DotbotError(
      "NOT_FOUND",
      `there is no branch ${quote(base)} here nor at a remote, for ${quote(name)} to be meant for`,
      { hint: "give base" },
    );
  const { ahead } = await distance(call, repo.mainRoot, tip, baseTip);
  return { name, tip, base, baseTip, commits: ahead, task };
}

/** The base as the remote has it, where that is known, since the request is made there; else the local one. */
async function newestOf(call: Call, base: string): Promise<string | null> {
  const { mainRoot } = call.target.repo;
  return (
    (await commitOf(call, mainRoot, `refs/remotes/origin/${base}`)) ?? (await commitOf(call, mainRoot, branchRef(base)))
  );
}

async function refuseUnfinished(call: Call, op: AnyOperation, input: FinishInput, branch: Branch): Promise<void> {
  const { repo } = call.target;
  if (branch.commits === 0) {
    throw refused(
      call,
      op,
      { ...input },
      {
        why: `${quote(branch.name)} has no commit that ${quote(branch.base)} hasn't`,
        hint: "commit first; there is nothing to hand over",
      },
    );
  }
  const user = checkoutsOf(repo, isBare(repo)).find(
    ({ present, gitDir }) => present && headOf(gitDir, repo.commonDir)?.branch === branch.name,
  );
  // What lies uncommitted in somebody else's checkout is theirs to know of.
  if (user !== undefined && !isForeign(call.target)) {
    const { entries } = await statusOf(call, user.path, { untracked: "no" });
    const dirty = entries.filter(({ path }) => !isQueuePath(path)).map(({ path }) => path);
    if (dirty.length > 0) {
      throw refused(
        call,
        op,
        { ...input },
        {
          code: "DIRTY",
          why: `uncommitted work in ${quote(user.path, 200)} would be left out: ${dirty
            .slice(0, 5)
            .map((path) => quote(path))
            .join(", ")}`,
          hint: "commit it first",
          details: { dirty },
        },
      );
    }
  }
  const fork = await mergeBase(call, repo.mainRoot, branch.baseTip, branch.tip);
  const changes = fork === null ? [] : await changesBetween(call, repo.mainRoot, fork, branch.tip);
  const queue = changes.map(({ path }) => path).filter((path) => isQueuePath(path));
  if (queue.length > 0 && (branch.task !== null || branch.name.startsWith("task/"))) {
    throw refused(
      call,
      op,
      { ...input },
      {
        why: `the branch changes the queue's own files, which travel with no branch: ${queue
          .slice(0, 5)
          .map((path) => quote(path))
          .join(", ")}`,
        hint: "take these changes out of its commits",
        details: { queuePaths: queue },
      },
    );
  }
}

async function titleOf(call: Call, input: FinishInput, branch: Branch, closed: Closing): Promise<string> {
  const own = given(input.title) ?? branch.task?.name;
  const subject = async (): Promise<string> => {
    const args = [
      "log",
      "--reverse",
      "--no-show-signature",
      "--format=%s",
      "--end-of-options",
      `${branch.baseTip}..${branch.tip}`,
    ];
    return firstLine(await gitText(call, args, { cwd: call.target.repo.mainRoot, probe: true }));
  };
  return withoutClosing(own ?? (await subject()), closed.closes) || branch.name;
}
