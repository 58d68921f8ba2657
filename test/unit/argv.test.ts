import { describe, expect, test } from "bun:test";

import {
  commandLine,
  joined,
  leadingWords,
  matchName,
  mentions,
  shield,
  unshield,
  type FlagSyntax,
} from "../../cmd/argv.ts";
import { DotbotError } from "../../lib/error.ts";

const flag = (name: string, more: Partial<FlagSyntax> = {}): FlagSyntax => ({
  name,
  boolean: false,
  repeats: false,
  ...more,
});

const FLAGS: readonly FlagSyntax[] = [
  flag("message", { short: "m", listed: "--message" }),
  flag("option", { repeats: true }),
  flag("depends-on", { repeats: true, meant: ["dependencies"] }),
  flag("force", { boolean: true, short: "f" }),
  flag("json", { boolean: true }),
  flag("dir", { short: "C" }),
];

/** What the words read as: `flag=value` for flags, the bare value for words, `-- word` behind `--`. */
function read(...argv: readonly string[]): readonly string[] {
  const { tokens, values, after } = shield(argv, new Set(), FLAGS, "task add");
  const front = tokens.map((token) => {
    const [name, shielded] = token.startsWith("--")
      ? [token.slice(2, token.indexOf("=") + 1), token.slice(token.indexOf("=") + 1)]
      : ["", token];
    return name + unshield(shielded, values).text;
  });
  return [...front, ...(after ?? []).map((word) => `-- ${word.text}`)];
}

function refusal(...argv: readonly string[]): {
  code: string;
  message: string;
  hint: string | undefined;
  example: string | undefined;
} {
  try {
    read(...argv);
  } catch (error) {
    if (error instanceof DotbotError) {
      const { code, message, hint, example } = error;
      return { code, message, hint, example };
    }
    throw error;
  }
  throw new Error("it was understood");
}

describe("values come out exactly as typed", () => {
  const values = [
    "007",
    "1e3",
    "0x10",
    "",
    " ",
    "-",
    "-5",
    "--",
    "-x y",
    "--not-a-flag",
    "a=b",
    "=",
    "true",
    "é\n\t",
    "--message is prose",
  ];
  for (const value of values.filter((it) => it !== "--")) {
    test(JSON.stringify(value), () => {
      expect(read("--message", value)).toEqual([`message=${value}`]);
      expect(read("-m", value)).toEqual([`message=${value}`]);
    });
  }
  for (const value of [...values, "--json"]) {
    test(`glued: ${JSON.stringify(value)}`, () => {
      expect(read(`--message=${value}`)).toEqual([`message=${value}`]);
      if (value !== "") expect(read(`-m${value}`)).toEqual([`message=${value}`]);
      expect(read("--", value)).toEqual([`-- ${value}`]);
    });
  }
});

describe("words and flags", () => {
  const rows: readonly (readonly [argv: readonly string[], reading: readonly string[]])[] = [
    [[], []],
    [
      ["a", "b"],
      ["a", "b"],
    ],
    [["-"], ["-"]],
    [
      ["a", "--force", "b"],
      ["a", "force=true", "b"],
    ],
    [["-f"], ["force=true"]],
    [["--no-force"], ["force=false"]],
    [["--force=false"], ["force=false"]],
    [
      ["--force", "true"],
      ["force=true", "true"],
    ],
    [
      ["--option", "A=1", "--option=B=2"],
      ["option=A=1", "option=B=2"],
    ],
    [
      ["-C/tmp", "a"],
      ["dir=/tmp", "a"],
    ],
    [
      ["a", "--", "-f", "--", "b"],
      ["a", "-- -f", "-- --", "-- b"],
    ],
    [["--"], []],
  ];
  test.each(rows)("%j", (argv, reading) => {
    expect(read(...argv)).toEqual(reading);
  });

  test("positions keep the order typed, across flags", () => {
    const { values } = shield(["--option", "1", "-m", "2", "--option=3"], new Set(), FLAGS, "task ask");
    expect(values.map(({ flag, text, at, lead }) => [flag, text, at, lead])).toEqual([
      ["option", "1", 1, ""],
      ["message", "2", 3, ""],
      ["option", "3", 4, "--option="],
    ]);
  });

  test("words that named the command are left out", () => {
    expect(
      shield(["task", "-f", "add", "x"], new Set([0, 2]), FLAGS, "task add").values.map((value) => value.text),
    ).toEqual(["true", "x"]);
  });
});

describe("what can't be understood, and the call that can", () => {
  const rows: readonly (readonly [
    argv: readonly string[],
    code: string,
    message: string,
    hint: string | undefined,
    example: string | undefined,
  ])[] = [
    [
      ["--mesage", "x"],
      "UNKNOWN_FLAG",
      'unknown flag "--mesage" for "task add"',
      "did you mean --message?",
      "dotbot --message x",
    ],
    [
      ["--mesage=x y"],
      "UNKNOWN_FLAG",
      'unknown flag "--mesage" for "task add"',
      "did you mean --message?",
      "dotbot '--message=x y'",
    ],
    [
      ["--dependencies", "a"],
      "UNKNOWN_FLAG",
      'unknown flag "--dependencies" for "task add"',
      "did you mean --depends-on?",
      "dotbot --depends-on a",
    ],
    [
      ["--depends_on", "a"],
      "UNKNOWN_FLAG",
      'unknown flag "--depends_on" for "task add"',
      "did you mean --depends-on?",
      "dotbot --depends-on a",
    ],
    [
      ["--no-forse"],
      "UNKNOWN_FLAG",
      'unknown flag "--no-forse" for "task add"',
      "did you mean --no-force?",
      "dotbot --no-force",
    ],
    [
      ["--no-message"],
      "UNKNOWN_FLAG",
      'unknown flag "--no-message" for "task add"',
      "did you mean --message?",
      "dotbot --message",
    ],
    [
      ["--zzzzzzzz"],
      "UNKNOWN_FLAG",
      'unknown flag "--zzzzzzzz" for "task add"',
      "its flags are --message",
      "dotbot task add --help",
    ],
    [
      ["-5"],
      "UNKNOWN_FLAG",
      'unknown flag "-5" for "task add"',
      "words that begin with a dash go behind --",
      "dotbot -- -5",
    ],
    [["-fm"], "UNKNOWN_FLAG", 'unknown flag "-fm" for "task add"', "its flags are --message", "dotbot task add --help"],
    [
      ["--message"],
      "USAGE",
      "--message needs a value",
      "a value that looks like a flag is written --message=--value",
      undefined,
    ],
    [
      ["-m", "--json"],
      "USAGE",
      "-m needs a value",
      "a value that looks like a flag is written --message=--json",
      undefined,
    ],
    [
      ["-m", "--", "x"],
      "USAGE",
      "-m needs a value",
      "a value that looks like a flag is written --message=--value",
      undefined,
    ],
    [["--force=maybe"], "USAGE", '--force takes no value, so "maybe" means nothing to it', undefined, "dotbot --force"],
    [
      ["-m", "a", "x", "--message=b"],
      "USAGE",
      "--message is given twice, and takes one value",
      undefined,
      "dotbot -m a x",
    ],
  ];
  test.each(rows)("%j", (argv, code, message, hint, example) => {
    expect(refusal(...argv)).toEqual({ code, message, hint, example });
  });
});

describe("which words name the command", () => {
  const rows: readonly (readonly [argv: readonly string[], words: string])[] = [
    [["task", "add", "x"], "task add x"],
    [["--json", "task", "-C", "/x", "add", "--dir=/y", "a"], "task add a"],
    [["task", "--status", "todo"], "task"],
    [["--", "task"], ""],
    [["help", "guard", "branch", "create", "x"], "help guard branch create"],
  ];
  test.each(rows)("%j", (argv, words) => {
    expect(joined(leadingWords(argv, FLAGS))).toBe(words);
  });

  test("the longest name wins", () => {
    const known = new Set(["guard", "guard branch create"]);
    const match = (...argv: readonly string[]) => matchName(leadingWords(argv, FLAGS), (name) => known.has(name));
    expect(match("guard", "branch", "create", "x")).toBe(3);
    expect(match("guard", "branch")).toBe(1);
    expect(match("branch")).toBe(0);
  });
});

test("a flag is mentioned when it stands before --", () => {
  expect(mentions(["task", "--json"], "--json")).toBe(true);
  expect(mentions(["run", "--", "--json"], "--json")).toBe(false);
  expect(mentions(["--message=--json"], "--json")).toBe(false);
});

test("a call is shown as a shell reads it", () => {
  expect(commandLine(["task", "add", "it's", "", "a b", "--x=1"])).toBe(`dotbot task add 'it'\\''s' '' 'a b' --x=1`);
});
