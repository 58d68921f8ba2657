/**
 * Talking to a remote: which one, what is sent, what is fetched. Refspecs are always whole and explicit, since what a bare
 * push or fetch would move is for the configuration to say, and that may be everything.
 */
import { DotbotError } from "../error.ts";
import { configBool, hideUserInfo, oneLine, parseConfig } from "../git/parse.ts";
import { branchRef, commitOf, deleteRef } from "../git/refs.ts";
import { identityOf, pushUrls, readIdentity, remoteNames, type Identity } from "../git/remote.ts";
import { git, gitFailure, refuseOption } from "../git/run.ts";
import type { AnyOperation, Call } from "../op.ts";
import { nearest, quote, stripControlKeepLines } from "../text.ts";
import { networkTimeout, refused, STALLED } from "./ops/common.ts";
import type { Arguments } from "./spell.ts";

export interface ChosenRemote {
  readonly name: string;
  /** Who a push goes to, one for each URL. */
  readonly push: readonly Identity[];
  /** Where a push goes, as git takes it; may hold secrets. */
  readonly pushUrls: readonly string[];
  /** Whether a fetch from it reads what a push to it wrote. */
  readonly sameBothWays: boolean;
  readonly config: Config;
}

type Config = ReadonlyMap<string, readonly (string | null)[]>;

/**
 * The remote of a call: the one named, else the branch's, else the only one. Only configured names, never URLs. Throws
 * INVALID_INPUT, NOT_FOUND, REFUSED (missing `remote`).
 */
export async function chooseRemote(
  call: Call,
  op: AnyOperation,
  input: Arguments,
  wanted: { readonly remote: string | undefined; readonly branch: string | null; readonly to: "push" | "fetch" },
): Promise<ChosenRemote> {
  const { repo } = call.target;
  const [names, config] = await Promise.all([remoteNames(call, repo), readConfig(call)]);
  if (wanted.remote !== undefined) {
    refuseOption(wanted.remote, "remote");
    if (names.includes(wanted.remote)) return await remoteOf(call, wanted.remote, config);
    const near = nearest(wanted.remote, names) ?? names[0];
    throw new DotbotError(
      "NOT_FOUND",
      `${quote(hideUserInfo(wanted.remote))} isn't a configured remote of ${quote(repo.mainRoot, 200)}`,
      {
        hint: names.length === 0 ? "it has none" : `its remotes: ${names.join(", ")}`,
        details: {
          remote: hideUserInfo(wanted.remote),
          remotes: names,
          ...(near === undefined ? {} : { nearest: near }),
        },
      },
    );
  }
  if (names.length === 0) {
    throw new DotbotError("NOT_FOUND", `${quote(repo.mainRoot, 200)} has no remote`, {
      hint: "one has to be configured first",
      details: { remotes: [] },
    });
  }
  const last = (key: string): string | null => config.get(key)?.at(-1) ?? null;
  const own = wanted.branch === null ? [] : [last(`branch.${wanted.branch}.remote`)];
  const forPush =
    wanted.to === "fetch"
      ? []
      : [wanted.branch === null ? null : last(`branch.${wanted.branch}.pushremote`), last("remote.pushdefault")];
  // "." is a branch that follows a local one: no remote.
  const configured = [...forPush, ...own].find((name) => name !== null && name !== ".");
  const chosen = configured ?? (names.length === 1 ? names[0] : undefined);
  const ask = (why: string): DotbotError =>
    refused(call, op, input, {
      why,
      missing: ["remote"],
      hint: `give remote: ${names.join(", ")}`,
      works: { remote: names.includes("origin") ? "origin" : names[0] },
      candidates: names,
    });
  if (chosen === undefined || chosen === null)
    throw ask(`there are ${names.length} remotes, and none is the branch's own`);
  if (!names.includes(chosen)) throw ask(`the configured remote ${quote(hideUserInfo(chosen))} isn't the name of one`);
  const remote = await remoteOf(call, chosen, config);
  if (wanted.to === "push" && !remote.sameBothWays) {
    const goesTo = placesOf(remote).join(" and ");
    throw ask(
      `what is fetched from ${quote(chosen)} and what is pushed to it are different repositories (pushes go to ${goesTo})`,
    );
  }
  return remote;
}

async function readConfig(call: Call): Promise<Config> {
  const args = [
    "config",
    "-z",
    "--get-regexp",
    String.raw`^(branch\..*\.(pushremote|remote|merge)|remote\.pushdefault|remote\..*\.(mirror|fetch))$`,
  ];
  const { stdout } = await git(call, args, { cwd: call.target.repo.mainRoot, probe: true, okStatus: [0, 1] });
  return parseConfig(stdout);
}

async function remoteOf(call: Call, name: string, config: Config): Promise<ChosenRemote> {
  const { repo } = call.target;
  const [urls, fetched] = await Promise.all([pushUrls(call, repo, name), fetchIdentity(call, name)]);
  const push = urls.map((url) => identityOf(url, repo.mainRoot));
  return { name, push, pushUrls: urls, sameBothWays: push.every(({ key }) => key === fetched.key), config };
}

/** Where a push goes, for people: owner/repo, or the URL without what is secret in it. */
function placesOf({ push, pushUrls }: ChosenRemote): string[] {
  return push.map(({ ownerRepo }, i) => ownerRepo ?? hideUserInfo(pushUrls[i] ?? ""));
}

async function fetchIdentity(call: Call, name: string): Promise<Identity> {
  const { repo } = call.target;
  if (name === "origin") return await readIdentity(call, repo);
  const args = ["remote", "get-url", "--", name];
  const { stdout, status } = await git(call, args, { cwd: repo.mainRoot, probe: true, okStatus: [0, 2] });
  return identityOf(status === 0 ? oneLine(stdout) : undefined, repo.mainRoot);
}

/** The branch at the remote that a local one follows, by its short name; null when it follows none there. */
export function followed({ name, config }: ChosenRemote, branch: string): string | null {
  if (config.get(`branch.${branch}.remote`)?.at(-1) !== name) return null;
  const ref = config.get(`branch.${branch}.merge`)?.at(-1);
  return ref?.startsWith("refs/heads/") === true ? ref.slice("refs/heads/".length) : null;
}

// ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Pushed {
  readonly remote: string;
  readonly ref: string;
  /** What the remote has now, asked after the push. */
  readonly remoteSha: string;
  readonly outcome: "created" | "updated" | "up-to-date";
  /** `owner/repo` where it's on a host, else the URL without user info. */
  readonly pushedTo: string[];
}

/** Sends one branch to the branch of its name. Throws REJECTED, NETWORK, REFUSED, UNVERIFIED. */
export async function pushBranch(call: Call, remote: ChosenRemote, branch: string, sha: string): Promise<Pushed> {
  const cwd = call.target.repo.workRoot ?? call.target.repo.mainRoot;
  const ref = branchRef(branch);
  if (configBool(remote.config.get(`remote.${remote.name}.mirror`)?.at(-1) ?? "false") === true) {
    throw new DotbotError(
      "REFUSED",
      `the remote ${quote(remote.name)} is configured as a mirror: a push to it moves and deletes all refs there`,
      {
        hint: `push to another remote, or unset remote.${remote.name}.mirror`,
        details: { remote: remote.name },
      },
    );
  }
  const args = [
    ...STALLED,
    "-c",
    "push.followTags=false",
    "push",
    "--porcelain",
    "--no-follow-tags",
    "--recurse-submodules=no",
    "--end-of-options",
    remote.name,
    `${ref}:${ref}`,
  ];
  const result = await git(call, args, { cwd, timeoutMs: networkTimeout(call) });
  const [flag = "", , summary = ""] =
    result.stdout
      .split("\n")
      .find((line) => line.includes(`:${ref}\t`))
      ?.split("\t") ?? [];
  if (result.status !== 0) throw pushFailure(remote, branch, result, summary);
  const now = await remoteSha(call, remote, ref, sha);
  return {
    remote: remote.name,
    ref,
    remoteSha: now,
    outcome: flag === "*" ? "created" : flag === "=" ? "up-to-date" : "updated",
    pushedTo: placesOf(remote),
  };
}

function pushFailure(
  remote: ChosenRemote,
  branch: string,
  result: { status: number; stdout: string; stderr: string },
  summary: string,
): DotbotError {
  const details = { remote: remote.name, ref: branchRef(branch), summary };
  if (/\[rejected\].*(?:fetch first|non-fast-forward|needs force)/.test(summary)) {
    return new DotbotError(
      "REJECTED",
      `${quote(remote.name)} has commits on ${quote(branch)} that aren't here, so the push was rejected`,
      {
        hint: "pull first; nothing is ever forced",
        details,
      },
    );
  }
  const words = wordsOf(result.stderr);
  if (/\[remote rejected\]/.test(summary) || /\[rejected\]/.test(summary)) {
    return new DotbotError(
      "REJECTED",
      `${quote(remote.name)} rejected ${quote(branch)}: ${summary}${words === "" ? "" : `\n${words}`}`,
      {
        hint: "the remote's own rules say no; its words are above",
        details,
      },
    );
  }
  const failure = gitFailure(["push"], result);
  if (failure.code === "NETWORK" || failure.code === "LOCKED" || failure.code === "READ_ONLY") return failure;
  return new DotbotError(
    "REJECTED",
    `the push was stopped before anything was sent: ${words || summary || `status ${result.status}`}`,
    {
      hint: "a hook of this repository, or git itself, said no",
      details,
    },
  );
}

/** What hooks, here or there, and git said; without what git says of every push that fails. */
function wordsOf(stderr: string): string {
  const lines = stripControlKeepLines(stderr)
    .split("\n")
    .map((line) => hideUserInfo(line.replace(/^remote: ?/, "").trimEnd()));
  return lines
    .filter((line) => line !== "" && !/^(?:To |hint: |error: failed to push some refs)/.test(line))
    .slice(0, 8)
    .join("\n");
}

/** Asks the remote what its branch is, at the place that was pushed to. */
async function remoteSha(call: Call, remote: ChosenRemote, ref: string, sent: string): Promise<string> {
  const cwd = call.target.repo.workRoot ?? call.target.repo.mainRoot;
  const done = `${ref} was pushed to ${quote(remote.name)}`;
  const unverified = (why: string): DotbotError =>
    new DotbotError("UNVERIFIED", `${done}, but asking the remote what it has now failed: ${why}`, {
      hint: "look at the remote before going on",
      details: { remote: remote.name, ref, sent },
    });
  // The URL itself only where the name would lead to another place: rewrites would apply to it twice.
  const place = remote.sameBothWays ? remote.name : (remote.pushUrls[0] ?? remote.name);
  try {
    const args = [...STALLED, "ls-remote", "--end-of-options", place, ref];
    const result = await git(call, args, { cwd, probe: true, timeoutMs: networkTimeout(call), okStatus: [0] });
    const found = result.stdout
      .split("\n")
      .find((line) => line.endsWith(`\t${ref}`))
      ?.split("\t")[0];
    if (found === undefined) throw unverified("the branch isn't there");
    // Somebody moved the branch, here or there, since it was looked at: what is there now wasn't judged by anybody.
    if (found !== sent) throw unverified(`it has ${found.slice(0, 12)}, and ${sent.slice(0, 12)} was meant`);
    return found;
  } catch (error) {
    if (call.signal.aborted || (error instanceof DotbotError && error.code === "UNVERIFIED")) throw error;
    throw unverified(error instanceof Error ? error.message : String(error));
  }
}

// ── fetching ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The commit that a remote has under a full ref name, fetched. A remote-tracking branch follows where the configuration keeps
 * one in the usual form; nothing else moves. Null when the remote has no such ref. Throws NETWORK and what git says.
 */
export async function fetchRef(call: Call, remote: ChosenRemote, ref: string): Promise<string | null> {
  const { mainRoot } = call.target.repo;
  const cwd = call.target.repo.workRoot ?? mainRoot;
  // A name of our own for the answer: FETCH_HEAD belongs to whoever fetched last.
  const answer = `refs/dotbot/fetch/${call.uuid()}`;
  const usual = `+refs/heads/*:refs/remotes/${remote.name}/*`;
  const follows =
    ref.startsWith("refs/heads/") && remote.config.get(`remote.${remote.name}.fetch`)?.includes(usual) === true;
  const specs = [
    `+${ref}:${answer}`,
    ...(follows ? [`+${ref}:refs/remotes/${remote.name}/${ref.slice("refs/heads/".length)}`] : []),
  ];
  const args = [
    ...STALLED,
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-prune",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--refmap=",
    "--end-of-options",
    remote.name,
    ...specs,
  ];
  const result = await git(call, args, { cwd, timeoutMs: networkTimeout(call) });
  if (result.status !== 0 && /couldn't find remote ref/.test(result.stderr)) return null;
  if (result.status !== 0) throw gitFailure(["fetch"], result);
  const sha = await commitOf(call, mainRoot, answer);
  if (sha !== null) await deleteRef(call, mainRoot, answer, sha);
  return sha;
}

/** Fetches a commit by its id, where the remote gives it; whether it is there now. */
export async function fetchCommit(call: Call, remote: ChosenRemote, sha: string): Promise<boolean> {
  const cwd = call.target.repo.workRoot ?? call.target.repo.mainRoot;
  const flags = [
    "--quiet",
    "--no-tags",
    "--no-prune",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
  ];
  const one = await git(call, [...STALLED, "fetch", ...flags, "--refmap=", "--end-of-options", remote.name, sha], {
    cwd,
    timeoutMs: networkTimeout(call),
  });
  if (one.status !== 0 && gitFailure(["fetch"], one).code === "NETWORK") throw gitFailure(["fetch"], one);
  return (await commitOf(call, cwd, sha)) !== null;
}
