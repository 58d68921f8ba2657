/** Settings for people and agents: what holds, where it comes from, how to change it, and the schema of the files. */
import { dirname } from "node:path";

import * as v from "valibot";

import { DotbotError } from "../error.ts";
import { isDirectory } from "../files.ts";
import { echoFields, echoLine, echoOf } from "../git/echo.ts";
import { resolveRepo } from "../git/repo.ts";
import { operation, type AnyOperation, type Call } from "../op.ts";
import {
  findingText,
  machineSettingsPath,
  placeText,
  settingsError,
  settingsSchema,
  settingsTable,
  settingsWithOrigin,
  sharedSettingsPath,
  tryLoadSettings,
  type LoadedSettings,
  type Setting,
  type SettingWithOrigin,
} from "../settings.ts";
import { faultOf } from "../settings/layers.ts";
import { exampleOf, textFromValue, valueFromText } from "../settings/table.ts";
import { paint, quote, shellWord, table, truncate, type Style } from "../text.ts";
import { changeSettingsFile } from "./file.ts";

/** Longer values are cut in the table; `config get` prints them whole. */
const VALUE_WIDTH = 60;
const KEYS = [...settingsTable().keys()];

const dirField = {
  dir: v.optional(v.pipe(v.string(), v.description("Any folder of the repository that is meant, absolute."))),
};
const keyField = { key: v.pipe(v.picklist(KEYS), v.description("The setting, dotted.")) };
const machineField = {
  machine: v.optional(
    v.pipe(v.boolean(), v.description("In this machine's own file, which isn't shared, instead of the project's.")),
    false,
  ),
};

const originShape = v.object({
  layer: v.picklist(["default", "dotbot3", "shared", "machine", "environment", "flag"]),
  from: v.exactOptional(v.pipe(v.string(), v.description("The file, or the variable."))),
  line: v.exactOptional(v.number()),
  column: v.exactOptional(v.number()),
});
const findingShape = v.object({
  origin: originShape,
  key: v.exactOptional(v.string()),
  message: v.string(),
  hint: v.exactOptional(v.string()),
  example: v.exactOptional(v.string()),
});
const valueShape = v.object({
  key: v.string(),
  value: v.unknown(),
  default: v.unknown(),
  env: v.pipe(v.string(), v.description("The variable that sets it.")),
  origin: v.exactOptional(originShape),
});

const show = operation({
  name: "config show",
  summary: "Show every setting and its value",
  details: "Goes on past files that can't be read as settings, lists what is wrong with them, and then exits with 1.",
  examples: [
    { run: "config show", does: "what holds here" },
    { run: "config show --origin", does: "and where each value comes from", given: ["init"] },
  ],
  effect: "read",
  target: { rule: "queue" },
  toolset: "all",
  input: v.strictObject({
    origin: v.optional(v.pipe(v.boolean(), v.description("Say of each value which file or variable sets it.")), false),
    ...dirField,
  }),
  output: v.object({
    ok: v.pipe(v.boolean(), v.description("false: something in a file or a variable is no setting's value.")),
    settings: v.array(valueShape),
    faults: v.pipe(v.array(findingShape), v.description("Wrong values; the next lighter layer's holds instead.")),
    warnings: v.pipe(v.array(findingShape), v.description("Unknown keys.")),
    stateRoot: v.string(),
  }),
  run(call, { origin }) {
    const loaded = load(call);
    return Promise.resolve({
      ok: loaded.faults.length === 0,
      settings: settingsWithOrigin(loaded).map((found) => shown(found, origin)),
      faults: [...loaded.faults],
      warnings: [...loaded.warnings],
      stateRoot: call.target.repo.stateRoot,
    });
  },
  text({ settings, faults, warnings }, style) {
    const rows = settings.map(({ key, value, origin, default: fallback }) => {
      const text = truncate(JSON.stringify(value), VALUE_WIDTH);
      const plain = equal(value, fallback) ? paint(style, "dim", text) : text;
      return [key, plain, ...(origin === undefined ? [] : [paint(style, "dim", placeText(origin))])];
    });
    const wrong = faults.map((fault) => `${paint(style, "red", "wrong:")} ${findingText(fault)}\n`);
    const odd = warnings.map((warning) => `${paint(style, "yellow", "unknown:")} ${findingText(warning)}\n`);
    return table(rows) + (wrong.length + odd.length > 0 ? "\n" : "") + wrong.join("") + odd.join("");
  },
});

const get = operation({
  name: "config get",
  summary: "Print the value of one setting",
  details: "Text as it is, anything else as JSON: fit for a script.",
  examples: [{ run: "config get queue.branch", does: "the branch that `task save` writes" }],
  effect: "read",
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "key" }],
  input: v.strictObject({ ...keyField, ...dirField }),
  output: valueShape,
  run(call, { key }) {
    const loaded = load(call);
    const wrong = loaded.faults.filter((fault) => fault.key === undefined || concerns(fault.key, key));
    if (wrong.length > 0) throw settingsError(wrong);
    return Promise.resolve(shown(find(loaded, key), true));
  },
  text: ({ value }) => `${textFromValue(value)}\n`,
});

const changed = {
  key: v.string(),
  file: v.pipe(v.string(), v.description("The file that was changed, absolute.")),
  changed: v.pipe(v.boolean(), v.description("false: the file said so already.")),
  value: v.pipe(v.unknown(), v.description("The value that holds now.")),
  origin: v.pipe(originShape, v.description("Where it comes from: a heavier layer may hide what was set.")),
  ...echoFields,
};

const set = operation({
  name: "config set",
  summary: "Set a setting in the project's file, or in this machine's",
  details:
    "Everything else in the file stays as it is written. A list is given as JSON, or with commas between its items; a list of commands as JSON, or as one command. Commit .bot/settings.json to share it.",
  examples: [
    { run: "config set git.base_branch main", does: "for everybody", given: ["init"] },
    { run: "config set lock.wait 1m --machine", does: "on this machine alone", given: ["init"] },
    { run: `config set worktree.post_create '["npm ci","npm run build"]'`, does: "a list", given: ["init"] },
  ],
  effect: "write",
  idempotent: true,
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "key" }, { field: "value" }],
  input: v.strictObject({
    ...keyField,
    value: v.pipe(v.string(), v.description("The value, as text; lists as JSON or with commas.")),
    ...machineField,
    ...dirField,
  }),
  output: v.object(changed),
  async run(call, { key, value: text, machine }) {
    const setting = settingOf(key);
    const value = valueFromText(setting, text);
    const fault = faultOf(setting, value);
    if (fault !== undefined) {
      const sample = textFromValue(exampleOf(setting));
      throw new DotbotError("INVALID_INPUT", fault, {
        hint: `${key}: ${setting.field.description}`,
        example:
          call.surface === "mcp"
            ? JSON.stringify({ key, value: sample })
            : `dotbot config set ${key} ${shellWord(sample)}${machine ? " --machine" : ""}`,
      });
    }
    return await change(call, setting, machine, value);
  },
  text: (result, style) => changeText(result, style),
});

const unset = operation({
  name: "config unset",
  summary: "Take a setting out of the project's file, or of this machine's",
  details: "What a lighter layer or the default says holds again.",
  examples: [
    { run: "config unset lock.wait", does: "back to the default", given: ["init", "config set lock.wait 1m"] },
  ],
  effect: "write",
  idempotent: true,
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "key" }],
  input: v.strictObject({ ...keyField, ...machineField, ...dirField }),
  output: v.object(changed),
  run: async (call, { key, machine }) => await change(call, settingOf(key), machine, undefined),
  text: (result, style) => changeText(result, style),
});

const schema = operation({
  name: "config schema",
  summary: "Print the JSON Schema of the settings files",
  details: "For editors: they complete and check .bot/settings.json with it.",
  examples: [{ run: "config schema", does: "every key with type, default and description" }],
  effect: "read",
  target: { rule: "none", why: "the schema is part of the binary" },
  toolset: "all",
  surfaces: ["cli"],
  input: v.strictObject({}),
  output: v.looseObject({}),
  async run() {
    const { jsonSchema } = await import("../jsonschema.ts");
    const converted = jsonSchema(settingsSchema());
    // Editors find the schema by this key, which is in the file and no setting.
    const properties = { $schema: { type: "string" }, ...Object(converted["properties"]) };
    return { ...converted, title: "dotbot settings", properties };
  },
  text: (result) => `${JSON.stringify(result, null, 2)}\n`,
});

export const CONFIG_OPERATIONS: readonly AnyOperation[] = [show, get, set, unset, schema];

function equal(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function load(call: Call): LoadedSettings {
  return tryLoadSettings(call, call.target.repo.stateRoot);
}

function settingOf(key: string): Setting {
  const setting = settingsTable().get(key);
  if (setting === undefined) throw new TypeError(`${key} passed validation and is no setting`);
  return setting;
}

function find(loaded: LoadedSettings, key: string): SettingWithOrigin {
  const found = settingsWithOrigin(loaded).find(({ setting }) => setting.key === key);
  if (found === undefined) throw new TypeError(`${key} passed validation and is no setting`);
  return found;
}

function shown({ setting, value, origin }: SettingWithOrigin, withOrigin: boolean): v.InferOutput<typeof valueShape> {
  const { key, env, field } = setting;
  return { key, value, default: field.default, env, ...(withOrigin ? { origin } : {}) };
}

/** A fault of `git` as a whole is one of `git.base_branch` too. */
function concerns(faultKey: string, key: string): boolean {
  return faultKey === key || key.startsWith(`${faultKey}.`);
}

async function change(call: Call, setting: Setting, machine: boolean, value: unknown) {
  const { repo } = call.target;
  const file = machine ? machineSettingsPath(repo.stateRoot) : sharedSettingsPath(repo.stateRoot);
  const botFolder = dirname(sharedSettingsPath(repo.stateRoot));
  if (!isDirectory(botFolder)) {
    throw new DotbotError("NO_QUEUE", `${quote(repo.stateRoot, 200)} has no .bot folder, so no settings`, {
      hint: "make one",
      example: `dotbot init --dir ${shellWord(repo.stateRoot)}`,
    });
  }
  const wrote = changeSettingsFile(file, setting, value);
  const { value: holds, origin } = find(load(call), setting.key);
  // The file is in the main checkout, whichever one the caller stands in, so the answer is about that one.
  const main = await resolveRepo(call, repo.stateRoot);
  const echo = await echoOf(call, main, `${setting.key} is ${value === undefined ? "unset" : "set"}`);
  return { key: setting.key, file, changed: wrote, value: holds, origin, ...echo, repoPath: repo.stateRoot };
}

function changeText(result: v.InferOutput<v.ObjectSchema<typeof changed, undefined>>, style: Style): string {
  const { key, value, origin, file } = result;
  const line = `${key} = ${JSON.stringify(value)}${result.changed ? "" : " (as before)"}\n`;
  const hidden = origin.layer !== "default" && origin.layer !== "dotbot3" && origin.from !== file;
  const where = hidden
    ? `${paint(style, "yellow", "but:")} what holds comes from ${placeText(origin)}, not from ${file}\n`
    : "";
  return echoLine(result) + line + where;
}
