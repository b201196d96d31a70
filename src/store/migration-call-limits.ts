import { index } from './migration-helpers.ts';
import type { Tx } from './schema.ts';

/** Adds the budgets of servers, and the windows in which their calls are counted. */
export async function budgets(tx: Tx): Promise<void> {
  await tx.schema
    .alterTable('servers')
    .addColumn('budgets', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute();
  await tx.schema
    .createTable('call_windows')
    .addColumn('window_hash', 'text', (c) => c.primaryKey())
    .addColumn('calls', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'call_windows', ['expires_at']);
}
