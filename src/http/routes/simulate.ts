import { z } from 'zod';
import { CHECKS, simulate } from '../../actions/simulate.ts';
import { serverNotFound } from '../../servers/records.ts';
import { defineRoute } from '../server/route.ts';
import { requireServer } from './servers.ts';

export const simulateRoute = defineRoute({
  method: 'POST',
  path: '/api/servers/{serverId}/simulate',
  operationId: 'simulateCall',
  tag: 'MCP servers',
  summary: 'Simulate a call',
  description: 'Runs the checks of a call through this server, and sends nothing to the app.',
  auth: 'api_key_or_jwt',
  scope: 'servers:read',
  user: 'owner',
  params: z.strictObject({ serverId: z.string() }),
  body: z.strictObject({
    userId: z.string().max(200).optional().meta({
      description: 'Left out: the owner of the server, as its access URL has it.',
    }),
    connectorId: z.string().max(200),
    actionId: z.string().max(200),
    input: z
      .record(z.string(), z.json())
      .optional()
      .meta({ description: 'Checked against the schema of the action where it is given.' }),
  }),
  success: {
    status: 200,
    description: 'The outcome that a call would have.',
    schema: z.object({
      outcome: z.enum(['runs', 'asks', 'denied', 'fails']).meta({
        description:
          '`asks`: once its user agrees. `denied`: by a rule. `fails`: for want of something else.',
      }),
      rule: z.string().optional().meta({ description: 'The restriction that denies or asks.' }),
      code: z.string().optional().meta({ description: 'The code that the caller would get.' }),
      reason: z.string(),
      effect: z.enum(['read', 'write', 'destructive']).optional(),
      credentialId: z.string().optional(),
      checks: z.array(z.object({ check: z.enum(CHECKS), passed: z.boolean(), detail: z.string() })),
    }),
  },
  errors: ['server_not_found'],
  async handler({ context, caller, params: { serverId }, body, userId }) {
    const { ownerUserId } = await requireServer(context, caller, serverId, userId);
    const live = await context.servers.byId(caller.environment, serverId);
    if (!live) throw serverNotFound(serverId);
    return {
      body: await simulate(context, live, { ...body, userId: body.userId ?? ownerUserId ?? undefined }),
    };
  },
});
