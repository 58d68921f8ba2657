/** `config` on real settings files. */
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "bun:test";

import { CONFIG_OPERATIONS } from "../../lib/config/ops.ts";
import type { AnyOperation } from "../../lib/op.ts";
import { machineSettingsPath, settingsTable, sharedSettingsPath } from "../../lib/settings.ts";
import { inProcess, type InProcess } from "../kit/call.ts";
import { gitEnv, makeRepo, rejection, run } from "../kit/git.ts";

const op = (name: string): AnyOperation => {
  const found = CONFIG_OPERATIONS.find((it) => it.name === `config ${name}`);
  if (found === undefined) throw new Error(`no config ${name}`);
  return found;
};
const shared = (world: InProcess): string => sharedSettingsPath(world.repo);
const put = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
};

describe("set and unset", () => {
  /** What the file holds (null: there is none), the setting and its value (null: unset), and what the file holds then. */
  const EDITS: readonly (readonly [
    what: string,
    before: string | null,
    key: string,
    value: string | null,
    after: string,
  ])[] = [
    ["the first setting makes the file", null, "lock.wait", "1m", `{\n  "lock": {\n    "wait": "1m"\n  }\n}\n`],
    ["a blank file is filled", "\n", "lock.wait", "1m", `{\n  "lock": {\n    "wait": "1m"\n  }\n}\n`],
    [
      "layout, order and unknown keys stay",
      `{"x":1.0,\n\t"lock":{"a":1,"wait":"1s"}}`,
      "lock.wait",
      "1m",
      `{"x":1.0,\n\t"lock":{"a":1,"wait":"1m"}}`,
    ],
    [
      "BOM and CRLF stay",
      `\uFEFF{\r\n  "lock": {\r\n    "wait": "1s"\r\n  }\r\n}\r\n`,
      "lock.wait",
      "1m",
      `\uFEFF{\r\n  "lock": {\r\n    "wait": "1m"\r\n  }\r\n}\r\n`,
    ],
    [
      "a list from commas",
      "{}\n",
      "task.categories",
      "ops,research",
      `{\n  "task": {\n    "categories": [\n      "ops",\n      "research"\n    ]\n  }\n}\n`,
    ],
    ["null", `{"git":{"base_branch":"x"}}`, "git.base_branch", "null", `{"git":{"base_branch":null}}`],
    ["a wrong value is mended", `{"lock":{"wait":5}}`, "lock.wait", "1m", `{"lock":{"wait":"1m"}}`],
    ["unset takes the section that only held it", `{"lock":{"wait":"1s"},"x":1}`, "lock.wait", null, `{"x":1}`],
    [
      "unset leaves the section that holds more",
      `{"git":{"y":2,"base_branch":"x"}}`,
      "git.base_branch",
      null,
      `{"git":{"y":2}}`,
    ],
  ];
  test.each(EDITS)("%s", async (_what, before, key, value, after) => {
    await using world = await inProcess();
    if (before !== null) put(shared(world), before);
    const input = value === null ? { key } : { key, value };
    const { result } = await world.call(op(value === null ? "unset" : "set"), input);
    expect(readFileSync(shared(world), "utf8")).toBe(after);
    expect(result).toMatchObject({
      key,
      changed: true,
      file: shared(world),
      repoPath: world.repo,
      stateRoot: world.repo,
      branch: "main",
    });
  });

  test("the same again changes nothing, not even the file's time", async () => {
    await using world = await inProcess();
    const input = { key: "lock.wait", value: "1m" };
    await world.call(op("set"), input);
    const before = lstatSync(shared(world)).mtimeMs;
    expect((await world.call(op("set"), input)).result).toMatchObject({ changed: false, value: "1m" });
    expect(lstatSync(shared(world)).mtimeMs).toBe(before);
  });

  test("unset without a file makes none", async () => {
    await using world = await inProcess();
    expect((await world.call(op("unset"), { key: "lock.wait" })).result).toMatchObject({
      changed: false,
      value: "10s",
    });
    expect(existsSync(shared(world))).toBe(false);
  });

  test("--machine writes the file that isn't shared", async () => {
    await using world = await inProcess();
    await world.call(op("set"), { key: "lock.wait", value: "1m", machine: true });
    expect(JSON.parse(readFileSync(machineSettingsPath(world.repo), "utf8"))).toEqual({ lock: { wait: "1m" } });
    expect(existsSync(shared(world))).toBe(false);
  });

  test("what a heavier layer hides is told", async () => {
    await using world = await inProcess();
    const env = { ...gitEnv(), DOTBOT_LOCK_WAIT: "5s" };
    const text = await world.text(op("set"), { key: "lock.wait", value: "1m" }, { env });
    expect(text).toBe(
      `${world.repo} (main)\nlock.wait = "5s"\nbut: what holds comes from DOTBOT_LOCK_WAIT, not from ${shared(world)}\n`,
    );
  });

  test("from a linked worktree the main checkout's file is changed", async () => {
    await using world = await inProcess();
    await run(world.repo, "worktree", "add", "-q", "-b", "feat", world.dir.path("feat"));
    const { result } = await world.call(op("set"), { key: "lock.wait", value: "1m" }, { cwd: world.dir.path("feat") });
    expect(result).toMatchObject({ file: shared(world), repoPath: world.repo, branch: "main" });
    expect(existsSync(world.dir.path("feat", ".bot"))).toBe(false);
  });

  test("a link stays a link, and permissions stay", async () => {
    await using world = await inProcess();
    const target = world.dir.path("elsewhere.json");
    put(target, "{}");
    chmodSync(target, 0o640);
    symlinkSync(target, shared(world));
    await world.call(op("set"), { key: "lock.wait", value: "1m" });
    expect(lstatSync(shared(world)).isSymbolicLink()).toBe(true);
    expect(lstatSync(target).mode & 0o777).toBe(0o640);
    expect(JSON.parse(readFileSync(target, "utf8"))).toEqual({ lock: { wait: "1m" } });
  });

  const REFUSED: readonly (readonly [what: string, before: string, input: object, error: object])[] = [
    [
      "a wrong value",
      "{}",
      { key: "lock.wait", value: "soon" },
      {
        code: "INVALID_INPUT",
        message: expect.stringContaining(`not "soon"`),
        example: "dotbot config set lock.wait 10s",
      },
    ],
    [
      "an unknown key",
      "{}",
      { key: "lock.wiat", value: "1s" },
      { code: "INVALID_INPUT", hint: `did you mean "lock.wait"?` },
    ],
    [
      "a file that isn't JSON",
      "{ nope }",
      { key: "lock.wait", value: "1s" },
      { code: "INVALID_SETTINGS", message: expect.stringContaining("settings.json:1:3") },
    ],
    [
      "a section that is no object",
      `{"lock":[]}`,
      { key: "lock.wait", value: "1s" },
      { code: "INVALID_SETTINGS", message: expect.stringContaining("lock should be an object") },
    ],
  ];
  test.each(REFUSED)("%s is refused, and the file stays", async (_what, before, input, error) => {
    await using world = await inProcess();
    put(shared(world), before);
    expect(await rejection(world.call(op("set"), { ...input }))).toMatchObject(error);
    expect(readFileSync(shared(world), "utf8")).toBe(before);
  });

  test("without .bot there is nothing to set", async () => {
    await using world = await inProcess();
    const cwd = await makeRepo(world.dir.path("other"));
    expect(await rejection(world.call(op("set"), { key: "lock.wait", value: "1s" }, { cwd }))).toMatchObject({
      code: "NO_QUEUE",
      example: `dotbot init --dir ${cwd}`,
    });
  });
});

describe("show and get", () => {
  test("show lists every setting, with --origin its source", async () => {
    await using world = await inProcess();
    put(shared(world), `{\n  "lock": { "wait": "1m" }\n}\n`);
    const { result } = await world.call(op("show"));
    expect(result).toMatchObject({ ok: true, faults: [], warnings: [] });
    expect(result["settings"]).toHaveLength(settingsTable().size);
    expect(await world.text(op("show"))).toMatch(/^lock\.wait +"1m"$/m);
    const text = await world.text(op("show"), { origin: true });
    expect(text).toContain(`${shared(world)}:2:21`);
    expect(text).toMatch(/^queue\.branch +"dotbot\/queue" +the defaults$/m);
  });

  test("show goes on past what is wrong, says it, and its answer is no", async () => {
    await using world = await inProcess();
    put(shared(world), `{"lock":{"wait":5,"x":1}}`);
    put(machineSettingsPath(world.repo), "{");
    const { result, status } = await world.call(op("show"));
    expect(status).toBe(1);
    expect(result).toMatchObject({ ok: false, faults: [{ key: "lock.wait" }, {}], warnings: [{ key: "lock.x" }] });
    const text = await world.text(op("show"));
    expect(text).toContain(`wrong: ${shared(world)}:1:17: lock.wait should be`);
    expect(text).toContain(`wrong: ${machineSettingsPath(world.repo)}:1:2: isn't valid JSON`);
    expect(text).toContain(`unknown: ${shared(world)}:1:19: "lock.x" isn't a setting`);
  });

  const VALUES: readonly (readonly [key: string, text: string])[] = [
    ["queue.branch", "dotbot/queue\n"],
    ["worktree.default", "false\n"],
    ["git.base_branch", "null\n"],
    ["task.categories", "[]\n"],
  ];
  test.each(VALUES)("get %s prints it alone", async (key, text) => {
    await using world = await inProcess();
    expect(await world.text(op("get"), { key })).toBe(text);
  });

  test("get refuses where that setting is wrong, and only there", async () => {
    await using world = await inProcess();
    put(shared(world), `{"lock":{"wait":5},"git":1}`);
    expect(await rejection(world.call(op("get"), { key: "lock.wait" }))).toMatchObject({ code: "INVALID_SETTINGS" });
    expect(await rejection(world.call(op("get"), { key: "git.base_branch" }))).toMatchObject({
      code: "INVALID_SETTINGS",
    });
    expect(await world.text(op("get"), { key: "claim.ttl" })).toBe("2h\n");
  });
});

test("schema is a JSON Schema of the files, ready to be saved", async () => {
  await using world = await inProcess();
  const text = await world.text(op("schema"));
  expect(JSON.parse(text)).toMatchObject({
    $schema: expect.stringContaining("json-schema.org"),
    title: "dotbot settings",
    type: "object",
    properties: { $schema: { type: "string" }, lock: { type: "object" } },
  });
});
