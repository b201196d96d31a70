import type { JsonSchema } from '../connectors/format/format.ts';
import { isRecord } from './node.ts';
import type { Reporter } from './reporter.ts';
import { SCHEMA_REF } from './compact-schemas.ts';

/** Schemas that one value is checked against at once; Stripe's largest schema has 130. */
const MAX_WEIGHT = 1000;
const MAX_CHAIN = 100;
const TOGETHER = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * Replaces schemas that would take for ever to check: a schema that includes itself by `$ref` or `allOf`, and one that
 * doubles with each reference. Members and items are no danger, because the value ends.
 */
export function limitWeight(
  named: ReadonlyMap<string, JsonSchema>,
  roots: readonly JsonSchema[],
  { approximate }: Reporter,
): void {
  const weights = new Map<string, number>();
  const active = new Set<string>();

  function weightOf(schema: unknown): number {
    if (!isRecord(schema)) return 0;
    let weight = 1;
    const { $ref: ref } = schema;
    if (typeof ref === 'string') weight += throughReference(schema, ref);
    for (const keyword of TOGETHER) {
      const branches = schema[keyword];
      if (Array.isArray(branches)) for (const branch of branches) weight += weightOf(branch);
    }
    if (weight <= MAX_WEIGHT) return weight;
    for (const keyword of ['$ref', ...TOGETHER]) delete schema[keyword];
    approximate('#', 'a schema that repeats itself through its references accepts any value');
    return 1;
  }

  function throughReference(schema: Record<string, unknown>, ref: string): number {
    const name = ref.slice(SCHEMA_REF.length);
    if (active.has(name) || active.size > MAX_CHAIN) {
      delete schema['$ref'];
      approximate(ref, 'the schema includes itself, so any value is accepted there');
      return 0;
    }
    const known = weights.get(name);
    if (known !== undefined) return known;
    active.add(name);
    const weight = weightOf(named.get(name));
    active.delete(name);
    weights.set(name, weight);
    return weight;
  }

  for (const name of named.keys()) throughReference({}, SCHEMA_REF + name);
  for (const schema of [...named.values(), ...roots]) for (const part of partsOf(schema)) weightOf(part);
}

/** Returns a schema and all schemas inside of it. */
function partsOf(schema: unknown): unknown[] {
  if (!isRecord(schema)) return [];
  const { properties, items, additionalProperties } = schema;
  const branches = TOGETHER.flatMap((keyword) => schema[keyword] ?? []);
  const inner = [...Object.values(Object(properties)), items, additionalProperties, ...branches];
  return [schema, ...inner.flatMap(partsOf)];
}
