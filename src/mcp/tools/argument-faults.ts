import type { z } from 'zod';
import type { JsonSchema } from '../../connectors/format.ts';
import { asSchema } from '../../connectors/model-schema.ts';
import type { Fault } from '../../lib/errors.ts';
import { meantMember, oneOf, typeRule } from '../../lib/near-members.ts';

/** The arguments of a call, and the schema of its tool. */
interface Call {
  args: unknown;
  schema: JsonSchema;
}

/**
 * Returns the faults of arguments in the same words as faults of action parameters, with suggestions for unknown names.
 * A value of a wrong type gets no other faults.
 */
export function faultsOf(issues: readonly z.core.$ZodIssue[], call: Call): Fault[] {
  const at = ({ path }: z.core.$ZodIssue) => path.join('.');
  const mistyped = new Set(issues.filter(({ code }) => code === 'invalid_type').map(at));
  return issues
    .filter((issue) => issue.code === 'invalid_type' || !mistyped.has(at(issue)))
    .flatMap((issue) => faultsOfIssue(issue, call));
}

function faultsOfIssue(issue: z.core.$ZodIssue, { args, schema }: Call): Fault[] {
  const path = issue.path.map(String);
  const given = path.reduce<unknown>((value, name) => Object(value)[name], args);
  if (issue.code === 'unrecognized_keys') {
    const { properties, required } = schemaAt(schema, path);
    const members = { properties: asSchema(properties), required: Array.isArray(required) ? required : [] };
    return issue.keys.map((key) => ({
      field: [...path, key].join('.'),
      rule: `is not a known argument${meantMember(key, given, members)}`,
    }));
  }
  return [{ field: path.join('.') || '(whole)', rule: ruleOf(issue, given) }];
}

function schemaAt(schema: JsonSchema, path: readonly string[]): JsonSchema {
  return path.reduce((one, name) => asSchema(one['items'] ?? asSchema(one['properties'])[name]), schema);
}

function ruleOf(issue: z.core.$ZodIssue, given: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeRule(issue.expected, given);
    case 'too_small':
      return `must be at least ${amount(issue.minimum, issue.origin)}`;
    case 'too_big':
      return `must be at most ${amount(issue.maximum, issue.origin)}`;
    case 'invalid_value':
      return oneOf(issue.values, given);
    default:
      return issue.message;
  }
}

/** Returns a bound with its unit: `1 character`, `20 items`, `10`. */
function amount(bound: number | bigint, origin: string): string {
  const unit = origin === 'string' ? ' character' : origin === 'array' ? ' item' : '';
  return `${bound}${unit}${unit === '' || bound === 1 ? '' : 's'}`;
}
