import { isExactNumber } from '../../lib/exact-numbers.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';

const BOUNDS = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']);
const VALUES = new Set(['enum', 'const', 'default', 'examples']);

/**
 * Returns a JSON Schema whose keywords of numbers are numbers. parseJson() reads numbers beyond 2^53, such as the bound
 * 9223372036854775807, as text, which is no schema. As bounds, doubles are exact enough.
 */
export function withNumericKeywords(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withNumericKeywords);
  if (!isJsonObject(schema)) return schema;
  const isNumeric = [schema['type'] ?? null].flat().some((type) => type === 'integer' || type === 'number');
  return Object.fromEntries(
    Object.entries(schema).map(([name, member]) => {
      if (BOUNDS.has(name)) return [name, double(member)];
      if (isNumeric && VALUES.has(name))
        return [name, Array.isArray(member) ? member.map(double) : double(member)];
      return [name, withNumericKeywords(member)];
    }),
  );
}

function double(value: Json): Json {
  return typeof value === 'string' && isExactNumber(value) ? Number(value) : value;
}
