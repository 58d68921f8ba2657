/** dotbot 4: `standalone/<date>-<slug>-<4>.json` and `workflow-runs/<run>/{run.json,t_<id>.json}`. Pure. */
import { tryParseJson, type JsonObject, type JsonValue } from "../../json.ts";
import { isObject, isStatus } from "../model.ts";
import { instantOf, without, type Converted, type ForeignTask, type SourceFile, type Unreadable } from "./model.ts";

const NAMED_PRIORITIES: Readonly<Record<string, number>> = { critical: 10, high: 25, normal: 50, low: 75 };
const USED = ["id", "name", "status", "created_at", "updated_at", "completed_at", "priority", "schema_version"];

export function isDotbot4(path: string): boolean {
  return /(?:^|\/)(?:standalone\/[^/]+|workflow-runs\/[^/]+\/t_[^/]+)\.json$/.test(path);
}

export function fromDotbot4(files: readonly SourceFile[]): Converted {
  const tasks: ForeignTask[] = [];
  const unreadable: Unreadable[] = [];
  const runs = new Map<string, JsonValue>();
  for (const file of files) {
    const run = /(?:^|\/)workflow-runs\/([^/]+)\/run\.json$/.exec(file.path);
    if (run?.[1] === undefined) continue;
    const parsed = tryParseJson(file.text);
    if (parsed.ok) runs.set(run[1], parsed.value);
    else unreadable.push({ path: file.path, message: parsed.message });
  }
  for (const file of files) {
    if (!isDotbot4(file.path)) continue;
    const parsed = tryParseJson(file.text);
    if (!parsed.ok) unreadable.push({ path: file.path, message: parsed.message });
    else if (!isObject(parsed.value)) unreadable.push({ path: file.path, message: "isn't a JSON object" });
    else tasks.push(taskOf(file.path, parsed.value, runs));
  }
  return { tasks, unreadable };
}

function taskOf(path: string, source: JsonObject, runs: ReadonlyMap<string, JsonValue>): ForeignTask {
  const { priority, status } = source;
  const known = typeof priority === "number" && Number.isInteger(priority);
  const named = typeof priority === "string" ? NAMED_PRIORITIES[priority] : undefined;
  const run = runs.get(/(?:^|\/)workflow-runs\/([^/]+)\//.exec(path)?.[1] ?? "");
  const bounded = known ? Math.min(100, Math.max(1, priority)) : (named ?? 50);
  return {
    id: typeof source["id"] === "string" ? source["id"] : path,
    file: path,
    status: isStatus(status) ? status : "todo",
    fields: { ...without(source, USED), name: source["name"] ?? path, priority: bounded },
    rest: {
      ...(source["schema_version"] === undefined ? {} : { schema_version: source["schema_version"] }),
      ...(priority !== undefined && priority !== bounded ? { priority } : {}),
      ...(isStatus(status) ? {} : { status: status ?? null }),
      ...(run === undefined ? {} : { run }),
    },
    createdAt: instantOf(source["created_at"]),
    updatedAt: instantOf(source["updated_at"]),
    completedAt: instantOf(source["completed_at"]),
  };
}
