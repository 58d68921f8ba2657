/** The scan of what a push sends: every commit by itself, since what a later one takes away is sent all the same. */
import { DotbotError } from "../error.ts";
import { oneLine } from "../git/parse.ts";
import { commitTree } from "../git/merge.ts";
import { mergeBase } from "../git/refs.ts";
import { git, gitText } from "../git/run.ts";
import type { Call } from "../op.ts";
import { baselineIn, scan } from "../scan/scan.ts";
import { quote } from "../text.ts";
import { settingsOf } from "./ops/common.ts";

/** Throws REJECTED, naming places and never secrets, when a commit that would be sent holds one. */
export async function refuseSecrets(call: Call, remote: string, tip: string): Promise<{ scanned: number }> {
  const { repo } = call.target;
  const workRoot = repo.workRoot ?? repo.mainRoot;
  const from = await sentAlready(call, remote, tip);
  if (from === tip) return { scanned: 0 };
  const range = `${from}..${tip}`;
  const settings = settingsOf(call).scan;
  const result = await scan(call, {
    workRoot,
    source: { kind: "range", range },
    settings,
    baseline: baselineIn(workRoot),
  });
  if (result.ok) return { scanned: result.files };
  const project = result.violations.filter(({ scope }) => scope === "project");
  const places = project
    .slice(0, 5)
    .map(
      ({ file, line, patterns, commit }) =>
        `${quote(file)}:${line} (${patterns.join(", ")}${commit === undefined ? "" : `, ${commit.slice(0, 12)}`})`,
    );
  throw new DotbotError(
    "REJECTED",
    `what would be sent holds what looks like secrets: ${places.join("; ")}${project.length > 5 ? `; and ${project.length - 5} more` : ""}`,
    {
      hint: "take them out of the commits themselves, not only out of the files; or exempt the line with a reason",
      example: `dotbot guard scan --range ${from.slice(0, 12)}..${tip.slice(0, 12)}`,
      details: { range, violations: project.slice(0, 50) },
    },
  );
}

/** A commit from which on everything is news to the remote, as far as the remote-tracking branches know. */
async function sentAlready(call: Call, remote: string, tip: string): Promise<string> {
  const cwd = call.target.repo.mainRoot;
  const args = ["for-each-ref", "--format=%(objectname)", "--", `refs/remotes/${remote}/`];
  const known = (await gitText(call, args, { cwd, probe: true })).split("\n").filter((line) => line !== "");
  const boundary = await git(
    call,
    ["rev-list", "--boundary", "--end-of-options", tip, ...known.map((oid) => `^${oid}`)],
    { cwd, probe: true, okStatus: [0] },
  );
  const lines = boundary.stdout.split("\n").filter((line) => line !== "");
  if (lines.length === 0) return tip;
  const edges = lines.filter((line) => line.startsWith("-")).map((line) => line.slice(1));
  const [edge] = edges;
  // Several edges: from their common beginning, which looks at some commits twice and at none too few.
  if (edge !== undefined) {
    let from: string | null = edge;
    for (const other of edges.slice(1)) from = from === null ? null : await mergeBase(call, cwd, from, other);
    if (from !== null) return from;
  }
  return await nothing(call, cwd);
}

/** A commit without files and without parents, so that a whole history is a range as well. */
async function nothing(call: Call, cwd: string): Promise<string> {
  const tree = oneLine(await gitText(call, ["hash-object", "-t", "tree", "-w", "--stdin"], { cwd, input: "" }));
  const who = { NAME: "dotbot", EMAIL: "dotbot@localhost", DATE: "1000000000 +0000" };
  const identity = Object.fromEntries(
    Object.entries(who).flatMap(([key, value]) => [
      [`GIT_AUTHOR_${key}`, value],
      [`GIT_COMMITTER_${key}`, value],
    ]),
  );
  return await commitTree(call, cwd, { tree, parents: [], message: "nothing\n", identity });
}
