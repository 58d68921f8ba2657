/** stdout belongs to the protocol, whatever the code below does. */
import { expect, test } from "bun:test";
import { join } from "node:path";

import { makeWorld } from "../kit/world.ts";
import { openSession } from "./kit.ts";
import { WAYS } from "./printing.ts";

test.skipIf(process.platform === "win32")("a print from anywhere in the code goes to stderr", async () => {
  await using world = await makeWorld();
  await using session = await openSession({
    cwd: world.main,
    program: [process.execPath, join(import.meta.dir, "printing.ts")],
  });
  await session.handshake();
  const result = await session.call("task_print");
  session.end();
  expect(await session.exited).toBe(0);
  expect(session.strays).toEqual([]);
  expect(session.messages).toHaveLength(2);
  const stderr = await session.stderr;
  for (const way of WAYS) expect(stderr).toContain(`stray ${way}`);
  // What an operation has to say beside its answer comes behind it, and the answer itself stays alone.
  expect(result).toMatchObject({
    content: [
      { type: "text", text: '{"done":true}' },
      { type: "text", text: "note: a note" },
    ],
    structuredContent: { done: true },
  });
});
