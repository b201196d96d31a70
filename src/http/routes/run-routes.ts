import { chainIn, CHAIN_HEADER } from '../../workflows/chain-header.ts';
import { z } from 'zod';
import { assertIdempotencyKey } from '../../actions/idempotency.ts';
import type { Caller } from '../../identity/caller.ts';
import { requireEnabled } from '../../identity/users.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { isForm, requestForm, requestInUtf8, unpackedRequest } from '../../lib/http/body-text.ts';
import { jsonFromBody, MIB } from '../../lib/http/http-body.ts';
import { asObject, parseJson, type Json, type JsonObject } from '../../lib/json.ts';
import { assertQueueNotFull, beginRun } from '../../workflows/begin.ts';
import { installationOfHook } from '../../workflows/installations.ts';
import { describeRun, describeWholeRun, requireRun, type RunKey } from '../../workflows/run-log.ts';
import { cancelRun, disabled, retryRun, startRun } from '../../workflows/runs.ts';
import { tryVersion } from '../../workflows/try-version.ts';
import { defineRoute } from '../server/route.ts';
import { anyQuery, jsonObject } from '../server/shapes.ts';
import {
  CREDENTIAL_ERRORS,
  filterOf,
  keyOf,
  ofOperator,
  run,
  runParams,
  TAG,
  userQuery,
  versionNumber,
  wholeRun,
  workflowParams,
} from './workflow-shapes.ts';

const query = z.strictObject(userQuery);
/** Properties of the routes of one run. */
const ofRun = {
  tag: TAG,
  auth: 'api_key_or_jwt',
  scope: 'workflows:run',
  apiVersion: true,
  params: runParams,
  query: z.strictObject({
    userId: z.string().max(64).optional().meta({ description: 'Only a run of this end user.' }),
  }),
} as const;
const input = z.json().optional().meta({
  description:
    'Input of a manual trigger. Other triggers use it as the record of an event or the body of a call.',
});
const started = {
  status: 202,
  description: 'The run is queued.',
  schema: z.object({ runId: z.string() }),
};

export const runWorkflowRoute = defineRoute({
  method: 'POST',
  path: '/workflows/{workflowId}/run',
  operationId: 'runWorkflow',
  tag: TAG,
  summary: 'Run an installed workflow now',
  auth: 'api_key_or_jwt',
  scope: 'workflows:run',
  apiVersion: true,
  cors: true,
  headers: {
    'Idempotency-Key':
      'The same key within 24 hours gives the run that it started; with another input it is refused.',
  },
  params: workflowParams,
  query,
  body: z.strictObject({ input }).optional(),
  success: started,
  errors: [
    'workflow_not_found',
    'user_not_found',
    'forbidden',
    'installation_not_found',
    'installation_disabled',
    'idempotency_conflict',
    'rate_limited',
  ],
  async handler({ context, caller, requestId, params, query: asked, body, header }) {
    const key = keyOf(caller, params, asked);
    const named = header('idempotency-key');
    const runId = await startRun(context, key, {
      caller: caller.label,
      requestId,
      dedupe: nameOf('run', named),
      ...(named === undefined ? {} : { request: body?.input ?? null }),
      input: body?.input,
    });
    return { body: { runId } };
  },
});

export const tryVersionRoute = defineRoute({
  ...ofOperator,
  method: 'POST',
  path: '/workflows/{workflowId}/versions/{version}/try',
  operationId: 'tryWorkflowVersion',
  summary: 'Test a version or draft, or one step of it',
  description:
    "The steps are real: they act with the end user's accounts. With `stepId` only that step runs, with the results of earlier " +
    'steps from `fromRunId` and `given`. Its first failure ends the run, a for-each runs its first item, and a wait is ' +
    'computed and does not pass.',
  scope: 'workflows:run',
  params: workflowParams.extend({ version: versionNumber }),
  query,
  body: z.strictObject({
    config: jsonObject
      .optional()
      .meta({ description: 'Default: that of the run `fromRunId`, else an empty one.' }),
    credentials: z.record(z.string(), z.string()).default({}),
    input,
    stepId: z.string().max(64).optional().meta({ description: 'The only step to run. Default: all steps.' }),
    given: z.record(z.string().max(64), jsonObject).default({}).meta({
      description:
        'Results of steps before `stepId`, by their stepId, as expressions read them below `steps`.',
    }),
    fromRunId: z
      .string()
      .max(64)
      .optional()
      .meta({
        description:
          'A run of this workflow and user. The test of a step uses its results, and its trigger and configuration ' +
          'unless the body has them.',
      }),
  }),
  success: started,
  errors: [
    'workflow_not_found',
    'workflow_version_not_found',
    'user_not_found',
    'run_not_found',
    'forbidden',
    ...CREDENTIAL_ERRORS,
  ],
  async handler({ context, caller, requestId, params, query: asked, body }) {
    const key = keyOf(caller, params, asked);
    const runId = await tryVersion(context, key, { ...body, caller: caller.label, requestId });
    return { body: { runId } };
  },
});

export const getRunRoute = defineRoute({
  ...ofRun,
  method: 'GET',
  path: '/workflows/{workflowId}/runs/{runId}',
  operationId: 'getWorkflowRun',
  summary: 'Read a run and its log',
  description: 'Each step with its input and output, without secrets.',
  cors: true,
  success: { status: 200, description: 'The run.', schema: wholeRun },
  errors: ['run_not_found'],
  async handler({ context, caller, params, query: asked }) {
    const key = runKeyOf(caller, params, asked);
    return { body: await describeWholeRun(context, await requireRun(context.db, key)) };
  },
});

export const cancelRunRoute = defineRoute({
  ...ofRun,
  method: 'POST',
  path: '/workflows/{workflowId}/runs/{runId}/cancel',
  operationId: 'cancelWorkflowRun',
  summary: 'Cancel a run',
  description: 'The run ends before its next step. A step under way is finished and recorded.',
  success: { status: 200, description: 'The run as it is now.', schema: run },
  errors: ['run_not_found', 'run_ended'],
  audited: true,
  async handler({ context, caller, params, query: asked }) {
    const key = runKeyOf(caller, params, asked);
    await cancelRun(context, key);
    return { body: describeRun(await requireRun(context.db, key)) };
  },
});

export const retryRunRoute = defineRoute({
  ...ofRun,
  method: 'POST',
  path: '/workflows/{workflowId}/runs/{runId}/retry',
  operationId: 'retryWorkflowRun',
  summary: 'Resume a failed run from the step that failed',
  description: 'Keeps its version, configuration and results. Finished steps do not run again.',
  success: { ...started, schema: run },
  errors: ['run_not_found', 'run_not_failed', 'forbidden', 'installation_not_found', 'installation_disabled'],
  audited: true,
  async handler({ context, caller, params, query: asked }) {
    const key = runKeyOf(caller, params, asked);
    await retryRun(context, key);
    return { body: describeRun(await requireRun(context.db, key)) };
  },
});

/**
 * Starts a workflow with a call trigger. The route must precede `/hooks/{connectorId}/{token}`, which would match
 * it too.
 */
export const callWorkflowRoute = defineRoute({
  method: 'POST',
  path: '/hooks/workflows/{token}',
  operationId: 'callWorkflow',
  tag: TAG,
  summary: 'Start a workflow with a call trigger',
  description:
    'The token in the address is the credential. The body, JSON or a form, is `trigger.body`. The same call ' +
    'with the same Idempotency-Key (or `webhook-id` of Standard Webhooks) returns the same run.',
  auth: 'none',
  params: z.strictObject({ token: z.string() }),
  query: anyQuery,
  headers: {
    'Idempotency-Key':
      'Calls with the same key within 24 hours start one run. The key with another body is refused.',
  },
  rawBody: { maxBytes: MIB, description: 'JSON, or a form.', example: '{"order":"1042"}' },
  success: started,
  errors: [
    'not_found',
    'forbidden',
    'installation_disabled',
    'idempotency_conflict',
    'payload_too_large',
    'unsupported_media_type',
    'rate_limited',
  ],
  async handler({ context, requestId, params, query: asked, readRaw, header }) {
    const row = await installationOfHook(context, params.token);
    if (!row) throw new GatehouseError('not_found', 'There is nothing at this address.');
    await requireEnabled(context.db, row.environment, row.user_id);
    if (row.enabled !== 1) throw disabled();
    await assertQueueNotFull(context.db, row);
    const raw = await unpackedRequest(await readRaw(), header('content-encoding'), MIB);
    const said = { body: bodyOf(raw, header('content-type') ?? ''), query: toJson(asked) };
    const named = header('idempotency-key');
    const { runId } = await beginRun(context.db, context, {
      installation: row,
      occasion: {
        trigger: { type: 'call', ...said },
        caller: 'call',
        requestId,
        dedupe: nameOf('call', named ?? header('webhook-id')),
        chain: chainIn(header(CHAIN_HEADER)),
        // A sender of webhooks repeats a message under its id, and a refusal would have it repeated for days.
        ...(named === undefined ? {} : { request: said }),
      },
    });
    context.runs.wake();
    return { body: { runId } };
  },
});

/** Returns the key of a run. A JWT has access only to the runs of its user. */
function runKeyOf(
  caller: Caller,
  params: { workflowId: string; runId: string },
  asked: { userId?: string | undefined },
): RunKey {
  return { environment: caller.environment, ...params, userId: filterOf(caller, asked) };
}

/** Returns the name of an idempotency key in an installation. Keys of calls and keys of runs cannot collide. */
function nameOf(kind: 'run' | 'call', key: string | undefined): string | undefined {
  if (key === undefined) return undefined;
  assertIdempotencyKey(key);
  return `${kind} ${key}`;
}

/** Parses a body that is JSON or a form. @throws GatehouseError `invalid_request` for any other body. */
function bodyOf(body: Buffer, contentType: string): Json {
  if (isForm(contentType)) return toJson(Object.fromEntries(requestForm(body, contentType)));
  const text = requestInUtf8(body, contentType).toString('utf8');
  return text.trim() === '' ? null : jsonFromBody(text, { free: true });
}

function toJson(value: object): JsonObject {
  const json = parseJson(JSON.stringify(value));
  return asObject(json);
}
