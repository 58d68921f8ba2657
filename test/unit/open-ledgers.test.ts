/** Connections that wait for the next call of a server. */
import { expect, test } from "bun:test";

import { OpenLedgers, type Kept } from "../../lib/task/open-ledgers.ts";

interface Toy extends Kept {
  isShut: boolean;
}

function toy(path: string, identity: string): Toy {
  const one: Toy = { path, identity, isShut: false, shut: () => (one.isShut = true) };
  return one;
}

test("what was given back is taken again, by one", () => {
  const ledgers = new OpenLedgers<Toy>();
  const one = toy("/a", "1");
  ledgers.give(one);
  expect(ledgers.take("/b", "1")).toBeUndefined();
  expect(ledgers.take("/a", "1")).toBe(one);
  expect(ledgers.take("/a", "1")).toBeUndefined();
  expect(one.isShut).toBe(false);
  ledgers.shut();
});

test("a connection to a file that isn't there any more is closed, and never handed out", () => {
  const ledgers = new OpenLedgers<Toy>();
  const [old, older] = [toy("/a", "1"), toy("/a", "2")];
  ledgers.give(older);
  ledgers.give(old);
  expect(ledgers.take("/a", "3")).toBeUndefined();
  expect([old.isShut, older.isShut]).toEqual([true, true]);
});

test("few wait, of all files together, the longest unused go first; and none after the end", () => {
  const ledgers = new OpenLedgers<Toy>();
  const many = Array.from({ length: 100 }, (_, n) => toy(`/${n % 50}`, "1"));
  for (const one of many) ledgers.give(one);
  const open = many.filter((one) => !one.isShut);
  expect(open.length).toBeLessThan(20);
  expect(open).toEqual(many.slice(-open.length));
  ledgers.shut();
  expect(many.every((one) => one.isShut)).toBe(true);
  expect(ledgers.take("/a", "1")).toBeUndefined();
});
