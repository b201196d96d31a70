import { asObject, isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { memoByObject } from '../lib/memo.ts';

const MARK = '[redacted]';
/** Limit of the schemas that are read for one value. A value with more of them is redacted. */
const MAX_SCHEMAS = 1000;

/**
 * Returns a value with `[redacted]` in place of the fields that its schema marks: `sensitive`, `writeOnly`, or the
 * format `password`.
 */
export function redact(value: Json, schema: unknown): Json {
  if (!isJsonObject(schema) || !hasMarks(schema)) return value;
  const root = schema;
  const redacted = (one: Json, schemas: readonly unknown[]): Json => {
    const all = expanded(root, schemas);
    if (!all || all.some(isSensitive)) return MARK;
    if (Array.isArray(one)) {
      const items = all.flatMap(({ items: each = null, prefixItems = [] }) => [
        each,
        ...[prefixItems].flat(),
      ]);
      return one.map((item) => redacted(item, items));
    }
    if (!isJsonObject(one)) return one;
    return Object.fromEntries(
      Object.entries(one).map(([name, member]) => [
        name,
        all.some((each) => isUnknown(each, name)) ? MARK : redacted(member, membersOf(all, name)),
      ]),
    );
  };
  return redacted(value, [root]);
}

/** Returns whether a schema has a mark anywhere. Most have none, and their values are not walked. */
const hasMarks = memoByObject((schema: object): boolean => {
  const isMarked = (part: unknown): boolean => {
    if (Array.isArray(part)) return part.some(isMarked);
    return isJsonObject(part) && (isSensitive(part) || Object.values(part).some(isMarked));
  };
  return isMarked(schema);
});

function isSensitive(schema: JsonObject): boolean {
  return schema['sensitive'] === true || schema['writeOnly'] === true || schema['format'] === 'password';
}

/** Returns whether a closed object has no such member. Its value may be a sensitive one under a wrong name. */
function isUnknown({ properties, additionalProperties }: JsonObject, name: string): boolean {
  return additionalProperties === false && isJsonObject(properties) && !Object.hasOwn(properties, name);
}

function membersOf(schemas: readonly JsonObject[], name: string): unknown[] {
  return schemas.flatMap(({ properties, additionalProperties, patternProperties }) => [
    asObject(properties)[name],
    additionalProperties,
    ...Object.values(asObject(patternProperties)),
  ]);
}

/** Returns the schemas with those that they refer to and combine; undefined for more than MAX_SCHEMAS. */
function expanded(root: JsonObject, schemas: readonly unknown[]): JsonObject[] | undefined {
  const all = new Set<JsonObject>();
  const left = [...schemas];
  while (left.length > 0) {
    if (all.size > MAX_SCHEMAS) return undefined;
    const next = left.pop();
    if (!isJsonObject(next) || all.has(next)) continue;
    all.add(next);
    const {
      $ref,
      allOf = [],
      anyOf = [],
      oneOf = [],
      if: when = null,
      then = null,
      else: otherwise = null,
    } = next;
    left.push(...[allOf, anyOf, oneOf, when, then, otherwise].flat());
    if (typeof $ref === 'string') left.push(asObject(root['$defs'])[$ref.slice('#/$defs/'.length)]);
  }
  return [...all];
}
