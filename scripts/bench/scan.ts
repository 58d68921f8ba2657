/** The privacy scan: how much text it looks at in a second of one core, beside what git takes to look for one string. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { makeRepo, run } from "../../test/kit/git.ts";
import type { Bench, Measured, Row } from "./kit.ts";

const FILES = 1_000;
const FILE_BYTES = 64 * 1024;
const RUNS = 7;
/** What it has to come to, in millions of bytes a second. */
const WANTED = 80;

/** A repository of source text: this project's own, shuffled by lines, so that no two files are the same. */
async function sources(bench: Bench): Promise<string> {
  const root = await makeRepo(await bench.folder("scan"), {
    files: { ".bot/.gitignore": ".control\nworkspace/tasks\n" },
  });
  const own = [...new Bun.Glob("{lib,cmd}/**/*.ts").scanSync({ cwd: join(import.meta.dir, "..", "..") })].toSorted();
  const lines: string[] = [];
  for (const path of own) lines.push(...(await Bun.file(join(import.meta.dir, "..", "..", path)).text()).split("\n"));
  await mkdir(join(root, "src"));
  for (let file = 0, at = 0; file < FILES; file++) {
    let text = `// file ${file}\n`;
    for (; text.length < FILE_BYTES; at += 7) text += `${lines[at % lines.length] ?? ""}\n`;
    await Bun.write(join(root, "src", `${file}.ts`), text);
  }
  await run(root, "add", "-A");
  await run(root, "commit", "-q", "-m", "sources");
  return root;
}

/** Least seconds of processor time of several runs: what others do at the same time can only add to it. */
function processorSeconds(command: readonly string[], cwd: string, env: Record<string, string>): number {
  let least = Infinity;
  for (let n = 0; n < RUNS; n++) {
    const ended = Bun.spawnSync([...command], { cwd, env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    if (ended.exitCode > 1) throw new Error(`status ${ended.exitCode}: ${command.join(" ")}`);
    least = Math.min(least, Number(ended.resourceUsage.cpuTime.total) / 1e6);
  }
  return least;
}

export async function rows(bench: Bench): Promise<readonly Row[]> {
  const root = await sources(bench);
  const megabytes = (FILES * FILE_BYTES) / 1e6;
  const measure = async (): Promise<Measured> => {
    const scan = processorSeconds([bench.dotbot, "guard", "scan", "--all", "--json"], root, bench.env);
    const grep = processorSeconds(
      ["git", "grep", "--threads", "1", "-c", "-F", "a string that is nowhere"],
      root,
      bench.env,
    );
    const rate = megabytes / scan;
    return {
      ratio: rate / WANTED,
      note: `${rate.toFixed(0)} MB/s of one core (${WANTED} wanted), ${(scan / grep).toFixed(1)} × git grep -F of one string`,
    };
  };
  return [
    {
      kind: "measured",
      what: `guard scan --all, ${megabytes.toFixed(0)} MB: rate, against ${WANTED} MB/s`,
      bound: 1,
      atLeast: true,
      measure,
    },
  ];
}
