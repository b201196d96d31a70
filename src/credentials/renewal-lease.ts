import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import { LEASE_MS } from '../runtime/lease.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { toCredential, type Credential } from './credential.ts';

/** A credential as it is stored now, with the state of its lease. Times are epoch milliseconds. */
export interface Leased {
  credential: Credential;
  /** Whether a process is renewing it. */
  held: boolean;
  /** The fence of the last holder. */
  fence: number;
  /** End of the last renewal, or expiry of its lease if the process died; null while held. */
  lastEndedAt: number | null;
}

/** The right to renew until the lease is overtaken. Each holder has a higher fence than the one before. */
export interface Lease {
  credential: Credential;
  fence: number;
}

/** Reads a credential by its id alone; undefined when it is deleted. */
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
  return {
    credential: toCredential(row),
    held,
    fence: row.fence,
    lastEndedAt: held ? null : row.lease_until,
  };
}

/**
 * Takes the lease and returns the row as updated. Returns undefined when another process has held it since it was read,
 * because that process may have renewed, or failed to.
 */
export async function acquireLease(
  db: DbOrTx,
  { credential, fence }: Leased,
  now: number,
): Promise<Lease | undefined> {
  const row = await db
    .updateTable('credentials')
    .set((eb) => ({ lease_token: randomUUID(), lease_until: now + LEASE_MS, fence: eb('fence', '+', 1) }))
    .where('credential_id', '=', credential.credentialId)
    .where('fence', '=', fence)
    .where((eb) =>
      eb.or([eb('lease_token', 'is', null), eb('lease_until', 'is', null), eb('lease_until', '<=', now)]),
    )
    .returningAll()
    .executeTakeFirst();
  return row && { credential: toCredential(row), fence: row.fence };
}

/** Restarts the lease; false when another process has overtaken it. */
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

/** Releases the lease and records the time. Does nothing when another process has overtaken it. */
export async function releaseLease(db: DbOrTx, { credential, fence }: Lease, now: number): Promise<void> {
  await db
    .updateTable('credentials')
    .set({ lease_token: null, lease_until: now })
    .where('credential_id', '=', credential.credentialId)
    .where('fence', '=', fence)
    .execute();
}
