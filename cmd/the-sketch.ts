/**
 * The sketch of this program's commands. Called while the program is bundled (or, run from source, while its caller is read):
 * what is left of it in the binary is the text that it returned.
 */
import { NOUNS } from "../lib/ops.ts";
import { mcpSurface } from "./mcp.ts";
import type { Commands } from "./route.ts";
import { drawSketch } from "./sketch.ts";
import type { WrittenSketch } from "./sketch-text.ts";
import { shellSurfaces } from "./surfaces.ts";

export async function sketchOfDotbot(): Promise<WrittenSketch> {
  const unused = (): never => {
    throw new TypeError("a sketch runs nothing");
  };
  const commands: Commands = {
    nouns: NOUNS,
    surfaces: { mcp: mcpSurface({ version: "", nouns: NOUNS, resolve: unused }), ...shellSurfaces() },
  };
  return await drawSketch(commands);
}
