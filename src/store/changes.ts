import { randomUUID } from 'node:crypto';
import type { DbOrTx, Environment } from './schema.ts';

/**
 * That something has changed of which clients are told. A note is a hint: rules hold without it, and one that is lost
 * costs a client its notification.
 */
export interface Change {
  environment: Environment;
  /** `server`, `user`: the one with this id. `environment`: all of it; the subject says what. */
  kind: 'server' | 'user' | 'environment';
  subject: string;
}

export async function noteChange(db: DbOrTx, now: number, change: Change): Promise<void> {
  await db
    .insertInto('changes')
    .values({ change_id: randomUUID(), ...change, at: now })
    .execute();
}
