/** Completion and shell integration at the edge: answers Tab, prints the scripts, puts them where shells look. */
import bashStub from "../completions/dotbot.bash" with { type: "text" };
import fishStub from "../completions/dotbot.fish" with { type: "text" };
import powershellStub from "../completions/dotbot.ps1" with { type: "text" };
import zshStub from "../completions/_dotbot" with { type: "text" };
import fishInit from "../completions/init/fish.fish" with { type: "text" };
import posixInit from "../completions/init/posix.sh" with { type: "text" };
import powershellInit from "../completions/init/powershell.ps1" with { type: "text" };
import { DotbotError } from "../lib/error.ts";
import { makeDirectory, readText, writeAtomic } from "../lib/files.ts";
import { nearest, quote } from "../lib/text.ts";
import { dirname } from "node:path";
import { SHELLS, type Shell } from "./complete-shell.ts";
import type { Host } from "./host.ts";
import { installation, withLine, type Installation } from "./install.ts";

const STUBS: Readonly<Record<Shell, string>> = {
  bash: bashStub,
  zsh: zshStub,
  fish: fishStub,
  powershell: powershellStub,
};

const INITS: Readonly<Record<Shell, string>> = {
  bash: posixInit,
  zsh: posixInit,
  fish: fishInit,
  powershell: powershellInit,
};

/** `dotbot completion <shell> [--install]`. */
export async function completionCommand(args: readonly string[], host: Host): Promise<number> {
  const shell = shellOf(args, "completion", ["--install"]);
  if (!args.includes("--install")) {
    await host.write("stdout", STUBS[shell]);
    return 0;
  }
  const where = installation(shell, host.env);
  makeDirectory(dirname(where.file));
  writeAtomic(where.file, STUBS[shell]);
  if (where.startup !== null) addLine(where.startup);
  await host.write("stdout", installedText(shell, where));
  return 0;
}

/** `dotbot shell-init <shell>`. */
export async function shellInitCommand(args: readonly string[], host: Host): Promise<number> {
  const shell = shellOf(args, "shell-init", []);
  await host.write("stdout", INITS[shell] + STUBS[shell]);
  return 0;
}

function addLine({ file, line }: { readonly file: string; readonly line: string }): void {
  const before = readText(file) ?? "";
  const after = withLine(before, line);
  if (after === before) return;
  makeDirectory(dirname(file));
  writeAtomic(file, after);
}

function installedText(shell: Shell, { file, startup }: Installation): string {
  const undo = [
    `remove ${file}`,
    ...(startup === null ? [] : [`take the line that ends in "# dotbot" out of ${startup.file}`]),
  ];
  return [
    `wrote ${file}`,
    ...(startup === null ? [] : [`${startup.file} loads it`]),
    `Tab completes dotbot in every new ${shell}${startup === null ? "" : ` that reads ${startup.file}`}.`,
    `To undo it: ${undo.join(", and ")}.`,
    "",
  ].join("\n");
}

function shellOf(args: readonly string[], command: string, flags: readonly string[]): Shell {
  const example = `dotbot ${command} bash`;
  const unknown = args.find((arg) => arg.startsWith("-") && !flags.includes(arg));
  if (unknown !== undefined) {
    throw new DotbotError("UNKNOWN_FLAG", `unknown flag ${quote(unknown)} for ${quote(command)}`, {
      hint: flags.length === 0 ? "it has none of its own" : `its flags are ${flags.join(", ")}`,
      example,
    });
  }
  const [word, ...more] = args.filter((arg) => !arg.startsWith("-"));
  if (word === undefined) throw new DotbotError("USAGE", `which shell? ${SHELLS.join(", ")}`, { example });
  if (more.length > 0) throw new DotbotError("USAGE", `${quote(command)} takes one shell at a time`, { example });
  const name = word === "pwsh" ? "powershell" : word;
  const shell = SHELLS.find((it) => it === name);
  if (shell !== undefined) return shell;
  const near = nearest(word, SHELLS);
  throw new DotbotError(
    "INVALID_INPUT",
    `${quote(word)} isn't a shell that dotbot completes in: ${SHELLS.join(", ")}`,
    {
      ...(near === undefined ? {} : { hint: `did you mean ${quote(near)}?` }),
      example: `dotbot ${command} ${near ?? "bash"}`,
    },
  );
}
