/**
 * Opening a pull request: with the forge's own client where there is one, otherwise at an address for a browser. Which issues
 * a text would close is decided by the call alone: a forge closes whatever a keyword before a number tells it to.
 */
import { DotbotError } from "../error.ts";
import type { HostedRemote, Remote } from "../git/identity.ts";
import { hideUserInfo } from "../git/parse.ts";
import type { Call } from "../op.ts";
import { runProgram } from "../shell.ts";
import { networkTimeout } from "./ops/common.ts";

export type Client = "gh" | "glab";

export interface PullRequest {
  readonly branch: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
}

/** The client for a host, as far as its name tells; null for others. Pure. */
export function clientFor(remote: Remote | null): Client | null {
  if (remote === null || "pathKey" in remote) return null;
  const labels = remote.host.split(".");
  if (labels.some((label) => label.startsWith("gitlab"))) return "glab";
  return labels.some((label) => label.startsWith("github") || label === "ghe") ? "gh" : null;
}

/** Where a browser can open the request; null for a host of which that isn't known. Pure. */
export function compareUrl(remote: Remote | null, base: string, branch: string): string | null {
  if (remote === null || "pathKey" in remote) return null;
  const at = (path: string): string =>
    `https://${remote.host}/${remote.path.split("/").map(encodeURIComponent).join("/")}${path}`;
  const ref = (name: string): string => name.split("/").map(encodeURIComponent).join("/");
  switch (clientFor(remote)) {
    case "gh":
      return at(`/compare/${ref(base)}...${ref(branch)}?expand=1`);
    case "glab":
      return at(
        `/-/merge_requests/new?merge_request%5Bsource_branch%5D=${encodeURIComponent(branch)}&merge_request%5Btarget_branch%5D=${encodeURIComponent(base)}`,
      );
    case null:
      if (remote.host === "bitbucket.org")
        return at(`/pull-requests/new?source=${encodeURIComponent(branch)}&dest=${encodeURIComponent(base)}`);
      if (remote.host === "codeberg.org") return at(`/compare/${ref(base)}...${ref(branch)}`);
      return null;
  }
}

// ── which issues are closed ──────────────────────────────────────────────────────────────────────────────────────────

export interface CloseWish {
  readonly closes: readonly number[];
  readonly closeLinked: boolean | undefined;
  readonly noClose: boolean | undefined;
  /** The target belongs to another repository than the caller's: nothing is closed there unless it is asked for. */
  readonly foreign: boolean;
  /** Issues that the task names as its own. */
  readonly linked: readonly number[];
}

export interface Closing {
  /** Issues that the request will close. */
  readonly closes: readonly number[];
  /** The task's own issues that it won't. */
  readonly notClosed: readonly number[];
  readonly noClose: boolean;
}

/** An empty list of issues is as good as none. The caller has refused `no_close` beside a wish to close. Pure. */
export function closing(wish: CloseWish): Closing {
  const asked = wish.closes.length > 0 || wish.closeLinked === true;
  const noClose = wish.noClose ?? (wish.foreign && !asked);
  // At home a finished branch closes what its task names, unless the call says which, or that none.
  const withLinked = wish.closeLinked ?? (!wish.foreign && wish.closes.length === 0);
  const closes = noClose
    ? []
    : [...new Set([...wish.closes, ...(withLinked ? wish.linked : [])])].toSorted((a, b) => a - b);
  return { closes, notClosed: wish.linked.filter((issue) => !closes.includes(issue)), noClose };
}

const KEYWORD =
  /\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?)(:?\s+)((?:[\w.-]+\/[\w.-]+)?#|https?:\/\/\S+\/issues\/)(\d+)/gi;

/** A text in which no keyword closes an issue that isn't to be closed: `fixes #3` becomes `fixes issue 3`. Pure. */
export function withoutClosing(text: string, allowed: readonly number[]): string {
  return text.replace(KEYWORD, (all, word: string, gap: string, mark: string, number: string) =>
    mark === "#" && allowed.includes(Number(number)) ? all : `${word}${gap}issue ${number}`,
  );
}

/** The body of a request: the task's description, and a line for each issue that it closes. Pure. */
export function bodyOf(description: string, { closes }: Closing): string {
  const text = withoutClosing(description.trim(), closes);
  const lines = closes.map((issue) => `Closes #${issue}`).join("\n");
  return [text, lines].filter((part) => part !== "").join("\n\n");
}

// ── the clients ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** What is asked of the client: arguments, never a shell's line; the body comes on stdin where the client takes it so. Pure. */
export function createArgs(
  client: Client,
  remote: HostedRemote,
  request: PullRequest,
): { readonly args: readonly string[]; readonly stdin: string } {
  const repo = client === "gh" ? `${remote.host}/${remote.path}` : `https://${remote.host}/${remote.path}`;
  if (client === "gh") {
    return {
      args: [
        "pr",
        "create",
        `--repo=${repo}`,
        `--head=${request.branch}`,
        `--base=${request.base}`,
        `--title=${request.title}`,
        "--body-file=-",
      ],
      stdin: request.body,
    };
  }
  return {
    args: [
      "mr",
      "create",
      `--repo=${repo}`,
      `--source-branch=${request.branch}`,
      `--target-branch=${request.base}`,
      `--title=${request.title}`,
      `--description=${request.body}`,
      "--yes",
    ],
    stdin: "",
  };
}

/** The path of the client, when it is on PATH. */
export function findClient(call: Call, client: Client): string | null {
  return Bun.which(client, { PATH: call.env["PATH"] ?? call.env["Path"] ?? "" });
}

/** The address of the request that the client made, or of the one that was there already. Throws NETWORK. */
export async function openRequest(
  call: Call,
  program: string,
  client: Client,
  remote: HostedRemote,
  request: PullRequest,
): Promise<{ url: string; existed: boolean }> {
  const { args, stdin } = createArgs(client, remote, request);
  const cwd = call.target.repo.workRoot ?? call.target.repo.mainRoot;
  const result = await runProgram(call, [program, ...args], {
    cwd,
    stdin,
    timeoutMs: networkTimeout(call),
    env: {
      GH_PROMPT_DISABLED: "1",
      GH_NO_UPDATE_NOTIFIER: "1",
      GLAB_CHECK_UPDATE: "false",
      NO_PROMPT: "1",
      NO_COLOR: "1",
    },
  });
  const url = lastUrl(result.stdout) ?? lastUrl(result.stderr);
  if (result.status === 0 && url !== null) return { url, existed: false };
  if (/already exists/i.test(result.stderr) && url !== null) return { url, existed: true };
  const words = hideUserInfo((result.stderr.trim() || result.stdout.trim()).split("\n").slice(0, 4).join("\n"));
  throw new DotbotError(
    "NETWORK",
    `${client} didn't open the request: ${result.timedOut ? "it took too long" : words || `status ${result.status}`}`,
    {
      details: { client, status: result.status },
    },
  );
}

function lastUrl(text: string): string | null {
  return text.match(/https?:\/\/[^\s]+/g)?.at(-1) ?? null;
}
