import { randomUUID } from 'node:crypto';
import type { DbOrTx, Environment, Tables } from './schema.ts';

/**
 * That something has changed of which clients are told. A note is a hint: rules hold without it, and one that is lost
 * costs a client its notification.
 */
export interface Change {
  environment: Environment;
  /** `server`, `user`: the one with this id; `accounts`: those of this user, and the workflows that
   *  they have installed. `environment`: all of it; the subject says what. */
  kind: 'server' | 'user' | 'accounts' | 'environment';
  subject: string;
}

export async function noteChange(db: DbOrTx, now: number, change: Change): Promise<void> {
  await db
    .insertInto('changes')
    .values({ change_id: randomUUID(), ...change, at: now })
    .execute();
}

/** What was noted at `since` or later, epoch milliseconds. */
export async function changesSince(db: DbOrTx, since: number): Promise<Tables['changes'][]> {
  return db.selectFrom('changes').selectAll().where('at', '>=', since).orderBy('at').execute();
}
