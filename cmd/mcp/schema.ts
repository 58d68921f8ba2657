/**
 * JSON Schemas as tools advertise them. Every model reads all of them before its first call, so they say each thing once and
 * nothing that the model doesn't need: an input keeps what validation demands, an output only its outline. Pure.
 */
import type { JsonSchema } from "../../lib/jsonschema.ts";

type ObjectSchema = JsonSchema & { readonly type: "object" };

/** Fields with the same name and meaning in many tools, in few words; the instructions say the rest, once for all of them. */
const BRIEF: Readonly<Record<string, string>> = {
  task_id: "",
  session_id: "From env (CLAUDE_SESSION_ID, …), or unknown",
  branch: "",
  commit: "",
  by: "",
  owner: "",
  claim_token: "",
  steal: "Reason to take it over",
  ttl: "As 30m",
  pid: "",
  dir: "",
  owner_repo: "",
  expect_sha: "HEAD must be this",
};

/** In so many tools a field has to be of the same name and description to be a common one. */
const COMMON = 3;

/** Shorter descriptions say little that the field's name doesn't. */
const TELLING = 40;

/** What is known of a list of tools while its schemas are made, one after the other. */
export class Listing {
  private readonly common = new Map<string, number>();
  private readonly said = new Set<string>();

  /** @param inputs the tools' input schemas, whole */
  constructor(inputs: readonly JsonSchema[]) {
    for (const input of inputs) {
      for (const [name, property] of Object.entries(recordIn(input["properties"]))) {
        const key = keyOf(name, recordIn(property)["description"]);
        this.common.set(key, (this.common.get(key) ?? 0) + 1);
      }
    }
  }

  /** A field's description here: brief where the instructions explain it, and only in the first tool that has it. */
  describe(name: string, description: string): string {
    const key = keyOf(name, description);
    const brief = (this.common.get(key) ?? 0) >= COMMON ? BRIEF[name] : undefined;
    if (brief !== undefined) return brief;
    const said = this.said.has(key);
    this.said.add(key);
    const short = sentence(description);
    return said || short.length < TELLING ? "" : short;
  }
}

function keyOf(name: string, description: unknown): string {
  return `${name}: ${String(description)}`;
}

/** Everything that validation demands, each thing in one sentence at most. */
export function leanInput(schema: JsonSchema, listing: Listing, words: (text: string) => string): ObjectSchema {
  const describe = (name: string, description: string): string => words(listing.describe(name, description));
  const { $schema: _, ...rest } = lean(schema, "", describe);
  return { ...rest, type: "object" };
}

/** Without what is empty, or said by what stands beside it. */
function lean(schema: JsonSchema, name: string, describe: Listing["describe"]): JsonSchema {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "description") {
      const words = describe(name, String(value));
      if (words !== "") kept[key] = words;
    } else if (key === "properties") {
      if (!isEmpty(value)) kept[key] = mapped(value, (member, memberName) => lean(member, memberName, describe));
    } else if (key === "items") kept[key] = lean(recordIn(value), name, describe);
    else if (key === "anyOf" || key === "oneOf")
      kept[key] = schemasIn(value).map((variant) => lean(variant, name, describe));
    else if (
      key === "required"
        ? !isEmpty(value)
        : key === "default"
          ? value !== false
          : key !== "type" || schema["enum"] === undefined
    )
      kept[key] = value;
  }
  return kept;
}

function mapped(map: unknown, change: (schema: JsonSchema, name: string) => JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(recordIn(map)).map(([name, schema]) => [name, change(recordIn(schema), name)]),
  );
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : Object.keys(recordIn(value)).length === 0;
}

/** The first sentence, or as much of it as stands before a semicolon, without its full stop. */
function sentence(text: string): string {
  return /^.*?(?=[.;](?:\s|$)|$)/s.exec(text)?.[0] ?? text;
}

/** Most characters of a tool's description. */
const DESCRIPTION = 180;

/** The sentences of a tool's description that fit; the first one always does. */
export function leanDescription(text: string): string {
  let kept = "";
  for (const [sentence] of text.matchAll(/[^]*?[.?!](?=\s|$)\s*/g)) {
    if (kept !== "" && kept.length + sentence.trimEnd().length > DESCRIPTION) break;
    kept += sentence;
  }
  return kept.trimEnd();
}

/**
 * The outline of an answer: the members that are more than a text, in every answer, and their types. Open, since documents hold
 * what their owners put there, and texts (a path, a sha, a status) are clear from what they are called.
 */
export function leanOutput(schema: JsonSchema): ObjectSchema {
  const variants = [schema, ...schemasIn(schema["anyOf"]), ...schemasIn(schema["oneOf"])].filter(
    (it) => it["properties"] !== undefined,
  );
  const names = Object.keys(recordIn(variants[0]?.["properties"])).filter((name) =>
    variants.every((variant) => namesIn(variant["required"]).includes(name)),
  );
  const members = names.flatMap((name): readonly (readonly [string, JsonSchema])[] => {
    const types = new Set(variants.flatMap((variant) => typesIn(recordIn(recordIn(variant["properties"])[name]))));
    const [only] = types;
    if (only !== null && only !== "string" && types.size === 1) return [[name, { type: only }]];
    const nullable = types.size === 2 && types.has("object") && types.has("null");
    return nullable ? [[name, { anyOf: [{ type: "object" }, { type: "null" }] }]] : [];
  });
  return { type: "object", properties: Object.fromEntries(members) };
}

function typesIn(schema: JsonSchema): readonly unknown[] {
  const variants = schemasIn(schema["anyOf"]);
  if (variants.length > 0) return variants.flatMap(typesIn);
  const { type } = schema;
  return Array.isArray(type) ? type : [type ?? null];
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
