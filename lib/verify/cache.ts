/**
 * Scripts that passed, remembered by everything that their answer depends on: the tree, the script and its helpers, the task. So
 * a call that was cut off goes on where it was, and a repeated one returns at once. Only what passed: a failure is tried again.
 */
import { join } from "node:path";

import { listNames, makeDirectory, readText, removeFile, stampOf, writeAtomic } from "../files.ts";
import { ledgerFolder } from "../task/ledger.ts";

export interface Remembered {
  readonly message: string;
  readonly durationMs: number;
}

const MOST_FILES = 500;

export class Cache {
  private readonly folder: string;
  private readonly world: string;

  /** `world`: what all scripts of this call have in common. */
  constructor(commonDir: string, world: readonly string[]) {
    this.folder = join(ledgerFolder(commonDir), "verified");
    this.world = world.join("\0");
  }

  get(name: string): Remembered | null {
    const text = readText(this.path(name));
    if (text === null) return null;
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value !== "object" || value === null || !("message" in value) || !("durationMs" in value)) return null;
      const { message, durationMs } = value;
      return typeof message === "string" && typeof durationMs === "number" ? { message, durationMs } : null;
    } catch {
      return null;
    }
  }

  put(name: string, passed: Remembered): void {
    makeDirectory(this.folder);
    this.forgetOldest();
    writeAtomic(this.path(name), JSON.stringify(passed), { durable: false });
  }

  private path(name: string): string {
    const key = new Bun.CryptoHasher("sha256").update(`${this.world}\0${name}`).digest("hex").slice(0, 40);
    return join(this.folder, `${key}.json`);
  }

  private forgetOldest(): void {
    const names = listNames(this.folder) ?? [];
    if (names.length < MOST_FILES) return;
    const aged = names
      .map((name) => ({ name, at: stampOf(join(this.folder, name))?.mtimeMs ?? 0 }))
      .sort((a, b) => a.at - b.at);
    for (const { name } of aged.slice(0, MOST_FILES / 2)) removeFile(join(this.folder, name));
  }
}
