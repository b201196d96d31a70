import { z } from 'zod';
import type { JsonSchema } from '../../connectors/format/format.ts';
import { forgiven } from '../../connectors/schemas/forgive.ts';
import { modelSchema } from '../../connectors/schemas/model-schema.ts';
import { invalidRequest, withDetails, type GatehouseError } from '../../lib/errors.ts';
import { withNumbersOf } from '../../lib/exact-numbers.ts';
import { asJson, isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { hasManyNamed } from '../../lib/json-bounds.ts';
import { memoByObject } from '../../lib/memo.ts';
import { faultsOf } from '../answers/argument-faults.ts';
import { readySchemas } from './ready-schemas.ts';
import type { Sizing } from '../scope/sizing.ts';
import { sparseHints, type Hints, type ToolDefinition } from '../scope/tool-definition.ts';
import type { BuiltInTool, ToolScope } from '../scope/tool.ts';

/** Number of faults that propose names, because each proposal may walk all visible actions. */
const MAX_PROPOSED = 5;
const WHOLE = { type: 'object', properties: { arguments: { type: 'object' } } };

/** Defines a built-in tool. Wrong arguments are reported by field before the tool runs. */
export function tool<S extends z.ZodType>(spec: {
  name: string;
  title: string;
  description: string;
  input: S;
  hints: Hints;
  thirdParty?: boolean;
  view?: BuiltInTool['view'];
  /** Corrects arguments that break the schema. Records corrections in the scope. */
  repair?(scope: ToolScope, args: JsonObject): JsonObject;
  run(scope: ToolScope, args: z.output<S>): Promise<JsonObject>;
  continues?: BuiltInTool['continues'];
  /** Returns what a caller perhaps meant where an argument is wrong, as the end of its rule; empty when unknown. */
  propose?(scope: ToolScope, args: JsonObject, field: string): string;
  /** Returns the schema that a caller needs to correct the arguments. Default: that of the tool. */
  schemaFor?(scope: ToolScope, args: JsonObject, schema: JsonSchema): JsonSchema;
  /** Returns how much of the answer to inline, for tools whose callers decide it. */
  sizing?(args: z.output<S>): Sizing;
}): BuiltInTool {
  return {
    definition: {
      name: spec.name,
      title: spec.title,
      description: spec.description,
      get inputSchema(): ToolDefinition['inputSchema'] {
        return schemaOf(spec);
      },
      annotations: sparseHints(spec.hints),
    },
    thirdParty: spec.thirdParty === true,
    view: spec.view,
    continues: spec.continues,
    async run(scope, given) {
      // Before the schema, which would describe a fault of each value.
      if (hasManyNamed(given)) throw tooManyArguments(spec.name);
      let args = given;
      let parsed = spec.input.safeParse(args);
      if (!parsed.success) {
        args = readArguments(scope, given);
        if (hasManyNamed(args)) throw tooManyArguments(spec.name);
        if (isJsonObject(args)) {
          const read = forgiven(schemaOf(spec), args);
          scope.corrections.push(...read.corrections);
          args = spec.repair ? spec.repair(scope, read.input) : read.input;
        }
        parsed = spec.input.safeParse(args);
      }
      if (parsed.success) {
        const value = await spec.run(scope, withNumbersOf(args, parsed.data));
        return { value, sizing: spec.sizing?.(parsed.data) };
      }
      const inputSchema = schemaOf(spec);
      const faults = faultsOf(parsed.error.issues, { args, schema: inputSchema });
      const objects = isJsonObject(args) ? args : {};
      const proposed = faults.map(({ field, rule }, at) => ({
        field,
        rule: at < MAX_PROPOSED ? `${rule}${spec.propose?.(scope, objects, field) ?? ''}` : rule,
      }));
      throw withDetails(invalidRequest(proposed, `The call of ${spec.name}`), {
        inputSchema: spec.schemaFor?.(scope, objects, inputSchema) ?? inputSchema,
      });
    },
  };
}

/** Returns the arguments of a tool. Reads a JSON text that holds an object as this object. */
export function readArguments({ corrections }: Pick<ToolScope, 'corrections'>, args: unknown): Json {
  const given = withNumbersOf(args, asJson(args));
  if (typeof given !== 'string') return given;
  const read = forgiven(WHOLE, { arguments: given });
  corrections.push(...read.corrections);
  return read.input['arguments'] ?? null;
}

function tooManyArguments(name: string): GatehouseError {
  const rule = 'holds more members or values than the tool takes';
  return invalidRequest([{ field: '(whole)', rule }], `The call of ${name}`);
}

/** Returns the JSON Schema of a tool's input. It is computed at its first use, because a start needs few of them. */
const schemaOf = memoByObject(
  ({ name, input }: { name: string; input: z.ZodType }): ToolDefinition['inputSchema'] => {
    const ready = readySchemas()[name];
    if (ready) return ready;
    const schema = z.toJSONSchema(input, { io: 'input', target: 'draft-2020-12', override: asPlainObject });
    return { ...modelSchema(schema, 'input'), type: 'object' };
  },
);

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
