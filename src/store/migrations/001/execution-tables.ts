import { sql } from 'kysely';
import type { Tx } from '../../schema.ts';
import { index } from '../table-parts.ts';

/** Creates the executions, and what later calls need of them. */
export async function createExecutionTables(tx: Tx): Promise<void> {
  await executions(tx);
  await executionPayloads(tx);
  await undos(tx);
  await circuits(tx);
  await idempotency(tx);
  await pagePositions(tx);
}

async function executions(tx: Tx): Promise<void> {
  // Rows hold ids without references here, because executions outlive the objects that they name.
  await tx.schema
    .createTable('executions')
    .addColumn('execution_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('request_id', 'text', (c) => c.notNull())
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('server_id', 'text')
    .addColumn('user_id', 'text')
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('action_id', 'text', (c) => c.notNull())
    .addColumn('credential_id', 'text')
    .addColumn('outcome', 'text', (c) => c.notNull())
    .addColumn('rule', 'text')
    .addColumn('error_code', 'text')
    .addColumn('upstream_status', 'integer')
    .addColumn('duration_ms', 'integer', (c) => c.notNull())
    .addColumn('attempts', 'text')
    .addColumn('program_id', 'text')
    .addColumn('undo_of', 'text')
    .execute();
  await index(tx, 'executions', ['environment', 'at']);
  // A call over REST names no server, so a partial index costs its insert nothing.
  await sql`create index executions_by_environment_server_id_at on executions (environment, server_id, at)
    where server_id is not null`.execute(tx);
  await sql`create index executions_by_environment_user_id_at on executions (environment, user_id, at)
    where user_id is not null`.execute(tx);
  await index(tx, 'executions', ['environment', 'connector_id', 'at']);
  await index(tx, 'executions', ['environment', 'action_id', 'at']);
  await index(tx, 'executions', ['environment', 'outcome', 'at']);
  // Few calls are of a program or undo another call, so partial indexes cost the others nothing.
  await sql`create index executions_by_environment_program_id_at on executions (environment, program_id, at)
    where program_id is not null`.execute(tx);
  await sql`create index executions_by_undo_of on executions (undo_of) where undo_of is not null`.execute(tx);
  await sql`create index executions_by_environment_credential_id_at on executions (environment, credential_id, at)
    where credential_id is not null`.execute(tx);
}

async function executionPayloads(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('execution_payloads')
    .addColumn('execution_id', 'text', (c) =>
      c.primaryKey().references('executions.execution_id').onDelete('cascade'),
    )
    .addColumn('user_id', 'text')
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'execution_payloads', ['user_id']);
  await index(tx, 'execution_payloads', ['expires_at']);
}

async function undos(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('undos')
    .addColumn('execution_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('server_id', 'text')
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('token_hash', 'text', (c) => c.notNull().unique())
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('action_id', 'text', (c) => c.notNull())
    .addColumn('credential_id', 'text')
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'undos', ['user_id']);
  await index(tx, 'undos', ['expires_at']);
}

async function circuits(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('circuits')
    .addColumn('circuit_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('account', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('action_id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('credential_id', 'text', (c) => c.references('credentials.credential_id').onDelete('cascade'))
    .addColumn('failures', 'integer', (c) => c.notNull())
    .addColumn('failed_at', 'bigint', (c) => c.notNull())
    .addColumn('open_until', 'bigint')
    .addColumn('trial_until', 'bigint')
    .addUniqueConstraint('circuits_key', ['account', 'connector_id', 'action_id'])
    .execute();
  await index(tx, 'circuits', ['environment', 'failed_at']);
  await index(tx, 'circuits', ['failed_at']);
  await index(tx, 'circuits', ['user_id']);
  await index(tx, 'circuits', ['credential_id']);
}

async function idempotency(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('idempotency')
    .addColumn('key_hash', 'text', (c) => c.primaryKey())
    .addColumn('request_hash', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('status', 'integer')
    .addColumn('body', 'text')
    .addColumn('lease_until', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'idempotency', ['expires_at']);
}

async function pagePositions(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('page_positions')
    .addColumn('list_hash', 'text', (c) => c.notNull())
    .addColumn('credential_id', 'text', (c) => c.notNull())
    .addColumn('item_offset', 'integer', (c) => c.notNull())
    .addColumn('position', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('page_positions_key', ['list_hash', 'item_offset'])
    .execute();
  await index(tx, 'page_positions', ['expires_at']);
}
