/**
 * Draws docs/queue.svg, the picture in README: `dotbot task graph --all` of a small queue that this makes in a scratch repository.
 * `drawPicture` is what the test compares the file with. Needs a built program: `npm run picture` builds first.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const PICTURE = join(import.meta.dir, "..", "docs", "queue.svg");

type Drawn = readonly [slug: string, status: string, effort: string, dependencies: readonly string[]];

const QUEUE: readonly Drawn[] = [
  ["design-the-schema", "done", "S", []],
  ["build-the-store", "done", "M", ["design-the-schema"]],
  ["add-the-search", "in-progress", "M", ["build-the-store"]],
  ["add-the-cart", "needs-input", "S", ["build-the-store"]],
  ["take-the-money", "todo", "L", ["add-the-cart"]],
  ["write-the-manual", "todo", "S", ["add-the-search", "take-the-money"]],
  ["send-the-mail", "analysed", "S", ["build-the-store"]],
];

/** The picture as this program draws it. The ids are fixed, so that it is the same every time. */
export async function drawPicture(program: string): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "dotbot-picture-"));
  try {
    for (const [n, [slug, status, effort, dependencies]] of QUEUE.entries()) {
      const digits = (Math.imul(n + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
      const folder = join(root, ".bot", "workspace", "tasks", status);
      const words = slug.replaceAll("-", " ");
      mkdirSync(folder, { recursive: true });
      writeFileSync(
        join(folder, `${slug}-${digits}.json`),
        JSON.stringify({
          id: `${digits}-0000-4000-8000-000000000000`,
          name: words.charAt(0).toUpperCase() + words.slice(1),
          slug,
          status,
          effort,
          priority: 10 * (n + 1),
          dependencies,
          created_at: "2026-01-01T00:00:00Z",
          updated_at: "2026-01-01T00:00:00Z",
        }),
      );
    }
    run(["git", "init", "--quiet"], root);
    return run([program, "task", "graph", "--all", "--format", "svg"], root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

function run(argv: readonly string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...argv], {
    cwd,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")} ended with ${exitCode}\n${stderr.toString()}`);
  return stdout.toString();
}

if (import.meta.main) {
  const program = process.platform === "win32" ? "dotbot.exe" : "dotbot";
  writeFileSync(PICTURE, await drawPicture(join(import.meta.dir, "..", "dist", program)));
}
