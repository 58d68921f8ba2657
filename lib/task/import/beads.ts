/** beads: one issue a line in `.beads/*.jsonl`. Pure. */
import { tryParseJson, type JsonObject, type JsonValue } from "../../json.ts";
import { isObject, stringList, type Status } from "../model.ts";
import { instantOf, without, type Converted, type ForeignTask, type SourceFile, type Unreadable } from "./model.ts";

const STATUS: Readonly<Record<string, Status>> = {
  open: "todo",
  in_progress: "in-progress",
  blocked: "todo",
  deferred: "todo",
  pinned: "todo",
  hooked: "todo",
  closed: "done",
  tombstone: "cancelled",
};
const CATEGORY: Readonly<Record<string, string>> = {
  bug: "bugfix",
  feature: "feature",
  chore: "infrastructure",
  task: "enhancement",
};
/** P0 is the most urgent of five. */
const PRIORITY = [10, 25, 50, 75, 90] as const;
/** Kinds of edges that make one issue wait for another; the others only relate. */
const BLOCKING = ["blocks", "conditional-blocks", "waits-for"];
const USED = ["id", "title", "description", "created_at", "updated_at", "closed_at"];

export function isBeads(path: string): boolean {
  return path.endsWith(".jsonl");
}

export function fromBeads(files: readonly SourceFile[]): Converted {
  const tasks: ForeignTask[] = [];
  const unreadable: Unreadable[] = [];
  for (const file of files.filter(({ path }) => isBeads(path))) {
    for (const [at, line] of file.text.split(/\r?\n/).entries()) {
      if (line.trim() === "") continue;
      const parsed = tryParseJson(line);
      const where = `${file.path}:${at + 1}`;
      if (!parsed.ok) unreadable.push({ path: where, message: parsed.message });
      else if (!isObject(parsed.value) || typeof parsed.value["id"] !== "string")
        unreadable.push({ path: where, message: "isn't an issue with an id" });
      else if (parsed.value["_type"] === undefined || parsed.value["_type"] === "issue")
        tasks.push(taskOf(where, parsed.value["id"], parsed.value));
    }
  }
  return { tasks, unreadable };
}

function taskOf(file: string, id: string, source: JsonObject): ForeignTask {
  const status = STATUS[text(source["status"]) ?? "open"] ?? "todo";
  const edges = Array.isArray(source["dependencies"]) ? source["dependencies"] : [];
  const waits = edges.flatMap((edge) => blockerOf(edge, id));
  const category = CATEGORY[text(source["issue_type"]) ?? text(source["type"]) ?? ""];
  const level = source["priority"];
  const labels = stringList(source["labels"]);
  const criteria = text(source["acceptance_criteria"]);
  return {
    id,
    file,
    status,
    fields: {
      name: source["title"] ?? id,
      ...(text(source["description"]) === undefined ? {} : { description: source["description"] }),
      priority: typeof level === "number" ? (PRIORITY[level] ?? 50) : 50,
      ...(category === undefined ? {} : { category }),
      ...(waits.length > 0 ? { dependencies: waits } : {}),
      ...(labels.length > 0 ? { tags: labels } : {}),
      ...(criteria === undefined
        ? {}
        : { acceptance_criteria: criteria.split("\n").filter((one) => one.trim() !== "") }),
    },
    rest: without(source, USED),
    createdAt: instantOf(source["created_at"]),
    updatedAt: instantOf(source["updated_at"]),
    completedAt: instantOf(source["closed_at"]),
  };
}

function blockerOf(edge: JsonValue, id: string): string[] {
  if (typeof edge === "string") return [edge];
  if (!isObject(edge)) return [];
  const kind = text(edge["type"]) ?? "blocks";
  const on = text(edge["depends_on_id"]) ?? text(edge["id"]);
  return on === undefined || on === id || !BLOCKING.includes(kind) ? [] : [on];
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
