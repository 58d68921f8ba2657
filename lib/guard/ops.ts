import type { AnyOperation } from "../op.ts";

export const GUARD_OPERATIONS: readonly AnyOperation[] = [];
