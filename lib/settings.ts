/**
 * Settings, from their layers, in growing weight: the defaults, a dotbot 3 project's own file (for what is shared with it),
 * `.bot/settings.json`, `.bot/.control/settings.json`, the environment, flags. A heavier layer replaces a value whole, lists
 * included.
 *
 * Every verb reads them, so where no file and no variable sets anything this costs three look-ups.
 */
import { join } from "node:path";

import { DotbotError } from "./error.ts";
import { errno, lstatOrNull, readBytes } from "./files.ts";
import { decodeUtf8 } from "./json.ts";
import {
  dotbot3Layer,
  environmentLayer,
  fileLayer,
  flagLayer,
  placeText,
  type Layer,
  type Origin,
  type SettingsFinding,
} from "./settings/layers.ts";
import type { Settings } from "./settings/schema.ts";
import { settingsTable, settingsWith, type Setting } from "./settings/table.ts";

export { placeText, type LayerName, type Origin, type SettingsFinding } from "./settings/layers.ts";
export { settingsSchema, type Settings } from "./settings/schema.ts";
export { milliseconds, settingsTable, type Setting } from "./settings/table.ts";

export interface SettingsCtx {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Values that the caller's own flags give, by dotted key; an undefined one isn't given. */
export type SettingsFlags = Readonly<Record<string, unknown>>;

export interface LoadedSettings {
  /** What is valid; a wrong value leaves that of the next lighter layer. */
  readonly settings: Settings;
  /** Where each key's value comes from. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly faults: readonly SettingsFinding[];
  readonly warnings: readonly SettingsFinding[];
}

export function sharedSettingsPath(stateRoot: string): string {
  return join(stateRoot, ".bot", "settings.json");
}

export function machineSettingsPath(stateRoot: string): string {
  return join(stateRoot, ".bot", ".control", "settings.json");
}

function dotbot3SettingsPath(stateRoot: string): string {
  return join(stateRoot, ".bot", "settings", "settings.default.json");
}

/** The settings that hold here. Notes unknown keys; throws INVALID_SETTINGS for what can't be read or has a wrong type. */
export function loadSettings(
  ctx: SettingsCtx & { readonly note: (line: string) => void },
  stateRoot: string,
  flags: SettingsFlags = {},
): Settings {
  const { settings, faults, warnings } = tryLoadSettings(ctx, stateRoot, flags);
  if (faults.length > 0) throw settingsError(faults);
  for (const warning of warnings) ctx.note(findingText(warning));
  return settings;
}

/** The same for those who have to go on whatever is in the files: `doctor`, `config`. Throws nothing. */
export function tryLoadSettings(ctx: SettingsCtx, stateRoot: string, flags: SettingsFlags = {}): LoadedSettings {
  const layers = [
    fromFile(dotbot3SettingsPath(stateRoot), "dotbot3"),
    fromFile(sharedSettingsPath(stateRoot), "shared"),
    fromFile(machineSettingsPath(stateRoot), "machine"),
    // Variables are looked up one by one only where there is any of ours.
    Object.keys(ctx.env).some((name) => name.startsWith("DOTBOT_")) ? environmentLayer(ctx.env) : null,
    Object.values(flags).some((value) => value !== undefined) ? flagLayer(flags) : null,
  ].filter((layer) => layer !== null);
  const set = new Map(layers.flatMap((layer) => [...layer.values]));
  return {
    settings: assemble(set),
    origins: new Map([...set].map(([key, { origin }]) => [key, origin])),
    faults: layers.flatMap((layer) => layer.faults),
    warnings: layers.flatMap((layer) => layer.warnings),
  };
}

export interface SettingWithOrigin {
  readonly setting: Setting;
  readonly value: unknown;
  readonly origin: Origin;
}

/** Every setting, its value, and the layer that it comes from, in the order of the schema. */
export function settingsWithOrigin(loaded: LoadedSettings): readonly SettingWithOrigin[] {
  return [...settingsTable().values()].map((setting) => ({
    setting,
    value: settingValue(loaded.settings, setting),
    origin: loaded.origins.get(setting.key) ?? { layer: "default" },
  }));
}

/** The value of one setting. */
export function settingValue(settings: Settings, { section, name }: Setting): unknown {
  const group: object | undefined = Object.entries(settings).find(([key]) => key === section)?.[1];
  return Object.entries(group ?? {}).find(([key]) => key === name)?.[1];
}

/** The first fault as an error, with all of them in its details. */
export function settingsError(faults: readonly SettingsFinding[]): DotbotError {
  const [first] = faults;
  if (first === undefined) throw new TypeError("no fault to tell");
  const more = faults.length === 1 ? "" : ` (and ${faults.length - 1} more: dotbot config show)`;
  return new DotbotError("INVALID_SETTINGS", `${placeText(first.origin)}: ${first.message}${more}`, {
    ...(first.hint === undefined ? {} : { hint: first.hint }),
    ...(first.example === undefined ? {} : { example: first.example }),
    details: { faults },
  });
}

/** One line for a person: place, fact, hint. */
export function findingText({ origin, message, hint }: SettingsFinding): string {
  return `${placeText(origin)}: ${message}${hint === undefined ? "" : `; ${hint}`}`;
}

let untouched: Settings | undefined;

function assemble(set: Layer["values"]): Settings {
  if (set.size === 0) return (untouched ??= settingsWith([]));
  return settingsWith([...set].map(([key, { value }]) => [key, value]));
}

function fromFile(path: string, layer: "dotbot3" | "shared" | "machine"): Layer | null {
  const unreadable = (message: string): Layer => {
    const finding: SettingsFinding = { origin: { layer, from: path }, message, hint: "mend or remove the file" };
    return layer === "dotbot3"
      ? { values: new Map(), faults: [], warnings: [finding] }
      : { values: new Map(), faults: [finding], warnings: [] };
  };
  let bytes: Uint8Array | null;
  try {
    // Mostly there is none, and an error made for each of them costs more than the question.
    bytes = lstatOrNull(path) === null ? null : readBytes(path);
  } catch (error) {
    return unreadable(`can't be read (${errno(error)})`);
  }
  if (bytes === null) return null;
  const { text, valid } = decodeUtf8(bytes);
  if (!valid) return unreadable("isn't UTF-8 text");
  return layer === "dotbot3" ? dotbot3Layer(text, path) : fileLayer(text, path, layer);
}
