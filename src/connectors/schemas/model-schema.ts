import { createHash } from 'node:crypto';
import { withAcceptedValues } from './accepted-values.ts';
import { withDigits } from './answered-numbers.ts';
import type { JsonSchema } from '../format/format.ts';

/*
 * Schemas in the form that model APIs accept. Anthropic rejects references, unions at the top and names of properties
 * outside [A-Za-z0-9_.-]{1,64}. OpenAI rejects unions at the top and arrays without `items`. Gemini rejects a whole
 * request for one unknown keyword, and for values and formats that accepted-values.ts puts into words. So references are
 * inlined, names get an alias, and the rest uses the keywords that all three accept.
 */

export type Side = 'input' | 'output';

/** Names of properties that every model API accepts. */
const ACCEPTED_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_NAME = 64;
/** Maximum number of schemas in one result; further ones have only their type. Answers of some apps have millions. */
const MAX_NODES: { [side in Side]: number } = { input: 2000, output: 500 };
/** Keywords that are copied unchanged. */
const COPIED = new Set([
  'type',
  'format',
  'title',
  'description',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
]);
/** Keywords that belong to one type, where a schema has several. */
const OF_TYPE: { [keyword: string]: readonly string[] } = {
  format: ['string'],
  minLength: ['string'],
  maxLength: ['string'],
  pattern: ['string'],
  minimum: ['number', 'integer'],
  maximum: ['number', 'integer'],
  items: ['array'],
  minItems: ['array'],
  maxItems: ['array'],
  properties: ['object'],
  required: ['object'],
  additionalProperties: ['object'],
  minProperties: ['object'],
  maxProperties: ['object'],
};

interface Walk {
  root: JsonSchema;
  side: Side;
  /** References that contain the current schema. */
  inside: readonly string[];
  nodes: { left: number };
}

/**
 * Returns the schema without `$ref`, `$defs`, `propertyNames`, recursion or names that model APIs refuse. It may
 * be less strict than the original, because inputs are checked against the original.
 */
export function modelSchema(schema: JsonSchema, side: Side): JsonSchema {
  const walk = { root: schema, side, inside: [], nodes: { left: MAX_NODES[side] } };
  const { anyOf, ...rest } = convert(schema, walk);
  if (!Array.isArray(anyOf)) return { ...rest, type: 'object' };
  const choice = choiceOf(anyOf);
  const properties = anyOf.flatMap((branch) => Object.entries(asSchema(asSchema(branch)['properties'])));
  return {
    ...rest,
    ...described(rest, choice === undefined ? '' : `Give at least one of: ${choice}.`),
    type: 'object',
    properties: { ...Object.fromEntries(properties), ...asSchema(rest['properties']) },
  };
}

/** Merges a schema with its `$ref` and `allOf` into one schema. */
export function resolved(schema: JsonSchema, root: JsonSchema, inside: readonly string[] = []): Resolved {
  const { $ref: ref, allOf, ...own } = schema;
  let merged: Resolved = { schema: own, inside };
  if (typeof ref === 'string') {
    const target = inside.includes(ref) ? undefined : targetOf(root, ref);
    const below = target ? resolved(target, root, [...inside, ref]) : { schema: cut(root, ref), inside };
    merged = { schema: { ...below.schema, ...own }, inside: below.inside };
  }
  for (const part of Array.isArray(allOf) ? allOf : []) {
    const more = resolved(asSchema(part), root, merged.inside);
    merged = { schema: both(merged.schema, more.schema), inside: more.inside };
  }
  return merged;
}

interface Resolved {
  schema: JsonSchema;
  inside: readonly string[];
}

/** Returns the aliases under which models see properties, by name; only those that differ. */
export function aliasesOf(properties: JsonSchema): ReadonlyMap<string, string> {
  const names = Object.keys(properties);
  const refused = names.filter((name) => !ACCEPTED_NAME.test(name));
  if (refused.length === 0) return NO_ALIASES;
  const used = new Set(names);
  return new Map(
    refused.map((name) => {
      const plain = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').replaceAll(/^_+|_+$/g, '');
      const fits = plain !== '' && plain.length <= MAX_NAME && !used.has(plain);
      const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
      const alias = fits ? plain : `${plain.slice(0, MAX_NAME - 9)}_${hash}`;
      used.add(alias);
      return [name, alias];
    }),
  );
}

const NO_ALIASES: ReadonlyMap<string, string> = new Map();

export function asSchema(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function convert(schema: JsonSchema, walk: Walk): JsonSchema {
  if (walk.nodes.left-- <= 0) return typeOnly(resolved(schema, walk.root, walk.inside).schema);
  const { schema: whole, inside } = resolved(schema, walk.root, walk.inside);
  const here = { ...walk, inside };
  const shown: JsonSchema = Object.fromEntries(
    Object.entries(whole).filter(([keyword]) => COPIED.has(keyword)),
  );
  Object.assign(shown, valuesOf(whole), membersOf(whole, here), bounds(whole));
  if (walk.side === 'output') Object.assign(shown, withDigits(shown));
  if (isArrayType(whole)) shown['items'] = itemsOf(whole, here);
  const branches = whole['anyOf'] ?? whole['oneOf'];
  if (Array.isArray(branches)) shown['anyOf'] = branches.map((branch) => convert(asSchema(branch), here));
  if (walk.side === 'output') return shown;
  return Array.isArray(shown['type']) ? byType(shown, shown['type']) : withAcceptedValues(shown);
}

/** Returns the place of a schema that contains itself. */
function cut(root: JsonSchema, ref: string): JsonSchema {
  return typeOnly(targetOf(root, ref) ?? {});
}

/** Returns a schema that accepts every value of a schema and has no details. */
function typeOnly({ type, properties }: JsonSchema): JsonSchema {
  if (type === 'object' || (type === undefined && properties !== undefined)) return { type: 'object' };
  return typeof type === 'string' && type !== 'array' ? { type } : {};
}

/** Returns the values of a schema: `const` is an `enum` of one. Values of one type name it. */
function valuesOf({ type, const: value, enum: values }: JsonSchema): JsonSchema {
  if (value !== undefined) return { type: typeOf(value), enum: [value] };
  if (!Array.isArray(values)) return {};
  const [only, ...others] = new Set(values.map(typeOf));
  return type === undefined && only !== undefined && others.length === 0
    ? { type: only, enum: values }
    : { enum: values };
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return Array.isArray(value) ? 'array' : typeof value;
}

/**
 * Returns the properties under names that models may use. In an answer, properties with other names are left out,
 * because the answer has them under their own names.
 */
function membersOf(schema: JsonSchema, walk: Walk): JsonSchema {
  const { properties, required, additionalProperties, patternProperties } = schema;
  const members: JsonSchema = {};
  const known = asSchema(properties);
  const aliases = aliasesOf(known);
  const shown = (name: string) => (walk.side === 'input' ? (aliases.get(name) ?? name) : name);
  const seen = Object.entries(known).filter(([name]) => walk.side === 'input' || !aliases.has(name));
  if (properties !== undefined) {
    members['type'] = schema['type'] ?? 'object';
    members['properties'] = Object.fromEntries(
      seen.map(([name, member]) => [shown(name), aliased(convert(asSchema(member), walk), name, aliases)]),
    );
  }
  if (Array.isArray(required)) {
    const names = required.filter((name) => !(walk.side === 'output' && aliases.has(name)));
    if (names.length > 0) members['required'] = names.map((name) => shown(String(name)));
  }
  const open = patternProperties !== undefined || (walk.side === 'output' && aliases.size > 0);
  if (typeof additionalProperties === 'object') {
    members['additionalProperties'] = convert(asSchema(additionalProperties), walk);
  } else if (additionalProperties === false && !open) {
    members['additionalProperties'] = false;
  }
  return members;
}

function aliased(schema: JsonSchema, name: string, aliases: ReadonlyMap<string, string>): JsonSchema {
  return aliases.has(name) ? { ...schema, ...described(schema, `Sent to the app as "${name}".`) } : schema;
}

/** Replaces the bounds that Gemini does not know. */
function bounds({ type, exclusiveMinimum, exclusiveMaximum, description }: JsonSchema): JsonSchema {
  const whole = type === 'integer';
  const words: string[] = [];
  const shown: JsonSchema = {};
  if (typeof exclusiveMinimum === 'number') {
    shown['minimum'] = whole ? Math.floor(exclusiveMinimum) + 1 : exclusiveMinimum;
    if (!whole) words.push(`Must be more than ${exclusiveMinimum}.`);
  }
  if (typeof exclusiveMaximum === 'number') {
    shown['maximum'] = whole ? Math.ceil(exclusiveMaximum) - 1 : exclusiveMaximum;
    if (!whole) words.push(`Must be less than ${exclusiveMaximum}.`);
  }
  return words.length === 0 ? shown : { ...shown, ...described({ description }, words.join(' ')) };
}

function isArrayType({ type, items, prefixItems }: JsonSchema): boolean {
  if (items !== undefined || prefixItems !== undefined) return true;
  return type === 'array' || (Array.isArray(type) && type.includes('array'));
}

function itemsOf({ items, prefixItems }: JsonSchema, walk: Walk): JsonSchema {
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  const all = [...first, ...(items === undefined || items === false ? [] : [items])];
  const [one, ...others] = all.map((item) => convert(asSchema(item), walk));
  if (one === undefined) return {};
  return others.length === 0 ? one : { anyOf: [one, ...others] };
}

/** Returns a list of types as alternatives, each with its own keywords. */
function byType({ anyOf, enum: values, ...schema }: JsonSchema, types: readonly unknown[]): JsonSchema {
  const common = Object.entries(schema).filter(([keyword]) => keyword !== 'type' && !OF_TYPE[keyword]);
  const alternatives = types.map((type) => {
    const own = Object.entries(schema).filter(([keyword]) => OF_TYPE[keyword]?.includes(String(type)));
    const of = Array.isArray(values) ? values.filter((value) => fitsType(value, String(type))) : [];
    return { type, ...Object.fromEntries(own), ...(of.length > 0 && type !== 'null' ? { enum: of } : {}) };
  });
  const [only, ...others] = alternatives;
  if (only && others.length === 0) return withAcceptedValues({ ...Object.fromEntries(common), ...only });
  // Existing alternatives say more than the types.
  const choices = Array.isArray(anyOf) ? anyOf : alternatives.map(withAcceptedValues);
  return { ...Object.fromEntries(common), anyOf: choices };
}

function fitsType(value: unknown, type: string): boolean {
  return typeOf(value) === type || (type === 'number' && typeof value === 'number');
}

/** Merges two schemas into one that requires both. */
function both(a: JsonSchema, b: JsonSchema): JsonSchema {
  const required = [a['required'], b['required']].flatMap((names) => (Array.isArray(names) ? names : []));
  const properties = { ...asSchema(a['properties']), ...asSchema(b['properties']) };
  return {
    ...a,
    ...b,
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
  };
}

/** Returns the schema that a reference leads to; undefined where it leads nowhere. */
export function targetOf(root: JsonSchema, ref: string): JsonSchema | undefined {
  if (!ref.startsWith('#')) return undefined;
  let at: unknown = root;
  for (const part of ref.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = Array.isArray(at) ? at[Number(name)] : Reflect.get(at, name);
  }
  return typeof at === 'object' && at !== null ? asSchema(at) : undefined;
}

/** Returns alternatives in words, where each requires some properties: `email, phone with country`. */
export function choiceOf(branches: readonly unknown[]): string | undefined {
  const choices = branches.map((branch) => asSchema(branch)['required']);
  if (!choices.every((names) => Array.isArray(names) && names.length > 0)) return undefined;
  return choices.map((names) => (Array.isArray(names) ? names.join(' with ') : '')).join(', ');
}

function described({ description }: JsonSchema, more: string): JsonSchema {
  const words = [description, more].filter((text) => typeof text === 'string' && text !== '');
  return words.length === 0 ? {} : { description: words.join(' ') };
}
