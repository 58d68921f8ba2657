/** What coding agents find here: how they start dotbot, and which repositories a call of theirs could mean. */
import { isAbsolute, join } from "node:path";

import { exists, readText } from "../../files.ts";
import { repositoriesInside } from "../../guard/structure.ts";
import { AGENT_NAMES, AGENTS, type AgentName } from "../../init/agents.ts";
import { parseJsonc } from "../../init/jsonc.ts";
import { isJsonObject } from "../../json.ts";
import { count, quote } from "../../text.ts";
import { manual, NOTHING_TO_DO, some, type Check, type Finding } from "../finding.ts";
import type { Patient } from "../patient.ts";

const mcpConfig: Check<Patient> = {
  id: "mcp-config",
  about: "agents' MCP entries start a dotbot that exists",
  run({ call, repo }) {
    return AGENT_NAMES.flatMap((name): Finding[] => {
      const path = join(repo.mainRoot, AGENTS[name].path);
      const command = commandIn(name, readText(path));
      if (command === null || canStart(command, call.env)) return [];
      return [
        {
          severity: "warn",
          finding: `${AGENTS[name].title} is told to start ${quote(command, 200)}, which isn't there`,
          evidence: [path],
          remedy: manual(`dotbot init --agents ${name}`),
        },
      ];
    });
  },
};

function canStart(command: string, env: Readonly<Record<string, string | undefined>>): boolean {
  return isAbsolute(command) || /[/\\]/.test(command)
    ? exists(command)
    : Bun.which(command, { PATH: env["PATH"] ?? env["Path"] ?? "" }) !== null;
}

/** The command of the entry called dotbot; null where there is no file, no entry, or nothing that can be read. */
function commandIn(name: AgentName, text: string | null): string | null {
  if (text === null) return null;
  const agent = AGENTS[name];
  if (agent.servers === "mcp_servers") {
    const section = /^\[mcp_servers\.(?:"dotbot"|dotbot)\][ \t]*\r?\n((?:(?!\[).*(?:\r?\n|$))*)/m.exec(text)?.[1] ?? "";
    const value = /^[ \t]*command[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/m.exec(section);
    return value?.[1]?.replace(/\\(["\\])/g, "$1") ?? value?.[2] ?? null;
  }
  const parsed = parseJsonc(text);
  const servers = parsed.ok && isJsonObject(parsed.value) ? parsed.value[agent.servers] : undefined;
  const entry = isJsonObject(servers) ? servers["dotbot"] : undefined;
  const command = isJsonObject(entry) ? entry["command"] : undefined;
  return typeof command === "string" ? command : null;
}

const workspace: Check<Patient> = {
  id: "workspace",
  about: "whether a call without dir could mean several repositories",
  async run({ call, repo }) {
    const inside = await repositoriesInside(call, repo);
    if (inside.length === 0) return [];
    return [
      {
        severity: "info",
        finding: `${count(inside.length, "other repository", "other repositories")} right inside this one: over MCP, guard and task calls without dir are refused here unless the caller's repository is known`,
        evidence: some(inside.map(({ dir, ownerRepo }) => (ownerRepo === null ? dir : `${dir} (${ownerRepo})`))),
        remedy: NOTHING_TO_DO,
      },
    ];
  },
};

export const AGENT_CHECKS: readonly Check<Patient>[] = [mcpConfig, workspace];
