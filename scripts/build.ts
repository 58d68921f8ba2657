/**
 * Compiles dotbot into one binary.
 *
 *   bun scripts/build.ts                        dist/dotbot, for this machine
 *   bun scripts/build.ts --target linux-arm64   dist/linux-arm64/dotbot
 *   bun scripts/build.ts --all                  every target, each in its folder
 *
 * SHA256SUMS in dist/ lists what one call built, in the form that `sha256sum -c` reads. Another machine's runtime comes
 * from the package registry that npm is set up with.
 */
import { join } from "node:path";

import { compile } from "./compile.ts";
import { programOf, targetNamed, TARGETS, type Target } from "./targets.ts";

const root = join(import.meta.dir, "..");
const dist = join(root, "dist");

/** Builds for a target, or for this machine; returns the binary's path below dist/. */
async function build(target: Target | null): Promise<string> {
  const name =
    target === null ? (process.platform === "win32" ? "dotbot.exe" : "dotbot") : join(target.name, programOf(target));
  await compile({
    entry: join("cmd", "dotbot.ts"),
    outfile: join(dist, name),
    ...(target === null ? {} : { target: `bun-${target.name}` }),
  });
  return name;
}

async function sha256(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}

function targets(args: readonly string[]): readonly (Target | null)[] {
  if (args.length === 0) return [null];
  if (args.length === 1 && args[0] === "--all") return TARGETS;
  const wanted = args.map((arg) => arg.replace(/^--target=?/, "")).filter((arg) => arg !== "");
  return wanted.map(targetNamed);
}

const sums: string[] = [];
// One after the other: each build holds its runtime, a hundred megabytes, in memory.
for (const target of targets(process.argv.slice(2))) {
  const name = await build(target);
  sums.push(`${await sha256(join(dist, name))}  ${name}\n`);
  console.log(join("dist", name));
}
await Bun.write(join(dist, "SHA256SUMS"), sums.join(""));
