/**
 * Which verify scripts run for a task, in which order and under which terms: in name order, or as the folder's `config.json`
 * says. Pure.
 */
import * as v from "valibot";

import { tryParseJson } from "../json.ts";

export const VERIFY_FOLDER = ".bot/hooks/verify";
export const CONFIG_FILE = "config.json";

/** A file of the verify folder. */
export interface VerifyFile {
  /** From the verify folder, with `/`. */
  readonly name: string;
  readonly executable: boolean;
}

/** What to do about one script. */
export type ScriptPlan = { readonly name: string; readonly required: boolean } & (
  | { readonly step: "run"; readonly program: "itself" | "pwsh"; readonly timeoutMs: number }
  /** `why` as the end of a sentence about the script. */
  | { readonly step: "skip" | "fail"; readonly why: string }
);

const categories = v.optional(v.nullable(v.array(v.string())));

const configShape = v.object({
  scripts: v.array(
    v.object({
      name: v.string(),
      required: v.optional(v.boolean(), true),
      timeout_seconds: v.optional(v.nullable(v.pipe(v.number(), v.gtValue(0)))),
      skip_if_category: categories,
      run_if_category: categories,
      /** dotbot 3's own scripts, which came with it. */
      core: v.optional(v.boolean(), false),
    }),
  ),
});
export type VerifyConfig = v.InferOutput<typeof configShape>;

/** Reads a config file, or says what is wrong with it. */
export function parseConfig(text: string): VerifyConfig | { readonly fault: string } {
  const parsed = tryParseJson(text);
  if (!parsed.ok)
    return { fault: `isn't valid JSON (line ${parsed.line}, column ${parsed.column}): ${parsed.message}` };
  const checked = v.safeParse(configShape, parsed.value);
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const path = (issue.path ?? []).map(({ key }) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  return {
    fault: `${path.replace(/^\./, "") || "it"} should be ${issue.expected ?? "something else"}, not ${issue.received}`,
  };
}

/** dotbot 3's own scripts by name, for folders without a config. */
const CORE = /^\d+-(?:privacy-scan|git-clean|git-pushed)\.ps1$/;
const REPLACED = "replaced by dotbot's own scan and git-clean";

export function planScripts(
  files: readonly VerifyFile[],
  config: VerifyConfig | null,
  category: string | null,
  timeoutMs: number,
): ScriptPlan[] {
  const scripts = files.filter(({ name }) => isScript(name));
  if (config === null) {
    return scripts
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((file) =>
        CORE.test(file.name)
          ? { name: file.name, required: true, step: "skip", why: REPLACED }
          : { name: file.name, required: true, ...howToRun(file, timeoutMs) },
      );
  }
  const byName = new Map(files.map((file) => [file.name, file]));
  const listed = config.scripts.map((entry): ScriptPlan => {
    const { name, required } = entry;
    const file = byName.get(name);
    const away = entry.core ? REPLACED : awayFor(entry, category);
    if (away !== null) return { name, required, step: "skip", why: away };
    if (file === undefined) return { name, required, step: "fail", why: `is named in ${CONFIG_FILE} and isn't there` };
    const own = entry.timeout_seconds ?? null;
    return { name, required, ...howToRun(file, own === null ? timeoutMs : own * 1000) };
  });
  const named = new Set(config.scripts.map(({ name }) => name));
  const others = scripts.filter(({ name, executable }) => executable && !named.has(name));
  return [
    ...listed,
    ...others.map(
      ({ name }) => ({ name, required: false, step: "skip", why: `isn't listed in ${CONFIG_FILE}` }) as const,
    ),
  ];
}

/** Files at the top of the folder, except what describes them; what lies deeper is there for the scripts. */
function isScript(name: string): boolean {
  return (
    !name.includes("/") &&
    !name.startsWith(".") &&
    name !== CONFIG_FILE &&
    !/\.(?:md|txt|json)$/i.test(name) &&
    !/^readme/i.test(name)
  );
}

function awayFor(entry: VerifyConfig["scripts"][number], category: string | null): string | null {
  const [skip, only] = [entry.skip_if_category ?? [], entry.run_if_category ?? []];
  if (category !== null && skip.includes(category)) return `not for category ${category}`;
  if (only.length > 0 && (category === null || !only.includes(category))) return `only for category ${only.join(", ")}`;
  return null;
}

function howToRun(
  { name, executable }: VerifyFile,
  timeoutMs: number,
): { step: "run"; program: "itself" | "pwsh"; timeoutMs: number } | { step: "fail"; why: string } {
  if (/\.ps1$/i.test(name)) return { step: "run", program: "pwsh", timeoutMs };
  if (executable) return { step: "run", program: "itself", timeoutMs };
  return { step: "fail", why: `isn't executable: git update-index --chmod=+x ${VERIFY_FOLDER}/${name}` };
}
