/** The entry of the binary: the real host, the real registry, and the exit status. */
import { version } from "../package.json" with { type: "json" };
import type { ResolveTarget } from "../lib/invoke.ts";
import { NOUNS } from "../lib/ops.ts";
import { realHost } from "./host.ts";
import { main } from "./main.ts";
import { mcpSurface } from "./mcp.ts";
import type { Surface } from "./route.ts";
import { shellSurfaces } from "./surfaces.ts";

// Loaded with the first operation: it brings the file system along, which `--version` has no use for.
const resolve: ResolveTarget = async (...call) => await (await import("../lib/target.ts")).resolveTarget(...call);

const surfaces: Readonly<Record<string, Surface>> = {
  mcp: mcpSurface({ version, nouns: NOUNS, resolve }),
  ...shellSurfaces(),
};

const status = await main(realHost(), { version, nouns: NOUNS, surfaces, resolve });
// Every write was awaited to its last byte, and what a program lets go of at a natural end costs it two milliseconds. After a
// signal something may besides still hold the process: a read of stdin.
process.exit(status);
