/**
 * argv → surface. The one place that catches, and the one that decides the exit status.
 * stdout gets answers (with `--json` errors too), stderr narration; nothing here, or below, ends the process.
 */
import { DotbotError, errorFacts, ERRORS, errorText, stackOf } from "../lib/error.ts";
import type { ResolveTarget } from "../lib/invoke.ts";
import { mentions } from "./argv.ts";
import { Interrupted, type Host } from "./host.ts";
import { route, type Commands } from "./route.ts";

export interface Program extends Commands {
  readonly version: string;
  readonly resolve: ResolveTarget;
}

/** Does what the command line says; returns the exit status. Never throws. */
export async function main(host: Host, program: Program): Promise<number> {
  try {
    return await dispatch(host, program);
  } catch (error) {
    return await report(error, host);
  }
}

async function dispatch(host: Host, program: Program): Promise<number> {
  const found = await route(host.argv, program);
  switch (found.to) {
    case "version":
      await host.write("stdout", `dotbot ${program.version}\n`);
      return 0;
    case "help": {
      const { helpText } = await import("./help.ts");
      const rows = (await host.isTerminal("stdout")) ? host.size().rows : null;
      await host.write("stdout", helpText(found.page, program, rows));
      return 0;
    }
    case "surface":
      return await found.surface.run(found.args, host);
    case "operation": {
      const signal = host.interruption();
      let status: number;
      try {
        const { runOperation } = await import("./cli.ts");
        const running = runOperation(found.operation, found.taken, host, program.resolve, signal);
        // Alone, it may be somebody's first call, anywhere.
        status = await (found.taken.size === 0 ? running.catch(withWayIn) : running);
      } catch (error) {
        status = await report(error, host);
      }
      // A run that finished its write before it noticed has told its answer; the status still says that it was cut short.
      return signal.reason instanceof Interrupted ? 128 + signal.reason.signal : status;
    }
  }
}

/** The same failure, with where to begin. */
function withWayIn(error: unknown): never {
  if (!(error instanceof DotbotError) || error.code !== "NOT_A_REPOSITORY") throw error;
  const { code, message, ...extra } = error.facts();
  throw new DotbotError(code, message, {
    ...extra,
    hint: `${extra.hint ?? ""}; \`dotbot help\` lists the commands`.replace(/^; /, ""),
  });
}

/** Tells a failure once, where the caller looks for it; returns its exit status. */
async function report(error: unknown, host: Host): Promise<number> {
  if (error instanceof Interrupted) return 128 + error.signal;
  const facts = errorFacts(error);
  if (facts.code === "INTERNAL") await host.write("stderr", `${stackOf(error)}\n`);
  try {
    if (mentions(host.argv, "--json", "--json=true"))
      await host.write("stdout", `${JSON.stringify({ error: facts })}\n`);
    else await host.write("stderr", errorText(facts));
  } catch {
    // stdout itself is what failed.
    await host.write("stderr", errorText(facts));
  }
  return ERRORS[facts.code][0];
}
