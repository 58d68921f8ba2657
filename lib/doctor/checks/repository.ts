/** Git itself, and what in a repository's configuration or git dir surprises whoever works in its checkouts. */
import { basename, join } from "node:path";

import { exists, isDirectory, lstatOrNull } from "../../files.ts";
import { gitDirAt } from "../../git/checkouts.ts";
import { checkoutFault } from "../../git/fault.ts";
import { configBool, atLeast } from "../../git/parse.ts";
import { listRefs } from "../../git/refs.ts";
import { git } from "../../git/run.ts";
import { programsIn } from "../../process.ts";
import { quote, shellWord } from "../../text.ts";
import { manual, NOTHING_TO_DO, type Check, type Finding } from "../finding.ts";
import type { Patient } from "../patient.ts";

const gitVersion: Check<Patient> = {
  id: "git-version",
  about: "git is new enough",
  run({ git: version }) {
    if (atLeast(version, "2.38")) return [];
    const old = !atLeast(version, "2.31");
    return [
      {
        severity: old ? "error" : "warn",
        finding: old
          ? "git is too old for the queue (2.31 is needed)"
          : "git is too old for worktrees and guard (2.38 is needed); the queue works",
        evidence: [`git ${version.text}`],
        remedy: manual("install git 2.38 or newer, or put a newer one first on PATH"),
      },
    ];
  },
};

const stateRoot: Check<Patient> = {
  id: "state-root",
  about: "every checkout leads to the same state root",
  run({ repo }) {
    const findings: Finding[] = [];
    if (!isDirectory(join(repo.stateRoot, ".bot"))) {
      findings.push({
        severity: "error",
        finding: "the state root has no .bot folder, though there is a ledger",
        evidence: [join(repo.stateRoot, ".bot")],
        remedy: manual(
          "was it taken by a clean or a checkout? `dotbot init` makes it again; the tasks are in the ledger and are drawn with the next change, or by `dotbot doctor --fix` after it",
        ),
      });
    }
    if (repo.fault !== null && repo.kind !== "bare") {
      findings.push({
        severity: "error",
        finding: repo.fault.message,
        evidence: [repo.start],
        remedy: manual([repo.fault.hint, repo.fault.example].filter((part) => part !== undefined).join(": ")),
      });
    }
    return findings;
  },
};

const coreBare: Check<Patient> = {
  id: "core-bare",
  about: "the repository wasn't made bare by accident",
  run({ call, repo, config }) {
    if (configBool(config.get("core.bare")?.at(-1) ?? "false") !== true) return [];
    // A bare repository has no index, and no files beside its git dir: with both it was a checkout's.
    const accident = basename(repo.commonDir) === ".git" && exists(join(repo.commonDir, "index"));
    if (!accident) return [];
    return [
      {
        severity: "error",
        finding: "core.bare is true, and there is a checkout: git refuses to work in it",
        evidence: [
          `core.bare=true in ${join(repo.commonDir, "config")}`,
          "usually `git init` or a test that ran in a hook, with GIT_DIR in its environment",
        ],
        remedy: {
          kind: "auto",
          plan: "git config core.bare false",
          apply: async () => {
            await git(call, ["config", "--file", join(repo.commonDir, "config"), "core.bare", "false"], {
              cwd: repo.mainRoot,
              okStatus: [0],
            });
            return "core.bare is false again";
          },
        },
      },
    ];
  },
};

const configSurprises: Check<Patient> = {
  id: "git-config",
  about: "core.worktree, core.hooksPath and extensions.worktreeConfig",
  run({ repo, config }) {
    const findings: Finding[] = [];
    const last = (key: string): string | null => config.get(key)?.at(-1) ?? null;
    const worktree = last("core.worktree");
    if (worktree !== null && repo.superproject === undefined) {
      findings.push({
        severity: "warn",
        finding: "core.worktree sends git elsewhere: the main checkout isn't where its git dir is",
        evidence: [`core.worktree=${worktree}`],
        remedy: manual(`unless that is meant: git -C ${shellWord(repo.mainRoot)} config --unset core.worktree`),
      });
    }
    const hooks = last("core.hookspath");
    const folder =
      hooks === null || hooks.startsWith("~") ? null : join(hooks.startsWith("/") ? "/" : repo.mainRoot, hooks);
    if (folder !== null && !isDirectory(folder)) {
      findings.push({
        severity: "warn",
        finding: "core.hooksPath names a folder that isn't there, so no hook runs",
        evidence: [`core.hooksPath=${hooks ?? ""}`],
        remedy: manual(`make that folder, or: git -C ${shellWord(repo.mainRoot)} config --unset core.hooksPath`),
      });
    }
    if (
      configBool(last("extensions.worktreeconfig") ?? "false") === true &&
      configBool(last("core.bare") ?? "false") === true
    ) {
      findings.push({
        severity: "warn",
        finding:
          "extensions.worktreeConfig is on and the shared config says core.bare: every worktree without its own core.bare=false is broken",
        evidence: ["extensions.worktreeConfig=true", "core.bare=true"],
        remedy: manual(
          `git -C ${shellWord(repo.mainRoot)} config --worktree core.bare true, and remove it from the shared config`,
        ),
      });
    }
    return findings;
  },
};

const leakedEnvironment: Check<Patient> = {
  id: "git-environment",
  about: "no variable sends git elsewhere",
  run({ call }) {
    const set = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"].filter(
      (name) => (call.env[name] ?? "") !== "",
    );
    if (set.length === 0) return [];
    return [
      {
        severity: "info",
        finding: "the environment sends git elsewhere; dotbot ignores it, other programs don't",
        evidence: set.map((name) => `${name}=${call.env[name] ?? ""}`),
        remedy: NOTHING_TO_DO,
      },
    ];
  },
};

const TEN_MINUTES_MS = 10 * 60 * 1000;

const lockFiles: Check<Patient> = {
  id: "lock-files",
  about: "no lock file of a killed git is left",
  run({ call, repo, checkouts }) {
    const candidates = [
      ...checkouts
        .filter(({ present }) => present)
        .flatMap(({ gitDir, path }) =>
          ["index.lock", "HEAD.lock"].map((name) => ({ path: join(gitDir, name), folder: path })),
        ),
      { path: join(repo.commonDir, "packed-refs.lock"), folder: repo.mainRoot },
      { path: join(repo.commonDir, "config.lock"), folder: repo.mainRoot },
    ];
    const old = candidates.filter(({ path }) => {
      const stat = lstatOrNull(path);
      return stat !== null && call.now().getTime() - stat.mtimeMs > TEN_MINUTES_MS;
    });
    if (old.length === 0) return [];
    return old
      .filter(({ folder }) => (programsIn("git", { folders: [folder, repo.commonDir] }) ?? []).length === 0)
      .map(({ path }) => ({
        severity: "warn",
        finding: "a lock file is older than ten minutes and no git seems to be at work: git refuses there",
        evidence: [path],
        // A git in another container can't be seen from here.
        remedy: manual(`when no git works in that checkout, in no container either: rm ${shellWord(path)}`),
      }));
  },
};

const taskBranch: Check<Patient> = {
  id: "task-branch",
  about: "no branch is in the way of task/…",
  async run({ call, repo }) {
    const refs = await listRefs(call, repo.mainRoot, "refs/heads/task");
    if (!refs.has("refs/heads/task")) return [];
    return [
      {
        severity: "error",
        finding: 'a branch called "task" keeps git from making any branch task/…',
        evidence: [`refs/heads/task at ${refs.get("refs/heads/task") ?? ""}`],
        remedy: manual("rename it: git branch -m task another-name"),
      },
    ];
  },
};

const copiedOrMoved: Check<Patient> = {
  id: "moved-worktrees",
  about: "every checkout and its registration name each other",
  run({ repo, checkouts }) {
    return checkouts.flatMap(({ path, gitDir: registered, main, present }): Finding[] => {
      if (main || !present) return [];
      const gitDir = gitDirAt(path);
      if (gitDir === null) {
        return [
          {
            severity: "error",
            finding: `the worktree ${quote(path, 200)} leads to no git dir`,
            evidence: [registered],
            remedy: manual(`git worktree repair ${shellWord(path)}`),
          },
        ];
      }
      const fault = checkoutFault(
        path,
        { workRoot: path, gitDir, commonDir: repo.commonDir, mainRoot: repo.mainRoot },
        null,
      );
      if (fault === null) return [];
      return [
        {
          severity: "error",
          finding: fault.message,
          evidence: [path, gitDir],
          remedy: manual([fault.hint, fault.example].filter((part) => part !== undefined).join(": ")),
        },
      ];
    });
  },
};

const brokenCheckouts: Check<Patient> = {
  id: "registrations",
  about: "every registered worktree is there",
  run({ checkouts, worktrees }) {
    const known = new Set([...worktrees.values()].map(({ path }) => path));
    return checkouts.flatMap(({ path, gitDir, present }): Finding[] => {
      // One of a task is told of with its task.
      if (present || known.has(path)) return [];
      const there = isDirectory(path);
      return [
        {
          severity: "warn",
          finding: there
            ? `the worktree ${quote(path, 200)} lost its .git file`
            : `a registered worktree isn't there: ${quote(path, 200)}`,
          evidence: [gitDir],
          remedy: manual(
            there
              ? `git worktree repair ${shellWord(path)}`
              : "if it was moved: `git worktree repair <where it is>`; if it is gone for good: `git worktree remove` or `dotbot wt prune`. It may be on a disk or in a container that isn't there now",
          ),
        },
      ];
    });
  },
};

export const REPOSITORY_CHECKS: readonly Check<Patient>[] = [
  gitVersion,
  stateRoot,
  coreBare,
  configSurprises,
  leakedEnvironment,
  lockFiles,
  taskBranch,
  brokenCheckouts,
  copiedOrMoved,
];
