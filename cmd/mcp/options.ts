/** The server's own flags. Pure. */
import { DURATION_WORDS, parseDuration } from "../../lib/duration.ts";
import { DotbotError } from "../../lib/error.ts";
import { nearest, quote } from "../../lib/text.ts";
import { shield, withValue, type FlagSyntax, type Value } from "../argv.ts";
import { DEFAULT_LOCK_WAIT_MS } from "../host.ts";
import { TOOLSETS, type Toolset } from "./offer.ts";

export interface ServerOptions {
  /** As given; null: not given. */
  readonly root: string | null;
  readonly toolsets: readonly Toolset[] | null;
  readonly readOnly: boolean | null;
  readonly lockWaitMs: number;
  /** No log on stderr. */
  readonly quiet: boolean;
}

function flag(name: string, boolean: boolean, short?: string): FlagSyntax {
  return { name, short, boolean, repeats: name === "toolsets", listed: `--${name}` };
}

const FLAGS: readonly FlagSyntax[] = [
  flag("root", false),
  flag("toolsets", false),
  flag("read-only", true),
  flag("dir", false, "C"),
  flag("lock-wait", false),
  flag("quiet", true),
  // Understood everywhere, and without a meaning for a server.
  ...["json", "yes", "color"].map((name) => ({ ...flag(name, true), listed: undefined })),
];

/** @throws DotbotError UNKNOWN_FLAG, USAGE or INVALID_INPUT, showing the call mended */
export function serverOptions(args: readonly string[]): ServerOptions {
  const line = ["mcp", ...args];
  const { values, after } = shield(line, new Set([0]), FLAGS, "mcp");
  const [word] = [...values.filter((value) => value.flag === null), ...(after ?? [])];
  if (word !== undefined) {
    throw new DotbotError("USAGE", `unexpected word ${quote(word.text)}: "mcp" takes none`, { example: "dotbot mcp" });
  }
  const last = (name: string): Value | undefined => values.findLast((value) => value.flag === name);
  const roots = [last("root"), last("dir")].filter((value) => value !== undefined);
  if (roots.length > 1)
    throw new DotbotError("USAGE", "--root and --dir both say where the server stands: give one", {
      example: `dotbot mcp --root ${roots[0]?.text ?? "."}`,
    });
  const toolsets = values.filter((value) => value.flag === "toolsets").flatMap((value) => setsOf(value, line));
  const readOnly = last("read-only")?.text;
  return {
    root: roots[0]?.text ?? null,
    toolsets: toolsets.length === 0 ? null : toolsets,
    readOnly: readOnly === undefined ? null : readOnly === "true",
    lockWaitMs: lockWait(last("lock-wait"), line),
    quiet: last("quiet")?.text === "true",
  };
}

function setsOf(value: Value, line: readonly string[]): readonly Toolset[] {
  return value.text.split(",").map((item) => {
    const known = TOOLSETS.find((set) => set === item);
    if (known !== undefined) return known;
    const near = nearest(item, TOOLSETS);
    throw new DotbotError("INVALID_INPUT", `--toolsets ${quote(item)} isn't one of ${TOOLSETS.join(", ")}`, {
      ...(near === undefined ? {} : { hint: `did you mean ${quote(near)}?` }),
      example: withValue(line, value, near ?? TOOLSETS.slice(0, 2).join(",")),
    });
  });
}

function lockWait(value: Value | undefined, line: readonly string[]): number {
  if (value === undefined) return DEFAULT_LOCK_WAIT_MS;
  const ms = parseDuration(value.text);
  if (ms !== undefined) return ms;
  throw new DotbotError("INVALID_INPUT", `--lock-wait ${quote(value.text)} isn't ${DURATION_WORDS}`, {
    example: withValue(line, value, "30s"),
  });
}
