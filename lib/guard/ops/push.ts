/** `guard push`: sends one branch to the branch of its name, and says what the remote has then. */
import * as v from "valibot";

import type { Echo } from "../../git/echo.ts";
import { readHead } from "../../git/repo.ts";
import { operation, type AnyOperation, type Call } from "../../op.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { refuseSecrets } from "../outgoing.ts";
import { chooseRemote, pushBranch, type Pushed } from "../remote.ts";
import { branchField, branchTip, echo, echoOutput, given, refused, remoteField, told, treeOf } from "./common.ts";

export const pushedShape = {
  remote: v.pipe(v.string(), v.description("The remote it went to.")),
  ref: v.pipe(v.string(), v.description("The branch there, by its full name.")),
  sha: v.pipe(v.string(), v.description("The commit that was sent.")),
  remoteSha: v.pipe(v.string(), v.description("What the remote has there now, asked after the push.")),
  outcome: v.picklist(["created", "updated", "up-to-date"]),
  pushedTo: v.pipe(
    v.array(v.string()),
    v.description("Where it went: owner/repo, or the URL (without user info) where that is no host's."),
  ),
};

export const push = operation({
  name: "guard push",
  summary: "Send one branch to the branch of its name at a remote",
  details:
    "Never forces, never sends another branch, never sets an upstream. What the commits add is scanned for secrets first. Uncommitted work doesn't travel. In another repository the branch has to be named.",
  examples: [
    {
      given: ["init"],
      run: "guard check push",
      does: "what a push would be allowed to do",
    },
  ],
  effect: "write",
  idempotent: true,
  openWorld: true,
  target: { rule: "guard", op: "push" },
  input: v.strictObject({
    branch: branchField("The local branch. By default the one checked out there."),
    remote: remoteField,
    ...guardFields,
  }),
  output: v.object({ ...echoOutput, ...pushedShape }),
  positional: [{ field: "branch", optional: true }],
  flags: { ...guardFlags, remote: { value: "name" } },
  complete: { branch: "branch", remote: "remote" },
  run: async (call, input) => await runPush(call, input),
  text: (result) => told(result, pushedLine(result)),
});

export function pushedLine(result: Pick<Pushed, "remote" | "ref" | "remoteSha" | "outcome">): string {
  return `${result.outcome === "up-to-date" ? "already there" : result.outcome}: ${result.remote} has ${result.ref} at ${result.remoteSha.slice(0, 12)}`;
}

interface PushInput {
  readonly branch?: string | undefined;
  readonly remote?: string | undefined;
}

type PushResult = Echo & Pushed & { sha: string };

async function runPush(call: Call, input: PushInput): Promise<PushResult> {
  const tree = await treeOf(call, push.name);
  const op: AnyOperation = push;
  const branch = given(input.branch) ?? (await readHead(call, tree.repo)).branch;
  if (branch === null) throw refused(call, op, { ...input }, { why: "HEAD is detached there", missing: ["branch"] });
  const sha = await branchTip(call, op, { ...input }, "branch", branch);
  const remote = await chooseRemote(call, op, { ...input }, { remote: given(input.remote), branch, to: "push" });
  await refuseSecrets(call, remote.name, sha);
  const pushed = await pushBranch(call, remote, branch, sha);
  return { ...(await echo(call, `${branch} was pushed to ${remote.name}`)), ...pushed, sha };
}
