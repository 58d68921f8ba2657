/**
 * JSON Schema of what operations take and give. The only importer of the converter, which costs milliseconds for a whole
 * registry: import this file with `await import()`, where a schema is asked for.
 */
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";

import type { AnyOperation } from "./op.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

const converted = new WeakMap<object, JsonSchema>();

/** Converts once per schema. Throws on what JSON Schema can't say: a fault of ours, which a test finds. */
export function jsonSchema(schema: v.GenericSchema): JsonSchema {
  const known = converted.get(schema);
  if (known !== undefined) return known;
  const fresh: JsonSchema = { ...toJsonSchema(schema) };
  converted.set(schema, fresh);
  return fresh;
}

export function inputJsonSchema(op: AnyOperation): JsonSchema {
  return jsonSchema(op.input);
}

export function outputJsonSchema(op: AnyOperation): JsonSchema {
  return jsonSchema(op.output);
}
