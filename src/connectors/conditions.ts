import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import type { Condition } from './format/format-parts.ts';

/** Returns whether an input holds such a value. */
export function holds({ parameter, in: values }: Condition, input: JsonObject): boolean {
  const found = valuesAt(input, parameter.split('.'));
  if (values === undefined) return found.some((value) => value !== null && value !== false && value !== '');
  const wanted = new Set(values.map(comparable));
  return found.some((value) => wanted.has(comparable(value)));
}

/** Returns the values at a path, those in lists one by one. */
function valuesAt(value: Json | undefined, path: readonly string[]): Json[] {
  if (Array.isArray(value)) return value.flatMap((entry) => valuesAt(entry, path));
  const [name, ...rest] = path;
  if (name === undefined) return value === undefined ? [] : [value];
  return isJsonObject(value) && Object.hasOwn(value, name) ? valuesAt(value[name], rest) : [];
}

/** Returns a comparable text, because apps accept `voided` for VOIDED, and 'true' for true. */
function comparable(value: Json): string {
  return typeof value === 'string' ? value.trim().toLowerCase() : JSON.stringify(value);
}
