import type { Tx } from './schema.ts';
import { index, stamped } from './migration-helpers.ts';

/** Adds the custom connectors with their versions. */
export async function customConnectors(tx: Tx): Promise<void> {
  await stamped(
    tx.schema
      .createTable('custom_connectors')
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('connector_id', 'text', (c) => c.notNull())
      .addColumn('version', 'integer', (c) => c.notNull()),
  )
    .addColumn('deleted_at', 'bigint')
    .addPrimaryKeyConstraint('custom_connectors_key', ['environment', 'connector_id'])
    .execute();
  await tx.schema
    .createTable('custom_connector_versions')
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('source', 'text', (c) => c.notNull())
    .addColumn('head', 'text', (c) => c.notNull())
    .addColumn('definition', 'text', (c) => c.notNull())
    .addColumn('checker', 'text', (c) => c.notNull())
    .addColumn('fingerprint', 'text', (c) => c.notNull())
    .addColumn('origins', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('created_by', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('custom_connector_versions_key', ['environment', 'connector_id', 'version'])
    .execute();
  await tx.schema
    .createTable('custom_connector_revisions')
    .addColumn('environment', 'text', (c) => c.primaryKey())
    .addColumn('revision', 'bigint', (c) => c.notNull())
    .execute();
}

/** Adds the origins that a sealed secret of a custom connector is bound to. */
export async function boundOrigins(tx: Tx): Promise<void> {
  for (const table of ['credentials', 'oauth_apps'])
    await tx.schema
      .alterTable(table)
      .addColumn('origins', 'text', (c) => c.notNull().defaultTo(''))
      .execute();
}

/** Adds the remote MCP servers behind custom connectors. */
export async function remoteServers(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('remote_servers')
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('settings', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text')
    .addColumn('next_at', 'bigint', (c) => c.notNull())
    .addColumn('read_at', 'bigint')
    .addColumn('error', 'text')
    .addPrimaryKeyConstraint('remote_servers_key', ['environment', 'connector_id'])
    .execute();
  await index(tx, 'remote_servers', ['next_at']);
}

/** Adds what an operator changes in custom connectors, and the choice of operations of an import. */
export async function connectorOverlays(tx: Tx): Promise<void> {
  for (const column of ['overlay', 'import_settings'])
    await tx.schema.alterTable('custom_connector_versions').addColumn(column, 'text').execute();
}
