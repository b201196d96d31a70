import { memoByObject } from '../../lib/memo.ts';
import type { JsonSchema } from '../format/format.ts';

/*
 * Integers beyond 2^53 are texts of their digits in answers, because most clients would round a number. The schemas of
 * answers say so where such an integer may occur: unless a bound or a format of 32 bits excludes it.
 */

const SMALL_FORMATS = new Set(['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32']);

/** Returns the keywords that change in the schema of one value. */
export function withDigits({
  type,
  format,
  minimum,
  maximum,
  enum: values,
  const: value,
}: JsonSchema): JsonSchema {
  const types: unknown[] = [type].flat();
  if (!types.includes('integer') || types.includes('string') || values !== undefined || value !== undefined)
    return {};
  if (typeof format === 'string' && SMALL_FORMATS.has(format)) return {};
  if (isSmall(minimum) && isSmall(maximum)) return {};
  // JSON Schema refuses values of another type by the format of a number.
  return { type: [...types, 'string'] };
}

/** Returns the schema of an answer with withDigits() in each of its schemas. */
export const answerSchema = memoByObject((schema: JsonSchema): JsonSchema => {
  const shown = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(shown);
    if (typeof part !== 'object' || part === null) return part;
    const members = Object.fromEntries(Object.entries(part).map(([name, member]) => [name, shown(member)]));
    return { ...members, ...withDigits(members) };
  };
  return Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, shown(member)]));
});

function isSmall(bound: unknown): boolean {
  return typeof bound === 'number' && Math.abs(bound) <= Number.MAX_SAFE_INTEGER;
}
