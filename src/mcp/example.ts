import { z } from 'zod';
import type { Json, JsonObject } from '../lib/json.ts';

const shape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  format: z.string().optional(),
  enum: z.array(z.json()).optional(),
  const: z.json().optional(),
  default: z.json().optional(),
  examples: z.array(z.json()).optional(),
  minimum: z.number().optional(),
  items: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});

/** A plausible input of a JSON Schema: its required members, from examples and defaults where the schema has some. */
export function exampleOf(schema: unknown): JsonObject {
  const { properties = {}, required = [] } = shape.parse(schema);
  return Object.fromEntries(required.map((name) => [name, valueOf(properties[name] ?? {}, name)]));
}

const BY_FORMAT: Record<string, string> = {
  email: 'ada@example.com',
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  uri: 'https://example.com',
};

function valueOf(schema: unknown, name: string): Json {
  const { examples, enum: values, type, format, items, minimum, ...rest } = shape.parse(schema);
  if (examples?.[0] !== undefined) return examples[0];
  if (rest.const !== undefined) return rest.const;
  if (rest.default !== undefined) return rest.default;
  if (values?.[0] !== undefined) return values[0];
  switch (Array.isArray(type) ? type[0] : type) {
    case 'integer':
    case 'number':
      return minimum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return [valueOf(items ?? {}, name)];
    case 'object':
      return exampleOf(schema);
    default:
      return BY_FORMAT[format ?? ''] ?? `<${name}>`;
  }
}
