/**
 * From a remote's URL to who it is: host, namespace and name. Pure, and total: a URL that isn't understood is null, never a
 * guess, since two repositories that are taken for one are the accident that identities are there to prevent.
 *
 * The reading is git's own: a colon before the first slash makes the scp form, so `h:2222/o/r` is the path `2222/o/r`, and a
 * port is only written in a URL or in brackets. User info is never kept.
 */

/** A repository on a host. */
export interface HostedRemote {
  /** Lower case, without port; IPv6 in brackets. */
  readonly host: string;
  /** The full namespace and the name, `group/sub/repo`, in the spelling given. */
  readonly path: string;
  /** The full namespace, `group/sub`. */
  readonly owner: string;
  readonly repo: string;
  /** The last two segments, `sub/repo`: for people, never to compare. */
  readonly display: string;
}

/** A repository on a disk: `pathKey` is the path as written (of a file URL: decoded), to be made physical before comparing. */
export interface LocalRemote {
  readonly pathKey: string;
}

export type Remote = HostedRemote | LocalRemote;

/** Reads a remote's URL; null when it names neither a host's repository nor a path. */
export function parseRemote(url: string): Remote | null {
  if (url === "" || url.startsWith("-") || CONTROL.test(url)) return null;
  // A drive letter or a share is a path on every system: no host is called `C`.
  if (/^(?:[/\\]|[A-Za-z]:[/\\])/.test(url)) return { pathKey: url };
  // A remote helper: `ext::sh -c …`, `codecommit::region://…`.
  if (/^[A-Za-z0-9+.-]+::/.test(url)) return null;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(url);
  if (scheme !== null) return parseUrl((scheme[1] ?? "").toLowerCase(), url.slice(scheme[0].length));
  if (!/^[^/]*:/.test(url)) return { pathKey: url };
  return parseScp(url);
}

/**
 * Whether two remotes are one repository: same host and full path, or same path on disk. Case counts in a path, except on
 * hosts known to ignore it. An unknown remote is the same as nothing, itself included.
 */
export function sameIdentity(a: Remote | null, b: Remote | null): boolean {
  return a !== null && b !== null && identityKey(a) === identityKey(b);
}

/** What two spellings of one repository have in common: `host/path` or the path key. For comparing, not for showing. */
export function identityKey(remote: Remote): string {
  if ("pathKey" in remote) return remote.pathKey;
  return `${remote.host}/${CASELESS.has(remote.host) ? remote.path.toLowerCase() : remote.path}`;
}

const CONTROL = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]/;
const CASELESS = new Set(["github.com", "gitlab.com", "bitbucket.org"]);
const SCHEMES = new Set(["https", "http", "ssh", "git", "git+ssh", "ssh+git", "git+https", "git+http", "ftp", "ftps"]);
/** Hosts under which there are no owners, so that a path there is something else. */
const NO_OWNERS = new Set(["gist.github.com"]);

function parseUrl(scheme: string, rest: string): Remote | null {
  if (scheme === "file") return parseFileUrl(rest);
  if (!SCHEMES.has(scheme)) return null;
  const slash = rest.indexOf("/");
  if (slash === -1) return null;
  const host = hostOf(rest.slice(0, slash));
  const web = scheme.includes("http");
  const path = web ? rest.slice(slash).replace(/[?#].*$/, "") : rest.slice(slash);
  return host === null ? null : hosted(host, decode(path), web ? "web" : "ssh");
}

function parseFileUrl(rest: string): LocalRemote | null {
  const path = decode(rest.replace(/^localhost(?=\/)/i, ""));
  if (path === null || CONTROL.test(path)) return null;
  return path === "" ? null : { pathKey: path.replace(/^\/(?=[A-Za-z]:[/\\])/, "") };
}

/** `[user@]host:path`, and with brackets `[user@][host:port]:path` or `[user@][ipv6]:path`. */
function parseScp(url: string): Remote | null {
  const bracketed = /^(?:[^@/[\]]*@)?\[([^\]]+)\]:(.*)$/.exec(url);
  if (bracketed !== null) {
    const inner = bracketed[1] ?? "";
    const ipv6 = inner.split(":").length > 2;
    const host = ipv6 ? hostOf(`[${inner}]`) : hostOf(inner);
    return host === null ? null : hosted(host, bracketed[2] ?? "", "scp");
  }
  const colon = url.indexOf(":");
  // The first colon counts: to git the host of `user:x@h:o/r` is "user".
  const host = hostOf(url.slice(0, colon));
  const path = url.slice(colon + 1);
  // What was meant is a password before the host; as an owner it would be shown.
  return host === null || /^[^/]*@/.test(path) ? null : hosted(host, path, "scp");
}

/** The host of an authority: without user info (the last `@` counts) and port. Null for what can't be a host. */
function hostOf(authority: string): string | null {
  const bare = authority.slice(authority.lastIndexOf("@") + 1);
  const match = /^(\[[0-9A-Fa-f:.%A-Za-z]+\]|[^:[\]]+)(?::\d*)?$/.exec(bare);
  const host = (match?.[1] ?? "").toLowerCase();
  if (host === "" || host.startsWith("-") || /[\s/\\%]/.test(host.replace(/^\[.*\]$/, ""))) return null;
  return host;
}

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

type Form = "web" | "ssh" | "scp";

function hosted(host: string, path: string | null, form: Form): HostedRemote | null {
  if (path === null || CONTROL.test(path) || NO_OWNERS.has(host)) return null;
  const trimmed = path.replace(/^\/+/, "").replace(/\/+$/, "");
  const named = trimmed.endsWith(".git") ? trimmed.slice(0, -".git".length) : trimmed;
  const place = forge(host, named.split("/"), form);
  const repo = place.segments.at(-1);
  const above = place.segments.slice(0, -1);
  if (repo === undefined || above.length === 0) return null;
  if (place.segments.some((segment) => segment === "" || segment === "." || segment === "..")) return null;
  const owner = above.join("/");
  return { host: place.host, path: `${owner}/${repo}`, owner, repo, display: `${above.at(-1) ?? ""}/${repo}` };
}

/** Forges whose URLs say the same repository in several ways, in one. */
function forge(host: string, segments: readonly string[], form: Form): { host: string; segments: readonly string[] } {
  const azure = "dev.azure.com";
  if (host === "ssh.dev.azure.com" || host === "vs-ssh.visualstudio.com") {
    return { host: azure, segments: segments[0] === "v3" ? segments.slice(1) : segments };
  }
  if (host === azure) return { host, segments: withoutGitMark(segments) };
  if (host.endsWith(".visualstudio.com")) {
    const org = host.slice(0, -".visualstudio.com".length);
    const rest = segments[0]?.toLowerCase() === "defaultcollection" ? segments.slice(1) : segments;
    return { host: azure, segments: [org, ...withoutGitMark(rest)] };
  }
  // Bitbucket Server: /scm/PROJECT/repo over https is /PROJECT/repo over ssh.
  if (form === "web" && segments[0] === "scm" && segments.length === 3) return { host, segments: segments.slice(1) };
  return { host, segments };
}

/** `org/project/_git/repo`; `project/_git/repo` and `_git/repo`, where project and repository share the name. */
function withoutGitMark(segments: readonly string[]): readonly string[] {
  const mark = segments.indexOf("_git");
  if (mark === -1) return segments;
  const before = segments.slice(0, mark);
  const after = segments.slice(mark + 1);
  return before.length === 0 ? [...after, ...after] : [...before, ...after];
}
