/** `guard identity`: who and where. */
import * as v from "valibot";

import type { Echo } from "../../git/echo.ts";
import { hideUserInfo, oneLine } from "../../git/parse.ts";
import { identityOf, remoteNames } from "../../git/remote.ts";
import { git } from "../../git/run.ts";
import { checkoutsOf, isBare, operationInProgress } from "../../git/state.ts";
import { operation, type Call } from "../../op.ts";
import type { TargetKind } from "../../target.ts";
import { guardFields, guardFlags } from "../../target-fields.ts";
import { repositoriesInside } from "../structure.ts";
import { echo, echoOutput, protectedBranches, told, treeOf } from "./common.ts";

export const identity = operation({
  name: "guard identity",
  summary: "Say which repository and checkout this is, and as whom git would commit",
  examples: [{ run: "guard identity", does: "of the checkout one stands in" }],
  effect: "read",
  idempotent: true,
  target: { rule: "guard", op: "read" },
  toolset: "people",
  input: v.strictObject(guardFields),
  output: v.object({
    ...echoOutput,
    kind: v.pipe(
      v.string(),
      v.description(
        "What it is to the caller: same-main, same-worktree, own-submodule, foreign-worktree, foreign-primary or unknown.",
      ),
    ),
    committer: v.pipe(v.nullable(v.string()), v.description("Name and address; null when git knows none.")),
    defaultBranch: v.nullable(v.string()),
    inProgress: v.pipe(v.nullable(v.string()), v.description("What git is in the middle of there: merge, rebase, …")),
    remotes: v.array(v.object({ name: v.string(), ownerRepo: v.nullable(v.string()), url: v.string() })),
    checkouts: v.pipe(
      v.array(v.object({ path: v.string(), main: v.boolean(), present: v.boolean() })),
      v.description("All checkouts of the repository."),
    ),
    inside: v.pipe(
      v.array(v.object({ dir: v.string(), ownerRepo: v.nullable(v.string()) })),
      v.description("Other repositories right inside it: with any, calls have to name the one they mean."),
    ),
  }),
  flags: guardFlags,
  run: async (call) => await runIdentity(call),
  text: (result) =>
    told(
      result,
      ...[
        ["committer", result.committer ?? "unknown to git"],
        ["default branch", result.defaultBranch ?? "none"],
        ...(result.inProgress === null ? [] : [["in progress", result.inProgress]]),
        ...result.remotes.map(({ name, url }) => [`remote ${name}`, url]),
        ...result.checkouts.map(({ path, main, present }) => [
          main ? "main checkout" : present ? "worktree" : "worktree (missing)",
          path,
        ]),
        ...result.inside.map(({ dir, ownerRepo }) => ["inside", ownerRepo === null ? dir : `${ownerRepo} @ ${dir}`]),
        ["queue", result.stateRoot],
      ].map(([name = "", value = ""]) => `  ${name}: ${value}`),
    ),
});

type Who = Echo & {
  kind: TargetKind;
  committer: string | null;
  defaultBranch: string | null;
  inProgress: string | null;
  remotes: { name: string; ownerRepo: string | null; url: string }[];
  checkouts: { path: string; main: boolean; present: boolean }[];
  inside: { dir: string; ownerRepo: string | null }[];
};

async function runIdentity(call: Call): Promise<Who> {
  const { repo, workRoot } = await treeOf(call, identity.name);
  const [facts, who, names, inside, [defaultBranch = null]] = await Promise.all([
    echo(call, "nothing was changed"),
    git(call, ["var", "GIT_COMMITTER_IDENT"], { cwd: workRoot, probe: true }),
    remoteNames(call, repo),
    repositoriesInside(call, repo),
    protectedBranches(call),
  ]);
  const remotes = await Promise.all(
    names.map(async (name) => {
      const { stdout, status } = await git(call, ["remote", "get-url", "--", name], {
        cwd: workRoot,
        probe: true,
        okStatus: [0, 2],
      });
      const url = status === 0 ? oneLine(stdout) : "";
      return { name, ownerRepo: identityOf(url, repo.mainRoot).ownerRepo, url: hideUserInfo(url) };
    }),
  );
  return {
    ...facts,
    kind: call.target.kind,
    // The time behind the address is nobody's.
    committer: who.status === 0 ? (/^(.*>) \d+ [+-]\d+$/.exec(oneLine(who.stdout))?.[1] ?? null) : null,
    defaultBranch,
    inProgress: operationInProgress(repo.gitDir),
    remotes,
    checkouts: checkoutsOf(repo, isBare(repo)).map(({ path, main, present }) => ({ path, main, present })),
    inside: inside.map(({ dir, ownerRepo }) => ({ dir, ownerRepo })),
  };
}
