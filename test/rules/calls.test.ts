/** Calls that have one place, or none. */
import { expect, test } from "bun:test";

import { sources } from "../kit/source.ts";

const files = await sources("lib", "cmd");

interface Rule {
  readonly what: string;
  readonly call: RegExp;
  /** Where it is allowed. */
  readonly in: readonly string[];
  readonly why: string;
}

const RULES: readonly Rule[] = [
  {
    what: "process.exit",
    call: /\bprocess\.exit\(/,
    in: ["cmd/dotbot.ts"],
    why: "It drops whatever a pipe hasn't taken yet: set the exit status and return.",
  },
  {
    what: "console",
    call: /\bconsole\.\w+\(/,
    in: [],
    why: "stdout is the answer's, over MCP the protocol's; narration goes through ctx.note.",
  },
  {
    what: "the clock",
    call: /\bDate\.now\(|\bnew Date\(\)|\bnew Date(?![\w(])/,
    in: ["cmd/host.ts", "lib/git/advance.ts", "lib/git/refs.ts"],
    why: "Time comes from ctx.now, so that tests can set it. (Those two of git compare with the file system's own times.)",
  },
  {
    what: "randomness",
    call: /\bMath\.random\(|\bcrypto\.randomUUID\(|\brandomUUID\(/,
    in: ["cmd/host.ts", "lib/task/ledger-database.ts"],
    why: "Ids come from ctx.uuid; the ledger alone draws lots, for how long it waits for a lock.",
  },
  {
    what: "the environment",
    call: /\bprocess\.env\b|\bBun\.env\b/,
    in: ["cmd/host.ts"],
    why: "A hook's or an agent's environment is the caller's: it travels as ctx.env.",
  },
  {
    what: "the working directory",
    call: /\bprocess\.(cwd|chdir)\(/,
    in: ["cmd/host.ts"],
    why: "Where the caller stands is ctx.cwd; over MCP the process's own means nothing.",
  },
  {
    what: "the standard streams",
    call: /\bprocess\.(stdout|stderr|stdin)\b|\bBun\.(stdout|stderr|stdin)\b/,
    in: ["cmd/host.ts", "cmd/prompt.ts", "cmd/mcp/stdio.ts"],
    why: "The first touch of one costs 4 to 15 ms, and stdout has one writer.",
  },
  {
    what: "spawning",
    call: /\bBun\.spawn(Sync)?\(|\bBun\.\$/,
    in: ["lib/git/run.ts", "lib/shell.ts"],
    why: "Children get a scrubbed environment, a closed stdin and an end: lib/git/run.ts for git, lib/shell.ts for the rest.",
  },
  { what: "eval", call: /\beval\(|\bnew Function\(/, in: [], why: "Nothing that dotbot reads is code." },
];

test.each(RULES.map((rule) => [rule.what, rule] as const))("%s has its place", (_, rule) => {
  const offences = files
    .filter(({ path }) => !rule.in.includes(path))
    .flatMap(({ path, code }) =>
      code
        .split("\n")
        .filter((line) => rule.call.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
  expect(offences.length === 0 ? "" : `${offences.join("\n")}\n${rule.why}`).toBe("");
});
