/**
 * Every setting there is: its key, type, default and description. Types, validation, the JSON Schema, `config show` and the
 * reference are derived from here. Pure.
 *
 * A key is `section.name` and nests like that in a file. Its environment name is DOTBOT_SECTION_NAME.
 * To add a setting: one entry. Keep transforms and checks out of it: JSON Schema can't say them (`flaw` in table.ts is for
 * those).
 */
import * as v from "valibot";

import { duration } from "../duration.ts";

const text = (description: string) => v.pipe(v.string(), v.minLength(1), v.description(description));
const flag = (description: string) => v.pipe(v.boolean(), v.description(description));
const texts = (description: string) => v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.description(description));

/** What git takes for a branch name, as far as one expression can say it. */
const BRANCH = /^(?![-/.])(?!.*(?:\.\.|\/[/.]|@\{))[^\u0000-\u0020\u007F~^:?*[\\]*[^\u0000-\u0020\u007F~^:?*[\\/.]$/;
const branch = (description: string) =>
  v.pipe(v.string(), v.regex(BRANCH, "must be a branch name, such as main or team/queue"), v.description(description));

const COMMIT_FORMAT = /^(?:[^{}\r\n]|\{(?:type|name|id8|id|slug|category)\})+$/;

const build = () =>
  v.strictObject({
    provenance: v.optional(
      section("Who did what, from where", {
        require_session: v.optional(
          flag(
            "Over MCP, creating a task and every transition must name a session_id (an explicit `unknown` is accepted).",
          ),
          true,
        ),
      }),
      {},
    ),
    queue: v.optional(
      section("The task queue", {
        tracked: v.optional(
          v.pipe(
            v.nullable(v.boolean()),
            v.description(
              "Whether the project's branches track the task files. null: as git has it, so a project that tracks them goes on to.",
            ),
          ),
          null,
        ),
        branch: v.optional(
          branch("The branch to which `task save` commits a snapshot of an untracked queue."),
          "dotbot/queue",
        ),
      }),
      {},
    ),
    git: v.optional(
      section("The repository", {
        base_branch: v.optional(
          v.pipe(
            v.nullable(branch("The branch from which worktrees are cut and to which they are completed.")),
            v.description(
              "The branch from which worktrees are cut and to which they are completed. null: the remote's default branch, else main or master.",
            ),
          ),
          null,
        ),
      }),
      {},
    ),
    worktree: v.optional(
      section("Worktrees of tasks", {
        default: v.optional(flag("`task start` makes the task's worktree as well."), false),
        complete_on_done: v.optional(flag("`task done` goes on to `wt complete`."), false),
        root: v.optional(
          v.pipe(
            v.nullable(v.pipe(v.string(), v.minLength(1))),
            v.description(
              "The folder that holds the worktrees; relative to the state root. null: ../worktrees/<repository>.",
            ),
          ),
          null,
        ),
        disposable: v.optional(
          texts(
            "Names (globs, at any depth) of ignored files and folders that can be made again: they don't keep a worktree from being removed.",
          ),
          [
            "node_modules",
            "dist",
            "build",
            "out",
            "target",
            "coverage",
            ".venv",
            "venv",
            "__pycache__",
            "*.pyc",
            ".pytest_cache",
            ".mypy_cache",
            ".ruff_cache",
            ".tox",
            ".gradle",
            ".next",
            ".nuxt",
            ".turbo",
            ".cache",
            ".parcel-cache",
            "*.tsbuildinfo",
            ".DS_Store",
          ],
        ),
        include_mode: v.optional(
          v.pipe(
            v.picklist(["copy", "link"]),
            v.description("How what `.worktreeinclude` names comes into a new worktree."),
          ),
          "copy",
        ),
        post_create: v.optional(texts("Shell commands run in a new worktree, one after the other."), []),
        post_create_timeout: v.optional(duration("How long each of the post-create commands may take."), "10m"),
      }),
      {},
    ),
    commit: v.optional(
      section("Commits that dotbot makes", {
        format: v.optional(
          v.pipe(
            v.string(),
            v.regex(
              COMMIT_FORMAT,
              "must be one line; its placeholders are {type}, {name}, {id8}, {id}, {slug} and {category}",
            ),
            v.description(
              "Subject of the commit that completes a task. {type} is `fix` for the category bugfix, otherwise `feat`.",
            ),
          ),
          "{type}: {name} [task:{id8}]",
        ),
      }),
      {},
    ),
    task: v.optional(
      section("Tasks", {
        categories: v.optional(
          texts("Categories beside core, feature, enhancement, bugfix, infrastructure and ui-ux."),
          [],
        ),
      }),
      {},
    ),
    claim: v.optional(
      section("Claims", {
        ttl: v.optional(duration("How long a claim lasts without a sign of life of its holder."), "2h"),
      }),
      {},
    ),
    lock: v.optional(
      section("Locks", {
        wait: v.optional(duration("How long to wait for a lock that another process holds."), "10s"),
      }),
      {},
    ),
    hooks: v.optional(
      section("Command hooks", {
        on_status: v.optional(
          texts("Shell commands run after a task has changed its status; they get the transition as JSON on stdin."),
          [],
        ),
        timeout: v.optional(duration("How long each hook may take."), "30s"),
      }),
      {},
    ),
    verify: v.optional(
      section("Verification before done", {
        timeout: v.optional(duration("How long a verify script may take that names no time of its own."), "5m"),
        total_timeout: v.optional(duration("How long all verify scripts together may take."), "30m"),
        max_output_bytes: v.optional(
          v.pipe(
            v.number(),
            v.integer(),
            v.minValue(1024),
            v.maxValue(16_777_216),
            v.description("How much of a script's output is kept."),
          ),
          65_536,
        ),
        cache: v.optional(flag("A result is used again while the tree and the scripts are the same."), true),
      }),
      {},
    ),
    scan: v.optional(
      section("The privacy scan", {
        framework_paths: v.optional(
          texts(
            "Globs from the state root: what is found there warns and doesn't block, since it belongs to a framework.",
          ),
          [".bot/core/**", ".bot/hooks/**", ".bot/systems/**", ".bot/recipes/**"],
        ),
        allow: v.optional(texts("Globs from the repository's root, of files that aren't scanned."), []),
        max_file_bytes: v.optional(
          v.pipe(v.number(), v.integer(), v.minValue(1), v.description("Larger files are skipped, and named.")),
          10_485_760,
        ),
        patterns: v.optional(
          v.pipe(
            v.array(
              v.strictObject({
                name: v.pipe(
                  v.string(),
                  v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "must be lower-case words joined with dashes"),
                  v.description("The name under which a violation is reported."),
                ),
                pattern: text("A regular expression (JavaScript, Unicode), matched within a line."),
              }),
            ),
            v.description("Patterns beside the built-in ones."),
          ),
          [],
        ),
      }),
      {},
    ),
    mcp: v.optional(
      section("The MCP server", {
        toolsets: v.optional(
          v.pipe(
            v.array(v.picklist(["task", "wt", "guard", "doctor", "all"])),
            v.minLength(1),
            v.description("The tools that are offered; `all` adds the rarely used ones."),
          ),
          ["task", "wt", "guard", "doctor"],
        ),
        read_only: v.optional(flag("Only tools that change nothing are offered."), false),
      }),
      {},
    ),
  });

let built: ReturnType<typeof build> | undefined;

/** Made when it is first asked for: few verbs need it, and it is large. */
export function settingsSchema(): ReturnType<typeof build> {
  return (built ??= build());
}

type Mutable = v.InferOutput<ReturnType<typeof build>>;
type DeepReadonly<T> = T extends readonly (infer I)[]
  ? readonly DeepReadonly<I>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

export type Settings = DeepReadonly<Mutable>;

function section<E extends v.ObjectEntries>(description: string, entries: E) {
  return v.pipe(v.strictObject(entries), v.description(description));
}
