/**
 * Sessions with the server: one that writes lines as it likes (`openSession`), and the official client (`connect`).
 *
 *     await using session = await openSession({ cwd: world.main });
 *     await session.handshake();
 *     const { result } = await session.request("tools/list");
 */
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { binary, cleanEnv } from "../kit/binary.ts";

export interface Start {
  readonly cwd: string;
  /** Flags of `dotbot mcp`. */
  readonly args?: readonly string[];
  /** On top of the hermetic environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The whole environment. */
  readonly onlyEnv?: Readonly<Record<string, string>>;
  /** Another program than the binary. */
  readonly program?: readonly string[];
}

/** A message as it came; a test looks at what it expects. */
export type Message = Readonly<Record<string, unknown>>;

export type Id = string | number;

export interface Session extends AsyncDisposable {
  readonly pid: number;
  /** Everything that came so far, in order. */
  readonly messages: readonly Message[];
  /** Lines that weren't messages. */
  readonly strays: readonly string[];
  /** Writes a line: a text as it is, anything else as JSON. */
  send(line: unknown): void;
  /** Asks under a fresh id, and waits for the reply. */
  request(method: string, params?: unknown): Promise<Message>;
  /** The reply to an id: the one that came, or comes next. */
  reply(id: Id | null): Promise<Message>;
  /** The first message that fits: one that came, or the next. */
  first(fits: (message: Message) => boolean): Promise<Message>;
  /** `initialize` and `initialized`; returns the answer. */
  handshake(capabilities?: object, version?: string): Promise<Message>;
  /** Calls a tool; returns the result, or the protocol error. */
  call(name: string, args?: object): Promise<Message>;
  /** Ends stdin. */
  end(): void;
  /** Stops reading stdout. */
  hangUp(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  readonly exited: Promise<number>;
  readonly stderr: Promise<string>;
}

export const MODERN = "2026-07-28";

/** The `_meta` that the stateless revision wants in every request. */
export const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
} as const;

export async function openSession({ cwd, args = [], env, onlyEnv, program }: Start): Promise<Session> {
  const child = Bun.spawn([...(program ?? [await binary()]), "mcp", ...args], {
    cwd,
    env: onlyEnv ?? cleanEnv(env),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const messages: Message[] = [];
  const strays: string[] = [];
  let waiting: {
    readonly fits: (message: Message) => boolean;
    readonly resolve: (message: Message) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  const stderr = child.stderr.text();
  const reader = child.stdout.getReader();
  const receive = (line: string): void => {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      strays.push(line);
      return;
    }
    messages.push(message);
    waiting = waiting.filter((one) => {
      if (!one.fits(message)) return true;
      one.resolve(message);
      return false;
    });
  };
  const pump = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let parts: string[] = [];
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const [head = "", ...lines] = decoder.decode(next.value, { stream: true }).split("\n");
      parts.push(head);
      for (const line of lines) {
        receive(parts.join(""));
        parts = [line];
      }
    }
    const rest = parts.join("");
    if (rest !== "") strays.push(rest);
    const said = waiting.length === 0 ? "" : await stderr;
    for (const one of waiting) one.reject(new Error(`the server ended without that message\n${said}`));
  };
  const pumping = pump();
  let ids = 1_000_000;
  const first: Session["first"] = async (fits) => {
    const came = messages.find(fits);
    if (came !== undefined) return came;
    return await new Promise((resolve, reject) => waiting.push({ fits, resolve, reject }));
  };
  const isReply = (message: Message): boolean => !("method" in message);
  const session: Session = {
    pid: child.pid,
    messages,
    strays,
    send(line) {
      void child.stdin.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
      void child.stdin.flush();
    },
    async request(method, params) {
      const id = ids++;
      session.send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
      return await session.reply(id);
    },
    reply: async (id) => await first((message) => isReply(message) && message["id"] === id),
    first,
    async handshake(capabilities = {}, version = "2025-11-25") {
      const params = { protocolVersion: version, capabilities, clientInfo: { name: "test", version: "1" } };
      const answer = await session.request("initialize", params);
      session.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      return answer;
    },
    async call(name, toolArguments = {}) {
      const reply = await session.request("tools/call", { name, arguments: toolArguments });
      return (reply["result"] ?? reply) as Message;
    },
    end: () => void child.stdin.end(),
    hangUp: async () => await reader.cancel(),
    kill: (signal) => child.kill(signal),
    exited: child.exited.then((status) => {
      const died = child.signalCode;
      return died === null ? status : -1;
    }),
    stderr,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await Promise.allSettled([child.exited, pumping]);
    },
  };
  return session;
}

/** The text of a tool's result. */
export function textOf(result: Message): string {
  const [first] = (result["content"] ?? []) as readonly { readonly text?: string }[];
  return first?.text ?? "";
}

/** What a tool answered; throws where it failed. */
export function answerOf(result: Message): Message {
  if (result["isError"] === true || result["error"] !== undefined)
    throw new Error(`the tool failed: ${JSON.stringify(result)}`);
  return result["structuredContent"] as Message;
}

export type Era = "stateless" | "handshake";
export const ERAS: readonly Era[] = ["stateless", "handshake"];

export interface Connected extends AsyncDisposable {
  readonly client: Client;
  readonly pid: number;
}

const MODES = { stateless: { pin: MODERN }, handshake: "legacy", auto: "auto" } as const;

/** The official client, connected. */
export async function connect(era: Era | "auto", start: Start, options: ClientOptions = {}): Promise<Connected> {
  const [command = "", ...rest] = start.program ?? [await binary()];
  const transport = new StdioClientTransport({
    command,
    args: [...rest, "mcp", ...(start.args ?? [])],
    cwd: start.cwd,
    env: { ...(start.onlyEnv ?? cleanEnv(start.env)) },
    stderr: "ignore",
    maxBufferSize: 100 * 1024 * 1024,
  });
  const client = new Client({ name: "test", version: "1" }, { ...options, versionNegotiation: { mode: MODES[era] } });
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0, [Symbol.asyncDispose]: async () => await client.close() };
}
