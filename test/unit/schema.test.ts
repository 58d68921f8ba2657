import { describe, expect, test } from "bun:test";

import * as v from "valibot";

import { listItems, scalar } from "../../cmd/values.ts";
import { duration, parseDuration } from "../../lib/duration.ts";
import { DotbotError } from "../../lib/error.ts";
import { validate } from "../../lib/explain.ts";
import { toolWording } from "../../lib/invoke.ts";
import { inputJsonSchema } from "../../lib/jsonschema.ts";
import type { InputSchema } from "../../lib/op.ts";
import { expectation, fieldsOf, shapeOf, type Shape } from "../../lib/schema.ts";
import { TASK, taskAdd } from "../e2e/dummy/operations.ts";

describe("what a schema accepts", () => {
  const rows: readonly (readonly [schema: v.GenericSchema, shape: Shape, words: string])[] = [
    [v.string(), { kind: "string" }, "text"],
    [v.pipe(v.string(), v.minLength(1), v.maxLength(9)), { kind: "string", min: 1, max: 9 }, "text"],
    [v.number(), { kind: "number" }, "a number"],
    [v.pipe(v.number(), v.minValue(0)), { kind: "number", min: 0 }, "a number of at least 0"],
    [
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)),
      { kind: "integer", min: 1, max: 100 },
      "an integer from 1 to 100",
    ],
    [v.boolean(), { kind: "boolean" }, "true or false"],
    [v.picklist(["a", "b"]), { kind: "enum", choices: ["a", "b"] }, "one of a, b"],
    [v.literal("a"), { kind: "enum", choices: ["a"] }, '"a"'],
    [v.union([v.literal("a"), v.picklist(["b", "c"])]), { kind: "enum", choices: ["a", "b", "c"] }, "one of a, b, c"],
    [v.array(v.string()), { kind: "list", item: { kind: "string" } }, "a list, each text"],
    [
      v.union([v.string(), v.array(v.string())]),
      { kind: "list", item: { kind: "string" }, single: true },
      "a list, each text",
    ],
    [v.optional(v.nullable(v.boolean())), { kind: "boolean" }, "true or false"],
    [v.record(v.string(), v.unknown()), { kind: "object" }, "an object"],
    [v.unknown(), { kind: "any" }, "a value"],
  ];
  test.each(rows)("%#", (schema, shape, words) => {
    expect(shapeOf(schema)).toEqual(shape);
    expect(expectation(shape)).toBe(words);
  });
});

describe("the fields of an input", () => {
  test("required, default, nullable, description on either layer", () => {
    const schema = v.strictObject({
      plain: v.pipe(v.string(), v.description("inner")),
      outer: v.pipe(v.optional(v.pipe(v.string(), v.description("inner"))), v.description("outer")),
      inner: v.optional(v.pipe(v.string(), v.description("inner"))),
      fallback: v.optional(v.number(), 5),
      computed: v.optional(v.number(), () => 5),
      nullish: v.nullish(v.string()),
    });
    expect(fieldsOf(schema)).toEqual([
      { name: "plain", kind: "string", description: "inner", required: true, nullable: false },
      { name: "outer", kind: "string", description: "outer", required: false, nullable: false },
      { name: "inner", kind: "string", description: "inner", required: false, nullable: false },
      { name: "fallback", kind: "number", description: "", required: false, nullable: false, default: 5 },
      { name: "computed", kind: "number", description: "", required: false, nullable: false },
      { name: "nullish", kind: "string", description: "", required: false, nullable: true },
    ]);
  });

  test("objects in lists name their own", () => {
    const [field] = fieldsOf(v.strictObject({ options: v.array(v.strictObject({ key: v.string() })) }));
    expect(field?.item?.fields?.map((inner) => inner.name)).toEqual(["key"]);
  });
});

describe("what is wrong with an input", () => {
  const input = v.strictObject({
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(5), v.description("what it is called")),
    priority: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)), 50),
    effort: v.optional(v.picklist(["XS", "S", "M"])),
    tags: v.optional(v.array(v.string())),
    questions: v.optional(
      v.array(v.strictObject({ question: v.string(), options: v.array(v.strictObject({ key: v.string() })) })),
    ),
    ttl: v.optional(duration("how long")),
    url: v.optional(v.pipe(v.string(), v.url())),
  });

  const rows: readonly (readonly [given: unknown, message: string, hint: string | undefined, corrected: unknown])[] = [
    [{}, "name is missing", "name: what it is called", { name: "…" }],
    [{ name: "" }, "name is empty", "name: what it is called", { name: "…" }],
    [{ name: "abcdef" }, "name has 6 characters; at most 5 are allowed", "name: what it is called", { name: "…" }],
    [{ name: 7 }, "name 7 isn't text", "name: what it is called", { name: "…" }],
    [{ name: "a", priority: 0 }, "priority 0 isn't an integer from 1 to 100", undefined, { name: "a", priority: 50 }],
    [
      { name: "a", priority: "9" },
      'priority "9" isn\'t an integer from 1 to 100',
      undefined,
      { name: "a", priority: 50 },
    ],
    [
      { name: "a", effort: "xs" },
      'effort "xs" isn\'t one of XS, S, M',
      'did you mean "XS"?',
      { name: "a", effort: "XS" },
    ],
    [{ name: "a", effort: 3 }, "effort 3 isn't one of XS, S, M", undefined, { name: "a", effort: "XS" }],
    [{ name: "a", tags: "x" }, 'tags "x" isn\'t a list, each text', undefined, { name: "a", tags: ["…"] }],
    [{ name: "a", tags: ["x", null] }, "tags[1] null isn't text", undefined, { name: "a", tags: ["x", "…"] }],
    [{ name: "a", prioritty: 3 }, 'unknown field "prioritty"', 'did you mean "priority"?', { name: "a", priority: 3 }],
    [
      { name: "a", zzz: 3 },
      'unknown field "zzz"',
      "its fields are name, priority, effort, tags, questions, ttl, url",
      { name: "a" },
    ],
    [
      { name: "a", questions: [{ question: "?", options: [{ kye: "A" }] }] },
      'questions[0].options[0].key is missing; unknown field "kye" in questions[0].options[0]',
      'did you mean "key"?',
      { name: "a", questions: [{ question: "?", options: [{ key: "A" }] }] },
    ],
    [
      { name: "a", ttl: "soon" },
      'ttl "soon": must be a length of time such as 30s, 10m, 2h or 1h30m',
      "ttl: how long",
      { name: "a", ttl: "…" },
    ],
    [{ name: "a", url: "x" }, 'url "x" isn\'t a valid url', undefined, { name: "a", url: "…" }],
    ["text", 'the input "text" isn\'t an object', undefined, { name: "…" }],
    [
      { name: 1, priority: 0, effort: 2, tags: 3 },
      "name 1 isn't text; priority 0 isn't an integer from 1 to 100; effort 2 isn't one of XS, S, M; and 1 more",
      "name: what it is called",
      { name: "…", priority: 50, effort: "XS", tags: ["…"] },
    ],
  ];
  test.each(rows)("%j", (given, message, hint, corrected) => {
    const op = { ...taskAdd, input: input satisfies InputSchema };
    let error: unknown;
    try {
      validate(input, given, toolWording(op, given));
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof DotbotError)) throw new Error("it was accepted");
    expect({ code: error.code, message: error.message, hint: error.hint, example: error.example }).toEqual({
      code: "INVALID_INPUT",
      message,
      hint,
      example: `task_add ${JSON.stringify(corrected)}`,
    });
  });

  test("a good one comes back with its defaults", () => {
    const op = { ...taskAdd, input: input satisfies InputSchema };
    expect(validate(input, { name: "a" }, toolWording(op, {}))).toEqual({ name: "a", priority: 50 });
  });
});

describe("words of a command line", () => {
  test.each([
    ["7", 7],
    ["-7", -7],
    ["1e3", 1000],
    ["0.5", 0.5],
    ["0x10", "0x10"],
    ["", ""],
    [" 7", " 7"],
    ["Infinity", "Infinity"],
    ["seven", "seven"],
  ])("as a number: %j", (word, value) => {
    expect(scalar({ kind: "number" }, word)).toBe(value);
    expect(scalar({ kind: "string" }, word)).toBe(word);
  });

  test.each<[readonly string[], readonly unknown[]]>([
    [["a"], ["a"]],
    [["a,b"], ["a", "b"]],
    [["a,b,"], ["a", "b"]],
    [
      ["a,b", "c"],
      ["a,b", "c"],
    ],
    [["a, b"], ["a", "b"]],
    [['["a,b",7]'], ["a,b", 7]],
    [["[WIP] fix"], ["[WIP] fix"]],
    [[""], [""]],
  ])("as a list: %j", (words, items) => {
    expect(listItems(words, false)).toEqual(items);
  });

  test.each<[readonly string[], readonly unknown[]]>([
    [["Log in,out"], ["Log in,out"]],
    [["Log in, log out"], ["Log in, log out"]],
    [
      ["a,b", "c"],
      ["a,b", "c"],
    ],
    [['["a,b"]'], ["a,b"]],
    [[""], [""]],
  ])("as a list whose items stay whole: %j", (words, items) => {
    expect(listItems(words, true)).toEqual(items);
  });

  test.each([
    ["500ms", 500],
    ["30", 30_000],
    ["30s", 30_000],
    ["1.5h", 5_400_000],
    ["1h30m", 5_400_000],
    ["7d", 604_800_000],
    ["", undefined],
    ["h", undefined],
    ["-1s", undefined],
    ["2 hours", undefined],
  ])("as a length of time: %j", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});

test.each(TASK.map((op) => [op.name, op] as const))("%s has a JSON Schema", (_name, op) => {
  expect(inputJsonSchema(op)).toMatchObject({ type: "object", additionalProperties: false });
  expect(inputJsonSchema(op)).toBe(inputJsonSchema(op));
});
