/**
 * Messages of JSON-RPC, one a line, between a channel and the protocol library.
 *
 * The library's own stdio transport gives up at lines of 10 MB and stays silent on what isn't a message; this one promises:
 * - every line that isn't a message is answered, with the protocol's code; notifications and blank lines never are;
 * - of two requests with one id the second is refused while the first is unanswered, under the id null: one reply per id;
 * - numbers in a tool's arguments keep their spelling;
 * - an end of input isn't the end of the session: what was asked before is still answered (`settled`).
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";

import {
  asNumber,
  compactJson,
  decodeUtf8,
  isJsonObject,
  tryParseJson,
  type JsonObject,
  type JsonValue,
} from "../../lib/json.ts";
import type { Channel } from "./stdio.ts";

/** Longer lines are refused unread: they would have to be held in memory several times over. */
export const MAX_LINE_BYTES = 128 * 1024 * 1024;

/** Most characters that one write takes together. */
const WRITE_CHARS = 1 << 20;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;

type Id = string | number;

/** Why no more can come, or go: stdin has ended, or nobody reads stdout. */
export type End = "input" | "output";

/** The one revision in which several messages may come in one array; their replies go back in one as well. */
const BATCHING_REVISION = "2025-03-26";

/** An array of messages of which some are unanswered. */
interface Batch {
  left: number;
  readonly replies: unknown[];
}

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  /** Resolves when one of the channel's directions has ended. */
  readonly ended: Promise<End>;
  private readonly end: (why: End) => void;
  private readonly channel: Channel;
  /** Requests without a reply, by id; with the array that they came in. */
  private readonly unanswered = new Map<Id, Batch | null>();
  private readonly outbox: string[] = [];
  private writing: Promise<void> | null = null;
  private revision = "";
  private closed = false;
  private replied: (() => void) | null = null;

  constructor(channel: Channel) {
    this.channel = channel;
    const { promise, resolve } = Promise.withResolvers<End>();
    this.ended = promise;
    this.end = resolve;
  }

  async start(): Promise<void> {
    void this.read();
  }

  setProtocolVersion(revision: string): void {
    this.revision = revision;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const reply = "method" in message ? undefined : message.id;
    const batch = reply === undefined ? undefined : this.unanswered.get(reply);
    if (reply !== undefined) this.unanswered.delete(reply);
    if (batch) this.fulfil(batch, message);
    else this.put(message);
    this.replied?.();
    await this.writing;
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    // Waiting for what a peer may never send would keep the process.
    this.channel.cancel();
    await this.flushed();
    this.onclose?.();
  }

  /** Resolves when everything put out so far has been written, or can't be. */
  async flushed(): Promise<void> {
    while (this.writing !== null) await this.writing;
  }

  /** Resolves when every request has its reply, or when none has had one for `stallMs`. */
  async settled(stallMs: number): Promise<void> {
    while (this.unanswered.size > 0) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const timer = setTimeout(() => resolve(false), stallMs);
      this.replied = () => resolve(true);
      const moves = await promise;
      clearTimeout(timer);
      this.replied = null;
      if (!moves) return;
    }
  }

  // ── in ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  private async read(): Promise<void> {
    let parts: Uint8Array[] = [];
    let size = 0;
    const take = (part: Uint8Array): void => {
      size += part.length;
      // The length alone is kept of a line that is too long.
      if (size <= MAX_LINE_BYTES) parts.push(part);
      else parts = [];
    };
    const line = (): void => {
      if (size > MAX_LINE_BYTES)
        this.refuse(null, INVALID_REQUEST, `a message has ${size} bytes, more than ${MAX_LINE_BYTES}`);
      else this.line(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts));
      parts = [];
      size = 0;
    };
    try {
      for (let chunk = await this.channel.read(); chunk !== null && !this.closed; chunk = await this.channel.read()) {
        let from = 0;
        for (let to = chunk.indexOf(10); to >= 0; to = chunk.indexOf(10, from)) {
          take(chunk.subarray(from, to));
          line();
          from = to + 1;
        }
        if (from < chunk.length) take(chunk.subarray(from));
      }
      if (size > 0 && !this.closed) line();
    } catch (error) {
      this.onerror?.(asError(error));
    }
    this.end("input");
  }

  private line(bytes: Uint8Array): void {
    const { text, valid } = decodeUtf8(bytes);
    if (text.trim() === "") return;
    if (!valid) return this.refuse(null, PARSE_ERROR, "Parse error: the line isn't UTF-8");
    const parsed = tryParseJson(text);
    if (!parsed.ok) return this.refuse(null, PARSE_ERROR, `Parse error: ${parsed.message}, at column ${parsed.column}`);
    if (!Array.isArray(parsed.value)) return this.take(parsed.value, null);
    if (this.revision !== BATCHING_REVISION || parsed.value.length === 0) {
      return this.refuse(null, INVALID_REQUEST, "Invalid Request: one message a line, not an array of them");
    }
    const batch: Batch = { left: 1, replies: [] };
    for (const message of parsed.value) this.take(message, batch);
    // The one of the array itself: until now no reply could have been the last.
    this.count(batch);
  }

  private take(value: JsonValue, batch: Batch | null): void {
    const message = messageOf(value);
    if ("fault" in message) {
      // A notification with params that it doesn't take is a notification.
      if (message.code === INVALID_PARAMS && message.id === null) return;
      const id = message.id !== null && this.unanswered.has(message.id) ? null : message.id;
      return this.refuse(id, message.code, message.fault, batch);
    }
    if ("id" in message && "method" in message) {
      if (this.unanswered.has(message.id)) {
        const fault = `Invalid Request: the request ${JSON.stringify(message.id)} is still unanswered; use another id`;
        return this.refuse(null, INVALID_REQUEST, fault, batch);
      }
      if (batch !== null) batch.left++;
      this.unanswered.set(message.id, batch);
    }
    this.onmessage?.(message);
    if ("method" in message && message.method === "notifications/cancelled") this.forget(message.params?.["requestId"]);
  }

  /** A cancelled request gets no reply. */
  private forget(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    const batch = this.unanswered.get(id);
    if (!this.unanswered.delete(id)) return;
    if (batch) this.count(batch);
    this.replied?.();
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  private refuse(id: Id | null, code: number, message: string, batch: Batch | null = null): void {
    const reply = { jsonrpc: "2.0", id, error: { code, message } };
    if (batch === null) return this.put(reply);
    batch.replies.push(reply);
  }

  private fulfil(batch: Batch, reply: unknown): void {
    batch.replies.push(reply);
    this.count(batch);
  }

  private count(batch: Batch): void {
    batch.left--;
    if (batch.left === 0 && batch.replies.length > 0) this.put(batch.replies);
  }

  private put(message: unknown): void {
    // What comes out of the library is JSON; raw numbers in it print as they were written.
    this.outbox.push(`${compactJson(message as JsonValue)}\n`);
    this.writing ??= this.write();
  }

  private async write(): Promise<void> {
    try {
      while (this.outbox.length > 0) {
        let size = 0;
        const many = this.outbox.findIndex((text) => (size += text.length) > WRITE_CHARS);
        await this.channel.write(this.outbox.splice(0, many < 0 ? this.outbox.length : many + 1).join(""));
      }
    } catch (error) {
      this.outbox.length = 0;
      this.onerror?.(asError(error));
      this.end("output");
    }
    this.writing = null;
  }
}

type Fault = { readonly code: number; readonly fault: string; readonly id: Id | null };
type Request = { readonly jsonrpc: "2.0"; readonly id: Id; readonly method: string; readonly params?: Params };
type Notification = { readonly jsonrpc: "2.0"; readonly method: string; readonly params?: Params };
type Response = JSONRPCMessage & { readonly id: Id };
type Params = { [key: string]: unknown };

/** A JSON value as a message of the protocol, without members that it doesn't have; or why it is none. */
function messageOf(value: JsonValue): Request | Notification | Response | Fault {
  const invalid = (fault: string, id: Id | null): Fault => ({
    code: INVALID_REQUEST,
    fault: `Invalid Request: ${fault}`,
    id,
  });
  if (!isJsonObject(value)) return invalid("a message is an object", null);
  const id = idOf(value);
  if (id === undefined) return invalid("its id is neither text nor an integer", null);
  if (value["jsonrpc"] !== "2.0") return invalid('its member "jsonrpc" isn\'t "2.0"', id);
  const { method, params } = value;
  if (method === undefined) {
    const answers = id !== null && (value["result"] !== undefined || value["error"] !== undefined);
    return answers ? (plain(value) as Response) : invalid("it has no method", id);
  }
  if (typeof method !== "string") return invalid("its method isn't text", id);
  const fault = paramsFault(method, params);
  if (fault !== null) return { code: INVALID_PARAMS, fault: `Invalid params: ${fault}`, id };
  const read = isJsonObject(params)
    ? { params: method === "tools/call" ? callParams(params) : (plain(params) as Params) }
    : {};
  return id === null ? { jsonrpc: "2.0", method, ...read } : { jsonrpc: "2.0", id, method, ...read };
}

/** null when there is none; undefined when it is something that can't be one. */
function idOf({ id }: JsonObject): Id | null | undefined {
  if (id === undefined) return null;
  if (typeof id === "string") return id;
  const number = asNumber(id);
  return number !== undefined && Number.isSafeInteger(number) ? number : undefined;
}

const CALL = 'as in {"name":"task_get_next","arguments":{}}';

/** Those of a tool call are looked at here because the library would answer with its schema's own findings. */
function paramsFault(method: string, params: JsonValue | undefined): string | null {
  if (params !== undefined && !isJsonObject(params)) return "params isn't an object";
  if (method !== "tools/call") return null;
  if (typeof params?.["name"] !== "string") return `params.name is the tool's name, ${CALL}`;
  const args = params["arguments"];
  return args === undefined || isJsonObject(args) ? null : `params.arguments is an object, ${CALL}`;
}

/** The arguments of a tool are documents of their callers: their numbers stay as they are spelt. */
function callParams({ arguments: args, ...rest }: JsonObject): Params {
  return { ...(plain(rest) as Params), ...(args === undefined ? {} : { arguments: args }) };
}

/** Raw numbers as numbers. */
function plain(value: JsonValue | undefined): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (JSON.isRawJSON(value)) return asNumber(value);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
