/** Settings and the other files by which a project tells dotbot what to do. */
import { DotbotError } from "../../error.ts";
import { baselineIn } from "../../scan/scan.ts";
import { patternFault } from "../../scan/find.ts";
import { placeText, type SettingsFinding } from "../../settings.ts";
import { quote } from "../../text.ts";
import { manual, type Check, type Finding } from "../finding.ts";
import type { Patient } from "../patient.ts";

const settings: Check<Patient> = {
  id: "settings",
  about: "settings can be read and mean something",
  run({ loaded }) {
    const told = (severity: Finding["severity"], { origin, message, hint, example }: SettingsFinding): Finding => ({
      severity,
      finding: message,
      evidence: [placeText(origin)],
      remedy: manual([hint ?? "mend it there", example].filter((part) => part !== undefined).join("; for example: ")),
    });
    return [
      ...loaded.faults.map((fault) => told("error", fault)),
      ...loaded.warnings.map((warning) => told("warn", warning)),
    ];
  },
};

const patterns: Check<Patient> = {
  id: "scan-patterns",
  about: "the project's own scan patterns can be matched in bounded time",
  run({ loaded }) {
    return loaded.settings.scan.patterns.flatMap(({ name, pattern }): Finding[] => {
      const fault = patternFault(pattern);
      if (fault === null) return [];
      return [
        {
          severity: "error",
          finding: `the scan's pattern ${quote(name)} is refused, and so is every scan`,
          evidence: [pattern, fault],
          remedy: manual("rewrite or remove it: dotbot config set scan.patterns"),
        },
      ];
    });
  },
};

const baseline: Check<Patient> = {
  id: "scan-baseline",
  about: "the scan's baseline can be read, and gives reasons",
  run({ repo }) {
    try {
      const { unreasoned } = baselineIn(repo.stateRoot);
      if (unreasoned.length === 0) return [];
      return [
        {
          severity: "warn",
          finding: "entries of the scan's baseline give no reason, and exempt nothing",
          evidence: unreasoned.map(({ file, pattern }) => `${file}: ${pattern}`),
          remedy: manual("write a reason beside each, or remove the entry"),
        },
      ];
    } catch (error) {
      if (!(error instanceof DotbotError)) throw error;
      return [
        {
          severity: "error",
          finding: "the scan's baseline can't be read",
          evidence: [error.message],
          remedy: manual(error.hint ?? "mend it"),
        },
      ];
    }
  },
};

export const SETTINGS_CHECKS: readonly Check<Patient>[] = [settings, patterns, baseline];
