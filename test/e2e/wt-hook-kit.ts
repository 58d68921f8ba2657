/** The hooks of agents, called as an agent calls them. */
import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { dotbot, type Options, type Outcome } from "../kit/binary.ts";

export type Told = Readonly<Record<string, unknown>>;

export async function hook(
  cwd: string,
  verb: "create" | "remove",
  told: Told | string,
  options: Partial<Options> = {},
): Promise<Outcome> {
  const stdin = typeof told === "string" ? told : JSON.stringify(told);
  return await dotbot(["wt", "hook", verb], { cwd, stdin, ...options });
}

/** The path that was answered: on stdout alone, a folder that is there. */
export function pathOf(result: Outcome): string {
  expect(result).toMatchObject({ status: 0 });
  expect(result.stdout).toMatch(/^\/[^\n]*\n$/);
  const path = result.stdout.trimEnd();
  expect(existsSync(join(path, ".git"))).toBe(true);
  return path;
}

export const create = async (cwd: string, told: Told, options: Partial<Options> = {}): Promise<string> =>
  pathOf(await hook(cwd, "create", told, options));

export async function refuses(result: Promise<Outcome>, status: number, says: string | RegExp): Promise<void> {
  const { status: ended, stdout, stderr } = await result;
  expect({ status: ended, stdout }).toEqual({ status, stdout: "" });
  expect(stderr).toMatch(says);
}
