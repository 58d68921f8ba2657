/** `guard scan` on real repositories: what is looked at, what is exempt, what can't be looked into, how it is told. */
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AnyOperation } from "../../lib/op.ts";
import { SCAN_OPERATIONS } from "../../lib/scan/ops.ts";
import { inProcess, type InProcess } from "../kit/call.ts";
import { run, write } from "../kit/git.ts";
import { githubToken } from "../kit/secrets.ts";

const op = ((): AnyOperation => {
  const [found] = SCAN_OPERATIONS;
  if (found === undefined) throw new Error("no operation");
  return found;
})();

const T = [1, 2, 3].map(githubToken);
const [A = "", B = "", C = ""] = T;

/** `file:line pattern` of each violation. */
async function found(world: InProcess, input: Readonly<Record<string, unknown>> = {}): Promise<string[]> {
  const { result } = await world.call(op, input);
  return violationsOf(result).map(({ file, line, patterns }) => `${file}:${line} ${patterns.join(",")}`);
}

interface Shown {
  readonly file: string;
  readonly line: number;
  readonly patterns: readonly string[];
  readonly found: readonly string[];
  readonly scope: string;
  readonly commit?: string;
}

function violationsOf(result: Readonly<Record<string, unknown>>): readonly Shown[] {
  return result["violations"] as readonly Shown[];
}

async function branch(world: InProcess, files: Readonly<Record<string, string>>, name = "feat"): Promise<void> {
  await run(world.repo, "switch", "-q", "-c", name);
  write(world.repo, files);
  await run(world.repo, "add", "-A");
  await run(world.repo, "commit", "-q", "-m", "work");
}

describe("what is looked at", () => {
  test("by default: lines that commits, index and files add to the base, and no others", async () => {
    await using world = await inProcess({ "old.txt": `there before: ${C}\n`, "a.txt": "1\n2\n3\n" });
    await branch(world, { "a.txt": `1\n2\n${A}\n3\n` });
    write(world.repo, { "b.txt": `${A}\n` });
    await run(world.repo, "add", "b.txt");
    write(world.repo, { "new.txt": `x\n\n${A}\n`, "a.txt": `1\n2\n${A}\n3\n${B}\n` });
    expect(await found(world)).toEqual([
      "a.txt:3 github-token",
      "b.txt:1 github-token",
      "a.txt:5 github-token",
      "new.txt:3 github-token",
    ]);
  });

  test("on the base branch: what isn't committed", async () => {
    await using world = await inProcess({ "old.txt": `${C}\n` });
    expect(await found(world)).toEqual([]);
    write(world.repo, { "old.txt": `${C}\n${A}\n` });
    expect(await found(world)).toEqual(["old.txt:2 github-token"]);
  });

  test("before the first commit: all there is", async () => {
    await using world = await inProcess({});
    write(world.repo, { "a.txt": `${A}\n`, "b.txt": `${B}\n` });
    await run(world.repo, "add", "a.txt");
    expect(await found(world)).toEqual(["a.txt:1 github-token", "b.txt:1 github-token"]);
  });

  test("what a branch added and took out again isn't in the change, but in the range of its commits", async () => {
    await using world = await inProcess();
    await branch(world, { "a.txt": `${A}\n` });
    const first = await run(world.repo, "rev-parse", "HEAD");
    write(world.repo, { "a.txt": "clean\n" });
    await run(world.repo, "commit", "-qam", "clean up");
    expect(await found(world)).toEqual([]);
    const { result } = await world.call(op, { range: "main..HEAD" });
    expect(violationsOf(result)).toMatchObject([{ file: "a.txt", line: 1, commit: first }]);
  });

  test("--staged reads the index, not the file", async () => {
    await using world = await inProcess({ "a.txt": "1\n" });
    write(world.repo, { "a.txt": `1\n${A}\n`, "b.txt": `${B}\n` });
    await run(world.repo, "add", "a.txt");
    write(world.repo, { "a.txt": "1\nclean\n" });
    expect(await found(world, { staged: true })).toEqual(["a.txt:2 github-token"]);
    await run(world.repo, "add", "a.txt");
    write(world.repo, { "a.txt": `1\n${A}\n` });
    expect(await found(world, { staged: true })).toEqual([]);
  });

  test("--all looks at every tracked file, and at where links point", async () => {
    await using world = await inProcess({ "old.txt": `x\n${C}\n`, "deep/er/b.txt": "clean\n" });
    symlinkSync("/home/ada/secrets/key", join(world.repo, "link"));
    await run(world.repo, "add", "link");
    write(world.repo, { "untracked.txt": `${A}\n` });
    expect(await found(world, { all: true })).toEqual(["link:1 home-path", "old.txt:2 github-token"]);
  });

  test("a renamed file's old lines aren't new", async () => {
    await using world = await inProcess({ "a.txt": `${A}\n${"line\n".repeat(30)}` });
    await run(world.repo, "switch", "-q", "-c", "feat");
    await run(world.repo, "mv", "a.txt", "b.txt");
    write(world.repo, { "b.txt": `${A}\n${"line\n".repeat(30)}${B}\n` });
    await run(world.repo, "commit", "-qam", "rename");
    expect(await found(world)).toEqual(["b.txt:32 github-token"]);
  });

  test("a merge of the base brings nothing of the base's into a branch's range; what the merge itself adds is", async () => {
    await using world = await inProcess({ "a.txt": "1\n2\n3\n" });
    await branch(world, { "a.txt": "one\n2\n3\n" });
    await run(world.repo, "switch", "-q", "main");
    write(world.repo, { "a.txt": "ONE\n2\n3\n", "theirs.txt": `${C}\n` });
    await run(world.repo, "add", "-A");
    await run(world.repo, "commit", "-qm", "theirs");
    await run(world.repo, "switch", "-q", "feat");
    await run(world.repo, "merge", "-q", "--no-commit", "-s", "ours", "main");
    write(world.repo, { "a.txt": `${A}\n2\n3\n`, "theirs.txt": `${C}\n` });
    await run(world.repo, "add", "-A");
    await run(world.repo, "commit", "-qm", "merge");
    expect(await found(world, { range: "main..HEAD" })).toEqual(["a.txt:1 github-token"]);
    expect(await found(world)).toEqual(["a.txt:1 github-token"]);
  });

  test("the queue's files aren't part of a change", async () => {
    await using world = await inProcess();
    write(world.repo, {
      ".bot/workspace/tasks/todo/x-12345678.json": `"${A}"\n`,
      ".bot/.control/x": `${A}\n`,
      ".bot/notes.md": `${B}\n`,
    });
    expect(await found(world)).toEqual([".bot/notes.md:1 github-token"]);
  });

  test("two ways of choosing at once are refused, and a range that is none, and a commit that isn't there", async () => {
    await using world = await inProcess();
    const code = async (input: Readonly<Record<string, unknown>>): Promise<unknown> =>
      await world.call(op, input).then(
        () => "no error",
        (error: { code?: unknown }) => error.code,
      );
    expect(await code({ staged: true, all: true })).toBe("USAGE");
    expect(await code({ range: "main" })).toBe("INVALID_INPUT");
    expect(await code({ range: "main...HEAD" })).toBe("INVALID_INPUT");
    expect(await code({ range: "--output=x..HEAD" })).toBe("INVALID_INPUT");
    expect(await code({ range: "nowhere..HEAD" })).toBe("NOT_FOUND");
    expect(await code({ base: "nowhere" })).toBe("NOT_FOUND");
  });

  test("the user's diff settings and the branch's own attributes change nothing", async () => {
    await using world = await inProcess({ "a.txt": "1\n\n2\n" });
    for (const [key, value] of Object.entries({
      "diff.noprefix": "true",
      "diff.mnemonicPrefix": "true",
      "diff.external": "false",
      "diff.suppressBlankEmpty": "true",
      "diff.context": "10",
      "color.ui": "always",
      "status.showUntrackedFiles": "no",
      "diff.renames": "copies",
      "core.quotepath": "true",
    })) {
      await run(world.repo, "config", key, value);
    }
    await branch(world, {
      "a.txt": `1\n\n${A}\n2\n`,
      ".gitattributes": "* -diff\n*.dat binary\n",
      "ü.dat": `x\n${B}\n`,
    });
    write(world.repo, { "new.txt": `${C}\n` });
    expect((await found(world)).sort()).toEqual([
      "a.txt:3 github-token",
      "new.txt:1 github-token",
      "ü.dat:2 github-token",
    ]);
  });
});

describe("one violation for each line", () => {
  test("with all the patterns, redacted", async () => {
    await using world = await inProcess();
    write(world.repo, { "a.sh": `cd /home/ada/x; export GH_TOKEN=${A}; cd /home/ada/y\n` });
    const { result, status } = await world.call(op);
    expect(status).toBe(1);
    expect(violationsOf(result)).toEqual([
      {
        file: "a.sh",
        line: 1,
        patterns: ["home-path", "github-token"],
        found: ["/ho… (10 characters)", "ghp_… (40 characters)"],
        scope: "project",
      },
    ]);
    expect(JSON.stringify(result)).not.toContain(A.slice(5));
    expect(await world.text(op)).toBe(
      "a.sh:1  home-path /ho… (10 characters), github-token ghp_… (40 characters)\n" +
        "1 violation (1 file looked at)\n" +
        "Take it out, and revoke what was ever shared. What is no secret: `dotbot:allow <pattern> -- why` in the line before.\n",
    );
  });

  test("framework files warn and aren't in the way", async () => {
    await using world = await inProcess();
    write(world.repo, { ".bot/core/x.ps1": `${A}\n` });
    const { result, status } = await world.call(op);
    expect({ status, ok: result["ok"], counts: result["counts"] }).toEqual({
      status: 0,
      ok: true,
      counts: { project: 0, framework: 1 },
    });
    write(world.repo, { "mine.txt": `${B}\n` });
    expect((await world.call(op)).result).toMatchObject({ ok: false, counts: { project: 1, framework: 1 } });
  });
});

describe("exemptions", () => {
  test("in the line or the line before, for the patterns named, with a reason", async () => {
    await using world = await inProcess();
    write(world.repo, {
      "a.txt": [
        `// dotbot:allow github-token -- made up`, // 1
        A, // 2
        `${B} // dotbot:allow * -- made up`, // 3
        `// dotbot:allow jwt -- the wrong one`, // 4
        C, // 5
        `// dotbot:allow github-token`, // 6
        A, // 7
        "",
      ].join("\n"),
    });
    const { result } = await world.call(op);
    expect(violationsOf(result).map(({ line }) => line)).toEqual([5, 7]);
    expect(result["exemptions"]).toMatchObject({
      used: 2,
      added: [{ line: 1, reason: "made up" }, { line: 3 }, { line: 4, patterns: ["jwt"] }],
      unreasoned: [{ file: "a.txt", line: 6, reason: null }],
    });
  });

  test("an exemption that stood there before counts for a new line behind it, and isn't listed as added", async () => {
    await using world = await inProcess({ "a.txt": "// dotbot:allow github-token -- made up\nold\n" });
    write(world.repo, { "a.txt": `// dotbot:allow github-token -- made up\n${A}\nold\n` });
    const { result } = await world.call(op);
    expect(result).toMatchObject({ ok: true, violations: [], exemptions: { used: 1, added: [] } });
  });

  test("globs of the settings, anchored at the root", async () => {
    await using world = await inProcess();
    write(world.repo, {
      ".bot/settings.json": '{"scan":{"allow":["fixtures/** -- made up"]}}',
      "fixtures/a.txt": A,
      "src/fixtures/a.txt": B,
    });
    expect(await found(world)).toEqual(["src/fixtures/a.txt:1 github-token"]);
  });

  test("the baseline holds what was accepted, and no other secret in its place", async () => {
    await using world = await inProcess({ "a.txt": `${A}\n`, "b.txt": `${B}\n` });
    const accepted = await world.call(op, { all: true, accept: "made up" });
    expect(accepted.result).toMatchObject({ ok: true, accepted: 2 });
    const text = await Bun.file(join(world.repo, ".bot/scan-baseline.json")).text();
    expect(text).not.toContain(A.slice(0, 8));
    expect((await world.call(op, { all: true })).result).toMatchObject({
      ok: true,
      violations: [],
      exemptions: { used: 2 },
    });
    write(world.repo, { "a.txt": `x\ny\n${A}\n`, "b.txt": `${C}\n` });
    expect(await found(world, { all: true })).toEqual(["b.txt:1 github-token"]);
    expect((await world.call(op, { all: true, accept: " " }).catch((error: unknown) => error)) as object).toMatchObject(
      { code: "INVALID_INPUT" },
    );
  });

  test("a branch's own additions to the baseline don't count for its change, and are listed", async () => {
    await using world = await inProcess();
    await branch(world, { "a.txt": `${A}\n` });
    await world.call(op, { accept: "trust me" });
    await run(world.repo, "add", "-A");
    await run(world.repo, "commit", "-qm", "baseline");
    const { result } = await world.call(op);
    expect(violationsOf(result).map(({ file }) => file)).toEqual(["a.txt"]);
    expect(result["exemptions"]).toMatchObject({ added: [{ file: ".bot/scan-baseline.json", line: null }] });
  });

  test("an entry of the baseline without a reason exempts nothing and is reported; one that can't be read is an error", async () => {
    await using world = await inProcess({ "a.txt": `${A}\n` });
    await world.call(op, { all: true, accept: "made up" });
    const path = join(world.repo, ".bot/scan-baseline.json");
    writeFileSync(path, (await Bun.file(path).text()).replace("made up", ""));
    expect((await world.call(op, { all: true })).result).toMatchObject({
      ok: false,
      exemptions: { unreasoned: [{ file: "a.txt", line: null }] },
    });
    writeFileSync(path, "{");
    expect((await world.call(op, { all: true }).catch((error: unknown) => error)) as object).toMatchObject({
      code: "INVALID_INPUT",
    });
  });
});

describe("what can't be looked into is named", () => {
  test("binary, large, unreadable and vanished files", async () => {
    await using world = await inProcess({ "gone.txt": "x\n" });
    write(world.repo, {
      ".bot/settings.json": '{"scan":{"max_file_bytes":2000}}',
      "bin.dat": `\0\0${A}`,
      "big.txt": `${"x\n".repeat(2000)}${A}\n`,
      "locked.txt": `${A}\n`,
      "fine.txt": `${A}\n`,
    });
    await run(world.repo, "add", "-A");
    unlinkSync(join(world.repo, "gone.txt"));
    chmodSync(join(world.repo, "locked.txt"), 0);
    const root = process.geteuid?.() === 0;
    const { result } = await world.call(op, { all: true });
    const skipped = [
      { file: "big.txt", reason: "too-large" },
      { file: "bin.dat", reason: "binary" },
      { file: "gone.txt", reason: "vanished" },
      ...(root ? [] : [{ file: "locked.txt", reason: "unreadable" }]),
    ];
    expect(result["skipped"]).toEqual(skipped);
    expect(violationsOf(result).map(({ file }) => file)).toEqual(["fine.txt", ...(root ? ["locked.txt"] : [])]);
    const staged = await world.call(op, { staged: true });
    expect(staged.result["skipped"]).toEqual(
      skipped.filter(({ reason }) => reason === "binary" || reason === "too-large"),
    );
    expect(await world.text(op, { all: true })).toContain("big.txt  not looked at: too-large\n");
  });

  test("a large or binary file in a range of commits", async () => {
    await using world = await inProcess();
    write(world.repo, { ".bot/settings.json": '{"scan":{"max_file_bytes":2000}}' });
    await branch(world, { "big.txt": `${"x\n".repeat(2000)}${A}\n`, "bin.dat": `\0${A}`, "ok.txt": `${B}\n` });
    const { result } = await world.call(op, { range: "main..HEAD" });
    expect(result).toMatchObject({
      violations: [{ file: "ok.txt" }],
      skipped: [
        { file: "big.txt", reason: "too-large" },
        { file: "bin.dat", reason: "binary" },
      ],
    });
  });

  test("UTF-16 is text", async () => {
    await using world = await inProcess();
    writeFileSync(join(world.repo, "a.ps1"), Buffer.from(`\uFEFFx\n${A}\n`, "utf16le"));
    await run(world.repo, "add", "a.ps1");
    expect(await found(world)).toEqual(["a.ps1:2 github-token"]);
    expect(await found(world, { all: true })).toEqual(["a.ps1:2 github-token"]);
  });
});

describe("names and bytes that aren't plain", () => {
  const names = [
    "with blank.txt",
    "new\nline.txt",
    'quo"te\\.txt',
    "tab\t.txt",
    "-dash.txt",
    ":magic.txt",
    "*.txt",
    "ünï.txt",
    "a and b",
    "+++ b/x",
  ];
  for (const name of names) {
    test(JSON.stringify(name), async () => {
      await using world = await inProcess();
      await branch(world, { [name]: `x\n${A}\n` });
      write(world.repo, { [name]: `x\n${A}\ny\n${B}\n`, [`${name}.new`]: `${C}\n` });
      const expected = [`${name}:2 github-token`, `${name}:4 github-token`, `${name}.new:1 github-token`];
      expect(await found(world)).toEqual(expected);
      expect(await found(world, { range: "main..HEAD" })).toEqual(expected.slice(0, 1));
      expect((await world.text(op)).split("\n").length).toBe(6);
    });
  }

  test("a name and content that aren't UTF-8", async () => {
    await using world = await inProcess();
    const name = Buffer.concat([Buffer.from(`${world.repo}/x`), Buffer.from([0xff]), Buffer.from(".txt")]);
    writeFileSync(name, Buffer.concat([Buffer.from([0x80, 0xff, 10]), Buffer.from(A)]));
    expect(await found(world)).toEqual(["x\uFFFD.txt:2 github-token"]);
    await run(world.repo, "add", "-A");
    expect(await found(world, { staged: true })).toEqual(["x\uFFFD.txt:2 github-token"]);
    expect(await found(world, { all: true })).toEqual(["x\uFFFD.txt:2 github-token"]);
  });

  test("lines that look like a patch", async () => {
    await using world = await inProcess({ "a.txt": "1\n-- x\n++ y\n" });
    write(world.repo, { "a.txt": `1\n++ b/other.txt\n@@ -1 +1 @@\ndiff --git a/x b/x\n${A}\n` });
    expect(await found(world)).toEqual(["a.txt:5 github-token"]);
  });
});

describe("patterns of the settings", () => {
  const settings = (pattern: string): Readonly<Record<string, string>> => ({
    ".bot/settings.json": JSON.stringify({ scan: { patterns: [{ name: "employee-id", pattern }] } }),
  });

  test("are found beside the built-in ones, and exempt by their name", async () => {
    await using world = await inProcess();
    write(world.repo, {
      ...settings(String.raw`EMP-\d{6}`),
      "a.txt": `EMP-123456 ${A}\nEMP-1\n// dotbot:allow employee-id -- nobody\nEMP-654321\n`,
    });
    const { result } = await world.call(op);
    expect(violationsOf(result)).toMatchObject([
      {
        file: "a.txt",
        line: 1,
        patterns: ["employee-id", "github-token"],
        found: ["EMP… (10 characters)", "ghp_… (40 characters)"],
      },
    ]);
  });

  const bad: readonly (readonly [string, RegExp])[] = [
    ["(", /isn't a regular expression/],
    ["(?=x)y", /looks around/],
    [String.raw`(a)\1`, /refers back/],
    ["(a{999}){999}", /too big/],
  ];
  for (const [pattern, why] of bad) {
    test(`${pattern} is refused by name`, async () => {
      await using world = await inProcess();
      write(world.repo, settings(pattern));
      const error = await world.call(op).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: "INVALID_SETTINGS" });
      expect(String(error)).toMatch(why);
    });
  }

  test("one that would run for ever ends", async () => {
    await using world = await inProcess();
    write(world.repo, { ...settings("^(a+)+$"), "a.txt": `${"a".repeat(50_000)}!\n` });
    expect(await found(world)).toEqual([]);
  });
});

describe("SARIF", () => {
  test("has a rule for each result, and paths as references", async () => {
    await using world = await inProcess();
    mkdirSync(join(world.repo, "a b"));
    write(world.repo, { "a b/ü.txt": `x\n${A} /home/ada/x\n`, ".bot/core/f.txt": `${B}\n`, bin: "\0" });
    const { result } = await world.call(op, { sarif: true });
    expect(result["sarif"]).toMatchObject({
      version: "2.1.0",
      runs: [
        {
          tool: { driver: { name: "dotbot" } },
          invocations: [
            {
              executionSuccessful: true,
              toolExecutionNotifications: [{ level: "note", message: { text: "not scanned (binary): bin" } }],
            },
          ],
          results: [
            {
              ruleId: "github-token",
              level: "warning",
              locations: [{ physicalLocation: { artifactLocation: { uri: ".bot/core/f.txt" } } }],
            },
            {
              ruleId: "github-token",
              level: "error",
              locations: [
                { physicalLocation: { artifactLocation: { uri: "a%20b/%C3%BC.txt" }, region: { startLine: 2 } } },
              ],
            },
            { ruleId: "home-path" },
          ],
        },
      ],
    });
    const text = await world.text(op, { sarif: true });
    const log: unknown = JSON.parse(text);
    expect(log).toEqual(result["sarif"]);
    const rules = JSON.stringify(log).matchAll(/"ruleId":"([^"]+)"/g);
    for (const [, rule] of rules) expect(text).toContain(`"id": "${rule}"`);
  });
});
