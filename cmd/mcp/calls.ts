/**
 * One call of a tool, from its arguments to its reply, and the crowd of them: what runs, what waits, and how all of it ends.
 * Knows nothing of the protocol's messages; serve.ts speaks them.
 */
import type { Ctx } from "../../lib/ctx.ts";
import { DotbotError, errorFacts, stackOf, type ErrorFacts } from "../../lib/error.ts";
import { validate } from "../../lib/explain.ts";
import { invoke, toolWording, type ResolveTarget } from "../../lib/invoke.ts";
import type { JsonValue } from "../../lib/json.ts";
import { toolName, type AnyOperation } from "../../lib/op.ts";
import { OpenLedgers } from "../../lib/task/open-ledgers.ts";
import { fieldsOf, type Shape } from "../../lib/schema.ts";
import { tryLoadSettings } from "../../lib/settings.ts";
import { nearest, PLAIN, quote } from "../../lib/text.ts";
import type { Host } from "../host.ts";
import { bounded } from "./bound.ts";
import { Lanes, Slots, type Release } from "./lanes.ts";
import type { ServerOptions } from "./options.ts";
import { stand, type Standing } from "./root.ts";
import { isOffered, listKey, toolsetOf, type Offer } from "./offer.ts";
import type { Definition, Tool } from "./tools.ts";
import { failureText } from "./wording.ts";

/** Calls that run at once, writes that wait for another write not counted. */
const AT_ONCE = 32;

/** Garbage is collected when nothing was asked for this long, and while there is no such moment after so many calls. */
const IDLE_MS = 100;
const TIDY_EVERY = 256;

/** The call can't be understood: no such tool, or arguments that its schema doesn't take. */
export class BadCall extends Error {
  readonly facts: ErrorFacts;

  constructor(text: string, facts: ErrorFacts) {
    super(text);
    this.name = "BadCall";
    this.facts = facts;
  }
}

export type Reply =
  | { readonly ok: true; readonly result: object; readonly text: string; readonly notes: readonly string[] }
  | { readonly ok: false; readonly text: string; readonly facts: ErrorFacts };

/** What one call brings along. */
export interface Caller {
  /** Aborted when the call is cancelled. */
  readonly signal: AbortSignal;
  /** Roots of the client, as URIs; null when it has none to give. */
  readonly roots: () => Promise<readonly string[] | null>;
  readonly progress: (line: string) => void;
}

export interface Setup {
  readonly host: Host;
  readonly options: ServerOptions;
  /** Loads them all; called once, at the first call of a tool or a list that isn't ready. */
  readonly operations: () => Promise<readonly AnyOperation[]>;
  /** Lists that were made before, as JSON, by what `listKey` makes of an offer. */
  readonly lists: Readonly<Record<string, string>>;
  readonly resolve: ResolveTarget;
  /** A line for the log. */
  readonly log: (line: string) => void;
}

export class Calls {
  private readonly setup: Setup;
  private readonly slots = new Slots(AT_ONCE);
  private readonly lanes = new Lanes();
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<unknown>>();
  private readonly ledgers = new OpenLedgers();
  private readonly lists = new Map<string, readonly Definition[]>();
  private answered = 0;
  private rest: Timer | undefined;
  private loaded: Promise<readonly AnyOperation[]> | undefined;
  private readonly catalogues = new Map<boolean, ReadonlyMap<string, Tool>>();

  constructor(setup: Setup) {
    this.setup = setup;
  }

  /** The tools that are offered, as flags and settings say now. */
  async list(caller: Caller): Promise<readonly Definition[]> {
    // A client that is slow to tell its roots isn't asked for them where another place settles what is offered.
    const near = await this.standing({ ...caller, roots: async () => null });
    const offer = this.offer(near.repo === null ? await this.standing(caller) : near, this.env());
    const key = listKey(offer);
    const made = this.lists.get(key) ?? this.ready(key) ?? (await this.define(offer));
    this.lists.set(key, made);
    return made;
  }

  private ready(key: string): readonly Definition[] | undefined {
    const text = this.setup.lists[key];
    if (text === undefined) return undefined;
    // Whoever asks for the list will call: by then everything is there.
    setTimeout(() => void this.operations().catch(() => undefined), 0);
    return JSON.parse(text) as readonly Definition[];
  }

  private async define(offer: Offer): Promise<readonly Definition[]> {
    const { definitions } = await import("./tools.ts");
    const tools = [...(await this.tools(offer)).values()].filter((tool) => isOffered(tool.op, offer));
    return definitions(tools, await this.operations());
  }

  private operations(): Promise<readonly AnyOperation[]> {
    return (this.loaded ??= this.setup.operations());
  }

  /** @throws BadCall */
  async call(name: string, args: unknown, caller: Caller): Promise<Reply> {
    const work = this.run(name, args, caller);
    this.running.add(work);
    try {
      return await work;
    } finally {
      this.running.delete(work);
      this.tidy();
    }
  }

  /** Ends what runs, with its children; a write that has begun is finished or taken back. Resolves when all have ended. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error("the server stops"));
    while (this.running.size > 0) await Promise.allSettled(this.running);
    clearTimeout(this.rest);
    this.ledgers.shut();
  }

  /**
   * Left to itself the engine lets garbage pile up between collections, and a server lives for days beside its client. A
   * collection takes as long as ten calls, so it waits for a moment in which none is kept waiting.
   */
  private tidy(): void {
    this.answered++;
    clearTimeout(this.rest);
    if (this.answered % TIDY_EVERY === 0) Bun.gc(true);
    else this.rest = setTimeout(() => Bun.gc(true), IDLE_MS).unref();
  }

  private async run(name: string, args: unknown, caller: Caller): Promise<Reply> {
    const signal = AbortSignal.any([caller.signal, this.stopping.signal]);
    const env = this.env();
    const notes: string[] = [];
    let release: Release = () => undefined;
    let leave: Release = () => undefined;
    try {
      release = await this.slots.take(signal);
      const standing = await this.standing(caller, env);
      const tool = await this.offered(name, this.offer(standing, env));
      const input = await this.input(tool, args);
      const ctx = this.ctx(standing, env, caller, signal, notes);
      const resolve: ResolveTarget = async (...call) => {
        const target = await this.setup.resolve(...call);
        if (tool.op.effect === "read" || tool.op.target.rule === "none") return target;
        release();
        leave = await this.lanes.take(target.repo.stateCommonDir, signal);
        return target;
      };
      try {
        const { result } = await invoke({ op: tool.op, ctx, resolve, wording: toolWording(tool.op, input) }, input);
        const answer = bounded(result, Object.keys(tool.input.entries));
        return {
          ok: true,
          result: answer.result,
          text: answer.text,
          notes: answer.cut === null ? notes : [...notes, answer.cut],
        };
      } catch (error) {
        return await this.failure(error, tool.op, input, notes, signal);
      }
    } catch (error) {
      if (error instanceof BadCall) throw error;
      return await this.failure(error, undefined, {}, notes, signal);
    } finally {
      leave();
      release();
    }
  }

  private async failure(
    error: unknown,
    op: AnyOperation | undefined,
    args: Readonly<Record<string, unknown>>,
    notes: readonly string[],
    signal: AbortSignal,
  ): Promise<Reply> {
    const facts = this.stopping.signal.aborted && error === this.stopping.signal.reason ? STOPPED : errorFacts(error);
    // Nobody waits for a cancelled call, and that it ended is no fault.
    if (facts.code === "INTERNAL" && !signal.aborted) this.setup.log(stackOf(error));
    const text =
      op === undefined
        ? `${facts.code}: ${facts.message}`
        : await failureText(facts, { operations: await this.operations(), op, args });
    return { ok: false, text: [text, ...notes.map((note) => `note: ${note}`)].join("\n"), facts };
  }

  /** A copy each time: who keeps facts by environment (git's version) learns them anew. */
  private env(): Ctx["env"] {
    return { ...this.setup.host.env };
  }

  private async standing(caller: Caller, env = this.env()): Promise<Standing> {
    const { host, options } = this.setup;
    return await stand(
      { env, signal: caller.signal },
      { root: options.root, cwd: host.cwd, roots: await caller.roots() },
    );
  }

  private offer({ repo }: Standing, env: Ctx["env"]): Offer {
    const { options, host } = this.setup;
    const { settings } = tryLoadSettings({ env }, repo?.stateRoot ?? host.cwd);
    return {
      toolsets: options.toolsets ?? settings.mcp.toolsets,
      readOnly: options.readOnly ?? settings.mcp.read_only,
      requireSession: settings.provenance.require_session,
    };
  }

  private async tools({ requireSession }: Offer): Promise<ReadonlyMap<string, Tool>> {
    const { catalogue } = await import("./tools.ts");
    const made = this.catalogues.get(requireSession) ?? catalogue(await this.operations(), requireSession);
    this.catalogues.set(requireSession, made);
    return made;
  }

  private async offered(name: string, offer: Offer): Promise<Tool> {
    const tools = await this.tools(offer);
    const tool = tools.get(name);
    if (tool !== undefined && isOffered(tool.op, offer)) return tool;
    const offered = [...tools.values()].filter((it) => isOffered(it.op, offer)).map((it) => toolName(it.op));
    if (tool !== undefined) {
      const why =
        offer.readOnly && tool.op.effect !== "read"
          ? "this server only reads"
          : `it comes with the toolset ${toolsetOf(tool.op)}`;
      throw new BadCall(`the tool ${quote(name)} isn't offered: ${why}`, { code: "UNKNOWN_COMMAND", message: why });
    }
    const near = nearest(name, offered);
    const message = `there is no tool ${quote(name)}`;
    const hint = near === undefined ? `the tools are ${offered.join(", ")}` : `did you mean ${near}?`;
    throw new BadCall(`${message}\nhint: ${hint}`, { code: "UNKNOWN_COMMAND", message, hint });
  }

  private async input({ op, input }: Tool, args: unknown): Promise<Record<string, unknown>> {
    const given = readNumbers(args ?? {}, { kind: "object", fields: fieldsOf(input) });
    try {
      validate(input, given, toolWording(op, given));
      return given as Record<string, unknown>;
    } catch (error) {
      if (!(error instanceof DotbotError)) throw error;
      const facts = error.facts();
      const words = { operations: await this.operations(), op, args: {} };
      throw new BadCall(await failureText(facts, words), facts);
    }
  }

  private ctx({ caller }: Standing, env: Ctx["env"], { progress }: Caller, signal: AbortSignal, notes: string[]): Ctx {
    const { host, options } = this.setup;
    return {
      surface: "mcp",
      caller,
      cwd: caller.root ?? host.cwd,
      env,
      now: host.now,
      uuid: host.uuid,
      pid: host.pid,
      get hostname() {
        return host.hostname;
      },
      signal,
      note: (line) => {
        notes.push(line);
      },
      progress: (line) => {
        if (line !== null) progress(line);
      },
      readStdin: async () => {
        throw new DotbotError("USAGE", "over MCP there is no stdin to read from", { hint: "give the value itself" });
      },
      prompt: undefined,
      style: PLAIN,
      lockWaitMs: options.lockWaitMs,
      // Whether to ask a person is the client's to decide, by the tool's annotations.
      yes: true,
      ledgers: this.ledgers,
      executable: host.executable,
    };
  }
}

const STOPPED: ErrorFacts = {
  code: "LOCKED",
  message: "the server was told to stop before the call was done",
  hint: "read the task or the repository again before you repeat the call: it may have been done",
};

/** Numbers that came spelt in an unusual way, where the schema knows a number; documents keep theirs. */
function readNumbers(value: unknown, shape: Shape): unknown {
  if (shape.kind === "integer" || shape.kind === "number") {
    const json = value as JsonValue;
    return JSON.isRawJSON(json) ? Number(json.rawJSON) : value;
  }
  const { item, fields } = shape;
  if (Array.isArray(value)) return item === undefined ? value : value.map((one) => readNumbers(one, item));
  if (typeof value !== "object" || value === null || JSON.isRawJSON(value) || fields === undefined) return value;
  const known = new Map(fields.map((field) => [field.name, field]));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const field = known.get(name);
      return [name, field === undefined ? member : readNumbers(member, field)];
    }),
  );
}
