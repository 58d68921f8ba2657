/** The server's pure parts: what is cut from an answer that is too long, and who may run when. */
import { describe, expect, test } from "bun:test";

import { bounded, MAX_ANSWER } from "../../cmd/mcp/bound.ts";
import { Lanes, Slots } from "../../cmd/mcp/lanes.ts";
import { leanDescription } from "../../cmd/mcp/schema.ts";

describe("an answer too long", () => {
  const row = (n: number) => ({ id: n, text: "x".repeat(90) });
  test("is left as it is while it fits", () => {
    const result = { tasks: [row(1)], total: 1 };
    expect(bounded(result, [])).toEqual({ result, text: JSON.stringify(result), cut: null });
  });
  test("loses the end of its longest list, and says how to ask for less", () => {
    const result = { tasks: Array.from({ length: 5_000 }, (_, n) => row(n)), broken: [row(1)], total: 5_000 };
    const { result: cut, text, cut: said } = bounded(result, ["status", "limit", "other"]);
    expect(text.length).toBeLessThanOrEqual(MAX_ANSWER + 100);
    expect(JSON.parse(text)).toEqual(cut);
    expect(cut).toMatchObject({ broken: [row(1)], total: 5_000, truncated: true });
    expect(said).toMatch(
      /^the answer was too long \(\d+ characters\): tasks shows \d+ of 5000; ask for less with limit, status$/,
    );
  });
  test("loses the end of its longest texts where no list is to blame", () => {
    const { result, text, cut } = bounded({ task: { description: "é".repeat(300_000), name: "short" } }, []);
    expect(text.length).toBeLessThan(MAX_ANSWER);
    expect(result).toMatchObject({ task: { name: "short" } });
    expect(cut).toMatch(/texts are cut at 5000 characters$/);
  });
  test("keeps numbers as they were written", () => {
    expect(bounded({ task: { version: JSON.rawJSON("1.0") } }, []).text).toBe('{"task":{"version":1.0}}');
  });
});

describe("who may run", () => {
  const never = new AbortController().signal;

  test("as many as there is room for, the others in the order in which they came", async () => {
    const slots = new Slots(2);
    const order: string[] = [];
    const take = async (name: string) => {
      const release = await slots.take(never);
      order.push(name);
      return release;
    };
    const first = await take("a");
    await take("b");
    const third = take("c");
    const fourth = take("d");
    await Promise.resolve();
    expect(order).toEqual(["a", "b"]);
    first();
    // Twice does no harm.
    first();
    (await third)();
    await fourth;
    expect(order).toEqual(["a", "b", "c", "d"]);
  });

  test("who gives up waiting leaves the line to the others", async () => {
    const slots = new Slots(1);
    const release = await slots.take(never);
    const gone = new AbortController();
    const second = slots.take(gone.signal).catch((error: unknown) => error);
    const third = slots.take(never);
    gone.abort("enough");
    expect(await second).toBe("enough");
    release();
    (await third)();
    // Called up already, and given up then: the place is its own to give back.
    const last = new AbortController();
    const held = await slots.take(last.signal);
    last.abort("late");
    held();
    expect(slots.isIdle).toBe(true);
  });

  test("one for each repository", async () => {
    const lanes = new Lanes();
    const one = await lanes.take("a", never);
    const other = await lanes.take("b", never);
    const next = lanes.take("a", never);
    other();
    one();
    (await next)();
    expect(await lanes.take("a", AbortSignal.abort("no")).catch((error: unknown) => error)).toBe("no");
  });
});

test.each([
  ["Short. And more.", "Short. And more."],
  [`First. ${"Second ".repeat(40)}end. Third.`, "First."],
  [`${"Only one ".repeat(40)}sentence.`, `${"Only one ".repeat(40)}sentence.`],
  ["Reads .bot/hooks as e.g. git does. Yes.", "Reads .bot/hooks as e.g. git does. Yes."],
])("a description in whole sentences: %#", (text, kept) => {
  expect(leanDescription(text)).toBe(kept);
});
