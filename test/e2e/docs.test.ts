/**
 * What the documentation says works: every command line in it, and every operation's examples.
 *
 * Blocks fenced as `sh` are run, whole, by bash; those below one heading in one repository, one after the other. It has a
 * queue with two tasks and no remote. A comment in front of a block changes that:
 *
 *     <!-- given: commands that run first -->
 *     <!-- skip: why it can't be run -->
 */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { onSurface } from "../../lib/op.ts";
import { allOperations } from "../../lib/ops.ts";
import { displayWidth } from "../../lib/text.ts";
import { dotbot } from "../kit/binary.ts";
import { ELSEWHERE, preparation } from "../kit/examples.ts";
import { openSandbox } from "../kit/sandbox.ts";
import { requireTool } from "../kit/tools.ts";

const root = join(import.meta.dir, "..", "..");

// ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Block {
  readonly line: number;
  readonly text: string;
  readonly given: string;
  readonly skip: string | null;
}

interface Section {
  readonly title: string;
  readonly blocks: readonly Block[];
}

function sectionsOf(page: string): readonly Section[] {
  const sections: { title: string; blocks: Block[] }[] = [{ title: "the beginning", blocks: [] }];
  const lines = page.split("\n");
  let notes: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if (/^#{1,2} /.test(line)) sections.push({ title: line.replace(/^#+ /, ""), blocks: [] });
    else if (line.startsWith("<!-- ")) notes.push(line);
    else if (line.startsWith("```")) {
      const end = lines.indexOf("```", i + 1);
      const note = (name: string): string | undefined =>
        notes
          .find((it) => it.startsWith(`<!-- ${name}: `))
          ?.slice(`<!-- ${name}: `.length)
          .replace(/ -->$/, "");
      if (line === "```sh") {
        const text = lines.slice(i + 1, end).join("\n");
        sections.at(-1)?.blocks.push({ line: i + 1, text, given: note("given") ?? "", skip: note("skip") ?? null });
      }
      i = end;
      notes = [];
    } else if (line.trim() !== "") notes = [];
  }
  return sections.filter(({ blocks }) => blocks.length > 0);
}

const QUEUE =
  "dotbot init --quiet >/dev/null; dotbot task add 'Add a login page' --priority 20 >/dev/null; dotbot task add 'Fix the search' >/dev/null\n";

const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
].filter((page) => readdirSync(join(root, page, "..")).includes(basename(page)));

describe.each(pages)("%s", (page) => {
  const sections = sectionsOf(readFileSync(join(root, page), "utf8"));
  const rows = sections.map((section) => [section.title, section.blocks] as const);
  const needsJq = ([, blocks]: (typeof rows)[number]): boolean =>
    blocks.some(({ text, skip }) => skip === null && /\bjq\b/.test(text));
  const jq = !rows.some(needsJq) || requireTool("jq");
  for (const [title] of jq ? [] : rows.filter(needsJq)) test.skip(title, () => {});
  test.each(jq ? rows : rows.filter((row) => !needsJq(row)))("%s", async (_, blocks) => {
    await using sandbox = await openSandbox();
    await sandbox.sh(QUEUE);
    for (const { line, text, given, skip } of blocks) {
      if (skip !== null) continue;
      const { status, stdout, stderr } = await sandbox.sh(`${given}\n${text}`);
      if (status !== 0) throw new Error(`${page}:${line} ended with ${status}\n${text}\n${stdout}${stderr}`);
    }
  });
});

// ── examples ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const operations = (await allOperations()).filter((op) => onSurface(op, "cli"));

const examples = operations.flatMap((op) => op.examples.map((example) => [example.run, op, example] as const));

describe("every operation's examples", () => {
  test.each(examples)("dotbot %s", async (line, op, example) => {
    if (ELSEWHERE.some(([start]) => line.startsWith(start))) return;
    await using sandbox = await openSandbox();
    const before = preparation(op, example);
    const prepared = await sandbox.sh(before);
    if (prepared.status !== 0) throw new Error(`what is given failed:\n${before}\n${prepared.stderr}`);
    const { status, stdout, stderr } = await sandbox.sh(`dotbot ${line}`);
    // 1 is an answer: nothing to import, something found.
    if (status > 1) throw new Error(`ended with ${status}\n${stdout}${stderr}`);
  });

  test("every verb has one", () => {
    expect(operations.filter((op) => op.examples.length === 0).map((op) => op.name)).toEqual([]);
  });
});

describe("help fits 80 columns", () => {
  test.each([...operations.map((op) => op.name), "completion", "shell-init", "mcp"])("%s", async (name) => {
    const { status, stdout } = await dotbot([...name.split(" "), "--help"], { cwd: root });
    expect(status).toBe(0);
    expect(stdout.split("\n").filter((line) => displayWidth(line) > 80)).toEqual([]);
  });
});
