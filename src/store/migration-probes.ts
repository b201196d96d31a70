import type { Tx } from './schema.ts';

/** Adds rows that are written and removed to check whether the database takes writes (write-probe.ts). */
export async function writeProbes(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('write_probes')
    .addColumn('probe_id', 'text', (c) => c.primaryKey())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('filler', 'text', (c) => c.notNull())
    .execute();
}
