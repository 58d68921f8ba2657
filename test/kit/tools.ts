/**
 * Programs and rights that some tests need and not every machine has. A test that can't run says so and is skipped; where
 * everything has to be there (`DOTBOT_TEST_REQUIRE_TOOLS=1`, as on CI) its absence is a failure instead.
 *
 *     const strace = requireTool("strace");
 *     test.skipIf(!strace)("…", …);
 */
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const TOOLS = [
  "strace",
  "zsh",
  "fish",
  "expect",
  "jq",
  "bash-completion",
  "chromium",
  "unshare",
  "setpriv",
  "tmpfs",
  "root",
  "pwsh",
] as const;
export type Tool = (typeof TOOLS)[number];

/** Nobody's CI has to have these: their absence is always a skip. */
const NEVER_REQUIRED: readonly Tool[] = ["pwsh"];

const known = new Map<Tool, string | null>();

/** Whether the tool can be used. Its absence is told once a process, in a line that the test runner reads. */
export function requireTool(tool: Tool): boolean {
  let missing = known.get(tool);
  if (missing === undefined) {
    missing = whyMissing(tool);
    known.set(tool, missing);
    if (missing !== null) {
      if (process.env["DOTBOT_TEST_REQUIRE_TOOLS"] === "1" && !NEVER_REQUIRED.includes(tool)) {
        throw new Error(`${missing}, and DOTBOT_TEST_REQUIRE_TOOLS=1 wants every test to run`);
      }
      console.log(`needs ${tool}: ${missing}`);
    }
  }
  return missing === null;
}

function whyMissing(tool: Tool): string | null {
  switch (tool) {
    case "root":
      return process.getuid?.() === 0 ? null : "this isn't the superuser";
    case "tmpfs":
      return whyNoTmpfs();
    case "strace":
      return whyNoStrace();
    case "bash-completion":
      return succeeds(["bash", "-c", "test -r /usr/share/bash-completion/bash_completion"])
        ? null
        : "bash-completion isn't installed";
    case "chromium":
    case "expect":
    case "fish":
    case "jq":
    case "pwsh":
    case "setpriv":
    case "unshare":
    case "zsh":
      return Bun.which(tool) === null ? `${tool} isn't installed` : null;
  }
}

/** Installed isn't enough: containers may forbid tracing. */
function whyNoStrace(): string | null {
  if (Bun.which("strace") === null) return "strace isn't installed";
  return succeeds(["strace", "-f", "-e", "trace=none", "true"]) ? null : "strace may not trace here";
}

function whyNoTmpfs(): string | null {
  if (Bun.which("mount") === null) return "mount isn't installed";
  const folder = mkdtempSync(join(tmpdir(), "dotbot-mount-"));
  try {
    if (!succeeds(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder])) return "a tmpfs can't be mounted here";
    succeeds(["umount", folder]);
    return null;
  } finally {
    rmdirSync(folder);
  }
}

function succeeds(command: string[]): boolean {
  return Bun.spawnSync(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exitCode === 0;
}
