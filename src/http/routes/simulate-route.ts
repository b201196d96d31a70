import { z } from 'zod';
import { simulate, simulation } from '../../actions/simulate.ts';
import { pastSimulation, simulatePast } from '../../actions/simulate-past.ts';
import { assertCoherent, restrictionsSchema } from '../../servers/restrictions.ts';
import { serverNotFound } from '../../servers/server-records.ts';
import { defineRoute } from '../server/route.ts';
import { instant } from '../server/shapes.ts';
import { ofServer, requireServer } from './server-routes.ts';

export const simulateRoute = defineRoute({
  ...ofServer,
  method: 'POST',
  path: '/api/servers/{serverId}/simulate',
  operationId: 'simulateCall',
  summary: 'Simulate a call',
  description: 'Runs the checks of a call through this server, and sends nothing to the app.',
  scope: 'servers:read',
  body: z.strictObject({
    userId: z.string().max(200).optional().meta({
      description: 'Default: the owner of the server, as for its access URL.',
    }),
    connectorId: z.string().max(200),
    actionId: z.string().max(200),
    input: z
      .record(z.string(), z.json())
      .optional()
      .meta({ description: 'Input to check against the schema of the action. Default: no check.' }),
  }),
  success: {
    status: 200,
    description: 'The outcome that a call would have.',
    schema: simulation,
  },
  errors: ['server_not_found'],
  async handler({ context, caller, params: { serverId }, body, userId }) {
    const { ownerUserId } = await requireServer(context, caller, { serverId, userId });
    const live = await context.servers.byId(caller.environment, serverId);
    if (!live) throw serverNotFound(serverId);
    return {
      body: await simulate(context, live, { ...body, userId: body.userId ?? ownerUserId ?? undefined }),
    };
  },
});

export const simulatePastRoute = defineRoute({
  ...ofServer,
  method: 'POST',
  path: '/api/servers/{serverId}/simulate-past',
  operationId: 'simulatePast',
  summary: 'Simulate restrictions over recorded calls',
  description:
    'Judges the recorded calls of this server by other restrictions, and changes nothing. `proposal` narrows them to the ' +
    'actions in use. An action whose effect depends on its input is judged by its severest effect when it is asked for ' +
    'agreement.',
  // It shows the calls of all users, as the record of executions does.
  auth: 'api_key',
  scope: 'executions:read',
  body: z.strictObject({
    restrictions: restrictionsSchema,
    since: instant
      .optional()
      .meta({ description: 'Default: all recorded calls, which are those of 90 days.' }),
  }),
  success: {
    status: 200,
    description: 'The effect that the restrictions would have had.',
    schema: pastSimulation,
  },
  errors: ['server_not_found'],
  async handler({ context, caller, params: { serverId }, body: { restrictions, since = 0 }, userId }) {
    assertCoherent(restrictions);
    const server = await requireServer(context, caller, { serverId, userId });
    return { body: await simulatePast(context, server, { restrictions, since }) };
  },
});
