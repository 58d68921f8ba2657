/**
 * Paths that a caller declares, as git knows them: relative to the toplevel, with slashes, every character literal. What git
 * would take without a word and do nothing with, or do elsewhere, is refused here.
 */
import { basename, dirname, join, relative, resolve, sep } from "node:path";

import { DotbotError } from "../error.ts";
import { lstatOrNull } from "../files.ts";
import { quote } from "../text.ts";
import { exists, isWithin, physical } from "./native.ts";
import type { Repo } from "./repo.ts";

/**
 * A declared path, against the folder that the call names, as a path of the tree; "" is all of the tree. Throws
 * OUTSIDE_REPOSITORY, and INVALID_INPUT for what is in a git dir, behind a symlink or in a repository of its own.
 */
export function declaredPath({ start }: Pick<Repo, "start">, workRoot: string, file: string): string {
  if (file.includes("\0"))
    throw new DotbotError("INVALID_INPUT", `the path ${quote(file, 200)} contains a NUL character`);
  const path = inTree(resolve(start, file), workRoot);
  if (path === null) {
    throw new DotbotError("OUTSIDE_REPOSITORY", `${quote(file, 200)} isn't in the checkout ${quote(workRoot, 200)}`, {
      hint: `paths are relative to ${quote(start, 200)}; name another checkout with dir`,
      details: { path: file, workRoot },
    });
  }
  const parts = path === "" ? [] : path.split("/");
  if (parts.some((part) => part.toLowerCase() === ".git")) {
    throw new DotbotError("INVALID_INPUT", `${quote(file, 200)} is in a git dir, which no commit holds`);
  }
  for (let i = 1; i < parts.length; i++) {
    const above = join(workRoot, ...parts.slice(0, i));
    if (lstatOrNull(above)?.isSymbolicLink() === true) {
      throw new DotbotError(
        "INVALID_INPUT",
        `${quote(file, 200)} lies behind the symbolic link ${quote(parts.slice(0, i).join("/"), 200)}`,
        {
          hint: "name the file where it is, or the link itself",
        },
      );
    }
    if (exists(join(above, ".git"))) {
      throw new DotbotError(
        "INVALID_INPUT",
        `${quote(file, 200)} is in a repository of its own, ${quote(above, 200)}`,
        {
          hint: "name that repository with dir",
          details: { repository: above },
        },
      );
    }
  }
  return path;
}

/** The same for several, each once. */
export function declaredPaths(repo: Repo, workRoot: string, files: readonly string[]): string[] {
  return [...new Set(files.map((file) => declaredPath(repo, workRoot, file)))];
}

/** Whether a path of the tree is one of those declared, or lies in one of them. */
export function isDeclared(path: string, declared: readonly string[]): boolean {
  return declared.some((it) => it === "" || path === it || path.startsWith(`${it}/`));
}

function inTree(path: string, workRoot: string): string | null {
  // The way to it may lead through links, the last step may not: a link is committed as itself.
  const above = physical(dirname(path));
  const candidates = [path, ...(above === null ? [] : [join(above, basename(path))])];
  const inside =
    candidates.find((it) => isWithin(it, workRoot)) ?? (physical(path) === workRoot ? workRoot : undefined);
  return inside === undefined ? null : relative(workRoot, inside).split(sep).join("/");
}
