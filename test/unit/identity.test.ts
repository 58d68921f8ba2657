import { describe, expect, test } from "bun:test";

import { identityKey, parseRemote, sameIdentity } from "../../lib/git/identity.ts";

/** URL, host, owner, repo. */
const HOSTED: readonly (readonly [url: string, host: string, owner: string, repo: string])[] = [
  ["https://github.com/o/r", "github.com", "o", "r"],
  ["https://github.com/o/r.git", "github.com", "o", "r"],
  ["https://github.com/o/r/", "github.com", "o", "r"],
  ["https://github.com/o/r.git/", "github.com", "o", "r"],
  ["https://user:tok@github.com/o/r.git", "github.com", "o", "r"],
  ["https://us@er:p@h/o/r", "h", "o", "r"],
  ["HTTPS://GitHub.COM/O/R.git", "github.com", "O", "R"],
  ["https://h:8443/o/r.git", "h", "o", "r"],
  ["http://h/o/r?x=1#f", "h", "o", "r"],
  ["https://h/o/r%20x.git", "h", "o", "r x"],
  ["ssh://git@github.com/o/r.git", "github.com", "o", "r"],
  ["ssh://git@h:2222/o/r.git", "h", "o", "r"],
  ["ssh://git@h:/o/r", "h", "o", "r"],
  ["ssh://git@[::1]:22/o/r", "[::1]", "o", "r"],
  ["git://h/o/r.git", "h", "o", "r"],
  ["git+ssh://h/o/r.git", "h", "o", "r"],
  ["ssh+git://git@h/o/r.git", "h", "o", "r"],
  ["git@github.com:o/r.git", "github.com", "o", "r"],
  ["github.com:o/r", "github.com", "o", "r"],
  ["o@h:/abs/o/r.git", "h", "abs/o", "r"],
  ["git@h:2222/o/r.git", "h", "2222/o", "r"],
  ["[h:2222]:o/r.git", "h", "o", "r"],
  ["git@[h:2222]:o/r.git", "h", "o", "r"],
  ["git@[::1]:o/r.git", "[::1]", "o", "r"],
  ["git@h:g/sg/r.git", "h", "g/sg", "r"],
  ["https://gitlab.com/a/b/c/r.git", "gitlab.com", "a/b/c", "r"],
  ["https://bb/scm/PRJ/r.git", "bb", "PRJ", "r"],
  ["ssh://git@bb:7999/PRJ/r.git", "bb", "PRJ", "r"],
  ["ssh://git@bb:7999/~user/r.git", "bb", "~user", "r"],
  ["https://org@dev.azure.com/org/proj/_git/repo", "dev.azure.com", "org/proj", "repo"],
  ["git@ssh.dev.azure.com:v3/org/proj/repo", "dev.azure.com", "org/proj", "repo"],
  ["https://org.visualstudio.com/proj/_git/repo", "dev.azure.com", "org/proj", "repo"],
  ["https://org.visualstudio.com/DefaultCollection/proj/_git/repo", "dev.azure.com", "org/proj", "repo"],
  ["https://org.visualstudio.com/_git/repo", "dev.azure.com", "org/repo", "repo"],
  ["gh:o/r.git", "gh", "o", "r"],
  ["c:o/r", "c", "o", "r"],
  ["https://h/o/.github", "h", "o", ".github"],
];

describe("a hosted remote", () => {
  test.each(HOSTED)("%s", (url, host, owner, repo) => {
    const display = `${owner.split("/").at(-1)}/${repo}`;
    expect(parseRemote(url)).toEqual({ host, path: `${owner}/${repo}`, owner, repo, display });
  });

  test("never keeps user info", () => {
    for (const url of [
      "https://user:s3cret@h/o/r",
      "https://s3cret@h/o/r",
      "s3cret@h:o/r",
      "ssh://u:s3cret@[::1]/o/r",
    ]) {
      expect(JSON.stringify(parseRemote(url))).not.toContain("s3cret");
    }
  });
});

describe("a path", () => {
  test.each([
    ["/srv/o/r.git", "/srv/o/r.git"],
    ["../r", "../r"],
    ["./a:b/c", "./a:b/c"],
    ["a/b:c/d", "a/b:c/d"],
    ["~/r", "~/r"],
    ["file:///srv/o/r.git", "/srv/o/r.git"],
    ["file://localhost/srv/o%20p/r", "/srv/o p/r"],
    ["file:///C:/repos/r", "C:/repos/r"],
    ["C:\\repos\\o\\r", "C:\\repos\\o\\r"],
    ["C:/repos/o/r", "C:/repos/o/r"],
    ["c:/repos/o/r", "c:/repos/o/r"],
    ["\\\\srv\\share\\o\\r", "\\\\srv\\share\\o\\r"],
  ])("%s", (url, pathKey) => {
    expect(parseRemote(url)).toEqual({ pathKey });
  });
});

describe("neither", () => {
  test.each([
    "",
    "git@h:r.git",
    "https://h/o",
    "https://h",
    "https:///o/r",
    "gist.github.com:abc",
    "https://gist.github.com/o/abc",
    "https://h/o/.git",
    "ext::sh -c id% o/r",
    "fd::7/o/r",
    "foo::https://h/o/r",
    "codecommit::eu-west-1://repo",
    "rsync://h/o/r",
    "https://h/o/../r",
    "https://h/%2e%2e/r",
    "https://h/o//r",
    "https://h/o/r%0a",
    "https://h/o/r%zz",
    "https://h/o/r\n",
    "https://-oProxyCommand=id/o/r",
    "-oProxyCommand=id:o/r",
    "git@-h:o/r",
    "user:s3cret@h:o/r",
    "file://",
    ":o/r",
  ])("%j", (url) => {
    expect(parseRemote(url)).toBeNull();
  });
});

describe("sameIdentity", () => {
  test.each([
    ["https://github.com/o/r", "git@github.com:o/r.git", true, "URL and scp form"],
    ["https://github.com/O/R", "https://github.com/o/r", true, "a host that ignores case"],
    ["https://h/O/r", "https://h/o/r", false, "a host that may not"],
    ["https://H/o/r", "ssh://git@h:2222/o/r", true, "the host's case and port don't count"],
    ["https://h/a/x/r", "https://h/b/x/r", false, "the full namespace counts"],
    ["https://h/o/r", "https://mirror/o/r", false, "a mirror is another repository"],
    ["https://bb/scm/PRJ/r.git", "ssh://git@bb:7999/PRJ/r.git", true, "both spellings of a forge"],
    ["https://org@dev.azure.com/org/p/_git/r", "git@ssh.dev.azure.com:v3/org/p/r", true, "three hosts, one forge"],
    ["/srv/r", "file:///srv/r", true, "one path"],
    ["/srv/r", "/srv/s", false, "two paths"],
    ["https://h/o", "https://h/o", false, "nothing known equals nothing"],
  ])("%s ~ %s: %p (%s)", (a, b, same) => {
    expect(sameIdentity(parseRemote(a), parseRemote(b))).toBe(same);
    expect(sameIdentity(parseRemote(b), parseRemote(a))).toBe(same);
  });

  test("a key names host and full path", () => {
    const remote = parseRemote("https://GitLab.com/A/b/R.git");
    expect(remote === null ? null : identityKey(remote)).toBe("gitlab.com/a/b/r");
  });
});
