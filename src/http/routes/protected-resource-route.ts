import { z } from 'zod';
import { GatehouseError } from '../../lib/errors.ts';
import { protectedResourceOf } from '../../servers/protected-resource.ts';
import { defineRoute } from '../server/route.ts';

export const protectedResourceRoute = defineRoute({
  method: 'GET',
  path: '/.well-known/oauth-protected-resource/mcp/{serverId}',
  operationId: 'getProtectedResource',
  tag: 'Service',
  summary: 'Read the OAuth metadata of an MCP server',
  description:
    'Protected resource metadata (RFC 9728), for the issuers of `GATEHOUSE_JWT_ISSUERS`. Where none is trusted there is ' +
    'none, and never for an access URL, which is its own credential.',
  auth: 'none',
  params: z.strictObject({ serverId: z.string() }),
  success: {
    status: 200,
    description: 'The metadata.',
    schema: z.object({
      resource: z.url(),
      authorization_servers: z.array(z.string()),
      bearer_methods_supported: z.array(z.string()),
      resource_name: z.string(),
    }),
  },
  errors: ['not_found'],
  async handler({ context, params: { serverId } }) {
    const found = await protectedResourceOf(context, serverId);
    if (!found)
      throw new GatehouseError('not_found', 'No MCP server at this address takes tokens of an OAuth issuer.');
    return {
      body: {
        resource: found.resource,
        authorization_servers: found.issuers,
        bearer_methods_supported: ['header'],
        resource_name: found.name,
      },
      // Browser clients read it before they are authenticated.
      headers: { 'Access-Control-Allow-Origin': '*' },
    };
  },
});
