import { isExactInteger, isExactNumber, withOwnNumbersOf } from '../../lib/exact-numbers.ts';
import { LEFT_OUT, shortened, type Correction } from '../../lib/correction.ts';
import { isJsonObject, parseJson, type Json, type JsonObject } from '../../lib/json.ts';
import { assertJsonBounds } from '../../lib/json-bounds.ts';
import { memoByObject } from '../../lib/memo.ts';
import { nameKey } from '../../lib/words.ts';
import type { JsonSchema } from '../format/format.ts';
import { aliasesOf, asSchema, resolved } from './model-schema.ts';
import { listedValues } from './value-rules.ts';

/*
 * Corrects inputs that have one meaning although they break their schema: JSON text for an object, null for an
 * optional member, a number or boolean as text, a name in other letter case, or in snake case for camel case. Less
 * certain values stay unchanged, and the check of the schema rejects them.
 */

/** The longest path of a correction, characters. A name may be as long as the input. */
const MAX_PATH = 200;
/** The most corrections that an answer lists. */
const MAX_LISTED = 50;

/**
 * Returns an input, corrected where its meaning is certain, and the corrections. `path` is the place of the input. With
 * `aliases`, it also replaces the names that models see by those of the schema, which does not count as a correction.
 */
export function forgiven(
  schema: JsonSchema,
  input: JsonObject,
  { path = '', aliases = false }: { path?: string; aliases?: boolean } = {},
): { input: JsonObject; corrections: Correction[] } {
  const corrections = new Corrections();
  const value = read(schema, input, { root: schema, path, aliases, corrections });
  return { input: isJsonObject(value) ? value : input, corrections: corrections.listed };
}

/** The corrections so far, of which the first ones are listed. */
class Corrections {
  readonly listed: Correction[] = [];

  push(correction: Correction): void {
    const { path, from, to } = correction;
    if (this.listed.length >= MAX_LISTED) return;
    this.listed.push({ path: path.slice(0, MAX_PATH), from: shortened(from), to });
  }
}

/** Returns every name that models see under an alias, anywhere in a schema: `[name, alias]`. */
export function allAliases(schema: unknown): [string, string][] {
  if (Array.isArray(schema)) return schema.flatMap(allAliases);
  if (typeof schema !== 'object' || schema === null) return [];
  const own = aliasesOf(asSchema(asSchema(schema)['properties']));
  return [...own, ...Object.values(schema).flatMap(allAliases)];
}

/** Returns an input under the names that models see: the reverse of the aliases in `forgiven`. */
export function underAliases(schema: JsonSchema, input: JsonObject): JsonObject {
  const value = renamed(schema, input, schema);
  return isJsonObject(value) ? value : input;
}

function renamed(schema: unknown, value: Json, root: JsonSchema): Json {
  const fitting = alternativesOf(asSchema(schema), root).find((one) => takes(one, value));
  if (!fitting) return value;
  if (Array.isArray(value)) return value.map((item) => renamed(fitting['items'], item, root));
  if (!isJsonObject(value)) return value;
  const known = asSchema(fitting['properties']);
  const aliases = aliasesOf(known);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      aliases.get(name) ?? name,
      renamed(known[name] ?? fitting['additionalProperties'], member, root),
    ]),
  );
}

interface Place {
  root: JsonSchema;
  path: string;
  aliases: boolean;
  corrections: Corrections;
}

function read(schema: unknown, value: Json, place: Place): Json {
  const alternatives = alternativesOf(asSchema(schema), place.root);
  const fitting = alternatives.filter((one) => takes(one, value));
  const [only, ...others] = fitting;
  if (only) return others.length === 0 ? within(only, value, place) : withoutNulls(fitting, value, place);
  if (typeof value !== 'string') return value;
  for (const one of alternatives) {
    const meant = meantBy(one, value);
    if (meant === undefined) continue;
    place.corrections.push({ path: place.path, from: value, to: shortened(meant) });
    return within(one, meant, place);
  }
  return value;
}

/** Leaves null out of an object of several alternatives, where those that it satisfies do not need the member. */
function withoutNulls(alternatives: readonly JsonSchema[], value: Json, place: Place): Json {
  if (!isJsonObject(value)) return value;
  const requires = ({ required }: JsonSchema, name: string) =>
    Array.isArray(required) && required.includes(name);
  const isMet = ({ required = [] }: JsonSchema) =>
    [required].flat().every((name) => typeof name === 'string' && (value[name] ?? null) !== null);
  const met = alternatives.filter(isMet);
  const isLeftOut = ([name, member]: [string, Json]) => {
    const knowing = alternatives.filter(({ properties }) => Object.hasOwn(asSchema(properties), name));
    const takesIt = knowing.some(({ properties }) => takesNull(asSchema(properties)[name], place.root));
    return (
      member === null &&
      met.length > 0 &&
      knowing.length > 0 &&
      !takesIt &&
      !met.some((one) => requires(one, name))
    );
  };
  const entries = Object.entries(value);
  for (const [name] of entries.filter(isLeftOut))
    place.corrections.push({ path: below(place, name), from: null, to: LEFT_OUT });
  return Object.fromEntries(entries.filter((entry) => !isLeftOut(entry)));
}

/** Returns the schema as a list of schemas of one type each, with references resolved. */
export function alternativesOf(schema: JsonSchema, root: JsonSchema): JsonSchema[] {
  const { schema: whole } = resolved(schema, root);
  const { type, anyOf, oneOf } = whole;
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  if (branches && type === undefined) return branches.flatMap((one) => alternativesOf(asSchema(one), root));
  return Array.isArray(type) ? type.map((one) => ({ ...whole, type: one })) : [whole];
}

/** Returns whether a schema of one type takes a value, as far as its type says. */
export function takes({ type, enum: values, const: value, properties }: JsonSchema, given: Json): boolean {
  const wanted = type ?? (properties === undefined ? undefined : 'object');
  if (wanted === undefined) {
    if (value !== undefined) return value === given;
    return Array.isArray(values) ? values.includes(given) : true;
  }
  switch (wanted) {
    case 'object':
      return isJsonObject(given);
    case 'array':
      return Array.isArray(given);
    case 'integer':
      return typeof given === 'string' ? isExactInteger(given) : Number.isInteger(given);
    case 'number':
      return typeof given === 'string' ? isExactNumber(given) : typeof given === 'number';
    case 'null':
      return given === null;
    default:
      return typeof given === wanted;
  }
}

/** Returns the value that a text stands for, where the schema takes no text. */
function meantBy({ type, properties, ...schema }: JsonSchema, text: string): Json | undefined {
  switch (type ?? (properties === undefined ? undefined : 'object')) {
    case 'object':
    case 'array': {
      const parsed = jsonIn(text);
      return takes({ type: type ?? 'object' }, parsed ?? null) ? parsed : undefined;
    }
    case 'integer':
      return /^-?(0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text))
        ? Number(text)
        : undefined;
    case 'number':
      return /^-?(0|[1-9]\d{0,14})(\.\d{1,14})?$/.test(text) ? Number(text) : undefined;
    case 'boolean':
      return { true: true, false: false }[text.toLowerCase()];
    case undefined:
      return listedValues(schema)
        ?.filter((value) => typeof value === 'number' || typeof value === 'boolean')
        .find((value) => String(value) === text);
    default:
      return undefined;
  }
}

function jsonIn(text: string): Json | undefined {
  try {
    assertJsonBounds(text, { free: true });
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function within(schema: JsonSchema, value: Json, place: Place): Json {
  if (isJsonObject(value)) return membersOf(schema, value, place);
  if (!Array.isArray(value) || schema['items'] === undefined) return value;
  const items = value.map((item, at) =>
    read(schema['items'], item, { ...place, path: below(place, String(at)) }),
  );
  return withOwnNumbersOf(value, items);
}

function membersOf(schema: JsonSchema, value: JsonObject, place: Place): JsonObject {
  const { properties, additionalProperties, required } = schema;
  const known = typeof properties === 'object' && properties !== null ? knownIn(properties) : NONE;
  const aliases = new Map(place.aliases ? [...aliasesOf(known)].map(([name, alias]) => [alias, name]) : []);
  const members: JsonObject = {};
  for (const [given, member] of Object.entries(value)) {
    const path = below(place, given);
    const taken = (one: string) => Object.hasOwn(value, one) || Object.hasOwn(members, one);
    const name = nameFor(given, { known, aliases, closed: additionalProperties === false, taken });
    if (name !== given && !aliases.has(given)) place.corrections.push({ path, from: given, to: name });
    if (!Object.hasOwn(known, name)) {
      members[name] =
        typeof additionalProperties === 'object'
          ? read(additionalProperties, member, { ...place, path })
          : member;
      continue;
    }
    const needed = Array.isArray(required) && required.includes(name);
    if (member === null && !needed && !takesNull(known[name], place.root)) {
      place.corrections.push({ path, from: null, to: LEFT_OUT });
      continue;
    }
    members[name] = read(known[name], member, { ...place, path });
  }
  return withOwnNumbersOf(value, members);
}

/** The names of an object: those of its schema, and those that the input already uses. */
interface Names {
  known: JsonSchema;
  aliases: ReadonlyMap<string, string>;
  closed: boolean;
  taken: (name: string) => boolean;
}

/**
 * Returns the property that a name stands for: the one of this name or alias. In a closed object, also the only property
 * whose name differs only in letter case, `_` or `-`.
 */
function nameFor(given: string, { known, aliases, closed, taken }: Names): string {
  if (Object.hasOwn(known, given)) return given;
  const named = aliases.get(given);
  if (named !== undefined && !taken(named)) return named;
  if (!closed) return given;
  const [only, ...others] = byKey(known).get(nameKey(given)) ?? [];
  return only !== undefined && others.length === 0 && !taken(only) ? only : given;
}

const NONE: JsonSchema = {};
/** One object for each schema, so that the names by key are computed once. */
const knownIn = memoByObject((properties: object) => asSchema(properties));
const byKey = memoByObject((known: JsonSchema) => Map.groupBy(Object.keys(known), nameKey));

function takesNull(schema: unknown, root: JsonSchema): boolean {
  return alternativesOf(asSchema(schema), root).some((one) => takes(one, null));
}

function below({ path }: Place, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
