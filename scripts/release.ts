/**
 * Makes a release: builds the binaries, packs them for npm, publishes when asked.
 *
 *   bun scripts/release.ts                          dist/npm/*.tgz and SHA256SUMS; publishes nothing
 *   bun scripts/release.ts --dry-run                the same, and prints what would be published, file by file
 *   bun scripts/release.ts --publish                the same, and `npm publish` for each, the launcher last
 *   … --target linux-x64                            only these platforms (several allowed): to try it out, never with --publish
 *
 * The version is package.json's. Publishing wants a clean checkout, a section of that version in CHANGELOG.md and generated
 * files that are in sync, and says which of them is missing.
 */
import { join, relative } from "node:path";
import { parseArgs } from "node:util";

import { version } from "../package.json" with { type: "json" };
import { compile } from "./compile.ts";
import { pack, type Packed } from "./pack.ts";
import { programOf, targetNamed, TARGETS, type Target } from "./targets.ts";

const root = join(import.meta.dir, "..");

const { values: flags } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    publish: { type: "boolean", default: false },
    target: { type: "string", multiple: true, default: [] },
  },
});
if (flags.publish && flags["dry-run"]) throw new Error("--publish and --dry-run exclude each other");
if (flags.publish && flags.target.length > 0)
  throw new Error("a release has all platforms: --publish takes no --target");

const faults = await unready();
if (flags.publish && faults.length > 0)
  throw new Error(`not ready to publish ${version}:\n${faults.map((fault) => `  ${fault}\n`).join("")}`);

const binaries = new Map<Target, string>();
// One after the other: each build holds its runtime, a hundred megabytes, in memory.
for (const target of flags.target.length === 0 ? TARGETS : flags.target.map(targetNamed)) {
  const outfile = join(root, "dist", target.name, programOf(target));
  await compile({ entry: join("cmd", "dotbot.ts"), outfile, target: `bun-${target.name}` });
  binaries.set(target, outfile);
}
const packed = await pack(binaries, join(root, "dist", "npm"));

for (const one of packed) tell(one, flags["dry-run"]);
if (flags.publish) for (const one of packed) await publish(one);
else if (flags["dry-run"]) {
  console.log("\nwould run, in this order:");
  for (const one of packed) console.log(`  ${publishCommand(one).join(" ")}`);
  if (faults.length > 0)
    console.log(`\nwould refuse to, as long as\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
  console.log("\nnothing has been published");
}

function tell({ name, file, bytes, sha256, contents }: Packed, whole: boolean): void {
  console.log(`${name}@${version}  ${relative(root, file)}  ${(bytes / 1_000_000).toFixed(1)} MB  ${sha256}`);
  if (whole) for (const path of contents) console.log(`    ${path}`);
}

// ── publishing ───────────────────────────────────────────────────────────────────────────────────────────────────────

function publishCommand({ file }: Packed): string[] {
  return ["npm", "publish", "--access", "public", relative(root, file)];
}

async function publish(one: Packed): Promise<void> {
  const child = Bun.spawn(publishCommand(one), { cwd: root, stdin: "inherit", stdout: "inherit", stderr: "inherit" });
  if ((await child.exited) !== 0) {
    throw new Error(
      `${one.name}@${version} wasn't published; what was before it has been. Publish the rest by hand, the launcher last`,
    );
  }
}

/** What keeps this checkout from being released. */
async function unready(): Promise<string[]> {
  const git = await output(["git", "status", "--porcelain"]);
  const changelog = await Bun.file(join(root, "CHANGELOG.md")).text();
  const found: string[] = [];
  if (git.status !== 0 || git.stdout !== "") found.push("the checkout isn't clean: git status");
  if (!changelog.split("\n").some((line) => line.startsWith(`## ${version}`)))
    found.push(`CHANGELOG.md has no section "## ${version}"`);
  for (const script of ["reference", "man", "notices"]) {
    const check = await output([process.execPath, join("scripts", `${script}.ts`), "--check"]);
    if (check.status !== 0) found.push(check.stderr.trim());
  }
  return found;
}

async function output(
  command: string[],
): Promise<{ readonly status: number; readonly stdout: string; readonly stderr: string }> {
  const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { status, stdout, stderr };
}
