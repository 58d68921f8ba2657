/**
 * Everything of the world that isn't a file, a child process or the ledger: clock, environment, terminal, stdin, caller.
 * It is made once, at the edge (cmd/host.ts, cmd/mcp.ts, the test kit), and handed down; nothing below reads a global.
 */
import type { Repo } from "./git/repo.ts";
import type { Style } from "./text.ts";
import type { OpenLedgers } from "./task/open-ledgers.ts";

/** Questions to a person. Present only where one can answer: a terminal that isn't dumb, no `--json`, no `--yes`, no CI. */
export interface Prompter {
  /** `check` says what is wrong with an answer, which can then be mended; undefined: nothing. */
  text(question: {
    message: string;
    placeholder?: string;
    initial?: string;
    check?: (text: string) => string | undefined;
  }): Promise<string>;
  /** `about` are lines to read first: what the answer is about, so shown even with `--quiet`. */
  confirm(question: { about?: readonly string[]; message: string; initial?: boolean }): Promise<boolean>;
  select(question: {
    message: string;
    options: readonly { value: string; label: string; hint?: string }[];
  }): Promise<string>;
  /** None, one or several; `initial` are those chosen beforehand. */
  multiselect(question: {
    message: string;
    options: readonly { value: string; label: string; hint?: string }[];
    initial: readonly string[];
  }): Promise<string[]>;
}

/** How the answer will be shown. */
export interface Answering {
  /** `text` and `ids` need only what the operation's text() and ids() read; `json` is the whole result. */
  readonly as: "text" | "ids" | "json";
  /** Shows a result before the last one: in place of the one before at a terminal, after it elsewhere. */
  readonly update: (result: object) => Promise<void>;
}

/** What is known about who calls. On the command line the cwd is the caller; over MCP there are only signals. */
export type Caller =
  | { kind: "cli" }
  | {
      kind: "mcp";
      /** Where the server stands, or null when nothing usable was found; `tried` says where it looked. */
      root: string | null;
      /** The repository at `root`, where it was resolved for this very call. */
      repo?: Repo;
      rootFrom: "flag" | "DOTBOT_ROOT" | "CLAUDE_PROJECT_DIR" | "cwd" | "roots" | null;
      tried: readonly string[];
      /** Roots advertised by a handshake-era client; null when it has none to give. */
      roots: readonly string[] | null;
    };

export interface Ctx {
  readonly surface: "cli" | "mcp";
  readonly caller: Caller;
  /** Absolute. The process's cwd on the command line, the server's root over MCP. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** A fresh UUIDv4. */
  readonly uuid: () => string;
  readonly pid: number;
  readonly hostname: string;
  /** Aborted when the caller no longer wants the answer (a signal, a cancelled call). */
  readonly signal: AbortSignal;
  /** Narration for people: one line on stderr (nothing with `--quiet`). Never part of the answer. */
  readonly note: (line: string) => void;
  /** Progress of long work: replaces its own line at a terminal, silent elsewhere; null clears it. */
  readonly progress: (line: string | null) => void;
  /** All of stdin as UTF-8; refuses at a terminal and over MCP. */
  readonly readStdin: () => Promise<string>;
  readonly prompt: Prompter | undefined;
  readonly style: Style;
  /** Milliseconds to wait for a lock. */
  readonly lockWaitMs: number;
  /** The call names no wait: an operation gets the one that the repository's settings name. */
  readonly lockWaitOpen?: boolean;
  /** `--yes`: answers confirmations, never replaces a `--force-…`. */
  readonly yes: boolean;
  /** Absent: one whole result, as a tool's answer is. */
  readonly answer?: Answering;
  /** Ledgers that stay open between the calls of a process that answers many. Absent: each call opens and closes its own. */
  readonly ledgers?: OpenLedgers;
  /** This binary, for commands that it writes into other programs' configuration. */
  readonly executable: string;
}
