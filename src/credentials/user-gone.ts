import type { Context } from '../context.ts';
import { deleteUser } from '../identity/users.ts';
import type { Environment } from '../store/schema.ts';
import { forgetChoices } from './choices.ts';
import { credentialFacts, toCredential } from './credential.ts';

/**
 * Removes a user, and tells the operator of each credential that goes too.
 * @throws GatehouseError `user_not_found`
 */
export async function deleteUserWithCredentials(
  { db, operator }: Pick<Context, 'db' | 'operator'>,
  environment: Environment,
  userId: string,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const rows = await tx
      .selectFrom('credentials')
      .selectAll()
      .where('user_id', '=', userId)
      .where('environment', '=', environment)
      .execute();
    await deleteUser(tx, environment, userId);
    for (const row of rows)
      await operator.tell(tx, environment, 'credential.deleted', credentialFacts(toCredential(row)));
  });
  forgetChoices(db);
}
