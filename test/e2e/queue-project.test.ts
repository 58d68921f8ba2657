/**
 * A whole project planned with dotbot 3, worked through from the first task to the last: what it holds that dotbot knows nothing
 * of is still there afterwards, and what wasn't touched is the same to the byte.
 *
 * The project is a real one where a copy lies beside this checkout; elsewhere one of the same kind is made up.
 */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeRepo, run, tempDir } from "../kit/git.ts";
import { dotbot } from "../kit/binary.ts";
import { fileTree, seedTasks, tasksFolder, type Seed } from "../kit/tasks.ts";
import { at } from "../kit/world.ts";

const REAL = join(import.meta.dir, "..", "..", "..", "shared", "data", "slashops", ".bot");

type Doc = Readonly<Record<string, unknown>>;

/** A dotbot 3 project in a fresh repository: its task files tracked, with hand-written files beside them. */
async function project(root: string): Promise<void> {
  await makeRepo(root, { files: { "README.md": "a project\n" } });
  if (existsSync(REAL)) {
    cpSync(REAL, join(root, ".bot"), { recursive: true });
  } else {
    seedTasks(root, madeUp());
    mkdirSync(join(tasksFolder(root), "samples"), { recursive: true });
    writeFileSync(join(tasksFolder(root), "samples", "sample-task.json"), '{"name":"not a task of the queue"}');
    writeFileSync(join(tasksFolder(root), "samples", "notes.md"), "# Notes\n");
  }
  await run(root, "add", "-A");
  await run(root, "commit", "-q", "-m", "the plan");
}

/** Seven groups, each a chain with branches; dependencies by slug, many fields that only this project has. */
function madeUp(): Seed[] {
  return Array.from({ length: 134 }, (_, index) => {
    const n = index + 1;
    const dependencies = [n - 7, n - 13, ...(n % 5 === 0 ? [n - 1] : [])]
      .filter((other) => other > 0)
      .map((other) => `task-${other}`);
    return {
      fields: {
        dependencies,
        priority: 10 + ((n * 29) % 80),
        group: `group-${n % 7}`,
        prd_refs: [`PRD §${n}.1 (lines 10-20)`],
        deliverables: [`src/file-${n}.ts`, "tests/ünïcode.ts"],
        human_hours: null,
        ai_hours: 1.5,
        estimate_raw: "1.0",
        completed_at: null,
        subgroup: null,
      },
    };
  });
}

function docsOf(root: string): Map<string, Doc> {
  const docs = new Map<string, Doc>();
  for (const [path, text] of fileTree(tasksFolder(root))) {
    const [folder = ""] = path.split("/");
    if (!path.endsWith(".json") || folder === "samples") continue;
    const doc: unknown = JSON.parse(Buffer.from(text, "latin1").toString("utf8"));
    docs.set(String(at(doc, "id")), doc as Doc);
  }
  return docs;
}

/** What a walk through the queue may change; every other field has to stay. */
const OURS = new Set(["status", "updated_at", "started_at", "completed_at", "revision", "history"]);

describe("a project of dotbot 3", () => {
  test("list, stats, next and graph read it at once, and change nothing", async () => {
    await using dir = await tempDir();
    const root = dir.path("project");
    await project(root);
    const before = fileTree(join(root, ".bot"));
    const ids = [...docsOf(root).keys()].toSorted();
    const ok = async (...args: string[]): Promise<unknown> => {
      const { status, stdout, stderr } = await dotbot(["task", ...args, "--json"], { cwd: root });
      expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: "" });
      return JSON.parse(stdout);
    };
    const list = await ok("list");
    const tasks = at(list, "tasks");
    expect((Array.isArray(tasks) ? tasks : []).map((task: unknown) => String(at(task, "id"))).toSorted()).toEqual(ids);
    expect([at(list, "broken"), at(list, "conflicts")]).toEqual([[], []]);
    expect(ids).toContain(String(at(await ok("next"), "task", "id")));
    await ok("stats");
    await ok("graph");
    expect(fileTree(join(root, ".bot"))).toEqual(before);
    expect(await run(root, "status", "--porcelain")).toBe("");
  });

  test("worked through by `next --claim` and `done`: in order, every field kept, untouched files the same to the byte", async () => {
    await using dir = await tempDir();
    const root = dir.path("project");
    await project(root);
    const before = docsOf(root);
    const filesBefore = fileTree(join(root, ".bot"));
    const bySlug = new Map([...before.values()].map((doc) => [String(doc["slug"]), String(doc["id"])]));
    const finished = new Set<string>();
    const half = Math.floor(before.size / 2);

    for (let round = 0; round <= before.size; round++) {
      const { status, stdout } = await dotbot(["task", "next", "--claim", "--owner", "ada", "--json"], { cwd: root });
      if (status === 1) break;
      const id = String(at(JSON.parse(stdout), "task", "id"));
      expect(finished.has(id)).toBe(false);
      const dependencies = before.get(id)?.["dependencies"];
      for (const name of Array.isArray(dependencies) ? dependencies : []) {
        expect({ id, name, done: finished.has(bySlug.get(String(name)) ?? String(name)) }).toEqual({
          id,
          name,
          done: true,
        });
      }
      const done = await dotbot(["task", "done", id, "--owner", "ada"], { cwd: root });
      expect([done.status, done.stderr]).toEqual([0, ""]);
      finished.add(id);
      if (round === half) {
        // Half way: the files of the other half haven't been touched.
        const now = fileTree(join(root, ".bot"));
        const untouched = [...before.keys()].filter((one) => !finished.has(one)).map((one) => one.slice(0, 8));
        const of = (tree: Map<string, string>): [string, string][] =>
          [...tree].filter(
            ([path]) =>
              !path.includes("workspace/tasks/") ||
              untouched.some((id8) => path.endsWith(`-${id8}.json`)) ||
              path.includes("/samples/"),
          );
        expect(of(now)).toEqual(of(filesBefore));
      }
    }

    expect(finished.size).toBe(before.size);
    const after = docsOf(root);
    for (const [id, doc] of before) {
      const rest = (whole: Doc = {}): [string, unknown][] => Object.entries(whole).filter(([name]) => !OURS.has(name));
      expect(rest(after.get(id))).toEqual(rest(doc));
      expect(after.get(id)).toMatchObject({ status: "done", revision: 2 });
    }
    const folders = [...fileTree(tasksFolder(root)).keys()]
      .filter((path) => path.endsWith(".json"))
      .map((path) => path.split("/")[0]);
    expect(new Set(folders)).toEqual(new Set(["done", "samples"]));
    console.log(`» ${before.size} tasks of ${existsSync(REAL) ? "a real" : "a made-up"} project worked through`);
  });
});
