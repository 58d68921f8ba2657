/** The machines that dotbot is built for: what Bun calls them, and what npm does. */
import { existsSync, readdirSync } from "node:fs";

export interface Target {
  /** As in `--target linux-arm64`, and, after `bun-`, Bun's name of it. */
  readonly name: string;
  /** npm's names, by which it chooses among the packages. */
  readonly os: "darwin" | "linux" | "win32";
  readonly cpu: "arm64" | "x64";
  readonly libc?: "glibc" | "musl";
}

export const TARGETS: readonly Target[] = [
  { name: "linux-x64", os: "linux", cpu: "x64", libc: "glibc" },
  { name: "linux-arm64", os: "linux", cpu: "arm64", libc: "glibc" },
  { name: "linux-x64-musl", os: "linux", cpu: "x64", libc: "musl" },
  { name: "linux-arm64-musl", os: "linux", cpu: "arm64", libc: "musl" },
  { name: "darwin-x64", os: "darwin", cpu: "x64" },
  { name: "darwin-arm64", os: "darwin", cpu: "arm64" },
  { name: "windows-x64", os: "win32", cpu: "x64" },
];

/** The program's file name there. */
export function programOf(target: Target): string {
  return target.os === "win32" ? "dotbot.exe" : "dotbot";
}

/** @throws Error that lists the targets there are */
export function targetNamed(name: string): Target {
  const target = TARGETS.find((candidate) => candidate.name === name);
  if (target === undefined)
    throw new Error(`no target ${JSON.stringify(name)}; there are ${TARGETS.map(({ name }) => name).join(", ")}`);
  return target;
}

/** This machine. @throws Error where dotbot isn't built for it */
export function thisMachine(): Target {
  const musl = existsSync("/lib") && readdirSync("/lib").some((file) => file.startsWith("ld-musl-"));
  const target = TARGETS.find(
    ({ os, cpu, libc }) =>
      os === process.platform && cpu === process.arch && (libc === "musl") === (os === "linux" && musl),
  );
  if (target === undefined) throw new Error(`there is no target for ${process.platform}-${process.arch}`);
  return target;
}
