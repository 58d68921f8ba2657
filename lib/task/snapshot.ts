/**
 * Snapshots of the queue as commits: on a branch of their own, made by git's importer straight from the ledger, so that no
 * checkout, index or hook of anybody's is touched; and read back from any commit, local or fetched.
 */
import type { Ctx } from "../ctx.ts";
import { DotbotError } from "../error.ts";
import { oneLine, parseNul, parseWorktrees } from "../git/parse.ts";
import { remoteNames } from "../git/remote.ts";
import type { Repo } from "../git/repo.ts";
import { git, gitFailure, gitText, refuseOption } from "../git/run.ts";
import { quote } from "../text.ts";
import { isTaskFile, type ForeignDocument } from "./intake.ts";
import type { Ledger } from "./ledger.ts";
import { type Folder, folderOf, FOLDERS } from "./view.ts";

/** Where the queue lies in a snapshot's tree: where it would lie in a checkout. */
const PREFIX = ".bot/workspace/tasks/";
const FETCH_TIMEOUT_MS = 30_000;

/** Where git runs for the repository that owns the queue. */
function at(repo: Repo): { cwd: string } {
  return { cwd: repo.stateRoot };
}

/** The commit that a ref names, or null. */
export async function commitOf(ctx: Ctx, repo: Repo, ref: string): Promise<string | null> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`];
  const found = await git(ctx, args, { ...at(repo), probe: true });
  return found.status === 0 ? oneLine(found.stdout) : null;
}

export interface Snapshot {
  readonly commit: string;
  /** false: the branch showed exactly this already. */
  readonly changed: boolean;
  readonly files: number;
}

/**
 * Commits the whole queue to `branch`, by compare-and-swap. Errors: REFUSED where the branch is checked out; GIT_FAILED with
 * git's words (no identity configured, a branch name in the way).
 */
export async function saveSnapshot(
  ctx: Ctx,
  repo: Repo,
  ledger: Ledger,
  branch: string,
  message: string,
): Promise<Snapshot> {
  await refuseCheckedOut(ctx, repo, branch);
  const ref = `refs/heads/${branch}`;
  const draft = `refs/dotbot/draft/${ctx.uuid()}`;
  const identity = oneLine(await gitText(ctx, ["var", "GIT_COMMITTER_IDENT"], at(repo)));
  for (let attempt = 1; ; attempt++) {
    const old = await commitOf(ctx, repo, ref);
    const parents = await parentsOf(ctx, repo, old, loadedCommits(ledger));
    const { stream, files } = importStream(ledger, { ref: draft, identity, message, parents });
    try {
      const args = ["fast-import", "--quiet", "--done", "--date-format=raw", "--force"];
      const imported = await git(ctx, args, { ...at(repo), input: stream });
      if (imported.status !== 0) throw gitFailure(args, imported);
      const drafted = oneLine(await gitText(ctx, ["rev-parse", "--verify", draft], { ...at(repo), probe: true }));
      const [only] = parents;
      const same =
        only !== undefined &&
        parents.length === 1 &&
        (await treeOf(ctx, repo, only)) === (await treeOf(ctx, repo, drafted));
      const commit = same ? only : drafted;
      if (commit === old) return { commit, changed: false, files };
      const update = ["update-ref", "-m", "dotbot task save", ref, commit, old ?? "0".repeat(commit.length)];
      const updated = await git(ctx, update, at(repo));
      if (updated.status === 0) return { commit, changed: !same, files };
      // Somebody else saved meanwhile: their snapshot becomes the parent of ours.
      if (attempt >= 5 || (await commitOf(ctx, repo, ref)) === old) throw gitFailure(update, updated);
    } finally {
      await git(ctx, ["update-ref", "-d", draft], at(repo));
    }
  }
}

/** Snapshots of others that were taken in whole: the next one of ours continues them. By commit, in the ledger. */
const LOADED_RECORDS = "snapshot-loaded";

/** Notes, inside a transaction, that everything in this commit is in the ledger. */
export function noteLoaded(ledger: Ledger, commit: string, when: string): void {
  ledger.putRecord(LOADED_RECORDS, commit, { at: when });
}

/** Forgets, inside a transaction, what a snapshot of ours continues by now. */
export function forgetLoaded(ledger: Ledger): void {
  for (const commit of loadedCommits(ledger)) ledger.dropRecord(LOADED_RECORDS, commit);
}

function loadedCommits(ledger: Ledger): string[] {
  return [...ledger.records(LOADED_RECORDS).keys()];
}

/** What a snapshot continues: the branch's tip and what was taken in, without those that another one contains. */
async function parentsOf(ctx: Ctx, repo: Repo, tip: string | null, loaded: readonly string[]): Promise<string[]> {
  const present: string[] = [];
  for (const commit of loaded) if ((await commitOf(ctx, repo, commit)) !== null) present.push(commit);
  const candidates = [...(tip === null ? [] : [tip]), ...present.filter((commit) => commit !== tip)];
  if (candidates.length < 2) return candidates;
  const independent = await gitText(ctx, ["merge-base", "--independent", ...candidates], { ...at(repo), probe: true });
  const kept = independent.split("\n").filter((line) => line !== "");
  return candidates.filter((commit) => kept.includes(commit));
}

async function refuseCheckedOut(ctx: Ctx, repo: Repo, branch: string): Promise<void> {
  const listed = await gitText(ctx, ["worktree", "list", "--porcelain", "-z"], { ...at(repo), probe: true });
  const holder = parseWorktrees(listed).find((worktree) => worktree.branch === `refs/heads/${branch}`);
  if (holder === undefined) return;
  throw new DotbotError(
    "REFUSED",
    `${quote(branch)} is checked out in ${quote(holder.path, 200)}: a snapshot would move it under that checkout`,
    {
      hint: "switch that checkout to another branch, or name another one in the setting queue.branch",
      example: "dotbot config set queue.branch team/queue",
    },
  );
}

async function treeOf(ctx: Ctx, repo: Repo, commit: string): Promise<string> {
  return oneLine(await gitText(ctx, ["rev-parse", "--verify", `${commit}^{tree}`], { ...at(repo), probe: true }));
}

function importStream(
  ledger: Ledger,
  as: { ref: string; identity: string; message: string; parents: readonly string[] },
): { stream: Uint8Array; files: number } {
  const encoder = new TextEncoder();
  const chunks: Uint8Array[] = [];
  const line = (text: string): void => void chunks.push(encoder.encode(`${text}\n`));
  const data = (bytes: Uint8Array): void => {
    line(`data ${bytes.length}`);
    chunks.push(bytes, encoder.encode("\n"));
  };
  return ledger.snapshot(() => {
    line(`commit ${as.ref}`);
    line(`committer ${as.identity}`);
    data(encoder.encode(as.message));
    for (const [i, parent] of as.parents.entries()) line(`${i === 0 ? "from" : "merge"} ${parent}`);
    line("deleteall");
    const rows = ledger.tasks("place <> 'removed'");
    for (const row of rows) {
      const folder = folderOf(row);
      if (folder === null) continue;
      line(`M 100644 inline ${path(`${PREFIX}${folder}/${row.file}`)}`);
      data(encoder.encode(ledger.document(row.id)));
    }
    line("done");
    return { stream: Buffer.concat(chunks), files: rows.length };
  });
}

/** A path as the importer reads it: quoted as in C where it has anything unusual. */
function path(name: string): string {
  if (/^[A-Za-z0-9._/-]+$/.test(name)) return name;
  return `"${name.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`))}"`;
}

/** Fetches the snapshot branch of a remote; the commit, or null where the remote has none. Errors: NETWORK, GIT_FAILED. */
export async function fetchSnapshot(ctx: Ctx, repo: Repo, remote: string, branch: string): Promise<string | null> {
  refuseOption(remote, "remote");
  const names = await remoteNames(ctx, repo);
  if (!names.includes(remote)) {
    throw new DotbotError("NOT_FOUND", `there is no remote ${quote(remote)}`, {
      hint: names.length === 0 ? "this repository has no remote" : `remotes: ${names.join(", ")}`,
      ...(names[0] === undefined ? {} : { example: `dotbot task load --remote ${names[0]}` }),
    });
  }
  const local = `refs/dotbot/fetched/${remote}`;
  const args = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--end-of-options",
    remote,
    `+refs/heads/${branch}:${local}`,
  ];
  const fetched = await git(ctx, args, { ...at(repo), timeoutMs: FETCH_TIMEOUT_MS });
  if (fetched.status === 0) return await commitOf(ctx, repo, local);
  if (/couldn't find remote ref/i.test(fetched.stderr)) return null;
  throw gitFailure(args, fetched);
}

/** Sends the snapshot branch to a remote by name; what the remote has afterwards. Errors: REJECTED, NETWORK. */
export async function pushSnapshot(
  ctx: Ctx,
  repo: Repo,
  remote: string,
  branch: string,
): Promise<{ remote: string; ref: string; sha: string }> {
  refuseOption(remote, "remote");
  const ref = `refs/heads/${branch}`;
  const args = ["push", "--quiet", "--end-of-options", remote, `${ref}:${ref}`];
  const pushed = await git(ctx, args, { ...at(repo), timeoutMs: FETCH_TIMEOUT_MS });
  if (pushed.status !== 0) {
    if (/rejected|non-fast-forward|fetch first/i.test(pushed.stderr)) {
      throw new DotbotError("REJECTED", `${quote(remote)} has snapshots that this one doesn't continue`, {
        hint: "load them first, then save again",
        example: `dotbot task load --remote ${remote} && dotbot task save --push`,
      });
    }
    throw gitFailure(args, pushed);
  }
  const listed = await gitText(ctx, ["ls-remote", "--end-of-options", remote, ref], {
    ...at(repo),
    timeoutMs: FETCH_TIMEOUT_MS,
  });
  return { remote, ref, sha: listed.split("\t")[0] ?? "" };
}

/** Every task file in a commit, as far as it lies in a folder of the queue. */
export async function readSnapshot(ctx: Ctx, repo: Repo, commit: string): Promise<ForeignDocument[]> {
  const listed = await gitText(ctx, ["ls-tree", "-r", "-z", "--full-tree", commit, "--", PREFIX], {
    ...at(repo),
    probe: true,
  });
  const entries: { folder: Folder; file: string; oid: string }[] = [];
  for (const entry of parseNul(listed)) {
    const match = /^100(?:644|755) blob ([0-9a-f]+)\t(.*)$/s.exec(entry);
    const [folder, file, ...deeper] = (match?.[2] ?? "").slice(PREFIX.length).split("/");
    if (match?.[1] === undefined || file === undefined || deeper.length > 0 || !isTaskFile(file)) continue;
    const known = FOLDERS.find((candidate) => candidate === folder);
    if (known !== undefined) entries.push({ folder: known, file, oid: match[1] });
  }
  if (entries.length === 0) return [];
  const { bytes } = await git(ctx, ["cat-file", "--batch"], {
    ...at(repo),
    probe: true,
    input: entries.map((entry) => `${entry.oid}\n`).join(""),
  });
  return blobs(bytes).map((content, i) => ({
    folder: entries[i]?.folder ?? "todo",
    file: entries[i]?.file ?? "",
    bytes: content,
  }));
}

/** The contents in the answer of `cat-file --batch`. */
function blobs(bytes: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(10, from);
    const [, , size] = new TextDecoder().decode(bytes.subarray(from, end)).split(" ");
    const length = Number(size);
    if (!Number.isSafeInteger(length))
      throw new DotbotError("GIT_FAILED", "git cat-file answered in a form that isn't known");
    found.push(bytes.slice(end + 1, end + 1 + length));
    from = end + 1 + length + 1;
  }
  return found;
}
