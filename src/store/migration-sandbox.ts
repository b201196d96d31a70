import type { Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/** Adds the writes of the sandbox, so that all processes see them. */
export async function sandboxWrites(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('sandbox_writes')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('position', 'bigint', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('record_id', 'text', (c) => c.notNull())
    .addColumn('body', 'text')
    .addColumn('written_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('sandbox_writes_key', ['account_id', 'position'])
    .execute();
  await index(tx, 'sandbox_writes', ['written_at']);
}
