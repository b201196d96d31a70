import { sql } from 'kysely';
import type { Tx } from './schema.ts';

/** Adds indexes that count unusable credentials and disabled subscriptions, which are few, at each read of the metrics. */
export async function countedStates(tx: Tx): Promise<void> {
  await sql`create index credentials_unusable on credentials (state) where state <> 'active'`.execute(tx);
  await sql`create index subscriptions_disabled on subscriptions (kind) where status = 'disabled'`.execute(
    tx,
  );
}
