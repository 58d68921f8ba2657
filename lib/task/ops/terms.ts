/** How long, and by what sign of life, a claim holds: what every verb that claims a task takes. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import { duration, DURATION_WORDS, parseDuration } from "../../duration.ts";
import { quote } from "../../text.ts";

export const claimTermsFields = {
  ttl: v.optional(
    duration(
      "How long the claim holds without a sign of life, as 30m or 2h; 2h by default. Every call of the holder is one.",
    ),
  ),
  pid: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.description("A process of this machine whose end frees the claim at once."),
    ),
  ),
};
export const claimFlags = { ttl: { value: "duration" }, pid: { value: "pid" } } as const;

export function termsOf(input: { ttl?: string | undefined; pid?: number | undefined }): {
  ttlMs?: number;
  pid?: number;
} {
  const ttlMs = input.ttl === undefined ? undefined : parseDuration(input.ttl);
  if (input.ttl !== undefined && (ttlMs === undefined || ttlMs <= 0)) {
    throw new DotbotError("INVALID_INPUT", `ttl ${quote(input.ttl)} isn't ${DURATION_WORDS}`, {
      example: "dotbot task claim --ttl 30m",
    });
  }
  return { ...(ttlMs === undefined ? {} : { ttlMs }), ...(input.pid === undefined ? {} : { pid: input.pid }) };
}
