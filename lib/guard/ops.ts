/** The operations of `guard`. */
import type { AnyOperation } from "../op.ts";
import { SCAN_OPERATIONS } from "../scan/ops.ts";
import { add } from "./ops/add.ts";
import { branchCreate, branchDelete } from "./ops/branch.ts";
import { checkFor } from "./ops/check.ts";
import { checkout } from "./ops/checkout.ts";
import { commit } from "./ops/commit.ts";
import { finish } from "./ops/finish.ts";
import { identity } from "./ops/identity.ts";
import { pull } from "./ops/pull.ts";
import { push } from "./ops/push.ts";

/** Those to which the intent contract applies. */
const CONTRACT: readonly AnyOperation[] = [add, commit, push, pull, branchCreate, branchDelete, finish, checkout];

export const GUARD_OPERATIONS: readonly AnyOperation[] = [
  ...CONTRACT,
  checkFor(() => CONTRACT),
  identity,
  ...SCAN_OPERATIONS,
];
