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

/** Adds the circuits of servers, and the failures that they count. */
export async function circuits(tx: Tx): Promise<void> {
  await tx.schema
    .alterTable('servers')
    .addColumn('circuit', 'text', (c) => c.notNull().defaultTo('{"failures":10,"openSeconds":60}'))
    .execute();
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
