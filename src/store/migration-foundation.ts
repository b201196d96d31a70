import type { Tx } from './schema.ts';
import { index, stamped } from './migration-helpers.ts';

/** Adds keys and settings, users, servers and credentials, and the records of calls. */
export async function foundation(tx: Tx): Promise<void> {
  await keysAndSettings(tx);
  await usersAndServers(tx);
  await records(tx);
  await answers(tx);
}

async function keysAndSettings(tx: Tx): Promise<void> {
  const { schema } = tx;

  await schema
    .createTable('secrets')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();

  await schema
    .createTable('api_keys')
    .addColumn('key_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('last_four', 'text', (c) => c.notNull())
    .addColumn('scopes', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('revoked_at', 'bigint')
    .execute();

  await schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (c) => c.primaryKey())
    .addColumn('public_jwk', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('retired_at', 'bigint')
    .execute();

  await schema
    .createTable('settings')
    .addColumn('environment', 'text', (c) => c.primaryKey())
    .addColumn('settings', 'text', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
}

async function usersAndServers(tx: Tx): Promise<void> {
  const { schema } = tx;

  await stamped(
    schema
      .createTable('users')
      .addColumn('user_id', 'text', (c) => c.primaryKey())
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('username', 'text', (c) => c.notNull())
      .addColumn('metadata', 'text', (c) => c.notNull())
      .addColumn('enabled', 'integer', (c) => c.notNull())
      .addColumn('tokens_revoked_at', 'bigint'),
  )
    .addUniqueConstraint('users_username', ['environment', 'username'])
    .execute();

  await stamped(
    schema
      .createTable('servers')
      .addColumn('server_id', 'text', (c) => c.primaryKey())
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('name_key', 'text', (c) => c.notNull())
      .addColumn('description', 'text', (c) => c.notNull())
      .addColumn('custom_instructions', 'text', (c) => c.notNull())
      .addColumn('restrictions', 'text', (c) => c.notNull())
      .addColumn('tool_mode', 'text', (c) => c.notNull())
      .addColumn('owner_user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
      .addColumn('bound', 'integer', (c) => c.notNull())
      .addColumn('token_hash', 'text', (c) => c.notNull().unique())
      .addColumn('token_sealed', 'text', (c) => c.notNull())
      .addColumn('token_expires_at', 'bigint')
      .addColumn('enabled', 'integer', (c) => c.notNull()),
  )
    .addUniqueConstraint('servers_name', ['environment', 'name_key'])
    .execute();
  await index(tx, 'servers', ['owner_user_id']);

  await stamped(
    schema
      .createTable('credentials')
      .addColumn('credential_id', 'text', (c) => c.primaryKey())
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('user_id', 'text', (c) => c.notNull().references('users.user_id').onDelete('cascade'))
      .addColumn('connector_id', 'text', (c) => c.notNull())
      .addColumn('type', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('reason', 'text')
      .addColumn('account', 'text')
      .addColumn('sealed', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'bigint')
      .addColumn('last_used_at', 'bigint'),
  ).execute();
  await index(tx, 'credentials', ['user_id', 'connector_id']);
}

async function records(tx: Tx): Promise<void> {
  const { schema } = tx;

  // These rows hold ids without references, because executions and audit outlive the objects that they name.
  await schema
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
    .execute();
  await index(tx, 'executions', ['environment', 'at']);

  await schema
    .createTable('audit')
    .addColumn('audit_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('request_id', 'text', (c) => c.notNull())
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('operation', 'text', (c) => c.notNull())
    .addColumn('target', 'text')
    .addColumn('status', 'integer', (c) => c.notNull())
    .execute();
  await index(tx, 'audit', ['environment', 'at']);
}

async function answers(tx: Tx): Promise<void> {
  const { schema } = tx;

  await schema
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

  await schema
    .createTable('page_positions')
    .addColumn('list_hash', 'text', (c) => c.notNull())
    .addColumn('credential_id', 'text', (c) => c.notNull())
    .addColumn('item_offset', 'integer', (c) => c.notNull())
    .addColumn('position', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('page_positions_key', ['list_hash', 'item_offset'])
    .execute();
  await index(tx, 'page_positions', ['expires_at']);

  await schema
    .createTable('results')
    .addColumn('result_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('server_id', 'text', (c) => c.notNull().references('servers.server_id').onDelete('cascade'))
    .addColumn('content', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'results', ['expires_at']);
}
