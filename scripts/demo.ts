/**
 * The main job, in a scratch repository that this makes itself: a queue with dependencies, worked off by a loop that claims
 * and finishes tasks, and two tasks that go their own way in worktrees and come back as one commit each.
 * Run by `npm run demo` (which builds first). `--keep` leaves the repository where it is.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const dotbot = join(dirname(import.meta.dir), "dist", process.platform === "win32" ? "dotbot.exe" : "dotbot");
const scratch = mkdtempSync(join(tmpdir(), "dotbot-demo-"));
const shop = join(scratch, "shop");
const env = {
  ...process.env,
  DOTBOT_SESSION: "demo",
  DOTBOT_BY: "ada",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.com",
};

interface Outcome {
  readonly status: number;
  readonly stdout: string;
}

function execute(argv: readonly string[], cwd: string, input?: string): Outcome {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...argv], {
    cwd,
    env,
    stdin: input === undefined ? "ignore" : new TextEncoder().encode(input),
    stdout: "pipe",
    stderr: "pipe",
  });
  if (exitCode > 1)
    throw new Error(`${argv.join(" ")} ended with ${exitCode}\n${stdout.toString()}${stderr.toString()}`);
  return { status: exitCode, stdout: stdout.toString() };
}

function say(text: string): void {
  console.log(`\n\u001B[1m${text}\u001B[0m`);
}

/** Runs a command of dotbot and shows it with what it prints, at most `lines` lines of it. */
function show(args: readonly string[], options: { cwd?: string; input?: string; lines?: number } = {}): Outcome {
  const words = args.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
  console.log(`\u001B[2m$ dotbot ${words.join(" ")}\u001B[0m`);
  const outcome = execute([dotbot, ...args], options.cwd ?? shop, options.input);
  const lines = outcome.stdout.trimEnd().split("\n");
  const most = options.lines ?? 12;
  console.log(
    lines.slice(0, most).join("\n") + (lines.length > most ? `\n… and ${lines.length - most} more lines` : ""),
  );
  return outcome;
}

function git(...args: string[]): string {
  return execute(["git", ...args], shop).stdout;
}

/** A project's plan: each area has its tasks one after the other, and the areas build on each other. */
function plan(): string {
  const areas = ["schema", "store", "search", "cart", "checkout", "mail", "admin", "docs"];
  const steps = ["design", "build", "test", "review"];
  const tasks = areas.flatMap((area, a) =>
    steps.map((step, s) => {
      const before = s > 0 ? [`${area}-${steps[s - 1]}`] : a > 0 ? [`${areas[a - 1]}-${steps[1]}`] : [];
      return {
        slug: `${area}-${step}`,
        name: `${step[0]?.toUpperCase()}${step.slice(1)} the ${area}`,
        priority: 10 + a * 5 + s,
        effort: (["XS", "S", "M", "L"] as const)[(a + s) % 4],
        dependencies: before,
        estimate_by: "the planning meeting",
      };
    }),
  );
  return tasks.map((task) => JSON.stringify(task)).join("\n");
}

try {
  say("A repository, and a queue in it");
  mkdirSync(shop);
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(shop, "shop.txt"), "a shop\n");
  git("add", "shop.txt");
  git("commit", "--quiet", "-m", "A shop");
  show(["init"]);
  show(["task", "add-bulk", "-"], { input: plan(), lines: 4 });
  show(["task", "stats"]);
  show(["task", "next"]);

  say("Two tasks at once, each in a worktree of its own");
  for (const name of ["A banner", "A footer"]) show(["task", "add", name, "--priority", "1"]);
  for (const name of ["A banner", "A footer"]) {
    show(["task", "start", name, "--worktree"]);
    const tree = execute([dotbot, "wt", "path", name], shop).stdout.trimEnd();
    const file = `${name.split(" ")[1] ?? ""}.txt`;
    writeFileSync(join(tree, file), `${name}\n`);
    // Said from inside the worktree; the queue is the same from everywhere.
    show(["guard", "add", file], { cwd: tree });
    show(["guard", "commit", "-m", `Draw ${name.toLowerCase()}`, file], { cwd: tree });
    show(["task", "done"], { cwd: tree });
  }
  show(["wt", "list"]);
  for (const name of ["A banner", "A footer"]) show(["wt", "complete", name]);
  console.log("\u001B[2m$ git log --oneline\u001B[0m");
  console.log(git("log", "--oneline").trimEnd());

  say("The rest of the queue, by a loop: claim the next task, do it, say so");
  let finished = 0;
  for (;;) {
    const next = execute([dotbot, "task", "next", "--claim", "--ids"], shop);
    if (next.status !== 0) break;
    execute([dotbot, "task", "done", next.stdout.trim()], shop);
    finished += 1;
  }
  console.log(`${finished} tasks done, in the order of their dependencies`);
  show(["task", "stats"]);
  show(["task", "history", "docs-review"]);
  say(
    `Now in a repository of yours:\n  export PATH="${dirname(dotbot)}:$PATH"   (or copy ${dotbot} to a folder of your PATH)\n  dotbot init`,
  );
  say(
    process.argv.includes("--keep")
      ? `The repository: ${shop}`
      : "Done. (npm run demo -- --keep leaves the repository for you to look at)",
  );
} finally {
  if (!process.argv.includes("--keep")) rmSync(scratch, { recursive: true, force: true });
}
