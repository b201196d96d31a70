import { z } from 'zod';
import { rotateApiKey } from '../../identity/api-keys.ts';
import {
  createNamedKey,
  endPreviousSecret,
  keyView,
  listKeys,
  revokeNamedKey,
  rotateNamedKey,
} from '../../identity/named-keys.ts';
import { KEY_SCOPES } from '../../identity/scopes.ts';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { defineRoute } from '../server/route.ts';
import { label } from '../../lib/label.ts';
import { cursorQuery, deleted, pageOf, time, toCursorPage } from '../server/shapes.ts';

const MAX_DAYS = 3650;
const MAX_OVERLAP_SECONDS = 30 * 24 * 60 * 60;

const apiKey = z
  .object({
    keyId: z.string(),
    environment: z.enum(['development', 'production']),
    kind: z.enum(['environment', 'named']),
    name: z.string(),
    scopes: z.array(z.string()),
    lastFour: z.string(),
    status: z.enum(['active', 'expired']),
    createdAt: time,
    expiresAt: time.nullable(),
    lastUsedAt: time.nullable(),
    previousExpiresAt: time.nullable(),
  })
  .meta({ id: 'ApiKey', description: 'An API key without its secret.' });
const apiKeyWithSecret = apiKey
  .extend({ key: z.string() })
  .meta({ id: 'ApiKeyWithSecret', description: 'An API key with its secret, which is shown only here.' });

/** Properties of the routes of API keys. */
const ofKeys = { tag: 'Administration', auth: 'api_key' } as const;
const ofKey = { ...ofKeys, params: z.strictObject({ keyId: z.string() }) } as const;

export const createKeyRoute = defineRoute({
  ...ofKeys,
  method: 'POST',
  path: '/api/keys',
  operationId: 'createKey',
  summary: 'Create a named API key',
  description:
    'The key belongs to the environment of the caller and gets only scopes that the caller has. It expires with the caller at the latest.',
  scope: 'keys:write',
  body: z.strictObject({
    name: label(100),
    scopes: z
      .array(z.enum(KEY_SCOPES, { error: `must be one of: ${KEY_SCOPES.join(', ')}` }))
      .min(1, 'must have at least one scope')
      .max(KEY_SCOPES.length, `must have at most ${KEY_SCOPES.length} scopes`),
    expiresInDays: z.int().min(1).max(MAX_DAYS).optional(),
  }),
  success: { status: 201, description: 'The key, shown here only.', schema: apiKeyWithSecret },
  errors: ['key_exists', 'limit_reached', 'forbidden'],
  audited: true,
  async handler({ context, caller, body }) {
    const made = await createNamedKey(context, caller, { environment: caller.environment, ...body });
    return { body: { ...keyView(made), key: made.key }, auditTarget: made.keyId };
  },
});

export const listKeysRoute = defineRoute({
  ...ofKeys,
  method: 'GET',
  path: '/api/keys',
  operationId: 'listKeys',
  summary: 'List the API keys',
  description:
    'The keys that are not revoked, oldest first, with the key of the environment. `lastUsedAt` is at most a minute old.',
  scope: 'keys:read',
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page of keys.', schema: pageOf(apiKey) },
  async handler({ context, caller, query }) {
    const { keys, ...end } = await listKeys(context, caller.environment, query);
    return { body: toCursorPage(keys.map(keyView), end) };
  },
});

export const rotateNamedKeyRoute = defineRoute({
  ...ofKey,
  method: 'POST',
  path: '/api/keys/{keyId}/rotate',
  operationId: 'rotateNamedKey',
  summary: 'Rotate a named API key',
  description:
    'Gives the key a new secret. The earlier secret ends at once, or after `overlapSeconds`. Scopes and expiry stay.',
  scope: 'keys:write',
  body: z.strictObject({
    overlapSeconds: z.int().min(0).max(MAX_OVERLAP_SECONDS).default(0),
  }),
  success: {
    status: 200,
    description: 'The key with its new secret, shown here only.',
    schema: apiKeyWithSecret,
  },
  errors: ['key_not_found', 'environment_key', 'key_rotating', 'forbidden'],
  audited: true,
  async handler({ context, caller, params: { keyId }, body }) {
    const rotated = await rotateNamedKey(context, caller, {
      environment: caller.environment,
      keyId,
      overlapMs: body.overlapSeconds * SECOND,
    });
    context.callers.forget();
    return { body: { ...keyView(rotated), key: rotated.key } };
  },
});

export const endPreviousSecretRoute = defineRoute({
  ...ofKey,
  method: 'DELETE',
  path: '/api/keys/{keyId}/previous-secret',
  operationId: 'endPreviousSecret',
  summary: 'End the earlier secret of a named API key',
  description:
    'Ends the overlap of a rotation: requests with the secret before it are 401 within a second. The current secret stays.',
  scope: 'keys:write',
  success: { status: 200, description: 'The key.', schema: apiKey },
  errors: ['key_not_found', 'environment_key', 'key_rotating'],
  audited: true,
  async handler({ context, caller, params: { keyId } }) {
    const key = await endPreviousSecret(context, caller.environment, keyId);
    context.callers.forget();
    return { body: keyView(key) };
  },
});

export const revokeKeyRoute = defineRoute({
  ...ofKey,
  method: 'DELETE',
  path: '/api/keys/{keyId}',
  operationId: 'revokeKey',
  summary: 'Revoke a named API key',
  description: 'Requests with it are 401 within a second. Its name can be used again.',
  scope: 'keys:write',
  success: deleted('keyId', 'The key is revoked.'),
  errors: ['key_not_found', 'environment_key'],
  audited: true,
  async handler({ context, caller, params: { keyId } }) {
    await revokeNamedKey(context, caller.environment, keyId);
    context.callers.forget();
    return { body: { message: 'The API key was revoked.', keyId } };
  },
});

export const rotateKeyRoute = defineRoute({
  ...ofKeys,
  method: 'POST',
  path: '/api/keys/rotate',
  operationId: 'rotateKey',
  summary: 'Rotate the API key of the environment',
  description:
    'Revokes the key that made this request at once. Only the key of the environment may do this. Named keys stay.',
  scope: 'keys:write',
  success: {
    status: 200,
    description: 'The new key, shown here only.',
    schema: z.object({ environment: z.enum(['development', 'production']), apiKey: z.string() }),
  },
  errors: ['forbidden'],
  audited: true,
  async handler({ context, caller }) {
    // The answer is a key with all scopes, which a named key must not reach.
    if (caller.scopes !== 'all')
      throw new GatehouseError('forbidden', 'Only the key of the environment may rotate itself.', {
        fix: 'Rotate a named key with POST /api/keys/{keyId}/rotate.',
      });
    const key = await rotateApiKey(context, caller.environment);
    context.callers.forget();
    return { body: { environment: caller.environment, apiKey: key } };
  },
});
