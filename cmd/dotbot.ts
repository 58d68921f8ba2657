/** The entry of the binary: the real host, the real registry, and the exit status. */
import { version } from "../package.json" with { type: "json" };
import { NOUNS } from "../lib/ops.ts";
import { realHost } from "./host.ts";
import { main } from "./main.ts";
import type { Surface } from "./route.ts";

const surfaces: Readonly<Record<string, Surface>> = {};

const status = await main(realHost(), {
  version,
  nouns: NOUNS,
  surfaces,
  // Loaded with the first operation: it brings the file system along, which `--version` has no use for.
  resolve: async (...call) => await (await import("../lib/target.ts")).resolveTarget(...call),
});
process.exitCode = status;
// After a signal something may still hold the process (a read of stdin); all that was to be written has been.
if (status > 128) process.exit();
