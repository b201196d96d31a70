import { randomUUID } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { DbOrTx, Tables } from './schema.ts';
import type { Environment } from './environments.ts';

/**
 * A change that clients are notified of. A note is a hint: no rule depends on it, and a lost note costs a client only
 * its notification.
 */
export type Change = Pick<Tables['changes'], 'environment' | 'kind' | 'subject'>;

export async function noteChange(db: DbOrTx, now: number, change: Change): Promise<void> {
  await db
    .insertInto('changes')
    .values({ change_id: randomUUID(), ...change, at: now })
    .execute();
}

/** Notifies listening clients that a user's accounts or tools changed. */
export function notifyAccountsChanged(
  db: DbOrTx,
  { clock }: { clock: Clock },
  { environment, userId }: { environment: Environment; userId: string },
): Promise<void> {
  return noteChange(db, clock.now(), { environment, kind: 'accounts', subject: userId });
}

/** Returns the changes noted at `since` or later, epoch ms. */
export async function changesSince(db: DbOrTx, since: number): Promise<Tables['changes'][]> {
  return db.selectFrom('changes').selectAll().where('at', '>=', since).orderBy('at').execute();
}
