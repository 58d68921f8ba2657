/** Settings: which layer wins, what is wrong with a layer and where, and values as text. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as v from "valibot";
import { describe, expect, test } from "bun:test";

import { jsonSchema } from "../../lib/jsonschema.ts";
import {
  findingText,
  loadSettings,
  machineSettingsPath,
  milliseconds,
  settingsSchema,
  settingsTable,
  settingsWithOrigin,
  settingValue,
  sharedSettingsPath,
  tryLoadSettings,
  type Settings,
} from "../../lib/settings.ts";
import { dotbot3Layer, environmentLayer, faultOf, fileLayer, placeText } from "../../lib/settings/layers.ts";
import { exampleOf, settingsWith, textFromValue, valueFromText } from "../../lib/settings/table.ts";
import { tempDir } from "../kit/git.ts";

const table = settingsTable();
const setting = (key: string) => {
  const found = table.get(key);
  if (found === undefined) throw new Error(`no setting ${key}`);
  return found;
};

describe("the table", () => {
  test.each([...table.keys()].map((key) => [key]))(
    "%s has a description, a default, an example and a variable",
    (key) => {
      const { field, env, schema } = setting(key);
      expect(field.description).toMatch(/\.$/);
      expect(field.required).toBe(false);
      expect(field.default).not.toBeUndefined();
      expect(env).toBe(`DOTBOT_${key.replace(".", "_").toUpperCase()}`);
      expect(v.is(schema, exampleOf(setting(key)))).toBe(true);
      expect(valueFromText(setting(key), textFromValue(exampleOf(setting(key))))).toEqual(exampleOf(setting(key)));
    },
  );

  test("no two keys share a variable", () => {
    const names = [...table.values()].map(({ env }) => env);
    expect(new Set(names).size).toBe(names.length);
  });

  test("the defaults put together are what the schema makes of nothing", () => {
    expect(settingsWith([])).toEqual(v.parse(settingsSchema(), {}));
  });

  test("every length of time is one", () => {
    const times = [...table.values()].filter(({ key }) => /timeout|ttl|wait/.test(key));
    expect(times.map(({ field }) => milliseconds(String(field.default)))).toEqual([
      600_000, 7_200_000, 10_000, 30_000, 300_000, 1_800_000,
    ]);
  });

  test("it is a JSON Schema, closed, with every key", () => {
    const schema = jsonSchema(settingsSchema());
    expect(schema).toMatchObject({ type: "object", additionalProperties: false, required: [] });
    expect(schema["properties"]).toMatchObject({
      git: { properties: { base_branch: { anyOf: [{ type: "string" }, { type: "null" }], default: null } } },
      worktree: { properties: { include_mode: { enum: ["copy", "link"], default: "copy" } } },
    });
  });
});

/** Text of a value, and what it is read as. Text that can't be the type stays text. */
const TEXTS: readonly (readonly [key: string, text: string, value: unknown])[] = [
  ["git.base_branch", "main", "main"],
  ["git.base_branch", "null", null],
  ["queue.branch", "null", "null"],
  ["queue.branch", "007", "007"],
  ["worktree.default", "true", true],
  ["worktree.default", "0", false],
  ["worktree.default", "ON", true],
  ["worktree.default", "maybe", "maybe"],
  ["queue.tracked", "yes", true],
  ["scan.max_file_bytes", "1000", 1000],
  ["scan.max_file_bytes", "1e3", "1e3"],
  ["lock.wait", "30", "30"],
  ["task.categories", "research, ops,", ["research", "ops"]],
  ["task.categories", `["a,b"]`, ["a,b"]],
  ["task.categories", `["a"`, `["a"`],
  ["worktree.post_create", "echo a,b", ["echo a,b"]],
  ["worktree.post_create", `["a","b"]`, ["a", "b"]],
];

test.each(TEXTS)("%s from %p", (key, text, value) => {
  expect(valueFromText(setting(key), text)).toEqual(value);
});

/** A value that a setting doesn't take, and what is said of it. */
const FAULTS: readonly (readonly [key: string, value: unknown, message: string])[] = [
  ["worktree.default", "x", `worktree.default should be true or false, not "x"`],
  ["queue.tracked", 1, "queue.tracked should be true or false, or null, not 1"],
  ["claim.ttl", 5, "claim.ttl should be a length of time such as 30s, 10m, 2h or 1h30m, not 5"],
  ["claim.ttl", "soon", `claim.ttl should be a length of time such as 30s, 10m, 2h or 1h30m, not "soon"`],
  ["git.base_branch", "-x", `git.base_branch should be a branch name, such as main or team/queue, or null, not "-x"`],
  ["queue.branch", "a..b", `queue.branch should be a branch name, such as main or team/queue, not "a..b"`],
  ["queue.branch", null, `queue.branch should be a branch name, such as main or team/queue, not null`],
  ["worktree.include_mode", "move", `worktree.include_mode should be one of copy, link, not "move"`],
  [
    "commit.format",
    "{nam}",
    `commit.format should be one line; its placeholders are {type}, {name}, {id8}, {id}, {slug} and {category}, not "{nam}"`,
  ],
  ["commit.format", "a\nb", "commit.format should be one line"],
  ["task.categories", "research", `task.categories should be a list, each text, not "research"`],
  ["task.categories", ["a", 1], "task.categories[1] should be text, not 1"],
  ["task.categories", [""], "task.categories[0] is empty"],
  ["verify.max_output_bytes", 1, "verify.max_output_bytes should be an integer from 1024 to 16777216, not 1"],
  ["scan.max_file_bytes", 1.5, "scan.max_file_bytes should be an integer of at least 1, not 1.5"],
  ["mcp.toolsets", ["task", "tsk"], `mcp.toolsets[1] should be one of task, wt, guard, doctor, all, not "tsk"`],
  ["mcp.toolsets", [], "mcp.toolsets is empty"],
  ["scan.patterns", [{ name: "a", pattern: "(" }], `scan.patterns: "(" isn't a regular expression`],
  [
    "scan.patterns",
    [{ name: "A b", pattern: "x" }],
    'scan.patterns[0].name should be lower-case words joined with dashes, not "A b"',
  ],
  ["scan.patterns", [{ name: "a" }], "scan.patterns[0].pattern is missing"],
  ["scan.patterns", [{ name: "a", pattern: "x", flags: "i" }], "scan.patterns[0].flags isn't known"],
];

test.each(FAULTS)("%s refuses %p", (key, value, message) => {
  expect(faultOf(setting(key), value)).toStartWith(message);
});

const BRANCHES = {
  good: ["main", "team/queue", "v1.0", "a@b", "ä"],
  bad: [
    "",
    "-a",
    "/a",
    "a/",
    ".a",
    "a.",
    "a..b",
    "a//b",
    "a/.b",
    "a b",
    "a~",
    "a^",
    "a:",
    "a?",
    "a*",
    "a[",
    "a\\",
    "a@{b",
  ],
};
test("branch names are git's", () => {
  for (const name of BRANCHES.good) expect([name, faultOf(setting("queue.branch"), name)]).toEqual([name, undefined]);
  for (const name of BRANCHES.bad)
    expect([name, faultOf(setting("queue.branch"), name) !== undefined]).toEqual([name, true]);
});

describe("a file", () => {
  const read = (text: string) => fileLayer(text, "/r/.bot/settings.json", "shared");

  test("gives values with their places", () => {
    const { values, faults, warnings } = read(
      `\uFEFF{\r\n  "$schema": "x",\r\n  "lock": { "wait": "1s", "wait": "2s" }\r\n}`,
    );
    expect([...values]).toEqual([
      ["lock.wait", { value: "2s", origin: { layer: "shared", from: "/r/.bot/settings.json", line: 3, column: 35 } }],
    ]);
    expect({ faults, warnings }).toEqual({ faults: [], warnings: [] });
  });

  const BROKEN: readonly (readonly [what: string, text: string, place: string, message: string, example: string])[] = [
    [
      "a missing comma",
      `{\n  "a": {}\n  "b": {}\n}`,
      ":3:3",
      "isn't valid JSON",
      `{ "git": { "base_branch": "main" } }`,
    ],
    ["a comment", `{ // x\n}`, ":1:3", "isn't valid JSON: a comment", `{ "git": { "base_branch": "main" } }`],
    ["a list", "[]", ":1:1", "should hold a JSON object, not a list", `{ "git": { "base_branch": "main" } }`],
    [
      "a section that is no object",
      `{"git": 5}`,
      ":1:9",
      "git should be an object, not 5",
      `"git": { "base_branch": "main" }`,
    ],
    [
      "a wrong value",
      `{"claim": {"ttl": 5}}`,
      ":1:19",
      "claim.ttl should be a length of time",
      "dotbot config set claim.ttl 2h",
    ],
    [
      "a wrong list",
      `{"task": {"categories": {}}}`,
      ":1:25",
      "task.categories should be a list",
      `dotbot config set task.categories '["research"]'`,
    ],
  ];
  test.each(BROKEN)("%s is a fault with its place and a way out", (_what, text, place, message, example) => {
    const [fault] = read(text).faults;
    expect(fault?.message).toStartWith(message);
    expect(fault?.example).toBe(example);
    expect(fault && placeText(fault.origin)).toBe(`/r/.bot/settings.json${place}`);
  });

  const UNKNOWN: readonly (readonly [text: string, hint: string])[] = [
    [`{"git": {"base_brnch": "main"}}`, `did you mean git.base_branch, written "git": { "base_branch": "main" }?`],
    [`{"gti": {"base_branch": "main"}}`, "did you mean git?"],
    [`{"git.base_branch": "main"}`, `did you mean git.base_branch, written "git": { "base_branch": "main" }?`],
    [`{"categories": []}`, `did you mean task.categories, written "task": { "categories": ["research"] }?`],
    [`{"__proto__": {}}`, "`dotbot config show` lists all settings"],
    [`{"worktree": {"toString": 1}}`, "`dotbot config show` lists all settings"],
  ];
  test.each(UNKNOWN)("%s: an unknown key is a warning with the nearest", (text, hint) => {
    const { values, faults, warnings } = read(text);
    expect({ values: values.size, faults }).toEqual({ values: 0, faults: [] });
    expect(warnings.map((warning) => warning.hint)).toEqual([hint]);
  });

  test.each(["", " \n", "\uFEFF"])("a blank one, %p, sets nothing", (text) => {
    const { values, faults, warnings } = read(text);
    expect([values.size, faults.length, warnings.length]).toEqual([0, 0, 0]);
  });

  test("on this machine alone, the way out says so", () => {
    expect(fileLayer(`{"lock":{"wait":1}}`, "/f", "machine").faults[0]?.example).toBe(
      "dotbot config set --machine lock.wait 10s",
    );
  });
});

describe("a dotbot 3 project's file", () => {
  const read = (text: string) => dotbot3Layer(text, "/r/.bot/settings/settings.default.json");

  test("gives categories and base branch, and nothing else", () => {
    const { values, warnings } = read(
      `{"workflow":"default","execution":{"model":"x"},"task_categories":["core","ops"],"git":{"base_branch":"dev","x":1},"lock":{"wait":"1s"}}`,
    );
    expect([...values].map(([key, { value }]) => [key, value])).toEqual([
      ["task.categories", ["core", "ops"]],
      ["git.base_branch", "dev"],
    ]);
    expect(warnings).toEqual([]);
  });

  const HARMLESS: readonly (readonly [text: string, warnings: number])[] = [
    [`{"git":{"base_branch":null}}`, 0],
    [`{"git":null,"task_categories":null}`, 0],
    ["[]", 0],
    [`{"git":{"base_branch":5}}`, 1],
    [`{"task_categories":"core"}`, 1],
    ["{ // x\n}", 1],
  ];
  test.each(HARMLESS)("%s is never a fault", (text, count) => {
    const { values, faults, warnings } = read(text);
    expect([values.size, faults.length, warnings.length]).toEqual([0, 0, count]);
  });
});

test("the environment: an empty variable is none, a wrong one is a fault with its name", () => {
  const { values, faults } = environmentLayer({
    DOTBOT_LOCK_WAIT: "1m",
    DOTBOT_CLAIM_TTL: "",
    DOTBOT_WORKTREE_DEFAULT: "perhaps",
    LOCK_WAIT: "x",
  });
  expect([...values.keys()]).toEqual(["lock.wait"]);
  expect(faults).toEqual([
    {
      origin: { layer: "environment", from: "DOTBOT_WORKTREE_DEFAULT" },
      key: "worktree.default",
      message: `worktree.default should be true or false, not "perhaps"`,
      hint: expect.stringContaining("worktree.default: "),
      example: "DOTBOT_WORKTREE_DEFAULT=false",
    },
  ]);
});

describe("layers", () => {
  const write = (path: string, content: string | Uint8Array): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  };
  const wait = (settings: Settings): string => settings.lock.wait;

  test("each outweighs those before it", async () => {
    await using dir = await tempDir();
    const root = dir.root;
    const branch = (env: Record<string, string> = {}, flags: Record<string, unknown> = {}) => {
      const loaded = tryLoadSettings({ env }, root, flags);
      return [loaded.settings.git.base_branch, loaded.origins.get("git.base_branch")?.layer ?? "default"];
    };
    expect(branch()).toEqual([null, "default"]);
    write(dir.path(".bot/settings/settings.default.json"), `{"git":{"base_branch":"three"}}`);
    expect(branch()).toEqual(["three", "dotbot3"]);
    write(sharedSettingsPath(root), `{"git":{"base_branch":"shared"}}`);
    expect(branch()).toEqual(["shared", "shared"]);
    write(machineSettingsPath(root), `{"git":{"base_branch":"machine"}}`);
    expect(branch()).toEqual(["machine", "machine"]);
    expect(branch({ DOTBOT_GIT_BASE_BRANCH: "env" })).toEqual(["env", "environment"]);
    expect(branch({ DOTBOT_GIT_BASE_BRANCH: "env" }, { "git.base_branch": "flag" })).toEqual(["flag", "flag"]);
    expect(branch({ DOTBOT_GIT_BASE_BRANCH: "env" }, { "git.base_branch": undefined })).toEqual(["env", "environment"]);
    // A value of null outweighs as well: it says "the remote's default".
    write(machineSettingsPath(root), `{"git":{"base_branch":null}}`);
    expect(branch()).toEqual([null, "machine"]);
  });

  test("a list is replaced whole", async () => {
    await using dir = await tempDir();
    write(sharedSettingsPath(dir.root), `{"worktree":{"disposable":["a"]}}`);
    write(machineSettingsPath(dir.root), `{"worktree":{"disposable":[]}}`);
    expect(tryLoadSettings({ env: {} }, dir.root).settings.worktree.disposable).toEqual([]);
  });

  test("a wrong value leaves the lighter layer's, for those who go on", async () => {
    await using dir = await tempDir();
    write(sharedSettingsPath(dir.root), `{"lock":{"wait":"7s"}}`);
    write(machineSettingsPath(dir.root), `{"lock":{"wait":7}}`);
    const { settings, origins, faults } = tryLoadSettings({ env: {} }, dir.root);
    expect(wait(settings)).toBe("7s");
    expect(origins.get("lock.wait")?.layer).toBe("shared");
    expect(faults).toHaveLength(1);
  });

  test("for everybody else it is an error with the place of the first, and all in its details", async () => {
    await using dir = await tempDir();
    write(sharedSettingsPath(dir.root), `{\n  "lock": { "wait": 7 }\n}`);
    const load = () => loadSettings({ env: { DOTBOT_CLAIM_TTL: "x" }, note: () => undefined }, dir.root);
    expect(load).toThrow(
      expect.objectContaining({
        code: "INVALID_SETTINGS",
        status: 2,
        message: `${sharedSettingsPath(dir.root)}:2:21: lock.wait should be a length of time such as 30s, 10m, 2h or 1h30m, not 7 (and 1 more: dotbot config show)`,
        example: "dotbot config set lock.wait 10s",
        details: {
          faults: [expect.objectContaining({ key: "lock.wait" }), expect.objectContaining({ key: "claim.ttl" })],
        },
      }),
    );
  });

  test("an unknown key is noted, and nothing fails", async () => {
    await using dir = await tempDir();
    const notes: string[] = [];
    write(sharedSettingsPath(dir.root), `{"lock":{"wiat":"7s"}}`);
    expect(wait(loadSettings({ env: {}, note: (line) => void notes.push(line) }, dir.root))).toBe("10s");
    expect(notes).toEqual([
      `${sharedSettingsPath(dir.root)}:1:10: "lock.wiat" isn't a setting, and is ignored; did you mean lock.wait, written "lock": { "wait": "10s" }?`,
    ]);
  });

  test("a file that isn't text is a fault by name; a folder in its place is no file", async () => {
    await using dir = await tempDir();
    write(sharedSettingsPath(dir.root), new Uint8Array([0x7b, 0xff, 0x7d]));
    mkdirSync(machineSettingsPath(dir.root), { recursive: true });
    const { faults } = tryLoadSettings({ env: {} }, dir.root);
    expect(faults.map(findingText)).toEqual([
      `${sharedSettingsPath(dir.root)}: isn't UTF-8 text; mend or remove the file`,
    ]);
  });

  test("every setting is told with its origin", () => {
    const all = settingsWithOrigin(tryLoadSettings({ env: { DOTBOT_LOCK_WAIT: "1s" } }, "/no/such/folder"));
    expect(all.map((it) => it.setting.key)).toEqual([...table.keys()]);
    expect(all.filter(({ origin }) => origin.layer !== "default")).toMatchObject([
      { value: "1s", origin: { layer: "environment", from: "DOTBOT_LOCK_WAIT" } },
    ]);
  });

  test("without any file the same settings are handed out, and looked up by key", () => {
    const load = () => loadSettings({ env: {}, note: () => undefined }, "/no/such/folder");
    expect(load()).toBe(load());
    expect(settingValue(load(), setting("queue.branch"))).toBe("dotbot/queue");
  });
});
