import type { Tx } from './schema.ts';

/** Adds the master keys that a key provider wrapped. */
export async function wrappedKeys(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('wrapped_keys')
    .addColumn('position', 'integer', (c) => c.primaryKey())
    .addColumn('key_id', 'text', (c) => c.notNull())
    .addColumn('wrapped', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
}
