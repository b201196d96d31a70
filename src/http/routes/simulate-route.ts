import { z } from 'zod';
import { simulate, simulation } from '../../actions/simulate.ts';
import { serverNotFound } from '../../servers/server-records.ts';
import { defineRoute } from '../server/route.ts';
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
