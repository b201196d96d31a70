import { sql } from 'kysely';
import type { Tables, Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/** Adds indexes in the order in which users and servers are listed. Without them each page sorts the whole table. */
export async function listOrders(tx: Tx): Promise<void> {
  await index(tx, 'users', ['environment', 'created_at', 'user_id']);
  await index(tx, 'servers', ['environment', 'created_at', 'server_id']);
  await index(tx, 'servers', ['environment', 'owner_user_id', 'created_at', 'server_id']);
}

/** Adds indexes for the filters and orders of the other lists. Without them a filter with few hits scans the table. */
export async function listFilters(tx: Tx): Promise<void> {
  // A call over REST names no server, so a partial index costs its insert nothing.
  for (const column of ['server_id', 'user_id']) {
    const name = `executions_by_environment_${column}_at`;
    await sql`create index ${sql.id(name)} on executions (environment, ${sql.id(column)}, at)
      where ${sql.id(column)} is not null`.execute(tx);
  }
  await index(tx, 'executions', ['environment', 'connector_id', 'at']);
  await index(tx, 'executions', ['environment', 'action_id', 'at']);
  await index(tx, 'executions', ['environment', 'outcome', 'at']);
  await index(tx, 'credentials', ['user_id', 'created_at', 'credential_id']);
  await index(tx, 'subscriptions', ['environment', 'kind', 'created_at']);
  await index(tx, 'subscriptions', ['environment', 'kind', 'user_id', 'created_at']);
  await index(tx, 'subscriptions', ['environment', 'kind', 'credential_id', 'created_at']);
  await index(tx, 'workflows', ['environment', 'created_at', 'workflow_id']);
  await index(tx, 'workflow_installations', ['workflow_id', 'created_at']);
}

/** Adds indexes for the orders and filters that the lists with cursors still sorted. */
export async function listCursors(tx: Tx): Promise<void> {
  // `bound` comes last, so one index serves both lists of an owner, and counts them without reading a row.
  await replaceIndex(tx, 'servers', {
    columns: ['environment', 'owner_user_id', 'created_at', 'server_id'],
    further: ['bound'],
  });
  await replaceIndex(tx, 'credentials', {
    columns: ['user_id', 'connector_id'],
    further: ['created_at', 'credential_id'],
  });
  await index(tx, 'field_mappings', ['environment', 'created_at', 'mapping_id']);
}

/** Adds the index of the calls of one account. A call without an account costs it nothing. */
export async function callsOfAccounts(tx: Tx): Promise<void> {
  await sql`create index executions_by_environment_credential_id_at on executions (environment, credential_id, at)
    where credential_id is not null`.execute(tx);
}

/** Replaces an index by one with further columns, which serves every query of the shorter one. */
async function replaceIndex(
  tx: Tx,
  table: keyof Tables,
  { columns, further }: { columns: string[]; further: string[] },
): Promise<void> {
  await index(tx, table, [...columns, ...further]);
  await tx.schema.dropIndex(`${table}_by_${columns.join('_')}`).execute();
}
