/** Text of other people that is shown or stored, with the secrets that the scan knows taken out of it. Pure. */
import { ALLOW, redact } from "./exemptions.ts";
import { builtInEngine } from "./find.ts";

export function redactText(text: string): string {
  const hits = builtInEngine().scan(new TextEncoder().encode(text), "");
  let clean = text;
  for (const { pattern, secret } of hits) {
    // A path into a home folder is no secret of this kind: without it a message says nothing.
    if (pattern !== "home-path" && pattern !== ALLOW && secret.length > 4)
      clean = clean.replaceAll(secret, redact(secret));
  }
  return clean;
}
