import type { AnyOperation } from "../op.ts";

export const WT_OPERATIONS: readonly AnyOperation[] = [];
