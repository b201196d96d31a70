import type { JsonSchema } from '../format/format.ts';
import { asSchema } from './model-schema.ts';
import { DATA, MAPS } from '../patterns.ts';
import {
  commonTypes,
  excludingBounds,
  hasOneType,
  hasType,
  keepsRules,
  listedValues,
  shown,
  typesOf,
} from './value-rules.ts';

/*
 * Values of schemas that have another type than their schema. YAML without quotes makes the number 2 of a text, so
 * `{type: string, enum: [1, 2]}` would accept no value at all.
 */

/** Keywords whose branches describe the same value as the schema around them. */
const BRANCHES = ['allOf', 'anyOf', 'oneOf'] as const;
/** Keywords that limit a value next to its `enum`. */
const LIMITS = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
]);

type Note = (what: string) => void;

/**
 * Returns a schema whose listed values and default have the type of the schema, where each has one meaning in it. Rules
 * that would leave no value are missing. `note` is called with each change. Schemas of members stay as they are.
 */
export function withTypedValues(schema: JsonSchema, note: Note): JsonSchema {
  return typed(schema, undefined, note);
}

/** Returns the same for a schema with the schemas in it. */
export function withAllTypedValues(schema: JsonSchema, note: Note): JsonSchema {
  const inside = (value: unknown, key: string): unknown => {
    if (DATA.has(key)) return value;
    if (Array.isArray(value)) return value.map((one) => inside(one, ''));
    if (typeof value !== 'object' || value === null) return value;
    return MAPS.has(key)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inside(one, '')]))
      : withAllTypedValues(asSchema(value), note);
  };
  const whole = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, inside(value, key)]));
  return withTypedValues(whole, note);
}

function typed(schema: JsonSchema, around: string[] | undefined, note: Note): JsonSchema {
  const all = commonTypes(around, commonTypes(typesOf(schema), typesOfParts(schema)));
  // Types that exclude each other say nothing about values.
  const types = all?.length === 0 ? undefined : all;
  const mended = withoutExcludingBounds(withDefault(withValues(schema, types, note), types, note), note);
  for (const keyword of BRANCHES) {
    const branches = mended[keyword];
    if (!Array.isArray(branches)) continue;
    mended[keyword] = branches.map((branch) => typed(asSchema(branch), types, note));
  }
  return mended;
}

/** Returns the types that the parts of `allOf` name. */
function typesOfParts({ allOf }: JsonSchema): string[] | undefined {
  const parts = Array.isArray(allOf) ? allOf.map(asSchema) : [];
  return parts.reduce<string[] | undefined>(
    (types, part) => commonTypes(types, commonTypes(typesOf(part), typesOfParts(part))),
    undefined,
  );
}

function withValues(schema: JsonSchema, types: string[] | undefined, note: Note): JsonSchema {
  const listed = listedValues(schema);
  if (listed === undefined || types === undefined) return { ...schema };
  const read = listed.map((value) => inTypes(value, types));
  const values = [...new Set(read.filter((value) => value !== undefined))];
  const { const: only, enum: _values, ...rest } = schema;
  const name = only === undefined ? 'enum' : 'const';
  // Null of an enum says nothing about the other values.
  if (values.every((value) => value === null && !types.includes('null'))) {
    note(
      `no value of its ${name} has the type ${types.join(' or ')}, so it is not checked: ${shown(listed)}`,
    );
    return rest;
  }
  const changed = listed.filter((value, index) => read[index] !== value);
  if (changed.length > 0)
    note(`values of its ${name} have the type ${types.join(' or ')} now: ${shown(changed)}`);
  const whole = { ...rest, ...(only === undefined ? { enum: values } : { const: values[0] }) };
  if (values.some((value) => keepsRules(whole, value))) return whole;
  note(`no value of its ${name} keeps its other rules, so they are not checked`);
  return Object.fromEntries(Object.entries(whole).filter(([keyword]) => !LIMITS.has(keyword)));
}

function withDefault(schema: JsonSchema, types: string[] | undefined, note: Note): JsonSchema {
  const { default: given, ...rest } = schema;
  if (given === undefined || types === undefined) return schema;
  const value = inTypes(given, types);
  if (value === given) return schema;
  note(
    value === undefined
      ? `its default is missing, because it has not the type ${types.join(' or ')}: ${shown([given])}`
      : `its default has the type ${types.join(' or ')} now: ${shown([given])}`,
  );
  return value === undefined ? rest : { ...rest, default: value };
}

function withoutExcludingBounds(schema: JsonSchema, note: Note): JsonSchema {
  const bounds = excludingBounds(schema);
  if (bounds === undefined) return schema;
  note(`its bounds exclude each other, so they are not checked: ${bounds.join(', ')}`);
  const keywords = new Set(bounds.map((bound) => bound.split(' ')[0]));
  const rest = Object.entries(schema).filter(([keyword]) => !keywords.has(keyword));
  return withoutExcludingBounds(Object.fromEntries(rest), note);
}

/**
 * Returns a value in one of the types, undefined where it has no meaning in them. Null of an enum stays, because
 * documents list it for members that may be null.
 */
function inTypes(value: unknown, types: readonly string[]): unknown {
  if (value === null || hasOneType(value, types)) return value;
  if (types.includes('string') && (typeof value === 'number' || typeof value === 'boolean'))
    return String(value);
  if (typeof value !== 'string') return undefined;
  const meanings = [...numberIn(value), ...booleanIn(value)];
  return meanings.find((one) => types.some((type) => hasType(one, type)));
}

function numberIn(text: string): number[] {
  return /^-?(0|[1-9]\d{0,14})(\.\d{1,14})?$/.test(text) ? [Number(text)] : [];
}

function booleanIn(text: string): boolean[] {
  const meant = { true: true, false: false }[text];
  return meant === undefined ? [] : [meant];
}
