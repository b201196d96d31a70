import { z } from 'zod';
import { listExecutions } from '../../actions/execution-list.ts';
import { findExecution, undoneBy } from '../../actions/executions.ts';
import { findPayload } from '../../actions/payloads.ts';
import { undoExpiry } from '../../actions/undo.ts';
import { holdsScope } from '../../identity/caller.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Tables } from '../../store/schema.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, instant, pageOf, time, toCursorPage } from '../server/shapes.ts';

const outcome = z.enum(['succeeded', 'failed', 'denied']);
/** An id as a filter. Excludes characters that a database rejects. */
const id = z.string().regex(/^[\x21-\x7e]{1,100}$/, 'must be an id');

const execution = z
  .object({
    executionId: z.string(),
    at: time,
    requestId: z.string(),
    caller: z
      .string()
      .meta({ description: 'key:<keyId>, jwt:<userId>, token:<serverId>, stdio, cli or run:<runId>.' }),
    serverId: z.string().nullable(),
    userId: z.string().nullable(),
    connectorId: z.string(),
    actionId: z.string(),
    credentialId: z.string().nullable(),
    outcome,
    rule: z.string().nullable().meta({ description: 'The restriction that denied it.' }),
    errorCode: z.string().nullable(),
    upstreamStatus: z.int().nullable(),
    durationMs: z.int(),
    programId: z.string().nullable(),
    undoOf: z.string().nullable(),
    undoneBy: z.string().nullable(),
  })
  .meta({ id: 'Execution', description: 'One call of an action.' });

/** The content of `attempts` of a row. */
const attempts = z.array(
  z.object({
    actionId: z.string(),
    status: z.int().optional().meta({ description: 'HTTP status of the answer; absent without one.' }),
    errorCode: z.string().optional(),
    waitMs: z.int().meta({ description: 'Milliseconds of waiting before the request: limits and retries.' }),
    durationMs: z.int(),
  }),
);

export const listExecutionsRoute = defineRoute({
  method: 'GET',
  path: '/api/executions',
  operationId: 'listExecutions',
  tag: 'Executions',
  summary: 'List executions',
  description:
    'Newest first, without payloads. Offsets end at 10,000: from there on, or from the start, follow ' +
    '`pagination.nextCursor` with `cursor`.',
  auth: 'api_key',
  scope: 'executions:read',
  query: z.strictObject({
    ...cursorQuery,
    serverId: id.optional(),
    userId: id.optional(),
    connectorId: id.optional(),
    actionId: id.optional(),
    outcome: outcome.optional(),
    programId: id.optional(),
    credentialId: id.optional(),
    from: instant.optional().meta({ description: 'Only executions at or after this time.' }),
    to: instant.optional().meta({ description: 'Only executions before this time.' }),
  }),
  success: {
    status: 200,
    description: 'A page of executions.',
    schema: pageOf(execution),
  },
  async handler({ context, caller, query }) {
    const { executions, ...end } = await listExecutions(context.db, {
      ...query,
      environment: caller.environment,
    });
    const ids = executions.map((row) => row.execution_id);
    const undone = await undoneBy(context.db, caller.environment, ids);
    return {
      body: toCursorPage(
        executions.map((row) => view(row, undone)),
        end,
      ),
    };
  },
});

export const getExecutionRoute = defineRoute({
  method: 'GET',
  path: '/api/executions/{executionId}',
  operationId: 'getExecution',
  tag: 'Executions',
  summary: 'Read an execution',
  description:
    'Has `input` and `output` where the setting `payloads` stored them and the key has the scope `payloads:read`. ' +
    'By default it stores the message of a failed call, as `output.error`. ' +
    'Credentials and sensitive fields are replaced. A value over 64 KiB is the beginning of its JSON text, with a note.',
  auth: 'api_key',
  scope: 'executions:read',
  params: z.strictObject({ executionId: z.string() }),
  success: {
    status: 200,
    description: 'The execution.',
    schema: execution
      .extend({
        attempts,
        undoExpiresAt: time.nullable(),
        input: z.unknown().optional(),
        output: z.unknown().optional(),
      })
      .meta({ id: 'ExecutionDetails', description: 'One call of an action, with its requests and payload.' }),
  },
  errors: ['execution_not_found'],
  async handler({ context, caller, params: { executionId } }) {
    const row = await findExecution(context.db, caller.environment, executionId);
    if (row) {
      const payload = holdsScope(caller, 'payloads:read') ? await findPayload(context, executionId) : {};
      const { environment } = caller;
      const undone = await undoneBy(context.db, environment, [executionId]);
      const undoExpiresAt = isoTime((await undoExpiry(context, environment, executionId)) ?? null);
      return { body: { ...view(row, undone), attempts: attemptsOf(row), undoExpiresAt, ...payload } };
    }
    throw new GatehouseError(
      'execution_not_found',
      `There is no execution "${executionId.slice(0, 64)}". Executions are kept for 90 days.`,
    );
  },
});

function attemptsOf(row: Tables['executions']): z.infer<typeof attempts> {
  return row.attempts === null ? [] : attempts.parse(JSON.parse(row.attempts));
}

function view(row: Tables['executions'], undone: ReadonlyMap<string, string>): z.input<typeof execution> {
  return {
    executionId: row.execution_id,
    at: isoTime(row.at),
    requestId: row.request_id,
    caller: row.caller,
    serverId: row.server_id,
    userId: row.user_id,
    connectorId: row.connector_id,
    actionId: row.action_id,
    credentialId: row.credential_id,
    outcome: row.outcome,
    rule: row.rule,
    errorCode: row.error_code,
    upstreamStatus: row.upstream_status,
    durationMs: row.duration_ms,
    programId: row.program_id,
    undoOf: row.undo_of,
    undoneBy: undone.get(row.execution_id) ?? null,
  };
}
