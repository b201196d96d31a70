import { isExactInteger, isExactNumber, wasNumber } from '../../lib/exact-numbers.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { JsonSchema } from '../format/format.ts';
import { asSchema, targetOf } from './model-schema.ts';

/*
 * Numbers beyond 2^53 in inputs. An input has them as text of their digits. The schema decides which of these texts are
 * numbers: those where it takes a number and no text. Elsewhere a text is a number if the caller wrote a number.
 */

/** Limit of the schemas that are read for one value. */
const MAX_SCHEMAS = 1000;

/** Returns whether a value has a text that may be such a number. */
export function hasExactNumbers(value: Json): boolean {
  if (typeof value === 'string') return isExactNumber(value);
  if (Array.isArray(value)) return value.some(hasExactNumbers);
  if (!isJsonObject(value)) return false;
  for (const name in value) if (hasExactNumbers(value[name] ?? null)) return true;
  return false;
}

/** Returns an input with `written(text)` in place of each text that is a number. */
export function withExactNumbers(
  schema: JsonSchema,
  input: JsonObject,
  written: (text: string) => Json,
): JsonObject {
  const replaced = (value: Json, schemas: readonly unknown[], isNumber: boolean): Json => {
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return value;
    const all = expanded(schema, schemas);
    if (typeof value === 'string') return takesNumber(all, value, isNumber) ? written(value) : value;
    if (Array.isArray(value)) {
      const items = all.flatMap(({ items: each, prefixItems }) => [each, prefixItems].flat());
      return value.map((item, at) => replaced(item, items, wasNumber(value, at)));
    }
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        replaced(member, schemasOf(all, name), wasNumber(value, name)),
      ]),
    );
  };
  const value = replaced(input, [schema], false);
  return isJsonObject(value) ? value : input;
}

/** Returns the type that a value takes in the schemas of its place, if it is a number beyond 2^53. */
function takesNumber(schemas: readonly JsonSchema[], text: string, isNumber: boolean): boolean {
  if (!isExactNumber(text)) return false;
  const types = new Set(schemas.flatMap(({ type }) => (type === undefined ? [] : [type].flat())));
  if (types.size === 0) return isNumber;
  if (types.has('string') && !isNumber) return false;
  return types.has('number') || (types.has('integer') && isExactInteger(text));
}

function schemasOf(schemas: readonly JsonSchema[], name: string): unknown[] {
  return schemas.flatMap(({ properties, additionalProperties, patternProperties }) => {
    const known = asSchema(properties);
    return Object.hasOwn(known, name)
      ? [known[name]]
      : [additionalProperties, ...Object.values(asSchema(patternProperties))];
  });
}

/** Returns the schemas with those that they refer to and combine. */
function expanded(root: JsonSchema, schemas: readonly unknown[]): JsonSchema[] {
  const all = new Map<unknown, JsonSchema>();
  const left = [...schemas];
  while (left.length > 0 && all.size < MAX_SCHEMAS) {
    const next = left.pop();
    if (typeof next !== 'object' || next === null || all.has(next)) continue;
    const schema = asSchema(next);
    all.set(next, schema);
    const { $ref: ref, allOf, anyOf, oneOf, then, else: otherwise } = schema;
    left.push(...[allOf, anyOf, oneOf, then, otherwise].flat());
    if (typeof ref === 'string') left.push(targetOf(root, ref));
  }
  return [...all.values()];
}
