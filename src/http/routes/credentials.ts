import { z } from 'zod';
import { endListening } from '../../subscriptions/end-listening.ts';
import type { Context } from '../context.ts';
import { beforeSignIn } from '../../connect/apps.ts';
import { makeLink } from '../../connect/offer.ts';
import { describeCredential } from '../../credentials/credential.ts';
import { listCredentials, listCredentialsIn } from '../../credentials/credential-lists.ts';
import {
  checkCredential,
  connectAccount,
  deleteCredential,
  requireCredential,
  updateCredential,
} from '../../credentials/credential-records.ts';
import type { CredentialKey } from '../../credentials/credential-rows.ts';
import type { Caller } from '../../identity/caller.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Environment } from '../../store/environments.ts';
import { defineRoute } from '../server/route.ts';
import { label } from '../../lib/label.ts';
import { cursorQuery, deleted, jsonObject, pageOf, time, toCursorPage } from '../server/shapes.ts';

/** Properties of the routes for the credentials of a user. */
const ofUser = { tag: 'Credentials', auth: 'api_key', apiVersion: true, user: 'required' } as const;
const userParams = z.strictObject({ userId: z.string() });
const params = z.strictObject({ userId: z.string(), credentialId: z.string() });
const name = label(200);
const data = jsonObject.meta({
  description: 'Members of the inputSchema in the credential metadata. Never returned.',
});
/** Error codes of a credential that is tried at its app. */
export const PROBE_ERRORS = [
  'upstream_rejected',
  'upstream_rate_limited',
  'upstream_failed',
  'upstream_timeout',
] as const;
/** A credential as the API returns it. */
export const credentialShape = z
  .object({
    credentialId: z.string(),
    connectionId: z.string().meta({ description: 'Equal to credentialId.' }),
    userId: z.string(),
    connectorId: z.string(),
    type: z.string(),
    name: z.string(),
    state: z.enum(['active', 'needs_reconnect', 'revoked']),
    reason: z.string().optional().meta({ description: 'The reason when it is not active.' }),
    appMessage: z.string().optional().meta({ description: 'Message of the app about the reason.' }),
    scopes: z.array(z.string()).optional().meta({ description: 'OAuth scopes that the user has granted.' }),
    account: z.object({ id: z.string(), name: z.string().optional() }).optional(),
    default: z.boolean().meta({ description: 'Whether calls that name no credential use this one.' }),
    createdAt: time,
    updatedAt: time,
    lastUsedAt: time.nullable().meta({ description: 'Up to a minute late.' }),
    expiresAt: time.optional().meta({
      description: 'Expiry of the access token. Gatehouse renews the token earlier.',
    }),
    refreshFailures: z.int().optional().meta({
      description: 'Consecutive failed renewals of the access token; absent when the last one succeeded.',
    }),
  })
  .meta({ id: 'Credential', description: 'An account of a user at an app. It never holds a secret.' });

export const createCredentialRoute = defineRoute({
  ...ofUser,
  method: 'POST',
  path: '/users/{userId}/credentials',
  operationId: 'createCredential',
  summary: 'Store a credential of a user',
  description:
    'Checks the data against the connector, tries it at the app where the connector has a call for that, and stores it ' +
    'encrypted. An account that the user has connected before keeps its credential and id, with the new data. ' +
    'Accounts are compared by the id that the app reports, else by the entered data. A key that the app refuses is ' +
    '`credential_invalid` and is not stored. OAuth: the answer is a link to sign in. With `data: {accessToken, refreshToken?, expiresAt?, scopes?}` a live account is imported.',
  scope: 'credentials:write',
  params: userParams,
  body: z.strictObject({
    connectorId: z.string().min(1),
    type: z
      .string()
      .optional()
      .meta({ description: 'Optional when the connector has one type, or when `data` fits only one.' }),
    data: data.optional(),
    name: name.optional().meta({ description: 'Default: the name of the account, else of the connector.' }),
    redirectUri: z.string().max(2000).optional().meta({
      description: 'OAuth: address that the user returns to. One of `redirectUris` of the settings.',
    }),
    state: z.string().max(500).optional().meta({ description: 'OAuth: returned unchanged with the result.' }),
  }),
  success: { status: 201, description: 'The credential.', schema: credentialShape },
  otherwise: {
    status: 200,
    description:
      'OAuth: the link that the user opens to sign in. Single use, valid for 15 minutes. Otherwise: the credential that the ' +
      'user already had for this account, renewed under the same id.',
    schema: z.union([z.object({ authorizationUrl: z.string(), expiresAt: time }), credentialShape]),
  },
  errors: [
    'connector_not_found',
    'redirect_not_allowed',
    'oauth_app_missing',
    'credential_invalid',
    ...PROBE_ERRORS,
  ],
  audited: true,
  async handler({ context, body, signal, ...request }) {
    const owner = keyOf(request);
    const { redirectUri, state, ...input } = body;
    const before = await beforeSignIn(context, { ...input, ...owner });
    if (before) {
      const { connectorId } = input;
      const link = await makeLink(context, {
        ...owner,
        connectors: [connectorId],
        type: 'oauth2',
        prefill: before,
        redirectUri,
        state,
      });
      return {
        status: 200,
        body: { authorizationUrl: link.url, expiresAt: isoTime(link.expiresAt) },
      };
    }
    const { credential: made, renewed } = await connectAccount(context, { ...input, ...owner, signal });
    return { status: renewed ? 200 : 201, body: describeCredential(made) };
  },
});

export const listCredentialsRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/users/{userId}/credentials',
  operationId: 'listCredentials',
  summary: 'List the credentials of a user',
  scope: 'credentials:read',
  params: userParams,
  query: z.strictObject({ ...cursorQuery, connectorId: z.string().max(32).optional() }),
  success: {
    status: 200,
    description: 'A page of credentials, oldest first.',
    schema: pageOf(credentialShape),
  },
  async handler({ context, query, ...request }) {
    const owner = keyOf(request);
    const { credentials, ...end } = await listCredentials(context.db, { ...query, ...owner });
    return { body: toCursorPage(credentials.map(describeCredential), end) };
  },
});

export const listAllCredentialsRoute = defineRoute({
  method: 'GET',
  path: '/api/credentials',
  operationId: 'listAllCredentials',
  tag: 'Credentials',
  auth: 'api_key',
  summary: 'List the credentials of all users by state',
  description: 'Such as those that their users must reconnect.',
  scope: 'credentials:read',
  query: z.strictObject({
    ...cursorQuery,
    state: credentialShape.shape.state.meta({ description: 'Only credentials in this state.' }),
  }),
  success: {
    status: 200,
    description: 'A page of credentials, oldest first.',
    schema: pageOf(credentialShape),
  },
  async handler({ context, caller: { environment }, query }) {
    const { credentials, ...end } = await listCredentialsIn(context.db, { ...query, environment });
    return { body: toCursorPage(credentials.map(describeCredential), end) };
  },
});

export const getCredentialRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/users/{userId}/credentials/{credentialId}',
  operationId: 'getCredential',
  summary: 'Read a credential',
  description: 'Its metadata and state; never a secret.',
  scope: 'credentials:read',
  params,
  success: { status: 200, description: 'The credential.', schema: credentialShape },
  errors: ['credential_not_found'],
  async handler({ context, ...request }) {
    return { body: describeCredential(await requireCredential(context.db, keyOf(request))) };
  },
});

export const updateCredentialRoute = defineRoute({
  ...ofUser,
  method: 'PUT',
  path: '/users/{userId}/credentials/{credentialId}',
  operationId: 'updateCredential',
  summary: 'Rename a credential, mark it as the default, or replace a rotated key',
  description:
    'The given members of `data` replace the stored ones. All are checked as at creation. The id does not change. ' +
    'Data of an account for which the user has another credential is `credential_conflict`.',
  scope: 'credentials:write',
  params,
  body: z.strictObject({
    name: name.optional(),
    default: z
      .boolean()
      .optional()
      .meta({
        description:
          'true: calls that name no credential use this one. It replaces the previous default of the user and connector. ' +
          'false: there is no default. Without one, a user with several active accounts of an app has to choose.',
      }),
    data: data.optional(),
  }),
  success: { status: 200, description: 'The credential as it is now.', schema: credentialShape },
  errors: ['credential_not_found', 'credential_conflict', 'credential_invalid', ...PROBE_ERRORS],
  audited: true,
  async handler({ context, body, signal, ...request }) {
    const changed = await updateCredential(context, keyOf(request), { ...body, signal });
    return { body: describeCredential(changed) };
  },
});

/** The answers of a route that deletes a credential. */
export const deletion = {
  success: deleted('credentialId', 'The credential is deleted.'),
  errors: ['credential_not_found' as const],
};

/**
 * Ends the sources and triggers of a credential, then deletes it. @throws GatehouseError
 * `credential_not_found`
 */
export async function removeCredential(context: Context, key: CredentialKey): Promise<void> {
  await requireCredential(context.db, key);
  await endListening(context, { credentialId: key.credentialId });
  await deleteCredential(context, key);
}

export const deleteCredentialRoute = defineRoute({
  ...ofUser,
  method: 'DELETE',
  path: '/users/{userId}/credentials/{credentialId}',
  operationId: 'deleteCredential',
  summary: 'Delete a credential',
  scope: 'credentials:write',
  params,
  ...deletion,
  audited: true,
  async handler({ context, ...request }) {
    const key = keyOf(request);
    await removeCredential(context, key);
    return { body: { message: 'The credential was deleted.', credentialId: key.credentialId } };
  },
});

/** A credential after a test. */
export const checkedCredential = credentialShape
  .extend({ checked: z.boolean() })
  .meta({ id: 'CheckedCredential', description: 'A credential, and whether the app was called.' });

export const checkCredentialRoute = defineRoute({
  ...ofUser,
  method: 'POST',
  path: '/users/{userId}/credentials/{credentialId}/check',
  operationId: 'checkCredential',
  summary: 'Test a credential at the third party',
  description:
    'A credential that works becomes `active`. A refused credential becomes `needs_reconnect`, with the ' +
    'reason. When the connector has no call for a test, `checked` is false and nothing changes.',
  scope: 'credentials:write',
  params,
  success: {
    status: 200,
    description: 'The credential with its state after the test.',
    schema: checkedCredential,
  },
  errors: ['credential_not_found', ...PROBE_ERRORS],
  audited: true,
  async handler({ context, signal, ...request }) {
    const { credential: found, checked } = await checkCredential(context, keyOf(request), signal);
    return { body: { ...describeCredential(found), checked } };
  },
});

/**
 * Returns the ids of the path, with the environment of the caller.
 * @throws GatehouseError `forbidden` when x-svc-userid names another user.
 */
export function keyOf<P extends { userId: string }>({
  caller,
  params,
  userId,
}: {
  caller: Pick<Caller, 'environment'>;
  params: P;
  userId: string | undefined;
}): P & { environment: Environment } {
  if (params.userId === userId) return { ...params, environment: caller.environment };
  throw new GatehouseError(
    'forbidden',
    'x-svc-userid names another user than the path. A credential is available only to its own user.',
  );
}
