import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import { LEASE_MS } from '../lib/lease.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { toCredential, type Credential } from './credential.ts';

/** A credential as the store has it now, and who is renewing it. Times are epoch milliseconds. */
export interface Leased {
  credential: Credential;
  /** Whether somebody is renewing it. */
  held: boolean;
  /** When the last attempt ended or, of one that never said so, was taken for dead. */
  lastEndedAt: number | null;
}

/** The right to renew, until it is overtaken: each holder has a higher fence than the one before. */
export interface Lease {
  credential: Credential;
  fence: number;
}

/** A credential by its id alone; undefined when it is gone. */
export async function readLeased(db: DbOrTx, credentialId: string, now: number): Promise<Leased | undefined> {
  const row = await db
    .selectFrom('credentials')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirst();
  return row && toLeased(row, now);
}

function toLeased(row: Selectable<Tables['credentials']>, now: number): Leased {
  const held = row.lease_token !== null && row.lease_until !== null && row.lease_until > now;
  return { credential: toCredential(row), held, lastEndedAt: held ? null : row.lease_until };
}

/** Takes the lease, with the row as it is from now on. Undefined when somebody else has it. */
export async function acquireLease(
  db: DbOrTx,
  credentialId: string,
  now: number,
): Promise<Lease | undefined> {
  const row = await db
    .updateTable('credentials')
    .set((eb) => ({ lease_token: randomUUID(), lease_until: now + LEASE_MS, fence: eb('fence', '+', 1) }))
    .where('credential_id', '=', credentialId)
    .where((eb) =>
      eb.or([eb('lease_token', 'is', null), eb('lease_until', 'is', null), eb('lease_until', '<=', now)]),
    )
    .returningAll()
    .executeTakeFirst();
  return row && { credential: toCredential(row), fence: row.fence };
}

/** Begins the lease anew; false when somebody has overtaken it. */
export async function extendLease(db: DbOrTx, { credential, fence }: Lease, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('credentials')
    .set({ lease_until: now + LEASE_MS })
    .where('credential_id', '=', credential.credentialId)
    .where('fence', '=', fence)
    .where('lease_token', 'is not', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Gives the lease back, and leaves when that was. Does nothing to one that overtook it. */
export async function releaseLease(db: DbOrTx, { credential, fence }: Lease, now: number): Promise<void> {
  await db
    .updateTable('credentials')
    .set({ lease_token: null, lease_until: now })
    .where('credential_id', '=', credential.credentialId)
    .where('fence', '=', fence)
    .execute();
}
