import { z } from 'zod';
import { clientDocument } from '../../../remote/remote-records.ts';
import { findRemote } from '../../../remote/remote-rows.ts';
import { remoteAuthentication, type RemoteSettings } from '../../../remote/remote-settings.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../../lib/clock.ts';
import type { ConnectorKey } from '../../../custom/custom-rows.ts';
import { defineRoute } from '../../server/route.ts';
import { label } from '../../../lib/label.ts';
import { time } from '../../server/shapes.ts';

/** A remote MCP server in a request. */
export const remoteServer = z
  .strictObject({
    connectorId: z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -'),
    name: label(60).optional(),
    url: z
      .url({ protocol: /^https?$/ })
      .max(2000)
      .refine((url) => !/[?#{}]/.test(url), 'must have no query, fragment or braces')
      .refine((url) => new URL(url).username === '', 'must have no user name'),
    authentication: remoteAuthentication.default({ type: 'none' }),
  })
  .meta({ id: 'RemoteServer', description: 'A remote MCP server over streamable HTTP.' });

const named = z.object({ name: z.string().meta({ description: 'Name of the tool at the server.' }) });
/** The result of an import. */
export const remoteReport = z
  .object({
    tools: z.int().meta({ description: 'Number of tools that became actions.' }),
    leftOut: z.array(named.extend({ reason: z.string() })),
    changed: z.array(named.extend({ change: z.string() })),
  })
  .meta({ id: 'ImportReport', description: 'Tools that an import left out or changed.' });

/** A remote server in the view of its connector. */
export const remoteView = z
  .object({
    url: z.string(),
    authentication: z.enum(['none', 'bearer', 'headers', 'oauth2']),
    headers: z.array(z.string()).optional().meta({
      description: 'Names of the headers of its credentials, in the form `headers`.',
    }),
    scopes: z.array(z.string()).optional().meta({
      description: 'OAuth scopes that are requested, in the form `oauth2`.',
    }),
    operatorAccess: z.boolean().meta({ description: 'Whether values of the operator read its tools.' }),
    pending: z.boolean().meta({ description: 'Whether its tools are still unknown.' }),
    readAt: time.nullable().meta({ description: 'When its tools were read last.' }),
    error: z.string().nullable().meta({ description: 'Why the last read failed; null when it did not.' }),
  })
  .nullable()
  .meta({ description: 'The remote MCP server; null for a connector file.' });

/** Returns the view of the remote server behind a connector. */
export async function viewRemote(context: Context, key: ConnectorKey): Promise<z.input<typeof remoteView>> {
  const remote = await findRemote(context, key);
  if (!remote) return null;
  const { settings, values, readAt, error = null } = remote;
  return {
    url: settings.url,
    authentication: settings.authentication.type,
    ...formOf(settings),
    operatorAccess: values !== undefined,
    pending: readAt === undefined,
    readAt: readAt === undefined ? null : isoTime(readAt),
    error,
  };
}

function formOf({ authentication }: RemoteSettings): { headers?: string[]; scopes?: string[] } {
  if (authentication.type === 'headers') return { headers: authentication.names };
  return authentication.type === 'oauth2' ? { scopes: authentication.server.scopes } : {};
}

export const clientMetadataRoute = defineRoute({
  tag: 'Connecting accounts',
  auth: 'none',
  method: 'GET',
  path: '/oauth/clients/{connectorId}',
  operationId: 'getClientMetadata',
  summary: 'Read the metadata of Gatehouse as an OAuth client',
  description:
    'The client id of Gatehouse at OAuth servers that read client id metadata documents. Remote MCP servers use it.',
  params: z.strictObject({ connectorId: z.string().regex(/^[a-z0-9-]{1,32}$/) }),
  success: {
    status: 200,
    description: 'The metadata.',
    schema: z.object({
      client_id: z.string(),
      client_name: z.string(),
      client_uri: z.string(),
      application_type: z.enum(['web', 'native']),
      redirect_uris: z.array(z.string()),
      grant_types: z.array(z.string()),
      response_types: z.array(z.string()),
      token_endpoint_auth_method: z.string(),
    }),
  },
  async handler({ context, params: { connectorId } }) {
    return { body: await clientDocument(context, connectorId) };
  },
});
