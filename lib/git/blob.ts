/** Files as they are in a commit. Reads only. */
import { parseNul } from "./parse.ts";
import { git, gitText, type GitCtx } from "./run.ts";

/** The file at a path of a commit, or null when it has none there. */
export async function readBlob(ctx: GitCtx, cwd: string, commit: string, path: string): Promise<Uint8Array | null> {
  const answer = await git(ctx, ["cat-file", "blob", `${commit}:${path}`], { cwd, probe: true });
  return answer.status === 0 ? answer.bytes : null;
}

/** A file of a folder in a commit. */
export interface BlobEntry {
  /** From the root of the tree. */
  readonly path: string;
  /** `100644`, `100755`, `120000`. */
  readonly mode: string;
  readonly oid: string;
}

/** Every file of a commit at these paths (a folder's ends in a slash), in name order; what isn't there is left out. */
export async function listBlobs(
  ctx: GitCtx,
  cwd: string,
  commit: string,
  paths: readonly string[],
): Promise<BlobEntry[]> {
  const args = [
    "--literal-pathspecs",
    "ls-tree",
    "-r",
    "-z",
    "--full-tree",
    "--end-of-options",
    commit,
    "--",
    ...paths,
  ];
  return parseNul(await gitText(ctx, args, { cwd, probe: true })).flatMap((line): BlobEntry[] => {
    const tab = line.indexOf("\t");
    const [mode = "", kind, oid = ""] = line.slice(0, tab).split(" ");
    return kind === "blob" ? [{ path: line.slice(tab + 1), mode, oid }] : [];
  });
}
