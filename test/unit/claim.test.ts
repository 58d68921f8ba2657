import { describe, expect, test } from "bun:test";

import { type Claim, type Holder, holds, standing } from "../../lib/task/claim.ts";

const HOUR = 3_600_000;
const NOW = new Date("2026-01-01T12:00:00Z");
const claim = (fields: Partial<Claim> = {}): Claim => ({
  owner: "",
  session: "unknown",
  token: "t-1",
  process: null,
  host: "here",
  since: "2026-01-01T10:00:00Z",
  heartbeat: "2026-01-01T11:59:00Z",
  ttlMs: 2 * HOUR,
  ...fields,
});
const holder = (fields: Partial<Holder> = {}): Holder => ({ owner: null, session: "unknown", token: null, ...fields });

describe("who holds a claim", () => {
  test.each([
    ["its owner", { owner: "ada" }, { owner: "ada" }, true],
    ["another owner", { owner: "ada" }, { owner: "bob" }, false],
    ["its session", { session: "s-1" }, { session: "s-1" }, true],
    ["another session", { session: "s-1" }, { session: "s-2" }, false],
    [
      "its session under another owner's name",
      { owner: "ada", session: "s-1" },
      { owner: "bob", session: "s-1" },
      false,
    ],
    ["nobody in particular: unknown never equals unknown", {}, {}, false],
    ["whoever has its token", {}, { token: "t-1" }, true],
    ["whoever has its token, whatever they call themselves", { owner: "ada" }, { owner: "bob", token: "t-1" }, true],
    ["not whoever has another token", {}, { token: "t-2" }, false],
  ] as [string, Partial<Claim>, Partial<Holder>, boolean][])("%s", (_, held, caller, is) => {
    expect(holds(claim(held), holder(caller))).toBe(is);
  });
});

describe("whether a claim still stands", () => {
  const ago = (ms: number): string => new Date(NOW.getTime() - ms).toISOString();
  test.each([
    ["a sign of life a minute ago", ago(60_000), "unknown", "held"],
    ["silence past its time: grace", ago(3 * HOUR), "unknown", "held"],
    ["silence past its time and the grace", ago(4 * HOUR + 1), "unknown", "free"],
    ["its process lives, however silent", ago(48 * HOUR), "alive", "held"],
    ["its process is gone, however fresh", ago(1000), "dead", "free"],
    ["a heartbeat from the future, the clock was set back", ago(-HOUR), "unknown", "held"],
    ["a heartbeat that isn't a time", "never", "unknown", "held"],
  ] as const)("%s", (_, heartbeat, life, stands) => {
    expect(standing(claim({ heartbeat }), NOW, life)).toBe(stands);
  });
});
