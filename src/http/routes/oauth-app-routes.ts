import { z } from 'zod';
import {
  deleteOAuthApp,
  findOAuthApp,
  oauthAppNotFound,
  saveOAuthApp,
  type OAuthApp,
} from '../../credentials/oauth-apps.ts';
import { isoTime } from '../../lib/clock.ts';
import { defineRoute } from '../server/route.ts';
import { deleted, time } from '../server/shapes.ts';

const ofConnector = {
  path: '/api/connectors/{connectorId}/oauth-app',
  tag: 'OAuth apps',
  auth: 'api_key',
  params: z.strictObject({ connectorId: z.string() }),
} as const;
const printable = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .regex(/^[\u0020-\u007e]+$/, 'must be printable ASCII');
const oauthApp = z
  .object({
    connectorId: z.string(),
    clientId: z.string(),
    hasSecret: z.boolean(),
    scopes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'OAuth scopes to request; null means the scopes of the connector.' }),
    fields: z.record(z.string(), z.string()).meta({
      description: 'The host where it is registered. Missing fields have the default of the connector.',
    }),
    redirectUri: z.string().meta({ description: 'Register this address at the third party.' }),
    createdAt: time.nullable().meta({ description: 'null: the app is part of Gatehouse.' }),
    updatedAt: time.nullable().meta({ description: 'null: the app is part of Gatehouse.' }),
  })
  .meta({ id: 'OAuthApp', description: 'An OAuth app, without its secret.' });

export const putOAuthAppRoute = defineRoute({
  ...ofConnector,
  method: 'PUT',
  operationId: 'putOAuthApp',
  summary: 'Store the OAuth app of a connector',
  description:
    'The client id and secret that you registered at the third party, for this environment. Users connect their ' +
    'accounts through it. The secret is stored encrypted and never returned.',
  scope: 'oauth-apps:write',
  body: z.strictObject({
    clientId: printable(500),
    clientSecret: printable(5000)
      .optional()
      .meta({ description: 'Optional when the app supports public clients.', writeOnly: true }),
    scopes: z
      .array(z.string().regex(/^[\u0021-\u007e]{1,300}$/, 'must be printable ASCII without spaces'))
      .max(200)
      .optional()
      .meta({ description: 'Default: the scopes of the connector.' }),
    fields: z
      .record(z.string(), z.string())
      .optional()
      .meta({
        description:
          'The host where the app is registered, for connectors with many hosts: `{"siteUrl": "https://gitlab.example.com"}`. ' +
          'Users are not asked for it when they sign in. The secret is sent only to this host.',
      }),
  }),
  success: { status: 200, description: 'The OAuth app, without its secret.', schema: oauthApp },
  errors: ['connector_not_found'],
  audited: true,
  async handler({ context, caller, params: { connectorId }, body }) {
    const saved = await saveOAuthApp(context, { environment: caller.environment, connectorId }, body);
    return { body: describe(saved, context.publicUrl) };
  },
});

export const getOAuthAppRoute = defineRoute({
  ...ofConnector,
  method: 'GET',
  operationId: 'getOAuthApp',
  summary: 'Read the OAuth app of a connector',
  scope: 'oauth-apps:read',
  success: { status: 200, description: 'The OAuth app, without its secret.', schema: oauthApp },
  errors: ['oauth_app_not_found'],
  async handler({ context, caller, params: { connectorId } }) {
    const found = await findOAuthApp(context, caller.environment, connectorId);
    if (!found) throw oauthAppNotFound(connectorId);
    return { body: describe(found, context.publicUrl) };
  },
});

export const deleteOAuthAppRoute = defineRoute({
  ...ofConnector,
  method: 'DELETE',
  operationId: 'deleteOAuthApp',
  summary: 'Delete the OAuth app of a connector',
  description: 'Its credentials work until their access tokens expire. Then they need an OAuth app again.',
  scope: 'oauth-apps:write',
  success: deleted('connectorId', 'The OAuth app is deleted.'),
  errors: ['oauth_app_not_found'],
  audited: true,
  async handler({ context, caller, params: { connectorId } }) {
    await deleteOAuthApp(context, caller.environment, connectorId);
    return { body: { message: 'The OAuth app was deleted.', connectorId } };
  },
});

function describe(app: OAuthApp, publicUrl: string) {
  return {
    connectorId: app.connectorId,
    clientId: app.clientId,
    hasSecret: app.clientSecret !== undefined,
    scopes: app.scopes,
    fields: app.fields,
    redirectUri: `${publicUrl}/oauth/callback/${app.connectorId}`,
    createdAt: isoTime(app.createdAt),
    updatedAt: isoTime(app.updatedAt),
  };
}
