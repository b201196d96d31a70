import { sql, type Transaction } from 'kysely';
import type { Tables } from './schema.ts';

/** What waits or failed, found without walking over what is done: all of it is little beside that. */
export async function eventIndexes(tx: Transaction<Tables>): Promise<void> {
  await sql`create index inbox_waiting on inbox (source_id, received_at, next_at) where processed_at is null`.execute(
    tx,
  );
  for (const status of ['dead', 'cancelled']) {
    const name = `deliveries_${status}_by_subscription_id_sequence`;
    await sql`create index ${sql.id(name)} on deliveries (subscription_id, sequence) where status = ${sql.lit(status)}`.execute(
      tx,
    );
  }
}

/** Room for the attempt of most deliveries: the first, which succeeds. */
export async function firstAttempts(tx: Transaction<Tables>): Promise<void> {
  await tx.schema.alterTable('deliveries').addColumn('first_attempt', 'text').execute();
}
