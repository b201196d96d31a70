import { deleteUser } from '../identity/users.ts';
import type { Environment } from '../store/environments.ts';
import { credentialFacts, toCredential } from './credential.ts';
import type { RenewContext } from './renew.ts';
import { endTokens } from './revoke.ts';
import { revokeUnchosen, unchosenOf } from './unchosen-grants.ts';

/**
 * Deletes a user and notifies the operator of each deleted credential.
 * Tokens are revoked concurrently within 5 s, as in deleteCredential(). The user is deleted even if that fails.
 * @throws GatehouseError `user_not_found`
 */
export async function deleteUserWithCredentials(
  context: RenewContext,
  environment: Environment,
  userId: string,
): Promise<void> {
  const { db, clock, catalog, operator } = context;
  const unchosen = await unchosenOf(context, { environment, userId });
  const gone = await db.transaction().execute(async (tx) => {
    const rows = await tx
      .selectFrom('credentials')
      .selectAll()
      .where('user_id', '=', userId)
      .where('environment', '=', environment)
      .execute();
    await deleteUser({ db: tx, clock }, environment, userId);
    const credentials = rows.map(toCredential);
    for (const credential of credentials)
      await operator.notify(tx, environment, {
        type: 'credential.deleted',
        data: credentialFacts(credential),
      });
    return credentials;
  });
  context.credentialMemory.forgetChoices();
  await Promise.all([
    ...gone.map(async (credential) => {
      const connector = catalog.connector(environment, credential.connectorId);
      if (connector) await endTokens(context, connector, { credential });
    }),
    ...unchosen.map((grant) => revokeUnchosen(context, { environment, userId, grant })),
  ]);
}
