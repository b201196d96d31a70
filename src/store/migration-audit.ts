import { sql } from 'kysely';
import type { Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/** Chains the executions, in the batches in which they are written. Earlier executions stay outside of the chains. */
export async function executionChains(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('execution_batches')
    .addColumn('chain_id', 'text', (c) => c.notNull())
    .addColumn('sequence', 'integer', (c) => c.notNull())
    .addColumn('executions', 'text', (c) => c.notNull())
    .addColumn('first_at', 'bigint', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('previous_at', 'bigint')
    .addColumn('content_hash', 'text', (c) => c.notNull())
    .addColumn('previous_hash', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('execution_batches_key', ['chain_id', 'sequence'])
    .execute();
  await index(tx, 'execution_batches', ['at']);
}

/** Chains the entries of the audit log by their hashes. Earlier entries stay outside of the chains. */
export async function auditChains(tx: Tx): Promise<void> {
  const { schema } = tx;
  for (const column of ['chain_id', 'previous_hash', 'hash'])
    await schema.alterTable('audit').addColumn(column, 'text').execute();
  await schema.alterTable('audit').addColumn('sequence', 'integer').execute();
  await sql`create unique index audit_by_chain_id_sequence on audit (chain_id, sequence)`.execute(tx);
  await index(tx, 'audit', ['environment', 'caller', 'at']);
  await index(tx, 'audit', ['environment', 'operation', 'at']);
  await index(tx, 'audit', ['environment', 'target', 'at']);
  await index(tx, 'audit', ['at']);
  await schema
    .createTable('audit_checkpoints')
    .addColumn('sequence', 'integer', (c) => c.primaryKey())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('heads', 'text', (c) => c.notNull())
    .addColumn('previous_signature', 'text', (c) => c.notNull())
    .addColumn('signature', 'text', (c) => c.notNull())
    .execute();
  await index(tx, 'audit_checkpoints', ['at']);
  await index(tx, 'audit_checkpoints', ['signature']);
}
