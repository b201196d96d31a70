import { z } from 'zod';
import { chosenConnectors } from '../../../connect/apps.ts';
import { makeLink } from '../../../connect/offer.ts';
import { requireCredential } from '../../../credentials/credential-records.ts';
import { requireUser } from '../../../identity/users.ts';
import { isoTime } from '../../../lib/clock.ts';
import { defineRoute } from '../../server/route.ts';
import { time } from '../../server/shapes.ts';
import { keyOf } from '../credentials.ts';

const redirectUri = z
  .string()
  .max(2000)
  .optional()
  .meta({ description: 'Address that the user returns to. One of `redirectUris` of the settings.' });
const scopes = z
  // The characters of RFC 6749 section 3.3.
  .array(
    z
      .string()
      .max(300)
      .regex(/^[!#-[\]-~]+$/, 'must be a scope, without spaces and quotes'),
  )
  .max(50)
  .optional()
  .meta({ description: 'Scopes to ask for in addition to those of the connector or its OAuth app.' });
const state = z.string().max(500).optional().meta({ description: 'Returned unchanged with the result.' });

export const createConnectSessionRoute = defineRoute({
  method: 'POST',
  path: '/users/{userId}/connect-sessions',
  operationId: 'createConnectSession',
  tag: 'Connecting accounts',
  summary: 'Create a link that connects an account of a user',
  description:
    'Single use, fifteen minutes, bound to the first browser that opens it. In the end the person returns to ' +
    '`redirectUri` with `success=true&connectionId=&credentialId=&state=`, or `success=false&error=&state=`.',
  auth: 'api_key',
  scope: 'connect:write',
  apiVersion: true,
  params: z.strictObject({ userId: z.string() }),
  body: z.strictObject({
    connectors: z
      .array(z.string())
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'The apps to choose from; all when left out.' }),
    redirectUri,
    state,
  }),
  success: {
    status: 201,
    description: 'The link, shown here only.',
    schema: z.object({ sessionId: z.string(), url: z.string(), expiresAt: time }),
  },
  errors: ['user_not_found', 'connector_not_found', 'redirect_not_allowed', 'oauth_app_missing'],
  audited: true,
  async handler({ context, caller, params, body }) {
    const { environment } = caller;
    const { userId } = await requireUser(context.db, environment, params.userId);
    chosenConnectors(context, environment, body);
    const made = await makeLink(context, { ...body, environment, userId });
    return { body: { ...made, expiresAt: isoTime(made.expiresAt) } };
  },
});

export const reconnectCredentialRoute = defineRoute({
  method: 'POST',
  path: '/users/{userId}/credentials/{credentialId}/reconnect',
  operationId: 'reconnectCredential',
  tag: 'Credentials',
  summary: 'Create a link that reconnects a credential',
  description:
    'The user gives a new consent or new keys. The credential keeps its id. Another account is rejected. A consent asks ' +
    'for `scopes` too: send those of `details.scopes`, where an app refused a call.',
  auth: 'api_key',
  scope: 'connect:write',
  apiVersion: true,
  user: 'required',
  params: z.strictObject({ userId: z.string(), credentialId: z.string() }),
  body: z.strictObject({ redirectUri, state, scopes }).optional(),
  success: {
    status: 200,
    description: 'The link, shown here only.',
    schema: z.object({ authorizationUrl: z.string(), expiresAt: time }),
  },
  errors: ['credential_not_found', 'redirect_not_allowed', 'oauth_app_missing'],
  audited: true,
  async handler({ context, body, ...request }) {
    const key = keyOf(request);
    const { connectorId } = await requireCredential(context.db, key);
    const made = await makeLink(context, { ...body, ...key, connectors: [connectorId] });
    return { body: { authorizationUrl: made.url, expiresAt: isoTime(made.expiresAt) } };
  },
});
