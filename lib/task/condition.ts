/** A task's `condition`: a path or glob that must (or, after `!`, must not) exist, below the state root. */
import { isAbsolute, join, normalize } from "node:path";

import { globMatches, realPath } from "../files.ts";

const GLOB = /[*?[\]{}]/;

/** Whether a condition names something that can't lie in the repository. Pure. */
export function leavesRepository(condition: string): boolean {
  const path = condition.replace(/^!/, "").trim();
  if (
    path === "" ||
    path.startsWith("~") ||
    isAbsolute(path) ||
    /^[A-Za-z]:[\\/]/.test(path) ||
    path.startsWith("\\\\")
  )
    return true;
  const parts = path.replaceAll("\\", "/").split("/");
  return parts.includes("..") || normalize(path).startsWith("..");
}

/** Whether the condition holds now. One that leaves the repository never does, negated or not. */
export function isMet(stateRoot: string, condition: string): boolean {
  if (leavesRepository(condition)) return false;
  const negated = condition.startsWith("!");
  const path = condition.replace(/^!/, "").trim();
  return present(stateRoot, path) !== negated;
}

function present(stateRoot: string, path: string): boolean {
  if (GLOB.test(path)) return globMatches(stateRoot, path);
  const real = realPath(join(stateRoot, path));
  const root = realPath(stateRoot);
  // A link that leads out of the repository says nothing about it.
  return real !== null && root !== null && (real === root || real.startsWith(root.endsWith("/") ? root : `${root}/`));
}
