/** Compiles one entry into one program, the way dotbot ships: for the build, for tests, and for what the bench compares with. */
import { mkdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const root = join(import.meta.dir, "..");

export interface CompileOptions {
  /** Path of the entry, absolute or from the project's root. */
  readonly entry: string;
  /** Absolute path of the program. It appears there whole: a program that runs meanwhile keeps the old one. */
  readonly outfile: string;
  /** Bun's name of another machine, such as `bun-linux-arm64`; this machine when absent. */
  readonly target?: string;
}

/** Throws when the compiler fails; its own words are on stderr by then. */
export async function compile({ entry, outfile, target }: CompileOptions): Promise<void> {
  const folder = dirname(outfile);
  const fresh = join(folder, `.new-${process.pid}-${basename(outfile)}`);
  await mkdir(folder, { recursive: true });
  const child = Bun.spawn(
    [
      process.execPath,
      "build",
      entry,
      "--compile",
      "--minify",
      "--bytecode",
      // Top-level await and bytecode go together only in this format. In it, Bun lifts the imports of node:* modules to the
      // top of a bundle, even those of modules that load lazily (8 ms for the prompts alone): chunks of their own prevent that.
      "--format=esm",
      "--splitting",
      // A compiled program would otherwise read these of whatever folder it is started in, and run a preload named there.
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      ...(target === undefined ? [] : [`--target=${target}`]),
      `--outfile=${fresh}`,
    ],
    { cwd: root, stdin: "ignore", stdout: "ignore", stderr: "inherit" },
  );
  if ((await child.exited) !== 0)
    throw new Error(`bun build failed for ${entry}${target === undefined ? "" : ` (${target})`}`);
  await rename(fresh, outfile);
}
