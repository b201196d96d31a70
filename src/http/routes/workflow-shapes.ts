import { z } from 'zod';
import type { Caller } from '../../identity/caller.ts';
import { subjectOf } from '../../identity/visit.ts';
import { invalidRequest } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { definitionSchema } from '../../workflows/workflow-definition.ts';
import { RUN_STATUSES } from '../../workflows/run-log.ts';
import { time } from '../server/shapes.ts';

/* Shapes and helpers that the routes of workflows share. */

export const TAG = 'Workflows';

/** Properties of the routes that only servers may call. */
export const ofOperator = { tag: TAG, auth: 'api_key', apiVersion: true } as const;

export const workflowParams = z.strictObject({ workflowId: z.string() });
export const runParams = z.strictObject({ workflowId: z.string(), runId: z.string() });

/** A version number in the path. */
export const versionNumber = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be the number of a version')
  .transform(Number)
  .meta({ type: 'integer' });

/** Accepts any object. src/workflows/check.ts reports its faults by the kind of step. */
export const definitionBody = z
  .custom<JsonObject>(isJsonObject, 'must be an object')
  .meta({ shownAs: definitionSchema });

export const version = z
  .object({
    version: z.int(),
    draft: z.boolean(),
    definition: z.record(z.string(), z.unknown()),
    connectors: z.array(z.string()).meta({ description: 'Connectors that the definition needs.' }),
    createdAt: time,
  })
  .meta({ id: 'WorkflowVersion', description: 'A version of a workflow.' });

export const workflow = z
  .object({
    workflowId: z.string(),
    name: z.string(),
    version: z
      .int()
      .meta({ description: 'The newest published version, or the draft before the first one.' }),
    draft: z.boolean(),
    definition: z.record(z.string(), z.unknown()),
    connectors: z.array(z.string()),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Workflow', description: 'A workflow with its newest version.' });

export const installation = z
  .object({
    installationId: z.string(),
    workflowId: z.string(),
    userId: z.string(),
    version: z.int(),
    previousVersion: z.int().nullable().meta({ description: 'The version that a rollback restores.' }),
    enabled: z.boolean(),
    config: z.record(z.string(), z.unknown()).meta({
      description: 'Fields that are writeOnly or have the format password are returned as [secret].',
    }),
    credentials: z.record(z.string(), z.string()).meta({ description: 'connectorId → credentialId' }),
    trigger: z.object({
      type: z.enum(['event', 'schedule', 'manual', 'call']),
      listening: z
        .boolean()
        .optional()
        .meta({ description: 'False when it is disabled or its account was deleted.' }),
      nextAt: time.nullable().optional(),
    }),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Installation', description: 'A workflow that a user has installed.' });

export const run = z
  .object({
    runId: z.string(),
    workflowId: z.string(),
    installationId: z.string().nullable(),
    userId: z.string(),
    version: z.int(),
    stepId: z.string().optional().meta({ description: 'The only step of the run, in the test of a step.' }),
    status: z.enum(RUN_STATUSES),
    trigger: z.enum(['event', 'schedule', 'manual', 'call']),
    createdAt: time,
    startedAt: time.nullable(),
    endedAt: time.nullable(),
    nextAt: time.optional().meta({ description: 'End of the wait.' }),
    error: z.unknown().optional(),
  })
  .meta({ id: 'Run', description: 'A run of a workflow.' });

const step = z.object({
  stepId: z.string(),
  status: z.enum(['running', 'waiting', 'succeeded', 'failed', 'skipped', 'cancelled', 'given']).meta({
    description: '`given`: the result of an earlier step, in the test of a step.',
  }),
  attempts: z.int(),
  startedAt: time,
  endedAt: time.nullable(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
});

export const wholeRun = run
  .extend({
    triggerValue: z.unknown(),
    steps: z.array(
      step.extend({
        itemCounts: z.record(z.string(), z.int()).optional(),
        items: z
          .array(step.extend({ item: z.int() }))
          .optional()
          .meta({ description: 'The first 100 iterations of a for-each.' }),
      }),
    ),
  })
  .meta({ id: 'RunDetails', description: 'A run with its steps.' });

/** The end user in the query. A user's JWT has access only to its own data and need not name it. */
export const userQuery = {
  userId: z.string().max(64).optional().meta({ description: 'The end user; required with an API key.' }),
};

/**
 * Returns the end user of a request.
 * @throws GatehouseError `invalid_request` when an API key names no user, `forbidden` when a JWT names another
 * user.
 */
function userOf(caller: Caller, { userId }: { userId?: string | undefined }): string {
  const named = filterOf(caller, { userId });
  if (named !== undefined) return named;
  throw invalidRequest([{ field: 'userId', rule: 'is required: the userId of an end user' }], 'The query');
}

/** Returns the key of an installation: environment, path ids and end user. @throws GatehouseError as userOf() */
export function keyOf<P extends object>(caller: Caller, params: P, query: { userId?: string | undefined }) {
  return { environment: caller.environment, ...params, userId: userOf(caller, query) };
}

/** Returns the user whose data is listed; undefined means all users. */
export function filterOf(caller: Caller, { userId }: { userId?: string | undefined }): string | undefined {
  return subjectOf([caller], userId) ?? userId;
}

/** Error codes of choosing credentials. */
export const CREDENTIAL_ERRORS = [
  'credential_not_found',
  'credential_required',
  'credential_ambiguous',
  'credential_invalid',
  'connector_not_found',
] as const;
