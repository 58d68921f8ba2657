/** Who may import whom. Each rule says why, so that whoever meets it knows what it protects. */
import { expect, test } from "bun:test";

import { type Source, sources } from "../kit/source.ts";

const lib = await sources("lib");
const cmd = await sources("cmd");
const all = [...lib, ...cmd];

const NOUNS = ["task", "wt", "guard", "doctor", "config", "init"];

/** Fails with every offence and the reason for the rule. */
function holds(offences: readonly string[], why: string): void {
  expect(offences.length === 0 ? "" : `${offences.join("\n")}\n${why}`).toBe("");
}

function importing(files: readonly Source[], banned: (name: string, file: Source) => boolean): string[] {
  return files.flatMap((file) =>
    file.imports.filter((name) => banned(name, file)).map((name) => `${file.path} imports ${name}`),
  );
}

test("lib never imports cmd", () => {
  holds(
    importing(lib, (name) => name.startsWith("cmd/")),
    "The core has two edges, command line and tools, and must not know either: move what both need into lib.",
  );
});

test("nothing that ships imports tests or scripts", () => {
  holds(
    importing(all, (name) => /^(test|scripts)\//.test(name)),
    "The binary must not carry what only development needs.",
  );
});

test("a noun never imports another noun's operations", () => {
  const operations = new Set(
    lib
      .filter((file) => /\boperation\(/.test(file.code) && NOUNS.some((noun) => file.path.startsWith(`lib/${noun}/`)))
      .map((file) => file.path),
  );
  const nounOf = (path: string): string | undefined => NOUNS.find((noun) => path.startsWith(`lib/${noun}/`));
  holds(
    importing(lib, (name, file) => {
      const owner = nounOf(file.path);
      return operations.has(name) && owner !== undefined && nounOf(name) !== owner;
    }),
    "Operations are the surface of a noun: calling one from another runs its validation, output and hooks by accident. Share the function below it, in lib.",
  );
});

test("each door to the world has one file", () => {
  const doors: readonly (readonly [what: RegExp, files: readonly string[], why: string])[] = [
    [
      /^(node:)?fs(\/promises)?$/,
      ["lib/files.ts", "lib/git/native.ts", "lib/git/run.ts", "lib/shell.ts", "cmd/host.ts", "cmd/mcp/stdio.ts"],
      "File errors become DotbotError, with path and remedy, in lib/files.ts; git's layout is read in lib/git/native.ts.",
    ],
    [
      /^bun:sqlite$/,
      ["lib/sqlite.ts"],
      "One file knows how a database is opened and what its errors mean; the ledger's schema and transactions are lib/task/ledger*.ts.",
    ],
    [
      /^lib\/sqlite\.ts$/,
      ["lib/lock.ts", "lib/git/index-lock.ts", "lib/task/ledger-database.ts", "lib/task/queue.ts"],
      "Data lives in the ledger alone; the others take locks, and the queue tells damage from other errors.",
    ],
    [
      /^(node:)?child_process$/,
      [],
      "node:child_process costs 8 ms at start-up: Bun.spawn, in lib/git/run.ts or lib/shell.ts.",
    ],
    [
      /^(node:)?(readline|repl|http|https|net|worker_threads|cluster|dgram)$/,
      [],
      "dotbot opens no socket and asks through @clack/prompts.",
    ],
  ];
  for (const [what, files, why] of doors) {
    holds(
      importing(all, (name, file) => what.test(name) && !files.includes(file.path)),
      why,
    );
  }
});

test("each costly package has one importer", () => {
  const importers: readonly (readonly [name: RegExp, importer: RegExp, why: string])[] = [
    [/^cac$/, /^cmd\/cli\.ts$/, "cac guesses types of values: argv.ts shields them, and only cli.ts hands them on."],
    [
      /^@clack\//,
      /^cmd\/prompt\.ts$/,
      "Prompts load at the first question: reading them costs more than most commands.",
    ],
    [
      /^zx/,
      /^lib\/shell\.ts$/,
      "zx costs 18 ms at import and a bash per call: only a user's own command strings are worth it.",
    ],
    [
      /^@valibot\/to-json-schema$/,
      /^lib\/jsonschema\.ts$/,
      "It throws on schema parts that valibot allows: one place knows which.",
    ],
    [/^@modelcontextprotocol\//, /^cmd\/mcp\//, "The protocol's library loads with `dotbot mcp` only."],
  ];
  for (const [name, importer, why] of importers) {
    holds(
      importing(all, (found, file) => name.test(found) && !importer.test(file.path)),
      why,
    );
  }
});

test("pure files import pure files only", () => {
  const PURE = [
    "lib/text.ts",
    "lib/error.ts",
    "lib/schema.ts",
    "lib/explain.ts",
    "lib/duration.ts",
    "lib/json.ts",
    "lib/git/parse.ts",
    "lib/task/model.ts",
    "lib/task/pick.ts",
    "lib/task/claim.ts",
    "lib/task/reconcile.ts",
    "lib/guard/intent.ts",
    "lib/wt/plan.ts",
    "cmd/argv.ts",
    "cmd/help.ts",
    "cmd/complete.ts",
  ];
  const byPath = new Map(all.map((file) => [file.path, file]));
  const IMPURE = new Set([
    "lib/files.ts",
    "lib/git/native.ts",
    "lib/git/run.ts",
    "lib/shell.ts",
    "lib/process.ts",
    "lib/sqlite.ts",
    "lib/task/ledger-database.ts",
    "cmd/host.ts",
  ]);
  const trail = (path: string, seen: Set<string>): string | null => {
    if (seen.has(path)) return null;
    seen.add(path);
    if (IMPURE.has(path) || /^(bun:|(node:)?(fs|os|child_process)\b)/.test(path)) return path;
    for (const next of byPath.get(path)?.loads ?? []) {
      const found = trail(next, seen);
      if (found !== null) return `${path} → ${found}`;
    }
    return null;
  };
  holds(
    PURE.filter((path) => byPath.has(path)).flatMap((path) => trail(path, new Set()) ?? []),
    "What is decided there must depend on its arguments alone, so that a table can test it. Ask the world outside and hand the answer in.",
  );
});
