import { z } from 'zod';
import { listOpenCircuits } from '../../actions/circuit-rows.ts';
import { isoTime } from '../../lib/clock.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, pageOf, time, toCursorPage } from '../server/shapes.ts';

const openCircuit = z
  .object({
    connectorId: z.string(),
    actionId: z.string(),
    credentialId: z.string().nullable(),
    userId: z.string().nullable(),
    failures: z.int().meta({ description: 'Failures in a row.' }),
    failedAt: time,
    closesAt: time,
  })
  .meta({ id: 'OpenCircuit', description: 'An action of an account whose calls are stopped.' });

export const listOpenCircuitsRoute = defineRoute({
  method: 'GET',
  path: '/api/circuits',
  operationId: 'listOpenCircuits',
  tag: 'Executions',
  summary: 'List actions whose calls are stopped',
  description:
    'The newest failure first. MCP servers stop the calls to an action of an account that fail in a row, by their field ' +
    '`circuit`. From `closesAt` on, the next call is sent as a trial, and its success removes the entry.',
  auth: 'api_key',
  scope: 'executions:read',
  query: z.strictObject({ ...cursorQuery, userId: z.string().optional() }),
  success: { status: 200, description: 'A page of actions.', schema: pageOf(openCircuit) },
  async handler({ context, caller, query }) {
    const { circuits, ...end } = await listOpenCircuits(context.db, {
      ...query,
      environment: caller.environment,
    });
    const data = circuits.map((one) => ({
      connectorId: one.connector_id,
      actionId: one.action_id,
      credentialId: one.credential_id,
      userId: one.user_id,
      failures: one.failures,
      failedAt: isoTime(one.failed_at),
      closesAt: isoTime(Math.max(one.open_until ?? 0, one.trial_until ?? 0)),
    }));
    return { body: toCursorPage(data, end) };
  },
});
