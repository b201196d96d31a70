import { z } from 'zod';
import type { JsonSchema } from './openapi-shapes.ts';
import { prose, table } from './tables.ts';

const shape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  required: z.array(z.string()).default([]),
  items: z.looseObject({}).optional(),
  anyOf: z.array(z.looseObject({})).optional(),
  oneOf: z.array(z.looseObject({})).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  $ref: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
});

const MAX_DEPTH = 4;
/** More values would make a cell longer than its meaning. */
const MAX_VALUES = 12;

/** Returns the address of a named model, for a link. */
export type ModelLink = (name: string) => string;

/** Returns the name of the model that a schema refers to. */
export function modelName({ $ref }: JsonSchema): string | undefined {
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined;
}

/** Returns the members of an object schema as a table, nested members below their parent. Empty without members. */
export function fieldTable(schema: JsonSchema, link: ModelLink): string {
  const rows = memberRows({ schema, prefix: '', depth: 0 }, link);
  return rows.length === 0 ? '' : table(['Field', 'Type', 'Meaning'], rows);
}

interface Member {
  schema: JsonSchema;
  prefix: string;
  depth: number;
}

function memberRows({ schema, prefix, depth }: Member, link: ModelLink): string[][] {
  if (depth > MAX_DEPTH) return [];
  const { properties = {}, required } = shape.parse(schema);
  return Object.entries(properties).flatMap(([name, member]) => {
    const { description = '', items, default: fallback } = shape.parse(member);
    const path = `${prefix}${name}${items === undefined ? '' : '[]'}`;
    const need = required.includes(name) ? ', required' : '';
    const otherwise = fallback === undefined ? '' : ` Default: \`${JSON.stringify(fallback)}\`.`;
    return [
      [`\`${path}\``, `${typeOf(member, link)}${need}`, prose(description) + otherwise],
      ...memberRows({ schema: items ?? member, prefix: `${path}.`, depth: depth + 1 }, link),
    ];
  });
}

/** Returns the type of a schema in words, with links to models. */
export function typeOf(schema: JsonSchema, link: ModelLink): string {
  const { type, enum: values, const: constant, anyOf, oneOf, items, ...rest } = shape.parse(schema);
  const model = modelName(schema);
  if (model !== undefined) return `[${model}](${link(model)})`;
  if (constant !== undefined) return `\`${JSON.stringify(constant)}\``;
  if (values) return valuesOf(values);
  const forms = anyOf ?? oneOf;
  if (forms) return [...new Set(forms.map((form) => typeOf(form, link)))].join(' or ');
  const name = Array.isArray(type) ? type.map(typeName).join(' or ') : typeName(type ?? 'any value');
  if (name === 'list') return items ? `list of ${typeOf(items, link)}` : 'list';
  return name + boundsOf(rest);
}

function valuesOf(values: unknown[]): string {
  const shown = values.slice(0, MAX_VALUES).map((value) => `\`${JSON.stringify(value)}\``);
  return values.length > MAX_VALUES ? `${shown.join(', ')}, …` : shown.join(', ');
}

const TYPE_NAMES: Record<string, string> = { string: 'text', array: 'list', integer: 'whole number' };

function typeName(type: string): string {
  return TYPE_NAMES[type] ?? type;
}

function boundsOf({
  minimum,
  maximum,
  minLength,
  maxLength,
}: Pick<z.infer<typeof shape>, 'minimum' | 'maximum' | 'minLength' | 'maxLength'>): string {
  if (maxLength !== undefined) return ` of ${minLength ?? 0} to ${maxLength} characters`;
  if (minLength !== undefined && minLength > 1) return ` of ${minLength} characters or more`;
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `, ${minimum} or more`;
  return maximum === undefined ? '' : `, ${maximum} or less`;
}
