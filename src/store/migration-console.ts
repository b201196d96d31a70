import type { Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/**
 * Adds the sessions of the console, each found by the hash of its cookie, and the index that counts credentials by state.
 */
export async function consoleSessions(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('console_sessions')
    .addColumn('session_hash', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('key_hash', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'console_sessions', ['expires_at']);
  await index(tx, 'credentials', ['environment', 'state', 'created_at', 'credential_id']);
}
