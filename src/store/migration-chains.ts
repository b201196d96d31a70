import { index } from './migration-helpers.ts';
import type { Tx } from './schema.ts';

/** Adds the place of runs in a chain of workflows, and the records that steps wrote. */
export async function chainsOfRuns(tx: Tx): Promise<void> {
  await tx.schema
    .alterTable('workflow_runs')
    .addColumn('chain', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await tx.schema
    .createTable('workflow_writes')
    .addColumn('record_hash', 'text', (c) => c.primaryKey())
    .addColumn('chain', 'integer', (c) => c.notNull())
    .addColumn('began_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'workflow_writes', ['expires_at']);
}
