import type { AnyOperation } from "../op.ts";

export const INIT_OPERATIONS: readonly AnyOperation[] = [];
