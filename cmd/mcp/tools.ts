/**
 * Operations as tools: under which name, with which schema. Pure.
 *
 * Invariant: a tool's input schema is one valibot schema; what is advertised is its JSON form and what is validated is itself,
 * so they can't differ. It is the operation's own without the command line's fields, and with the session required where
 * the project wants it.
 */
import * as v from "valibot";

import { jsonSchema, type JsonSchema } from "../../lib/jsonschema.ts";
import { toolName, type AnyOperation, type InputSchema } from "../../lib/op.ts";
import { isTool } from "./offer.ts";
import { leanDescription, leanInput, leanOutput, Listing } from "./schema.ts";
import { inToolWords } from "./wording.ts";

export interface Tool {
  readonly op: AnyOperation;
  readonly input: InputSchema;
}

/** As `tools/list` shows it. */
export type Definition = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema & { readonly type: "object" };
  readonly outputSchema: JsonSchema & { readonly type: "object" };
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
};

/** Every tool by its name, offered or not. */
export function catalogue(operations: readonly AnyOperation[], requireSession: boolean): ReadonlyMap<string, Tool> {
  return new Map(operations.filter(isTool).map((op) => [toolName(op), { op, input: inputOf(op, requireSession) }]));
}

/** Tools as one list shows them. `operations`: all that there are, for texts that name another's command. */
export function definitions(tools: readonly Tool[], operations: readonly AnyOperation[]): readonly Definition[] {
  const listing = new Listing(tools.map((tool) => jsonSchema(tool.input)));
  return tools.map((tool) => definitionOf(tool, listing, (text) => inToolWords(text, { op: tool.op, operations })));
}

/** Whether the operation writes a task's history, which has to say in whose session. */
function recordsSession(op: AnyOperation): boolean {
  const takes = ["session_id", "branch", "commit"].every((name) => name in op.input.entries);
  return takes && op.effect !== "read" && op.session !== "optional";
}

function inputOf(op: AnyOperation, requireSession: boolean): InputSchema {
  const entries = Object.entries(op.input.entries).filter(([name]) => op.flags?.[name]?.cliOnly !== true);
  const required = [...(op.asks ?? []), ...(requireSession && recordsSession(op) ? ["session_id"] : [])];
  return v.strictObject(
    Object.fromEntries(
      entries.map(([name, schema]) => [name, required.includes(name) ? withoutOptional(schema) : schema]),
    ),
  );
}

function withoutOptional(schema: v.ObjectEntries[string]): v.ObjectEntries[string] {
  return "wrapped" in schema && isSchema(schema.wrapped) ? schema.wrapped : schema;
}

function isSchema(value: unknown): value is v.GenericSchema {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "schema";
}

function definitionOf({ op, input }: Tool, listing: Listing, words: (text: string) => string): Definition {
  const read = op.effect === "read";
  const said = op.details === undefined ? `${op.summary}.` : `${op.summary}. ${op.details}`;
  return {
    name: toolName(op),
    title: op.name.charAt(0).toUpperCase() + op.name.slice(1),
    description: words(leanDescription(said)),
    inputSchema: leanInput(jsonSchema(input), listing, words),
    outputSchema: leanOutput(jsonSchema(op.output)),
    annotations: {
      readOnlyHint: read,
      destructiveHint: op.effect === "destroy",
      idempotentHint: op.idempotent ?? read,
      openWorldHint: op.openWorld ?? false,
    },
  };
}
