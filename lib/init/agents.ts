/**
 * The MCP entry in the project-level files of coding agents: added to what is there, brought up to date, taken back. Files keep
 * their other servers, keys, comments and layout. Pure.
 *
 * Formats: an object of servers in JSON (with comments, where the agent reads them), or a TOML table.
 */
import { DotbotError } from "../error.ts";
import { formatJson, isJsonObject, tryParseJson, type JsonObject, type ParseResult } from "../json.ts";
import { quote } from "../text.ts";
import { sameText, type OwnedFile } from "./content.ts";
import { isBlankJsonc, parseJsonc, setJsonc, unsetJsonc } from "./jsonc.ts";

interface JsonAgent {
  readonly title: string;
  /** From the project's root, with slashes. */
  readonly path: string;
  /** The key of the object of servers. */
  readonly servers: "mcpServers" | "servers";
  /** The agent reads comments in the file. */
  readonly comments: boolean;
  /** It wants the transport named. */
  readonly typed: boolean;
  /** Files and folders, from the project's root, that say that the agent is used there. */
  readonly signs: readonly string[];
}

interface TomlAgent {
  readonly title: string;
  readonly path: string;
  readonly servers: "mcp_servers";
  readonly signs: readonly string[];
}

// AGENTS.md is no sign: many agents read it.
export const AGENTS = {
  claude: {
    title: "Claude Code",
    path: ".mcp.json",
    servers: "mcpServers",
    comments: false,
    typed: false,
    signs: [".mcp.json", ".claude", "CLAUDE.md"],
  },
  codex: { title: "Codex", path: ".codex/config.toml", servers: "mcp_servers", signs: [".codex"] },
  cursor: {
    title: "Cursor",
    path: ".cursor/mcp.json",
    servers: "mcpServers",
    comments: true,
    typed: false,
    signs: [".cursor", ".cursorrules"],
  },
  vscode: {
    title: "VS Code",
    path: ".vscode/mcp.json",
    servers: "servers",
    comments: true,
    typed: true,
    signs: [".vscode", ".github/copilot-instructions.md"],
  },
  gemini: {
    title: "Gemini CLI",
    path: ".gemini/settings.json",
    servers: "mcpServers",
    comments: true,
    typed: false,
    signs: [".gemini", "GEMINI.md"],
  },
} as const satisfies Readonly<Record<string, JsonAgent | TomlAgent>>;

export type AgentName = keyof typeof AGENTS;

export const AGENT_NAMES = ["claude", "codex", "cursor", "vscode", "gemini"] as const satisfies readonly AgentName[];

/** The command that starts the server: a name on everybody's PATH, or one machine's path. */
export interface Launcher {
  readonly command: string;
  /** Whether a path that an entry names is there. */
  readonly exists: (path: string) => boolean;
}

/**
 * An agent's file, with its entry. `write` and `remove` throw REFUSED, with file and position, for a content that they can't
 * read; nothing has been changed then.
 */
export function agentFile(name: AgentName, launcher: Launcher): OwnedFile {
  const agent = AGENTS[name];
  const ways =
    agent.servers === "mcp_servers"
      ? { write: toToml(agent, launcher), remove: fromToml(agent, launcher) }
      : { write: toJson(agent, launcher), remove: fromJson(agent, launcher) };
  const own = isBareName(launcher.command)
    ? {}
    : { uncommittable: `it names ${launcher.command}, a path of this machine: put dotbot on PATH to share the file` };
  return { path: agent.path, ...ways, ...own };
}

const ARGS = ["mcp"];

function entryFor({ typed }: JsonAgent, { command }: Launcher): JsonObject {
  return { ...(typed ? { type: "stdio" } : {}), command, args: ARGS };
}

function toJson(agent: JsonAgent, launcher: Launcher) {
  return (current: string | null): string => {
    const entry = entryFor(agent, launcher);
    const fresh = formatJson({ [agent.servers]: { dotbot: entry } });
    if (current === null || current.trim() === "") return fresh;
    const servers = readServers(agent, current);
    if (servers === "only comments") return `${current.replace(/\s*$/, "\n")}${fresh}`;
    const present = servers["dotbot"];
    if (!isJsonObject(present)) return setJsonc(current, [agent.servers, "dotbot"], entry);
    let text = current;
    for (const [key, value] of updates(present, entry, launcher)) {
      const path = [agent.servers, "dotbot", key];
      text = value === undefined ? unsetJsonc(text, path) : setJsonc(text, path, value);
    }
    return text;
  };
}

/** What has to change in an entry that is there, one key after the other. One that starts this dotbot stays as it is. */
function updates(
  present: JsonObject,
  entry: JsonObject,
  launcher: Launcher,
): readonly (readonly [string, JsonObject[string]])[] {
  const { command, args } = present;
  const ours = typeof command === "string" && isDotbot(command) && Array.isArray(args) && args[0] === "mcp";
  if (ours && present["url"] === undefined) {
    const there = isBareName(command) || launcher.exists(command);
    const typed = entry["type"] === undefined || present["type"] === "stdio";
    return [
      ...(there ? [] : ([["command", launcher.command]] as const)),
      ...(typed ? [] : ([["type", "stdio"]] as const)),
    ];
  }
  const gone = ["url", "httpUrl", "headers"].filter((key) => present[key] !== undefined);
  const type = entry["type"] ?? (present["type"] === undefined ? undefined : "stdio");
  return [
    ...gone.map((key) => [key, undefined] as const),
    ...(type === undefined ? [] : ([["type", type]] as const)),
    ["command", launcher.command],
    ["args", ARGS],
  ];
}

function fromJson(agent: JsonAgent, launcher: Launcher) {
  return (current: string): string | null => {
    if (current.trim() === "") return current;
    const servers = readServers(agent, current);
    const present = servers === "only comments" ? undefined : servers["dotbot"];
    const command = isJsonObject(present) ? untouchedCommand(present, agent) : undefined;
    if (command === undefined) return current;
    const fresh = toJson(agent, { ...launcher, command })(null);
    return sameText(current, fresh) ? null : unsetJsonc(current, [agent.servers, "dotbot"]);
  };
}

/** The command of an entry that is as dotbot writes it, whatever its path to the binary; undefined for any other. */
function untouchedCommand(present: JsonObject, agent: JsonAgent): string | undefined {
  const { command, args, type, ...more } = present;
  const ours = Array.isArray(args) && args.length === 1 && args[0] === "mcp" && Object.keys(more).length === 0;
  const typed = agent.typed ? type === "stdio" : type === undefined;
  return ours && typed && typeof command === "string" && isDotbot(command) ? command : undefined;
}

function readServers(agent: JsonAgent, text: string): JsonObject | "only comments" {
  const parsed: ParseResult = agent.comments ? parseJsonc(text) : tryParseJson(text);
  if (!parsed.ok) {
    if (agent.comments && isBlankJsonc(text)) return "only comments";
    throw unreadable(agent, `:${parsed.line}:${parsed.column}: isn't valid JSON: ${parsed.message}`, parsed.hint);
  }
  if (!isJsonObject(parsed.value)) throw unreadable(agent, ":1:1: should hold a JSON object");
  const servers = parsed.value[agent.servers];
  if (servers === undefined) return {};
  if (isJsonObject(servers)) return servers;
  throw unreadable(agent, `: ${quote(agent.servers)} should be an object of servers`);
}

function tomlBlock({ command }: Launcher): string {
  // A JSON string is a TOML basic string.
  return `[mcp_servers.dotbot]\ncommand = ${JSON.stringify(command)}\nargs = ["mcp"]\n`;
}

function toToml(agent: TomlAgent, launcher: Launcher) {
  return (current: string | null): string => {
    const block = tomlBlock(launcher);
    if (current === null || current.trim() === "") return block;
    const servers = parseToml(agent, current)["mcp_servers"];
    if (isTable(servers) && servers["dotbot"] !== undefined) return current;
    const eol = current.includes("\r\n") ? "\r\n" : "\n";
    const body = current.endsWith("\n") ? current : current + eol;
    const next = body + eol + block.replaceAll("\n", eol);
    try {
      Bun.TOML.parse(next);
    } catch {
      throw unreadable(
        agent,
        ": `mcp_servers` is written in a form that no table can be added to",
        "write it as [mcp_servers.NAME] tables",
      );
    }
    return next;
  };
}

function fromToml(agent: TomlAgent, launcher: Launcher) {
  return (current: string): string | null => {
    parseToml(agent, current);
    const written =
      /(?:^|(?:\r?\n)?(?<=\n))\[mcp_servers\.dotbot\]\r?\ncommand = ("(?:[^"\\\r\n]|\\.)*")\r?\nargs = \["mcp"\](?:\r?\n(?=\s*(?:\[|$))|$)/;
    const command: unknown = JSON.parse(written.exec(current)?.[1] ?? "null");
    if (typeof command !== "string" || !isDotbot(command)) return current;
    const rest = current.replace(written, "");
    return sameText(current, tomlBlock({ ...launcher, command })) ? null : rest;
  };
}

function parseToml(agent: TomlAgent, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = Bun.TOML.parse(text);
    return isTable(value) ? value : {};
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^TOML Parse error: /, "") : String(error);
    throw unreadable(agent, `:${faultyLine(text)}: isn't valid TOML: ${why}`);
  }
}

/** The parser doesn't say where: the line after the longest beginning that parses. */
function faultyLine(text: string): number {
  const lines = text.split("\n");
  for (let count = lines.length - 1; count > 0; count--) {
    try {
      Bun.TOML.parse(lines.slice(0, count).join("\n"));
      return count + 1;
    } catch {
      // The fault is in this beginning as well.
    }
  }
  return 1;
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isBareName(command: string): boolean {
  return !/[/\\]/.test(command);
}

function isDotbot(command: string): boolean {
  return /(?:^|[/\\])dotbot(?:\.exe)?$/i.test(command);
}

function unreadable(
  agent: { readonly title: string; readonly path: string },
  problem: string,
  hint?: string,
): DotbotError {
  return new DotbotError("REFUSED", `${agent.path}${problem}`, {
    hint: `${hint ?? "mend the file"}, then run it again; nothing was changed`,
    details: { agent: agent.title, file: agent.path },
  });
}
