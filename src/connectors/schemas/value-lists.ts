import { inType, oneOf } from '../../lib/near-members.ts';
import type { JsonSchema } from '../format/format.ts';
import { asSchema, targetOf } from './model-schema.ts';
import {
  commonTypes,
  excludingBounds,
  hasOneType,
  keepsRules,
  listedValues,
  shown,
  typesOf,
} from './value-rules.ts';

/*
 * Places of a schema that take only listed values, over all schemas that describe the same value. Their types and lists
 * may exclude each other: then no value fits, and no message about a value can help its caller.
 */

/** Schemas that one search looks at. */
const MAX_SCHEMAS = 20_000;
/** Stands for any index or name in the place of a value. */
const ANY = '*';

/** A place that takes only listed values, or a fault of its schema. */
export interface ListedPlace {
  /** Keywords and names that lead to the schema. */
  path: string[];
  /** Place of the value, with `*` for the items of lists; undefined where another alternative may fit. */
  place: string[] | undefined;
  /** The values that fit; undefined where the schema has a fault. */
  values?: unknown[];
  /** Why no value fits, or what is wrong with the default. */
  fault?: string;
}

interface Walk {
  root: JsonSchema;
  left: number;
}

interface Place extends Pick<ListedPlace, 'path' | 'place'> {
  /** References that contain the place. */
  inside: readonly string[];
}

/** Returns the places of a schema that take only listed values, and its faults. References lead into `root`. */
export function listedPlaces(schema: JsonSchema, root: JsonSchema = schema): ListedPlace[] {
  return search([schema], { path: [], place: [], inside: [] }, { root, left: MAX_SCHEMAS });
}

/** Returns the faults of a schema: parts that no value fits, and defaults of another type. */
export function valueFaults(
  schema: JsonSchema,
  root: JsonSchema = schema,
): (ListedPlace & { fault: string })[] {
  return listedPlaces(schema, root).flatMap((one) => {
    const { fault } = one;
    return fault === undefined ? [] : [{ ...one, fault }];
  });
}

/** Returns the rule for a value at a place of errors; undefined where the place does not list its values. */
export function ruleAt(
  places: readonly ListedPlace[],
  instancePath: string,
  given: unknown,
): string | undefined {
  const at = instancePath.split('/').slice(1);
  const found = places.find(
    ({ place }) =>
      place?.length === at.length && place.every((name, index) => name === ANY || name === at[index]),
  );
  if (found?.fault !== undefined) return `${found.fault}. The definition is wrong, so no other value helps`;
  return found?.values && oneOf(found.values, given);
}

/** Searches schemas that describe one value together, and the schemas of its members. */
function search(together: readonly JsonSchema[], at: Place, walk: Walk): ListedPlace[] {
  if (walk.left-- <= 0) return [];
  const found = together.map((schema) => partsOf(schema, walk.root, at.inside));
  const parts = found.flatMap((one) => one.parts);
  const { path, place } = at;
  const { reason, values } = listOf(parts);
  if (reason !== undefined) return [{ path, place, fault: `takes no value, because ${reason}` }];
  const here = { ...at, inside: [...new Set([...at.inside, ...found.flatMap((one) => one.inside)])] };
  return [
    ...(values ? [{ path, place, values }] : []),
    ...defaultFaults(parts, at),
    ...parts.flatMap((part) => inMembers(part, here, walk)),
    ...inBranches(parts, here, walk),
  ];
}

/** Returns a schema with the schemas of its `$ref` and `allOf`, and the references that contain them. */
function partsOf(
  schema: JsonSchema,
  root: JsonSchema,
  inside: readonly string[],
): { parts: JsonSchema[]; inside: readonly string[] } {
  const { $ref: ref, allOf } = schema;
  const target = typeof ref === 'string' && !inside.includes(ref) ? targetOf(root, ref) : undefined;
  const within = typeof ref === 'string' ? [...inside, ref] : inside;
  const more = [...(target ? [target] : []), ...(Array.isArray(allOf) ? allOf.map(asSchema) : [])];
  const below = more.map((part) => partsOf(part, root, within));
  return {
    parts: [schema, ...below.flatMap((one) => one.parts)],
    inside: [within, ...below.map((one) => one.inside)].flat(),
  };
}

/** Returns the values that fit schemas together, or why none does; nothing where they list none. */
function listOf(parts: readonly JsonSchema[]): { reason?: string; values?: unknown[] } {
  const types = typesOfAll(parts);
  if (types?.length === 0) {
    const all = parts.flatMap((part) => typesOf(part)?.join(' or ') ?? []);
    return { reason: `it must have the types ${[...new Set(all)].join(' and ')} at once` };
  }
  const [first, ...others] = parts.map(listedValues).filter((values) => values !== undefined);
  if (first === undefined) {
    const bounds = parts.map(excludingBounds).find((one) => one !== undefined);
    return bounds ? { reason: `its bounds exclude each other: ${bounds.join(', ')}` } : {};
  }
  const common = first.filter((value) => others.every((list) => includes(list, value)));
  if (common.length === 0) return { reason: 'its lists of values have none in common' };
  const typed = common.filter((value) => hasOneType(value, types));
  if (typed.length === 0)
    return {
      reason: `it must have the type ${types?.join(' or ')}, and its values have another: ${shown(common)}`,
    };
  const values = typed.filter((value) => parts.every((part) => keepsRules(part, value)));
  return values.length > 0
    ? { values }
    : { reason: `none of its values keeps its other rules: ${shown(typed)}` };
}

/** Returns the default of another type than its schema. */
function defaultFaults(parts: readonly JsonSchema[], { path }: Place): ListedPlace[] {
  const given = parts.map((part) => part['default']).find((value) => value !== undefined);
  const types = typesOfAll(parts);
  if (given === undefined || hasOneType(given, types)) return [];
  const fault = `must have the type ${types?.join(' or ')}${inType(types?.[0], given)}`;
  return [{ path: [...path, 'default'], place: undefined, fault }];
}

function typesOfAll(parts: readonly JsonSchema[]): string[] | undefined {
  return parts.reduce<string[] | undefined>((common, part) => commonTypes(common, typesOf(part)), undefined);
}

function inMembers(part: JsonSchema, at: Place, walk: Walk): ListedPlace[] {
  const { properties, items, prefixItems, additionalProperties } = part;
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  const members: [more: string[], name: string, schema: unknown][] = [
    ...Object.entries(asSchema(properties)).map(([name, member]): [string[], string, unknown] => [
      ['properties', name],
      name,
      member,
    ]),
    ...first.map((item, index): [string[], string, unknown] => [
      ['prefixItems', String(index)],
      String(index),
      item,
    ]),
    [['items'], ANY, items],
    [['additionalProperties'], ANY, additionalProperties],
  ];
  return members.flatMap(([more, name, schema]) =>
    typeof schema === 'object' ? search([asSchema(schema)], below(at, more, name), walk) : [],
  );
}

/** Searches the alternatives. Where none fits, the value around them has no value either. */
function inBranches(parts: readonly JsonSchema[], at: Place, walk: Walk): ListedPlace[] {
  const choices = parts.flatMap(({ anyOf, oneOf }): [string, unknown][] => [
    ['anyOf', anyOf],
    ['oneOf', oneOf],
  ]);
  const rules = parts.map(rulesOfValue);
  return choices.flatMap(([keyword, branches]) => {
    if (!Array.isArray(branches)) return [];
    const found = branches.map((branch, index) => {
      const path = [...at.path, keyword, String(index)];
      const all = search([asSchema(branch), ...rules], { ...at, path, place: undefined }, walk);
      return { all, whole: all.find((one) => one.path.length === path.length) };
    });
    const { path, place } = at;
    const all = found.flatMap((one) => one.all);
    const faults = found.map(({ whole }) => whole?.fault);
    const [fault] = faults;
    if (faults.every((one) => one !== undefined)) return fault === undefined ? [] : [{ path, place, fault }];
    const lists = found.filter(({ whole }) => whole?.fault === undefined).map(({ whole }) => whole?.values);
    return lists.every((one) => one !== undefined) ? [{ path, place, values: lists.flat() }, ...all] : all;
  });
}

/** Returns the rules of a schema that hold in its alternatives too. */
function rulesOfValue(schema: JsonSchema): JsonSchema {
  const { $ref: _ref, allOf: _all, anyOf: _any, oneOf: _one, ...rest } = schema;
  const {
    properties: _members,
    items: _items,
    prefixItems: _first,
    additionalProperties: _more,
    ...rules
  } = rest;
  return rules;
}

function below({ path, place, inside }: Place, more: string[], name: string): Place {
  return { path: [...path, ...more], place: place && [...place, name], inside };
}

function includes(list: readonly unknown[], value: unknown): boolean {
  return list.some((one) => JSON.stringify(one) === JSON.stringify(value));
}
