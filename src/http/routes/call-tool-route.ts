import { z } from 'zod';
import { requireEnabled } from '../../identity/users.ts';
import { GatehouseError, invalidRequest } from '../../lib/errors.ts';
import { serverNotFound } from '../../servers/server-records.ts';
import { defineRoute } from '../server/route.ts';
import { jsonObject } from '../server/shapes.ts';
import { ofServer, requireServer } from './server-routes.ts';

const answers = z.record(z.string().max(200), jsonObject).meta({
  description:
    'The answers of the user, by the keys of `inputRequests`: each has `action` and, for a form, `content`.',
});

const inputRequest = z.object({
  method: z.string(),
  params: z.record(z.string(), z.unknown()),
});

const result = z
  .object({
    resultType: z.enum(['complete', 'input_required']),
    content: z.array(z.record(z.string(), z.unknown())).optional(),
    structuredContent: z.record(z.string(), z.unknown()).optional(),
    isError: z.boolean().optional(),
    inputRequests: z.record(z.string(), inputRequest).optional(),
    requestState: z.string().optional(),
  })
  .meta({ id: 'ToolCallResult', description: 'Result of a tool, or a question to its user.' });

export const callServerToolRoute = defineRoute({
  ...ofServer,
  auth: 'api_key',
  method: 'POST',
  path: '/api/servers/{serverId}/call-tool',
  operationId: 'callServerTool',
  summary: 'Call a tool as a user',
  description:
    "Calls a tool as an agent of the user would, with the server's restrictions, confirmations, budgets and record of " +
    'executions. The record names the API key or the person. A failure of the tool has `isError`. A question to the user is an ' +
    'answer with `inputRequests`: repeat the call with its `requestState` and the answers.',
  // The scope of MCP, because tools can do more than run actions.
  scope: 'mcp:use',
  body: z.strictObject({
    userId: z.string().max(64).optional().meta({
      description: 'The user of the call. Default: the owner of the server.',
    }),
    name: z.string().min(1).max(200).meta({ description: 'Name of the tool, as tools/list has it.' }),
    arguments: jsonObject.default({}),
    inputResponses: answers.optional(),
    requestState: z.string().max(65_536).optional(),
  }),
  success: {
    status: 200,
    description: 'The result of the tool, or a question to its user.',
    schema: result,
    example: {
      resultType: 'complete',
      content: [{ type: 'text', text: '{"connectors":[]}' }],
      structuredContent: { connectors: [] },
    },
  },
  errors: ['server_not_found', 'user_not_found', 'restricted', 'request_state_invalid'],
  async handler({ context, caller, params: { serverId }, body, userId: owner, requestId, signal }) {
    const { ownerUserId } = await requireServer(context, caller, { serverId, userId: owner });
    const live = await context.servers.byId(caller.environment, serverId);
    if (!live) throw serverNotFound(serverId);
    const userId = body.userId ?? ownerUserId;
    if (userId === null)
      throw invalidRequest([{ field: 'userId', rule: 'is required: the server has no owner' }], 'The body');
    await requireEnabled(context.db, caller.environment, userId);
    const { name, inputResponses, requestState } = body;
    const call = { live, caller, userId, name, arguments: body.arguments, inputResponses, requestState };
    try {
      const { _meta, ...shown } = await context.callTool({ ...call, requestId, signal });
      return { body: shown };
    } catch (cause) {
      if (!signal.aborted) throw cause;
      throw new GatehouseError('unavailable', 'The caller disconnected during the call.', { cause });
    }
  },
});
