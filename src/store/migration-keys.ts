import { sql } from 'kysely';
import type { Tx } from './schema.ts';

/** Adds what named API keys have: a name, an expiry, a last use, and the secret before the last rotation. */
export async function namedKeys(tx: Tx): Promise<void> {
  for (const [column, type] of [
    ['name', 'text'],
    ['name_key', 'text'],
    ['expires_at', 'bigint'],
    ['last_used_at', 'bigint'],
    ['previous_hash', 'text'],
    ['previous_expires_at', 'bigint'],
  ] as const)
    await tx.schema.alterTable('api_keys').addColumn(column, type).execute();
  await sql`create unique index api_keys_by_name on api_keys (environment, name_key)`.execute(tx);
  await sql`create unique index api_keys_by_previous_hash on api_keys (previous_hash)`.execute(tx);
}
