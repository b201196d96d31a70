import { isRecord } from '../node.ts';

/* Readers of values whose type is not known. */

export type Members = Record<string, unknown>;
export const membersOf = (value: unknown): Members => (isRecord(value) ? value : {});
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
