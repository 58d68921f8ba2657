import type { AnyOperation } from "../op.ts";

export const DOCTOR_OPERATIONS: readonly AnyOperation[] = [];
