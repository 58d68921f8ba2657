/** Every verb on worktrees, in the order in which help and the tool list show them. */
import type { AnyOperation } from "../op.ts";
import { complete } from "./ops/complete.ts";
import { adopt, create } from "./ops/create.ts";
import { hookCreateOperation, hookRemoveOperation } from "./ops/hook.ts";
import { diff, list, log, path, status, switchTo } from "./ops/look.ts";
import { remove } from "./ops/remove.ts";
import { run } from "./ops/run.ts";
import { prune, repair } from "./ops/tidy.ts";
import { sync, undo } from "./ops/undo.ts";

export const WT_OPERATIONS: readonly AnyOperation[] = [
  create,
  adopt,
  list,
  status,
  path,
  switchTo,
  run,
  diff,
  log,
  sync,
  complete,
  undo,
  remove,
  prune,
  repair,
  hookCreateOperation,
  hookRemoveOperation,
];
