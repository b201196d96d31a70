import { sql } from 'kysely';
import type { Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/** Adds programs that wait for their user, the program of an execution, and whether a server offers programs. */
export async function programs(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('programs')
    .addColumn('program_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('server_id', 'text', (c) => c.notNull().references('servers.server_id').onDelete('cascade'))
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text')
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'programs', ['expires_at']);
  await index(tx, 'programs', ['server_id']);
  await index(tx, 'programs', ['user_id']);
  await tx.schema.alterTable('executions').addColumn('program_id', 'text').execute();
  // Few calls are of a program, so a partial index costs the others nothing.
  await sql`create index executions_by_environment_program_id_at on executions (environment, program_id, at)
    where program_id is not null`.execute(tx);
  await tx.schema
    .alterTable('servers')
    .addColumn('code_mode', 'text', (c) => c.notNull().defaultTo('auto'))
    .execute();
}
