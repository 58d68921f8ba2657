/** A call as its caller would write it: a command line, or a tool's name and arguments. Pure. */
import { toolName, type AnyOperation } from "../op.ts";
import { shellWord } from "../text.ts";

export type Arguments = Readonly<Record<string, unknown>>;

export function spell(op: AnyOperation, surface: "cli" | "mcp", args: Arguments): string {
  return surface === "mcp" ? `${toolName(op)} ${JSON.stringify(args)}` : commandLine(op, args);
}

/** `dotbot guard commit -C ../lib --message Fix a.txt`. */
function commandLine(op: AnyOperation, args: Arguments): string {
  const positional = new Set((op.positional ?? []).map(({ field }) => field));
  const flags = Object.entries(args).flatMap(([field, value]) => {
    if (positional.has(field) || value === undefined || value === false) return [];
    const spelling = op.flags?.[field];
    if (spelling?.hidden === true) return [];
    const flag = field === "dir" ? "-C" : `--${spelling?.name ?? field.replaceAll("_", "-")}`;
    if (value === true) return [flag];
    return texts(value).flatMap((text) => (text.startsWith("-") && flag !== "-C" ? [`${flag}=${text}`] : [flag, text]));
  });
  const words = (op.positional ?? []).flatMap(({ field }) => texts(args[field]));
  const shield = words.some((word) => word.startsWith("-")) ? ["--"] : [];
  return ["dotbot", ...op.name.split(" "), ...flags, ...shield, ...words].map(shellWord).join(" ");
}

function texts(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(texts);
  return [typeof value === "string" ? value : JSON.stringify(value)];
}
