/** `dotbot mcp`: the server for agents, over stdio. Everything that it needs loads when it starts. */
import type { Program } from "./mcp/serve.ts";
import type { Surface } from "./route.ts";

export function mcpSurface(program: Program): Surface {
  return {
    summary: "Serve the tools to an agent over stdio (MCP)",
    usage: "mcp [--root <path>] [--toolsets task,wt,guard,doctor,all] [--read-only] [--lock-wait <time>] [--quiet]",
    details: [
      "Speaks the Model Context Protocol on stdin and stdout, revision 2026-07-28 and the handshake revisions down from 2025-11-25. Every verb of task, wt, guard and doctor is a tool; rarely used ones only with --toolsets all. Logs go to stderr.",
      "Where it stands: --root (or -C), else DOTBOT_ROOT, CLAUDE_PROJECT_DIR, the working directory, in this order. Without a repository there, tools work with dir.",
      "The settings mcp.toolsets and mcp.read_only hold where no flag is given.",
    ].join("\n"),
    examples: [],
    complete: ["--root", "--toolsets", "--read-only", "--lock-wait", "--quiet"],
    run: async (args, host) => await (await import("./mcp/serve.ts")).serve(args, host, program),
  };
}
