import { sql } from 'kysely';
import type { Tx } from '../../schema.ts';
import { index, stamped } from '../table-parts.ts';

/** Creates the credentials, the OAuth apps, and the sign-ins that are not finished. */
export async function createCredentialTables(tx: Tx): Promise<void> {
  await credentials(tx);
  await spareTokens(tx);
  await oauthApps(tx);
  await connectSessions(tx);
  await oauthStates(tx);
  await unchosenGrants(tx);
}

async function credentials(tx: Tx): Promise<void> {
  await tx.schema
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
    .addColumn('last_used_at', 'bigint')
    .$call(stamped)
    .addColumn('scopes', 'text')
    .addColumn('version', 'integer', (c) => c.notNull().defaultTo(1))
    .addColumn('lease_token', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('fence', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('refresh_failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('refresh_after', 'bigint')
    .addColumn('renew_at', 'bigint')
    .addColumn('refresh_by', 'bigint')
    .addColumn('account_key', 'text')
    .addColumn('is_default', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('app_message', 'text')
    .addColumn('origins', 'text', (c) => c.notNull().defaultTo(''))
    .execute();
  await index(tx, 'credentials', ['refresh_by']);
  // One account is one credential of a user.
  await sql`create unique index credentials_account_once
    on credentials (user_id, connector_id, account_key)`.execute(tx);
  await sql`create unique index credentials_default_once on credentials (user_id, connector_id)
    where is_default = 1`.execute(tx);
  await index(tx, 'credentials', ['user_id', 'created_at', 'credential_id']);
  await index(tx, 'credentials', ['user_id', 'connector_id', 'created_at', 'credential_id']);
  // Each read of the metrics counts these rows, which are few.
  await sql`create index credentials_unusable on credentials (state) where state <> 'active'`.execute(tx);
  await index(tx, 'credentials', ['environment', 'state', 'created_at', 'credential_id']);
}

async function spareTokens(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('spare_tokens')
    .addColumn('spare_id', 'text', (c) => c.primaryKey())
    .addColumn('credential_id', 'text', (c) =>
      c.notNull().references('credentials.credential_id').onDelete('cascade'),
    )
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'spare_tokens', ['credential_id']);
}

async function oauthApps({ schema }: Tx): Promise<void> {
  await schema
    .createTable('oauth_apps')
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('client_id', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('scopes', 'text')
    .$call(stamped)
    .addColumn('fields', 'text', (c) => c.notNull().defaultTo('{}'))
    .addColumn('origins', 'text', (c) => c.notNull().defaultTo(''))
    .addPrimaryKeyConstraint('oauth_apps_key', ['environment', 'connector_id'])
    .execute();
}

async function connectSessions(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('connect_sessions')
    .addColumn('session_id', 'text', (c) => c.primaryKey())
    .addColumn('token_hash', 'text', (c) => c.notNull().unique())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.user_id').onDelete('cascade'))
    .addColumn('connectors', 'text')
    .addColumn('credential_id', 'text', (c) => c.references('credentials.credential_id').onDelete('cascade'))
    .addColumn('type', 'text')
    .addColumn('prefill', 'text')
    .addColumn('redirect_uri', 'text')
    .addColumn('client_state', 'text')
    .addColumn('via', 'text', (c) => c.notNull())
    .addColumn('browser_hash', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('outcome', 'text')
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .$call(stamped)
    .addColumn('scopes', 'text')
    .execute();
  await index(tx, 'connect_sessions', ['user_id']);
  await index(tx, 'connect_sessions', ['expires_at']);
  await index(tx, 'connect_sessions', ['credential_id']);
}

async function oauthStates(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('oauth_states')
    .addColumn('state_hash', 'text', (c) => c.primaryKey())
    .addColumn('session_id', 'text', (c) =>
      c.notNull().references('connect_sessions.session_id').onDelete('cascade'),
    )
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint')
    .execute();
  await index(tx, 'oauth_states', ['session_id']);
  await index(tx, 'oauth_states', ['expires_at']);
}

async function unchosenGrants({ schema }: Tx): Promise<void> {
  await schema
    .createTable('unchosen_grants')
    .addColumn('session_id', 'text', (c) =>
      c.primaryKey().references('connect_sessions.session_id').onDelete('cascade'),
    )
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
}
