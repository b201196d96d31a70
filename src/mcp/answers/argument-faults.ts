import type { z } from 'zod';
import type { JsonSchema } from '../../connectors/format/format.ts';
import { asSchema } from '../../connectors/schemas/model-schema.ts';
import { MAX_FAULTS, type Fault } from '../../lib/errors.ts';
import { boundRule, meantMember, oneOf, typeRule } from '../../lib/near-members.ts';

/** The arguments of a call, and the schema of its tool. */
interface Call {
  args: unknown;
  schema: JsonSchema;
}

/**
 * Returns the faults of arguments in the same words as faults of action parameters, with suggestions for unknown names.
 * A value of a wrong type gets no other faults. Faults beyond the first 50 are not looked for.
 */
export function faultsOf(issues: readonly z.core.$ZodIssue[], call: Call): Fault[] {
  const at = ({ path }: z.core.$ZodIssue) => path.join('.');
  const mistyped = new Set(issues.filter(({ code }) => code === 'invalid_type').map(at));
  const faults: Fault[] = [];
  for (const issue of issues) {
    if (faults.length >= MAX_FAULTS) break;
    if (issue.code !== 'invalid_type' && mistyped.has(at(issue))) continue;
    faults.push(...faultsOfIssue(issue, call));
  }
  return faults;
}

function faultsOfIssue(issue: z.core.$ZodIssue, { args, schema }: Call): Fault[] {
  const path = issue.path.map(String);
  const given = path.reduce<unknown>((value, name) => Object(value)[name], args);
  if (issue.code === 'unrecognized_keys') {
    const { properties, required } = schemaAt(schema, path);
    const members = { properties: asSchema(properties), required: Array.isArray(required) ? required : [] };
    return issue.keys.slice(0, MAX_FAULTS).map((key) => ({
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
    case 'too_big':
      return boundRule(issue);
    case 'invalid_value':
      return oneOf(issue.values, given);
    default:
      return issue.message;
  }
}
