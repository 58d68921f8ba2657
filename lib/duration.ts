/** Lengths of time as people write them: `500ms`, `30s`, `10m`, `2h`, `7d`, `1h30m`; a bare number is seconds. Pure. */
import * as v from "valibot";

const MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$|^\d+(?:\.\d+)?$/;

export const DURATION_WORDS = "a length of time such as 30s, 10m, 2h or 1h30m";

/** Milliseconds, rounded, or undefined when the text is no length of time. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  const bare = Number(text);
  if (!Number.isNaN(bare)) return Math.round(bare * 1000);
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g))
    total += Number(amount) * (MS[unit ?? ""] ?? 0);
  return Math.round(total);
}

/** An input field that holds a length of time as text, the same on every surface; read it with `parseDuration`. */
export function duration(description: string) {
  return v.pipe(v.string(), v.regex(DURATION, `must be ${DURATION_WORDS}`), v.description(description));
}
