import type { JsonSchema } from '../connectors/format/format.ts';
import { checkValue } from '../connectors/schemas/validate.ts';
import { invalidRequest, type Fault } from '../lib/errors.ts';
import { asObject, canonicalJson, isJsonObject, asJson, type Json, type JsonObject } from '../lib/json.ts';

/**
 * Configurable fields: a JSON Schema object. Two versions have the same fields when names, types, formats, enums and
 * required fields are equal. Titles, descriptions, order and bounds do not count.
 */

/** The differences between the fields of two versions; paths of nested fields are dotted. */
export interface FieldChanges {
  added: string[];
  removed: string[];
  changed: string[];
}

/** Returns the changes from one version's configurable fields to another's. */
export function compareFields(from: JsonSchema, to: JsonSchema): FieldChanges {
  const before = fieldsOf(from);
  const after = fieldsOf(to);
  const names = (map: ReadonlyMap<string, string>) => [...map.keys()];
  return {
    added: names(after).filter((name) => !before.has(name)),
    removed: names(before).filter((name) => !after.has(name)),
    changed: names(after).filter((name) => before.has(name) && before.get(name) !== after.get(name)),
  };
}

export function sameFields({ added, removed, changed }: FieldChanges): boolean {
  return added.length + removed.length + changed.length === 0;
}

/** Returns each field with its relevant keywords, as text that is equal for equal fields. */
function fieldsOf(schema: JsonSchema): Map<string, string> {
  const required = new Set(list(schema['required']));
  const fields = Object.entries(members(schema['properties'])).map(([name, field]): [string, string] => [
    name,
    canonicalJson({ required: required.has(name), field: essence(field) }),
  ]);
  // Keywords of the whole schema, other than its members, count as a field without a name.
  const { type: _type, properties: _properties, required: _required, ...rest } = schema;
  const whole = essence(asJson(rest));
  const extra = list(schema['required']).filter(
    (name) => !isJsonObject(schema['properties']) || !Object.hasOwn(schema['properties'], String(name)),
  );
  if (canonicalJson(whole) !== '{}' || extra.length > 0)
    fields.push(['(whole)', canonicalJson({ whole, extra: extra.map(String).sort() })]);
  return new Map(fields);
}

/** Keywords that define a value. All others describe it or limit it. */
const SETS = new Set(['enum', 'type', 'required']);
const SCHEMAS = new Set([
  'items',
  'additionalProperties',
  'contains',
  'not',
  'propertyNames',
  'if',
  'then',
  'else',
]);
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas']);
const VALUES = new Set(['format', 'const', '$ref']);

function essence(schema: Json): Json {
  if (!isJsonObject(schema)) return schema;
  const kept: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (SETS.has(keyword)) kept[keyword] = sorted(value);
    else if (VALUES.has(keyword)) kept[keyword] = value;
    else if (SCHEMAS.has(keyword)) kept[keyword] = essence(value);
    else if (LISTS.has(keyword) && Array.isArray(value)) kept[keyword] = value.map(essence);
    else if (MAPS.has(keyword) && isJsonObject(value))
      kept[keyword] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, essence(one)]));
  }
  // An empty `required` equals a missing one.
  if (Array.isArray(kept['required']) && kept['required'].length === 0) delete kept['required'];
  return kept;
}

/** Normalizes a set: order and repetition do not matter, and a single type equals a list of it. */
function sorted(value: Json): Json {
  const texts = (Array.isArray(value) ? value : [value]).map(canonicalJson);
  return [...new Set(texts)].sort();
}

/** Returns the faults of a configuration by field (`config.<field>`). */
export function configFaults(schema: JsonSchema, config: JsonObject): Fault[] {
  return checkValue(objectSchema(schema), withDefaults(schema, config), 'config');
}

/**
 * Returns the checked input of a manual trigger.
 * @throws GatehouseError `invalid_request` by field (`input.<field>`).
 */
export function checkedInput(schema: JsonSchema | undefined, input: Json | undefined): Json {
  if (schema === undefined) return input ?? {};
  const value = input ?? {};
  if (!isJsonObject(value)) throw invalidRequest([{ field: 'input', rule: 'must be an object' }], 'The body');
  const given = withDefaults(schema, value);
  const faults = checkValue(inputSchema(schema), given, 'input');
  if (faults.length > 0) throw invalidRequest(faults, 'The body');
  return given;
}

/** Returns the configuration with the defaults of absent fields. */
export function withDefaults(schema: JsonSchema, config: JsonObject): JsonObject {
  const defaults = Object.entries(members(schema['properties'])).flatMap(([name, field]) =>
    isJsonObject(field) && field['default'] !== undefined ? [[name, field['default']]] : [],
  );
  return { ...Object.fromEntries(defaults), ...config };
}

/** Returns a schema of the fields: an object that allows no other members unless it says so. */
export function objectSchema(schema: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: false, ...schema };
}

/** Returns the schema of a manual trigger's input: an object, as open as its author defines. */
export function inputSchema(schema: JsonSchema): JsonSchema {
  return { type: 'object', ...schema };
}

/** Returns the names of fields with secret values: `writeOnly`, of the format `password`, or with such a part. */
export function secretFields(schema: JsonSchema): string[] {
  return Object.entries(members(schema['properties'])).flatMap(([name, field]) =>
    isSecret(field) ? [name] : [],
  );
}

function isSecret(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(isSecret);
  if (!isJsonObject(schema)) return false;
  return (
    schema['writeOnly'] === true || schema['format'] === 'password' || Object.values(schema).some(isSecret)
  );
}

export function fieldNames(schema: JsonSchema): string[] {
  return Object.keys(members(schema['properties']));
}

function members(value: unknown): JsonObject {
  const json = asJson(value);
  return asObject(json);
}

function list(value: unknown): Json[] {
  const json = asJson(value);
  return Array.isArray(json) ? json : [];
}
