/** Which client opens a request, where a browser could, and which issues it closes. */
import { describe, expect, test } from "bun:test";

import { bodyOf, clientFor, closing, compareUrl, withoutClosing, type CloseWish } from "../../lib/guard/forge.ts";
import { spell } from "../../lib/guard/spell.ts";
import { commit } from "../../lib/guard/ops/commit.ts";
import { push } from "../../lib/guard/ops/push.ts";
import { parseRemote } from "../../lib/git/identity.ts";

describe("by host", () => {
  test.each([
    ["git@github.com:o/r.git", "gh", "https://github.com/o/r/compare/main...a/b?expand=1"],
    ["https://github.example.org/o/r", "gh", "https://github.example.org/o/r/compare/main...a/b?expand=1"],
    [
      "git@gitlab.com:g/sub/r.git",
      "glab",
      "https://gitlab.com/g/sub/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=a%2Fb&merge_request%5Btarget_branch%5D=main",
    ],
    ["git@bitbucket.org:o/r.git", null, "https://bitbucket.org/o/r/pull-requests/new?source=a%2Fb&dest=main"],
    ["https://codeberg.org/o/r", null, "https://codeberg.org/o/r/compare/main...a/b"],
    ["https://notgithub.example/o/r", null, null],
    ["/srv/r.git", null, null],
  ])("%s: %s", (url, client, address) => {
    const remote = parseRemote(url);
    expect(clientFor(remote)).toBe(client as ReturnType<typeof clientFor>);
    expect(compareUrl(remote, "main", "a/b")).toBe(address);
  });
});

describe("issues", () => {
  const wish: CloseWish = { closes: [], closeLinked: undefined, noClose: undefined, foreign: false, linked: [7] };
  const rows: readonly [string, Partial<CloseWish>, readonly number[], readonly number[], boolean][] = [
    ["at home the task's own", {}, [7], [], false],
    ["… no_close: none", { noClose: true }, [], [7], true],
    ["… those named, alone", { closes: [1] }, [1], [7], false],
    ["… and the task's, when both are asked for", { closes: [1], closeLinked: true }, [1, 7], [], false],
    ["… not the task's, when that is said", { closeLinked: false }, [], [7], false],
    ["elsewhere none", { foreign: true }, [], [7], true],
    ["… an empty list is as good as none", { foreign: true, closes: [] }, [], [7], true],
    ["… those named", { foreign: true, closes: [3, 1, 3] }, [1, 3], [7], false],
    ["… the task's, when asked for", { foreign: true, closeLinked: true }, [7], [], false],
  ];
  for (const [name, change, closes, notClosed, noClose] of rows) {
    test(name, () =>
      expect(closing({ ...wish, ...change })).toEqual({ closes: [...closes], notClosed: [...notClosed], noClose }),
    );
  }

  test.each([
    ["fixes #3", [], "fixes issue 3"],
    ["Fixes: #3, closes #4", [4], "Fixes: issue 3, closes #4"],
    ["resolved o/r#3", [3], "resolved issue 3"],
    ["closes https://github.com/o/r/issues/12", [], "closes issue 12"],
    ["see #3, prefixes #4", [], "see #3, prefixes #4"],
  ])("%j closing %j reads %j", (text, allowed, read) => expect(withoutClosing(text, allowed)).toBe(read));

  test("the body closes what the call says, and nothing else", () => {
    expect(bodyOf("What it does.\n\nCloses #9\n", { closes: [2], notClosed: [], noClose: false })).toBe(
      "What it does.\n\nCloses issue 9\n\nCloses #2",
    );
    expect(bodyOf("", { closes: [], notClosed: [], noClose: true })).toBe("");
  });
});

describe("a call as its caller writes it", () => {
  test("a command line", () => {
    expect(spell(commit, "cli", { message: "it's done", dir: "../a b", files: ["x.txt", "y z"] })).toBe(
      `dotbot guard commit --message 'it'\\''s done' -C '../a b' x.txt 'y z'`,
    );
    expect(spell(commit, "cli", { message: "-x", files: ["-a"] })).toBe("dotbot guard commit --message=-x -- -a");
    expect(spell(push, "cli", { branch: "topic", task_id: "1a2b" })).toBe("dotbot guard push --task 1a2b topic");
  });
  test("a tool", () => expect(spell(push, "mcp", { branch: "topic" })).toBe('guard_push {"branch":"topic"}'));
});
