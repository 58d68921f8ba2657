/** The input fields by which a call says which repository it means: every key that a target rule can demand. */
import * as v from "valibot";

/** For operations on a queue or a checkout: `dir` names it, `owner_repo` has to match it. */
export function targetFields(dir: string) {
  return {
    dir: v.optional(v.pipe(v.string(), v.description(dir))),
    owner_repo: v.optional(
      v.pipe(v.string(), v.description("The owner/repo expected there; anything else is refused.")),
    ),
  };
}

/** For operations of guard, to which the intent contract applies. */
export const guardFields = {
  ...targetFields(
    "The checkout that is meant, absolute; a subfolder of it will do, and then files are relative to that.",
  ),
  expect_sha: v.optional(
    v.pipe(v.string(), v.description("The commit that HEAD is expected to be there; anything else is refused.")),
  ),
  task_id: v.optional(
    v.pipe(v.string(), v.description("A task that has a worktree: names that worktree, in place of dir.")),
  ),
};

export const guardFlags = {
  owner_repo: { value: "owner/repo" },
  expect_sha: { value: "sha" },
  task_id: { name: "task", value: "task" },
} as const;
