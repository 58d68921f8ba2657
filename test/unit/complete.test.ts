import { describe, expect, test } from "bun:test";

import { placeAt } from "../../cmd/complete.ts";
import { readLine, readRequest, type Shell } from "../../cmd/complete-shell.ts";
import { installation, withLine } from "../../cmd/install.ts";
import { readSketch } from "../../cmd/sketch-text.ts";
import { sketchOfDotbot } from "../../cmd/the-sketch.ts";
import { senseOf } from "../../lib/task/legal.ts";

const sketch = readSketch(await sketchOfDotbot());

/** What may stand at the end of a line whose words are split at blanks. */
function at(line: string) {
  const words = line.split(" ");
  return placeAt({ before: words.slice(0, -1), word: words.at(-1) ?? "" }, sketch);
}

function offered(line: string): readonly string[] {
  const place = at(line);
  return place.candidates.map(({ value }) => value).filter((value) => value.startsWith(place.begun));
}

describe("candidates that are known", () => {
  test.each<[line: string, some: readonly string[], none?: readonly string[]]>([
    ["", ["task", "wt", "guard", "completion", "help", "version"], ["__complete"]],
    ["help ", ["task", "version"], ["help"]],
    ["task ", ["start", "next"], ["task start"]],
    ["help task ", ["start", "next"]],
    ["--js", ["--json"]],
    ["task start --", ["--next", "--owner", "--json"], ["--no-next"]],
    ["task start --no-n", ["--no-next"]],
    ["task start --next --n", ["--no-color"], ["--next"]],
    ["task next --status ", ["analysed", "todo"], ["--owner"]],
    ["task next --status=", ["analysed", "todo"]],
    ["task next --next=", []],
    ["config get queue.", ["queue.branch", "queue.tracked"]],
    ["config get queue.branch ", [], ["queue.branch"]],
    ["config schema --d", [], ["--dir"]],
    ["completion ", ["bash", "zsh", "fish", "powershell", "--install"]],
    ["completion bash --i", ["--install"]],
    ["completion bash --", ["--install", "--help"], ["--json", "--dir", "--yes", "--quiet"]],
    ["completion bash -", ["--install", "--help"], ["--json", "--dir"]],
    ["shell-init ", ["bash", "zsh"], ["--install"]],
    ["shell-init bash --", ["--help"], ["--json", "--install", "--quiet"]],
    ["mcp --", ["--root", "--read-only", "--lock-wait", "--quiet", "--help"], ["--json", "--yes", "--no-color"]],
    ["-", ["--json", "--dir"]],
    ["task list -", ["--status", "--json"], ["-todo"]],
    ["task start -", ["--next", "--owner"]],
    ["no-such-noun ", []],
    ["task no-such-verb ", []],
    ["task no-such-verb --js", ["--json"]],
    ["task start -- --", [], ["--next"]],
  ])("%s…", (line, some, none = []) => {
    const found = offered(line);
    expect(found).toEqual(expect.arrayContaining([...some]));
    for (const value of none) expect(found).not.toContain(value);
    if (some.length === 0 && none.length === 0) expect(found).toEqual([]);
  });
});

test("verbs of two words are one candidate, which says what there is", () => {
  const said = new Map(at("wt ").candidates.map(({ value, description }) => [value, description]));
  expect(said.get("hook")).toBe("create, remove");
  for (const [verb, description] of said) expect(`${verb}: ${description}`).not.toBe(`${verb}: `);
});

describe("what has to be looked up", () => {
  test.each<[line: string, place: Record<string, unknown>]>([
    ["task start ", { lookup: { what: "task", verb: "task start" }, lead: "", begun: "" }],
    ["task start a b", { lookup: { what: "task", verb: "task start" }, taken: new Set(["a"]), begun: "b" }],
    ["task start --owner ada a", { lookup: { what: "task", verb: "task start" }, begun: "a" }],
    ["-C ", { lookup: { what: "directory", verb: null } }],
    ["--dir=x", { lookup: { what: "directory", verb: null }, lead: "--dir=", begun: "x" }],
    ["-Cx", { lookup: { what: "directory", verb: null }, lead: "-C", begun: "x" }],
    ["-C sub task start ", { lookup: { what: "task", verb: "task start" }, dir: "sub" }],
    ["task start --dir=sub ", { dir: "sub" }],
    ["task analysed x --analysis ", { lookup: { what: "path", verb: null } }],
    ["task start --owner ", { lookup: null, candidates: [] }],
  ])("%s…", (line, place) => {
    expect(at(line)).toMatchObject(place);
  });
});

const BREAKS = " \t\n\"'@><=;|&(:";

describe("the protocol", () => {
  test.each<[line: string, words: readonly string[], word: string, quote?: string]>([
    ["", [], ""],
    ["a b", ["a"], "b"],
    ["a b ", ["a", "b"], ""],
    ["a 'b c' d\\ e", ["a", "b c"], "d e"],
    ["a '' ", ["a", ""], ""],
    [`a "b \\" \\n`, ["a"], 'b " \\n', '"'],
    ["a 'b c", ["a"], "b c", "'"],
    ["a b'c d'e", ["a"], "bc de"],
    ["a b\\", ["a"], "b"],
  ])("reads the line %j", (line, words, word, quote = "") => {
    expect(readLine(line)).toMatchObject({ words, word: { text: word, quote } });
  });

  test.each<[shell: Shell, args: readonly string[], before: readonly string[], word: string]>([
    ["zsh", ["task", "st"], ["task"], "st"],
    ["zsh", [""], [], ""],
    ["fish", ["task", "'Add a"], ["task"], "Add a"],
    ["powershell", ["task", "="], ["task"], ""],
    ["powershell", ["task", "==x"], ["task"], "=x"],
    ["bash", ["80", "9", BREAKS, "dotbot task 'a b"], ["task"], "a b"],
  ])("%s sends %j", (shell, args, before, word) => {
    expect(readRequest(shell, args).asked).toEqual({ before, word });
  });

  const place = { lead: "", begun: "", candidates: [], lookup: null, taken: new Set<string>(), dir: null };

  test.each<[shell: Shell, value: string, line: string]>([
    ["zsh", "a:b\\c", "a\\:b\\\\c:what it is"],
    ["fish", "a b", "a b\twhat it is"],
    ["powershell", "it's", "'it''s'\twhat it is"],
    ["powershell", "--flag", "--flag\twhat it is"],
    ["bash", "it's a $b", "it\\'s\\ a\\ \\$b"],
    ["bash", "Größe", "Größe"],
  ])("%s gets %j as %j", (shell, value, line) => {
    const args = shell === "bash" ? ["80", "9", BREAKS, "dotbot "] : [""];
    expect(readRequest(shell, args).answer(place, [{ value, description: "what\u001B it is" }])).toBe(
      `words\n${line}\n`,
    );
  });

  test.each<[typed: string, lead: string, value: string, inserted: string]>([
    ["--status=to", "--status=", "todo", "todo"],
    ["-mto", "-m", "todo", "-mtodo"],
    ["'Add a", "", "Add a page", "Add a page"],
    ["'it'\\''s ", "", "it's so", "s so"],
    ['"say \\"', "", 'say "$x"', 'say \\"\\$x\\""'],
    ["a\\:b", "", "a:bc", "a:bc"],
    ["a:b", "", "a:bc", "bc"],
    ["fix@", "", "fix@2", "@2"],
    ["a:fix@2", "", "a:fix@2b", "@2b"],
    ["'Ada", "", "Ada's'", "Ada'\\''s'\\'''"],
    ["--name='Ad", "--name=", "Add a", "Add a"],
  ])("bash has typed %s", (typed, lead, value, inserted) => {
    const { answer } = readRequest("bash", ["80", "9", BREAKS, `dotbot ${typed}`]);
    expect(answer({ ...place, lead }, [{ value, description: "" }])).toBe(`words\n${inserted}\n`);
  });

  test("bash lists several with descriptions, in one column and within the screen; not where Tab inserts them", () => {
    const candidates = [
      { value: "add", description: "Add a task to the queue, with a long explanation" },
      { value: "add-bulk", description: "Many" },
    ];
    const answer = (type: string): string =>
      readRequest("bash", ["40", type, BREAKS, "dotbot "]).answer(place, candidates);
    expect(answer("9")).toBe("words\nadd       (Add a task to the queue, …)\nadd-bulk  (Many)\n");
    expect(answer("37")).toBe("words\nadd\nadd-bulk\n");
  });

  test("paths are the shell's to find", () => {
    const files = { ...place, lead: "--file=", begun: "pa", lookup: { what: "path", verb: null } } as const;
    expect(readRequest("zsh", ["--file=pa"]).answer(files, [])).toBe("files\t--file=\tpa\n");
    expect(readRequest("bash", ["80", "9", BREAKS, "dotbot --file=pa"]).answer(files, [])).toBe("files\t\tpa\n");
  });
});

test.each<[verb: string, sense: Record<string, unknown>]>([
  ["task start", { statuses: ["todo", "analysing", "analysed", "needs-review"] }],
  ["task review", { statuses: ["in-progress"] }],
  ["task answer", { statuses: ["needs-input"], only: "asks" }],
  ["task split", { statuses: ["needs-input"], only: "proposes-split" }],
  ["task resolve", { only: "in-conflict" }],
  ["task release", { only: "claimed" }],
  ["wt create", { only: "without-worktree" }],
  ["wt complete", { only: "with-worktree" }],
])("%s makes sense for", (verb, sense) => {
  expect(senseOf(verb)).toMatchObject(sense);
});

describe("installing", () => {
  const env = { HOME: "/home/ada" };
  test.each<[shell: Shell, env: Record<string, string>, file: string, startup: string | null]>([
    ["bash", env, "/home/ada/.local/share/bash-completion/completions/dotbot", "/home/ada/.bashrc"],
    ["bash", { ...env, BASH_COMPLETION_USER_DIR: "/b" }, "/b/completions/dotbot", "/home/ada/.bashrc"],
    ["zsh", env, "/home/ada/.local/share/zsh/site-functions/_dotbot", "/home/ada/.zshrc"],
    ["zsh", { ...env, ZDOTDIR: "/z", XDG_DATA_HOME: "/d" }, "/d/zsh/site-functions/_dotbot", "/z/.zshrc"],
    ["fish", { ...env, XDG_CONFIG_HOME: "/c" }, "/c/fish/completions/dotbot.fish", null],
    [
      "powershell",
      env,
      "/home/ada/.config/powershell/dotbot-completion.ps1",
      "/home/ada/.config/powershell/Microsoft.PowerShell_profile.ps1",
    ],
  ])("%s with %j", (shell, given, file, startup) => {
    const found = installation(shell, given);
    expect(found.file).toBe(file);
    expect(found.startup?.file ?? null).toBe(startup);
  });

  test("nowhere without a home", () => {
    expect(() => installation("zsh", {})).toThrow("HOME isn't set");
  });

  test.each([
    ["", ". x # dotbot\n"],
    ["a", "a\n. x # dotbot\n"],
    ["a\n. x # dotbot\nb\n", "a\n. x # dotbot\nb\n"],
    ["a\n. /old/place # dotbot\nb\n", "a\n. x # dotbot\nb\n"],
  ])("the line in a start-up file %j", (before, after) => {
    expect(withLine(before, ". x # dotbot")).toBe(after);
  });
});
