/** Runs one verify script and reads its answer. A script that fails, hangs, floods or dies is a result, not an error. */
import { delimiter, join } from "node:path";

import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { exists, readBytes } from "../files.ts";
import { isJsonObject, tryParseJson, type JsonObject } from "../json.ts";
import { runProgram, type RunResult } from "../shell.ts";
import { count, firstLine, truncate } from "../text.ts";
import { redactText } from "../scan/redact.ts";

export interface RunRequest {
  readonly folder: string;
  readonly name: string;
  readonly program: "itself" | "pwsh";
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly cwd: string;
  readonly taskId: string;
  readonly category: string | null;
  readonly env: Readonly<Record<string, string>>;
}

export interface Ran {
  readonly passed: boolean;
  /** One line. */
  readonly message: string;
  /** What it printed, where it failed; secrets in it redacted. */
  readonly output: string | null;
  /** What it says failed, where it says so in JSON. */
  readonly failures: readonly JsonObject[];
}

/** Throws only the reason of an abort. */
export async function runScript(ctx: Ctx, request: RunRequest): Promise<Ran> {
  const path = join(request.folder, request.name);
  const missing = missingInterpreter(ctx, path, request.program);
  if (missing !== null) return failed(`needs ${missing}, which isn't installed or isn't on PATH`);
  const argv =
    request.program === "pwsh"
      ? [
          "pwsh",
          "-NoProfile",
          "-NonInteractive",
          "-File",
          path,
          "-TaskId",
          request.taskId,
          "-Category",
          request.category ?? "",
        ]
      : [path, request.taskId, request.category ?? ""];
  const { cwd, env, timeoutMs, maxBytes } = request;
  let result: RunResult;
  try {
    result = await runProgram(ctx, argv, { cwd, env, timeoutMs, maxBytes });
  } catch (error) {
    if (!(error instanceof DotbotError)) throw error;
    return failed(`can't be run: ${error.message.replaceAll(path, request.name)}`);
  }
  return answerOf(result, timeoutMs);
}

/** What a script's end and its output mean. Pure. */
export function answerOf(result: RunResult, timeoutMs: number): Ran {
  const said = spoken(result.stdout);
  const words = said === null ? "" : typeof said["message"] === "string" ? said["message"] : "";
  const message = redactText(
    truncate(firstLine(words) || firstLine(result.status === 0 ? result.stdout : result.stderr || result.stdout), 300),
  );
  const failures = said !== null && Array.isArray(said["failures"]) ? said["failures"].filter(isJsonObject) : [];
  if (result.timedOut)
    return failed(
      `didn't end within ${count(Math.round(timeoutMs / 100) / 10, "second")}${message === "" ? "" : `; it said: ${message}`}`,
      result,
    );
  if (result.status !== 0)
    return {
      ...failed(message === "" ? `ended with ${ending(result)}` : `${message} (${ending(result)})`, result),
      failures,
    };
  if (said?.["success"] === false)
    return { ...failed(message === "" ? "says that it failed" : message, result), failures };
  return { passed: true, message: message === "" ? "passed" : message, output: null, failures: [] };
}

function ending({ status, signal }: RunResult): string {
  return signal === null ? `status ${status}` : signal;
}

function failed(message: string, result?: RunResult): Ran {
  const printed = [result?.stdout ?? "", result?.stderr ?? ""].filter((text) => text.trim() !== "").join("\n");
  return { passed: false, message, output: printed === "" ? null : redactText(printed), failures: [] };
}

/** The answer in JSON: all of stdout, or its last line. Anything else that was printed is a message. */
function spoken(stdout: string): JsonObject | null {
  const lines = stdout.trimEnd().split("\n");
  for (const text of [stdout, lines.at(-1) ?? ""]) {
    if (!text.trimStart().startsWith("{")) continue;
    const parsed = tryParseJson(text);
    if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  }
  return null;
}

/** The program that a script needs and that isn't there, by its name. */
function missingInterpreter({ env }: Ctx, path: string, program: RunRequest["program"]): string | null {
  const PATH = env["PATH"] ?? env["Path"] ?? "";
  const isMissing = (name: string): boolean =>
    name.includes("/") ? !exists(name) : Bun.which(name, { PATH: PATH || delimiter }) === null;
  if (program === "pwsh") return isMissing("pwsh") ? "pwsh (PowerShell 7)" : null;
  const head = new TextDecoder().decode(readBytes(path)?.subarray(0, 256));
  const [, interpreter, argument] = /^#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(head) ?? [];
  if (interpreter === undefined || process.platform === "win32") return null;
  if (isMissing(interpreter)) return interpreter;
  return interpreter.endsWith("/env") &&
    argument !== undefined &&
    !argument.includes("=") &&
    !argument.startsWith("-") &&
    isMissing(argument)
    ? argument
    : null;
}
