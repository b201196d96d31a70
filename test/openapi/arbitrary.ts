import fc, { type Arbitrary } from 'fast-check';
import type { JsonSchema } from '../../src/connectors/format/format.ts';
import { asSchema, resolved } from '../../src/connectors/schemas/model-schema.ts';

/* Values for a JSON Schema. A few may break a rare rule of it, so callers check them. */

const MAX_DEPTH = 5;

export function valuesFor(schema: JsonSchema): Arbitrary<unknown> {
  return arbitrary(schema, schema, 0);
}

function arbitrary(raw: JsonSchema, root: JsonSchema, depth: number): Arbitrary<unknown> {
  const { schema } = resolved(raw, root);
  const { const: only, enum: values, anyOf, oneOf } = schema;
  if (only !== undefined) return fc.constant(only);
  if (Array.isArray(values) && values.length > 0) return fc.constantFrom(...values);
  const branches = Array.isArray(anyOf) ? anyOf : oneOf;
  if (Array.isArray(branches) && branches.length > 0) {
    const { anyOf: _a, oneOf: _o, ...rest } = schema;
    return fc.oneof(
      ...branches.map((branch) => arbitrary({ ...rest, allOf: [asSchema(branch)] }, root, depth + 1)),
    );
  }
  const types = [schema['type']].flat();
  if (types.length > 1)
    return fc.oneof(...types.map((type) => ofType(String(type), schema, { root, depth })));
  return ofType(types[0] === undefined ? typeFrom(schema) : String(types[0]), schema, { root, depth });
}

function typeFrom(schema: JsonSchema): string {
  if (schema['properties'] !== undefined || schema['additionalProperties'] !== undefined) return 'object';
  return schema['items'] === undefined ? 'string' : 'array';
}

interface Where {
  root: JsonSchema;
  depth: number;
}

function ofType(type: string, schema: JsonSchema, where: Where): Arbitrary<unknown> {
  switch (type) {
    case 'integer':
      return numbers(schema, true);
    case 'number':
      return numbers(schema, false);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return lists(schema, where);
    case 'object':
      return objects(schema, where);
    default:
      return texts(schema);
  }
}

function numbers(schema: JsonSchema, isWhole: boolean): Arbitrary<number> {
  const { minimum = -1000, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const step = typeof multipleOf === 'number' ? multipleOf : isWhole ? 1 : 0.5;
  const least = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + step : Number(minimum);
  const most =
    typeof exclusiveMaximum === 'number'
      ? exclusiveMaximum - step
      : Number(maximum ?? Math.max(least, 0) + 1000);
  const [from, to] = [Math.ceil(least / step), Math.floor(most / step)];
  const high = Math.min(to, from + 1_000_000);
  return fc.integer({ min: Math.min(from, high), max: high }).map((count) => count * step);
}

const FORMATS: { [format: string]: Arbitrary<string> } = {
  date: fc.constantFrom('2026-01-31', '1999-12-01'),
  'date-time': fc.constantFrom('2026-01-31T10:00:00Z', '2026-06-01T00:00:00.5+02:00'),
  time: fc.constant('10:00:00Z'),
  email: fc.constantFrom('ada@example.com', 'a.b+c@example.org'),
  uri: fc.constantFrom('https://example.com/a?b=c', 'urn:x:y'),
  url: fc.constant('https://example.com/a'),
  uuid: fc.uuid(),
  hostname: fc.constant('host.example.com'),
  ipv4: fc.ipV4(),
  ipv6: fc.constant('2001:db8::1'),
  byte: fc.constantFrom('aGk=', ''),
};

function texts(schema: JsonSchema): Arbitrary<string> {
  const { format, pattern, minLength = 0, maxLength } = schema;
  if (typeof pattern === 'string') return patterned(pattern);
  const known = FORMATS[String(format)];
  if (known) return known;
  const least = Math.max(1, Number(minLength));
  const most = Math.max(least, Math.min(Number(maxLength ?? least + 12), least + 40));
  return fc.string({
    minLength: least,
    maxLength: most,
    unit: fc.constantFrom(...'abcXYZ 019-_/.,:&=?#%+ü€"\'<>|;[]{}'),
  });
}

function patterned(pattern: string): Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern), { maxLength: 40 });
  } catch {
    return fc.string({ minLength: 1 });
  }
}

function lists(schema: JsonSchema, { root, depth }: Where): Arbitrary<unknown> {
  const least = Number(schema['minItems'] ?? 0);
  const most = Math.min(Number(schema['maxItems'] ?? least + 2), least + 2);
  const ofObjects = resolved(asSchema(schema['items']), root).schema['properties'] !== undefined;
  if (depth > MAX_DEPTH && least === 0 && ofObjects) return fc.constant([]);
  const items = arbitrary(asSchema(schema['items']), root, depth + 1);
  // An empty list cannot be seen in a query, so the wire would lack it.
  const limits = {
    minLength: Math.min(Math.max(1, least), Math.max(most, least)),
    maxLength: Math.max(most, least, 1),
  };
  return schema['uniqueItems'] === true
    ? fc.uniqueArray(items, { ...limits, comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b) })
    : fc.array(items, limits);
}

function objects(schema: JsonSchema, { root, depth }: Where): Arbitrary<unknown> {
  const properties = asSchema(schema['properties']);
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
  const names = Object.keys(properties).filter((name) => depth <= MAX_DEPTH || required.includes(name));
  const members = Object.fromEntries(
    names.map((name) => [name, arbitrary(asSchema(properties[name]), root, depth + 1)]),
  );
  const own = fc.record(members, {
    requiredKeys: names.filter((name) => required.includes(name)),
    noNullPrototype: true,
  });
  const more = schema['additionalProperties'];
  if (names.length > 0 || typeof more !== 'object' || depth > MAX_DEPTH) return own;
  return fc.dictionary(fc.constantFrom('one', 'two'), arbitrary(asSchema(more), root, depth + 1), {
    minKeys: 1,
    noNullPrototype: true,
  });
}
