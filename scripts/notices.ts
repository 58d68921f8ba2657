/**
 * Writes THIRD-PARTY-NOTICES.md: whose code is in the binary, and under which licence. With `--check` it only says, by
 * status 1, that the file isn't what it would write.
 *
 * The list isn't kept by hand, nor taken from dependencies, of which much is never bundled and some is bundled unseen. The
 * bundler says which files of which packages end up in the bundle; the source maps of those files say what had been bundled
 * into them before they were published. A package whose licence text can't be found stops the script.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const modules = join(root, "node_modules");
const path = join(root, "THIRD-PARTY-NOTICES.md");

interface Notice {
  readonly name: string;
  readonly version: string;
  /** The package's own word for it, an SPDX expression. */
  readonly licence: string;
  /** The package that it was bundled into before that one was published. */
  readonly within?: string;
  readonly text: string;
}

// ── what is in the bundle ────────────────────────────────────────────────────────────────────────────────────────────

const MODULES = "node_modules/";

/** Files of packages, relative to the project's root, of which at least a byte is in the bundle. */
async function bundledFiles(): Promise<string[]> {
  const result = await Bun.build({
    entrypoints: [join(root, "cmd", "dotbot.ts")],
    root,
    target: "bun",
    format: "esm",
    splitting: true,
    // What is shaken out of the bundle needs no notice.
    minify: true,
    metafile: true,
  });
  const files = new Set<string>();
  for (const output of Object.values(result.metafile?.outputs ?? {})) {
    for (const [file, { bytesInOutput }] of Object.entries(output.inputs)) {
      const at = file.lastIndexOf(MODULES);
      if (at !== -1 && bytesInOutput > 0) files.add(file.slice(at));
    }
  }
  if (files.size === 0)
    throw new Error("the bundler names no file of any package: has the form of its metafile changed?");
  return [...files].toSorted();
}

/** The package of a path that runs through node_modules: `@scope/name` or `name`. */
function packageOf(file: string): string {
  const [first = "", second] = file.slice(file.lastIndexOf(MODULES) + MODULES.length).split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}

/** Packages that a published file contains, by name, with their versions where the path of a source tells. */
function insideOf(file: string): ReadonlyMap<string, string | undefined> {
  const map = join(root, `${file}.map`);
  const sources = existsSync(map) ? readObject(map)["sources"] : [];
  return new Map(
    (Array.isArray(sources) ? sources : [])
      .map(String)
      .filter((source) => source.includes(MODULES))
      .map((source) => [packageOf(source), /\/\.pnpm\/(?:@[^/+]+\+)?[^/@]+@([^/_(]+)/.exec(source)?.[1]]),
  );
}

// ── what its owners say ──────────────────────────────────────────────────────────────────────────────────────────────

function readObject(file: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof value !== "object" || value === null) throw new Error(`${file} holds no object`);
  return { ...value };
}

function noticeOf(name: string, outer?: { readonly name: string; readonly version: string | undefined }): Notice {
  const folder = join(modules, name);
  if (!existsSync(folder)) {
    throw new Error(
      `${name} is in the binary, within ${outer?.name ?? "it"}, and node_modules doesn't hold its licence`,
    );
  }
  const manifest = readObject(join(folder, "package.json"));
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice|copying)(?:\.(?:md|txt))?$/i.test(file));
  if (files.length === 0) throw new Error(`${name} comes without a licence text`);
  return {
    name,
    // The text is that of the copy in node_modules; the version that of the one in the binary.
    version: outer?.version ?? String(manifest["version"]),
    licence: String(manifest["license"]),
    ...(outer === undefined ? {} : { within: outer.name }),
    text: files
      .toSorted()
      .map((file) => tidy(readFileSync(join(folder, file), "utf8")))
      .join("\n\n"),
  };
}

/** Line ends and the blanks before them, nothing else. */
function tidy(text: string): string {
  return text
    .replace(/^\uFEFF/, "")
    .replaceAll("\r\n", "\n")
    .replace(/[ \t]+$/gm, "")
    .replace(/^\n+|\n+$/g, "");
}

async function notices(): Promise<Notice[]> {
  const found = new Map<string, Notice>();
  const files = await bundledFiles();
  for (const name of new Set(files.map(packageOf))) found.set(name, noticeOf(name));
  for (const file of files) {
    for (const [name, version] of insideOf(file)) {
      if (!found.has(name)) found.set(name, noticeOf(name, { name: packageOf(file), version }));
    }
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** What zx says of the libraries that its published files contain: names, authors, addresses and licences. */
function zxLibraries(): string {
  const text = readFileSync(join(modules, "zx", "build", "3rd-party-licenses"), "utf8");
  return tidy(text).replace(/^THIRD PARTY LICENSES\s+/, "");
}

/** Bun's page on its own licence and on those of what it links. */
function bunPage(): string {
  return tidy(readFileSync(join(modules, "bun-types", "docs", "project", "license.mdx"), "utf8"))
    .replace(/^---\n[^]*?\n---\n+/, "")
    .replace(/^## /gm, "### ");
}

// ── the page ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function page(all: readonly Notice[]): string {
  const bun = String(readObject(join(modules, "bun", "package.json"))["version"]);
  const fenced = (text: string): string[] => ["```text", text, "```", ""];
  return [
    "# Third-party notices",
    "",
    "The dotbot binary contains Bun and these packages. Written by `npm run notices`; don't edit.",
    "",
    "| package | version | licence |",
    "| --- | --- | --- |",
    `| bun | ${bun} | MIT; what it links is listed at the end |`,
    ...all.map(
      ({ name, version, licence, within }) =>
        `| ${name} | ${version} | ${licence}${within === undefined ? "" : ` (within ${within})`} |`,
    ),
    "",
    // Packages of one project tend to share their text.
    ...[...Map.groupBy(all, ({ text }) => text)].flatMap(([text, group]) => [
      `## ${group.map(({ name }) => name).join(", ")}`,
      "",
      ...fenced(text),
    ]),
    "## Libraries within zx",
    "",
    ...fenced(zxLibraries()),
    "## bun",
    "",
    bunPage(),
    "",
  ].join("\n");
}

const text = page(await notices());
if (process.argv.includes("--check")) {
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
    console.error("THIRD-PARTY-NOTICES.md is out of date: npm run notices");
    process.exitCode = 1;
  }
} else {
  await Bun.write(path, text);
}
