/** What an agent reads before its first call. Under 2 KB: it stands in every conversation's context. */
export const INSTRUCTIONS = `dotbot keeps one task queue per git repository, a worktree per task, and git calls that refuse to touch a repository you didn't mean.

The loop:
1. task_get_next looks, task_claim reserves (it takes the next task when none is named), task_mark_in_progress begins. task_get_context has what you need to know. Where a project analyses first: task_mark_analysing, then task_mark_analysed stores what was found.
2. wt_create makes the task's branch and worktree. Work in the path that it returns, never in the main checkout.
3. guard_add and guard_commit with files and dir (that path). Compare headSha in the answer with the tree you mean to test before you test.
4. Unsure? task_mark_needs_input asks a person; task_answer_question brings the answer. Can't be done? task_mark_failed or task_mark_skipped with a reason.
5. task_mark_done verifies; wt_complete lands the work as one commit on the base branch.

Rules:
- session_id: the id of the session you run in, from your environment (DOTBOT_SESSION, CLAUDE_SESSION_ID, CODEX_THREAD_ID and the like) or your instructions. Where you have none, the word unknown. Give the same one in every call: claims are held by it.
- task_id is an id or a slug.
- branch and commit are for history and go together; leave both out and they are read from git.
- dir is an absolute path in the checkout that you mean. Without it a call means the repository that the server stands in, and is refused where that leaves a doubt.
- No call relies on an earlier one; there is no current task or folder.
- An answer with ok: false or task: null is an answer, not a failure. An error says what was wrong and shows a call that works: correct that and call again.
- Read the task again after waiting: others work on the same queue.
`;
