import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { fieldText } from './openapi-fields.ts';

/** A JSON Schema 2020-12 in the form of OpenAPI 3.1. */
export type SchemaObject = { [keyword: string]: unknown };
type Io = 'input' | 'output';

const converted = z.looseObject({
  properties: z.looseObject({ root: z.looseObject({}) }),
  $defs: z.record(z.string(), z.looseObject({})).default({}),
});

const LOCAL = '#/$defs/';
const SHARED = '#/components/schemas/';

/**
 * The named models of a document. A zod schema with `meta({ id })` becomes the model of that name. Defaults make
 * members optional in requests only. A request model that differs for this reason is named `<Name>Input`.
 */
export class Components {
  readonly schemas: Record<string, SchemaObject> = {};

  /**
   * Returns the JSON Schema of `schema`, which refers to the named models. Convert all answers before the first
   * request.
   * @param path Names the fields that belong to no model, such as `createServer`.
   * @throws Error for a recursive schema without an id, because no reference could name it.
   */
  schemaOf(schema: z.ZodType, io: Io, path: string): SchemaObject {
    const { root, definitions } = convert(schema, io);
    const names = new Map<string, string>();
    const nameOf = (local: string): string => {
      const known = names.get(local);
      if (known !== undefined) return known;
      if (local.startsWith('__')) throw new Error(`A recursive schema of ${path} has no id.`);
      // A model may refer to itself.
      names.set(local, local);
      const model = finish(definitions[local] ?? {}, { path: local, nameOf, definitions });
      const name =
        this.schemas[local] && !isDeepStrictEqual(this.schemas[local], model) ? `${local}Input` : local;
      names.set(local, name);
      this.schemas[name] ??= model;
      return name;
    };
    return finish(root, { path, nameOf, definitions });
  }
}

/** Returns the model that a reference names; any other schema unchanged. */
export function resolved(schema: SchemaObject, schemas: Record<string, SchemaObject>): SchemaObject {
  const { $ref, ...rest } = schema;
  return typeof $ref === 'string' ? { ...schemas[$ref.slice(SHARED.length)], ...rest } : schema;
}

function convert(
  schema: z.ZodType,
  io: Io,
): { root: SchemaObject; definitions: Record<string, SchemaObject> } {
  const replaced: z.ZodType[] = [];
  const printed = z.toJSONSchema(z.object({ root: schema }), {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
    override({ zodSchema, jsonSchema }) {
      const { shownAs } = jsonSchema;
      if (shownAs instanceof z.ZodType) {
        replaced.push(shownAs);
        delete jsonSchema['shownAs'];
        delete jsonSchema['type'];
        jsonSchema.$ref = LOCAL + shownAs.meta()?.id;
      }
      // An answer may gain members, so only schemas that reject unknown members are closed.
      if (zodSchema instanceof z.ZodObject && zodSchema.def.catchall === undefined)
        delete jsonSchema.additionalProperties;
    },
  });
  const { properties, $defs } = converted.parse(printed);
  const definitions: Record<string, SchemaObject> = { ...$defs };
  for (const one of replaced) {
    const inner = convert(one, io);
    Object.assign(definitions, inner.definitions);
  }
  return { root: properties.root, definitions };
}

interface Place {
  path: string;
  definitions: Record<string, SchemaObject>;
  nameOf(local: string): string;
}

/**
 * Returns the schema with references into the document and descriptions of its fields. Marks open objects as open.
 */
function finish(schema: SchemaObject, place: Place): SchemaObject {
  const result: SchemaObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isNoise(keyword, value)) continue;
    if (keyword === '$ref' && typeof value === 'string') {
      const local = value.slice(LOCAL.length);
      // Any JSON value needs no keyword.
      if (!isAnyJson(place.definitions[local], value)) result['$ref'] = SHARED + place.nameOf(local);
    } else if (keyword === 'properties') {
      result['properties'] = fields(value, place);
    } else result[keyword] = LITERAL.has(keyword) ? value : finishValue(value, place);
  }
  if (isOpen(result)) result['additionalProperties'] = true;
  return result;
}

function fields(value: unknown, place: Place): Record<string, SchemaObject> {
  const properties = z.record(z.string(), z.looseObject({})).parse(value);
  return Object.fromEntries(
    Object.entries(properties).map(([name, member]) => {
      const path = `${place.path}.${name}`;
      const finished = finish(member, { ...place, path });
      const text = fieldText(path);
      if (text) finished['description'] ??= text.description;
      if (text && fits(text.example, finished)) finished['examples'] ??= [text.example];
      return [
        name,
        (place.path.split('.')[0] ?? '') in place.definitions ? withoutDefault(finished) : finished,
      ];
    }),
  );
}

/** Moves a default into the description. Generators treat a member with a default as always present. */
function withoutDefault({ default: value, description = '', ...rest }: SchemaObject): SchemaObject {
  const isDocumented = value === undefined || String(description).includes('Default:');
  return {
    ...rest,
    description: isDocumented ? description : `${String(description)} Default: \`${JSON.stringify(value)}\`.`,
  };
}

/**
 * Returns whether an example of data/api-fields.yaml is valid here. A schema with a fixed value provides its own.
 */
function fits(example: unknown, schema: SchemaObject): boolean {
  if (example === undefined || '$ref' in schema || 'const' in schema) return false;
  return !Array.isArray(schema['enum']) || schema['enum'].includes(example);
}

/** Keywords whose values are data, not schemas. */
const LITERAL = new Set(['default', 'const', 'enum', 'examples', 'example', 'required']);

function finishValue(value: unknown, place: Place): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => finishValue(one, place));
  const schema = z.looseObject({}).safeParse(value);
  return schema.success ? finish(schema.data, place) : value;
}

/** Returns whether zod wrote this keyword for whole numbers or records without restricting them. */
function isNoise(keyword: string, value: unknown): boolean {
  if (keyword === 'id') return true;
  if (keyword === 'propertyNames') return isDeepStrictEqual(value, { type: 'string' });
  if (keyword === 'minimum') return value === Number.MIN_SAFE_INTEGER;
  return keyword === 'maximum' && value === Number.MAX_SAFE_INTEGER;
}

function isOpen(schema: SchemaObject): boolean {
  return (
    schema['type'] === 'object' &&
    !['properties', 'additionalProperties', 'anyOf', 'oneOf', 'allOf', '$ref'].some((one) => one in schema)
  );
}

/** Returns whether a definition is zod's `z.json()`: text, numbers, lists and objects of the same. */
function isAnyJson(definition: SchemaObject | undefined, $ref: string): boolean {
  const { anyOf } = definition ?? {};
  return Array.isArray(anyOf) && isDeepStrictEqual(anyOf.at(-1)?.additionalProperties, { $ref });
}
