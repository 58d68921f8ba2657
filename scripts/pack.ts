/**
 * The npm packages of a release, from binaries: one for each platform, and `dotbot`, which has them all as optional
 * dependencies, of exactly its own version, and puts the launcher on the PATH. The version is that of package.json, and
 * stands nowhere else.
 */
import { chmod, copyFile, mkdir, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

import manifest from "../package.json" with { type: "json" };
import { programOf, type Target } from "./targets.ts";

const root = join(import.meta.dir, "..");

export interface Packed {
  readonly name: string;
  readonly version: string;
  /** Absolute path of the tarball. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  /** What is in it, relative to the package. */
  readonly contents: readonly string[];
}

/** The package that holds one platform's binary. */
export function packageName(target: Target): string {
  return `@dotbot/${target.os}-${target.cpu}${target.libc === "musl" ? "-musl" : ""}`;
}

/**
 * Packs the binaries given, and the launcher, into a folder that is emptied first. The launcher depends on those that are
 * given and on no others.
 * @param binaries absolute paths
 * @returns the launcher last: it may only be published when all that it depends on is there
 */
export async function pack(binaries: ReadonlyMap<Target, string>, folder: string): Promise<Packed[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const packed: Packed[] = [];
  for (const [target, binary] of binaries)
    packed.push(await packFolder(await stagePlatform(target, binary, folder), folder));
  packed.push(await packFolder(await stageLauncher([...binaries.keys()], folder), folder));
  await rm(join(folder, STAGE), { recursive: true });
  await Bun.write(
    join(folder, "SHA256SUMS"),
    packed.map(({ file, sha256 }) => `${sha256}  ${file.slice(folder.length + 1)}\n`).join(""),
  );
  return packed;
}

// ── what is in a package ─────────────────────────────────────────────────────────────────────────────────────────────

const STAGE = "stage";

/** What every package says of itself. */
const COMMON = {
  version: manifest.version,
  license: manifest.license,
};

const LEGAL = ["LICENSE", "THIRD-PARTY-NOTICES.md"] as const;

async function stagePlatform(target: Target, binary: string, folder: string): Promise<string> {
  const name = packageName(target);
  const stage = join(folder, STAGE, target.name);
  const program = programOf(target);
  await copy(binary, join(stage, "bin", program));
  await chmod(join(stage, "bin", program), 0o755);
  await writeJson(join(stage, "package.json"), {
    name,
    ...COMMON,
    description: `The ${target.os} ${target.cpu}${target.libc === undefined ? "" : ` (${target.libc})`} binary of dotbot`,
    os: [target.os],
    cpu: [target.cpu],
    ...(target.libc === undefined ? {} : { libc: [target.libc] }),
    files: [`bin/${program}`, ...LEGAL],
    // Package managers that keep packages in archives have to unpack this one: a program can't be run from within.
    preferUnplugged: true,
  });
  await Bun.write(
    join(stage, "README.md"),
    `# ${name}\n\nThe binary of dotbot for one platform, at \`bin/${program}\`. Install \`dotbot\`, which finds it.\n`,
  );
  for (const file of LEGAL) await copy(join(root, file), join(stage, file));
  return stage;
}

async function stageLauncher(targets: readonly Target[], folder: string): Promise<string> {
  const stage = join(folder, STAGE, "dotbot");
  const names = targets.map(packageName);
  await copy(join(root, "scripts", "npm", "dotbot.cjs"), join(stage, "bin", "dotbot.cjs"));
  await chmod(join(stage, "bin", "dotbot.cjs"), 0o755);
  const readme = await Bun.file(join(root, "scripts", "npm", "README.md")).text();
  await Bun.write(
    join(stage, "README.md"),
    readme.replace("@@BINARIES@@", names.map((name) => `\`${name}\``).join(", ")),
  );
  await writeJson(join(stage, "package.json"), {
    name: manifest.name,
    ...COMMON,
    description: manifest.description,
    type: "commonjs",
    main: "bin/dotbot.cjs",
    bin: { dotbot: "bin/dotbot.cjs" },
    man: "man/dotbot.1",
    engines: manifest.engines,
    files: ["bin/dotbot.cjs", "man/dotbot.1", ...LEGAL],
    optionalDependencies: Object.fromEntries(names.map((name) => [name, manifest.version])),
  });
  for (const file of [...LEGAL, join("man", "dotbot.1")]) await copy(join(root, file), join(stage, file));
  return stage;
}

async function copy(from: string, to: string): Promise<void> {
  if (!existsSync(from)) throw new Error(`a package needs ${from}, which isn't there`);
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to);
}

async function writeJson(path: string, value: object): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await Bun.write(path, `${JSON.stringify(value, null, 2)}\n`);
}

// ── tarballs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Has npm make the tarball, as it would when publishing. */
async function packFolder(stage: string, folder: string): Promise<Packed> {
  const child = Bun.spawn(["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
    cwd: stage,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (status !== 0) throw new Error(`npm pack failed in ${stage}\n${stderr}`);
  const { name, version, filename, size, files } = reportOf(JSON.parse(stdout), stage);
  const file = join(folder, filename);
  return {
    name,
    version,
    file,
    bytes: size,
    sha256: new Bun.CryptoHasher("sha256").update(await Bun.file(file).bytes()).digest("hex"),
    contents: files.map(({ path }) => path),
  };
}

interface PackReport {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** `npm pack --json` prints a list, or, as of npm 12, an object by name; one entry either way. */
function reportOf(printed: unknown, stage: string): PackReport {
  const [only]: readonly unknown[] = typeof printed === "object" && printed !== null ? Object.values(printed) : [];
  if (!isReport(only)) throw new Error(`npm pack said something unexpected in ${stage}: ${JSON.stringify(printed)}`);
  return only;
}

function isReport(value: unknown): value is PackReport {
  return (
    typeof value === "object" &&
    value !== null &&
    "filename" in value &&
    typeof value.filename === "string" &&
    "files" in value &&
    Array.isArray(value.files)
  );
}
