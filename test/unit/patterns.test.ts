/** What the scan finds and what it leaves alone. */
import { describe, expect, test } from "bun:test";

import { Engine } from "../../lib/scan/engine.ts";
import { allowIn, allowedGlob, redact } from "../../lib/scan/exemptions.ts";
import { Linear, Refused } from "../../lib/scan/linear.ts";
import { PATTERNS } from "../../lib/scan/patterns.ts";
import { MAKERS, Source } from "../kit/secrets.ts";

const engine = new Engine(PATTERNS);
const find = (line: string, file = "src/x.ts"): string[] =>
  engine.scan(new TextEncoder().encode(`before\n${line}\nafter\n`), file).map(({ pattern }) => pattern);

describe("made-up secrets in published formats are found", () => {
  test("every pattern has samples", () => {
    expect(Object.keys(MAKERS).sort()).toEqual(PATTERNS.map(({ name }) => name).sort());
  });

  for (const [name, make] of Object.entries(MAKERS)) {
    test(`${name}: at least 98 of 100`, () => {
      const from = new Source(name.length * 7919);
      const missed = Array.from({ length: 400 }, () => make(from)).filter(
        ({ line, file }) => !find(line, file).includes(name),
      );
      expect({ missed: missed.slice(0, 3), rate: missed.length / 400 <= 0.02 }).toMatchObject({ rate: true });
    });
  }
});

describe("what only looks like one isn't found", () => {
  const lines: readonly (readonly [line: string, file?: string])[] = [
    ["if (text.startsWith('-----BEGIN PRIVATE KEY-----')) return;"],
    ["-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE"],
    ["-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG"],
    ["AKIAIOSFODNN7EXAMPLE"],
    ["const password = process.env.DB_PASSWORD;"],
    ["password: 'correct horse battery staple'"],
    ["password = getPassword();", "setup.cfg"],
    ["DB_PASSWORD=${SECRET}", ".env"],
    ["DB_PASSWORD=changeme", ".env"],
    ["API_KEY=<your-api-key>", ".env.example"],
    ["token = 'invalid-token-format'"],
    ["const tokenType = 'EndOfFileToken';"],
    ["secret: 'kubernetes.io/service-account-token'"],
    ["postgres://user:password@localhost/db"],
    ["https://user:${token}@github.com/o/r"],
    ["https://example.com:8080/path@2x.png"],
    ["http://localhost:3000/a:b@c"],
    ["/home/user/project and /Users/username/project and /home/runner/work/x"],
    ["https://example.com/home/ada/x"],
    ["~/home/ada/x, ./home/ada/x, ${root}/home/ada/x"],
    ["C:\\Users\\Public\\Documents"],
    ["a task-1234567890123456789012345678901234567890123456789 b"],
    ["the bearer token is missing"],
    ["Authorization: Bearer <token>"],
    ["Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE"],
    ["integrity sha512-Kn9mYN0RTBuLyDyEJ7IUsXHnMzVkRQvqcD5EqN4RmfZVlTzS9r4Rk5qg0GzgS5BPjQvS0O5G4QbGDFcVYVb2xg=="],
    ["eyJhbGciOiJIUzI1NiJ9"],
    ["sk-learn, sk-SK, disk-usage"],
    ["xoxb-your-token-here"],
    ["  token?: string | undefined;"],
    ["export type Password = 'hidden' | 'shown';"],
    ["password=true;database=1"],
  ];
  for (const [line, file] of lines) {
    test(JSON.stringify(line.slice(0, 70)), () => expect(find(line, file)).toEqual([]));
  }
});

describe("the engine", () => {
  test("finds a secret at the very beginning and the very end", () => {
    const secret = MAKERS["linear-key"]?.(new Source(1)).line ?? "";
    expect(
      engine.scan(new TextEncoder().encode(secret), "x").map(({ start, secret: found }) => ({ start, found })),
    ).toEqual([{ start: 0, found: secret }]);
  });

  test("finds it in a line of two million characters", () => {
    const secret = MAKERS["linear-key"]?.(new Source(1)).line ?? "";
    const text = `${"x = 1; ".repeat(150_000)}${secret};${"y = 2; ".repeat(150_000)}`;
    expect(engine.scan(new TextEncoder().encode(text), "x")).toMatchObject([
      { pattern: "linear-key", start: 1_050_000 },
    ]);
  });

  test("is at home in text that isn't UTF-8", () => {
    const secret = MAKERS["linear-key"]?.(new Source(1)).line ?? "";
    const bytes = Buffer.concat([
      Buffer.from([0xff, 0xfe, 0x80, 0x20]),
      Buffer.from(secret),
      Buffer.from([0x20, 0xc3]),
    ]);
    expect(engine.scan(bytes, "x")).toMatchObject([{ pattern: "linear-key", start: 4 }]);
  });

  test("reads a user's name beyond ASCII", () => {
    expect(engine.scan(new TextEncoder().encode("/home/jürgen/x"), "x")).toMatchObject([{ secret: "/home/jürgen/" }]);
  });
});

describe("redaction shows at most four characters, and of a short value a third", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["ghp_abcdefghijklmnop", "ghp_… (20 characters)"],
    ["secret12", "se… (8 characters)"],
    ["ab", "… (2 characters)"],
    ["\u0007ell-is-rung-now", "·ell… (16 characters)"],
    ["😀😀😀😀😀😀😀😀😀😀😀😀x", "😀😀😀😀… (13 characters)"],
  ];
  for (const [secret, shown] of rows) test(JSON.stringify(secret), () => expect(redact(secret)).toBe(shown));
});

describe("exemptions in a line", () => {
  const rows: readonly (readonly [string, ReturnType<typeof allowIn>])[] = [
    ["// dotbot:allow home-path -- a made-up user", { patterns: ["home-path"], reason: "a made-up user" }],
    ["# dotbot:allow jwt,bearer-token -- expired", { patterns: ["jwt", "bearer-token"], reason: "expired" }],
    ["<!-- dotbot:allow * -- docs -->", { patterns: ["*"], reason: "docs" }],
    ["/* dotbot:allow jwt -- test key */", { patterns: ["jwt"], reason: "test key" }],
    ["// dotbot:allow jwt", { patterns: ["jwt"], reason: null }],
    ["// dotbot:allow jwt --", { patterns: ["jwt"], reason: null }],
    ["<!-- dotbot:allow jwt -->", { patterns: ["jwt"], reason: null }],
    ["// dotbot:allow", null],
    ["nothing", null],
  ];
  for (const [line, expected] of rows) test(line, () => expect(allowIn(line)).toEqual(expected));

  test("globs of the settings may give a reason", () => {
    expect([allowedGlob("/test/** -- made up"), allowedGlob("docs/*.md")]).toEqual([
      { glob: "test/**", reason: "made up" },
      { glob: "docs/*.md", reason: null },
    ]);
  });
});

describe("expressions of the settings", () => {
  const rows: readonly (readonly [pattern: string, line: string, found: string | null])[] = [
    [String.raw`EMP-\d{6}`, "of EMP-123456 and more", "EMP-123456"],
    [String.raw`\bfoo\b`, "a foo.", "foo"],
    [String.raw`\bfoo\b`, "afoo foox", null],
    ["^ab|cd$", "xxcd", "cd"],
    ["(?:x|yy)+z", "qyyxz", "yyxz"],
    ["é{2,3}", "caféé", "éé"],
    ["a.c", "a😀c", "a😀c"],
    [String.raw`[^\s"]{3,5}x`, '  "abcdx"', "abcdx"],
    [String.raw`[\]\-a-c]+z`, "]-az", "]-az"],
    [String.raw`\u{1F600}|\x41\u0042`, "xAB", "AB"],
  ];
  for (const [pattern, line, found] of rows) {
    test(`${pattern} in ${line}`, () => {
      expect(new Linear(pattern).find(line)).toBe(found);
      expect(new RegExp(pattern, "u").test(line)).toBe(found !== null);
    });
  }

  const endless: readonly string[] = ["^(a+)+$", "(a|a)*b", "(.*)*x", "(a*)*b", "([a-z]+)*!", "a*a*a*a*a*a*b"];
  for (const pattern of endless) {
    test(`${pattern} ends, on a text on which backtracking doesn't`, () => {
      expect(new Linear(pattern).find(`${"a".repeat(20_000)}?`)).toBe(null);
    });
  }

  const refused: readonly (readonly [string, RegExp])[] = [
    ["a(?=b)", /looks around/],
    ["(?<!a)b", /looks around/],
    [String.raw`(a)\1`, /refers back/],
    [String.raw`(?<n>a)\k<n>`, /refers back/],
    [String.raw`\p{L}+`, /name the characters/],
    ["(a{1000}){1000}", /too big/],
    ["a{100000}", /more than 1000/],
    ["a*", /every line/],
    ["^|b", /every line/],
  ];
  for (const [pattern, why] of refused) {
    test(`${pattern} is refused`, () => {
      expect(() => new Linear(pattern)).toThrow(Refused);
      expect(() => new Linear(pattern)).toThrow(why);
    });
  }
});
