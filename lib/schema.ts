/**
 * What an operation's input schema says, flat: the one reading of valibot that the command line, help, completion, the
 * reference and the words of validation errors share. Pure.
 *
 * It reads the few shapes that inputs are made of (text, numbers, booleans, picklists, lists, objects, and unions of these)
 * and calls everything else `any`; it never runs a schema.
 */
import type * as v from "valibot";

export type Kind = "string" | "integer" | "number" | "boolean" | "enum" | "list" | "object" | "any";

export interface Shape {
  readonly kind: Kind;
  /** The allowed values of an `enum`. */
  readonly choices?: readonly string[];
  /** Bounds, inclusive: of a number's value, of a text's or a list's length. */
  readonly min?: number;
  readonly max?: number;
  /** What a `list` holds. */
  readonly item?: Shape;
  /** A `list` that may also be given as its only item. */
  readonly single?: boolean;
  /** The members of an `object`, where it names them. */
  readonly fields?: readonly Field[];
}

export interface Field extends Shape {
  readonly name: string;
  readonly description: string;
  /** Must be given: it is neither optional nor has it a default. */
  readonly required: boolean;
  readonly nullable: boolean;
  /** The constant that stands in when it is not given. Absent: none, or one that is computed. */
  readonly default?: unknown;
}

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

type Entries = Readonly<Record<string, v.GenericSchema>>;

/** A schema never changes, and a server asks for its fields at every call. */
const known = new WeakMap<object, readonly Field[]>();

/** The fields of an object schema, in the order they were written. */
export function fieldsOf({ entries }: { readonly entries: v.ObjectEntries }): readonly Field[] {
  const fields = known.get(entries) ?? fieldsOfEntries(entries);
  known.set(entries, fields);
  return fields;
}

/** What one schema accepts. */
export function shapeOf(schema: unknown): Shape {
  const node = asNode(unwrap(schema).inner);
  if (node === undefined) return { kind: "any" };
  const bounds = boundsOf(node);
  switch (node.type) {
    case "string":
      return { kind: "string", ...bounds };
    case "number":
      return { kind: actionsOf(node).some((action) => action.type === "integer") ? "integer" : "number", ...bounds };
    case "boolean":
      return { kind: "boolean" };
    case "picklist":
    case "enum":
      return { kind: "enum", choices: asArray(node["options"]).map(String) };
    case "literal":
      return { kind: "enum", choices: [String(node["literal"])] };
    case "array":
      return { kind: "list", item: shapeOf(node["item"]), ...bounds };
    case "object":
    case "loose_object":
    case "strict_object":
    case "object_with_rest":
      return isEntries(node["entries"])
        ? { kind: "object", fields: fieldsOfEntries(node["entries"]) }
        : { kind: "object" };
    case "record":
    case "variant":
    case "intersect":
      return { kind: "object" };
    case "union":
      return unionShape(asArray(node["options"]).map(shapeOf));
    default:
      return { kind: "any" };
  }
}

/** A word for what a value must be: `an integer from 1 to 100`, `one of XS, S`, `a list of text`. */
export function expectation(shape: Shape): string {
  switch (shape.kind) {
    case "string":
      return "text";
    case "integer":
      return `an integer${range(shape)}`;
    case "number":
      return `a number${range(shape)}`;
    case "boolean":
      return "true or false";
    case "enum":
      return shape.choices?.length === 1 ? `"${shape.choices[0]}"` : `one of ${(shape.choices ?? []).join(", ")}`;
    case "list":
      return shape.item === undefined || shape.item.kind === "any"
        ? "a list"
        : `a list, each ${expectation(shape.item)}`;
    case "object":
      return "an object";
    case "any":
      return "a value";
  }
}

/** Whether a shape is, or holds, something that only JSON can write. */
export function isStructured(shape: Shape): boolean {
  return shape.kind === "object" || (shape.kind === "list" && shape.item?.kind === "object");
}

function range({ min, max }: Shape): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? "" : ` of at most ${max}`;
}

function fieldsOfEntries(entries: v.ObjectEntries): readonly Field[] {
  return Object.entries(entries).map(([name, schema]) => {
    const { description, required, nullable, fallback } = unwrap(schema);
    return {
      ...shapeOf(schema),
      name,
      description,
      required,
      nullable,
      ...(fallback === undefined ? {} : { default: fallback }),
    };
  });
}

/** Takes `optional`, `nullable` and their kin off; a description may sit on any layer, the outermost one wins. */
function unwrap(schema: unknown) {
  let inner = schema;
  let description = "";
  let required = true;
  let nullable = false;
  let fallback: unknown;
  for (let node = asNode(inner); node !== undefined; node = asNode(inner)) {
    if (description === "") description = descriptionOf(node);
    const wrapped = node["wrapped"];
    if (wrapped === undefined) break;
    if (["optional", "exact_optional", "nullish", "undefinedable"].includes(node.type)) required = false;
    if (["nullable", "nullish"].includes(node.type)) nullable = true;
    if (node["default"] !== undefined && typeof node["default"] !== "function") fallback ??= node["default"];
    inner = wrapped;
  }
  return { inner, description, required, nullable, fallback };
}

function unionShape(options: readonly Shape[]): Shape {
  const list = options.find((option) => option.kind === "list");
  if (list !== undefined && options.some((option) => option.kind === list.item?.kind)) return { ...list, single: true };
  if (options.every((option) => option.kind === "enum")) {
    return { kind: "enum", choices: options.flatMap((option) => option.choices ?? []) };
  }
  const kinds = new Set(options.map((option) => option.kind));
  const [only] = options;
  return kinds.size === 1 && only !== undefined ? { kind: only.kind } : { kind: "any" };
}

function boundsOf(node: Node): Pick<Shape, "min" | "max"> {
  const bounds: { min?: number; max?: number } = {};
  for (const { type, requirement } of actionsOf(node)) {
    if (typeof requirement !== "number") continue;
    if (["min_value", "min_length"].includes(type)) bounds.min = requirement;
    if (["max_value", "max_length"].includes(type)) bounds.max = requirement;
    if (type === "non_empty") bounds.min = 1;
  }
  return bounds;
}

function actionsOf(node: Node): readonly Node[] {
  return asArray(node["pipe"])
    .slice(1)
    .flatMap((action) => asNode(action) ?? []);
}

function descriptionOf(node: Node): string {
  const own = actionsOf(node).findLast((action) => action.type === "description")?.["description"];
  return typeof own === "string" ? own : "";
}

function asNode(value: unknown): Node | undefined {
  return isNode(value) ? value : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function isEntries(value: unknown): value is Entries {
  return typeof value === "object" && value !== null;
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
