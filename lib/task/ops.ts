import type { AnyOperation } from "../op.ts";
import { CLAIM_OPERATIONS } from "./ops/claims.ts";
import { TRANSITION_OPERATIONS } from "./ops/transitions.ts";

export const TASK_OPERATIONS: readonly AnyOperation[] = [...TRANSITION_OPERATIONS, ...CLAIM_OPERATIONS];
