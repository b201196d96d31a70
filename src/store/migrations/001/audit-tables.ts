import { sql } from 'kysely';
import type { Tx } from '../../schema.ts';
import { index } from '../table-parts.ts';

/** Creates the audit log, and the chains of its entries and of the executions. */
export async function createAuditTables(tx: Tx): Promise<void> {
  await audit(tx);
  await auditCheckpoints(tx);
  await executionBatches(tx);
}

async function audit(tx: Tx): Promise<void> {
  // Rows hold ids without references here, because entries outlive the objects that they name.
  await tx.schema
    .createTable('audit')
    .addColumn('audit_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('request_id', 'text', (c) => c.notNull())
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('operation', 'text', (c) => c.notNull())
    .addColumn('target', 'text')
    .addColumn('status', 'integer', (c) => c.notNull())
    .addColumn('chain_id', 'text')
    .addColumn('previous_hash', 'text')
    .addColumn('hash', 'text')
    .addColumn('sequence', 'integer')
    .execute();
  await index(tx, 'audit', ['environment', 'at']);
  await sql`create unique index audit_by_chain_id_sequence on audit (chain_id, sequence)`.execute(tx);
  await index(tx, 'audit', ['environment', 'caller', 'at']);
  await index(tx, 'audit', ['environment', 'operation', 'at']);
  await index(tx, 'audit', ['environment', 'target', 'at']);
  await index(tx, 'audit', ['at']);
}

async function auditCheckpoints(tx: Tx): Promise<void> {
  await tx.schema
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

async function executionBatches(tx: Tx): Promise<void> {
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
