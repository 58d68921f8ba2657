/**
 * JSON Schemas as tools advertise them. Every model reads all of them before its first call, so they say each thing once and
 * nothing that the model doesn't need: an input keeps what validation demands, an output only its outline. Pure.
 */
import type { JsonSchema } from "../../lib/jsonschema.ts";
import type { AnyOperation } from "../../lib/op.ts";
import { fieldsOf, type Field } from "../../lib/schema.ts";

type ObjectSchema = JsonSchema & { readonly type: "object" };

/** Fields with the same name and meaning in many tools, in few words: the instructions have the others. */
const BRIEF: Readonly<Record<string, string>> = {
  task_id: "Id, its first 4+ digits, slug or exact name",
  session_id: "Yours, from env (CLAUDE_SESSION_ID, CODEX_THREAD_ID, …); or unknown",
  branch: "",
  commit: "",
  by: "",
  owner: "",
  claim_token: "",
  steal: "Reason to take over another's claim",
  ttl: "As 30m or 2h",
  pid: "",
  dir: "Absolute path in the repository meant",
  owner_repo: "owner/repo that dir must be",
};

/** In so many tools a field has to be of the same name and description to be a common one. */
const COMMON = 3;

/** The common fields of a registry, by name and description. */
export function commonFields(operations: readonly AnyOperation[]): ReadonlySet<string> {
  const seen = new Map<string, number>();
  for (const field of operations.flatMap((op) => fieldsOf(op.input))) seen.set(keyOf(field), (seen.get(keyOf(field)) ?? 0) + 1);
  return new Set([...seen].filter(([, count]) => count >= COMMON).map(([key]) => key));
}

function keyOf({ name, description }: Pick<Field, "name" | "description">): string {
  return `${name}: ${description}`;
}

/** Everything that validation demands. */
export function leanInput(schema: JsonSchema, common: ReadonlySet<string>): ObjectSchema {
  const { $schema: _, ...rest } = schema;
  const properties = Object.entries(recordIn(rest["properties"])).map(([name, value]) => {
    const property = recordIn(value);
    const { description, ...bare } = property;
    const brief = common.has(keyOf({ name, description: String(description ?? "") })) ? BRIEF[name] : undefined;
    if (brief === undefined) return [name, property] as const;
    return [name, brief === "" ? bare : { ...bare, description: brief }] as const;
  });
  return { ...rest, type: "object", properties: Object.fromEntries(properties) };
}

/**
 * The members that every answer has, and their types, one level deep; open, since documents hold what their owners put there.
 * Texts that may be null are left out: two types for one member is what some models' dialects of JSON Schema can't say.
 */
export function leanOutput(schema: JsonSchema): ObjectSchema {
  const variants = [schema, ...schemasIn(schema["anyOf"]), ...schemasIn(schema["oneOf"])].filter((it) => it["properties"] !== undefined);
  const names = Object.keys(recordIn(variants[0]?.["properties"])).filter((name) => variants.every((variant) => namesIn(variant["required"]).includes(name)));
  const members = names.flatMap((name): readonly (readonly [string, JsonSchema])[] => {
    const types = new Set(variants.flatMap((variant) => typesIn(recordIn(recordIn(variant["properties"])[name]))));
    const [only] = types;
    if (only !== undefined && types.size === 1) return [[name, { type: only }]];
    const nullable = types.size === 2 && types.has("object") && types.has("null");
    return nullable ? [[name, { anyOf: [{ type: "object" }, { type: "null" }] }]] : [];
  });
  return { type: "object", properties: Object.fromEntries(members) };
}

function typesIn(schema: JsonSchema): readonly unknown[] {
  const variants = schemasIn(schema["anyOf"]);
  if (variants.length > 0) return variants.flatMap(typesIn);
  const { type } = schema;
  return Array.isArray(type) ? type : [type ?? "anything"];
}

function schemasIn(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? value.map(recordIn) : [];
}

function namesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function recordIn(value: unknown): JsonSchema {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
