import { z } from 'zod';
import { invalidRequest } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Sizing } from './results.ts';
import type { BuiltInTool, ToolScope } from './tool.ts';

/** A built-in tool; wrong arguments are told by field before anything runs. */
export function tool<S extends z.ZodType>(spec: {
  name: string;
  title: string;
  description: string;
  input: S;
  hints: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  thirdParty?: boolean;
  run(scope: ToolScope, args: z.output<S>): Promise<JsonObject>;
  /** How much of the answer is inlined, where that is the caller's to say. */
  sizing?(args: z.output<S>): Sizing;
}): BuiltInTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(spec.input, { io: 'input', target: 'draft-2020-12' });
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
      const parsed = spec.input.safeParse(args);
      if (parsed.success) {
        const value = await spec.run(scope, parsed.data);
        return { value, sizing: spec.sizing?.(parsed.data) };
      }
      const faults = parsed.error.issues.map((issue) => ({
        field:
          issue.path.join('.') || (issue.code === 'unrecognized_keys' ? issue.keys.join(', ') : '(whole)'),
        rule: issue.code === 'unrecognized_keys' ? 'is not a known argument' : issue.message,
      }));
      throw invalidRequest(faults, `The arguments of ${spec.name}`);
    },
  };
}
