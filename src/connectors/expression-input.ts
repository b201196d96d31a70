import type { Json, JsonObject } from '../lib/json.ts';
import { isJsonObject } from '../lib/json.ts';
import { alternativesOf, takes } from './schemas/forgive.ts';
import type { JsonSchema } from './format/format.ts';
import { asSchema } from './schemas/model-schema.ts';

/*
 * Values of JSONata expressions in the form that a schema wants. JSONata returns a single match without a list, and no
 * match as nothing, so a value depends on how many records the data has.
 */

/** Returns a value of JSONata as a list: a single match is a list of one, and no match an empty list. */
export function asList(value: Json): Json[] {
  if (value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** A required member whose expression gave nothing. */
export interface Missing {
  path: (string | number)[];
}

/**
 * Returns an input whose lists are lists, and without the optional members that have no value. `isComputed` returns whether
 * an expression gave the value at a place; all others stay as they are. `missing` receives the required members without
 * a value. With `keepsNull`, null stays, because it empties a member.
 */
export function inputOfExpressions(
  schema: JsonSchema,
  input: JsonObject,
  { isComputed = () => true, missing = [], keepsNull = false }: Partial<Omit<Walk, 'root'>> = {},
): JsonObject {
  const walk: Walk = { root: schema, isComputed, missing, keepsNull };
  const value = shaped(schema, input, { ...walk, path: [], computed: false });
  return isJsonObject(value) ? value : input;
}

interface Walk {
  root: JsonSchema;
  isComputed: (path: readonly (string | number)[]) => boolean;
  missing: Missing[];
  keepsNull: boolean;
}

interface Place extends Walk {
  path: (string | number)[];
  /** Whether an expression gave the value around the place. */
  computed: boolean;
}

function shaped(schema: unknown, value: Json, place: Place): Json {
  const computed = place.computed || place.isComputed(place.path);
  const here = { ...place, computed };
  const alternatives = alternativesOf(asSchema(schema), place.root);
  const [only, ...others] = alternatives.filter((one) => takes(one, value));
  if (only) return others.length === 0 ? within(only, value, here) : value;
  const list = alternatives.find((one) => takes(one, []));
  return computed && list && !Array.isArray(value) && value !== null
    ? within(list, asList(value), here)
    : value;
}

function within(schema: JsonSchema, value: Json, place: Place): Json {
  if (Array.isArray(value)) {
    if (schema['items'] === undefined) return value;
    return value.map((item, index) => shaped(schema['items'], item, below(place, index)));
  }
  return isJsonObject(value) ? membersOf(schema, value, place) : value;
}

function membersOf({ properties, required }: JsonSchema, value: JsonObject, place: Place): JsonObject {
  const known = asSchema(properties);
  const members: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    const at = below(place, name);
    const computed = place.computed || place.isComputed(at.path);
    const alternatives = Object.hasOwn(known, name) ? alternativesOf(asSchema(known[name]), place.root) : [];
    const hasNone = member === null && computed && alternatives.length > 0 && !place.keepsNull;
    if (!hasNone || alternatives.some((one) => takes(one, null))) {
      members[name] = Object.hasOwn(known, name) ? shaped(known[name], member, at) : member;
    } else if (Array.isArray(required) && required.includes(name)) {
      const isList = alternatives.some((one) => takes(one, []));
      members[name] = isList ? asList(member) : member;
      if (!isList) place.missing.push({ path: at.path });
    }
  }
  return members;
}

function below(place: Place, name: string | number): Place {
  return { ...place, path: [...place.path, name] };
}
