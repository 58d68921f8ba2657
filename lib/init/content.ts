/**
 * What `init` puts into `.bot/`, as functions from a file's content to its content: `write` adds what is missing, `remove`
 * takes back what `write` gave and nothing else. Both leave what people wrote. Pure.
 *
 * The same functions tell what is dotbot's to commit: a file is, when its content is what they make of HEAD's.
 */
import { editJson, formatJson, isJsonObject, tryParseJson } from "../json.ts";

export interface OwnedFile {
  /** From the state root, with slashes. */
  readonly path: string;
  /** The content to have, given what there is (null: no file). */
  write(current: string | null): string;
  /** The content that is left, null when the file goes; the same content where it isn't dotbot's to take. */
  remove(current: string): string | null;
  /** Why the file mustn't be committed, although it was written: it holds something of this machine. */
  readonly uncommittable?: string;
}

export interface Terms {
  /** The project's branches track the queue. */
  readonly tracked: boolean;
  /** What dotbot owns is made as new, edited or not. */
  readonly force: boolean;
}

export function botFiles({ tracked, force }: Terms): readonly OwnedFile[] {
  return [
    {
      path: ".bot/README.md",
      write: (current) => (current === null || force ? README : current),
      remove: (current) => (sameText(current, README) ? null : current),
    },
    {
      path: ".bot/.gitignore",
      write: (current) => withIgnored(current ?? "", tracked ? MACHINE : [...MACHINE, "workspace/tasks"], force),
      remove: withoutIgnored,
    },
    {
      path: ".bot/settings.json",
      write: (current) => settings(current, tracked),
      remove: (current) => ([false, true].some((it) => sameText(current, settings(null, it))) ? null : current),
    },
  ];
}

/** Equal but for line ends, which a checkout may have changed. */
export function sameText(a: string, b: string): boolean {
  return a === b || a.replaceAll("\r\n", "\n") === b.replaceAll("\r\n", "\n");
}

function settings(current: string | null, tracked: boolean): string {
  if (current === null || current.trim() === "") return formatJson(tracked ? { queue: { tracked } } : {});
  const parsed = tracked ? tryParseJson(current) : null;
  if (parsed === null || !parsed.ok || !isJsonObject(parsed.value)) return current;
  const queue = parsed.value["queue"] ?? {};
  if (!isJsonObject(queue) || queue["tracked"] !== undefined) return current;
  return editJson(current, { ...parsed.value, queue: { ...queue, tracked } });
}

/** No slashes at the ends: in a worktree these are links, which a pattern with a slash doesn't match. */
const MACHINE = [".control", "/worktrees", ".dotbot-tmp-*"];
const BEGIN = "# >>> dotbot: what belongs to this clone alone";
const END = "# <<< dotbot";

function withIgnored(current: string, patterns: readonly string[], force: boolean): string {
  const eol = current.includes("\r\n") ? "\r\n" : "\n";
  const lines = current === "" ? [] : current.replace(/\r?\n$/, "").split(/\r?\n/);
  const begin = lines.indexOf(BEGIN);
  const end = lines.indexOf(END, begin);
  const marked = begin !== -1 && end !== -1;
  const inside = marked ? lines.slice(begin + 1, end) : [];
  const outside = marked ? [...lines.slice(0, begin), ...lines.slice(end + 1)] : lines;
  const missing = patterns.filter((pattern) => !outside.includes(pattern) && !outside.includes(`/${pattern}`));
  const kept = force ? [] : inside;
  const block = [...kept, ...missing.filter((pattern) => !kept.includes(pattern))];
  if (block.length === 0 || (marked && block.join("\n") === inside.join("\n"))) return current;
  const whole = marked
    ? [...lines.slice(0, begin + 1), ...block, ...lines.slice(end)]
    : [...lines, ...(lines.length === 0 || lines.at(-1) === "" ? [] : [""]), BEGIN, ...block, END];
  return whole.join(eol) + eol;
}

function withoutIgnored(current: string): string | null {
  const block = new RegExp(`(?:^|(?:\\r?\\n)?(?<=\\n))${BEGIN}\\r?\\n(?:[^\\r\\n]*\\r?\\n)*?${END}(?:\\r?\\n|$)`);
  const rest = current.replace(block, "");
  return rest.trim() === "" && rest !== current ? null : rest;
}

const README = `# .bot

The tasks of this project, kept by dotbot for people and coding agents alike.

| here | what it is | in git |
|---|---|---|
| \`workspace/tasks/<status>/\` | one JSON file per task; the folder is its status | no, unless the setting \`queue.tracked\` is true |
| \`settings.json\` | the project's settings: \`dotbot config show\`, \`dotbot config set\` | yes |
| \`hooks/verify/\` | the project's own checks before a task is done | yes |
| \`.control/\` | state of this clone: \`settings.json\` for this machine, the map of worktrees | no |

The files show the queue; the truth is a ledger inside the repository's git folder, which no git command touches. There is
one queue per repository: it lies in the main checkout, and every worktree works on it.

## Working here

\`\`\`
dotbot                        where am I, what is next
dotbot task list              the queue
dotbot task add "name"        a new task
dotbot task start --next      take the next task
dotbot wt create <task>       a branch and a checkout of its own
dotbot task ask <task> …      a question that only a person can answer
dotbot task done <task>       verify, and say it is done
dotbot wt complete <task>     one commit on the base branch
dotbot task save --push       share the queue with the team
\`\`\`

Agents: change a task's status with these commands or the MCP tools of the same names (\`dotbot mcp\`), not by moving or
editing files; work in the task's worktree; give your session id, so that history tells who did what. \`dotbot <command>
--help\` explains each command, \`dotbot doctor\` finds what is wrong.
`;
