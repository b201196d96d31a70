import { z } from 'zod';
import { describeCredential } from '../../../credentials/credential.ts';
import { listCredentials } from '../../../credentials/credential-lists.ts';
import { updateCredential } from '../../../credentials/credential-records.ts';
import { credentialShape, deletion, removeCredential } from '../credentials.ts';
import { defineRoute } from '../../server/route.ts';
import { cursorQuery, pageOf, toCursorPage } from '../../server/shapes.ts';

/*
 * Routes for the connected accounts in the modal. The user's JWT gives access only to its own accounts. Only our
 * own page calls these routes; pages of other origins use the SDK.
 */

const ofUser = { tag: 'Connecting accounts', auth: 'jwt', scope: 'connect:use' } as const;
const params = z.strictObject({ credentialId: z.string() });

export const listAccountsRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/connect/accounts',
  operationId: 'listAccounts',
  summary: 'List the accounts that the user of the JWT has connected',
  query: z.strictObject({ ...cursorQuery, connectorId: z.string().max(32).optional() }),
  success: {
    status: 200,
    description: 'A page of credentials, oldest first.',
    schema: pageOf(credentialShape),
  },
  async handler({ context, caller: { environment, userId = '' }, query }) {
    const { credentials, ...end } = await listCredentials(context.db, { ...query, environment, userId });
    return { body: toCursorPage(credentials.map(describeCredential), end) };
  },
});

export const markAccountRoute = defineRoute({
  ...ofUser,
  method: 'PUT',
  path: '/connect/accounts/{credentialId}',
  operationId: 'markAccount',
  summary: 'Mark an account as the default, as the user of the JWT',
  params,
  body: z.strictObject({
    default: z.boolean().meta({
      description:
        'true: calls that name no credential use this account, and no other account of the app. false: there is no default.',
    }),
  }),
  success: { status: 200, description: 'The credential as it is now.', schema: credentialShape },
  errors: ['credential_not_found'],
  audited: true,
  async handler({ context, caller: { environment, userId = '' }, params: { credentialId }, body }) {
    const key = { environment, userId, credentialId };
    return { body: describeCredential(await updateCredential(context, key, { default: body.default })) };
  },
});

export const disconnectAccountRoute = defineRoute({
  ...ofUser,
  method: 'DELETE',
  path: '/connect/accounts/{credentialId}',
  operationId: 'disconnectAccount',
  summary: 'Disconnect an account, as the user of the JWT',
  params,
  ...deletion,
  audited: true,
  async handler({ context, caller: { environment, userId = '' }, params: { credentialId } }) {
    await removeCredential(context, { environment, userId, credentialId });
    return { body: { message: 'The account was disconnected.', credentialId } };
  },
});
