import { isExactNumber } from './exact-numbers.ts';
import { isJsonObject, type Json } from './json.ts';
import { didYouMean, questionOf } from './words.ts';

/** The longest list of known members or values in a fault. */
const MAX_KNOWN = 30;
/** The longest value that a fault writes in its right form. */
const MAX_WRITTEN = 200;

/** The schema of the object that has an unknown member. */
export interface Members {
  properties: { [name: string]: unknown };
  required: readonly string[];
}

/**
 * Returns what a caller may have meant by an unknown member: the nearest known one, else the only one left that takes its
 * value, else all known ones. A missing required member comes first.
 */
export function meantMember(name: string, object: unknown, { properties, required }: Members): string {
  const known = Object.keys(properties);
  const given = Object.hasOwn(Object(object), name) ? Object(object)[name] : undefined;
  const near = didYouMean(
    name,
    known.filter((one) => hasShape(properties[one], given)),
  );
  if (near !== '') return `.${near}`;
  const left = known.filter((one) => !Object.hasOwn(Object(object), one) && takes(properties[one], given));
  const missing = left.filter((one) => required.includes(one));
  const [only, ...others] = missing.length > 0 ? missing : left;
  if (only !== undefined && others.length === 0) return `.${questionOf([only])}`;
  return listOf(known);
}

/** Returns the question whether a near name was meant, else all known names where they are few. */
export function meantName(name: string, known: readonly string[]): string {
  const near = didYouMean(name, known);
  if (near !== '' || known.length === 0 || known.length > MAX_KNOWN) return near;
  return ` Known: ${known.join(', ')}.`;
}

/** Returns a list of known names with its separator before it; empty where it would be long. */
export function listOf(known: readonly string[]): string {
  return known.length > 0 && known.length <= MAX_KNOWN ? `; known: ${known.join(', ')}` : '';
}

/** Returns the rule for a value outside a list of values, with the same one of another type, or the nearest ones. */
export function oneOf(values: readonly unknown[], given: unknown): string {
  const rule = `must be one of: ${values.map(asText).join(', ')}`;
  const same = isPlain(given)
    ? values.find((value) => isPlain(value) && String(value) === String(given))
    : undefined;
  if (same !== undefined && same !== given)
    return `${rule}: ${typeof same === 'string' ? `write "${same}" in quotes` : `write ${String(same)} without quotes`}`;
  const texts = values.filter((value) => typeof value === 'string');
  const near = typeof given === 'string' ? didYouMean(given, texts) : '';
  return `${rule}${near === '' ? '' : `.${near}`}`;
}

/** Returns a value as a fault lists it: in quotes where its text could be one of another type. */
function asText(value: unknown): string {
  if (typeof value === 'object') return JSON.stringify(value);
  const isAmbiguous = typeof value === 'string' && /^(-?\d+(\.\d+)?|true|false|null)$/.test(value);
  return isAmbiguous ? `"${value}"` : String(value);
}

function isPlain(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

/** Returns the rule for a missing value, or one of another type than `expected`, a type of zod. */
export function typeRule(expected: string, given: unknown): string {
  return given === undefined ? 'is required' : `must be ${typeName(expected)}${inType(expected, given)}`;
}

const TYPES: { [expected: string]: string } = {
  string: 'text',
  record: 'an object',
  object: 'an object',
  array: 'a list',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

/** A bound that a value breaks, as zod reports it. */
export interface Bound {
  origin: string;
  minimum?: number | bigint;
  maximum?: number | bigint;
}

/** Returns the rule for a value beyond a bound: `must be at least 2 items`. */
export function boundRule({ origin, minimum, maximum }: Bound): string {
  return minimum === undefined
    ? `must be at most ${amount(maximum ?? 0, origin)}`
    : `must be at least ${amount(minimum, origin)}`;
}

/** Returns a bound with its unit: `1 character`, `20 items`, `10`. */
function amount(bound: number | bigint, origin: string): string {
  const unit = origin === 'string' ? ' character' : origin === 'array' ? ' item' : '';
  return `${bound}${unit}${unit === '' || bound === 1 ? '' : 's'}`;
}

/** Returns the name of a type of zod in a fault: `a list`. */
export function typeName(expected: string): string {
  return TYPES[expected] ?? expected;
}

/** Returns how to write a value in the type that a schema expects; empty where that is not certain. */
export function inType(expected: unknown, given: unknown): string {
  if (expected === 'string' && (typeof given === 'number' || typeof given === 'boolean'))
    return `: write "${given}" in quotes`;
  if (typeof given === 'string' && given.trim() !== '') {
    const isNumber =
      expected === 'number' ? Number.isFinite : expected === 'int' ? Number.isInteger : undefined;
    if (isNumber?.(Number(given)) && !isExactNumber(given)) return `: write ${Number(given)} without quotes`;
  }
  if (expected !== 'array' || given === undefined || given === null || Array.isArray(given)) return '';
  const list = JSON.stringify([given]);
  return list.length > MAX_WRITTEN ? '' : `: write ${list}`;
}

/** Returns false where a schema expects a list or object and the value is neither, or the reverse. */
function hasShape(schema: unknown, given: unknown): boolean {
  const { type } = Object(schema);
  if (typeof type !== 'string' || given === undefined || given === null) return true;
  return (type === 'array' || type === 'object') === (typeof given === 'object');
}

/** Returns whether a schema names the type of a value. A schema without a type names none. */
function takes(schema: unknown, given: Json | undefined): boolean {
  if (given === undefined || given === null) return false;
  const { type } = Object(schema);
  const types: unknown[] = Array.isArray(type) ? type : [type];
  const own = Array.isArray(given) ? 'array' : isJsonObject(given) ? 'object' : typeof given;
  return types.includes(own) || (Number.isInteger(given) && types.includes('integer'));
}
