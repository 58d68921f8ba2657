/**
 * An agent's whole job over the protocol, with the official client in each era: from the instructions to one commit on main,
 * with a question on the way, and a history that tells it.
 */
import { describe, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";

import { run, write } from "../kit/git.ts";
import { shownTask, taskId } from "../kit/tasks.ts";
import { makeWorld } from "../kit/world.ts";
import { connect, ERAS } from "./kit.ts";

type Answer = Readonly<Record<string, unknown>>;

describe.each(ERAS)("%s", (era) => {
  test("a task from the queue to one commit on main", async () => {
    await using world = await makeWorld({
      seeds: [{ name: "Say goodbye" }, { name: "Not yet", fields: { priority: 90 } }],
      files: {
        ".bot/hooks/verify/10-says-goodbye.sh": "#!/bin/sh\ngrep -q goodbye README.md && echo '{\"success\": true}'\n",
      },
    });
    await world.git("update-index", "--chmod=+x", ".bot/hooks/verify/10-says-goodbye.sh");
    await world.git("commit", "-q", "-m", "executable");
    await world.git("checkout", "-q", "--", ".");
    const before = await world.git("rev-parse", "HEAD");
    await using agent = await connect(era, { cwd: "/", args: ["--toolsets", "all", "--root", world.main] });
    await using person = await connect(era, { cwd: world.main });
    const session_id = "session-of-the-agent";
    const does = caller(agent.client);

    expect(agent.client.getInstructions()).toContain("task_claim reserves");
    await agent.client.listTools();

    // Look, reserve, begin.
    expect(await does("task_get_next", {})).toMatchObject({ task: { id: taskId(1) }, claimed: false });
    expect(await does("task_claim", { session_id })).toMatchObject({
      task: { id: taskId(1) },
      claimed: true,
      claim: { session: session_id },
    });
    const task_id = taskId(1);
    expect(await does("task_mark_in_progress", { task_id, session_id })).toMatchObject({ newStatus: "in-progress" });
    const made = await does("wt_create", { task_id, session_id });
    const dir = String(made["path"]);
    expect(made).toMatchObject({ base: "main", baseSha: before });

    // Work there; what isn't good enough is found out before it lands.
    write(dir, { "README.md": "hello\nand farewell\n" });
    await does("guard_add", { files: ["README.md"], dir });
    const first = await does("guard_commit", { files: ["README.md"], message: "Say farewell", dir });
    expect(first).toMatchObject({ repoPath: dir, headSha: await run(dir, "rev-parse", "HEAD") });
    expect(await does("task_mark_done", { task_id, session_id })).toMatchObject({
      ok: false,
      newStatus: "in-progress",
    });

    // Ask, and be answered by somebody else.
    await does("task_mark_needs_input", {
      task_id,
      session_id,
      questions: [
        {
          question: "Which word?",
          options: [
            { key: "A", label: "farewell" },
            { key: "B", label: "goodbye" },
          ],
        },
      ],
    });
    expect(
      await caller(person.client)("task_answer_question", { task_id, answer: "B", session_id: "a-person" }),
    ).toMatchObject({ task: { questions_resolved: [{ answer: expect.anything() }] } });
    await does("task_mark_in_progress", { task_id, session_id });
    write(dir, { "README.md": "hello\nand goodbye\n" });
    const second = await does("guard_commit", { files: ["README.md"], message: "Say goodbye instead", dir });

    // Verified, landed, told.
    expect(await does("task_mark_done", { task_id, session_id, commits: [second["headSha"]] })).toMatchObject({
      ok: true,
      newStatus: "done",
    });
    expect(await does("wt_complete", { task_id })).toMatchObject({ base: "main", removed: true });
    expect(await world.git("rev-list", "--count", `${before}..main`)).toBe("1");
    expect(await world.git("show", "main:README.md")).toBe("hello\nand goodbye");
    expect(await world.git("status", "--porcelain")).toBe("");
    expect(await world.git("worktree", "list", "--porcelain")).not.toContain(dir);
    expect(shownTask(world.main, 1)).toMatchObject({ status: "done", doc: { status: "done" } });
    expect(shownTask(world.main, 2).status).toBe("todo");

    const history = JSON.stringify(await does("task_history", { task_id }));
    for (const word of ["in-progress", "needs-input", "done", session_id, "a-person"]) expect(history).toContain(word);
    expect(await does("task_get_next", {})).toMatchObject({ task: { id: taskId(2) } });
  }, 60_000);
});

function caller(client: Client): (name: string, args: Record<string, unknown>) => Promise<Answer> {
  return async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    if (result.isError === true || result.structuredContent === undefined)
      throw new Error(`${name}: ${JSON.stringify(result.content)}`);
    return result.structuredContent as Answer;
  };
}
