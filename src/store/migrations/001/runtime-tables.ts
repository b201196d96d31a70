import type { Tx } from '../../schema.ts';
import { index, stamped } from '../table-parts.ts';

/** Creates what processes share: jobs, notes of changes, the address of the service, and probes. */
export async function createRuntimeTables(tx: Tx): Promise<void> {
  await jobs(tx);
  await changes(tx);
  await presence(tx);
  await writeProbes(tx);
}

async function jobs(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('jobs')
    .addColumn('job_id', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('payload', 'text', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_at', 'bigint', (c) => c.notNull())
    .addColumn('lease_token', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('error', 'text')
    .$call(stamped)
    .addUniqueConstraint('jobs_once', ['kind', 'key'])
    .execute();
  await index(tx, 'jobs', ['next_at']);
}

async function changes(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('changes')
    .addColumn('change_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'changes', ['at']);
}

async function presence({ schema }: Tx): Promise<void> {
  await schema
    .createTable('presence')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('public_url', 'text', (c) => c.notNull())
    .addColumn('seen_at', 'bigint', (c) => c.notNull())
    .execute();
}

async function writeProbes({ schema }: Tx): Promise<void> {
  await schema
    .createTable('write_probes')
    .addColumn('probe_id', 'text', (c) => c.primaryKey())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('filler', 'text', (c) => c.notNull())
    .execute();
}
