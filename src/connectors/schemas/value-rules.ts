import { memoByText } from '../../lib/memo.ts';
import { compilePattern } from '../../lib/linear-pattern.ts';
import type { JsonSchema } from '../format/format.ts';

/* The rules of a schema for one value, apart from those for its members. */

const MAX_CACHED_PATTERNS = 1000;
const MAX_SHOWN = 5;

/** Pairs of bounds that exclude each other where the first is larger than the second. */
const BOUNDS = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const;

const TYPES = new Set(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']);

/** Returns the types of a schema; undefined where it takes every type, or names one that does not exist. */
export function typesOf({ type }: JsonSchema): string[] | undefined {
  const types = type === undefined ? [] : [type].flat().map(String);
  return types.length > 0 && types.every((one) => TYPES.has(one)) ? types : undefined;
}

/** Returns the types that both lists take. A whole number is a number. */
export function commonTypes(a: string[] | undefined, b: string[] | undefined): string[] | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const whole = a.includes('number') || b.includes('number') ? ['integer'] : [];
  const has = (types: string[], type: string) =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...a, ...whole])].filter((type) => has(a, type) && has(b, type));
}

/** Returns the values that a schema lists: those of its `enum`, or its `const`. */
export function listedValues({ enum: values, const: only }: JsonSchema): unknown[] | undefined {
  if (only !== undefined) return [only];
  return Array.isArray(values) ? values : undefined;
}

export function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

/** Returns whether a value has one of the types. */
export function hasOneType(value: unknown, types: readonly string[] | undefined): boolean {
  return types === undefined || types.some((type) => hasType(value, type));
}

/** Returns whether a value keeps the bounds and the pattern of a schema. */
export function keepsRules(schema: JsonSchema, value: unknown): boolean {
  if (typeof value === 'number') return keepsNumberRules(schema, value);
  return typeof value !== 'string' || keepsTextRules(schema, value);
}

/** Returns the bounds of a schema that exclude each other: `minimum 5` and `maximum 1`. */
export function excludingBounds(schema: JsonSchema): string[] | undefined {
  const pair = BOUNDS.find(([low, high]) => Number(schema[low]) > Number(schema[high]));
  return pair?.map((keyword) => `${keyword} ${String(schema[keyword])}`);
}

function keepsNumberRules(schema: JsonSchema, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) return false;
  if (typeof maximum === 'number' && value > maximum) return false;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return false;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return false;
  return typeof multipleOf !== 'number' || Number.isInteger(value / multipleOf);
}

function keepsTextRules({ minLength, maxLength, pattern }: JsonSchema, value: string): boolean {
  const length = [...value].length;
  if (typeof minLength === 'number' && length < minLength) return false;
  if (typeof maxLength === 'number' && length > maxLength) return false;
  return typeof pattern !== 'string' || matcherOf(pattern).test(value);
}

/** Returns the first values as JSON, for a note about them. */
export function shown(values: readonly unknown[]): string {
  const texts = values.slice(0, MAX_SHOWN).map((value) => JSON.stringify(value));
  return `${texts.join(', ')}${values.length > MAX_SHOWN ? ' …' : ''}`;
}

/** A pattern that is refused elsewhere takes every text here. */
const matcherOf = memoByText(MAX_CACHED_PATTERNS, (pattern): { test(text: string): boolean } => {
  try {
    return compilePattern(pattern);
  } catch {
    return { test: () => true };
  }
});
