import { z } from 'zod';
import { resolved, type SchemaObject } from './openapi-schemas.ts';

const shape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  format: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  examples: z.array(z.unknown()).optional(),
  minimum: z.number().optional(),
  items: z.looseObject({}).optional(),
  anyOf: z.array(z.looseObject({})).optional(),
  oneOf: z.array(z.looseObject({})).optional(),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  required: z.array(z.string()).default([]),
});

const BY_FORMAT: Record<string, string> = {
  'date-time': '2026-03-01T12:00:00.000Z',
  uri: 'https://app.example.com',
  binary: '(bytes)',
};

/** Deep enough for every model. A recursive model ends here. */
const MAX_DEPTH = 8;

interface Wanted {
  schemas: Record<string, SchemaObject>;
  /** A request shows its required members, else its first one. An answer shows all members. */
  only: 'required' | 'all';
}

/** Returns a plausible value of a schema: its own example, else one built from the examples of its fields. */
export function exampleOf(schema: SchemaObject, wanted: Wanted, depth = 0): unknown {
  const whole = resolved(schema, wanted.schemas);
  const { examples, enum: values, anyOf, oneOf, ...rest } = shape.parse(whole);
  if (examples && examples.length > 0) return examples[0];
  if ('const' in whole) return whole['const'];
  if (values) return values[0];
  const first = (anyOf ?? oneOf)?.[0];
  if (first) return exampleOf(first, wanted, depth + 1);
  const type = Array.isArray(rest.type) ? rest.type[0] : rest.type;
  if (type === 'object') return objectExample(rest, wanted, depth);
  if (type === 'array')
    return depth < MAX_DEPTH && rest.items ? [exampleOf(rest.items, wanted, depth + 1)] : [];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return rest.minimum ?? 1;
  if (type === 'null') return null;
  return BY_FORMAT[rest.format ?? ''] ?? 'text';
}

function objectExample(
  { properties = {}, required }: Pick<z.infer<typeof shape>, 'properties' | 'required'>,
  wanted: Wanted,
  depth: number,
): unknown {
  if (depth >= MAX_DEPTH) return {};
  const members = Object.entries(properties);
  const needed = members.filter(([name]) => required.includes(name));
  const fewest = needed.length === 0 && depth === 0 ? members.slice(0, 1) : needed;
  return Object.fromEntries(
    (wanted.only === 'all' ? members : fewest).map(([name, member]) => [
      name,
      exampleOf(member, wanted, depth + 1),
    ]),
  );
}
