import { z } from 'zod';
import type { JsonSchema } from '../../connectors/format.ts';
import { forgiven } from '../../connectors/forgive.ts';
import { modelSchema } from '../../connectors/model-schema.ts';
import { invalidRequest, type Fault } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Sizing } from './sizing.ts';
import type { BuiltInTool, ToolScope } from './tool.ts';

/** Defines a built-in tool. Wrong arguments are reported by field before the tool runs. */
export function tool<S extends z.ZodType>(spec: {
  name: string;
  title: string;
  description: string;
  input: S;
  hints: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  thirdParty?: boolean;
  /** Corrects arguments that break the schema. Records corrections in the scope. */
  repair?(scope: ToolScope, args: JsonObject): JsonObject;
  run(scope: ToolScope, args: z.output<S>): Promise<JsonObject>;
  /** Returns how much of the answer to inline, for tools whose callers decide it. */
  sizing?(args: z.output<S>): Sizing;
}): BuiltInTool {
  const inputSchema = modelSchema(
    z.toJSONSchema(spec.input, { io: 'input', target: 'draft-2020-12', override: asPlainObject }),
    'input',
  );
  return {
    definition: {
      name: spec.name,
      title: spec.title,
      description: spec.description,
      inputSchema: { ...inputSchema, type: 'object' },
      annotations: { title: spec.title, ...spec.hints },
    },
    thirdParty: spec.thirdParty === true,
    async run(scope, args) {
      let parsed = spec.input.safeParse(args);
      if (!parsed.success && isJsonObject(args)) {
        const read = forgiven(inputSchema, args);
        scope.corrections.push(...read.corrections);
        parsed = spec.input.safeParse(spec.repair ? spec.repair(scope, read.input) : read.input);
      }
      if (parsed.success) {
        const value = await spec.run(scope, parsed.data);
        return { value, sizing: spec.sizing?.(parsed.data) };
      }
      throw invalidRequest(parsed.error.issues.flatMap(faultsOf), `The call of ${spec.name}`);
    },
  };
}

/** Reduces the schema of a record of any values to a plain object. */
function asPlainObject({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: JsonSchema;
}): void {
  if (!(zodSchema instanceof z.core.$ZodRecord)) return;
  delete jsonSchema['propertyNames'];
  delete jsonSchema['additionalProperties'];
}

/** Returns the faults of an issue in the same words as faults of action parameters. */
function faultsOf(issue: z.core.$ZodIssue): Fault[] {
  const at = issue.path.join('.');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      field: [...issue.path, key].join('.'),
      rule: 'is not a known argument',
    }));
  return [{ field: at || '(whole)', rule: ruleOf(issue) }];
}

function ruleOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined')
        ? 'is required'
        : `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}`;
    case 'too_big':
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'invalid_value':
      return `must be one of: ${issue.values.join(', ')}`;
    default:
      return issue.message;
  }
}

const EXPECTED: { [type: string]: string } = {
  string: 'text',
  record: 'an object',
  object: 'an object',
  array: 'a list',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

function unitOf(origin: string): string {
  return origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '';
}
