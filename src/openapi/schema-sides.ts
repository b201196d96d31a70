import type { JsonSchema } from '../connectors/format/format.ts';
import { isRecord } from './node.ts';
import { INPUT, SCHEMA_REF } from './compact-schemas.ts';

/**
 * Returns the new names of schemas for inputs, where the one for outputs says the same or where there is none. Most
 * schemas are the same on both sides, and one of them is enough.
 */
export function mergedSides(named: ReadonlyMap<string, JsonSchema>): Map<string, string> {
  const pairs = [...named.keys()].filter((name) => name.endsWith(INPUT));
  const baseOf = (name: string) => name.slice(0, -INPUT.length);
  const differs = new Set(
    pairs.filter((name) => {
      const output = named.get(baseOf(name));
      return output !== undefined && commonText(named.get(name)) !== commonText(output);
    }),
  );
  // A schema that refers to one that differs also differs.
  const users = new Map<string, string[]>();
  for (const name of pairs)
    for (const ref of refsIn(named.get(name))) (users.get(ref) ?? users.set(ref, []).get(ref))?.push(name);
  const waiting = [...differs];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const user of users.get(next) ?? []) {
      if (differs.has(user) || !named.has(baseOf(user))) continue;
      differs.add(user);
      waiting.push(user);
    }
  }
  return new Map(pairs.filter((name) => !differs.has(name)).map((name) => [name, baseOf(name)]));
}

/** Renames the references of a value in place, and returns it. */
export function renameRefs<T>(value: T, names: ReadonlyMap<string, string>): T {
  if (Array.isArray(value)) for (const one of value) renameRefs(one, names);
  else if (isRecord(value)) {
    const { $ref: ref } = value;
    if (typeof ref === 'string') {
      const name = names.get(ref.slice(SCHEMA_REF.length));
      if (name !== undefined) Object.assign(value, { $ref: SCHEMA_REF + name });
    }
    for (const one of Object.values(value)) renameRefs(one, names);
  }
  return value;
}

/** Returns the schemas that a value needs, directly or through others, in the order of their names. */
export function neededSchemas(
  value: unknown,
  named: ReadonlyMap<string, JsonSchema>,
): Record<string, JsonSchema> {
  const needed = new Set<string>();
  const waiting = refsIn(value);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (needed.has(name)) continue;
    needed.add(name);
    for (const ref of refsIn(named.get(name))) waiting.push(ref);
  }
  return Object.fromEntries([...needed].sort().map((name) => [name, named.get(name) ?? {}]));
}

function refsIn(value: unknown): string[] {
  const found: string[] = [];
  const visit = (at: unknown) => {
    if (Array.isArray(at)) at.forEach(visit);
    if (!isRecord(at)) return;
    const { $ref: ref } = at;
    if (typeof ref === 'string') found.push(ref.slice(SCHEMA_REF.length));
    Object.values(at).forEach(visit);
  };
  visit(value);
  return found;
}

function commonText(schema: unknown): string {
  return JSON.stringify(schema, (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && value.endsWith(INPUT)
      ? value.slice(0, -INPUT.length)
      : value,
  );
}
