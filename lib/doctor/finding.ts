/** What doctor finds: the fact, what it was seen by, and what is to be done. Pure types, and the order in which they are told. */

export type Severity = "info" | "warn" | "error";

/** What is to be done about a finding. `auto`: `--fix` does it, and nothing can be lost by it. */
export type Remedy =
  | { readonly kind: "auto"; readonly plan: string; readonly apply: () => Promise<string> }
  | { readonly kind: "manual"; readonly advice: string }
  /** Nothing is to be done. */
  | { readonly kind: "none" };

export interface Finding {
  readonly severity: Severity;
  /** One sentence, the fact. */
  readonly finding: string;
  /** Paths, values, names: what the fact was seen by. */
  readonly evidence: readonly string[];
  readonly remedy: Remedy;
}

export interface Check<T> {
  /** Kebab-case; what `--only` and answers name it by. */
  readonly id: string;
  /** What is looked at, for the list of checks. */
  readonly about: string;
  readonly run: (patient: T) => Promise<readonly Finding[]> | readonly Finding[];
}

export const SEVERITIES: readonly Severity[] = ["error", "warn", "info"];

/** A list as evidence: the first ones, and how many more there are. */
export function some(items: readonly string[], most = 10): string[] {
  return items.length > most ? [...items.slice(0, most), `… and ${items.length - most} more`] : [...items];
}

export function manual(advice: string): Remedy {
  return { kind: "manual", advice };
}

export const NOTHING_TO_DO: Remedy = { kind: "none" };
