/** Taking over another tool's queue: dotbot 4, Backlog.md, beads. */
import { isAbsolute, join } from "node:path";

import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { isDirectory, listNames, readBytes, statOrNull } from "../../files.ts";
import { decodeUtf8, type JsonObject } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import { asText, count, quote, stripControl } from "../../text.ts";
import { fromBacklog, isBacklog } from "../import/backlog.ts";
import { fromBeads, isBeads } from "../import/beads.ts";
import { fromDotbot4, isDotbot4 } from "../import/dotbot4.ts";
import type { Converted, ForeignTask, SourceFile } from "../import/model.ts";
import { isClosed, RESERVED_FIELDS, STATUSES, stringList } from "../model.ts";
import { entryOf, provenance, provenanceFields, type Provenance } from "../provenance.ts";
import type { Tx } from "../queue.ts";
import { dirField, provenanceFlags, withQueue } from "./common.ts";
import { newDocument } from "./draft.ts";

const FORMATS = ["dotbot4", "backlog", "beads"] as const;
type Format = (typeof FORMATS)[number];

const MAX_FILES = 50_000;

const importedShape = v.object({
  id: v.string(),
  from: v.string(),
  name: v.string(),
  status: v.picklist(STATUSES),
  file: v.string(),
});

const importOutput = v.object({
  format: v.picklist(FORMATS),
  source: v.string(),
  imported: v.array(importedShape),
  skipped: v.pipe(
    v.array(v.object({ from: v.string(), id: v.string() })),
    v.description("Imported before: left as they are."),
  ),
  unreadable: v.array(v.object({ path: v.string(), message: v.string() })),
  dryRun: v.boolean(),
  changed: v.boolean(),
  stateRoot: v.string(),
});

export const importTasks = operation({
  name: "task import",
  summary: "Take over the queue of dotbot 4, Backlog.md or beads",
  details:
    "Each of its tasks becomes a task here, under the other tool's id as slug, so that dependencies stay. What has no field of ours is kept under `imported`. All or nothing; a task that was imported before is left alone.",
  examples: [{ given: [], run: "task import . --format beads --dry-run", does: "see what would come over" }],
  effect: "write",
  idempotent: true,
  surfaces: ["cli"],
  target: { rule: "queue" },
  positional: [{ field: "path" }],
  complete: { path: "path" },
  input: v.strictObject({
    path: v.pipe(v.string(), v.description("The other queue: its folder, or a beads .jsonl file.")),
    format: v.optional(
      v.pipe(v.picklist(FORMATS), v.description("Which tool's it is; told from the files by default.")),
    ),
    dry_run: v.optional(v.pipe(v.boolean(), v.description("Only say what would be imported."))),
    skip_unreadable: v.optional(v.pipe(v.boolean(), v.description("Import the rest when some files can't be read."))),
    ...provenanceFields,
    ...dirField,
  }),
  flags: provenanceFlags,
  output: importOutput,
  async run(call, input) {
    const source = isAbsolute(input.path) ? input.path : join(call.cwd, input.path);
    const files = readSource(source, input.path);
    const format = input.format ?? formatOf(files, input.path);
    const { tasks, unreadable } = convert(files, format);
    if (unreadable.length > 0 && input.skip_unreadable !== true && input.dry_run !== true) {
      const [first] = unreadable;
      throw new DotbotError(
        "INVALID_INPUT",
        `${count(unreadable.length, "file")} can't be read; ${first?.path ?? ""}: ${first?.message ?? ""}`,
        {
          hint: "mend them, or import the rest",
          example: `dotbot task import ${input.path} --skip-unreadable`,
          details: { unreadable },
        },
      );
    }
    return await withQueue(call, async ({ queue, settings }) => {
      const who = await provenance(call, call.target.repo, input, settings.provenance.require_session);
      const known = new Map(queue.ledger.tasks("slug IS NOT NULL").map((row) => [row.slug, row.id]));
      const fresh = tasks.filter((task) => !known.has(task.id));
      const skipped = tasks.flatMap((task) => {
        const id = known.get(task.id);
        return id === undefined ? [] : [{ from: task.id, id }];
      });
      const answer = { format, source, skipped, unreadable: [...unreadable], stateRoot: queue.stateRoot };
      if (input.dry_run === true || fresh.length === 0) {
        return {
          ...answer,
          imported: fresh.map((task) => shown(task, "")),
          dryRun: input.dry_run === true,
          changed: false,
        };
      }
      const imported = await queue.write("task import", (tx) =>
        fresh.map((task) => store(call, tx, task, format, who)),
      );
      return { ...answer, imported, dryRun: false, changed: true };
    });
  },
  text: (result) => {
    const head = result.dryRun ? "would import" : "imported";
    const lines = result.imported.map(
      (task) => `  ${task.id === "" ? "" : `${task.id.slice(0, 8)}  `}${task.from}  ${task.name} (${task.status})\n`,
    );
    const known = result.skipped.length > 0 ? `${result.skipped.length} imported before\n` : "";
    const bad = result.unreadable.map((file) => `  unreadable: ${file.path}: ${file.message}\n`).join("");
    return `${head} ${count(result.imported.length, "task")} from ${result.format}\n${lines.join("")}${known}${bad}`;
  },
  ids: (result) => result.imported.map((task) => task.id).filter((id) => id !== ""),
});

function readSource(source: string, given: string): SourceFile[] {
  const stat = statOrNull(source);
  if (stat === null)
    throw new DotbotError("NOT_FOUND", `there is nothing at ${quote(given)}`, {
      example: "dotbot task import .beads --dry-run",
    });
  const files: SourceFile[] = [];
  const read = (path: string, name: string): void => {
    const bytes = readBytes(path);
    if (bytes !== null) files.push({ path: name, text: decodeUtf8(bytes).text });
    if (files.length > MAX_FILES)
      throw new DotbotError("INVALID_INPUT", `${quote(given)} has more than ${MAX_FILES} files`, {
        hint: "name the queue's own folder",
      });
  };
  const walk = (folder: string, prefix: string): void => {
    for (const name of (listNames(folder) ?? []).sort()) {
      if (name === ".git" || name === "node_modules") continue;
      const path = join(folder, name);
      if (isDirectory(path)) walk(path, `${prefix}${name}/`);
      else if (/\.(?:json|jsonl|md)$/.test(name)) read(path, `${prefix}${name}`);
    }
  };
  if (stat.isFile()) read(source, given.replace(/^.*\//, ""));
  else walk(source, "");
  return files;
}

function formatOf(files: readonly SourceFile[], given: string): Format {
  if (files.some(({ path }) => isDotbot4(path))) return "dotbot4";
  if (files.some(({ path }) => isBacklog(path))) return "backlog";
  if (files.some(({ path }) => isBeads(path))) return "beads";
  throw new DotbotError(
    "INVALID_INPUT",
    `${quote(given)} is no queue that can be told: no standalone/ or workflow-runs/, no tasks/*.md, no .jsonl`,
    {
      hint: `say which it is: --format ${FORMATS.join(", ")}`,
      example: `dotbot task import ${given} --format beads`,
    },
  );
}

function convert(files: readonly SourceFile[], format: Format): Converted {
  if (format === "dotbot4") return fromDotbot4(files);
  if (format === "beads") return fromBeads(files);
  return fromBacklog(files, (text) => Bun.YAML.parse(text));
}

function shown(task: ForeignTask, id: string) {
  return {
    id,
    from: task.id,
    name: stripControl(asText(task.fields["name"] ?? task.id)),
    status: task.status,
    file: task.file,
  };
}

function store(call: Call, tx: Tx, task: ForeignTask, format: Format, who: Provenance) {
  const id = tx.freshId();
  // A field of ours that only the ledger may set can't come from outside: it is kept as it was, out of the way.
  const reserved = Object.fromEntries(
    Object.entries(task.fields).filter(([key]) => (RESERVED_FIELDS as readonly string[]).includes(key)),
  );
  const fields = Object.fromEntries(Object.entries(task.fields).filter(([key]) => !(key in reserved)));
  const rest: JsonObject = { ...reserved, ...task.rest };
  const base = newDocument(
    call,
    {
      ...fields,
      slug: task.id,
      dependencies: stringList(task.fields["dependencies"]),
      imported: { format, id: task.id, file: task.file, ...(Object.keys(rest).length > 0 ? { fields: rest } : {}) },
    },
    { id, status: task.status, who, reason: `imported from ${format}` },
  );
  const doc: JsonObject = {
    ...base,
    ...(task.createdAt === undefined ? {} : { created_at: task.createdAt }),
    ...(task.updatedAt === undefined ? {} : { updated_at: task.updatedAt }),
    ...(isClosed(task.status) ? { completed_at: task.completedAt ?? task.updatedAt ?? who.at } : {}),
  };
  tx.create(doc, {
    at: who.at,
    by: who.by,
    status: task.status,
    kind: "imported",
    entry: entryOf(who, null, task.status, `imported from ${format}`),
  });
  return shown(task, id);
}
