/**
 * The project's verify scripts, as the base has them: a branch can't switch off its own judge. Where the project doesn't track
 * them, those in the state root, which no branch can change either.
 */
import { join } from "node:path";

import {
  listNames,
  lstatOrNull,
  makeDirectory,
  readBytes,
  removeTree,
  rename,
  statOrNull,
  writeTemp,
} from "../files.ts";
import { listBlobs, type BlobEntry } from "../git/blob.ts";
import { parseNul } from "../git/parse.ts";
import type { Repo } from "../git/repo.ts";
import { git, gitText, type GitCtx } from "../git/run.ts";
import { BASELINE_FILE, NO_BASELINE, parseBaseline, type Baseline } from "../scan/exemptions.ts";
import { baselineIn } from "../scan/scan.ts";
import { VERIFY_FOLDER, type VerifyFile } from "./plan.ts";

export interface Script extends VerifyFile {
  readonly bytes: Uint8Array;
  /** Of content and mode. */
  readonly hash: string;
}

export interface Scripts {
  /** The commit that they are of; null: they are untracked files of the state root. */
  readonly commit: string | null;
  readonly files: readonly Script[];
}

/** What a change is judged by. */
export interface Judge {
  readonly baseline: Baseline;
  readonly scripts: Scripts;
}

/**
 * `commit`: the base by which a change is judged; null before the first commit. Error: INVALID_INPUT for a baseline that can't
 * be read.
 */
export async function loadJudge(ctx: GitCtx, repo: Repo, cwd: string, commit: string | null): Promise<Judge> {
  if (commit === null) return { baseline: baselineIn(cwd), scripts: await ownScripts(ctx, repo) };
  const entries = await listBlobs(ctx, cwd, commit, [`${VERIFY_FOLDER}/`, BASELINE_FILE]);
  const accepted = entries.find(({ path }) => path === BASELINE_FILE);
  const tracked = entries.filter((entry) => entry !== accepted);
  const baseline =
    accepted === undefined
      ? NO_BASELINE
      : parseBaseline(
          await gitText(ctx, ["cat-file", "blob", accepted.oid], { cwd, probe: true }),
          `${commit.slice(0, 12)}:${BASELINE_FILE}`,
        );
  const scripts =
    tracked.length > 0 ? { commit, files: await readBlobs(ctx, cwd, commit, tracked) } : await ownScripts(ctx, repo);
  return { baseline, scripts };
}

/** The state root's, where the project doesn't track them. */
async function ownScripts(ctx: GitCtx, repo: Repo): Promise<Scripts> {
  const folder = join(repo.stateRoot, VERIFY_FOLDER);
  const names = filesBelow(folder);
  if (names.length === 0 || (await isTracked(ctx, repo.stateRoot))) return { commit: null, files: [] };
  return {
    commit: null,
    files: names.flatMap((name) => {
      const path = join(folder, name);
      const bytes = readBytes(path);
      return bytes === null ? [] : [script(name, ((statOrNull(path)?.mode ?? 0) & 0o111) !== 0, bytes)];
    }),
  };
}

/** Files below a folder, with `/`, in name order. */
function filesBelow(folder: string, above = ""): string[] {
  return (listNames(folder) ?? []).toSorted().flatMap((name) => {
    const path = join(folder, name);
    return lstatOrNull(path)?.isDirectory() === true ? filesBelow(path, `${above}${name}/`) : [`${above}${name}`];
  });
}

async function isTracked(ctx: GitCtx, stateRoot: string): Promise<boolean> {
  const args = ["--literal-pathspecs", "ls-files", "-z", "--", VERIFY_FOLDER];
  const listed = await git(ctx, args, { cwd: stateRoot, probe: true });
  return listed.status === 0 && listed.bytes.length > 0;
}

async function readBlobs(ctx: GitCtx, cwd: string, commit: string, entries: readonly BlobEntry[]): Promise<Script[]> {
  const files: Script[] = [];
  for (const { path, mode, oid } of entries) {
    const name = path.slice(VERIFY_FOLDER.length + 1);
    if (mode === "120000") {
      const target = await followLink(ctx, cwd, `${commit}:${path}`);
      // What a link leads to has no mode of its own here; a first line that names an interpreter says enough.
      if (target !== null) files.push(script(name, target[0] === 0x23 && target[1] === 0x21, target));
      continue;
    }
    const { bytes } = await git(ctx, ["cat-file", "blob", oid], { cwd, probe: true, okStatus: [0] });
    files.push(script(name, mode === "100755", bytes));
  }
  return files;
}

/** What a link in a commit leads to, within that commit; null when it leads out of it or nowhere. */
async function followLink(ctx: GitCtx, cwd: string, object: string): Promise<Uint8Array | null> {
  if (object.includes("\n")) return null;
  const { bytes } = await git(ctx, ["cat-file", "--batch", "--follow-symlinks"], {
    cwd,
    probe: true,
    input: `${object}\n`,
    okStatus: [0],
  });
  const lf = bytes.indexOf(10);
  const [, kind, size] = new TextDecoder().decode(bytes.subarray(0, Math.max(0, lf))).split(" ");
  return kind === "blob" ? bytes.subarray(lf + 1, lf + 1 + Number(size)) : null;
}

function script(name: string, executable: boolean, bytes: Uint8Array): Script {
  const hash = new Bun.CryptoHasher("sha256")
    .update(executable ? "x" : "-")
    .update(bytes)
    .digest("hex");
  return { name, executable, bytes, hash };
}

/** Paths of the judge (scripts, their config, further files) that differ in a checkout from the commit it is judged by. */
export async function changedJudge(
  ctx: GitCtx,
  cwd: string,
  commit: string,
  files: readonly string[],
): Promise<string[]> {
  const paths = ["--", VERIFY_FOLDER, ...files];
  const diff = [
    "--literal-pathspecs",
    "diff",
    "--name-only",
    "-z",
    "--no-renames",
    "--no-ext-diff",
    "--end-of-options",
    commit,
    ...paths,
  ];
  const others = ["--literal-pathspecs", "ls-files", "-z", "--others", "--exclude-standard", ...paths];
  const [changed, untracked] = await Promise.all(
    [diff, others].map((args) => gitText(ctx, args, { cwd, probe: true })),
  );
  return [...new Set([...parseNul(changed ?? ""), ...parseNul(untracked ?? "")])].sort();
}

/** Writes scripts into a folder of their own, beside each other as they were; dispose it when they have run. */
export class ScriptFolder implements Disposable {
  readonly path: string;

  constructor(path: string, { files }: Scripts) {
    this.path = path;
    makeDirectory(path);
    for (const { name, bytes, executable } of files) {
      const to = join(path, name);
      makeDirectory(join(to, ".."));
      // Written under another name first: a file that is still open for writing can't be executed.
      rename(writeTemp(to, bytes, { mode: executable ? 0o755 : 0o644, durable: false }), to);
    }
  }

  [Symbol.dispose](): void {
    removeTree(this.path);
  }
}
