/** A server of stdio behind HTTP, for clients that speak nothing else: one process per session, replies as event streams. */
import { openSession, type Id, type Message, type Session, type Start } from "./kit.ts";

export interface Bridge extends AsyncDisposable {
  readonly url: string;
}

export function bridge(start: Start): Bridge {
  const sessions = new Map<string, Session>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    async fetch(request) {
      const id = request.headers.get("mcp-session-id");
      if (request.method === "DELETE" && id !== null) {
        await sessions.get(id)?.[Symbol.asyncDispose]();
        sessions.delete(id);
        return new Response(null, { status: 200 });
      }
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const message = (await request.json()) as Message;
      const name = id ?? crypto.randomUUID();
      const session = sessions.get(name) ?? (message["method"] === "initialize" ? await openSession(start) : undefined);
      if (session === undefined) return new Response("no such session", { status: 404 });
      sessions.set(name, session);
      session.send(message);
      if (message["id"] === undefined || message["method"] === undefined) return new Response(null, { status: 202 });
      const reply = await session.reply(message["id"] as Id);
      return new Response(`event: message\ndata: ${JSON.stringify(reply)}\n\n`, {
        headers: { "content-type": "text/event-stream", "mcp-session-id": name },
      });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      await Promise.all([...sessions.values()].map(async (session) => await session[Symbol.asyncDispose]()));
    },
  };
}
