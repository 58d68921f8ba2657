/** The privacy scan: a source, the rules that hold, one answer. Used by `guard scan`, by verification and by what pushes. */
import type { Ctx } from "../ctx.ts";
import { readText } from "../files.ts";
import type { GitCtx } from "../git/run.ts";
import type { Settings } from "../settings.ts";
import { BASELINE_FILE, NO_BASELINE, parseBaseline, type Baseline } from "./exemptions.ts";
import { Finder, type ExemptionNote, type Secret, type Violation } from "./find.ts";
import { readSource, type Skip, type Source } from "./sources.ts";

export type { ExemptionNote, Violation } from "./find.ts";
export type { Skip, Source } from "./sources.ts";

export interface ScanResult {
  /** No violation is the project's own. */
  ok: boolean;
  /** Texts that were looked at: files, or changed parts of them. */
  files: number;
  bytes: number;
  violations: Violation[];
  counts: { project: number; framework: number };
  skipped: Skip[];
  exemptions: {
    /** Matches that an exemption took out. */
    used: number;
    /** Exemptions in lines that the change adds, and files of exemptions that it changes. */
    added: ExemptionNote[];
    /** Exemptions without a reason: they exempt nothing. */
    unreasoned: ExemptionNote[];
  };
}

export interface ScanRequest {
  /** The checkout's root. */
  readonly workRoot: string;
  readonly source: Source;
  readonly settings: Settings["scan"];
  readonly baseline: Baseline;
}

type ScanCtx = GitCtx & Pick<Ctx, "progress">;

/** Errors: INVALID_SETTINGS (an expression), INVALID_INPUT, NOT_FOUND (a range), and git's own. */
export async function scan(ctx: ScanCtx, request: ScanRequest): Promise<ScanResult> {
  return (await scanWithSecrets(ctx, request)).result;
}

/** The same, with the secrets in the clear, for writing a baseline from them. Never shown, never stored. */
export async function scanWithSecrets(
  ctx: ScanCtx,
  { workRoot, source, settings, baseline }: ScanRequest,
): Promise<{ readonly result: ScanResult; readonly secrets: readonly Secret[] }> {
  const finder = new Finder({
    framework: settings.framework_paths,
    allow: settings.allow,
    patterns: settings.patterns,
    baseline,
  });
  const skipped = new Map<string, Skip>();
  let files = 0;
  let bytes = 0;
  const options = { workRoot, maxBytes: settings.max_file_bytes, progress: ctx.progress };
  try {
    await readSource(ctx, source, options, {
      text(text) {
        if (finder.isAllowed(text.file)) return;
        if (source.kind !== "all" && EXEMPTING.includes(text.file)) finder.noteFile(text.file);
        files += 1;
        bytes += text.bytes.length;
        finder.take(text);
      },
      skip(skip) {
        if (!finder.isAllowed(skip.file)) skipped.set(`${skip.reason} ${skip.file}`, skip);
      },
    });
  } finally {
    ctx.progress(null);
  }
  const violations = finder.violations;
  const project = violations.filter(({ scope }) => scope === "project").length;
  const result: ScanResult = {
    ok: project === 0,
    files,
    bytes,
    violations,
    counts: { project, framework: violations.length - project },
    skipped: [...skipped.values()],
    exemptions: {
      used: finder.exempted,
      added: source.kind === "all" ? [] : finder.added,
      unreasoned: finder.unreasoned,
    },
  };
  return { result, secrets: finder.secrets };
}

/** Files by which a change could take itself out of the scan. */
const EXEMPTING: readonly string[] = [BASELINE_FILE, ".bot/settings.json"];

/** The baseline as it stands in a checkout. Throws INVALID_INPUT when it can't be read as one. */
export function baselineIn(root: string): Baseline {
  const path = `${root}/${BASELINE_FILE}`;
  const text = readText(path);
  return text === null ? NO_BASELINE : parseBaseline(text, path);
}
