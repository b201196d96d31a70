import { z } from 'zod';
import { requireCredential } from '../../credentials/credential-records.ts';
import { isoTime } from '../../lib/clock.ts';
import {
  endManualHook,
  readManualHook,
  setUpManualHook,
  type ManualHook,
} from '../../sources/webhooks/manual-hook.ts';
import { defineRoute } from '../server/route.ts';
import { deleted, time } from '../server/shapes.ts';
import { keyOf } from './credentials.ts';

/* Webhooks that a person sets up at an app by hand. */

/** Properties of these routes. */
const ofConnection = {
  tag: 'Webhooks',
  auth: 'api_key',
  apiVersion: true,
  user: 'required',
  path: '/users/{userId}/credentials/{credentialId}/webhook',
  params: z.strictObject({ userId: z.string(), credentialId: z.string() }),
} as const;

const shape = z
  .object({
    credentialId: z.string(),
    url: z
      .string()
      .optional()
      .meta({ description: 'Address to enter at the app. Absent before it is made.' }),
    state: z.enum(['none', 'waiting', 'registered']).meta({
      description:
        '`none`: no address is made. `waiting`: no genuine webhook has come, and the app is polled. `registered`: webhooks come, ' +
        'and the app is polled hourly.',
    }),
    lastAt: time.nullable().meta({ description: 'Time of the last genuine webhook, up to a minute late.' }),
    help: z
      .string()
      .meta({ description: 'Where at the app the address belongs, and which events to choose.' }),
    secretFrom: z.enum(['gatehouse', 'app']).meta({
      description: '`gatehouse`: enter our secret at the app. `app`: enter its secret here.',
    }),
  })
  .meta({ id: 'ConnectionWebhook', description: 'The webhooks of a connection that a person sets up.' });
const withSecret = shape
  .extend({
    secret: z.string().optional().meta({
      description: 'Secret to enter at the app, where Gatehouse makes it. Shown only here.',
    }),
  })
  .meta({
    id: 'ConnectionWebhookWithSecret',
    description: 'The webhooks of a connection, and their secret.',
  });

function described(publicUrl: string, credentialId: string, { path, lastAt, ...hook }: ManualHook) {
  return {
    credentialId,
    ...(path === undefined ? {} : { url: `${publicUrl}${path}` }),
    ...hook,
    lastAt: lastAt === null ? null : isoTime(lastAt),
  };
}

export const getConnectionWebhookRoute = defineRoute({
  ...ofConnection,
  method: 'GET',
  operationId: 'getConnectionWebhook',
  summary: 'Read the webhooks that are set up by hand',
  description: 'Apps without calls that register webhooks. The answer names the steps at the app.',
  scope: 'webhooks:read',
  success: { status: 200, description: 'Address, state and steps.', schema: shape },
  errors: ['credential_not_found', 'connector_not_found'],
  async handler({ context, ...request }) {
    const credential = await requireCredential(context.db, keyOf(request));
    const hook = await readManualHook(context, credential);
    return { body: described(context.publicUrl, credential.credentialId, hook) };
  },
});

export const setUpConnectionWebhookRoute = defineRoute({
  ...ofConnection,
  method: 'POST',
  operationId: 'setUpConnectionWebhook',
  summary: 'Make the address of webhooks, or replace their secret',
  description:
    'Makes an address for the connection. A further call keeps the address and replaces the secret; the previous secret is ' +
    'valid for 24 hours.',
  scope: 'webhooks:write',
  body: z
    .strictObject({
      secret: z.string().min(1).max(500).optional().meta({
        description: 'Secret that the app shows. Required where `secretFrom` is `app`, refused otherwise.',
      }),
    })
    .optional(),
  success: { status: 201, description: 'The address, and our secret.', schema: withSecret },
  otherwise: { status: 200, description: 'The secret was replaced.', schema: withSecret },
  errors: ['credential_not_found', 'connector_not_found'],
  audited: true,
  async handler({ context, body, ...request }) {
    const credential = await requireCredential(context.db, keyOf(request));
    const { hook, secret, isNew } = await setUpManualHook(context, credential, body?.secret);
    const answer = described(context.publicUrl, credential.credentialId, hook);
    return {
      status: isNew ? 201 : 200,
      body: { ...answer, ...(secret === undefined ? {} : { secret }) },
    };
  },
});

export const deleteConnectionWebhookRoute = defineRoute({
  ...ofConnection,
  method: 'DELETE',
  operationId: 'deleteConnectionWebhook',
  summary: 'Delete the address of webhooks',
  description: 'Further webhooks are answered with 404, and the app is polled as before.',
  scope: 'webhooks:write',
  success: deleted('credentialId', 'The address is deleted.'),
  errors: ['credential_not_found', 'connector_not_found'],
  audited: true,
  async handler({ context, ...request }) {
    const credential = await requireCredential(context.db, keyOf(request));
    await endManualHook(context, credential);
    return { body: { message: 'The address was deleted.', credentialId: credential.credentialId } };
  },
});
