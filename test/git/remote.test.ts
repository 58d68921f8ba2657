import { describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";

import { pushUrls, readIdentity, remoteNames } from "../../lib/git/remote.ts";
import { gitEnv, makeRepo, rejection, run, tempDir } from "../kit/git.ts";

const ctx = { env: gitEnv(), signal: new AbortController().signal };

describe("the identity of a repository", () => {
  test.each<[what: string, config: [key: string, value: string][], ownerRepo: string | null, key: string | null]>([
    ["no origin", [["remote.up.url", "https://h/o/r"]], null, null],
    ["a hosted origin", [["remote.origin.url", "https://u:p@github.com/O/r.git"]], "O/r", "github.com/o/r"],
    [
      "the first of several",
      [
        ["remote.origin.url", "git@h:o/r"],
        ["remote.origin.url", "git@h:o/s"],
      ],
      "o/r",
      "h/o/r",
    ],
    [
      "rewritten",
      [
        ["remote.origin.url", "gh:o/r"],
        ["url.https://github.com/.insteadOf", "gh:"],
      ],
      "o/r",
      "github.com/o/r",
    ],
    [
      "a push URL of another",
      [
        ["remote.origin.url", "git@h:o/r"],
        ["remote.origin.pushurl", "git@h:me/r"],
      ],
      "o/r",
      "h/o/r",
    ],
    ["nothing known", [["remote.origin.url", "ext::sh -c id"]], null, null],
  ])("%s", async (_, config, ownerRepo, key) => {
    await using dir = await tempDir();
    const mainRoot = await makeRepo(dir.path("main"));
    for (const [name, value] of config) await run(mainRoot, "config", "--add", name, value);
    expect(await readIdentity(ctx, { mainRoot })).toMatchObject({ ownerRepo, key });
  });

  test("a path is taken against the main checkout, and links in it are resolved", async () => {
    await using dir = await tempDir();
    const mainRoot = await makeRepo(dir.path("main"));
    const up = await makeRepo(dir.path("up"));
    symlinkSync(up, dir.path("link"));
    for (const url of ["../up", up, `file://${up}`, "../link"]) {
      await run(mainRoot, "config", "remote.origin.url", url);
      expect(await readIdentity(ctx, { mainRoot })).toMatchObject({ ownerRepo: null, key: up });
    }
  });
});

describe("where a push goes", () => {
  test("every push URL, rewrites applied; nothing for no such remote; no option for a name", async () => {
    await using dir = await tempDir();
    const mainRoot = await makeRepo(dir.path("main"));
    await run(mainRoot, "remote", "add", "origin", "gh:o/r");
    await run(mainRoot, "config", "url.git@github.com:.pushInsteadOf", "gh:");
    await run(mainRoot, "remote", "add", "two", "https://h/o/r");
    await run(mainRoot, "remote", "set-url", "--push", "two", "https://h/a/r");
    await run(mainRoot, "remote", "set-url", "--push", "--add", "two", "https://h/b/r");
    expect(await pushUrls(ctx, { mainRoot }, "origin")).toEqual(["git@github.com:o/r"]);
    expect(await pushUrls(ctx, { mainRoot }, "two")).toEqual(["https://h/a/r", "https://h/b/r"]);
    expect(await pushUrls(ctx, { mainRoot }, "none")).toEqual([]);
    expect(await rejection(pushUrls(ctx, { mainRoot }, "--all"))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await remoteNames(ctx, { mainRoot })).toEqual(["origin", "two"]);
  });
});
