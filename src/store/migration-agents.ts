import { sql } from 'kysely';
import { index } from './migration-helpers.ts';
import type { Tx } from './schema.ts';

/** Adds the problems that agents report. */
export async function problemReports(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('problem_reports')
    .addColumn('report_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('server_id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('tool', 'text')
    .addColumn('execution_id', 'text')
    .addColumn('message', 'text', (c) => c.notNull())
    .execute();
  await index(tx, 'problem_reports', ['environment', 'at']);
  await index(tx, 'problem_reports', ['caller', 'at']);
  await index(tx, 'problem_reports', ['user_id']);
  await index(tx, 'problem_reports', ['at']);
}

/** Adds whether a server holds repeated writes. */
export async function duplicateGuards(tx: Tx): Promise<void> {
  await tx.schema
    .alterTable('servers')
    .addColumn('duplicate_guard', 'text', (c) => c.notNull().defaultTo('on'))
    .execute();
}

/** Adds how calls are undone. */
export async function undos(tx: Tx): Promise<void> {
  await tx.schema.alterTable('executions').addColumn('undo_of', 'text').execute();
  await sql`create index executions_by_undo_of on executions (undo_of) where undo_of is not null`.execute(tx);
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
