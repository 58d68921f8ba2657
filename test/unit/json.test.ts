import { describe, expect, test } from "bun:test";

import { DotbotError } from "../../lib/error.ts";
import {
  asNumber,
  canonicalHashText,
  compactJson,
  decodeUtf8,
  editJson,
  equalJson,
  formatJson,
  isJsonObject,
  MAX_DEPTH,
  parseJson,
  tryParseJson,
  type JsonObject,
  type JsonValue,
} from "../../lib/json.ts";

const BOM = "\uFEFF";

function parseObject(text: string): JsonObject {
  const value = parseJson(text);
  if (!isJsonObject(value)) throw new Error(`not an object: ${text}`);
  return value;
}

function caught(action: () => unknown): DotbotError {
  try {
    action();
  } catch (error) {
    if (error instanceof DotbotError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("parseJson reads", () => {
  test.each<[what: string, text: string, value: JsonValue]>([
    ["an object", `{"a": [1, true, null, "x"]}`, { a: [1, true, null, "x"] }],
    ["a BOM before it", `${BOM}{"a": 1}`, { a: 1 }],
    ["CRLF", `{\r\n  "a": 1\r\n}\r\n`, { a: 1 }],
    ["a scalar", ` "x" `, "x"],
    ["the last of two values for one key", `{"a": 1, "b": 2, "a": 3}`, { a: 3, b: 2 }],
    [
      "the last of two, beside a number kept as written",
      `{"a": 1.0, "b": 2.0, "a": 3}`,
      { a: 3, b: JSON.rawJSON("2.0") },
    ],
    ["escapes, beside a number kept as written", String.raw`["\u00e9\n\"\\", 1.0]`, ['é\n"\\', JSON.rawJSON("1.0")]],
  ])("%s", (_, text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test.each([`{"__proto__": {"polluted": 1}}`, `{"__proto__": {"polluted": 1.0}}`])(
    "__proto__ as a key like any other: %s",
    (text) => {
      const value = parseObject(text);
      expect(Object.keys(value)).toEqual(["__proto__"]);
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(value["polluted"]).toBeUndefined();
      expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
      expect(compactJson(value)).toBe(text.replaceAll(": ", ":"));
    },
  );
});

describe("numbers print as they were written", () => {
  const spelt = [
    "1",
    "-1",
    "0",
    "0.5",
    "1.0",
    "1e3",
    "1E+3",
    "-0",
    "-0.0",
    "0.10",
    "1e-7",
    "0.0000001",
    "1e999",
    "123456789012345",
  ];
  const long = [
    "12345678901234567890",
    "9007199254740993",
    "-3.14159265358979323846",
    "1e21",
    "100000000000000000000000",
  ];
  test.each([...spelt, ...long])("%s", (number) => {
    expect(compactJson(parseJson(number))).toBe(number);
    expect(compactJson(parseJson(`{"a":[${number}],"b":"${number}"}`))).toBe(`{"a":[${number}],"b":"${number}"}`);
    expect(formatJson(parseJson(`[${number}]`))).toBe(`[\n  ${number}\n]\n`);
    expect(asNumber(parseJson(number))).toBe(Number(number));
  });

  test("those that JavaScript writes the same way are plain numbers", () => {
    expect(parseJson(`[1, -20, 0.25, 1e+21]`)).toEqual([1, -20, 0.25, 1e21]);
  });

  test.each<[JsonValue | undefined]>([["1"], [null], [true], [[1]], [{ rawJSON: "1" }], [undefined]])(
    "%j isn't a number",
    (value) => {
      expect(asNumber(value)).toBeUndefined();
    },
  );
});

describe("what isn't JSON is told with its place", () => {
  test.each<[text: string, line: number, column: number, message: string]>([
    ["", 1, 1, "the text is empty"],
    [" \n", 2, 1, "the text is empty"],
    [`{"a": 1,}`, 1, 8, `a comma with nothing between it and "}"`],
    [`[\n  1,\n]`, 2, 4, `a comma with nothing between it and "]"`],
    [`{\r\n  "a": 1\r\n  "b": 2\r\n}`, 3, 3, `"\\"" where "," or "}" should be`.replace("\\", "")],
    [`${BOM}{a: 1}`, 1, 2, `"a" where a key in double quotes should be`],
    [`{'a': 1}`, 1, 2, `"'" where a key in double quotes should be`],
    [`{"a" 1}`, 1, 6, `"1" where ":" should be`],
    [`{"a": 1`, 1, 8, `the text ends where "," or "}" should be`],
    [`{"a": }`, 1, 7, `"}" where a value should be`],
    [`{"a": NaN}`, 1, 7, `"NaN" where a value should be`],
    [`[True]`, 1, 2, `"True" where a value should be`],
    [`[01]`, 1, 2, `"01" isn't a JSON number`],
    [`[1.]`, 1, 2, `"1." isn't a JSON number`],
    [`[-]`, 1, 2, `"-" where a value should be`],
    [`["a]`, 1, 2, "a string without its closing quote"],
    [`["a\tb"]`, 1, 4, "a control character (U+0009) inside a string"],
    [String.raw`["C:\path"]`, 1, 5, "a backslash that starts no escape"],
    [String.raw`["\u12"]`, 1, 3, "a backslash that starts no escape"],
    [`{} {}`, 1, 4, `"{" where the end of the text should be`],
    [`// note\n{}`, 1, 1, "a comment"],
    [`{\n<<<<<<< HEAD\n  "a": 1\n}`, 2, 1, "a merge conflict marker"],
    [`[\u00A01]`, 1, 2, "U+00A0 where a value should be"],
  ])("%j", (text, line, column, message) => {
    const result = tryParseJson(text);
    expect(result).toMatchObject({ ok: false, line, column, message });
  });

  test("as an error that names the file, the place, and the text there", () => {
    const error = caught(() => parseJson(`{\n  "name": "x",\n}\n`, { file: "todo/x.json" }));
    expect(error.facts()).toEqual({
      code: "INVALID_INPUT",
      message: `"todo/x.json" isn't valid JSON: line 2, column 14: a comma with nothing between it and "}", near ""name": "x","`,
      hint: "JSON allows no comma after the last element: remove it",
      details: { file: "todo/x.json", line: 2, column: 14, offset: 15 },
    });
  });

  test("with an excerpt that stays short and well-formed", () => {
    const result = tryParseJson(`["${"😀".repeat(50)}" x "${"😀".repeat(50)}"]`);
    if (result.ok) throw new Error("accepted");
    expect(result.excerpt.length).toBeLessThan(50);
    expect(result.excerpt.isWellFormed()).toBe(true);
  });
});

describe("nesting", () => {
  const nested = (levels: number, inside = ""): string => "[".repeat(levels) + inside + "]".repeat(levels);

  test("is read and edited down to the limit", () => {
    const text = `{"a":${nested(MAX_DEPTH - 1)}}`;
    expect(editJson(text, parseObject(text))).toBe(text);
    expect(parseJson(editJson(text, { a: 1 }))).toEqual({ a: 1 });
    expect(parseJson(editJson(`{"a":1}`, parseObject(text)))).toEqual(parseJson(text));
  });

  test.each([
    ["one level more", nested(MAX_DEPTH + 1)],
    ["one level more, around a number kept as written", nested(MAX_DEPTH + 1, "1.0")],
    ["100,000 levels", nested(100_000)],
    ["100,000 levels, never closed", "[".repeat(100_000)],
    ["100,000 objects", `{"a":`.repeat(100_000)],
  ])("%s is refused", (_, text) => {
    expect(tryParseJson(text)).toMatchObject({ ok: false, message: `the text nests deeper than ${MAX_DEPTH} levels` });
    expect(caught(() => editJson(text, {})).code).toBe("INVALID_INPUT");
  });

  test("isn't counted across neighbours, nor in strings", () => {
    expect(tryParseJson(`[${"[],".repeat(1000)}"${"[".repeat(1000)}\\"${"[".repeat(1000)}"]`).ok).toBe(true);
  });

  test("is never written deeper than it can be read", () => {
    const value = (levels: number): JsonValue => parseJson(nested(levels));
    expect(parseJson(formatJson(value(MAX_DEPTH)))).toEqual(value(MAX_DEPTH));
    expect(caught(() => formatJson([value(MAX_DEPTH)])).code).toBe("INVALID_INPUT");
    for (const text of [`{"a": {"b": 1}}`, `{"a": {"b": []}}`, `{"a": {"c": 1}}`]) {
      const deepest = { a: { b: value(MAX_DEPTH - 2) } };
      expect(parseJson(editJson(text, deepest))).toEqual(deepest);
      expect(caught(() => editJson(text, { a: { b: value(MAX_DEPTH - 1) } })).code).toBe("INVALID_INPUT");
    }
  });
});

describe("equalJson", () => {
  const raw = JSON.rawJSON;
  test.each<[JsonValue | undefined, JsonValue | undefined, boolean]>([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: null }, false],
    [{ a: 1, b: null }, { a: 1 }, false],
    [{}, { toString: "x" }, false],
    [{ toString: "x" }, {}, false],
    [[1, 2], [2, 1], false],
    [[], {}, false],
    [[], null, false],
    ["1", 1, false],
    [undefined, null, false],
    [1, raw("1.0"), true],
    [raw("1.0"), raw("1.00"), true],
    [raw("10e2"), raw("1.000E+3"), true],
    [raw("-0"), raw("0.0"), true],
    [raw("-0"), 0, true],
    [raw("-1.0"), raw("1.0"), false],
    [raw("12345678901234567890"), raw("12345678901234567891"), false],
    [raw("12345678901234567890"), 12345678901234567000, true],
    [raw("1e99999"), raw("1e99998"), false],
  ])("%j and %j: %p", (a, b, equal) => {
    expect(equalJson(a, b)).toBe(equal);
    expect(equalJson(b, a)).toBe(equal);
  });
});

describe("editJson", () => {
  const lines = (...rows: string[]): string => rows.join("\n");

  test.each<[what: string, text: string, next: JsonObject, result: string]>([
    ["changes a value in its place", `{"a": 1, "b":2}`, { a: "x", b: 2 }, `{"a": "x", "b":2}`],
    ["keeps how an equal number is written", `{"a": 1.0, "b": 1}`, { a: 1, b: 2 }, `{"a": 1.0, "b": 2}`],
    [
      "keeps how an equal string is written",
      String.raw`{"a": "\u00e9\/", "b": 1}`,
      { a: "é/", b: 2 },
      String.raw`{"a": "\u00e9\/", "b": 2}`,
    ],
    ["keeps the order of keys", `{"b": 1, "a": 2}`, { a: 3, b: 1 }, `{"b": 1, "a": 3}`],
    [
      "keeps BOM, CRLF and the end of the file",
      `${BOM}{\r\n\t"a": 1\r\n}\r\n\r\n`,
      { a: 1, b: { c: [] } },
      `${BOM}{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": []\r\n\t}\r\n}\r\n\r\n`,
    ],
    [
      "takes an undefined value for an absent one",
      `{"a": 1, "b": 2}`,
      { a: undefined, b: 2, c: undefined },
      `{"b": 2}`,
    ],
    [
      "writes a raw number as it is",
      `{"a": 1}`,
      { a: JSON.rawJSON("2.50"), b: JSON.rawJSON("1e3") },
      `{"a": 2.50, "b": 1e3}`,
    ],
    [
      "replaces every kind by every other",
      `{"a":[1],"b":{"c":1},"d":1}`,
      { a: { c: 1 }, b: 1, d: [1] },
      `{"a":{"c":1},"b":1,"d":[1]}`,
    ],
    [
      "edits __proto__ like any other key",
      `{"__proto__": {"a": 1}}`,
      parseObject(`{"__proto__": {"a": 2}}`),
      `{"__proto__": {"a": 2}}`,
    ],
    ["adds a key that objects inherit", `{"a": 1}`, { a: 1, toString: "x" }, `{"a": 1, "toString": "x"}`],

    [
      "of a key written twice edits the last value",
      `{"a": 1, "b": 2, "a": 3}`,
      { a: 4, b: 2 },
      `{"a": 1, "b": 2, "a": 4}`,
    ],
    ["of a key written twice removes both", `{"a": 1, "b": 2, "a": 3}`, { b: 2 }, `{"b": 2}`],

    [
      "adds in the style of one line",
      `{ "a":1 ,"b":2 }`,
      { a: 1, b: 2, c: [1, { d: 1 }] },
      `{ "a":1 ,"b":2 ,"c":[1 ,{ "d":1 }] }`,
    ],
    ["adds in a compact style", `{"a":1}`, { a: 1, b: [1, { c: 2 }] }, `{"a":1,"b":[1,{"c":2}]}`],
    [
      "adds after a space-separated single member",
      `{"a": 1}`,
      { a: 1, b: { c: 1, d: 2 } },
      `{"a": 1, "b": {"c": 1, "d": 2}}`,
    ],
    ["fills an empty document as a new one", `{}\n`, { a: { b: 1 } }, `{\n  "a": {\n    "b": 1\n  }\n}\n`],
    ["fills an empty document with its own line ends", `{ }\r\n`, { a: 1 }, `{\r\n  "a": 1\r\n}\r\n`],
    ["leaves an empty container alone", `{"a": [ ], "b": {\n}}`, { a: [], b: {} }, `{"a": [ ], "b": {\n}}`],
    ["empties a container", `{"a": [\n  1\n], "b": { "c": 1 }}`, { a: [], b: {} }, `{"a": [], "b": {}}`],
    ["empties a document", `{\n  "a": 1\n}\n`, {}, `{}\n`],
    ["exchanges all keys", `{\n    "a": 1,\n    "b": 2\n}`, { c: 3, d: 4 }, `{\n    "c": 3,\n    "d": 4\n}`],
    [
      "adds no blank line",
      `{\n  "a": 1,\n\n  "b": 2\n}`,
      { a: 1, b: 2, c: 3 },
      `{\n  "a": 1,\n\n  "b": 2,\n  "c": 3\n}`,
    ],
    [
      "follows a comma that leads the line",
      `{ "a": 1\n, "b": 2\n}`,
      { a: 1, b: 2, c: 3 },
      `{ "a": 1\n, "b": 2\n, "c": 3\n}`,
    ],
    ["follows lines without indentation", `{\n"a": 1\n}`, { a: 1, b: [1] }, `{\n"a": 1,\n"b": [\n1\n]\n}`],
    ["takes two spaces where indentation tells nothing", `  {\n"a": 1\n}`, { a: [1] }, `  {\n"a": [\n  1\n]\n}`],

    [
      "appends to a list on one line",
      `{\n  "a": ["x", "y"]\n}`,
      { a: ["x", "y", "z"] },
      `{\n  "a": ["x", "y", "z"]\n}`,
    ],
    ["prepends", `{"a": [ 2, 3 ]}`, { a: [1, 2, 3] }, `{"a": [ 1, 2, 3 ]}`],
    ["inserts and removes in one list", `{"a": [1, 2, 3, 4.0]}`, { a: [1, 3, 3.5, 4] }, `{"a": [1, 3, 3.5, 4.0]}`],
    ["removes the first and appends", `{"a": [1.0, 2.0, 3.0]}`, { a: [2, 3, 4] }, `{"a": [2.0, 3.0, 4]}`],
    [
      "edits an item in its place",
      `{"a": [{"x":1, "y":2}, 3]}`,
      { a: [{ y: 2, x: 5 }, 3] },
      `{"a": [{"x":5, "y":2}, 3]}`,
    ],
  ])("%s", (_, text, next, result) => {
    expect(editJson(text, next)).toBe(result);
  });

  test("fills an empty list in the document's indentation", () => {
    const text = lines(`{`, `    "a": {`, `        "tags": [ ]`, `    }`, `}`);
    expect(editJson(text, { a: { tags: ["x", { y: 1 }] } })).toBe(
      lines(
        `{`,
        `    "a": {`,
        `        "tags": [`,
        `            "x",`,
        `            {`,
        `                "y": 1`,
        `            }`,
        `        ]`,
        `    }`,
        `}`,
      ),
    );
  });

  test("appends an item like those beside it", () => {
    const text = lines(
      `{`,
      `  "steps": [`,
      `    { "n": 1, "do": "this" },`,
      `    { "n": 2, "do": "that" }`,
      `  ]`,
      `}`,
    );
    const steps = [
      { n: 1, do: "this" },
      { n: 2, do: "that" },
      { n: 3, do: ["x", "y"] },
    ];
    expect(editJson(text, { steps })).toBe(text.replace(`"that" }`, `"that" },\n    { "n": 3, "do": ["x", "y"] }`));
  });

  test("removes whole lines", () => {
    const text = lines(`{`, `  "a": 1,`, `  "b": {`, `    "x": 1`, `  },`, `  "c": 3`, `}`);
    expect(editJson(text, { b: { x: 1 }, c: 3 })).toBe(lines(`{`, `  "b": {`, `    "x": 1`, `  },`, `  "c": 3`, `}`));
    expect(editJson(text, { a: 1, c: 3 })).toBe(lines(`{`, `  "a": 1,`, `  "c": 3`, `}`));
    expect(editJson(text, { a: 1, b: { x: 1 } })).toBe(lines(`{`, `  "a": 1,`, `  "b": {`, `    "x": 1`, `  }`, `}`));
  });

  test("pairs off lists that are too long to be matched", () => {
    const old = Array.from({ length: 200 }, (_, i) => i);
    const next = old.map((i) => i + 1);
    expect(parseJson(editJson(compactJson({ old }), { old: next }))).toEqual({ old: next });
  });

  test.each<[text: string, message: string]>([
    [`[1]`, `"x.json" should hold a JSON object, not an array`],
    [`7.0`, `"x.json" should hold a JSON object, not "7.0"`],
    [`{"a"}`, `"x.json" isn't valid JSON: line 1, column 5: "}" where ":" should be, near "{"a"}"`],
  ])("refuses %s", (text, message) => {
    expect(caught(() => editJson(text, {}, { file: "x.json" })).facts()).toMatchObject({
      code: "INVALID_INPUT",
      message,
    });
  });
});

describe("printing", () => {
  test.each<[JsonValue, string]>([
    [
      { a: [1, { b: "x" }], c: {}, d: [], e: undefined },
      `{\n  "a": [\n    1,\n    {\n      "b": "x"\n    }\n  ],\n  "c": {},\n  "d": []\n}\n`,
    ],
    [{ a: undefined }, "{}\n"],
    [[], "[]\n"],
    ["x", `"x"\n`],
  ])("formatJson %j", (value, text) => {
    expect(formatJson(value)).toBe(text);
  });

  test("formatJson with another indent", () => {
    expect(formatJson({ a: [1] }, { indent: 4 })).toBe(`{\n    "a": [\n        1\n    ]\n}\n`);
  });

  test("compactJson stays on one line for every reader, and is well-formed", () => {
    const value = { "a\u2028": "\n\r\u0085\u2028\u2029\uD800😀" };
    const text = compactJson(value);
    expect(text).toBe('{"a\\u2028":"\\n\\r\\u0085\\u2028\\u2029\\ud800😀"}');
    expect(parseJson(text)).toEqual(value);
  });
});

describe("decodeUtf8", () => {
  test.each<[what: string, bytes: number[], text: string, valid: boolean]>([
    ["UTF-8", [0x68, 0xc3, 0xa9], "hé", true],
    ["a BOM, kept", [0xef, 0xbb, 0xbf, 0x7b], `${BOM}{`, true],
    ["nothing", [], "", true],
    ["Latin-1", [0x68, 0xe9, 0x21], "h\uFFFD!", false],
    ["a character cut off", [0x68, 0xc3], "h\uFFFD", false],
    ["a surrogate", [0xed, 0xa0, 0x80], "\uFFFD\uFFFD\uFFFD", false],
  ])("%s", (_, bytes, text, valid) => {
    expect(decodeUtf8(new Uint8Array(bytes))).toEqual({ text, valid });
    // The one before leaves nothing behind.
    expect(decodeUtf8(new Uint8Array([0x7b]))).toEqual({ text: "{", valid: true });
  });
});

describe("canonicalHashText", () => {
  test.each<[text: string, canonical: string]>([
    [`{\n}\n`, `{\n}`],
    [`${BOM}{\r\n}\r\n \t\r\n`, `{\n}`],
    [`{\n}`, `{\n}`],
    [`{ "a": "x\r" }`, `{ "a": "x\r" }`],
    [" \n", ""],
  ])("%j is %j", (text, canonical) => {
    expect(canonicalHashText(text)).toBe(canonical);
  });
});
