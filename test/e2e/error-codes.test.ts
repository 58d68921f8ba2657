/**
 * Every error code of the table, from the real program: its status, one JSON object on stdout, the same on stderr for people.
 * A code without a case here has to say why.
 */
import { expect, test } from "bun:test";

import { ERRORS, type ErrorCode } from "../../lib/error.ts";
import { openSandbox } from "../kit/sandbox.ts";

interface Case {
  /** A shell script: what makes the world. */
  readonly given?: string;
  /** The command line without the leading `dotbot`. */
  readonly run: string;
  /** Put before `dotbot`: where it runs, with which environment. */
  readonly before?: string;
}

const QUEUE = "dotbot init --quiet\ndotbot task add 'Add a login page'\n";
const WORKTREE = `${QUEUE}dotbot wt create 'Add a login page'\ntree=$(dotbot wt path 'Add a login page')\n`;
const LOGIN =
  'git -C "$tree" commit -q --allow-empty -m Empty\necho theirs > "$tree/README.md"\ngit -C "$tree" commit -qam Login\n';
/** A git of which one answer is another. */
const git = (pattern: string, instead: string): string =>
  `mkdir ../fake\nprintf '#!/bin/sh\\ncase "$*" in ${pattern}) ${instead} ;; esac\\nexec %s "$@"\\n' "$(command -v git)" > ../fake/git\nchmod +x ../fake/git\n`;
const FAKE = 'PATH="$PWD/../fake:$PATH" ';
const hook = (script: string): string =>
  `printf '#!/bin/sh\\n${script}\\n' > .git/hooks/pre-commit\nchmod +x .git/hooks/pre-commit\n`;

const CASES: Partial<Record<ErrorCode, Case>> = {
  USAGE: { given: QUEUE, run: "task next One" },
  INVALID_INPUT: { given: QUEUE, run: "task add Two --priority high" },
  UNKNOWN_COMMAND: { run: "tsak list" },
  UNKNOWN_FLAG: { given: QUEUE, run: "task list --statsu todo" },
  NEEDS_ANSWER: { given: QUEUE, run: "task add" },
  AMBIGUOUS_TASK: { given: `${QUEUE}dotbot task add 'Add a login page'\n`, run: "task show 'Add a login page'" },
  CYCLE: { given: QUEUE, run: "task edit 'Add a login page' --add-dependency 'Add a login page'" },
  OUTSIDE_REPOSITORY: { given: QUEUE, run: "task add Two --condition ../secret" },
  INVALID_SETTINGS: { given: `${QUEUE}echo '{' > .bot/settings.json\n`, run: "task add Two" },
  TASK_NOT_FOUND: { given: QUEUE, run: "task show no-such-task" },
  NOT_FOUND: { given: QUEUE, run: "task list -C no/such" },
  ILLEGAL_TRANSITION: { given: QUEUE, run: "task review 'Add a login page'" },
  NOT_HOLDER: {
    given: `${QUEUE}dotbot task claim 'Add a login page' --owner ada\n`,
    run: "task start 'Add a login page' --owner eve",
  },
  CONFLICT: {
    given: `dotbot init --quiet\ndotbot task add-bulk '[{"name":"Plan"}]' --key plan-7\n`,
    run: `task add-bulk '[{"name":"Another plan"}]' --key plan-7`,
  },
  REFUSED: { given: "dotbot init --quiet\n", run: "guard pull" },
  DIRTY: { given: `${WORKTREE}echo more > "$tree/README.md"\n`, run: "wt remove 'Add a login page'" },
  UNMERGED: { given: `${WORKTREE}${LOGIN}`, run: "wt remove 'Add a login page'" },
  MERGE_CONFLICT: {
    given: `${WORKTREE}${LOGIN}echo ours > README.md\ngit commit -qam Ours\ndotbot task done 'Add a login page'\n`,
    run: "wt complete 'Add a login page'",
  },
  REJECTED: {
    given: `dotbot init --quiet\n${hook("echo no; exit 1")}echo one > page.txt\n`,
    run: "guard commit -m Page page.txt",
  },
  SWEPT_IN: {
    given: `dotbot init --quiet\n${hook("echo two >> other.txt; git add other.txt")}`,
    run: "guard commit -m Page page.txt",
    before: "echo one >> page.txt; ",
  },
  NO_GIT: { given: QUEUE, run: "wt status", before: 'PATH="$(dirname "$(command -v dotbot)")" ' },
  GIT_TOO_OLD: {
    given: `${WORKTREE}${git("*version*", "echo git version 2.20.1; exit 0")}`,
    run: "wt sync 'Add a login page'",
    before: FAKE,
  },
  NOT_A_REPOSITORY: { run: "task list", before: "cd ..; " },
  STATE_ROOT_UNKNOWN: { given: "git init -q --bare ../bare.git\n", run: "task add Two", before: "cd ../bare.git; " },
  NO_QUEUE: { run: "config set lock.wait 1m" },
  // A file system on which not even the superuser can make a file.
  READ_ONLY: { given: QUEUE, run: "task graph --format svg --output /sys/graph.svg" },
  LEDGER_DAMAGED: {
    // The number by which a ledger says how new it is lies at byte 60 of an SQLite file.
    given: `${QUEUE}printf '\\177\\377\\377\\377' | dd of=.git/dotbot/queue.db bs=1 seek=60 conv=notrunc status=none\n`,
    run: "task add Two",
  },
  GIT_FAILED: {
    given: `${WORKTREE}${git("*status*", "echo fatal: out of luck >&2; exit 128")}`,
    run: "wt status 'Add a login page'",
    before: FAKE,
  },
  NETWORK: {
    given: "dotbot init --quiet\ngit remote set-url origin git://127.0.0.1:1/nowhere.git\n",
    run: "guard push",
  },
  LOCKED: {
    given: "dotbot init --quiet\necho one > page.txt\ntouch .git/index.lock\n",
    run: "guard add page.txt --lock-wait 50ms",
  },
};

/** Why a code has no case. */
const UNREACHED: Partial<Record<ErrorCode, string>> = {
  UNVERIFIED: "git would have to succeed and then stop working within one call",
  INTERNAL: "a way to provoke it would be a fault to mend",
};

test("every code has a case, or a reason", () => {
  const codes = Object.keys(ERRORS);
  expect([...Object.keys(CASES), ...Object.keys(UNREACHED)].toSorted()).toEqual(codes.toSorted());
});

const cases = Object.entries(CASES).filter(([code]) => code !== "READ_ONLY" || process.platform === "linux");

test.each(cases)("%s", async (code, { given = "", run, before = "" }) => {
  await using sandbox = await openSandbox();
  const made = await sandbox.sh(`{ :\n${given}\n} >/dev/null`);
  if (made.status !== 0) throw new Error(`what comes before failed:\n${given}\n${made.stderr}`);
  const json = await sandbox.sh(`${before}dotbot --json ${run}`);
  const answer: unknown = JSON.parse(json.stdout);
  expect(answer).toMatchObject({ error: { code } });
  const status = Object.entries(ERRORS).find(([name]) => name === code)?.[1][0];
  expect({ status: json.status, stderr: json.stderr }).toEqual({ status: status ?? 0, stderr: "" });

  const text = await sandbox.sh(`${before}dotbot ${run}`);
  expect({ status: text.status, stdout: text.stdout }).toEqual({ status: status ?? 0, stdout: "" });
  expect(text.stderr).toMatch(/^dotbot: \S[^]*\n$/);
});
