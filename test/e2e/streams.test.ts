/** The process at its edges: pipes, closed and full outputs, signals, a terminal. The operations are dummies. */
import { describe, expect, test } from "bun:test";

import { atTerminal, program, said, shell, start } from "./dummy/run.ts";

describe("streams", () => {
  test("a megabyte reaches a slow reader whole", async () => {
    const child = start(["big"]);
    let length = 0;
    for await (const chunk of child.stdout) {
      length += chunk.length;
      await new Promise(setImmediate);
    }
    expect(length).toBe(1_000_001);
    expect(await child.exited).toBe(0);
  });

  test("a reader that goes away ends it quietly", async () => {
    expect(await shell("$DOTBOT big | head -c 5")).toEqual({ stdout: "01234", stderr: "", status: 0 });
  });

  test("a closed stdout, or a closed stderr, is nobody's error", async () => {
    expect(await shell("$DOTBOT big >&-")).toEqual({ stdout: "", stderr: "", status: 0 });
    expect(await shell("$DOTBOT tsak 2>&-")).toEqual({ stdout: "", stderr: "", status: 2 });
  });

  test.if(process.platform === "linux")("an answer that a full disk swallows is an error", async () => {
    const { stderr, status } = await shell("$DOTBOT big >/dev/full");
    expect(stderr).toBe(
      "dotbot: the answer can't be written to stdout: ENOSPC\n  hint: what was asked for is done; only its answer is lost\n",
    );
    expect(status).toBe(5);
  });
});

describe.skipIf(process.platform === "win32")("signals", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s lets the run finish, and shows in the status", async (signal, status) => {
    const child = start(["wait"]);
    await said(child, "waiting\n");
    child.kill(signal);
    expect(await child.stdout.text()).toBe("written\n");
    expect(await child.exited).toBe(status);
  });

  test("a read of stdin doesn't outlive a signal", async () => {
    const child = Bun.spawn([process.execPath, program, "stdin"], { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
    await said(child, "reading\n");
    child.kill("SIGTERM");
    const status = await child.exited;
    expect(status).toBe(143);
    expect(await child.stdout.text()).toBe("");
  });
});

describe.skipIf(process.platform === "win32")("at a terminal", () => {
  test.each([
    ["y", '{"sure":true}', 0],
    ["\r", '{"sure":false}', 0],
  ] as const)("a question answered with %j", async (keys, answer, status) => {
    const outcome = await atTerminal(["confirm"], "Remove it?", keys);
    expect(outcome.screen).toContain(answer);
    expect(outcome.status).toBe(status);
  });

  test.each(["\u0003", "\u001B"])("a question cancelled with %j: no answer, status 130", async (keys) => {
    const { screen, status } = await atTerminal(["confirm"], "Remove it?", keys);
    expect(screen).not.toContain("sure");
    expect(status).toBe(130);
  });

  test.each([
    ["--yes", ["context", "--yes"], '"asks":false'],
    ["--json", ["context", "--json"], '"asks":false'],
    ["neither", ["context"], '"color":true,"width":100,"asks":true'],
  ] as const)("with %s it asks or doesn't", async (_title, args, answer) => {
    expect((await atTerminal(args, "\0", "")).screen).toContain(answer);
  });

  test("progress replaces its line and is gone before the answer", async () => {
    expect((await atTerminal(["context"], "\0", "")).screen).toContain("a note\r\n\r\u001B[2Khalf way\r\u001B[2K{");
  });

  test("stdin that is a terminal is not read", async () => {
    const { screen, status } = await atTerminal(["stdin"], "\0", "");
    expect(screen).toContain("dotbot: stdin is a terminal, and the call reads it");
    expect(status).toBe(2);
  });

  test("help fits the screen and says where the rest is", async () => {
    const { screen } = await atTerminal(["task", "add", "--help"], "\0", "");
    expect(screen).toStartWith("Examples:");
    expect(screen.split("\n").length).toBeLessThanOrEqual(24);
    expect(screen).toContain("dotbot help task add | cat");
  });
});
