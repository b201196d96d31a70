import { hasExactNumbers, withExactNumbers } from '../connectors/schemas/exact-input.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import type { UpstreamCall } from './upstream-call.ts';

type Given = Pick<UpstreamCall, 'action' | 'input'>;

/**
 * Returns the input for a body of JSON. Its numbers beyond 2^53 are values that JSON.stringify() writes with all digits,
 * in place of the texts that an input has.
 */
export function inputForJson({ action, input }: Given): JsonObject {
  return hasExactNumbers(input) ? withExactNumbers(action.inputSchema, input, JSON.rawJSON) : input;
}

/** Returns a value that an expression made of the input for a body of JSON: texts that are numbers in the input become numbers. */
export function mappedForJson({ action, input }: Given, mapped: Json): Json {
  if (!hasExactNumbers(input)) return mapped;
  const numbers = new Set<string>();
  withExactNumbers(action.inputSchema, input, (text) => {
    numbers.add(text);
    return text;
  });
  const written = (value: Json): Json => {
    if (typeof value === 'string') return numbers.has(value) ? JSON.rawJSON(value) : value;
    if (Array.isArray(value)) return value.map(written);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, written(member)]));
  };
  return written(mapped);
}
