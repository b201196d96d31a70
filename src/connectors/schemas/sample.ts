import { z } from 'zod';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { JsonSchema } from '../format/format.ts';
import { asSchema, resolved } from './model-schema.ts';
import { textOf } from './sample-text.ts';

/* Generates values from a JSON Schema, for examples of calls without a recorded one. */

/** Deeper members are empty objects, because a schema may contain itself. */
const MAX_DEPTH = 8;
const MAX_ITEMS = 20;

const shape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.json()).optional(),
  const: z.json().optional(),
  default: z.json().optional(),
  examples: z.array(z.json()).optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
  multipleOf: z.number().optional(),
  prefixItems: z.array(z.unknown()).optional(),
  minItems: z.int().default(0),
  maxItems: z.int().default(1),
  uniqueItems: z.boolean().default(false),
  minProperties: z.int().default(0),
  required: z.array(z.string()).default([]),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
});
type Shape = z.infer<typeof shape>;

interface Place {
  root: JsonSchema;
  name: string;
  depth: number;
  /** Index of the value, where items of a list must differ. */
  turn: number;
}

/** Returns an input with the members that a schema requires. It may break a rare rule of the schema. */
export function sampleOf(schema: JsonSchema): JsonObject {
  const read = readShape(schema, schema);
  return membersOf(read, { root: schema, name: '', depth: 0, turn: 0 });
}

function valueOf(schema: unknown, place: Place): Json {
  const { whole, read } = readShape(asSchema(schema), place.root);
  const given = givenIn(read, place.turn);
  if (given !== undefined) return given;
  switch (typeIn(read, whole)) {
    case 'integer':
    case 'number':
      return numberOf(read) + place.turn * (read.multipleOf ?? 1);
    case 'boolean':
      return place.turn === 0;
    case 'array':
      return itemsOf({ whole, read }, place);
    case 'object':
      return membersOf({ whole, read }, place);
    case 'null':
      return null;
    default:
      return textOf(whole, place);
  }
}

/** Merges a schema with its references, and with the first of its alternatives that is not only null. */
function readShape(schema: JsonSchema, root: JsonSchema): { whole: JsonSchema; read: Shape } {
  const { schema: own } = resolved(schema, root);
  const { anyOf, oneOf, ...rest } = own;
  const branches = [anyOf ?? oneOf ?? []].flat();
  const branch = branches.find((one) => asSchema(one)['type'] !== 'null') ?? branches[0];
  const whole = branch === undefined ? own : resolved({ ...rest, allOf: [branch] }, root).schema;
  return { whole, read: shape.parse(whole) };
}

function givenIn({ examples, default: standard, enum: values, ...read }: Shape, turn: number) {
  if (read.const !== undefined) return read.const;
  if (turn === 0 && examples?.[0] !== undefined) return examples[0];
  if (turn === 0 && standard !== undefined && standard !== null) return standard;
  const [first, ...others] = (values ?? []).filter((value) => value !== null);
  return turn === 0 ? first : (others[turn - 1] ?? first);
}

function typeIn({ type }: Shape, { properties, items }: JsonSchema): string | undefined {
  const named = Array.isArray(type) ? (type.find((one) => one !== 'null') ?? type[0]) : type;
  if (named !== undefined) return named;
  if (properties !== undefined) return 'object';
  return items === undefined ? undefined : 'array';
}

function numberOf({ type, minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: Shape): number {
  const step = multipleOf ?? (type === 'integer' ? 1 : 0.01);
  const least = Math.max(minimum ?? -Infinity, (exclusiveMinimum ?? -Infinity) + step);
  const most = Math.min(maximum ?? Infinity, (exclusiveMaximum ?? Infinity) - step);
  const wanted = Math.max(Math.min(1, most), least);
  return multipleOf === undefined ? wanted : Math.ceil(wanted / multipleOf) * multipleOf;
}

function itemsOf({ whole, read }: { whole: JsonSchema; read: Shape }, place: Place): Json[] {
  const { prefixItems = [], minItems, maxItems, uniqueItems } = read;
  const count = Math.min(MAX_ITEMS, Math.max(minItems, prefixItems.length, Math.min(1, maxItems)));
  if (place.depth >= MAX_DEPTH) return [];
  return Array.from({ length: count }, (_, at) =>
    valueOf(prefixItems[at] ?? whole['items'], {
      ...place,
      depth: place.depth + 1,
      turn: uniqueItems ? at : 0,
    }),
  );
}

function membersOf({ whole, read }: { whole: JsonSchema; read: Shape }, place: Place): JsonObject {
  if (place.depth >= MAX_DEPTH) return {};
  const known = asSchema(whole['properties']);
  const names = new Set(read.required);
  // An empty object within an input shows nothing.
  const least = Math.max(read.minProperties, place.depth > 0 && Object.keys(known).length > 0 ? 1 : 0);
  for (const name of [...Object.keys(known), 'example', 'another']) {
    if (names.size >= least) break;
    if (Object.hasOwn(known, name) || whole['additionalProperties'] !== false) names.add(name);
  }
  return Object.fromEntries(
    [...names].map((name) => {
      const member = known[name] ?? whole['additionalProperties'];
      return [name, valueOf(member, { ...place, name, depth: place.depth + 1, turn: 0 })];
    }),
  );
}
