import type { Tx } from '../../schema.ts';
import { index, stamped } from '../table-parts.ts';

/** Creates the custom connectors, and the writes of the sandbox. */
export async function createConnectorTables(tx: Tx): Promise<void> {
  await customConnectors(tx);
  await customConnectorVersions(tx);
  await customConnectorRevisions(tx);
  await remoteServers(tx);
  await sandboxWrites(tx);
}

async function customConnectors({ schema }: Tx): Promise<void> {
  await schema
    .createTable('custom_connectors')
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .$call(stamped)
    .addColumn('deleted_at', 'bigint')
    .addPrimaryKeyConstraint('custom_connectors_key', ['environment', 'connector_id'])
    .execute();
}

async function customConnectorVersions({ schema }: Tx): Promise<void> {
  await schema
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
    .addColumn('overlay', 'text')
    .addColumn('import_settings', 'text')
    .addPrimaryKeyConstraint('custom_connector_versions_key', ['environment', 'connector_id', 'version'])
    .execute();
}

async function customConnectorRevisions({ schema }: Tx): Promise<void> {
  await schema
    .createTable('custom_connector_revisions')
    .addColumn('environment', 'text', (c) => c.primaryKey())
    .addColumn('revision', 'bigint', (c) => c.notNull())
    .execute();
}

async function remoteServers(tx: Tx): Promise<void> {
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

async function sandboxWrites(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('sandbox_writes')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('position', 'bigint', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('record_id', 'text', (c) => c.notNull())
    .addColumn('body', 'text')
    .addColumn('written_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('sandbox_writes_key', ['account_id', 'position'])
    .execute();
  await index(tx, 'sandbox_writes', ['written_at']);
}
