/** `guard scan`: the privacy scan by itself. */
import { join } from "node:path";
import * as v from "valibot";

import { DotbotError } from "../error.ts";
import { makeDirectory, writeAtomic } from "../files.ts";
import { readBlob } from "../git/blob.ts";
import { requireTree } from "../git/repo.ts";
import { operation, type AnyOperation, type Call } from "../op.ts";
import { loadSettings } from "../settings.ts";
import { targetFields } from "../target-fields.ts";
import { count } from "../text.ts";
import { changeBase } from "./base.ts";
import {
  BASELINE_FILE,
  formatBaseline,
  markOf,
  NO_BASELINE,
  parseBaseline,
  type Baseline,
  type BaselineEntry,
} from "./exemptions.ts";
import type { Secret } from "./find.ts";
import { PATTERNS } from "./patterns.ts";
import { toSarif } from "./sarif.ts";
import { baselineIn, scanWithSecrets, type Source } from "./scan.ts";
import { scanEntries, scanText } from "./shapes.ts";

interface ScanInput {
  staged?: boolean | undefined;
  all?: boolean | undefined;
  range?: string | undefined;
  base?: string | undefined;
  sarif?: boolean | undefined;
  accept?: string | undefined;
}

const output = v.object({
  ...scanEntries,
  repoPath: v.pipe(v.string(), v.description("The checkout that was looked at.")),
  mode: v.picklist(["changes", "staged", "all", "range"]),
  base: v.pipe(
    v.nullable(v.string()),
    v.description("The commit from which changes count; null: only what isn't committed."),
  ),
  accepted: v.optional(v.pipe(v.number(), v.description("How many findings were written to the baseline."))),
  sarif: v.optional(v.looseObject({})),
});

const guardScan = operation({
  name: "guard scan",
  summary: "Look for secrets and private paths in what a change adds",
  details:
    "Looks at the lines that this checkout adds to its base: commits, index and files, tracked or not. On the base branch itself: what isn't committed. staged: only what the index adds. all: every tracked file. range: every commit of A..B by itself. A line `dotbot:allow <pattern> -- why` exempts itself and the next one. Secrets are shown by their first characters and length alone. ok is false, status 1, when the project's own files have any.",
  examples: [
    { run: "guard scan", does: "what this branch adds" },
    { run: "guard scan --staged", does: "what a commit would add, for a pre-commit hook" },
    { run: "guard scan --all --sarif", does: "every tracked file, in a format that code hosts read" },
  ],
  effect: "read",
  idempotent: true,
  target: { rule: "tree" },
  toolset: "people",
  input: v.strictObject({
    staged: v.optional(v.pipe(v.boolean(), v.description("Only what the index adds to HEAD, read from the index."))),
    all: v.optional(v.pipe(v.boolean(), v.description("Every tracked file."))),
    range: v.optional(
      v.pipe(v.string(), v.description("Commits, A..B: each by itself, so that what was taken out again is found.")),
    ),
    base: v.optional(
      v.pipe(v.string(), v.description("The branch or commit to compare with, in place of the recorded base.")),
    ),
    sarif: v.optional(v.pipe(v.boolean(), v.description("The answer as SARIF 2.1.0."))),
    accept: v.optional(
      v.pipe(
        v.string(),
        v.description(
          "Write what is found to the baseline, .bot/scan-baseline.json, for this reason; commit that file.",
        ),
      ),
    ),
    ...targetFields("The checkout to look at, absolute; any folder in it."),
  }),
  output,
  flags: {
    range: { value: "A..B" },
    base: { value: "branch" },
    accept: { value: "reason", cliOnly: true },
    sarif: { cliOnly: true },
  },
  complete: { base: "branch" },
  async run(call, input) {
    const workRoot = requireTree(call.target.repo);
    const settings = loadSettings(call, call.target.repo.stateRoot);
    const source = await sourceOf(call, input, workRoot);
    const baseline =
      input.accept === undefined && source.kind === "changes"
        ? await baselineOf(call, source.base, workRoot)
        : baselineIn(workRoot);
    const { result, secrets } = await scanWithSecrets(call, { workRoot, source, settings: settings.scan, baseline });
    const accepted = input.accept === undefined ? null : writeBaseline(call, workRoot, baseline, secrets, input.accept);
    return {
      ...result,
      ok: result.ok || accepted !== null,
      repoPath: workRoot,
      mode: source.kind,
      base: source.kind === "changes" ? source.base : null,
      ...(accepted === null ? {} : { accepted }),
      ...(input.sarif === true ? { sarif: { ...toSarif(result, TITLES) } } : {}),
    };
  },
  text(result, style) {
    if (result.sarif !== undefined) return `${JSON.stringify(result.sarif, null, 2)}\n`;
    const text = scanText(result, style);
    return result.accepted === undefined
      ? text
      : `${text}${count(result.accepted, "finding")} written to ${BASELINE_FILE}: commit it on the base branch\n`;
  },
});

export const TITLES: ReadonlyMap<string, string> = new Map(PATTERNS.map(({ name, title }) => [name, title]));

async function sourceOf(call: Call, input: ScanInput, workRoot: string): Promise<Source> {
  const chosen = [
    ...(input.staged === true ? ["staged"] : []),
    ...(input.all === true ? ["all"] : []),
    ...(input.range === undefined ? [] : ["range"]),
    ...(input.base === undefined ? [] : ["base"]),
  ];
  if (chosen.length > 1) {
    throw new DotbotError("USAGE", `${chosen.join(" and ")} can't be had together: each says what to look at`, {
      example: call.surface === "cli" ? "dotbot guard scan --staged" : JSON.stringify({ staged: true }),
    });
  }
  if (input.staged === true) return { kind: "staged" };
  if (input.all === true) return { kind: "all" };
  if (input.range !== undefined) return { kind: "range", range: input.range };
  const settings = loadSettings({ ...call, note: () => undefined }, call.target.repo.stateRoot);
  return { kind: "changes", ...(await changeBase(call, call.target.repo, workRoot, settings, input.base)) };
}

/** A change is judged by the baseline that it started from: its own additions to it don't count yet. */
async function baselineOf(call: Call, base: string | null, workRoot: string): Promise<Baseline> {
  if (base === null) return baselineIn(workRoot);
  const bytes = await readBlob(call, workRoot, base, BASELINE_FILE);
  return bytes === null
    ? NO_BASELINE
    : parseBaseline(new TextDecoder().decode(bytes), `${base.slice(0, 10)}:${BASELINE_FILE}`);
}

function writeBaseline(
  call: Call,
  workRoot: string,
  before: Baseline,
  secrets: readonly Secret[],
  reason: string,
): number {
  if (reason.trim() === "") {
    throw new DotbotError("INVALID_INPUT", "accept needs a reason: an exemption without one exempts nothing", {
      example: "dotbot guard scan --all --accept 'keys of the test server, made up'",
    });
  }
  const salt = before.salt === "" ? call.uuid() : before.salt;
  const fresh = secrets.map(({ file, pattern, secret }): BaselineEntry => ({
    file,
    pattern,
    mark: markOf(salt, file, pattern, secret),
    reason: reason.trim(),
  }));
  const entries = new Map(
    [...before.entries, ...fresh].map((entry) => [`${entry.pattern} ${entry.mark} ${entry.file}`, entry]),
  );
  makeDirectory(join(workRoot, ".bot"));
  writeAtomic(join(workRoot, BASELINE_FILE), formatBaseline(salt, [...entries.values()]));
  return fresh.length;
}

export const SCAN_OPERATIONS: readonly AnyOperation[] = [guardScan];
