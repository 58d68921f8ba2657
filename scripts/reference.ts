/** Writes REFERENCE.md; with `--check` only says, by status 1, that the file isn't what it would write. */
import { join } from "node:path";

import { referenceText } from "../cmd/reference.ts";
import { allOperations, NOUNS } from "../lib/ops.ts";
import { expectation } from "../lib/schema.ts";
import { settingsTable } from "../lib/settings/table.ts";

const settings = [...settingsTable().values()].map(({ key, env, field }) => ({
  key,
  env,
  type: expectation(field),
  default: JSON.stringify(field.default ?? null),
  description: field.description,
}));

const path = join(import.meta.dir, "..", "REFERENCE.md");
const text = referenceText({ nouns: NOUNS, operations: await allOperations(), settings });

if (process.argv.includes("--check")) {
  const file = Bun.file(path);
  const present = (await file.exists()) ? await file.text() : "";
  if (present !== text) {
    console.error("REFERENCE.md is out of date: npm run reference");
    process.exitCode = 1;
  }
} else {
  await Bun.write(path, text);
}
