import { z } from 'zod';
import { sourceScope } from '../connectors/event-scopes.ts';
import { withNumericKeywords } from '../connectors/schemas/schema-numbers.ts';
import { faultsOf, invalidRequest, type Fault } from '../lib/errors.ts';
import { forFaults } from '../lib/for-faults.ts';
import { isJsonObject, type Json } from '../lib/json.ts';

/** Limit of a definition, in bytes. */
export const MAX_DEFINITION_BYTES = 256 * 1024;
const MAX_STEPS = 100;
const MAX_RETRIES = 10;
const MAX_CONCURRENCY = 20;
const DEFAULT_CONCURRENCY = 5;
const MAX_EXPRESSION_CHARS = 10_000;

const expression = z
  .string()
  .min(1, 'must be a JSONata expression')
  .max(MAX_EXPRESSION_CHARS, `must have at most ${MAX_EXPRESSION_CHARS} characters`);
const jsonSchema = z.record(z.string(), z.json(), { error: 'must be a JSON Schema object' });
const connectorId = z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be a connectorId');
const input = z.record(z.string(), z.json(), { error: 'must be an object' });

export const EVENTS = ['created', 'updated', 'deleted'] as const;

const trigger = z.discriminatedUnion(
  'type',
  [
    z.strictObject({
      type: z.literal('event'),
      connectorId,
      scope: sourceScope,
      events: z.array(z.enum(EVENTS)).min(1, 'must name at least one event').optional(),
    }),
    z.strictObject({
      type: z.literal('schedule'),
      cron: z.string().max(200).meta({ description: 'Five fields, such as `0 9 * * MON-FRI`.' }),
      timeZone: z
        .string()
        .max(100)
        .optional()
        .meta({ description: 'An IANA name, such as Europe/Berlin. Default: UTC.' }),
    }),
    z.strictObject({ type: z.literal('manual'), inputSchema: jsonSchema.optional() }),
    z.strictObject({ type: z.literal('call') }),
  ],
  { error: 'must have the type event, schedule, manual or call' },
);

const onError = z
  .union(
    [z.literal('stop'), z.literal('continue'), z.strictObject({ retry: z.int().min(1).max(MAX_RETRIES) })],
    { error: `must be "stop", "continue" or {"retry": 1 to ${MAX_RETRIES}}` },
  )
  .optional();

const stepId = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'must be a letter, then letters, digits or _, at most 64 in all');
const when = expression.optional().meta({ description: 'The step is skipped unless this is true.' });
const forEach = expression.optional().meta({
  description: 'An array. The step runs for each item, with `item` and `index` in its expressions.',
});

const actionStep = z.strictObject({
  stepId,
  connectorId,
  actionId: z.string().regex(/^[a-z0-9_]{1,64}$/, 'must be an actionId'),
  input: input.default({}),
  when,
  forEach,
  onError,
});
const waitStep = z.strictObject({
  stepId,
  wait: z
    .string()
    .min(1)
    .max(MAX_EXPRESSION_CHARS)
    .meta({ description: 'An ISO 8601 duration, such as PT5M or P3D, or an expression for one.' }),
  when,
});
const mapStep = z.strictObject({ stepId, map: expression, when });
const httpStep = z.strictObject({
  stepId,
  http: z.strictObject({
    method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
    url: z.string().min(1).max(MAX_EXPRESSION_CHARS),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.json().optional(),
  }),
  when,
  forEach,
  onError,
});

const shared = {
  trigger,
  configurableFields: jsonSchema
    .default({})
    .meta({ description: 'A JSON Schema object of the fields that an end user fills in at installation.' }),
  allowedHosts: z
    .array(
      z
        .string()
        .regex(/^[a-z0-9.-]{1,253}(:\d{1,5})?$/, 'must be a host name in lower case, perhaps with :port'),
    )
    .max(50)
    .default([])
    .meta({ description: 'Hosts that `http` steps may call.' }),
  concurrency: z
    .int()
    .min(1)
    .max(MAX_CONCURRENCY)
    .default(DEFAULT_CONCURRENCY)
    .meta({ description: 'Runs of one installation at a time. Waiting runs do not count.' }),
};

/** The documented schema of a workflow's definition. */
export const definitionSchema = z
  .strictObject({
    ...shared,
    steps: z
      .array(z.union([actionStep, waitStep, mapStep, httpStep]))
      .min(1)
      .max(MAX_STEPS),
  })
  .meta({ id: 'WorkflowDefinition', description: 'Trigger and steps of a workflow.' });

/** The same schema for parsing. Steps are parsed one by one, so that faults name the intended kind of step. */
const outline = z.strictObject({
  ...shared,
  steps: z
    .array(z.record(z.string(), z.json(), { error: 'must be an object' }))
    .min(1, 'must hold at least one step')
    .max(MAX_STEPS, `must hold at most ${MAX_STEPS} steps`),
});

export type Definition = z.output<typeof definitionSchema>;
export type Trigger = Definition['trigger'];
export type ActionStep = z.output<typeof actionStep>;
export type WaitStep = z.output<typeof waitStep>;
export type MapStep = z.output<typeof mapStep>;
export type HttpStep = z.output<typeof httpStep>;
export type Step = ActionStep | WaitStep | MapStep | HttpStep;

/**
 * Parses the shape of a definition. check.ts checks the rest.
 * @throws GatehouseError `invalid_request` with every fault by path.
 */
export function readDefinition(value: Json): Definition {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes > MAX_DEFINITION_BYTES) {
    throw definitionFaults([
      { field: '(whole)', rule: `must be at most ${MAX_DEFINITION_BYTES} bytes, is ${bytes}` },
    ]);
  }
  const options = forFaults();
  const read = outline.safeParse(withNumericSchemas(value), options);
  const faults = read.success ? [] : faultsOf(read.error.issues);
  const steps: Step[] = [];
  for (const [position, step] of (read.data?.steps ?? []).entries()) {
    const parsed = schemaOf(step).safeParse(step, options);
    if (parsed.success) steps.push(parsed.data);
    else faults.push(...faultsOf(parsed.error.issues, `steps.${position}`));
  }
  if (!read.success || faults.length > 0) throw definitionFaults(faults);
  return { ...read.data, steps };
}

/** Returns a definition whose schemas have numbers as the bounds that a schema needs. */
function withNumericSchemas(value: Json): Json {
  if (!isJsonObject(value)) return value;
  const { trigger, configurableFields } = value;
  const schema = isJsonObject(trigger) ? trigger['inputSchema'] : undefined;
  return {
    ...value,
    ...(isJsonObject(trigger) && schema !== undefined
      ? { trigger: { ...trigger, inputSchema: withNumericKeywords(schema) } }
      : {}),
    ...(configurableFields === undefined
      ? {}
      : { configurableFields: withNumericKeywords(configurableFields) }),
  };
}

/** Parses a stored definition. */
export function storedDefinition(text: string): Definition {
  return definitionSchema.parse(JSON.parse(text));
}

/** Returns the error for a definition. Paths begin with `definition.` */
export function definitionFaults(faults: Fault[]): ReturnType<typeof invalidRequest> {
  return invalidRequest(
    faults.map(({ field, rule }) => ({
      field: field === '(whole)' ? 'definition' : `definition.${field}`,
      rule,
    })),
    'The workflow',
  );
}

function schemaOf(step: Record<string, Json>): z.ZodType<Step> {
  if ('wait' in step) return waitStep;
  if ('map' in step) return mapStep;
  return 'http' in step ? httpStep : actionStep;
}

/** Returns the connectors of a definition's steps and trigger. */
export function connectorsOf({ trigger: { ...on }, steps }: Definition): string[] {
  const named = steps.flatMap((step) => ('connectorId' in step ? [step.connectorId] : []));
  if (on.type === 'event') named.push(on.connectorId);
  return [...new Set(named)].sort();
}
