/** Writes man/dotbot.1; with `--check` only says, by status 1, that the file isn't what it would write. */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import { manPage } from "../cmd/man.ts";
import { mcpSurface } from "../cmd/mcp.ts";
import { shellSurfaces } from "../cmd/surfaces.ts";
import type { Surface } from "../cmd/route.ts";
import { allOperations, NOUNS } from "../lib/ops.ts";
import { settingsTable } from "../lib/settings/table.ts";
import { SESSION_VARIABLES } from "../lib/task/provenance.ts";
import { resolveTarget } from "../lib/target.ts";

const surfaces: Readonly<Record<string, Surface>> = {
  mcp: mcpSurface({ version: "", nouns: NOUNS, resolve: resolveTarget }),
  ...shellSurfaces(),
};

const environment = [
  [SESSION_VARIABLES.join(", "), "the caller's session, as history names it; the first one that is set"],
  ["DOTBOT_OWNER, DOTBOT_CLAIM", "who holds claims, by a name of your own or by the token that the claim returned"],
  ["DOTBOT_BY", "who acts, as history names it; USER otherwise"],
  ["NO_COLOR, FORCE_COLOR, COLUMNS", "how output is drawn"],
  ["CI", "no question is asked"],
  ...[...settingsTable().values()].map(({ env, key }) => [env, `the setting ${key}`] as const),
] as const;

const path = join(import.meta.dir, "..", "man", "dotbot.1");
const text = manPage({ nouns: NOUNS, operations: await allOperations(), surfaces, environment });

if (process.argv.includes("--check")) {
  const file = Bun.file(path);
  const present = (await file.exists()) ? await file.text() : "";
  if (present !== text) {
    console.error("man/dotbot.1 is out of date: npm run man");
    process.exitCode = 1;
  }
} else {
  await mkdir(dirname(path), { recursive: true });
  await Bun.write(path, text);
}
