/** Backlog.md: a Markdown file with YAML front matter for each task. Pure. */
import type { JsonObject, JsonValue } from "../../json.ts";
import { isObject, stringList, type Status } from "../model.ts";
import { instantOf, without, type Converted, type ForeignTask, type SourceFile, type Unreadable } from "./model.ts";

const STATUS: Readonly<Record<string, Status>> = {
  "to do": "todo",
  todo: "todo",
  draft: "todo",
  "in progress": "in-progress",
  "in review": "needs-review",
  review: "needs-review",
  done: "done",
  completed: "done",
};
const PRIORITY: Readonly<Record<string, number>> = { critical: 10, high: 25, medium: 50, low: 75 };
const USED = ["title"];

export function isBacklog(path: string): boolean {
  return /(?:^|\/)(?:tasks|drafts|completed)\/[^/]+\.md$/.test(path) && !/(?:^|\/)readme\.md$/i.test(path);
}

/** `yaml`: the parser, handed in; throws on what isn't YAML. */
export function fromBacklog(files: readonly SourceFile[], yaml: (text: string) => unknown): Converted {
  const tasks: ForeignTask[] = [];
  const unreadable: Unreadable[] = [];
  for (const file of files.filter(({ path }) => isBacklog(path))) {
    const split = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(file.text);
    if (split?.[1] === undefined) {
      unreadable.push({ path: file.path, message: "has no front matter" });
      continue;
    }
    try {
      const front = yaml(split[1]);
      if (!isObject(front)) unreadable.push({ path: file.path, message: "its front matter isn't a mapping" });
      else tasks.push(taskOf(file.path, front, split[2] ?? ""));
    } catch (error) {
      unreadable.push({
        path: file.path,
        message: `its front matter can't be read: ${error instanceof Error ? error.message : String(error)}`,
      });
    }
  }
  return { tasks, unreadable };
}

function taskOf(path: string, front: JsonObject, body: string): ForeignTask {
  const id = scalar(front["id"]) ?? path.replace(/^.*\//, "").replace(/ - .*$|\.md$/, "");
  const word = (scalar(front["status"]) ?? "").replace(/^[^\p{L}]+/u, "").toLowerCase();
  const status = /(?:^|\/)archive\//.test(path)
    ? "cancelled"
    : /(?:^|\/)completed\//.test(path)
      ? "done"
      : (STATUS[word] ?? "todo");
  const criteria = listItems(section(body, "Acceptance Criteria"));
  const steps = listItems(section(body, "Implementation Plan"));
  const labels = stringList(front["labels"]);
  const waits = stringList(front["dependencies"]);
  const description = section(body, "Description")
    .replace(/<!--[\s\S]*?-->/g, "")
    .trim();
  return {
    id,
    file: path,
    status,
    fields: {
      name: scalar(front["title"]) ?? id,
      ...(description === "" ? {} : { description }),
      priority: PRIORITY[(scalar(front["priority"]) ?? "medium").toLowerCase()] ?? 50,
      ...(waits.length > 0 ? { dependencies: waits } : {}),
      ...(labels.length > 0 ? { tags: labels } : {}),
      ...(criteria.length > 0 ? { acceptance_criteria: criteria } : {}),
      ...(steps.length > 0 ? { steps } : {}),
    },
    // The body is kept whole: notes, which boxes are ticked, and every section that has no field of ours.
    rest: { ...without(front, USED), body },
    createdAt: instantOf(front["created_date"]),
    updatedAt: instantOf(front["updated_date"]),
    completedAt: instantOf(front["completed_date"]),
  };
}

function scalar(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** The text under a second-level heading, up to the next one. */
function section(body: string, title: string): string {
  const lines = body.split(/\r?\n/);
  const start = lines.findIndex((line) => new RegExp(`^##\\s+${title}\\b`, "i").test(line));
  if (start < 0) return "";
  const end = lines.findIndex((line, at) => at > start && /^##\s/.test(line));
  return lines.slice(start + 1, end < 0 ? undefined : end).join("\n");
}

/** Items of a list, without bullets, boxes and `#1` numbers. */
function listItems(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const item = /^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(?:#\d+\s+)?(.+)$/.exec(line)?.[1]?.trim();
    return item === undefined || item === "" ? [] : [item];
  });
}
