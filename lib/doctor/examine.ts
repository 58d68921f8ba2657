/** Runs every check, and puts right what is safe. */
import { DotbotError } from "../error.ts";
import type { Call } from "../op.ts";
import { AGENT_CHECKS } from "./checks/agents.ts";
import { CLAIM_CHECKS } from "./checks/claims.ts";
import { QUEUE_CHECKS } from "./checks/queue.ts";
import { REPOSITORY_CHECKS } from "./checks/repository.ts";
import { SETTINGS_CHECKS } from "./checks/settings.ts";
import { WORKTREE_CHECKS } from "./checks/worktrees.ts";
import { manual, SEVERITIES, type Check, type Finding } from "./finding.ts";
import { examine, type Patient } from "./patient.ts";

export const CHECKS: readonly Check<Patient>[] = [
  ...REPOSITORY_CHECKS,
  ...SETTINGS_CHECKS,
  ...QUEUE_CHECKS,
  ...CLAIM_CHECKS,
  ...WORKTREE_CHECKS,
  ...AGENT_CHECKS,
];

export interface Diagnosis extends Finding {
  readonly check: string;
}

/** What became of one repair. */
export interface Repair {
  check: string;
  ok: boolean;
  /** What was done, or why it couldn't be. */
  outcome: string;
}

export interface Examination {
  readonly findings: readonly Diagnosis[];
  readonly repairs: readonly Repair[];
}

/** What to do about a plan: shown first, one by one carried out if it is wanted. */
export type Consent = (planned: readonly Diagnosis[]) => Promise<boolean>;

/** Looks, and, where `consent` is given and granted, repairs what is safe and looks again. */
export async function doctor(call: Call, consent: Consent | null): Promise<Examination> {
  const first = await examine(call, async (patient) => {
    const findings = await lookAt(patient);
    const planned = findings.filter(({ remedy }) => remedy.kind === "auto");
    if (consent === null || planned.length === 0 || !(await consent(planned))) return { findings, repairs: [] };
    return { findings, repairs: await repairAll(call, planned) };
  });
  if (first.repairs.length === 0) return first;
  // A repair may bring to light what it hid, so the answer is what is there now.
  return await examine(call, async (patient) => ({ findings: await lookAt(patient), repairs: first.repairs }));
}

async function lookAt(patient: Patient): Promise<Diagnosis[]> {
  const all: Diagnosis[] = [];
  for (const check of CHECKS) {
    patient.call.signal.throwIfAborted();
    patient.call.progress(`looking at: ${check.about}`);
    for (const finding of await findingsOf(check, patient)) all.push({ check: check.id, ...finding });
  }
  patient.call.progress(null);
  return all.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

/** A check that can't be made is a finding: it mustn't keep the others from being told. */
async function findingsOf(check: Check<Patient>, patient: Patient): Promise<readonly Finding[]> {
  try {
    return await check.run(patient);
  } catch (error) {
    if (patient.call.signal.aborted || !(error instanceof DotbotError)) throw error;
    return [
      {
        severity: "warn",
        finding: `it couldn't be looked at whether ${check.about}`,
        evidence: [error.message],
        remedy: manual(error.hint ?? "see the message"),
      },
    ];
  }
}

async function repairAll(call: Call, planned: readonly Diagnosis[]): Promise<Repair[]> {
  const repairs: Repair[] = [];
  for (const { check, remedy } of planned) {
    if (remedy.kind !== "auto") continue;
    call.progress(`repairing: ${check}`);
    try {
      repairs.push({ check, ok: true, outcome: await remedy.apply() });
    } catch (error) {
      if (call.signal.aborted || !(error instanceof DotbotError)) throw error;
      repairs.push({ check, ok: false, outcome: error.message });
    }
  }
  return repairs;
}
