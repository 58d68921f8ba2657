/**
 * Writes THIRD-PARTY-NOTICES.md: the licences of everything that is compiled into the binary. With `--check` only says, by
 * status 1, that the file isn't what it would write.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { dependencies } from "../package.json" with { type: "json" };

const root = join(import.meta.dir, "..");

interface Package {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly text: string;
  readonly needs: readonly string[];
}

/** One installed package. Throws where it has no licence file: then somebody has to look. */
function read(name: string): Package {
  const folder = join(root, "node_modules", name);
  const info: { version: string; license?: string; dependencies?: Record<string, string> } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  const files = readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file))
    .toSorted();
  if (files.length === 0) throw new Error(`${name} has no licence file in ${folder}`);
  return {
    name,
    version: info.version,
    licence: info.license ?? "see below",
    text: files.map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim()).join("\n\n"),
    needs: Object.keys(info.dependencies ?? {}),
  };
}

/** What the named packages need, themselves included, in name order. */
function closure(names: readonly string[]): readonly Package[] {
  const found = new Map<string, Package>();
  const add = (name: string): void => {
    if (found.has(name)) return;
    const info = read(name);
    found.set(name, info);
    info.needs.forEach(add);
  };
  names.forEach(add);
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const RULE = "-".repeat(80);
const BUN = `The binary contains the Bun runtime (MIT licence), which links libraries under licences of their own, among them
JavaScriptCore and WebCore's parts of it (LGPL-2.0), BoringSSL, SQLite and zlib. Bun's documentation lists all of them, and says how to
relink the LGPL ones.`;

const text = [
  "dotbot is distributed with software by others.",
  BUN,
  ...closure(Object.keys(dependencies)).map(
    (it) => `${RULE}\n${it.name} ${it.version} (${it.licence})\n${RULE}\n\n${it.text}`,
  ),
  "",
].join("\n\n");

const path = join(root, "THIRD-PARTY-NOTICES.md");
if (process.argv.includes("--check")) {
  const file = Bun.file(path);
  const present = (await file.exists()) ? await file.text() : "";
  if (present !== text) {
    console.error("THIRD-PARTY-NOTICES.md is out of date: npm run notices");
    process.exitCode = 1;
  }
} else {
  await Bun.write(path, text);
}
