/** `doctor`: what is wrong here, and what can be put right without risk. Two operations over the same checks. */
import * as v from "valibot";

import { DotbotError } from "../error.ts";
import { operation, type AnyOperation, type Call } from "../op.ts";
import { targetFields } from "../target-fields.ts";
import { count, padEnd, paint, printable, type Style } from "../text.ts";
import { CHECKS, doctor as examineAndRepair, type Diagnosis, type Examination } from "./examine.ts";
import type { Severity } from "./finding.ts";

const findingShape = v.object({
  check: v.string(),
  severity: v.picklist(["error", "warn", "info"]),
  finding: v.string(),
  evidence: v.array(v.string()),
  fix: v.object({
    kind: v.pipe(
      v.picklist(["auto", "manual", "none"]),
      v.description("auto: a fix does it, and nothing can be lost by it."),
    ),
    what: v.optional(v.string()),
  }),
});

const output = v.object({
  ok: v.pipe(v.boolean(), v.description("Nothing but information was found.")),
  findings: v.array(findingShape),
  counts: v.object({ error: v.number(), warn: v.number(), info: v.number() }),
  /** What `--fix` did. */
  repairs: v.array(v.object({ check: v.string(), ok: v.boolean(), outcome: v.string() })),
  checks: v.pipe(v.number(), v.description("How many checks were made.")),
  stateRoot: v.string(),
  repoPath: v.nullable(v.string()),
});
type Report = v.InferOutput<typeof output>;

const shared = {
  target: { rule: "queue" },
  output,
  text: reportText,
} as const;

const fields = targetFields("Any folder of the repository, absolute.");

const doctor = operation({
  ...shared,
  name: "doctor",
  summary: "Find what is wrong, and fix what is safe",
  details:
    "Looks at git, settings, ledger, task files, dependencies, claims, worktrees, leftovers of kills, agents' configuration. Says for each finding what it was seen by, and what to do. Looking changes nothing. Status 1 when something is wrong.",
  examples: [
    { given: ["init"], run: "doctor", does: "what is wrong here?" },
    { given: ["init"], run: "doctor --fix --yes", does: "put right what is safe" },
  ],
  effect: "read",
  idempotent: true,
  input: v.strictObject({
    fix: v.optional(v.pipe(v.boolean(), v.description("Put right what is safe, after showing what that is."))),
    ...fields,
  }),
  flags: { fix: { cliOnly: true } },
  async run(call, input) {
    return report(
      call,
      await examineAndRepair(call, input.fix === true ? async (planned) => await agreed(call, planned) : null),
    );
  },
});

const doctorFix = operation({
  ...shared,
  name: "doctor fix",
  summary: "Put right what doctor found, as far as it is safe",
  details:
    "Does what doctor lists with fix.kind auto, one by one, then looks again: findings are what is left. Nothing that could lose work is touched.",
  examples: [{ given: ["init"], run: "doctor --fix --yes", does: "the same on the command line" }],
  effect: "write",
  toolset: "people",
  idempotent: true,
  surfaces: ["mcp"],
  input: v.strictObject(fields),
  async run(call) {
    return report(call, await examineAndRepair(call, async () => true));
  },
});

/** Shows the plan, and asks where somebody can answer. */
async function agreed(call: Call, planned: readonly Diagnosis[]): Promise<boolean> {
  const plan = planned.map(({ check, remedy }) => `${check}: ${remedy.kind === "auto" ? row(remedy.plan) : ""}`);
  if (call.prompt !== undefined)
    return await call.prompt.confirm({
      about: plan,
      message: `Do ${planned.length === 1 ? "that" : `these ${planned.length}`}?`,
      initial: true,
    });
  for (const line of plan) call.note(line);
  if (call.yes) return true;
  throw new DotbotError(
    "NEEDS_ANSWER",
    `${count(planned.length, "repair")} would be made, and there is no terminal to ask at`,
    {
      hint: "look at what `dotbot doctor` lists, then say yes",
      example: "dotbot doctor --fix --yes",
      details: {
        planned: planned.map(({ check, remedy }) => ({ check, plan: remedy.kind === "auto" ? remedy.plan : "" })),
      },
    },
  );
}

function report({ target }: Call, { findings, repairs }: Examination): Report {
  const of = (severity: Severity): number => findings.filter((finding) => finding.severity === severity).length;
  const counts = { error: of("error"), warn: of("warn"), info: of("info") };
  return {
    ok: counts.error + counts.warn === 0 && repairs.every(({ ok }) => ok),
    findings: findings.map(({ check, severity, finding, evidence, remedy }) => ({
      check,
      severity,
      finding,
      evidence: [...evidence],
      fix:
        remedy.kind === "auto"
          ? { kind: remedy.kind, what: remedy.plan }
          : remedy.kind === "manual"
            ? { kind: remedy.kind, what: remedy.advice }
            : { kind: remedy.kind },
    })),
    counts,
    repairs: [...repairs],
    checks: CHECKS.length,
    stateRoot: target.repo.stateRoot,
    repoPath: target.repo.workRoot,
  };
}

const COLORS = { error: "red", warn: "yellow", info: "blue" } as const;

function reportText({ findings, repairs, counts, checks }: Report, style: Style): string {
  const lines = [
    ...repairs.map(
      ({ check, ok, outcome }) =>
        `${paint(style, ok ? "green" : "red", ok ? "fixed" : "not fixed")}  ${check}: ${row(outcome)}`,
    ),
    ...findings.flatMap(({ check, severity, finding, evidence, fix }) => [
      `${paint(style, COLORS[severity], padEnd(severity, 5))}  ${row(finding)}  ${paint(style, "dim", check)}`,
      ...evidence.map((line) => `         ${paint(style, "dim", row(line))}`),
      ...(fix.what === undefined ? [] : [`       ${fix.kind === "auto" ? "--fix will" : "to do"}: ${row(fix.what)}`]),
    ]),
    summary(findings, counts, checks, style),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function summary(findings: Report["findings"], counts: Report["counts"], checks: number, style: Style): string {
  const wrong = counts.error + counts.warn;
  const auto = findings.filter(({ fix }) => fix.kind === "auto").length;
  if (wrong === 0) return `${paint(style, "green", "all is well")} (${checks} checks)`;
  const safe =
    auto === 0
      ? "none can be fixed by itself"
      : `\`dotbot doctor --fix\` puts ${auto === wrong ? (wrong === 1 ? "it" : "all of them") : `${auto} of them`} right, losing nothing`;
  return `${paint(style, counts.error > 0 ? "red" : "yellow", count(wrong, "finding"))}: ${safe}`;
}

function row(text: string): string {
  return printable(text.replaceAll("\n", " "));
}

export const DOCTOR_OPERATIONS: readonly AnyOperation[] = [doctor, doctorFix];
