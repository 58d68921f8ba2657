/** The project's own sources, as the rules read them: what each file imports, and its code without comments and types. */
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export const ROOT = join(import.meta.dir, "..", "..");

export interface Source {
  /** From the project's root, with `/`. */
  readonly path: string;
  /** Without comments and types. */
  readonly code: string;
  /** What it imports at run time, statically or not: paths from the root for files of the project, names for the rest. */
  readonly imports: readonly string[];
  /** Those of them that load with the file. */
  readonly loads: readonly string[];
}

const MACRO = /^import [^;]* from "([^"]+)" with \{ type: "macro" \};$/gm;

const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" });

export async function sources(...folders: string[]): Promise<Source[]> {
  const paths = folders.flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.ts`).scanSync({ cwd: ROOT })]).toSorted();
  return await Promise.all(
    paths.map(async (path) => {
      const whole = await Bun.file(join(ROOT, path)).text();
      // A macro is run while the file is read, and this reader runs nothing: it is no import that the program makes.
      const macros = [...whole.matchAll(MACRO)].map(([, name = ""]) => name);
      const text = whole.replace(MACRO, "");
      const found = transpiler.scanImports(text).filter((one) => one.path !== "bun:wrap");
      const of = (some: typeof found): string[] => some.map((one) => resolved(path, one.path));
      return {
        path,
        code: transpiler.transformSync(text),
        imports: [...of(found), ...macros.map((name) => resolved(path, name))],
        loads: of(found.filter((one) => one.kind === "import-statement")),
      };
    }),
  );
}

function resolved(from: string, name: string): string {
  if (!name.startsWith(".")) return name;
  const path = relative(ROOT, join(ROOT, dirname(from), name));
  if (!existsSync(join(ROOT, path))) throw new Error(`${from} imports ${name}, which doesn't exist`);
  return path;
}
