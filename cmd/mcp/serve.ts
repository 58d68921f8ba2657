/**
 * The server of one session: the protocol library between the transport and the calls. It speaks the stateless revision and
 * the handshake ones with the same tools; the first message decides (the library's `serveStdio`).
 *
 * How it ends: stdin's end lets what was asked be answered as long as answers come; a reader that went away ends it at once;
 * a signal ends children, finishes or takes back what is being written, and replies. Either way no child is left behind.
 */
import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

import { stackOf } from "../../lib/error.ts";
import type { ResolveTarget } from "../../lib/invoke.ts";
import { allOperations, type Nouns } from "../../lib/ops.ts";
import { Interrupted, type Host } from "../host.ts";
import { BadCall, Calls, type Caller, type Reply } from "./calls.ts";
import { INSTRUCTIONS } from "./instructions.ts";
import { serverOptions } from "./options.ts";
import { takeStdio } from "./stdio.ts";
import { listsOfDotbot } from "./the-lists.ts" with { type: "macro" };
import { LineTransport } from "./transport.ts";

const LISTS = await listsOfDotbot();

export interface Program {
  readonly version: string;
  readonly nouns: Nouns;
  readonly resolve: ResolveTarget;
}

/** After stdin's end, how long an answer may take since the one before it. */
const STALL_MS = 1_000;
/** How long the client may take to say its roots: they are a signal, not a need. */
const ROOTS_TIMEOUT_MS = 3_000;
/** Between two words on the progress of one call. */
const PROGRESS_MS = 250;

/** Serves until the client is gone or a signal comes; returns the exit status. */
export async function serve(args: readonly string[], host: Host, program: Program): Promise<number> {
  const options = serverOptions(args);
  const interrupted = host.interruption();
  const log = (line: string): void => {
    if (!options.quiet) void host.write("stderr", `dotbot mcp: ${line}\n`);
  };
  const channel = await takeStdio();
  const transport = new LineTransport(channel);
  const calls = new Calls({
    host,
    options,
    operations: async () => await allOperations(program.nouns),
    lists: LISTS,
    resolve: program.resolve,
    log,
  });
  const session = serveStdio(({ era }) => server(program.version, calls, era === "legacy"), {
    transport,
    onerror: (error) => log(error.message),
  });

  const why = await Promise.race([transport.ended, aborted(interrupted)]);
  if (why === "input") await Promise.race([transport.settled(STALL_MS), aborted(interrupted)]);
  await calls.stop();
  await transport.flushed();
  await session.close();
  return interrupted.reason instanceof Interrupted ? 128 + interrupted.reason.signal : 0;
}

function server(version: string, calls: Calls, handshake: boolean): Server {
  const server = new Server(
    { name: "dotbot", title: "dotbot", version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator: NO_VALIDATOR },
  );
  const roots = handshake ? rootsOf(server) : async () => null;
  const callerOf = (ctx: ServerContext): Caller => ({ signal: ctx.mcpReq.signal, roots, progress: progressOf(ctx) });
  server.setRequestHandler("tools/list", async (_request, ctx) => ({ tools: [...(await calls.list(callerOf(ctx)))] }));
  server.setRequestHandler("tools/call", async ({ params }, ctx) => {
    try {
      return replyOf(await calls.call(params.name, params.arguments, callerOf(ctx)));
    } catch (error) {
      if (error instanceof BadCall)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, error.facts);
      throw error;
    }
  });
  return server;
}

/** Nothing is ever asked of the client that would have to be validated; the library's own validator costs its start. */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new TypeError(`the server asks its clients nothing: ${stackOf(undefined)}`);
  },
};

/** The answer twice, since some clients show the model only one of the two; a failure never as structured content. */
function replyOf(reply: Reply) {
  const text = (line: string) => ({ type: "text" as const, text: line });
  if (!reply.ok) return { isError: true, content: [text(reply.text)], _meta: { "dotbot/error": reply.facts } };
  return {
    content: [text(reply.text), ...reply.notes.map((note) => text(`note: ${note}`))],
    structuredContent: { ...reply.result },
  };
}

/** What a handshake client advertises, asked once and again when it says that it changed. */
function rootsOf(server: Server): Caller["roots"] {
  let known: Promise<readonly string[] | null> | null = null;
  server.setNotificationHandler("notifications/roots/list_changed", () => {
    known = null;
  });
  const ask = async (): Promise<readonly string[] | null> => {
    try {
      const { roots } = await server.listRoots(undefined, { timeout: ROOTS_TIMEOUT_MS });
      return roots.map((root) => root.uri);
    } catch {
      // It advertises roots and doesn't tell them: no signal.
      return null;
    }
  };
  return async () => {
    if (server.getClientCapabilities()?.roots === undefined) return null;
    return await (known ??= ask());
  };
}

/** Words on the way of a long call, for a client that asked for them. */
function progressOf(ctx: ServerContext): Caller["progress"] {
  const token = ctx.mcpReq._meta?.progressToken;
  if (token === undefined) return () => undefined;
  let progress = 0;
  let last = -Infinity;
  return (message) => {
    const now = performance.now();
    if (now - last < PROGRESS_MS) return;
    last = now;
    progress++;
    const notification = {
      method: "notifications/progress" as const,
      params: { progressToken: token, progress, message },
    };
    // The call's own reply tells of a channel that has broken.
    ctx.mcpReq.notify(notification).catch(() => undefined);
  };
}

async function aborted(signal: AbortSignal): Promise<"signal"> {
  if (signal.aborted) return "signal";
  return await new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve("signal"), { once: true });
  });
}
