import { expect, test } from "bun:test";

import { Ledger } from "../../lib/task/ledger.ts";
import { Lookup } from "../../lib/task/lookup.ts";
import { factsOf, type Status } from "../../lib/task/model.ts";
import { DependencyIndex } from "../../lib/task/pick.ts";
import { tempDir } from "../kit/git.ts";
import { taskDocument, taskFileName, taskId, type Seed } from "../kit/tasks.ts";

async function withLedger(seeds: readonly Seed[], work: (ledger: Ledger) => void): Promise<void> {
  await using dir = await tempDir();
  const ledger = Ledger.open(dir.root, 1000);
  try {
    await ledger.write({ waitMs: 1000, purpose: "test", signal: new AbortController().signal }, () => {
      for (const [index, seed] of seeds.entries()) {
        const n = index + 1;
        const doc = taskDocument(n, seed);
        const status: Status = seed.status ?? "todo";
        ledger.putTask({
          facts: factsOf(taskId(n), JSON.parse(JSON.stringify(doc))),
          file: taskFileName(n),
          place: "view",
          status,
          rev: 1,
          hash: String(n),
          size: 0,
          mtimeMs: null,
        });
      }
    });
    work(ledger);
  } finally {
    ledger.close();
  }
}

const SEEDS: readonly Seed[] = [
  { name: "Login" },
  { name: "Same" },
  { name: "Same", fields: { slug: "LOGIN" } },
  { name: "task-1" },
  { status: "done", name: taskFileName(1), fields: { slug: null } },
];

test("a dependency's word means in the ledger what it means among the rows", async () => {
  await withLedger(SEEDS, (ledger) => {
    const index = new DependencyIndex(ledger.tasks("place <> 'removed'"));
    const words = [
      taskId(1),
      taskId(1).toUpperCase(),
      taskFileName(1),
      taskFileName(1).replace(".json", ""),
      "task-1",
      "Login",
      "LOGIN",
      "login",
      "Same",
      "same",
      "nothing",
      "",
      taskId(1).slice(0, 8),
    ];
    const ids = (found: readonly { id: string }[]): string[] =>
      found.map((row) => row.id).toSorted((a, b) => (a < b ? -1 : 1));
    for (const word of words) {
      expect({ word, ids: ids(new Lookup(ledger).find(word)) }).toEqual({ word, ids: ids(index.find(word)) });
      // What a list reads for many words at once holds the same answer.
      expect({ word, ids: ids(new DependencyIndex(ledger.meant(new Set([word]))).find(word)) }).toEqual({
        word,
        ids: ids(index.find(word)),
      });
    }
  });
});

test("reading in pick order, page by page, is reading it whole", async () => {
  const seeds = Array.from({ length: 150 }, (_, n) => ({
    fields: { priority: 1 + ((n * 7) % 5), created_at: `2026-01-0${1 + (n % 3)}T00:00:00Z` },
  }));
  await withLedger(seeds, (ledger) => {
    const whole = ledger.tasks("place = 'view' AND status = 'todo'").map((row) => row.id);
    expect([...ledger.inPickOrder("todo")].map((row) => row.id)).toEqual(whole);
    expect([...ledger.inPickOrder("done")]).toEqual([]);
  });
});
