import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Base } from '../base.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Credential } from './credential.ts';
import { boundTo } from '../store/sealed-columns.ts';

/** Received tokens that could not be saved, because the credential had changed during the renewal. */
const sealedSpare = z.object({
  values: z.record(z.string(), z.string()),
  /** The account of the tokens; null when unknown. */
  accountId: z.string().nullable(),
});

type Bound = Pick<Credential, 'environment' | 'userId' | 'credentialId'>;

/** Stores spare tokens, sealed: their refresh token may be the last valid one and cannot be requested again. */
export async function keepSpare(
  { db, clock, keys }: Pick<Base, 'db' | 'clock' | 'keys'>,
  credential: Credential,
  values: Record<string, string>,
): Promise<void> {
  const spareId = randomUUID();
  const spare = { values, accountId: credential.account?.id ?? null };
  await db
    .insertInto('spare_tokens')
    .values({
      spare_id: spareId,
      credential_id: credential.credentialId,
      sealed: keys.sealJson(spare, binding(credential, spareId)),
      created_at: clock.now(),
    })
    .execute();
}

/** Returns the spare tokens of a credential that belong to its account, newest first. */
export async function findSpares({ db, keys }: Pick<Base, 'db' | 'keys'>, credential: Credential) {
  const rows = await db
    .selectFrom('spare_tokens')
    .selectAll()
    .where('credential_id', '=', credential.credentialId)
    .orderBy('created_at', 'desc')
    .limit(10)
    .execute();
  return rows
    .map((row) => ({
      spareId: row.spare_id,
      ...keys.openJson(sealedSpare, row.sealed, binding(credential, row.spare_id)),
    }))
    .filter(
      ({ accountId }) => accountId === null || !credential.account || accountId === credential.account.id,
    );
}

/** Deletes a spare that does not work either. */
export async function dropSpare(db: DbOrTx, spareId: string): Promise<void> {
  await db.deleteFrom('spare_tokens').where('spare_id', '=', spareId).execute();
}

/** Deletes all spares of a credential: newer tokens work, or the account was connected again. */
export async function dropSpares(db: DbOrTx, credentialId: string): Promise<void> {
  await db.deleteFrom('spare_tokens').where('credential_id', '=', credentialId).execute();
}

function binding({ environment, userId, credentialId }: Bound, spareId: string): string {
  return boundTo('spare_tokens.sealed', {
    environment,
    user_id: userId,
    credential_id: credentialId,
    spare_id: spareId,
  });
}
