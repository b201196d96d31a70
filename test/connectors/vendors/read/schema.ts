import { isMembers, listOf, type Members, membersOf } from '../members.ts';

/** A schema with its references, lists and alternatives merged. */
interface Flat {
  properties: Members;
  required: Set<unknown>;
  values?: unknown[] | undefined;
  maximum?: number | undefined;
  deprecated: boolean;
  open: boolean;
}

export function resolved(doc: Members, value: unknown): Members {
  let one = membersOf(value);
  for (let count = 0; typeof one['$ref'] === 'string' && count < 10; count++) {
    let at: unknown = doc;
    for (const name of one['$ref'].replace(/^#\//, '').split('/'))
      at = membersOf(at)[name.replaceAll('~1', '/')];
    one = membersOf(at);
  }
  return one;
}

export function flat(doc: Members, value: unknown, depth: number): Flat {
  const schema = resolved(doc, value);
  const own: Flat = {
    properties: { ...membersOf(schema['properties']) },
    required: new Set(listOf(schema['required'])),
    values: Array.isArray(schema['enum']) ? schema['enum'] : undefined,
    maximum: typeof schema['maximum'] === 'number' ? schema['maximum'] : undefined,
    deprecated: schema['deprecated'] === true,
    open: schema['additionalProperties'] === true || isMembers(schema['additionalProperties']),
  };
  if (depth === 0) return own;
  const next = (one: unknown) => flat(doc, one, depth - 1);
  if (schema['items'] !== undefined) merge(own, next(schema['items']));
  for (const part of listOf(schema['allOf'])) merge(own, next(part));
  const alternatives = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])]
    .filter((one) => membersOf(one)['type'] !== 'null')
    .map(next);
  if (alternatives.length > 0) merge(own, either(alternatives));
  return own;
}

/** Merges alternatives: a name is required where all require it, and values are known where all name them. */
function either(alternatives: Flat[]): Flat {
  const [first, ...others] = alternatives;
  const all: Flat = { properties: {}, required: new Set(first?.required), deprecated: false, open: false };
  for (const one of alternatives) {
    for (const [name, property] of Object.entries(one.properties)) {
      const known = all.properties[name];
      all.properties[name] = known === undefined ? property : { anyOf: [known, property] };
    }
    all.open ||= one.open;
  }
  for (const one of others)
    all.required = new Set([...all.required].filter((name) => one.required.has(name)));
  const values = alternatives.map((one) => one.values);
  if (values.every((one) => one !== undefined)) all.values = values.flat();
  return all;
}

function merge(into: Flat, part: Flat): void {
  for (const [name, property] of Object.entries(part.properties)) into.properties[name] ??= property;
  for (const name of part.required) into.required.add(name);
  into.values ??= part.values;
  into.maximum ??= part.maximum;
  into.open ||= part.open;
}
