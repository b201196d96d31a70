import type { Tx } from './schema.ts';
import { index, stamped } from './migration-helpers.ts';

/** Adds calls over MCP that run on after the answer to their request. */
export async function tasks(tx: Tx): Promise<void> {
  const table = tx.schema
    .createTable('tasks')
    .addColumn('task_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('server_id', 'text', (c) => c.notNull().references('servers.server_id').onDelete('cascade'))
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('actions', 'text', (c) => c.notNull())
    .addColumn('may_write', 'integer', (c) => c.notNull())
    .addColumn('sealed', 'text')
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('lease_until', 'bigint')
    .addColumn('expires_at', 'bigint', (c) => c.notNull());
  await stamped(table).execute();
  await index(tx, 'tasks', ['expires_at']);
  await index(tx, 'tasks', ['server_id', 'user_id']);
  await index(tx, 'tasks', ['user_id']);
}
