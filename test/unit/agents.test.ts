/** The MCP entry in agents' own files: every state that such a file can be in. */
import { describe, expect, test } from "bun:test";

import { AGENT_NAMES, AGENTS, agentFile, type AgentName } from "../../lib/init/agents.ts";

const launcher = { command: "dotbot", exists: (path: string) => path === "/opt/dotbot" };
const write = (name: AgentName, current: string | null): string => agentFile(name, launcher).write(current);
const remove = (name: AgentName, current: string): string | null => agentFile(name, launcher).remove(current);

const FRESH: Readonly<Record<AgentName, string>> = {
  claude: `{
  "mcpServers": {
    "dotbot": {
      "command": "dotbot",
      "args": [
        "mcp"
      ]
    }
  }
}
`,
  codex: `[mcp_servers.dotbot]
command = "dotbot"
args = ["mcp"]
`,
  cursor: `{
  "mcpServers": {
    "dotbot": {
      "command": "dotbot",
      "args": [
        "mcp"
      ]
    }
  }
}
`,
  vscode: `{
  "servers": {
    "dotbot": {
      "type": "stdio",
      "command": "dotbot",
      "args": [
        "mcp"
      ]
    }
  }
}
`,
  gemini: `{
  "mcpServers": {
    "dotbot": {
      "command": "dotbot",
      "args": [
        "mcp"
      ]
    }
  }
}
`,
};

describe.each(AGENT_NAMES.map((name) => [name]))("%s", (name) => {
  test("no file, an empty one and a blank one become the entry", () => {
    for (const current of [null, "", " \n"]) expect(write(name, current)).toBe(FRESH[name]);
  });
  test("a second time changes nothing", () => {
    expect(write(name, FRESH[name])).toBe(FRESH[name]);
  });
  test("taken back, nothing is left", () => {
    expect(remove(name, FRESH[name])).toBeNull();
  });
  test("something broken is refused, by file and line", () => {
    const broken = name === "codex" ? 'model = "x"\n[mcp_servers\n' : '{\n  "mcpServers": {,}\n}\n';
    const place = name === "codex" ? "config.toml:2: isn't valid TOML" : "json:2:18: isn't valid JSON";
    for (const act of [write, remove]) {
      expect(() => act(name, broken)).toThrow(
        expect.objectContaining({ code: "REFUSED", message: expect.stringContaining(place) }),
      );
      expect(() => act(name, broken)).toThrow(AGENTS[name].path);
    }
  });
  test("a path of this machine isn't for sharing", () => {
    expect(agentFile(name, launcher).uncommittable).toBeUndefined();
    expect(agentFile(name, { ...launcher, command: "/opt/dotbot" }).uncommittable).toContain("/opt/dotbot");
  });
});

/** What is there, what it becomes, and what is left of that when the entry is taken back (null: what it was). */
const KEPT: readonly (readonly [what: string, name: AgentName, before: string, after: string, left: string | null])[] =
  [
    [
      "other servers and keys, in their own layout",
      "claude",
      `{"mcpServers":{"git":{"command":"uvx","args":["mcp-server-git"]}},"x":1.0}`,
      `{"mcpServers":{"git":{"command":"uvx","args":["mcp-server-git"]},"dotbot":{"command":"dotbot","args":["mcp"]}},"x":1.0}`,
      null,
    ],
    [
      "a file without servers",
      "gemini",
      `{\n    "theme": "Dracula"\n}\n`,
      `{\n    "theme": "Dracula",\n    "mcpServers": {\n        "dotbot": {\n            "command": "dotbot",\n            "args": [\n                "mcp"\n            ]\n        }\n    }\n}\n`,
      `{\n    "theme": "Dracula",\n    "mcpServers": {\n    }\n}\n`,
    ],
    [
      "comments and a trailing comma",
      "vscode",
      `// shared\n{\n\t"servers": {\n\t\t"git": { "command": "uvx" }, // the // one\n\t},\n\t/* none */ "inputs": [],\n}\n`,
      `// shared\n{\n\t"servers": {\n\t\t"git": { "command": "uvx" }, // the // one\n\t\t"dotbot": {\n\t\t\t"type": "stdio",\n\t\t\t"command": "dotbot",\n\t\t\t"args": [\n\t\t\t\t"mcp"\n\t\t\t]\n\t\t},\n\t},\n\t/* none */ "inputs": [],\n}\n`,
      null,
    ],
    [
      "a comment behind the last server",
      "cursor",
      `{\n  "mcpServers": {\n    "git": {} // mine, too\n  }\n}\n`,
      `{\n  "mcpServers": {\n    "git": {}, // mine, too\n    "dotbot": {\n      "command": "dotbot",\n      "args": [\n        "mcp"\n      ]\n    }\n  }\n}\n`,
      null,
    ],
    [
      "a comment in an object that is empty",
      "vscode",
      `{\n  "servers": {\n    // none yet\n  }\n}\n`,
      `{\n  "servers": {\n    "dotbot": {\n      "type": "stdio",\n      "command": "dotbot",\n      "args": [\n        "mcp"\n      ]\n    }\n    // none yet\n  }\n}\n`,
      null,
    ],
    [
      "comments alone",
      "gemini",
      "// nothing set\n",
      `// nothing set\n${FRESH.gemini}`,
      '// nothing set\n{\n  "mcpServers": {\n  }\n}\n',
    ],
    [
      "a URL in a text is no comment",
      "cursor",
      `{"a":"http://x/*","mcpServers":{}}`,
      `{"a":"http://x/*","mcpServers":{"dotbot":{"command":"dotbot","args":["mcp"]}}}`,
      null,
    ],
    [
      "BOM and CRLF",
      "claude",
      `\uFEFF{\r\n  "mcpServers": {}\r\n}\r\n`,
      `\uFEFF{\r\n  "mcpServers": {\r\n    "dotbot": {\r\n      "command": "dotbot",\r\n      "args": [\r\n        "mcp"\r\n      ]\r\n    }\r\n  }\r\n}\r\n`,
      `\uFEFF{\r\n  "mcpServers": {\r\n  }\r\n}\r\n`,
    ],
    [
      "other tables and comments",
      "codex",
      `# mine\nmodel = "x"\n\n[mcp_servers.git]\ncommand = "uvx" # fast\n`,
      `# mine\nmodel = "x"\n\n[mcp_servers.git]\ncommand = "uvx" # fast\n\n[mcp_servers.dotbot]\ncommand = "dotbot"\nargs = ["mcp"]\n`,
      null,
    ],
    [
      "no newline at the end",
      "codex",
      `model = "x"`,
      `model = "x"\n\n[mcp_servers.dotbot]\ncommand = "dotbot"\nargs = ["mcp"]\n`,
      `model = "x"\n`,
    ],
    [
      "CRLF",
      "codex",
      `a = 1\r\n`,
      `a = 1\r\n\r\n[mcp_servers.dotbot]\r\ncommand = "dotbot"\r\nargs = ["mcp"]\r\n`,
      null,
    ],
  ];

test.each(KEPT)("keeps %s (%s)", (_what, name, before, after, left) => {
  expect(write(name, before)).toBe(after);
  expect(write(name, after)).toBe(after);
  expect(remove(name, after)).toBe(left ?? before);
});

/** An entry that is there: what becomes of it. Taking back leaves every one of these as it is. */
const UPDATED: readonly (readonly [what: string, name: AgentName, before: string, after: string])[] = [
  [
    "dotbot 3's own server is replaced, its environment stays",
    "claude",
    `{"mcpServers":{"dotbot":{"command":"pwsh","args":["-File","dotbot-mcp.ps1"],"env":{"A":"1"}}}}`,
    `{"mcpServers":{"dotbot":{"command":"dotbot","args":["mcp"],"env":{"A":"1"}}}}`,
  ],
  [
    "a remote one is replaced",
    "cursor",
    `{"mcpServers":{"dotbot":{"url":"http://localhost:1"}}}`,
    `{"mcpServers":{"dotbot":{"command":"dotbot","args":["mcp"]}}}`,
  ],
  [
    "one that isn't an object",
    "gemini",
    `{"mcpServers":{"dotbot":null}}`,
    `{"mcpServers":{"dotbot":{"command":"dotbot","args":["mcp"]}}}`,
  ],
  [
    "a transport that is missing where it is needed",
    "vscode",
    `{"servers":{"dotbot":{"command":"dotbot","args":["mcp"]}}}`,
    `{"servers":{"dotbot":{"command":"dotbot","args":["mcp"],"type":"stdio"}}}`,
  ],
  [
    "further arguments stay",
    "claude",
    `{"mcpServers":{"dotbot":{"command":"dotbot","args":["mcp","--read-only"]}}}`,
    `{"mcpServers":{"dotbot":{"command":"dotbot","args":["mcp","--read-only"]}}}`,
  ],
  [
    "a path that is there stays",
    "claude",
    `{"mcpServers":{"dotbot":{"command":"/opt/dotbot","args":["mcp"],"x":1}}}`,
    `{"mcpServers":{"dotbot":{"command":"/opt/dotbot","args":["mcp"],"x":1}}}`,
  ],
  [
    "a path that isn't there any more is replaced",
    "claude",
    `{"mcpServers":{"dotbot":{"command":"/gone/dotbot","args":["mcp","-q"]}}}`,
    `{"mcpServers":{"dotbot":{"command":"dotbot","args":["mcp","-q"]}}}`,
  ],
  [
    "a comment in the entry stays",
    "vscode",
    `{"servers":{"dotbot":{"type":"stdio","command":"old", // mine\n"args":[]}}}`,
    `{"servers":{"dotbot":{"type":"stdio","command":"dotbot", // mine\n"args":[\n  "mcp"\n]}}}`,
  ],
  [
    "a TOML table stays as it is",
    "codex",
    `[mcp_servers.dotbot]\ncommand = "other"\n`,
    `[mcp_servers.dotbot]\ncommand = "other"\n`,
  ],
  [
    "and in another spelling",
    "codex",
    `mcp_servers.dotbot = { command = "other" }\n`,
    `mcp_servers.dotbot = { command = "other" }\n`,
  ],
];

test.each(UPDATED)("%s (%s)", (_what, name, before, after) => {
  expect(write(name, before)).toBe(after);
  if (before !== after) return;
  expect(remove(name, before)).toBe(before);
});

const REFUSED: readonly (readonly [what: string, name: AgentName, text: string, message: string])[] = [
  ["a list", "claude", "[]", ".mcp.json:1:1: should hold a JSON object"],
  [
    "servers that are no object",
    "vscode",
    `{"servers":[]}`,
    `.vscode/mcp.json: "servers" should be an object of servers`,
  ],
  ["comments where the agent takes none", "claude", `{ // x\n}`, ".mcp.json:1:3: isn't valid JSON: a comment"],
  ["servers in an inline table", "codex", `mcp_servers = { git = { command = "x" } }\n`, "no table can be added"],
  ["a comment that isn't closed", "gemini", `{ /* x }`, ".gemini/settings.json:1:3"],
];

test.each(REFUSED)("refuses %s (%s)", (_what, name, text, message) => {
  expect(() => write(name, text)).toThrow(
    expect.objectContaining({ code: "REFUSED", message: expect.stringContaining(message) }),
  );
});
